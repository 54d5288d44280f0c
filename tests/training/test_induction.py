"""Feature induction: gains against brute force, candidates against a slow count, and a task that needs it."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from crfkit import Chain, FeatureSelection, Likelihood, SemiMarkov, Stop
from crfkit.arrays import Bools, Pointers
from crfkit.data import Dataset
from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch
from crfkit.data.dataset import labeled
from crfkit.features import Conjunctions, ItemExtractor
from crfkit.models import SequenceModel, Tagger
from crfkit.structures import LocalChain
from crfkit.training import Induction, induce
from crfkit.training.learners.induction.ranking import Found, Tokens, best_features, tokens_of
from crfkit.training.learners.induction.report import write_report

L, A = 3, 7


def drawn(seed: int, *, valued: bool = False, weighted: bool = False, margin: float = 0.0) -> Tokens:
    """Return tokens of random data, with probabilities that have nothing to do with them."""
    rng = np.random.default_rng(seed)
    P = 60
    length = rng.integers(0, 6, size=P)
    rows = [rng.choice(A, size=n, replace=False) for n in length]
    batch = Batch(
        seq_ptr=np.array([0, 25, 60]),
        attr_ptr=np.cumsum([0, *length]),
        attr=np.concatenate(rows).astype(np.int32),
        value=rng.normal(size=length.sum()) if valued else None,
        label=rng.integers(0, L, size=P).astype(np.int32),
    )
    p = rng.dirichlet(np.full(L, 0.5), size=P)
    return tokens_of(batch, p, np.array([0.5, 2.0]) if weighted else np.ones(2), margin)


def slow_tests(tokens: Tokens) -> dict[tuple[int, int], dict[int, float]]:
    """Return tokens and values of every attribute and pair, token by token."""
    found: dict[tuple[int, int], dict[int, float]] = defaultdict(dict)
    ptr, attr = tokens.rows.ptr, tokens.rows.id
    value = np.ones(len(attr)) if tokens.rows.value is None else tokens.rows.value
    for j in range(len(tokens.position)):
        row = [(int(attr[i]), float(value[i])) for i in range(ptr[j], ptr[j + 1])]
        for a, v in row:
            found[a, -1][j] = v
            for b, u in row:
                if a < b:
                    found[a, b][j] = v * u
    return found


def slow_gain(tokens: Tokens, test: dict[int, float], y: int, l2: float) -> tuple[float, float]:
    """Return the best weight and what it gains: the rise of the pseudo-likelihood, less the penalty."""

    def rise(mu: float) -> float:
        total = -0.5 * l2 * mu * mu
        for j, v in test.items():
            score = np.log(np.maximum(tokens.p[j], 1e-300))
            score[y] += mu * v
            new = score - np.logaddexp.reduce(score)
            total += tokens.weight[j] * (
                new[tokens.gold[j]] - math.log(max(tokens.p[j][tokens.gold[j]], 1e-300))
            )
        return total

    best = minimize_scalar(lambda mu: -rise(float(mu)), bracket=(-1.0, 1.0), tol=1e-12)
    return float(best.x), rise(float(best.x))


@pytest.mark.parametrize(
    ("valued", "weighted", "margin"), [(False, False, 0.0), (False, True, 0.3), (True, True, 1.0)]
)
def test_gains_are_those_of_brute_force(valued: bool, weighted: bool, margin: float) -> None:
    tokens = drawn(1, valued=valued, weighted=weighted, margin=margin)
    everything: Bools = np.ones(tokens.attributes, dtype=np.bool_)
    search = tokens.search(0.7)
    for found, both in ((search.single(0.0, 2), False), (search.pairs(everything, everything, 0.0, 2), True)):
        made = Found(*found)
        known = {
            (a, b, y): (mu, gain, count)
            for a, b, y, mu, gain, count in zip(
                *(x.tolist() for x in (made.left, made.right, made.label, made.mu, made.gain, made.tokens)),
                strict=True,
            )
        }
        tests = {pair: test for pair, test in slow_tests(tokens).items() if (pair[1] >= 0) == both}
        assert {(a, b) for a, b, _ in known} <= set(tests)
        for (a, b), test in tests.items():
            for y in range(L):
                mu, gain = slow_gain(tokens, test, y, 0.7)
                if gain < 1e-7:
                    continue
                assert known[a, b, y][0] == pytest.approx(mu, abs=1e-4)
                assert known[a, b, y][1] == pytest.approx(gain, rel=1e-7)
                assert known[a, b, y][2] == len(test)


def test_values_of_thousands_gain_what_they_gain() -> None:
    """One token of a value so large that e^(mu v) leaves the range of numbers."""
    n = 40
    batch = Batch(
        seq_ptr=np.array([0, n]),
        attr_ptr=np.arange(n + 1),
        attr=np.zeros(n, dtype=np.int32),
        value=np.append(np.ones(n - 1), 5000.0),
        label=np.append(np.arange(n - 1) % 10 == 0, 0).astype(np.int32),
    )
    tokens = tokens_of(batch, np.tile([0.2, 0.7, 0.1], (n, 1)), np.ones(1), 1.0)
    (test,) = slow_tests(tokens).values()
    mu, gain = slow_gain(tokens, test, 0, 0.7)
    assert mu * 5000.0 > 710.0
    made = Found(*tokens.search(0.7).single(0.0, 1))
    at = made.label.tolist().index(0)
    assert made.mu[at] == pytest.approx(mu, abs=1e-4)
    assert made.gain[at] == pytest.approx(gain, rel=1e-7)


def test_the_floor_leaves_out_only_what_gains_less() -> None:
    tokens = drawn(2)
    some: Bools = np.arange(tokens.attributes) % 2 == 0
    everything: Bools = np.ones(tokens.attributes, dtype=np.bool_)
    search = tokens.search(1.0)
    asks: tuple[Callable[[float, int], Any], ...] = (
        lambda least, threads: search.single(least, threads),
        lambda least, threads: search.pairs(everything, everything, least, threads),
        lambda least, threads: search.pairs(some, everything, least, threads),
    )
    for ask in asks:
        whole, fewer = Found(*ask(0.0, 1)), Found(*ask(0.4, 3))
        above = whole[whole.gain > 0.4]
        assert 0 < len(above) < len(whole)
        for name in ("left", "right", "label", "gain", "mu", "mark"):
            assert getattr(fewer, name).tobytes() == getattr(above, name).tobytes()
    made = Found(*search.pairs(some, ~some, 0.0, 1))
    assert set((made.left % 2).tolist()) == {0}
    assert set((made.right % 2).tolist()) == {1}


def test_a_weight_stays_finite_where_probabilities_are_0_or_1() -> None:
    tokens = drawn(3)
    p = np.eye(L)[tokens.predicted]
    p[0, :] = [1e-320, 0.0, 1.0]
    sure = Tokens(tokens.position, tokens.gold, tokens.predicted, p, tokens.weight, tokens.rows)
    made = Found(*sure.search(1e-6).single(0.0, 1))
    assert len(made)
    assert np.isfinite(made.mu).all()
    assert np.isfinite(made.gain).all()


def best(tokens: Tokens, chosen: Any = (), parts: Any = (1,) * A, **options: Any) -> Found:
    given: dict[str, Any] = {"most": 10, "beam": A, "longest": 2, **options}
    keys: Pointers = np.array(chosen, dtype=np.int64)
    return best_features(tokens, 1.0, keys, np.array(parts, dtype=np.int64), **given)


def test_of_features_that_say_the_same_the_simplest_is_taken() -> None:
    rows = [[0, 1, 2], [0, 1], [3], [3, 4]] * 4  # 1 is where 0 is, 2 only where both are
    batch = Batch(
        seq_ptr=np.array([0, 16]),
        attr_ptr=np.cumsum([0, *map(len, rows)]),
        attr=np.array([a for row in rows for a in row], dtype=np.int32),
        label=np.array([0, 0, 1, 1] * 4, dtype=np.int32),
    )
    tokens = tokens_of(batch, np.full((16, 2), 0.5), np.ones(1))
    found = best(tokens, overlap=1.0)
    assert 1 not in found.left.tolist()
    assert (found.right < 0).all()
    assert (np.diff(found.gain) <= 0.0).all()
    assert (0, 0) in zip(found.left.tolist(), found.label.tolist(), strict=True)
    again = best(tokens, chosen=[0 * 2 + 0], overlap=1.0)
    assert (0, 0) not in zip(again.left.tolist(), again.label.tolist(), strict=True)
    assert 1 not in again.left[again.label == 0].tolist()
    # Features whose tokens better ones explain wait for the next round.
    assert set(best(tokens, overlap=0.5).left.tolist()) == {0, 3}


def test_a_conjunction_must_gain_more_than_its_parts() -> None:
    tokens = drawn(0, margin=1.0)
    tests = slow_tests(tokens)
    gain = {(*pair, y): slow_gain(tokens, test, y, 1.0)[1] for pair, test in tests.items() for y in range(L)}
    found = best(tokens, most=1000, overlap=1.0)
    joint = found[found.right >= 0]
    made = set(zip(joint.left.tolist(), joint.right.tolist(), joint.label.tolist(), strict=True))
    wanted = {
        (a, b, y) for a, b, y in gain if b >= 0 and gain[a, b, y] > max(gain[a, -1, y], gain[b, -1, y]) + 1e-9
    }
    assert made == wanted
    assert 0 < len(made) < len([key for key in gain if key[1] >= 0])


def xor(count: int = 40, seed: int = 0) -> tuple[list[Any], list[Any]]:
    """Return sequences of which no attribute, but every conjunction of u and v, tells the label."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2, size=(count, 6, 3)).tolist()
    X = [[[f"u={u}", f"v={v}", f"noise={n}"] for u, v, n in sequence] for sequence in bits]
    return X, [["same" if u == v else "other" for u, v, _ in sequence] for sequence in bits]


