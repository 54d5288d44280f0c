"""TreeEP: exact on trees and with one factor more, close on grids, and true to what it says elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crfkit import Graph, inference
from crfkit.errors import InfeasibleError, MethodError
from crfkit.inference.methods import Enumeration, ExpectationPropagation
from tests.cases.graphs import cycle, grid, random_graph, scores, tree_graph

EP = ExpectationPropagation()


def compare(potentials: Any, atol: float) -> Any:
    """Check log Z and all marginals against enumeration; return the answer."""
    right = inference.marginals(potentials, method=Enumeration())
    found = inference.marginals(potentials, method=EP)
    np.testing.assert_allclose(found.log_partition, right.log_partition, rtol=atol, atol=atol)
    for kind, node in right.node.items():
        for p, q in zip(found.node[kind], node, strict=True):
            np.testing.assert_allclose(p, q, atol=atol)
    for name, clique in right.clique.items():
        np.testing.assert_allclose(found.clique[name], clique, atol=atol, err_msg=name)
    return found


@pytest.mark.parametrize("forbidden", [0.0, 0.2])
def test_trees_are_exact(forbidden: float) -> None:
    rng = np.random.default_rng(1)
    for _ in range(5):
        found = compare(tree_graph(rng, 7, 3, forbidden=forbidden, strength=3.0), 1e-9)
        assert found.info.exact.all()
        assert found.info.sweeps.max() == 0


@pytest.mark.parametrize("forbidden", [0.0, 0.1])
def test_one_factor_more_than_a_tree_is_summed_exactly(forbidden: float) -> None:
    rng = np.random.default_rng(2)
    for _ in range(8):
        found = compare(cycle(rng, 6, 3, forbidden=forbidden, strength=2.0), 1e-9)
        assert found.info.converged.all()
        assert not found.info.exact.any()  # it does not know
    for _ in range(8):  # a factor of three variables on a tree; two of one pair are added up
        width = rng.integers(2, 4, size=6)
        edges = [(v, int(rng.integers(0, v))) for v in range(1, 6)]
        edges.append(edges[2][::-1])
        factors = [(list(e), scores(rng, tuple(width[list(e)]), strength=3.0)) for e in edges]
        triple = rng.permutation(6)[:3]
        factors.append((triple.tolist(), scores(rng, tuple(width[triple]), strength=0.3)))
        compare(Graph.from_factors(width, factors), 1e-9)


def ising(seed: int, strength: float) -> Any:
    """Return a 4 x 4 grid of spins with random couplings, as in libDAI's tests."""
    rng = np.random.default_rng(seed)
    coupling = rng.normal(scale=strength, size=24)[:, None, None]
    return grid(rng, 4, 4, 2, strength=0.5, pair=coupling * np.array([[0.5, -0.5], [-0.5, 0.5]]))


def test_spins_come_closer_than_by_belief_propagation() -> None:
    errors = []
    for seed in range(20):
        potentials = ising(seed, 1.0)
        right = inference.marginals(potentials, method=Enumeration())
        found = inference.marginals(potentials, method=EP)
        other = inference.marginals(potentials, method="belief-propagation")
        assert found.info.converged.all()
        errors.append(
            [
                np.abs(found["node"] - right["node"]).max(),
                np.abs(other["node"] - right["node"]).max(),
                abs(found.log_partition - right.log_partition),
            ]
        )
    mean = np.mean(errors, axis=0)
    assert mean[0] < 5e-3  # libDAI's golden file: 1.1e-3, against 8.9e-3 by belief propagation
    assert mean[0] < 0.3 * mean[1]
    assert mean[2] < 1e-2


def test_random_graphs_are_near_and_never_nan() -> None:
    rng = np.random.default_rng(3)
    errors, unsettled = [], 0
    for trial in range(80):
        potentials = random_graph(rng, arity=4, graphs=2, forbidden=0.1 * (trial % 2), labels=(1, 4))
        right = inference.log_partition(potentials, method=Enumeration())
        found = inference.log_partition(potentials, method=EP)
        assert not np.isnan(found).any()
        assert (np.isneginf(right) >= np.isneginf(found)).all()
        both = np.isfinite(right) & np.isfinite(found)
        errors += np.abs(found[both] - right[both]).tolist()
        np.testing.assert_allclose(found[found.info.exact], right[found.info.exact], atol=1e-9)
        unsettled += int((~found.info.converged & np.isfinite(right)).sum())
        if both.all():
            for p in inference.marginals(potentials, method=EP).clique.values():
                np.testing.assert_allclose(p.reshape(len(p), -1).sum(axis=1), 1.0, rtol=1e-9)
    assert np.mean(errors) < 0.03
    assert unsettled <= 4


def test_impossible_graphs() -> None:
    unequal = np.array([[-np.inf, 0.0], [0.0, -np.inf]])
    triangle = Graph.from_factors([2, 2, 2], [([0, 1], unequal), ([1, 2], unequal), ([2, 0], unequal)])
    value = inference.log_partition(triangle, method=EP)
    assert value == -np.inf
    assert "every labeling of graph 0 met a score of -inf" in str(value.info)
    with pytest.raises(InfeasibleError):
        inference.marginals(triangle, method=EP)


def test_too_few_sweeps_are_reported() -> None:
    found = inference.log_partition(ising(0, 2.0), method=ExpectationPropagation(sweeps=2))
    assert not found.info.converged.any()
    assert found.info.sweeps.tolist() == [2]


def test_threads_change_no_bit() -> None:
    rng = np.random.default_rng(4)
    potentials = random_graph(rng, graphs=40, forbidden=0.0, variables=8)
    one = inference.marginals(potentials, method=EP, threads=1)
    two = inference.marginals(potentials, method=EP, threads=3)
    np.testing.assert_array_equal(one.log_partition, two.log_partition)
    for kind, node in one.node.items():
        np.testing.assert_array_equal(node, two.node[kind])


def test_large_graphs_are_refused_before_the_work_begins() -> None:
    potentials = grid(np.random.default_rng(5), 60, 60, 8)
    with pytest.raises(MethodError, match="more than the 100000 cells of its budget"):
        inference.log_partition(potentials, method=ExpectationPropagation(budget=100_000))


def test_bad_options() -> None:
    with pytest.raises(ValueError, match="tol is -1"):
        ExpectationPropagation(tol=-1)
    with pytest.raises(ValueError, match="sweeps is 0"):
        ExpectationPropagation(sweeps=0)
    wrong: Any = {"budget": 1.5}
    with pytest.raises(TypeError, match="budget"):
        ExpectationPropagation(**wrong)
