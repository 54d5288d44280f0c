"""Different ways to write one model give one answer."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from crfkit import Chain, SemiMarkov, inference
from crfkit.structures import Tree
from crfkit.structures.chains.potentials import ChainPotentials
from crfkit.structures.constraints import Constraint, Forbid, SegmentLength
from crfkit.structures.segments.potentials import SemiMarkovPotentials
from crfkit.structures.tree import TreePotentials
from tests.cases.answers import assert_close, key
from tests.cases.potential_cases import ENUMERABLE
from tests.cases.potentials import NEVER, Case, Potentials, chain, path, pointers, scores, segments, tree

LENGTHS = (6, 0, 1, 4)


def rng_of(name: str) -> np.random.Generator:
    return np.random.default_rng(list(name.encode()))


def ids(case: Case) -> str:
    return f"{case.structure}-{case.name}"


@pytest.mark.parametrize("space", ["auto", "log"])
@pytest.mark.parametrize("L", [1, 3, 8, 9, 23])
@pytest.mark.parametrize("per_position", [False, True])
@pytest.mark.parametrize("holes", [0.0, 0.2])
def test_semi_markov_of_length_1_and_path_are_chains(
    L: int, per_position: bool, holes: float, space: Any
) -> None:
    rng = rng_of(f"three ways {L}")
    shape = (sum(LENGTHS), L, L) if per_position else (L, L)
    node, edge = scores(rng, (sum(LENGTHS), L), holes=holes), scores(rng, shape, holes=holes)
    node[:, 0], edge[..., 0, 0] = 0.0, 0.0  # at least one labeling
    start, stop = scores(rng, (L,)), scores(rng, (L,))
    ptr = pointers(LENGTHS)
    ends: dict[str, Any] = {"start": start, "stop": stop, "seq_ptr": ptr}
    one = Chain(L).potentials(node, edge, **ends)
    two = SemiMarkov(L, 1).potentials(node[:, None], edge, **ends)
    # A path-shaped tree: start and stop belong to its first and last variable.
    parent = [up for T in LENGTHS for up in path(T)]
    rows = node.copy()
    for a, b in pairwise(ptr):
        if a < b:
            rows[a] += start
            rows[b - 1] += stop
    tables: list[Any] = [
        None if up < 0 else (edge[p].T if per_position else edge.T) for p, up in enumerate(parent)
    ]
    three = Tree(parent, L, ptr).potentials(list(rows), tables)

    options: dict[str, Any] = {"edges_by_position": True, "space": space}
    a, b, c = (inference.marginals(p, **options) for p in (one, two, three))
    assert_close(b.log_partition, a.log_partition)
    assert_close(c.log_partition, a.log_partition)
    assert_close(b.node, a.node)
    assert b.segment is not None
    assert_close(b.segment[:, 0], a.node)
    assert_close(np.array(c.node), a.node)
    assert_close(b.edge, a.edge)
    for p, up in enumerate(parent):
        if up >= 0:
            assert_close(c.edge[p].T, a.edge[p])
    assert_close(b.start, a.start)
    assert_close(b.stop, a.stop)
    assert_close(sum(row for row, up in zip(c.node, parent, strict=True) if up < 0), a.start)
    for query in (inference.entropy, inference.log_partition):
        assert_close(query(two, space=space), query(one, space=space), atol=1e-10)
        assert_close(query(three, space=space), query(one, space=space), atol=1e-10)
    assert inference.count(one) == inference.count(two) == inference.count(three)
    for x, y, z in zip(*(inference.kbest(p, 4) for p in (one, two, three)), strict=True):
        assert_close([k.score for k in y], [k.score for k in x])
        assert_close([k.score for k in z], [k.score for k in x])


@pytest.mark.parametrize("case", ENUMERABLE, ids=ids)
def test_kbest_lists(case: Case) -> None:
    batch = case.make(1)
    counts = inference.count(batch)
    most = max([*counts, 1])
    total = np.array(inference.log_partition(batch))
    for n, (found, best) in enumerate(
        zip(inference.kbest(batch, most + 3), inference.decode(batch), strict=True)
    ):
        assert found[0].score == pytest.approx(best.score, rel=1e-12, abs=1e-12)
        assert len(found) == counts[n] == len({key(y) for y in found})
        listed = [y.score for y in found]
        assert listed == sorted(listed, reverse=True)
        assert math.fsum(np.exp(np.array(listed) - total[n])) == pytest.approx(1.0, abs=1e-10)


def test_kbest_of_one_is_decode() -> None:
    batch = chain(rng_of("kbest of one"), 9, [i % 11 for i in range(30)])
    for (found,), best in zip(inference.kbest(batch, 1), inference.decode(batch), strict=True):
        assert found.labels.tolist() == best.labels.tolist()
        assert found.score == pytest.approx(best.score, rel=1e-13)


@pytest.mark.parametrize(
    ("L", "T", "order"),
    [(L, T, order) for L, T in ((1, 9), (2, 200), (9, 50), (3, 0)) for order in range(4)] + [(23, 50, 1)],
)
def test_count_is_a_power(L: int, T: int, order: int) -> None:
    assert inference.count(Chain(L, order=order).potentials(np.zeros((T, L)))) == L**T


def test_count_of_segmentations() -> None:
    """c(t) = L * (c(t - 1) + ... + c(t - D))."""
    L, D, T = 3, 4, 60
    counts = [1]
    for t in range(1, T + 1):
        counts.append(L * sum(counts[max(0, t - D) : t]))
    assert inference.count(SemiMarkov(L, D).potentials(np.zeros((T, D, L)))) == counts[T]


def test_count_of_a_tree_is_the_product_of_widths() -> None:
    widths = [3, 5, 2, 7] * 20
    potentials = Tree([-1, *[v // 2 for v in range(79)]], widths).potentials([np.zeros(n) for n in widths])
    assert inference.count(potentials) == math.prod(widths)


@pytest.mark.parametrize("L", [3, 9])
def test_reversed_chain(L: int) -> None:
    rng = rng_of("reversed")
    T = 7
    node, edge = scores(rng, (T, L), holes=0.1), scores(rng, (L, L), holes=0.1)
    node[:, 0], edge[0, 0] = 0.0, 0.0
    start, stop = scores(rng, (L,)), scores(rng, (L,))
    forth = inference.marginals(
        Chain(L).potentials(node, edge, start=start, stop=stop), edges_by_position=True
    )
    back = inference.marginals(
        Chain(L).potentials(node[::-1], edge.T, start=stop, stop=start), edges_by_position=True
    )
    assert_close(back.log_partition, forth.log_partition)
    assert_close(back.node[::-1], forth.node)
    assert_close(np.transpose(back.edge[:0:-1], (0, 2, 1)), forth.edge[1:])
    assert_close(back.start, forth.stop)
    assert_close(back.stop, forth.start)


@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("L", [2, 5, 8])
def test_higher_order_without_scores_is_order_1(L: int, order: int) -> None:
    one = chain(rng_of("order"), L, LENGTHS)
    tables = [one.edge[0], *[None] * (order - 1)]
    more = Chain(L, order=order).potentials(
        one.node, tables, start=one.start, stop=one.stop, seq_ptr=one.seq_ptr
    )
    a, b = inference.marginals(one), inference.marginals(more)
    assert_close(b.log_partition, a.log_partition)
    assert_close(b.node, a.node)
    assert_close(b.edge[0], a.edge)
    assert_close(b.start, a.start)
    assert_close(b.stop, a.stop)
    assert_close(inference.entropy(more), inference.entropy(one), atol=1e-10)
    for x, y in zip(inference.decode(one), inference.decode(more), strict=True):
        assert x.labels.tolist() == y.labels.tolist()


@pytest.mark.parametrize("L", [2, 3, 4])
def test_order_2_by_label_pairs(L: int) -> None:
    """Pair (a, b) at t says y_{t-1} = a, y_t = b; the first position repeats its label."""
    rng = rng_of("pairs")
    T = 6
    node, first, second = scores(rng, (T, L)), scores(rng, (L, L)), scores(rng, (L, L, L))
    start, stop = scores(rng, (L,)), scores(rng, (L,))
    native = Chain(L, order=2).potentials(node, [first, second], start=start, stop=stop)
    pairs = list(product(range(L), repeat=2))
    edge = np.full((T, L * L, L * L), NEVER)
    for (i, (a, b)), (j, (c, d)) in product(enumerate(pairs), repeat=2):
        if b == c:
            edge[1, i, j] = first[b, d]
            edge[2:, i, j] = first[b, d] + second[a, b, d]
    expanded = Chain(L * L).potentials(
        np.array([[row[b] for _, b in pairs] for row in node]),
        edge,
        start=[start[b] if a == b else NEVER for a, b in pairs],
        stop=[stop[b] for _, b in pairs],
    )
    two, one = inference.marginals(native), inference.marginals(expanded)
    assert_close(one.log_partition, two.log_partition)
    onto = np.array([[float(b == y) for y in range(L)] for _, b in pairs])  # [L * L, L]
    assert_close(one.node @ onto, two.node)
    runs = np.zeros((L, L, L))
    for (i, (x, y)), (j, (_, z)) in product(enumerate(pairs), repeat=2):
        runs[x, y, z] += one.edge[2:, i, j].sum()
    assert_close(two.edge[1], runs)
    assert_close(inference.decode(expanded).score, inference.decode(native).score)
    assert inference.count(native) == inference.count(expanded)


def test_one_position_is_logistic_regression() -> None:
    rng = rng_of("logistic")
    x = rng.normal(size=(200, 4))
    y = np.argmax(x @ rng.normal(size=(4, 3)) + rng.gumbel(size=(200, 3)), axis=1)
    fitted = LogisticRegression(C=1.0).fit(x, y)
    node = x @ fitted.coef_.T + fitted.intercept_  # [200, 3]
    batch = Chain(3).potentials(node, seq_ptr=np.arange(201))
    for label in range(3):
        mine = inference.log_prob(batch, np.full(200, label))
        assert_close(np.exp(mine), fitted.predict_proba(x)[:, label])
    assert_close(inference.marginals(batch).node, fitted.predict_proba(x))


# ---- derivatives ---------------------------------------------------------------------------------


def smooth_problems() -> Iterator[tuple[str, Potentials]]:
    for order in (0, 1, 2, 3):
        yield f"order {order}", chain(rng_of("smooth"), 3, (4, 0, 1, 3), order=order)
    yield "per position", chain(rng_of("smooth"), 3, (4, 1, 3), per_position=True)
    yield "forbidden", chain(rng_of("smooth2"), 9, (4, 1, 3), holes=0.1)
    yield "segments", segments(rng_of("smooth"), 3, (5, 0, 1, 3))
    yield "segments per position", segments(rng_of("smooth"), 2, (5, 1, 3), per_position=True)
    yield "tree", tree(rng_of("smooth"), [[1, -1, 1, 2, 2], [], [-1, 0, -1]], widths=(1, 2, 3))


def arrays_of(potentials: Potentials) -> dict[str, tuple[Any, ...]]:
    """All score arrays, by the name of their marginals."""
    if isinstance(potentials, TreePotentials):
        return {"node": potentials.node, "edge": potentials.edge}
    edge = potentials.edge
    named: dict[str, Any] = {"edge": edge if isinstance(edge, tuple) else (edge,)}
    if isinstance(potentials, SemiMarkovPotentials):
        named["segment"] = (potentials.segment,)
    else:
        named["node"] = (potentials.node,)
    named["start"], named["stop"] = (potentials.start,), (potentials.stop,)
    return named


@pytest.mark.parametrize("name", [name for name, _ in smooth_problems()])
def test_marginals_are_derivatives_of_log_z(name: str) -> None:
    potentials = dict(smooth_problems())[name]
    found = inference.marginals(potentials)
    h = 1e-5
    for part, arrays in arrays_of(potentials).items():
        credits = getattr(found, part)
        listed = credits if isinstance(credits, list | tuple) else (credits,)
        for array, credit in zip(arrays, listed, strict=True):
            assert array.shape == credit.shape
            for index in np.ndindex(array.shape):
                kept = array[index]
                if kept == NEVER:
                    assert credit[index] == 0.0
                    continue
                ends = []
                for step in (h, -h):
                    array[index] = kept + step
                    # The kernels see a copy with these scores; the cached one is of the old ones.
                    fresh = dataclasses.replace(potentials)
                    ends.append(np.sum(inference.log_partition(fresh, threads=1)))
                array[index] = kept
                slope = (ends[0] - ends[1]) / (2 * h)
                assert slope == pytest.approx(credit[index], abs=1e-6), (part, index)


# ---- shifts, uniform models, allowed labels ------------------------------------------------------


@pytest.mark.parametrize("space", ["auto", "log"])
def test_a_constant_on_one_row_shifts_log_z(space: Any) -> None:
    rng = rng_of("shift")
    one = chain(rng, 5, (6,))
    node = one.node.copy()
    node[2] += 1234.5
    other = dataclasses.replace(one, node=node)
    a = inference.marginals(one, space=space, edges_by_position=True)
    b = inference.marginals(other, space=space, edges_by_position=True)
    assert_close(b.log_partition, a.log_partition + 1234.5)
    assert_close(b.node, a.node)
    assert_close(b.edge, a.edge)
    leaf = tree(rng, [[-1, 0, 0, 1]], widths=(3,))
    moved = dataclasses.replace(leaf, node=(*leaf.node[:3], leaf.node[3] - 77.0))
    assert_close(
        inference.log_partition(moved, space=space), inference.log_partition(leaf, space=space) - 77.0
    )
    for x, y in zip(inference.marginals(leaf).node, inference.marginals(moved).node, strict=True):
        assert_close(x, y)
    cut = segments(rng, 3, (6,))
    shifted = cut.segment.copy()
    shifted[5] += 50.0  # every segment that begins at the last position
    found = inference.marginals(cut).segment
    assert found is not None
    p = found[5, 0].sum()
    wanted = inference.log_partition(cut)[0] + math.log1p(p * math.expm1(50.0))
    assert_close(inference.log_partition(dataclasses.replace(cut, segment=shifted))[0], wanted)


@pytest.mark.parametrize("space", ["auto", "log"])
def test_entropy_of_a_uniform_model_is_log_count(space: Any) -> None:
    rng = rng_of("uniform")
    mask = rng.random((9, 4)) < 0.7
    mask[:, 0] = True
    problems: list[Potentials] = [
        Chain(4).potentials(np.zeros((9, 4)), allowed=mask),
        Chain(4, order=2).potentials(np.zeros((9, 4)), allowed=mask),
        SemiMarkov(4, 3).potentials(np.zeros((9, 3, 4)), allowed=mask),
        Tree([-1, 0, 0, 1], [3, 4, 5, 6]).potentials([np.zeros(n) for n in (3, 4, 5, 6)]),
    ]
    for p in problems:
        assert_close(inference.entropy(p, space=space), math.log(inference.count(p)))
        assert_close(inference.log_partition(p, space=space), math.log(inference.count(p)))


def test_allowed_labels_are_minus_infinity_elsewhere() -> None:
    rng = rng_of("allowed")
    names = ["a", "b", "c"]
    node, edge = scores(rng, (4, 3)), scores(rng, (3, 3))
    sets: list[Any] = [None, "b", {"a", 2}, ["c"]]
    mask = np.array([[1, 1, 1], [0, 1, 0], [1, 0, 1], [0, 0, 1]], dtype=bool)
    by_set = Chain(names).potentials(node, edge, allowed=sets)
    by_mask = Chain(names).potentials(node, edge, allowed=mask)
    by_hand = Chain(names).potentials(np.where(mask, node, NEVER), edge)
    for p in (by_set, by_mask):
        assert_close(inference.log_partition(p), inference.log_partition(by_hand))
        assert_close(inference.marginals(p).node, inference.marginals(by_hand).node)
        assert inference.count(p) == inference.count(by_hand) == 6
    segment = scores(rng, (4, 2, 3))
    cut = SemiMarkov(names, 2).potentials(segment, edge, allowed=sets)
    hand = segment.copy()
    for t, d in product(range(4), range(2)):
        inside = mask[t : t + d + 1]
        hand[t, d, ~inside.all(axis=0)] = NEVER
    assert_close(
        inference.marginals(cut).segment,
        inference.marginals(SemiMarkov(names, 2).potentials(hand, edge)).segment,
    )


def test_span_of_everything_is_the_labeling() -> None:
    one = chain(rng_of("span"), 3, (5,)).sequence(0)
    y = inference.decode(one)
    whole = inference.span_probability(one, 0, 5, y.labels.tolist())
    assert_close(whole, math.exp(inference.log_prob(one, y)))
    assert isinstance(one, ChainPotentials)


def test_segment_lengths_of_whole_segments() -> None:
    """A label of a segment model stands for a segment, not for a run of positions."""
    constraints: list[Constraint] = [SegmentLength("a", minimum=2), Forbid("a", "a")]
    model = SemiMarkov(["a"], 3, constraints=constraints)
    lengths = [inference.count(model.potentials(np.zeros((T, 3, 1)))) for T in (2, 3)]
    assert lengths == [1, 1]
    with pytest.raises(ValueError, match="sequence 0 has no labeling"):
        inference.count(model.potentials(np.zeros((4, 3, 1))))
