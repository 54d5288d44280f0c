"""The best labeling under constraints on whole labelings, against enumeration of all labelings."""

from __future__ import annotations

import pickle
import re
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import Generator

from crfkit import Chain, SemiMarkov, inference
from crfkit.constraints import (
    AtLeast,
    AtMost,
    AtMostOnce,
    Before,
    Exactly,
    Forbid,
    Implies,
    LinearConstraint,
    Scheme,
    SegmentLength,
)
from crfkit.errors import InfeasibleError
from crfkit.inference.constrained import automata, decoding
from crfkit.inference.constrained.kinds import GlobalConstraint
from crfkit.inference.constrained.program import solve
from crfkit.inference.constrained.trellis import trellis_of
from crfkit.inference.reference.enumeration import Enumeration, Outcome
from crfkit.structures import Tree
from tests.cases.potentials import chain, local, segments

LABELS = ["O", "a", "b"]
TAGS = ["O", "B-a", "I-a", "B-b", "I-b"]


def occurrences(matcher: Any, labels: Sequence[str], begin: Sequence[bool] | None, tags: bool) -> list[int]:
    """Return where a label or type occurs, by a look at each position."""

    def fits(name: str) -> bool:
        return bool(matcher.fullmatch(name)) if isinstance(matcher, re.Pattern) else name == matcher

    if begin is not None:
        return [t for t, y in enumerate(labels) if begin[t] and fits(y)]
    if not tags or any(fits(y) for y in TAGS):
        return [t for t, y in enumerate(labels) if fits(y)]
    return [t for t, kind in begins_of_segments(labels) if fits(kind)]


def begins_of_segments(tags: Sequence[str]) -> list[tuple[int, str]]:
    found = []
    for t, tag in enumerate(tags):
        goes_on = tag[0] == "I" and t > 0 and tags[t - 1][2:] == tag[2:]
        if tag != "O" and not goes_on:
            found.append((t, tag[2:]))
    return found


def keeps(item: GlobalConstraint, labels: Sequence[str], begin: Sequence[bool] | None, tags: bool) -> bool:
    def times(matcher: Any) -> list[int]:
        return occurrences(matcher, labels, begin, tags)

    if isinstance(item, AtMost):
        return len(times(item.label)) <= item.k
    if isinstance(item, AtLeast):
        return len(times(item.label)) >= item.k
    if isinstance(item, Exactly):
        return len(times(item.label)) == item.k
    if isinstance(item, Implies):
        return not times(item.a) or bool(times(item.b))
    if isinstance(item, Before):
        return all(s < t for s in times(item.a) for t in times(item.b))
    if isinstance(item, AtMostOnce):
        if tags:
            kinds = [kind for _, kind in begins_of_segments(labels)]
        elif begin is not None:
            kinds = [y for y, new in zip(labels, begin, strict=True) if new]
        else:
            kinds = [y for t, y in enumerate(labels) if t == 0 or labels[t - 1] != y]
        wanted = {"a", "b"} if item.labels is None else {str(name) for name in item.labels}
        return all(kinds.count(kind) <= 1 for kind in wanted)
    total = 0.0
    for label, position, number in item.coefficients:
        at = times(label)
        if position is not None:
            at = [t for t in at if t == (position if position >= 0 else len(labels) + position)]
        total += number * len(at)
    return total <= item.bound + 1e-9


def expected(one: Any, constraints: Sequence[GlobalConstraint], tags: bool) -> list[Outcome]:
    names = one.structure.labels
    return [
        y
        for y in Enumeration(one).outcomes
        if all(keeps(item, [names[i] for i in y.labels], y.begin, tags) for item in constraints)
    ]


def rules(names: Sequence[str]) -> st.SearchStrategy[list[GlobalConstraint]]:
    label = st.sampled_from([*names, re.compile("b|a")])
    pair = st.sampled_from([(a, b) for a in names for b in names if a != b and not (a in b or b in a)])
    k = st.integers(0, 3)
    number = st.sampled_from([-1.0, 1.0, 0.5, 2.0])
    key = st.one_of(st.sampled_from(names), st.tuples(st.sampled_from(names), st.integers(-2, 2)))
    some = st.lists(st.sampled_from(["a", "b"]), min_size=1, max_size=2)
    kinds: list[st.SearchStrategy[GlobalConstraint]] = [
        st.builds(AtMost, label, k),
        st.builds(AtLeast, label, k),
        st.builds(Exactly, label, k),
        st.builds(AtMostOnce, st.one_of(st.none(), some.map(tuple))),
        pair.map(lambda ends: Before(*ends)),
        pair.map(lambda ends: Implies(*ends)),
        st.builds(LinearConstraint, st.dictionaries(key, number, min_size=1, max_size=3), st.integers(-1, 2)),
    ]
    return st.lists(st.one_of(kinds), min_size=1, max_size=3)


