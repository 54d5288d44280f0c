"""Long sequences, huge and tiny scores, single survivors, and nothing at all."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

from crfkit import Chain, SemiMarkov, inference
from crfkit.inference import Potentials
from crfkit.inference.reference.textbook import Textbook
from crfkit.native import kernels
from crfkit.structures import Tree
from tests.cases.answers import assert_close
from tests.cases.potentials import NEVER, path, reversed_path, scores, star


def in_logs(potentials: Potentials) -> list[int]:
    """Tell which sequences were summed in log space."""
    found = kernels.marginals(potentials.problem, False, False, 1)["in_logs"].tolist()
    assert isinstance(found, list)
    return found


def spaces_agree(potentials: Potentials) -> None:
    """Compare scaled probabilities with logarithms, and rows of marginals with 1."""
    auto = inference.marginals(potentials)
    logs = inference.marginals(potentials, space="log")
    assert_close(auto.log_partition, logs.log_partition)
    a, b = np.array(auto.node), np.array(logs.node)  # [T, L]
    assert np.abs(a - b).max() < 1e-9
    assert np.abs(a.sum(axis=1) - 1.0).max() < 1e-9
    if isinstance(auto.edge, np.ndarray):
        assert_close(auto.edge, logs.edge, rtol=1e-9, atol=1e-9)
    assert inference.log_partition(potentials) == auto.log_partition


@pytest.mark.parametrize("scale", [1.0, 1e4])
@pytest.mark.parametrize("L", [5, 23])
def test_chain_of_100_000_positions(L: int, scale: float) -> None:
    rng = np.random.default_rng(L)
    T = 100_000
    node = rng.uniform(-scale, scale, size=(T, L))
    long = Chain(L).potentials(node, rng.uniform(-scale, scale, size=(L, L)))
    auto = inference.marginals(long)
    logs = inference.marginals(long, space="log")
    assert_close(auto.log_partition, logs.log_partition)
    assert np.abs(auto.node - logs.node).max() < 1e-9
    assert np.abs(auto.node.sum(axis=1) - 1.0).max() < 1e-9
    assert abs(auto.edge.sum() - (T - 1)) < 1e-9 * T
    assert inference.decode(long).score <= auto.log_partition


def test_long_chain_of_known_log_z() -> None:
    """Independent positions: log Z is a sum that math.fsum can do."""
    rng = np.random.default_rng(1)
    node = rng.uniform(-1e4, 1e4, size=(100_000, 5))
    tops = node.max(axis=1)
    wanted = math.fsum(tops) + math.fsum(np.log(np.exp(node - tops[:, None]).sum(axis=1)))
    for space in ("auto", "log"):
        found = inference.log_partition(Chain(5).potentials(node), space=space)
        assert found == pytest.approx(wanted, rel=1e-13)


@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_semi_markov_of_20_000_positions(scale: float) -> None:
    rng = np.random.default_rng(2)
    T, D, L = 20_000, 4, 5
    long = SemiMarkov(L, D).potentials(
        rng.uniform(-scale, scale, size=(T, D, L)), rng.uniform(-scale, scale, size=(L, L))
    )
    spaces_agree(long)


@pytest.mark.parametrize("shape", [path(50_000), reversed_path(50_000), star(20_000)])
@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_deep_and_wide_trees(shape: list[int], scale: float) -> None:
    rng = np.random.default_rng(3)
    V, L = len(shape), 3
    node = rng.uniform(-scale, scale, size=(V, L))
    edge = rng.uniform(-scale, scale, size=(V, L, L))
    tables = [None if up < 0 else edge[v] for v, up in enumerate(shape)]
    large = Tree(shape, L).potentials(list(node), tables)
    spaces_agree(large)
    best, total = inference.decode(large).score, inference.log_partition(large)
    assert best <= total + 1e-9 * abs(total)


def test_count_of_a_long_path() -> None:
    large = Tree(path(1000), 3).potentials(list(np.zeros((1000, 3))))
    assert inference.count(large) == 3**1000


# ---- where scaled probabilities cannot be trusted ------------------------------------------------


def test_ordinary_problems_are_summed_in_probability_space() -> None:
    rng = np.random.default_rng(4)
    chain = Chain(5).potentials(scores(rng, (20, 5)), scores(rng, (5, 5)))
    cut = SemiMarkov(3, 3).potentials(scores(rng, (20, 3, 3)), scores(rng, (3, 3)))
    tree = Tree(path(9), 4).potentials(list(scores(rng, (9, 4))), [None] * 9)
    masked = Chain(5).potentials(scores(rng, (20, 5)), scores(rng, (5, 5)), allowed=[{0, 1}] * 20)
    for p in (chain, cut, tree, masked):
        assert in_logs(p) == [0]


@pytest.mark.parametrize("T", [3, 30])
@pytest.mark.parametrize("gap", [400.0, 1e4])
def test_only_survivor_has_a_tiny_forward_probability(T: int, gap: float) -> None:
    """Label 0 is far better at every position but the last, where only label 1 may stand."""
    node = np.zeros((T, 2))
    node[:, 1] = -gap
    edge = [[0.0, NEVER], [0.0, 0.0]]  # who leaves 1 never comes back
    node[-1, 0] = NEVER
    one = Chain(2).potentials(node, edge)
    found = inference.marginals(one)
    assert in_logs(one) == [1]
    assert_close(found.log_partition, -gap * T)
    assert_close(found.node, np.array([[0.0, 1.0]] * T))
    assert inference.count(one) == 1
    assert inference.decode(one).labels.tolist() == [1] * T
    assert [y.labels.tolist() for y in inference.sample(one, 2)] == [[1] * T] * 2
    assert_close(inference.entropy(one), 0.0, atol=1e-9)


def test_survivor_in_segments_and_trees() -> None:
    T, gap = 40, 300.0
    segment = np.zeros((T, 2, 2))
    segment[:, :, 1] = -gap
    segment[-1, :, 0] = NEVER
    segment[-2, 1, 0] = NEVER
    cut = SemiMarkov(2, 2).potentials(segment, [[0.0, NEVER], [0.0, 0.0]])
    assert in_logs(cut) == [1]
    assert_close(inference.marginals(cut).node, np.array([[0.0, 1.0]] * T))
    assert_close(inference.log_partition(cut), Textbook(cut).log_partition)
    node = [np.array([0.0, -gap]) for _ in range(T)]
    node[0] = np.array([NEVER, -gap])
    table = np.array([[0.0, 0.0], [NEVER, 0.0]])  # [variable, parent]
    table[0, 1] = NEVER
    tree = Tree(path(T), 2).potentials(node, [None, *[table] * (T - 1)])
    assert in_logs(tree) == [1]
    assert_close(inference.marginals(tree).node, [np.array([0.0, 1.0])] * T)
    assert_close(inference.log_partition(tree), -gap * T)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_switch_is_made_for_each_sequence(order: int) -> None:
    calm, wild = np.zeros((4, 3)), np.zeros((4, 3))
    wild[:] = [0.0, -5e3, 5e3]
    batch = Chain(3, order=order).potentials(np.concatenate([calm, wild, calm]), seq_ptr=[0, 4, 8, 12])
    auto, logs = inference.marginals(batch), inference.marginals(batch, space="log")
    assert in_logs(batch)[1] == 1
    assert_close(auto.log_partition, logs.log_partition)
    assert_close(auto.node, logs.node)
    assert_close(auto.edge, logs.edge)
    assert_close(inference.log_partition(batch)[[0, 2]], np.full(2, 4 * math.log(3)))


# ---- little or nothing ---------------------------------------------------------------------------


def test_one_label() -> None:
    rng = np.random.default_rng(5)
    node = scores(rng, (50, 1), scale=1e3)
    one = Chain(1).potentials(node, [[2.0]], start=[3.0], stop=[4.0])
    assert inference.log_partition(one) == pytest.approx(node.sum() + 98.0 + 7.0, rel=1e-13)
    assert_close(inference.marginals(one).node, np.ones((50, 1)))
    assert_close(inference.marginals(one).edge, np.array([[49.0]]))
    assert inference.entropy(one) == pytest.approx(0.0, abs=1e-9)
    assert inference.count(one) == 1
    assert len(inference.kbest(one, 5)) == 1


@pytest.mark.parametrize("k", [50, 81, 100, 3000])
@pytest.mark.parametrize("order", [1, 2])
def test_many_best_labelings_with_equal_scores(order: int, k: int) -> None:
    """All 3 ** 4 labelings are enumerated; most have a score that others have too."""
    rng = np.random.default_rng(8)
    node, edge = (
        rng.integers(0, 3, (4, 3)).astype(float),
        rng.integers(0, 2, (3,) * (order + 1)).astype(float),
    )
    potentials = Chain(3, order=order).potentials(node, edge)
    found = inference.kbest(potentials, k)
    best = sorted(
        (float(inference.score(potentials, np.array(y))) for y in product(range(3), repeat=4)), reverse=True
    )
    assert [one.score for one in found] == best[:k]
    assert len({tuple(one.labels.tolist()) for one in found}) == min(k, 81)


def empty_problems() -> dict[str, tuple[Potentials, int]]:
    """Problems without a single position, and how many sequences they have."""
    found: dict[str, tuple[Potentials, int]] = {}
    for N in (0, 3):
        ptr: Any = np.zeros(N + 1, dtype=np.int64)
        ends: dict[str, Any] = {"start": [1.0, 2.0], "stop": [3.0, 4.0], "seq_ptr": ptr}
        for order in (0, 1, 2):
            chain = Chain(2, order=order).potentials(np.zeros((0, 2)), **ends)
            found[f"chain of order {order}, {N}"] = (chain, N)
        each = Chain(2).potentials(np.zeros((0, 2)), np.zeros((0, 2, 2)), **ends)
        found[f"chain per position, {N}"] = (each, N)
        cut = SemiMarkov(2, 3).potentials(np.zeros((0, 3, 2)), **ends)
        found[f"segments, {N}"] = (cut, N)
        found[f"tree, {N}"] = (Tree([], 2, ptr).potentials([]), N)
    return found


@pytest.mark.parametrize("name", list(empty_problems()))
def test_no_positions(name: str) -> None:
    """An empty sequence has exactly one labeling, of score 0."""
    batch, N = empty_problems()[name]
    for space in ("auto", "log"):
        assert inference.log_partition(batch, space=space).tolist() == [0.0] * N
        assert inference.entropy(batch, space=space).tolist() == [0.0] * N
        found = inference.marginals(batch, space=space)
        assert np.array_equal(found.log_partition, np.zeros(N))
        assert len(found.node) == 0
        if found.start is not None and found.stop is not None:
            assert found.start.tolist() == found.stop.tolist() == [0.0, 0.0]
    assert len(inference.reachable(batch).node) == 0
    assert inference.count(batch) == [1] * N
    assert inference.score(batch, []).tolist() == [0.0] * N
    assert inference.log_prob(batch, []).tolist() == [0.0] * N
    for query in (inference.decode(batch), inference.decode(batch, "posterior")):
        assert [(y.labels.tolist(), y.score) for y in query] == [([], 0.0)] * N
    for lists in (inference.kbest(batch, 3), inference.sample(batch)):
        assert [[(y.labels.tolist(), y.score) for y in ys] for ys in lists] == [[([], 0.0)]] * N
    for n in range(N):
        assert inference.span_probability(batch, 0, 0, [], sequence=n) == 1.0


def impossible_problems() -> dict[str, Potentials]:
    """Batches whose sequence 1 has no labeling."""
    rng = np.random.default_rng(6)
    node = scores(rng, (6, 2))
    node[3] = NEVER
    ptr = [0, 2, 4, 6]
    cut = scores(rng, (6, 2, 2))
    cut[2:4] = NEVER
    rows = list(scores(rng, (6, 2)))
    rows[3] = np.array([NEVER, NEVER])
    tree = Tree([-1, 0, -1, -1, 1, -1], 2, ptr)
    return {
        "chain": Chain(2).potentials(node, seq_ptr=ptr),
        "order 2": Chain(2, order=2).potentials(node, seq_ptr=ptr),
        "segments": SemiMarkov(2, 2).potentials(cut, seq_ptr=ptr),
        "tree": tree.potentials(rows),
    }


@pytest.mark.parametrize("name", list(impossible_problems()))
def test_every_labeling_forbidden(name: str) -> None:
    """Log partition -inf, count 0, no list; what needs a labeling names the sequence."""
    batch = impossible_problems()[name]
    for space in ("auto", "log"):
        found = inference.log_partition(batch, space=space)
        assert np.isneginf(found).tolist() == [False, True, False]
    assert [n == 0 for n in inference.count(batch)] == [False, True, False]
    assert [len(ys) for ys in inference.kbest(batch, 2)] == [2, 0, 2]
    parts = inference.reachable(batch)
    assert np.isneginf(parts.log_partition).tolist() == [False, True, False]
    assert not np.any(parts.node[2]), "a part of an impossible sequence is on no labeling"
    assert not np.any(parts.node[3])
    assert np.all(parts.node[0])
    labels: Any = [(t, t + 1, 0) for t in range(6)] if name == "segments" else [0] * 6
    assert np.isneginf(inference.score(batch, labels)).tolist() == [False, True, False]
    for query in (
        lambda: inference.marginals(batch),
        lambda: inference.marginals(batch, space="log"),
        lambda: inference.entropy(batch),
        lambda: inference.decode(batch),
        lambda: inference.decode(batch, "posterior"),
        lambda: inference.sample(batch),
        lambda: inference.log_prob(batch, labels),
    ):
        with pytest.raises(ValueError, match="sequence 1 has no labeling above -inf"):
            query()
    with pytest.raises(ValueError, match="no labeling above -inf"):
        inference.span_probability(batch, 0, 1, [0], sequence=1)
    assert 0.0 < inference.span_probability(batch, 0, 1, [0], sequence=2) <= 1.0


def test_denormal_scores_and_negative_zero() -> None:
    tiny = np.array([[5e-324, -0.0], [-5e-324, 1e-310]] * 5)
    for p in (Chain(2).potentials(tiny), Chain(2).potentials(tiny, [[-0.0, 5e-324], [0.0, -0.0]])):
        for space in ("auto", "log"):
            assert inference.log_partition(p, space=space) == pytest.approx(10 * math.log(2), rel=1e-14)
            found = inference.marginals(p, space=space)
            assert_close(found.node, np.full((10, 2), 0.5))
        assert inference.count(p) == 2**10


def test_largest_finite_scores() -> None:
    huge = Chain(2).potentials([[1e300, -1e300], [-1e300, 1e300]])
    assert inference.log_partition(huge) == 2e300
    assert inference.decode(huge).labels.tolist() == [0, 1]
    assert inference.marginals(huge).node.tolist() == [[1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize("T", [1, 4])
@pytest.mark.parametrize("space", ["auto", "log"])
def test_500_labels(T: int, space: Any) -> None:
    rng = np.random.default_rng(7)
    L = 500
    one = Chain(L).potentials(
        scores(rng, (T, L)), scores(rng, (L, L)), start=scores(rng, (L,)), stop=scores(rng, (L,))
    )
    found, wanted = inference.marginals(one, space=space), Textbook(one).marginals()
    assert_close(found.log_partition, wanted.log_partition)
    assert_close(found.node, wanted.node)
    assert_close(found.edge, wanted.edge)
    assert_close(inference.decode(one).score, Textbook(one).best_score)


def test_500_labels_in_a_batch() -> None:
    """Sequences that share a sweep give what each gives alone."""
    rng = np.random.default_rng(8)
    L, lengths = 500, [3, 0, 7, 1, 5, 5, 2, 9, 4, 1]
    batch = Chain(L).potentials(
        scores(rng, (sum(lengths), L)), scores(rng, (L, L)), seq_ptr=np.cumsum([0, *lengths])
    )
    found = inference.marginals(batch)
    alone = [inference.marginals(batch.sequence(n), space="log") for n in range(len(lengths))]
    assert_close(found.log_partition, np.array([a.log_partition for a in alone]))
    assert_close(found.node, np.concatenate([a.node for a in alone]))
    assert_close(found.edge, np.sum([a.edge for a in alone], axis=0))
