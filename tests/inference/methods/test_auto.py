"""Auto is exact within its budget, component by component, and says what was not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from crfkit import Graph, inference
from crfkit.errors import InfeasibleError, MethodError
from crfkit.graphs import scopes
from crfkit.inference.methods import (
    TRWS,
    Auto,
    BeliefPropagation,
    Elimination,
    Enumeration,
    Expansion,
    MinCut,
)
from crfkit.structures.graphs.parts import components
from tests.cases.graphs import grid, labeling, random_graph

SIDE = 40  # 2**40 cells and more: too wide


def wide_and_narrow() -> Any:
    """Return two graphs: a wide grid with a chain beside it, and a chain."""
    rng = np.random.default_rng(0)
    first, chain = SIDE * SIDE, 10
    right, down = scopes.grid((SIDE, SIDE))
    step = scopes.chain([0, chain])
    edge = np.concatenate([right, down, step + first, step + first + chain])
    graph = Graph({"node": 2}, look=["node"], edge=["node", "node"])
    V = first + 2 * chain
    batch = graph.batch(graph_ptr=[0, first + chain, V], scopes={"edge": edge})
    return batch.potentials(look=rng.normal(size=(V, 2)), edge=0.2 * np.eye(2))


def test_sums_of_wide_and_narrow_components() -> None:
    scores = wide_and_narrow()
    found = inference.marginals(scores)
    how = found.info
    assert how.exact.tolist() == [False, True]
    assert how.method.tolist() == ["belief-propagation + elimination", "elimination"]
    assert "1 component has more than the 134217728 cells" in how.notes[0]
    rough = inference.marginals(scores, method=BeliefPropagation())
    np.testing.assert_allclose(found["node"], rough["node"], atol=1e-9)
    np.testing.assert_allclose(found.log_partition, rough.log_partition, rtol=1e-9)
    np.testing.assert_allclose(found.clique["edge"], rough.clique["edge"], atol=1e-9)
    np.testing.assert_allclose(inference.log_partition(scores), found.log_partition)
    again = inference.marginals(scores, threads=1)
    np.testing.assert_array_equal(again["node"], found["node"])
    exact = inference.marginals(scores.select([1]), method=Elimination())
    np.testing.assert_allclose(found["node"][-10:], exact["node"], atol=1e-12)


def test_the_best_labeling_of_wide_and_narrow_components() -> None:
    scores = wide_and_narrow()
    found = inference.decode(scores)
    assert found.info.exact[1]
    np.testing.assert_allclose(inference.score(scores, found), found.score)
    assert (found.info.upper >= np.asarray(found.score) - 1e-9).all()


@pytest.mark.parametrize("seed", range(20))
def test_a_small_budget_changes_only_what_is_too_wide(seed: int) -> None:
    whole = random_graph(np.random.default_rng(seed), graphs=4, variables=8, forbidden=0.0, labels=(2, 3))
    exact, small = inference.marginals(whole), inference.marginals(whole, method=Auto(budget=20))
    assert exact.info.exact.all()
    sure = small.info.exact
    np.testing.assert_allclose(small.log_partition[sure], exact.log_partition[sure], atol=1e-9)
    wide = Elimination(20).estimate(components(whole.batch).potentials(whole))["cells"] > 20
    assert bool(wide.any()) == bool(small.info.notes)
    best = inference.decode(whole, method=Auto(budget=20))
    right = inference.decode(whole)
    np.testing.assert_allclose(np.asarray(best.score)[best.info.exact], right.score[best.info.exact])
    assert (np.asarray(best.score) <= right.score + 1e-9).all()
    assert (best.info.upper >= right.score - 1e-9).all()


def answer(query: Any, potentials: Any, method: Any) -> Any:
    """Return an answer, or None where some graph has no labeling."""
    try:
        return query(potentials, method=method)
    except InfeasibleError:
        return None


@pytest.mark.parametrize("budget", [1, 5, 2**27])
@pytest.mark.parametrize("forbidden", [0.1, 0.5])
def test_what_is_forbidden_and_given(budget: int, forbidden: float) -> None:
    """Wherever an answer says that it is exact it is, and its bounds hold, whatever the budget."""
    auto = Auto(budget=budget, seconds=5.0)
    for seed in range(15):
        rng = np.random.default_rng([seed, budget])
        scores = random_graph(
            rng, graphs=2, variables=6, arity=4, labels=(1, 3), factors=4, cliques=5, forbidden=forbidden
        )
        some = labeling(rng, scores)
        scores = scores.given({kind: np.where(rng.random(len(y)) < 0.3, y, -1) for kind, y in some.items()})
        total, right = (
            inference.log_partition(scores, method=auto),
            inference.log_partition(scores, method=Enumeration()),
        )
        sure = total.info.exact
        np.testing.assert_allclose(np.asarray(total)[sure], np.asarray(right)[sure], atol=1e-9)
        assert not np.isnan(total).any()
        best, top = (answer(inference.decode, scores, method) for method in (auto, Enumeration()))
        assert (best is None) == (top is None)
        if best is not None:
            sure = best.info.exact
            np.testing.assert_allclose(np.asarray(best.score)[sure], np.asarray(top.score)[sure], atol=1e-9)
            assert (best.info.upper >= np.asarray(top.score) - 1e-9).all()
            assert (np.asarray(best.score) <= np.asarray(top.score) + 1e-9).all()


def test_no_graphs_and_no_variables() -> None:
    graph = Graph({"a": 2}, look=["a"], pair=["a", "a"])
    none = graph.batch(graph_ptr=[0], scopes={"pair": []}).potentials(look=np.zeros((0, 2)))
    assert inference.log_partition(none).shape == (0,)
    empty = graph.batch(graph_ptr=[0, 0, 1], scopes={"pair": []}).potentials(look=[[0.0, 1.0]])
    assert inference.log_partition(empty)[0] == 0.0
    assert inference.decode(empty).score.tolist() == [0.0, 1.0]
    assert inference.count(empty) == [1, 2]


def test_one_wide_graph_is_answered_whole() -> None:
    scores = replace(grid(np.random.default_rng(0), SIDE, SIDE, 2), constant=np.array([3.0]))
    value = inference.log_partition(scores)
    assert not value.info.exact[0]
    rough = inference.log_partition(scores, method=BeliefPropagation())
    assert value == rough


def test_draws_lists_and_counts() -> None:
    scores = wide_and_narrow()
    drawn = inference.sample(scores, 3, seed=5)
    assert drawn["node"].shape == (3, len(scores.batch.width))
    assert drawn.info.method.tolist() == ["gibbs + elimination", "elimination"]
    assert drawn.info.exact.tolist() == [False, True]
    for draw, score in zip(drawn["node"], drawn.score, strict=True):
        np.testing.assert_allclose(scores.labeling_score(draw), score)
    np.testing.assert_array_equal(inference.sample(scores, 3, seed=5, threads=1)["node"], drawn["node"])
    assert (inference.sample(scores, 3, seed=6)["node"] != drawn["node"]).any()
    for query in (inference.count, lambda p: inference.kbest(p, 2)):
        with pytest.raises(MethodError, match="graph 0 is too wide for exact inference"):
            query(scores)
    assert inference.count(scores.select([1])) == [2**10]


def test_wide_submodular_grids_are_cut() -> None:
    """A grid that attracts, one that repels (a checkerboard of flips makes it attract), and one of both."""
    rng = np.random.default_rng(1)
    graph = Graph({"node": 2}, look=["node"], edge=["node", "node"])
    right, down = scopes.grid([(SIDE, SIDE)] * 3)
    edge = np.concatenate([right, down])
    ptr = np.arange(4) * SIDE * SIDE
    batch = graph.batch(graph_ptr=ptr, scopes={"edge": edge})
    of = batch.graph_of[edge[:, 0]]
    sign = np.where(of == 0, 1.0, np.where(of == 1, -1.0, rng.choice([-1.0, 1.0], size=len(of))))
    tables = 0.4 * sign[:, None, None] * np.eye(2)
    scores = batch.potentials(look=rng.normal(size=(len(batch.width), 2)), edge=tables)
    found = inference.decode(scores)
    assert found.info.exact[:2].all()
    assert found.info.method[:2].tolist() == ["min-cut", "min-cut"]
    assert found.info.method[2] != "min-cut"
    np.testing.assert_allclose(inference.score(scores, found), found.score)
    assert (found.info.upper >= np.asarray(found.score) - 1e-9).all()
    alone = inference.decode(scores.select([0]), method=MinCut())
    np.testing.assert_allclose(np.asarray(found.score)[0], alone.score[0])


def test_wide_metric_grids_get_the_better_of_two() -> None:
    scores = grid(np.random.default_rng(2), 25, 25, 5, pair=0.9 * np.eye(5))
    found = inference.decode(scores, method=Auto(seconds=1.0))
    for method in (TRWS(), Expansion()):
        assert found.score >= inference.decode(scores, method=method).score - 1e-9
    assert found.info.upper[0] >= found.score - 1e-9
    assert "trws" in found.info.method[0]
    assert "not eliminated" in " ".join(found.info.notes)


@pytest.mark.parametrize("seed", range(3))
def test_small_open_graphs_are_proved(seed: int) -> None:
    scores = grid(np.random.default_rng(seed), 5, 5, 3)
    found = inference.decode(scores, method=Auto(budget=50))
    assert found.info.exact.all()
    np.testing.assert_allclose(found.score, inference.decode(scores).score)


def test_wrong_budgets() -> None:
    with pytest.raises(MethodError, match="budget is 0"):
        Auto(budget=0)