def makers(rng: Generator, kind: str, holes: float = 0.0) -> Any:
    if kind == "tags":
        scheme = [[], [Scheme("BIO")]][int(rng.integers(2))]
        return chain(rng, 5, [4], labels=TAGS, holes=holes / 2, constraints=scheme)
    if kind == "segments":
        made = segments(
            rng, 3, [4], longest=int(rng.integers(1, 4)), holes=holes, per_position=bool(rng.integers(2))
        )
        return SemiMarkov(LABELS, made.structure.max_length).potentials(
            made.segment, made.edge, seq_ptr=[0, 4]
        )
    if kind == "limits":
        return chain(rng, 3, [5], labels=LABELS, constraints=[SegmentLength("a", 2, 3)])
    if kind == "local":
        each = local(rng, 3, [4])
        return Chain(LABELS).potentials(each.node, each.edge[0], start=each.start, seq_ptr=each.seq_ptr)
    order = int(kind)
    return chain(
        rng,
        3,
        [5],
        labels=LABELS,
        order=order,
        holes=holes,
        per_position=order == 1 and bool(rng.integers(2)),
    )


def only(way: str, patch: pytest.MonkeyPatch) -> None:
    """Leave out the ways that come before one."""
    if way != "all":
        patch.setattr(automata, "_MOST_CELLS", 0)
    if way == "programs":
        patch.setattr(decoding, "_ROUNDS", ())


KINDS = ["0", "1", "2", "3", "tags", "segments", "limits", "local"]


@pytest.mark.parametrize("way", ["all", "k-best", "programs"])
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_the_answer_is_the_best_of_all_that_keep_the_constraints(
    kind: str, way: str, data: st.DataObject
) -> None:
    tags = kind == "tags"
    given_rules = data.draw(rules(["a", "b", "B-a", "I-b"] if tags else ["a", "b"]))
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    potentials = makers(rng, kind, holes=data.draw(st.sampled_from([0.0, 0.2])))
    one = potentials.sequence(0)
    if not Enumeration(one).outcomes:
        return
    wanted = expected(one, given_rules, tags)
    with pytest.MonkeyPatch.context() as patch:
        only(way, patch)
        if not wanted:
            with pytest.raises(InfeasibleError, match="sequence 0 has no labeling that keeps"):
                inference.constrained(potentials, given_rules)
            return
        (found,) = inference.constrained(potentials, given_rules)
    top = max(y.score for y in wanted)
    assert found.score == pytest.approx(top, abs=1e-6)
    begin = None if found.begin is None else tuple(found.begin.tolist())
    mine = [y for y in wanted if (y.labels, y.begin) == (tuple(found.labels.tolist()), begin)]
    assert len(mine) == 1, "the answer breaks a constraint"
    assert mine[0].score == pytest.approx(found.score, abs=1e-9)
    assert found.free_score == pytest.approx(max(y.score for y in Enumeration(one).outcomes), abs=1e-9)
    assert (found.how == "free") == (found.cost == 0.0) or found.cost < 1e-9


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_the_free_relaxation_is_viterbi(kind: str, seed: int) -> None:
    one = makers(np.random.default_rng(seed), kind).sequence(0)
    answer = solve(trellis := trellis_of(one), [], 1e9)
    assert answer is not None
    assert answer[1] == "LP"
    free = inference.decode(one)
    assert trellis.score[answer[0]].sum() == pytest.approx(free.score, abs=1e-9)
    assert trellis.path(answer[0], free.begin is not None).label.tolist() == free.labels.tolist()


