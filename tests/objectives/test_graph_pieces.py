"""Pseudo-likelihood and piecewise losses of graphs against their definitions, factor by factor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crfkit import Graph
from crfkit.arrays import Floats, Ids
from crfkit.graphs import Clique
from crfkit.objectives.registry import OBJECTIVES
from crfkit.structures.graphs.gold import GraphGold
from crfkit.structures.graphs.potentials import GraphPotentials, table_numbers
from tests.cases.graphs import grid, random_graph

NAMES = ("pseudo-likelihood", "piecewise", "piecewise-pseudo-likelihood")


def factors(potentials: GraphPotentials) -> list[tuple[str, int, Ids, Floats, float]]:
    """Return the clique, table number, variables, scaled scores and scale of each factor."""
    found = []
    for name, table in potentials.tables.items():
        scope = potentials.batch.scopes[name]
        for m, k in enumerate(np.asarray(table_numbers(table, len(scope))).tolist()):
            scale = 1.0 if table.scale is None else float(table.scale[m])
            found.append((name, k, scope[m], table.scores[k] * scale, scale))
    return found


def softmax(scores: Floats) -> tuple[float, Floats]:
    total = np.logaddexp.reduce(scores.ravel())
    return float(total), np.exp(scores - total)


def by_hand(name: str, potentials: GraphPotentials, gold: GraphGold, weight: Floats) -> tuple[float, Any]:
    """Return the loss and its gradient by the definition, slowly."""
    label, graph_of = gold.label, potentials.batch.graph_of
    own = np.ones(len(label)) if gold.weight is None else gold.weight
    value, gradient = 0.0, potentials.zeros()
    every = [part for part in factors(potentials) if (label[part[2]] >= 0).all()]

    def line(scope: Ids, axis: int) -> tuple[Any, ...]:
        return tuple(slice(None) if i == axis else int(label[v]) for i, v in enumerate(scope))

    if name == "pseudo-likelihood":
        for v in np.flatnonzero(label >= 0).tolist():
            touching = [(part, int(np.flatnonzero(part[2] == v)[0])) for part in every if v in part[2]]
            scores = np.zeros(int(potentials.batch.width[v]))
            for (_, _, scope, table, _), axis in touching:
                scores = scores + table[line(scope, axis)]
            total, p = softmax(scores)
            each = weight[graph_of[v]] * own[v]
            value += each * (total - scores[label[v]])
            p[label[v]] -= 1.0
            for (clique, k, scope, _, scale), axis in touching:
                gradient[clique][(k, *line(scope, axis))] += each * scale * p
        return value, gradient
    for clique, k, scope, table, scale in every:
        at = tuple(label[scope].tolist())
        for axis in range(len(scope) if name != "piecewise" else 1):
            cells = (...,) if name == "piecewise" else line(scope, axis)
            each = weight[graph_of[scope[0]]] * own[scope[axis]]
            total, p = softmax(table[cells])
            value += each * (total - table[at])
            gradient[clique][(k, *cells)] += each * scale * p
            gradient[clique][(k, *at)] -= each * scale
    return value, gradient


def case(seed: int, hidden: bool) -> tuple[GraphPotentials, GraphGold, Floats]:
    """Return random graphs and labels that they do not forbid, some of them hidden."""
    rng = np.random.default_rng(seed)
    while True:
        potentials = random_graph(rng, graphs=3, factors=6, forbidden=0.05)
        label = rng.integers(0, potentials.batch.width).astype(np.int32)
        if np.isfinite(potentials.labeling_score(label)).all():
            break
    if hidden:
        label[rng.random(len(label)) < 0.3] = -1
    return potentials, GraphGold(label, rng.uniform(0.5, 2.0, len(label))), rng.uniform(0.0, 2.0, 3)


@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(12))
def test_losses_are_their_definitions(seed: int, name: str, hidden: bool) -> None:
    potentials, gold, weight = case(seed, hidden)
    if not OBJECTIVES[name].separate:  # factors have no weights of labels
        gold = GraphGold(gold.label)
    value, gradient = OBJECTIVES[name]().loss(potentials, gold, weight)
    expected, slopes = by_hand(name, potentials, gold, weight)
    assert value == pytest.approx(expected, abs=1e-10)
    for clique, array in slopes.items():
        np.testing.assert_allclose(gradient[clique], array, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shared", [False, True])
def test_threads_do_not_change_a_bit(name: str, shared: bool) -> None:
    rng = np.random.default_rng(0)
    potentials = grid(rng, 60, 120, 3, pair=rng.normal(size=(3, 3)) if shared else None)
    gold = GraphGold(rng.integers(0, 3, potentials.batch.variables).astype(np.int32))
    one, many = (OBJECTIVES[name]().loss(potentials, gold, np.ones(1), threads=threads) for threads in (1, 5))
    assert one[0] == many[0]
    for clique, array in one[1].items():
        assert (array == many[1][clique]).all()


@pytest.mark.parametrize("name", NAMES)
def test_a_forbidden_gold_label_loses_infinitely(name: str) -> None:
    graph = Graph({"a": 2}, pair=Clique("a", "a", fixed=np.array([[0.0, -np.inf], [0.0, 0.0]])))
    potentials = graph.batch(sizes={"a": 2}, scopes={"pair": [[0, 1]]}).potentials()
    gold = GraphGold(np.array([0, 1], dtype=np.int32))
    assert OBJECTIVES[name]().loss(potentials, gold, np.ones(1))[0] == np.inf
    assert OBJECTIVES[name]().loss(potentials, gold, np.zeros(1))[0] == 0.0


def test_graphs_without_factors_and_without_known_labels_lose_nothing() -> None:
    potentials = Graph({"a": 2}, pair=["a", "a"]).batch(sizes={"a": 3}, scopes={"pair": []}).potentials()
    for label in ([-1, -1, -1], [0, 1, -1]):
        gold = GraphGold(np.array(label, dtype=np.int32))
        known = int((gold.label >= 0).sum())
        for name in NAMES:
            value, _ = OBJECTIVES[name]().loss(potentials, gold, np.ones(1))
            assert value == pytest.approx(known * np.log(2.0) if name == "pseudo-likelihood" else 0.0)