def test_a_task_that_needs_a_conjunction_is_solved(tmp_path: Path) -> None:
    X, y = xor()
    new, gold = xor(20, seed=1)
    heard: list[Any] = []
    found = induce(
        ItemExtractor()(X, y),
        ItemExtractor()(new, gold),
        induction=Induction(rounds=4, per_round=8, margin=1.0),
        on_round=heard.append,
        progress=False,
    )
    assert tuple(heard) == found.rounds
    assert found.model.score(new, y=gold) == 1.0
    names = {feature.name for one in found.rounds for feature in one.features}
    assert {"u=0|v=0", "u=1|v=1"} & {"|".join(sorted(name.split("|"))) for name in names}
    first = found.rounds[0].features[0]
    assert set(first.name.split("|")) <= {"u=0", "u=1", "v=0", "v=1"}
    assert len(first.examples) == min(first.explained, 3) > 0
    for example in first.examples:
        assert y[example.sequence][example.position] == example.gold
        assert (example.gold == first.label) == (first.weight > 0.0)
        assert set(first.name.split("|")) <= set(X[example.sequence][example.position])
    path = tmp_path / "m.crf"
    found.model.save(path)
    again = SequenceModel.load(path)
    assert again.predict(new) == gold
    assert [Tagger(again).tag(sequence) for sequence in new] == gold
    write_report(tmp_path / "r.jsonl", found.rounds)
    lines = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    assert [line["name"] for line in lines] == [f.name for one in found.rounds for f in one.features]
    write_report(tmp_path / "r.md", found.rounds)
    assert first.name.replace("|", r"\|") in (tmp_path / "r.md").read_text()


