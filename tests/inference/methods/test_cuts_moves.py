"""Expansion and swap: scores never fall, metrics keep the known factor, refusals."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from crfkit import Graph, inference
from crfkit.arrays import Floats
from crfkit.errors import MethodError
from crfkit.graphs import scopes
from crfkit.inference.methods import ICM, Enumeration, Expansion, Method, MinCut, Swap
from crfkit.inference.methods.expansion import is_metric
from crfkit.structures import Table
from crfkit.structures.graphs.potentials import GraphPotentials

L = 4
DISTANCE = np.abs(np.subtract.outer(np.arange(L), np.arange(L))).astype(float)
METRICS = {"potts": 1.0 - np.eye(L), "truncated": np.minimum(DISTANCE, 2.0), "linear": DISTANCE}


def graphs(rng: np.random.Generator, near: Floats, graph_count: int = 3) -> GraphPotentials:
    """A batch of random graphs of five variables; costs of single labels are not negative."""
    ptr = np.arange(graph_count + 1) * 5
    pairs = [
        (5 * n + a, 5 * n + b)
        for n in range(graph_count)
        for a in range(5)
        for b in range(5)
        if a != b and rng.random() < 0.3
    ]
    graph = Graph({"x": L}, look=["x"], near=["x", "x"])
    batch = graph.batch(graph_ptr=ptr, scopes={"near": np.array(pairs).reshape(-1, 2)})
    look = -rng.exponential(size=(len(near) and 5 * graph_count, L)) * 2.0
    return batch.potentials(look=look, near=Table(-near, scale=rng.uniform(0.1, 1.5, len(pairs))))


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("seed", range(20))
def test_metrics_keep_the_known_factor(name: str, seed: int) -> None:
    table = METRICS[name]
    potentials = graphs(np.random.default_rng(seed), table)
    most = Enumeration().best(potentials, 1).score[0]
    found = Expansion().best(potentials, 1)
    assert found.info.converged.all()
    assert not found.info.notes
    factor = 2.0 * table.max() / table[table > 0].min()
    assert (found.score[0] <= most + 1e-9).all()
    assert (-found.score[0] <= factor * -most + 1e-9).all()
    np.testing.assert_allclose(potentials.labeling_score(found.label[0]), found.score[0])


@pytest.mark.parametrize("method", [Expansion(), Swap()], ids=str)
@pytest.mark.parametrize("seed", range(20))
def test_no_move_helps_and_none_hurts_any_tables(method: Method, seed: int) -> None:
    rng = np.random.default_rng(seed)
    potentials = graphs(rng, rng.normal(size=(L, L)))
    found = method.best(potentials, 1)
    start = potentials.tables["look"].scores.argmax(axis=1)
    assert (found.score[0] >= potentials.labeling_score(start) - 1e-12).all()
    for v in range(potentials.batch.variables):  # a single variable is a move as well, if not by roof duality
        if found.info.notes:
            break
        for y in range(L):
            other = found.label[0].copy()
            other[v] = y
            assert (potentials.labeling_score(other) <= found.score[0] + 1e-9).all()


REPELLING: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "equal labels repel": lambda rng, labels: -3.0 * np.eye(labels),
    "one table": lambda rng, labels: 3.0 * rng.normal(size=(labels, labels)),
    "heavy tails": lambda rng, labels: -np.exp(2.0 * rng.normal(size=(labels, labels))),
    "a table for each factor": lambda rng, labels: rng.normal(size=(156, labels, labels)),
}


@pytest.mark.parametrize("method", [Expansion(), Swap(), Swap(start="trws")], ids=str)
@pytest.mark.parametrize("name", REPELLING)
@pytest.mark.parametrize(("labels", "strength"), [(2, 0.0), (3, 0.1), (5, 1.0), (8, 0.1)])
def test_without_a_metric_moves_are_never_below_icm(
    method: Expansion | Swap, name: str, labels: int, strength: float
) -> None:
    rng = np.random.default_rng(labels)
    graph = Graph({"x": labels}, look=["x"], near=["x", "x"])
    near = np.concatenate(scopes.grid((9, 9), connect=8))
    near = near[rng.permutation(len(near))[:156]]
    batch = graph.batch(sizes={"x": 81}, scopes={"near": near})
    look = strength * rng.normal(size=(81, labels))
    potentials = batch.potentials(look=look, near=REPELLING[name](rng, labels))
    found = inference.decode(potentials, method=method)
    assert found.score >= inference.decode(potentials, method="icm").score - 1e-9
    assert found.score >= potentials.labeling_score(look.argmax(axis=1))[0] - 1e-9
    assert found.score == pytest.approx(inference.score(potentials, found))
    said = f"for tables that are not {method.needs}: TRWS() may find better labels; those of icm helped"
    assert all(said in note for note in found.info.notes)
    assert found.info.notes or name != "equal labels repel" or method.start


def test_a_metric_graph_does_not_depend_on_one_without_a_metric() -> None:
    rng = np.random.default_rng(2)
    graph = Graph({"x": L}, look=["x"], near=["x", "x"])
    pairs = np.concatenate([scopes.chain([0, 6]), 6 + scopes.pairs(6)])
    batch = graph.batch(graph_ptr=[0, 6, 12], scopes={"near": pairs})
    tables = np.concatenate([np.repeat(-METRICS["truncated"][None], 5, 0), rng.normal(size=(15, L, L))])
    scores = batch.potentials(look=rng.normal(size=(12, L)), near=tables)
    for method in (Expansion(), Swap()):
        both = method.best(scores, 1)
        assert both.info.notes
        alone = method.best(scores.select([0]), 1)
        assert not alone.info.notes
        assert both.label[0, :6].tolist() == alone.label[0].tolist()


def test_moves_that_are_cuts_are_never_below_icm_either() -> None:
    """Found by trying many: every move is a cut here, and none leads to what ICM finds."""
    rng = np.random.default_rng(0)
    below = 0
    for _ in range(300):
        potentials = graphs(rng, np.exp(2.0 * rng.normal(size=(L, L))))
        icm = ICM().best(potentials, 1).score
        for method in (Expansion(), Swap()):
            found = method.best(potentials, 1)
            assert (found.score >= icm - 1e-9).all()
            below += not found.info.notes
    assert below


@pytest.mark.parametrize("seed", range(30))
def test_two_labels_are_cut_exactly(seed: int) -> None:
    rng = np.random.default_rng(seed)
    factors: list[tuple[list[int], Floats]] = [([v], rng.normal(size=2)) for v in range(6)]
    factors += [(rng.permutation(6)[:2].tolist(), np.eye(2) * rng.exponential()) for _ in range(9)]
    potentials = Graph.from_factors([2] * 6, factors)
    exact = MinCut().best(potentials, 1).score
    np.testing.assert_allclose(Expansion().best(potentials, 1).score, exact)
    np.testing.assert_allclose(Swap().best(potentials, 1).score, exact)


def test_a_graph_does_not_depend_on_the_others_of_its_batch() -> None:
    rng = np.random.default_rng(5)
    potentials = graphs(rng, METRICS["truncated"], 4)
    found = Expansion().best(potentials, 1)
    for n in range(4):
        own = potentials.batch.graph_of == n
        observed = np.where(own, -1, 0).astype(np.int32)
        alone = inference.decode(potentials.given({"x": observed}), method=Expansion())
        assert alone["x"][own].tolist() == found.label[0][own].tolist()
    assert Expansion().best(potentials, 2).label.tolist() == found.label.tolist()


def test_variables_of_different_widths_forbidden_labels_and_no_labeling() -> None:
    factors: list[tuple[list[int], Floats]] = [
        ([0], np.array([0.0, 1.0])),
        ([1], np.array([-np.inf, 0.0, 0.4])),
        ([0, 1], np.eye(2, 3) * 0.5),
        ([2], np.array([-np.inf])),
    ]
    for method in (Expansion(), Swap()):
        found = method.best(Graph.from_factors([2, 3], factors[:3]), 1)
        assert found.label.tolist() == [[1, 1]]
        found = method.best(Graph.from_factors([2, 3, 1], factors), 1)
        assert found.label.tolist() == [[-1, -1, -1]]
        assert found.score.tolist() == [[-np.inf]]
        assert method.best(Graph.from_factors([], []), 1).score.tolist() == [[0.0]]


def test_forbidden_pairs_need_a_start() -> None:
    forbid = np.where(np.eye(3) == 1.0, -np.inf, 0.0)
    factors: list[tuple[list[int], Floats]] = [([v], np.array([1.0, 0.5, 0.0])) for v in range(2)]
    potentials = Graph.from_factors([3, 3], [*factors, ([0, 1], forbid)])
    with pytest.raises(MethodError, match=r"factor 0 of clique '3x3' forbids the labels .*start="):
        Expansion().best(potentials, 1)
    found = Expansion(start="enumeration").best(potentials, 1)
    assert found.score[0] == 1.5


def test_options_and_wide_factors_are_refused() -> None:
    with pytest.raises(MethodError, match="cycles is 0, expected 1 or more"):
        Expansion(cycles=0)
    with pytest.raises(MethodError, match="swap: clique '2x2x2' joins too many variables"):
        Swap().best(Graph.from_factors([2] * 3, [([0, 1, 2], np.zeros((2, 2, 2)))]), 1)
    with pytest.raises(ValueError, match=r"expected \[K, L, L\]"):
        is_metric(np.zeros((2, 2)))


def test_too_few_cycles_are_not_convergence() -> None:
    potentials = graphs(np.random.default_rng(0), METRICS["linear"])
    how = Expansion(cycles=1).best(potentials, 1).info
    assert not how.converged.all()
    assert how.sweeps.tolist() == [1, 1, 1]


def test_metrics_are_known() -> None:
    tables = -np.stack([*METRICS.values(), DISTANCE**2])
    assert is_metric(tables).tolist() == [True, True, True, False]
