"""Tree-reweighted messages: a bound on log Z that is exact without cycles."""

from __future__ import annotations

import numpy as np
import pytest

from crfkit import Graph, inference
from crfkit.errors import MethodError
from crfkit.inference.methods import BeliefPropagation, Enumeration, TreeReweighted
from crfkit.structures import Table
from tests.cases.graphs import cycle, grid, pairwise, random_graph, tree_graph


def test_bounds_log_z_of_random_graphs() -> None:
    loose = forests = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        potentials = random_graph(rng, variables=7, arity=4, graphs=3, forbidden=0.1 * (seed % 2))
        bound, how = TreeReweighted().log_partition(potentials, 1)
        right, _ = Enumeration().log_partition(potentials, 1)
        assert not np.isnan(bound).any()
        assert (how.upper >= right - 1e-9).all()
        early = TreeReweighted(sweeps=1).log_partition(potentials, 1)[1]
        assert (early.upper >= right - 1e-9).all()
        np.testing.assert_allclose(bound[how.exact], right[how.exact], rtol=1e-9, atol=1e-9)
        loose += int((bound > right + 1e-3).sum())
        forests += int(how.exact.sum())
    assert loose > 10
    assert forests > 10


@pytest.mark.parametrize("schedule", ["paths", "sequential", "residual"])
def test_pairs_of_a_grid(schedule: str) -> None:
    for strength in (0.5, 2.0):
        potentials = grid(np.random.default_rng(0), 3, 3, 3, strength=strength)
        found = TreeReweighted(schedule, tol=1e-9, sweeps=2000).marginals(potentials, True, 1)
        right = Enumeration().marginals(potentials, True, 1)
        assert found.info.converged.all()
        assert found.info.upper[0] >= right.value[0]
        node = found.node.reshape(9, 3)
        scope = potentials.batch.scopes["edge"]
        np.testing.assert_allclose(found.clique["edge"].sum(axis=2), node[scope[:, 0]], atol=1e-7)
        np.testing.assert_allclose(found.clique["edge"].sum(axis=1), node[scope[:, 1]], atol=1e-7)
        other = TreeReweighted(tol=1e-9, sweeps=2000).marginals(potentials, True, 1)
        np.testing.assert_allclose(found.node, other.node, atol=1e-6)


def test_one_answer_where_belief_propagation_goes_astray() -> None:
    edges = [(u, v) for u in range(8) for v in range(u)]
    attract = pairwise(np.random.default_rng(1), 8, edges, 2, strength=0.1, pair=[[2.0, 0.0], [0.0, 2.0]])
    truth = inference.log_partition(attract, method=Enumeration())
    bound = inference.log_partition(attract, method=TreeReweighted())
    assert truth <= bound.info.upper[0] < truth + 0.1
    assert inference.log_partition(attract, method=BeliefPropagation()) < truth


def test_is_exact_on_trees_for_any_seed() -> None:
    potentials = tree_graph(np.random.default_rng(2), 7, 3, forbidden=0.1)
    right = inference.log_partition(potentials, method=Enumeration())
    for seed in range(3):
        found = inference.log_partition(potentials, method=TreeReweighted(seed=seed))
        assert found == pytest.approx(right, abs=1e-9)
        assert found.info.exact.all()


def test_the_seed_moves_the_bound_and_threads_do_not() -> None:
    potentials = cycle(np.random.default_rng(3), 7, 3)
    first, second = (TreeReweighted(seed=s).marginals(potentials, True, 1) for s in (0, 1))
    again = TreeReweighted(seed=0).marginals(potentials, True, 2)
    assert first.value.tobytes() == again.value.tobytes()
    assert first.node.tobytes() == again.node.tobytes()
    assert first.value[0] == pytest.approx(second.value[0], rel=0.05)


def test_refuses_what_it_cannot_do() -> None:
    with pytest.raises(MethodError, match="seed is -1"):
        TreeReweighted(seed=-1)
    with pytest.raises(MethodError, match="cannot look for the best labeling"):
        inference.decode(cycle(np.random.default_rng(0), 3, 2), method=TreeReweighted())


@pytest.mark.parametrize("labels", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("arity", [2, 3])
def test_a_scale_of_zero_forbids_nothing(labels: int, arity: int) -> None:
    graph = Graph({"node": labels}, edge=["node"] * arity)
    batch = graph.batch(sizes={"node": 3}, scopes={"edge": [[0, 1, 2][:arity], [1, 2, 0][:arity]]})
    tables = np.random.default_rng(labels).normal(size=(labels,) * arity)
    potentials = batch.potentials(edge=Table(tables, scale=[0.0, 1.0]))
    exact = inference.log_partition(potentials, method=Enumeration())
    assert exact - 1e-9 <= inference.log_partition(potentials, method=TreeReweighted()) < np.inf


def test_messages_that_only_answer_each_other_come_to_rest() -> None:
    """The other factor of the pair says nothing: each message moves by the one that comes back."""
    batch = Graph({"v": 2}, edge=["v", "v"]).batch(sizes={"v": 2}, scopes={"edge": [[0, 1], [1, 0]]})
    scores = np.array([[[0.1, -0.1], [0.6, 0.1]], [[0.0, 0.0], [0.0, 0.0]]])
    found = inference.marginals(batch.potentials(edge=scores), method=TreeReweighted(tol=1e-10))
    p, pair = found["v"], found.clique["edge"]
    assert np.allclose(pair.sum(axis=2), p, atol=1e-8)
    assert np.allclose(pair.sum(axis=1), p[::-1], atol=1e-8)