def test_without_conjunctions_it_is_not_solved() -> None:
    X, y = xor()
    found = induce(ItemExtractor()(X, y), induction=Induction(rounds=2, max_length=1), progress=False)
    assert found.model.conjunctions is None
    assert found.model.score(X, y=y) < 0.8


def test_conjunctions_grow_and_begin_with_what_there_is() -> None:
    rng = np.random.default_rng(4)
    bits = rng.integers(0, 2, size=(60, 5, 3))
    X = [[[f"{name}={b}" for name, b in zip("uvw", row, strict=True)] for row in s] for s in bits.tolist()]
    y = [["odd" if row.sum() % 2 else "even" for row in s] for s in bits]
    data = ItemExtractor()(X, y)
    options: dict[str, Any] = {"rounds": 4, "per_round": 20, "start": "observed", "margin": 1.0}
    pairs = induce(data, induction=Induction(max_length=2, **options), progress=False).model
    assert pairs.score(X, y=y) < 0.9
    found = induce(data, induction=Induction(max_length=3, **options), progress=False)
    assert found.model.score(X, y=y) == 1.0
    assert any(name.count("|") == 2 for name in found.model.attributes)
    given = Conjunctions([("u=0", "v=0")])(data)  # data that have conjunctions already
    more = induce(given, induction=Induction(max_length=3, **options), progress=False).model
    assert more.score(X, y=y) == 1.0
    assert not any(name.count("|") > 2 for name in more.attributes)


def test_the_same_bits_on_any_number_of_threads() -> None:
    X, y = xor(30)
    models = [
        induce(
            ItemExtractor()(X, y),
            induction=Induction(rounds=2, margin=1.0),
            structure=Chain(order=2),
            objective=Likelihood(l2=0.5, label_weights={"same": 2.0}),
            threads=threads,
            progress=False,
        ).model
        for threads in (1, 3)
    ]
    assert models[0].w.tobytes() == models[1].w.tobytes()
    assert models[0].attributes.strings() == models[1].attributes.strings()
    assert models[0].layout.order == 2


