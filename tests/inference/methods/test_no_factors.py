"""Cliques without factors, kinds without variables, graphs with nothing: all queries x methods."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crfkit import Graph, inference
from crfkit.errors import MethodError
from crfkit.graphs import Clique
from crfkit.graphs import load as load_graph
from crfkit.graphs import save as save_graph
from crfkit.inference.methods.registry import METHODS
from crfkit.structures import Table
from crfkit.structures.graphs.potentials import GraphPotentials

GRAPH = Graph({"node": 2, "other": 3}, look=["node"], edge=["node", "node"], rung=["node", "other"])
LOOK, EDGE, RUNG = np.array([0.0, 0.7]), np.array([[0.4, 0.0], [0.0, 0.4]]), np.zeros((2, 3))
NO_SCOPES: dict[str, Any] = {"edge": [], "rung": []}


def made(scopes: Any = NO_SCOPES, graph: Graph = GRAPH, **batch: Any) -> Any:
    return graph.batch(scopes=scopes, **batch)


def fixed() -> GraphPotentials:
    graph = Graph({"node": 2}, look=["node"], tie=Clique("node", "node", fixed=EDGE))
    return graph.batch(sizes={"node": 2}, scopes={"tie": []}).potentials(look=LOOK)


def scored(batch: Any) -> GraphPotentials:
    found: GraphPotentials = batch.potentials(look=LOOK, edge=EDGE, rung=RUNG)
    return found


EMPTY: dict[str, Callable[[], GraphPotentials]] = {
    "a clique without factors": lambda: made(sizes={"node": 3, "other": 0}).potentials(look=LOOK, edge=EDGE),
    "no tables of it": lambda: made(sizes={"node": 3, "other": 1}).potentials(
        look=LOOK, edge=np.zeros((0, 2, 2)), rung=RUNG
    ),
    "tables that no factor takes": lambda: made(sizes={"node": 3, "other": 1}).potentials(
        look=LOOK, edge=Table(np.stack([EDGE, EDGE]), which=np.zeros(0, dtype=np.int64)), rung=RUNG
    ),
    "scales of no factors": lambda: made(sizes={"node": 2, "other": 0}).potentials(
        look=LOOK, edge=Table(EDGE, scale=np.zeros(0))
    ),
    "no clique has scores": lambda: made(sizes={"node": 2, "other": 1}).potentials(),
    "a kind without variables": lambda: scored(
        made({"edge": [[0, 1]], "rung": []}, sizes={"node": 3, "other": 0})
    ),
    "no variables": lambda: made(sizes={"node": 0, "other": 0}).potentials(
        look=np.zeros((0, 2)), edge=EDGE, rung=RUNG
    ),
    "no graphs": lambda: scored(made(graph_ptr={"node": [0], "other": [0]})),
    "graphs without variables": lambda: scored(
        made({"edge": [[0, 1]], "rung": []}, graph_ptr={"node": [0, 0, 3, 3], "other": [0, 1, 1, 1]})
    ),
    "all is observed": lambda: scored(
        made({"edge": [[0, 1]], "rung": [[0, 0]]}, sizes={"node": 2, "other": 1})
    ).given({"node": [1, 0], "other": [2]}),
    "evidence leaves no factors of a clique": lambda: scored(
        made({"edge": [[0, 1]], "rung": [[0, 0]]}, sizes={"node": 3, "other": 1})
    ).given({"node": [1, -1, -1], "other": [2]}),
    "fixed scores of no factors": fixed,
    "labels differ, and there are no variables": lambda: (
        Graph({"v": np.zeros(0, dtype=np.int64)}, pair=["v", "v"]).batch(scopes={"pair": []}).potentials()
    ),
    "factors of no variables": lambda: Graph.from_factors([2, 2], [([], 1.5)]),
    "no factors at all": lambda: Graph.from_factors([2, 2], []),
    "nothing at all": lambda: Graph.from_factors([], []),
}
QUERIES: dict[str, Callable[[GraphPotentials, Any], Any]] = {
    "log_partition": lambda scores, method: inference.log_partition(scores, method=method),
    "marginals": lambda scores, method: inference.marginals(scores, method=method),
    "marginals of variables": lambda scores, method: inference.marginals(
        scores, method=method, cliques=False
    ),
    "entropy": lambda scores, method: inference.entropy(scores, method=method),
    "decode": lambda scores, method: inference.decode(scores, method=method),
    "kbest": lambda scores, method: inference.kbest(scores, 3, method=method),
    "sample": lambda scores, method: inference.sample(scores, 2, method=method),
    "count": lambda scores, method: inference.count(scores, method=method),
    "log_prob": lambda scores, method: inference.log_prob(
        scores, inference.decode(scores, method="elimination"), method=method
    ),
    "expected": lambda scores, method: inference.expected(
        replace(scores, method=method), np.ones(scores.batch.graphs)
    ),
    "best": lambda scores, method: inference.best(replace(scores, method=method)),
}


#: What every method is asked too, to see whether it refuses a query as such.
PLAIN = (
    Graph({"node": 2}, look=["node"], edge=["node", "node"])
    .batch(sizes={"node": 3}, scopes={"edge": [[0, 1], [1, 2]]})
    .potentials(look=LOOK, edge=EDGE)
)


def refused(scores: GraphPotentials, method: str, query: str) -> str:
    try:
        QUERIES[query](scores, method)
    except MethodError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", EMPTY)
def test_nothing_to_score_is_no_error(name: str, method: str, query: str) -> None:
    """A method answers, as enumeration does where it says that it is exact, or refuses as it always does."""
    scores = EMPTY[name]()
    if refusal := refused(PLAIN, method, query):
        assert refused(scores, method, query) == refusal
        return
    found = QUERIES[query](scores, method)
    right = QUERIES[query](scores, "enumeration")
    if query in ("log_partition", "entropy", "log_prob"):
        assert np.shape(found) == np.shape(right)
        exact = np.atleast_1d(found.info.exact)
        assert np.allclose(np.atleast_1d(found)[exact], np.atleast_1d(right)[exact], atol=1e-9)
    elif query == "count":
        assert found == right
    elif query == "expected":
        assert {clique: each.shape for clique, each in found[1].items()} == {
            clique: each.shape for clique, each in right[1].items()
        }
    elif query == "best":
        assert found[0].shape == right[0].shape
        assert found[1].label.shape == right[1].label.shape
    elif query.startswith("marginals"):
        for kind, each in right.node.items():
            assert np.shape(found[kind]) == np.shape(each)
            if found.info.exact.all():
                assert np.allclose(found[kind], each, atol=1e-9)
        assert {c: p.shape for c, p in found.clique.items()} == {c: p.shape for c, p in right.clique.items()}
    else:
        assert {k: y.shape for k, y in found.labels.items()} == {k: y.shape for k, y in right.labels.items()}
        assert np.shape(found.score) == np.shape(right.score)


@pytest.mark.parametrize("name", [name for name in EMPTY if EMPTY[name]().batch.graphs == 1])
def test_nothing_to_score_is_saved_and_read_again(name: str, tmp_path: Path) -> None:
    scores, path = EMPTY[name](), tmp_path / "m.LG"
    save_graph(scores, path, evidence=tmp_path / "m.evid")
    again = load_graph(path, evidence=tmp_path / "m.evid" if (tmp_path / "m.evid").exists() else None)
    assert float(inference.log_partition(again)) == pytest.approx(float(inference.log_partition(scores)))
