"""Marginal MAP against all labelings, one by one."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from crfkit import Graph
from crfkit.errors import InfeasibleError
from crfkit.inference import marginal_map
from crfkit.structures.graphs.potentials import GraphPotentials
from tests.cases.graphs import grid, random_graph, tree_graph


def best_value(
    potentials: GraphPotentials, out: Any, graph: int
) -> tuple[float, dict[tuple[int, ...], float]]:
    """Return the best value of a graph by enumeration, and the value of each labeling of what is left."""
    batch = potentials.batch
    here = np.flatnonzero(batch.graph_of == graph)
    kept, gone = here[~out[here]], here[out[here]]
    seen = np.full(batch.variables, -1) if potentials.observed is None else potentials.observed
    label = np.zeros(batch.variables, dtype=np.int32)

    def choices(v: int) -> range:
        return range(batch.width[v]) if seen[v] < 0 else range(seen[v], seen[v] + 1)

    values = {}
    for x in product(*map(choices, kept)):
        label[kept] = x
        scores = []
        for h in product(*map(choices, gone)):
            label[gone] = h
            scores.append(potentials.labeling_score(label[None])[0, graph])
        with np.errstate(divide="ignore"):
            values[x] = float(np.logaddexp.reduce(scores))
    return max(values.values()), values


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("budget", [2**22, 6])
def test_every_labeling_is_tried(seed: int, budget: int) -> None:
    rng = np.random.default_rng(seed)
    if seed % 3 == 0:
        potentials = random_graph(rng, variables=4, labels=(2, 3), graphs=2, forbidden=0.05, cliques=5)
    elif seed % 3 == 1:
        potentials = grid(rng, 2, 4, 2)
    else:
        potentials = tree_graph(rng, 6, 3, forbidden=0.1)
    if seed % 2:
        label = {
            k: np.where(rng.random(b - a) < 0.2, 0, -1) for k, (a, b) in potentials.batch.kind_ptr.items()
        }
        potentials = potentials.given(label)
    masks = {k: rng.random(b - a) < 0.5 for k, (a, b) in potentials.batch.kind_ptr.items()}
    out = np.concatenate([*masks.values()])
    right = [best_value(potentials, out, n) for n in range(potentials.batch.graphs)]
    if any(np.isneginf(value) for value, _ in right):
        with pytest.raises(InfeasibleError):
            marginal_map(potentials, masks, budget=budget)
        return
    found = marginal_map(potentials, masks, budget=budget)
    flat = np.concatenate([*found.labels.values()])
    score = np.atleast_1d(found.score)
    assert ((flat < 0) == out).all()
    for n, (value, values) in enumerate(right):
        here = np.flatnonzero((potentials.batch.graph_of == n) & ~out)
        assert score[n] == pytest.approx(values[tuple(flat[here].tolist())], rel=1e-12)
        assert found.info.lower[n] <= value + 1e-9 <= found.info.upper[n] + 2e-9
        if found.info.exact[n]:
            assert score[n] == pytest.approx(value, rel=1e-12)
    assert budget == 6 or found.info.exact.all()
    assert budget != 6 or bool(found.info.notes) == (not found.info.exact.all())


def test_what_is_refused_and_what_has_no_labeling() -> None:
    graph = Graph({"a": 2, "b": 2}, link=["a", "b"])
    batch = graph.batch(sizes={"a": 2, "b": 2})
    scores = batch.potentials(link=np.zeros((2, 2)))
    with pytest.raises(ValueError, match="'c' is not a kind of the graph: 'a', 'b'"):
        marginal_map(scores, ["c"])
    with pytest.raises(ValueError, match="must be a mask of 2 variables"):
        marginal_map(scores, {"a": [0, 1]})
    assert marginal_map(scores, "b").score == pytest.approx(2 * np.log(2))
    assert marginal_map(scores, ["a", "b"]).score == pytest.approx(4 * np.log(2))
    with pytest.raises(InfeasibleError):
        marginal_map(batch.potentials(link=np.full((2, 2), -np.inf)), ["b"])
