"""Gibbs sampling: marginals and draws near the enumerated ones, and R-hat that notices what is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crfkit import Graph, _native, inference
from crfkit.errors import InfeasibleError
from crfkit.inference.methods import Enumeration, Gibbs
from crfkit.inference.methods.blocks import first_labelings
from crfkit.structures.graphs.potentials import GraphPotentials
from tests.cases.graphs import chain_graph, grid, random_graph

BOTH = [Gibbs(draws=3000), Gibbs(draws=3000, block=True)]


def furthest(one: Any, other: Any) -> float:
    """Return the largest difference of marginals of variables and factors."""
    pairs = [(one.node[key], other.node[key]) for key in one.node]
    pairs += [(one.clique[key], other.clique[key]) for key in one.clique]
    return max(float(np.abs(a - b).max(initial=0.0)) for a, b in pairs)


def strong() -> GraphPotentials:
    """Return a grid whose rows agree strongly, which single variables rarely leave, and columns weakly."""
    pair = np.where(np.arange(24) < 12, 5.0, 0.3)[:, None, None] * np.eye(2)
    return grid(np.random.default_rng(1), 4, 4, 2, strength=0.3, pair=pair)


@pytest.mark.parametrize("method", BOTH)
def test_marginals_are_near_the_enumerated_ones(method: Gibbs) -> None:
    rng = np.random.default_rng(2)
    for _ in range(12):
        scores = random_graph(rng, arity=4, graphs=2, forbidden=0.0, cliques=5, labels=(1, 4), strength=0.5)
        found = inference.marginals(scores, method=method)
        assert furthest(found, inference.marginals(scores, method=Enumeration())) < 0.03
        assert np.isnan(found.log_partition).all()
        for name, p in found.clique.items():
            np.testing.assert_allclose(p.reshape(len(p), -1).sum(axis=1), 1.0, rtol=1e-9, err_msg=name)


@pytest.mark.parametrize("method", BOTH)
def test_draws_are_near_the_enumerated_marginals(method: Gibbs) -> None:
    rng = np.random.default_rng(3)
    scores = random_graph(rng, arity=3, graphs=2, forbidden=0.0, labels=(2, 3), strength=0.5)
    right = inference.marginals(scores, method=Enumeration())
    drawn = inference.sample(scores, 8001, seed=5, method=Gibbs(thin=2, block=method.block))
    for kind, p in right.node.items():
        for label in range(p.shape[1]):
            np.testing.assert_allclose((drawn[kind] == label).mean(axis=0), p[:, label], atol=0.03)
    for i in (0, 8000):
        labels = {kind: rows[i] for kind, rows in drawn.labels.items()}
        np.testing.assert_allclose(drawn.score[i], inference.score(scores, labels), rtol=1e-12)
    assert drawn.info.sweeps.tolist() == [100 + 2 * 2001] * 2
    other = inference.sample(scores, 8001, seed=6, method=Gibbs(thin=2, block=method.block))
    assert any((drawn[kind] != other[kind]).any() for kind in right.node)


def test_trees_mix_where_variables_do_not() -> None:
    scores = strong()
    right = inference.marginals(scores, method=Enumeration())
    single = inference.marginals(scores, method=Gibbs(draws=1000))
    trees = inference.marginals(scores, method=Gibbs(draws=1000, block=True))
    assert furthest(trees, right) < 0.2 * furthest(single, right)
    assert not single.info.converged[0]
    assert trees.info.converged[0]
    assert "largest R-hat" in str(single.info)


def test_a_chain_is_drawn_at_once() -> None:
    scores = chain_graph(np.random.default_rng(4), 8, 3, strength=5.0, forbidden=0.2)
    found = inference.marginals(scores, method=Gibbs(draws=1, burn=0, chains=1, block=True))
    right = inference.marginals(scores, method=Enumeration())
    assert furthest(found, right) < 1e-9  # all is in one tree: the probabilities of its draw are exact
    assert not found.info.converged[0]  # one draw tells nothing of that


@pytest.mark.parametrize("block", [False, True])
def test_threads_change_no_bit(block: bool) -> None:
    scores = grid(np.random.default_rng(5), 150, 150, 3)
    for chains in (1, 4):
        method = Gibbs(draws=3, burn=2, chains=chains, block=block)
        one = inference.marginals(scores, method=method, threads=1)
        two = inference.marginals(scores, method=method, threads=3)
        np.testing.assert_array_equal(one["node"], two["node"])
        np.testing.assert_array_equal(one.clique["edge"], two.clique["edge"])
        assert str(one.info) == str(two.info)
        first = inference.sample(scores, 5, method=method, threads=1)
        second = inference.sample(scores, 5, method=method, threads=3)
        np.testing.assert_array_equal(first["node"], second["node"])


def test_parts_that_draws_cannot_leave_are_noticed() -> None:
    apart = np.array([[0.0, -np.inf], [-np.inf, 0.0]])
    scores = Graph.from_factors([2, 2, 2], [([0, 1], apart), ([1, 2], apart)])
    found = inference.marginals(scores, method=Gibbs(seed=1))
    assert not found.info.converged[0]
    assert inference.marginals(scores, method=Gibbs(block=True)).info.converged[0]


def test_forbidden_labels_are_never_drawn() -> None:
    rng = np.random.default_rng(6)
    seen = 0
    for _ in range(30):
        scores = random_graph(rng, graphs=3, forbidden=0.25, arity=3)
        right = inference.log_partition(scores, method=Enumeration())
        for block in (False, True):
            method = Gibbs(burn=5, block=block)
            if np.isneginf(right).any():
                seen += 1
                with pytest.raises(InfeasibleError):
                    inference.marginals(scores, method=method)
                with pytest.raises(InfeasibleError):
                    inference.sample(scores, 5, method=method)
            else:
                assert np.isfinite(inference.sample(scores, 40, method=method).score).all()
    assert seen > 4


def test_a_search_that_gave_up_starts_from_what_another_found(monkeypatch: pytest.MonkeyPatch) -> None:
    search = _native.first_labeling

    def lame(factors: Any, random: bool, seed: int, budget: int) -> Any:
        label, end = search(factors, random, seed, budget)
        lost = seed % 2  # of two graphs; every search finds a labeling of one
        label[scores.batch.graph_of == lost], end[lost] = -1, 2
        return label, end

    scores = random_graph(np.random.default_rng(8), graphs=2, forbidden=0.0)
    monkeypatch.setattr(_native, "first_labeling", lame)
    label, end = first_labelings(scores, 3, 0, 1000)
    assert label.min() >= 0
    assert end.tolist() == [0, 0]
    assert np.isfinite(inference.sample(scores, 6, method=Gibbs()).score).all()
    label, end = first_labelings(scores, 1, 0, 1000)
    assert (label[0] < 0).tolist() == (scores.batch.graph_of == 0).tolist()
    assert end.tolist() == [2, 0]


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_scores_whose_squares_overflow(sign: float) -> None:
    """Two labelings that chains cannot leave, and one that all chains reach."""
    apart = Graph.from_factors([2, 2], [([0, 1], [[1e300, -np.inf], [-np.inf, sign * 1e300]])])
    how = inference.marginals(apart, method=Gibbs(chains=8, draws=50)).info
    assert not how.converged[0]
    one = Graph.from_factors([2], [([0], [sign * 1e300, -np.inf])])
    assert inference.marginals(one, method=Gibbs(draws=50)).info.converged[0]


@pytest.mark.parametrize("name", ["draws", "thin", "chains", "limit", "budget"])
def test_bad_options(name: str) -> None:
    none: Any = {name: 0}
    with pytest.raises(ValueError, match=f"{name} is 0, expected 1 or more"):
        Gibbs(**none)
    many: Any = {name: "many"}
    with pytest.raises(TypeError, match=name):
        Gibbs(**many)
    with pytest.raises(ValueError, match="burn is -1"):
        Gibbs(burn=-1)