def test_a_batch_is_answered_in_five_ways() -> None:
    rng = np.random.default_rng(0)
    potentials = chain(rng, 5, [0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25], labels=TAGS)
    items: list[GlobalConstraint] = [
        AtMostOnce(),
        Before("a", "b"),
        LinearConstraint({"B-a": 1.5, "B-b": 1.5, "O": 0.1}, 4.0),
    ]
    found = inference.constrained(potentials, items)
    assert {one.how for one in found} >= {"free", "DP", "k-best", "LP", "ILP"}
    for n, one in enumerate(found):
        alone = inference.constrained(potentials.sequence(n), items, threads=1)
        assert (alone.labels.tolist(), alone.score, alone.how) == (one.labels.tolist(), one.score, one.how)
        names = [TAGS[y] for y in one.labels]
        assert all(keeps(item, names, None, True) for item in items)
        assert one.score <= one.free_score


def test_scores_of_any_size_are_decoded() -> None:
    for scale in (1e-6, 1e4):
        potentials = chain(np.random.default_rng(1), 3, [6], labels=LABELS, scale=scale)
        items: list[GlobalConstraint] = [AtLeast("a", 2), AtMostOnce()]
        wanted = max(y.score for y in expected(potentials.sequence(0), items, False))
        with pytest.MonkeyPatch.context() as patch:
            only("programs", patch)
            assert inference.constrained(potentials, items)[0].score == pytest.approx(wanted, rel=1e-9)


def test_what_cannot_be_kept_is_named() -> None:
    potentials = Chain(["a", "b"]).potentials(np.zeros((5, 2)), seq_ptr=[0, 3, 5])
    with pytest.raises(InfeasibleError, match=r"sequence 0 .* AtLeast\(label='a', k=4\) \(and 1 more\)"):
        inference.constrained(potentials, [AtMostOnce(), AtLeast("a", 4)])
    with pytest.raises(InfeasibleError, match=r"keeps all of AtMost.* AtLeast.* together: relax"):
        inference.constrained(potentials.sequence(1), [AtMost("a", 0), AtLeast("a", 1)])
    empty = Chain(["a"]).potentials(np.zeros((0, 1)))
    with pytest.raises(InfeasibleError, match="AtLeast") as caught:
        inference.constrained(empty, [AtMostOnce(), AtLeast("a", 1)])
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.sequence) == (str(caught.value), 0)


def test_the_free_answer_comes_with_a_warning() -> None:
    potentials = Chain(["a", "b"]).potentials([[0.0, 1.0]] * 5, seq_ptr=[0, 2, 5])
    with pytest.warns(RuntimeWarning, match=r"1 of 2 sequences .first: 0. have no labeling that keeps"):
        found = inference.constrained(potentials, [AtLeast("a", 3)], infeasible="free")
    assert [(one.how, one.labels.tolist()) for one in found] == [("none", [1, 1]), ("DP", [0, 0, 0])]


def test_what_is_refused() -> None:
    scores = Chain(LABELS).potentials(np.zeros((2, 3)))
    with pytest.raises(TypeError, match="about neighbors: give it to the structure"):
        inference.constrained(scores, [Forbid("a", "b")])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="expected a list"):
        inference.constrained(scores, AtMostOnce())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"AtMost\(label='c', k=1\): 'c' matches no label"):
        inference.constrained(scores, [AtMost("c", 1)])
    with pytest.raises(ValueError, match="both match a, which cannot come before itself"):
        inference.constrained(scores, [Before("a", re.compile("a|b"))])
    with pytest.raises(TypeError, match="for chains and segments"):
        inference.constrained(Tree([-1], [2]).potentials([[0.0, 0.0]]), [AtMostOnce()])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="infeasible is 'no'"):
        inference.constrained(scores, [AtMostOnce()], infeasible="no")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AtMost("a", -1), "k must be 0 or more"),
        (lambda: AtMost(cast(Any, 3), 1), "label must be a label or a compiled pattern"),
        (lambda: AtMostOnce(cast(Any, "a")), "labels must be None or a list"),
        (lambda: AtMostOnce(()), "labels is empty"),
        (lambda: Before("a", cast(Any, None)), "b must be a label"),
        (lambda: LinearConstraint({}, 1), "coefficients must map"),
        (lambda: LinearConstraint({("a", "b"): 1}, 1), "the position 'b' is not a whole number"),
        (lambda: LinearConstraint({"a": np.nan}, 1), "is not a finite number"),
        (lambda: LinearConstraint({"a": 1}, np.inf), "bound must be a finite number"),
    ],
)
def test_wrong_constraints_are_refused_when_they_are_made(make: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        make()