def test_a_dev_set_ends_it_and_the_best_round_is_kept() -> None:
    X, y = xor(30)
    shuffled = [[label if n % 2 else "same" for n, label in enumerate(labels)] for labels in y]
    found = induce(
        ItemExtractor()(X, y),
        ItemExtractor()(X, shuffled),
        induction=Induction(rounds=10, per_round=1, patience=1, margin=1.0),
        progress=False,
    )
    scores = [one.score for one in found.rounds]
    assert found.kept == int(np.argmax(scores)) + 1
    assert found.reason == "the dev score has not risen for 1 rounds" or len(found.rounds) == 10
    nodes = np.count_nonzero(np.diff(found.model.layout.node_ptr))
    assert nodes <= found.rounds[found.kept - 1].weights


def test_names_that_are_taken_are_not_made() -> None:
    X, y = xor(30)
    X = [[[*row, "u=0|v=0", "v=0|u=0"] for row in s] for s in X]
    found = induce(ItemExtractor()(X, y), induction=Induction(rounds=2, margin=1.0), progress=False)
    made = found.model.conjunctions
    assert made is not None
    assert not {"u=0|v=0", "v=0|u=0"} & set(made.names)


def refused(why: str, data: Dataset | None = None, **options: Any) -> None:
    X, y = xor(3)
    with pytest.raises(ValueError, match=why):
        induce(ItemExtractor()(X, y) if data is None else data, progress=False, **options)


def test_what_it_is_not_for_is_refused() -> None:
    X, y = xor(3)
    refused("the data have no labels; induction needs", ItemExtractor()(X))
    half = labeled(ItemExtractor()(X), [[*labels[:-1], None] for labels in y], Alphabet())
    refused("partial or soft labels", half)
    refused("hashed ids or ids without names", ItemExtractor(hashed=64)(X, y))
    refused("no attributes", ItemExtractor()([[[] for _ in s] for s in X], y))
    refused("induction is for chains, and the structure is", structure=SemiMarkov())
    refused("induction is for chains", structure=LocalChain())
    refused("induction is for the likelihood", objective="max-margin")
    refused("needs an L2 penalty and no L1", objective=Likelihood(l1=0.5))
    refused("needs an L2 penalty", objective=Likelihood(l2=0.0))
    refused("what induction finds: leave it out", selection=FeatureSelection("all"))
    refused("gains more than 1000000.0 at .* tokens; a larger beam", induction=Induction(min_gain=1e6))
    plain = [[["a"] if label == "same" else ["b"] for label in labels] for labels in y]
    options = Induction(start="observed", iterations=50, margin=0.0)
    refused("no token is wrong with a margin", ItemExtractor()(plain, y), induction=options)


def test_rounds_end_where_nothing_is_left() -> None:
    X, y = xor(30)
    found = induce(
        ItemExtractor()(X, y),
        induction=Induction(rounds=10, iterations=100),
        stop=Stop(max_iterations=500),
        progress=False,
    )
    assert found.reason.startswith("no token is wrong")
    assert len(found.rounds) < 10


def slow_diverse(tokens: Tokens, found: Found, most: int, overlap: float) -> list[int]:
    """Return which features explain enough that better ones do not, cell by cell."""
    tests, claimed, chosen = slow_tests(tokens), set(), []
    for i, (a, b, y, mu) in enumerate(
        zip(*(x.tolist() for x in (found.left, found.right, found.label, found.mu)), strict=True)
    ):
        could = {}
        for j in tests[a, b]:
            if (tokens.gold[j] == y) == (mu > 0.0):
                q = tokens.p[j, y] if tokens.gold[j] == y else 1.0 - tokens.p[j, y]
                could[j, y] = -math.log(max(q, 1e-300)) * tokens.weight[j]
        news = sum(bound for cell, bound in could.items() if cell not in claimed)
        if news <= 0.0 or news < (1.0 - overlap) * sum(could.values()):
            continue
        chosen.append(i)
        claimed |= set(could)
    return chosen[:most]


@pytest.mark.parametrize("overlap", [0.2, 0.5, 0.9])
def test_features_of_a_round_explain_different_tokens(overlap: float) -> None:
    tokens = drawn(6, weighted=True, margin=1.0)
    everything: Bools = np.ones(tokens.attributes, dtype=np.bool_)
    search = tokens.search(1.0)
    found = (
        Found(*search.single(0.0, 1)).joined(Found(*search.pairs(everything, everything, 0.0, 1))).ranked()
    )
    for most in (3, 1000):
        made = search.diverse(found.left, found.right, found.label, found.mu, most, 1.0 - overlap)
        assert made.tolist() == slow_diverse(tokens, found, most, overlap)
    assert 3 < len(made) < len(found)
