"""Large graphs that are far too wide are refused at once; long ones that fit are not."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.random import Generator

from crfkit import Graph
from crfkit.inference.methods.elimination import Elimination, TooWideError
from crfkit.structures.graphs.potentials import GraphPotentials
from tests.cases.graphs import chain_graph, grid, pairwise, tree_graph

#: Components with two labels and pairs are looked at in part from here on.
LARGE = 24000


def hubs(rng: Generator) -> GraphPotentials:
    """Return a tree in which ten variables have thousands of neighbors."""
    edges = [(v - 1 if v <= 10 else int(rng.integers(0, 10)), v) for v in range(1, LARGE)]
    return pairwise(rng, LARGE, edges, 2)


def k_tree(rng: Generator) -> GraphPotentials:
    """Return a graph of width 7: variables joined to 7 that are joined already."""
    cliques = [tuple(range(7))]
    edges = [(a, b) for b in range(7) for a in range(b)]
    for v in range(7, LARGE):
        clique = cliques[int(rng.integers(max(0, len(cliques) - 50), len(cliques)))]
        edges += [(u, v) for u in clique]
        out = int(rng.integers(0, 7))
        cliques.append((*clique[:out], *clique[out + 1 :], v))
    return pairwise(rng, LARGE, edges, 2)


@pytest.mark.parametrize("labels", [2, 5])
def test_large_grids_are_refused_after_a_look_at_a_part(labels: int) -> None:
    scores = grid(np.random.default_rng(0), 160, 160, labels)
    with pytest.raises(TooWideError, match=r"graph 0 .* cells or more") as refused:
        Elimination().log_partition(scores, 1)
    # Orders of the whole are given up at 16 times the budget, parts of it at 64 times.
    assert refused.value.cells > 64 * 2**27


@pytest.mark.parametrize(
    "make",
    [
        lambda rng: chain_graph(rng, LARGE, 3),
        lambda rng: tree_graph(rng, LARGE, 3),
        lambda rng: grid(rng, 2, LARGE // 2, 4),
        lambda rng: grid(rng, 8, LARGE // 8, 2),
        lambda rng: grid(rng, LARGE // 8, 8, 2),
        hubs,
        k_tree,
    ],
    ids=["chain", "tree", "ladder", "thin", "tall", "hubs", "k-tree"],
)
def test_large_graphs_that_fit_are_answered(make: Callable[[Generator], GraphPotentials]) -> None:
    cells = Elimination().estimate(make(np.random.default_rng(0)))["cells"]
    assert 0 < cells[0] <= 2**27


def test_a_large_wide_graph_beside_one_that_fits() -> None:
    rng = np.random.default_rng(0)
    side = 160
    of = np.arange(side * side, dtype=np.int32).reshape(side, side)
    edges = [*zip(of[1:].ravel(), of[:-1].ravel(), strict=True)]
    edges += [*zip(of[:, 1:].ravel(), of[:, :-1].ravel(), strict=True)]
    V = side * side
    graph = Graph({"v": 2}, pair=["v", "v"])
    scope = np.array([*edges, (V, V + 1)], dtype=np.int32)
    batch = graph.batch(graph_ptr=[0, V, V + 3], scopes={"pair": scope})
    cells = Elimination().estimate(batch.potentials(pair=rng.normal(size=(2, 2))))["cells"]
    assert cells[0] > 64 * 2**27
    assert 0 < cells[1] < 100


def test_the_same_answer_for_any_number_of_threads() -> None:
    scores = [grid(np.random.default_rng(0), 160, 160, 2) for _ in range(2)]
    one, three = (Elimination().estimate(s, t)["cells"] for s, t in zip(scores, (1, 3), strict=True))
    assert one.tobytes() == three.tobytes()
