"""Graphs, cliques, batches and potentials refuse what is wrong, in a sentence that names it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from crfkit import Graph, inference
from crfkit.data import Dataset
from crfkit.errors import InfeasibleError
from crfkit.features.items import ItemExtractor
from crfkit.graphs import Clique, scopes
from crfkit.structures import Table
from tests.cases.graphs import random_graph

NEVER = -np.inf
GRAPH = Graph({"a": 2, "b": ["x", "y", "z"]}, one=["a"], two=["a", "a"], mixed=["a", "b"])


def batch(**changed: Any) -> Any:
    given: dict[str, Any] = {
        "graph_ptr": {"a": [0, 2, 4], "b": [0, 1, 2]},
        "scopes": {"two": [[0, 1], [2, 3]], "mixed": [[0, 0], [3, 1]]},
    }
    return GRAPH.batch(**(given | changed))


def potentials(**tables: Any) -> Any:
    return batch().potentials(**tables)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Graph({}), "kinds is empty"),
        (lambda: Graph({"a": 0}), "kind 'a' has 0 labels"),
        (lambda: Graph({"a": ["x", "x"]}), "all different"),
        (lambda: Graph({"a": 2}, c=["b"]), "clique 'c' has variables of kind 'b'; the kinds are 'a'"),
        (lambda: Graph({"a": 2}, c="a"), r"write \['a'\], a list of kinds"),
        (lambda: Graph({"a": 2}, c=[]), "needs the names of its kinds"),
        (lambda: Clique("a", cells="some"), "cells is 'some'"),
        (lambda: Clique("a", "b", cells="same"), "needs variables of one kind"),
        (lambda: Clique("a", cells=np.array([0.5])), "expected integers with 1 axes"),
        (lambda: Clique("a", cells=[-2, 0]), "below -1"),
        (lambda: Clique("a", fixed=[0.0, np.nan]), r"fixed\[1\] is nan"),
        (
            lambda: Graph({"a": 2}, c=Clique("a", cells=[0, 1, 2])),
            r"clique 'c': cells has shape \(3,\), expected \(2,\)",
        ),
        (
            lambda: Graph({"a": 2}, c=Clique("a", fixed=[[0.0]])),
            r"clique 'c': fixed has shape \(1, 1\), expected \(2,\)",
        ),
    ],
)
def test_graphs_and_cliques(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"graph_ptr": {"a": [0, 2, 4], "b": [0, 2]}}, r"different numbers of graphs: \[1, 2\]"),
        ({"graph_ptr": [1, 4]}, r"graph_ptr\[0\] is 1"),
        ({"graph_ptr": [0, 5, 4]}, "below"),
        ({"sizes": {"c": 1}}, "sizes: 'c' is not a kind: 'a', 'b'"),
        ({"sizes": {"a": 5}}, "kind 'a' has different numbers of variables: 5 by sizes, 4 by graph_ptr"),
        ({"graph_ptr": None}, "how many variables of kind 'a' there are is not said"),
        ({"graph_ptr": None, "sizes": {"a": -1, "b": 2}}, r"sizes\['a'\] is -1, expected 0 or more"),
        ({"graph_ptr": None, "sizes": {"a": 1.5, "b": 2}}, r"sizes\['a'\] is 1.5, expected a whole"),
        ({"labels": {"c": [0]}}, "labels: 'c' is not a kind"),
        ({"labels": {"a": [0, 1]}}, "different numbers of variables"),
        ({"labels": {"a": [0, 1, 2, 0]}}, r"labels\['a'\]\[2\] is 2, expected 0 to 1, or -1"),
        ({"labels": {"a": [0.0, 1.0, 0.0, 1.0]}}, "must be 4 label ids"),
        ({"scopes": {"three": [[0]]}}, "scopes: 'three' is not a clique: 'one', 'two', 'mixed'"),
        ({"scopes": {"mixed": [[0, 0]]}}, r"clique 'two' needs scopes=\{'two': \[M, 2\]\}"),
        ({"scopes": {"two": [[0, 1]]}}, r"clique 'mixed' needs scopes"),
        ({"scopes": {"two": [[0, 1, 2]]}}, r"clique 'two' has type int64 and shape \(1, 3\)"),
        ({"scopes": {"two": [[0.0, 1.0]]}}, "has type float64"),
        ({"scopes": {"two": [[0, 4]]}}, "factor 0 has variable 4 of kind 'a', which has 4: expected 0 to 3"),
        ({"scopes": {"two": [[0, 1], [0, -1]]}}, "factor 1 has variable -1"),
        (
            {"scopes": {"two": [[0, 1], [3, 3]], "mixed": []}},
            "'two': factor 1 has variable 3 of kind 'a' twice",
        ),
        ({"scopes": {"two": [[1, 2]], "mixed": []}}, "'two': factor 0 joins graphs 0 and 1"),
        ({"scopes": {"two": [], "mixed": [[0, 0], [0, 1]]}}, "'mixed': factor 1 joins graphs 0 and 1"),
        ({"features": {"three": [[0.0]]}}, "features: 'three' is not a clique"),
        ({"features": {"two": [[0.0]]}}, "features of clique 'two' has 1 rows for 2 factors"),
        ({"features": {"two": [0.0, 1.0]}}, r"has shape \(2,\), expected \[factors, columns\]"),
        ({"features": {"two": [[0.0], [np.inf]]}}, "row 1, column 0 is inf"),
        ({"features": {"two": ([0, 1], [0], None)}}, "has 1 rows for 2 factors"),
        ({"features": {"two": ([0, 1, 3], [0, 1], None)}}, "indptr must rise from 0 to 2"),
        ({"features": {"two": ([0, 1, 2], [0, -1], None)}}, "indices must be 0 to K - 1"),
        ({"features": {"two": ([0, 1, 2], [0, 1], [1.0])}}, "data must be 2 finite numbers"),
    ],
)
def test_batches(changed: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        batch(**changed)


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"three": [0.0]}, "'three' is not a clique of the graph; its cliques are 'one', 'two', 'mixed'"),
        ({"two": [0.0, 1.0]}, r"has shape \(2,\); expected \(2, 2\), or \(tables, 2, 2\)"),
        ({"mixed": np.zeros((3, 2))}, r"has shape \(3, 2\); expected \(2, 3\)"),
        ({"two": np.zeros((3, 2, 2))}, "clique 'two' has 3 tables for 2 factors"),
        ({"two": [[0.0, np.nan], [0.0, 0.0]]}, r"clique 'two'\[0, 1\] is nan"),
        ({"two": [[0.0, np.inf], [0.0, 0.0]]}, r"clique 'two'\[0, 1\] is inf"),
        ({"two": [["a", "b"], ["c", "d"]]}, "expected real numbers"),
        ({"two": Table(np.zeros((2, 2)), which=[0])}, "which must be 2 integers"),
        ({"two": Table(np.zeros((2, 2)), which=[0, 1])}, "which must be 0 to 0"),
        ({"two": Table(np.zeros((2, 2)), scale=[1.0])}, r"scale has shape \(1,\), expected \(2,\)"),
        ({"two": Table(np.zeros((2, 2)), scale=[1.0, -1.0])}, r"scale\[1\] is -1.0, expected a finite"),
        ({"two": Table(np.zeros((2, 2)), scale=[np.inf, 1.0])}, r"scale\[0\] is inf"),
        ({"two": Table(np.full((2, 2), NEVER), scale=[1.0, 0.0])}, r"scale\[1\] is 0 and the table forbids"),
    ],
)
def test_potentials(tables: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        potentials(**tables)


def test_fixed_scores_cannot_be_scaled() -> None:
    graph = Graph({"a": 2}, c=Clique("a", fixed=[0.0, 1.0]))
    one = graph.batch(sizes={"a": 1})
    assert inference.decode(one.potentials())["a"].tolist() == [1]
    assert inference.decode(one.potentials(c=[[3.0, 0.0]]))["a"].tolist() == [0]
    with pytest.raises(ValueError, match="clique 'c' has fixed scores and can have no scale"):
        one.potentials(c=Table([0.0, 0.0], scale=[2.0]))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"c": [0]}, "'c' is not a kind of the graph"),
        ({"a": [0]}, "must be 4 label ids"),
        ({"b": [0, 3]}, r"labels\['b'\]\[1\] is 3, expected 0 to 2"),
    ],
)
def test_evidence(labels: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        potentials().given(labels)


def test_a_graph_without_a_labeling_is_named() -> None:
    never = potentials(one=[[0.0, 0.0], [0.0, 0.0], [NEVER, NEVER], [0.0, 0.0]])
    assert inference.log_partition(never)[1] == NEVER
    for query in (inference.marginals, inference.decode, inference.entropy, inference.sample):
        with pytest.raises(InfeasibleError, match="graph 1 has no labeling"):
            query(never)


@pytest.mark.parametrize(
    ("factor", "message"),
    [
        (([0, 2], np.zeros((2, 3))), "factor 0 has variable 2, expected 0 to 1"),
        (([0, 0], np.zeros((2, 2))), r"factor 0 has a variable twice: \[0, 0\]"),
        (([0, 1], np.zeros((3, 2))), r"table of factor 0 has shape \(3, 2\), expected \(2, 3\)"),
        (([0], [0.0, np.nan]), r"factor 0\[1\] is nan"),
    ],
)
def test_loose_factors(factor: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Graph.from_factors([2, 3], [factor])
    with pytest.raises(ValueError, match=r"width\[1\] is 0, expected 1 or more"):
        Graph.from_factors([2, 0], [])
    with pytest.raises(ValueError, match=r"width\[1\] is 4294967298, expected less than 2\*\*31"):
        Graph.from_factors([2, 2**32 + 2], [])


def test_many_labelings_are_scored_in_blocks() -> None:
    rng = np.random.default_rng(0)
    potentials = random_graph(rng, graphs=3, forbidden=0.05)
    label = rng.integers(0, potentials.batch.width, size=(40_000, potentials.batch.variables), dtype=np.int32)
    scores = potentials.labeling_score(label)
    for i in rng.integers(0, len(label), size=50):
        assert scores[i].tobytes() == potentials.labeling_score(label[i]).tobytes()


def test_features_are_carried() -> None:
    dense = np.arange(4.0).reshape(2, 2)
    items: Dataset = ItemExtractor()([[["w=a", "b"], {"b": 2.0}]])
    made = batch(features={"two": dense, "mixed": items, "one": csr_array(np.eye(4))})
    assert made.features["two"].dense.tolist() == dense.tolist()
    assert made.features["one"].rows.id.tolist() == [0, 1, 2, 3]
    assert made.features["one"].columns == 4
    assert made.features["one"].rows.value is None  # all are 1
    assert made.features["mixed"].names.strings() == ["w=a", "b"]
    second = made.select([1])
    assert second.features["two"].dense.tolist() == [[2.0, 3.0]]
    assert second.features["one"].rows.id.tolist() == [2, 3]
    assert second.features["mixed"].rows.value.tolist() == [2.0]


def test_a_million_factors() -> None:
    right, down = scopes.grid((708, 708))
    look = np.zeros((708 * 708, 2))
    graph = Graph({"pixel": 2}, look=["pixel"], near=["pixel", "pixel"])
    both = np.concatenate([right, down])
    assert len(both) > 10**6
    seconds = []
    for _ in range(3):
        began = time.perf_counter()
        made = graph.batch(sizes={"pixel": len(look)}, scopes={"near": both})
        assert made.potentials(look=look, near=np.zeros((2, 2))).problem is not None
        seconds.append(time.perf_counter() - began)
    assert min(seconds) < 1.0  # 30 to 50 ms on a quiet machine


def test_scores_of_labels_that_are_not_there_are_refused() -> None:
    batch = Graph({"x": 3}, look=["x"]).batch(sizes={"x": 2})
    potentials = batch.potentials(look=[[0.0, 1.0, 2.0], [0.0, 4.0, 8.0]])
    label = np.array([[[0, 2], [1, 1]]], dtype=np.int32)
    assert potentials.labeling_score(label).tolist() == [[[8.0], [5.0]]]
    for wrong in (-1, 3):
        with pytest.raises(ValueError, match=f"variable 1 has label {wrong}, expected 0 to 2"):
            potentials.labeling_score(np.array([0, wrong], dtype=np.int32))
    with pytest.raises(ValueError, match="label has 3 entries, expected 2"):
        potentials.labeling_score(np.zeros(3, dtype=np.int32))


def test_graphs_are_equal_where_kinds_and_cliques_are() -> None:
    def loose(widths: list[int]) -> Graph:
        return Graph.from_factors(widths, []).structure

    assert loose([2, 3]) == loose([2, 3])
    assert hash(loose([2, 3])) == hash(loose([2, 3]))
    assert loose([2, 3]) != loose([3, 2])
    assert Graph({"a": 2}, u=["a"]) != Graph({"a": ["x", "y"]}, u=["a"])
