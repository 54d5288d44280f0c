"""Explanations of graphs: parts add up to the difference of two scores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from crfkit import Graph, GraphCRF, inference
from crfkit.graphs import Clique
from crfkit.structures.graphs.batch import GraphBatch
from tests.cases.graph_data import graphs, latent_chains


@pytest.mark.parametrize("hidden", [False, True])
def test_contributions_add_up_to_the_difference(hidden: bool) -> None:
    data = latent_chains(0) if hidden else graphs(0)
    crf = GraphCRF(data.graph, selection="all").fit(data)
    for graph in range(2):
        one = data.select([graph])
        scores = crf.model_.potentials(one)
        best = inference.decode(scores)
        for kind, (first, last) in one.kind_ptr.items():
            for v in range(last - first):
                (made,) = crf.explain(one, (kind, v))
                p = inference.marginals(scores)[kind][v]
                order = [y for y in np.argsort(-p) if y != best[kind][v]]
                assert (made.label, made.runner_up) == (str(best[kind][v]), str(order[0]))
                assert made.probability == pytest.approx(p[best[kind][v]])
                known = np.full(last - first, -1)
                known[v] = order[0]
                other = inference.decode(scores.given({kind: known}))
                assert made.difference == pytest.approx(float((best.score - other.score)[0]))
                assert [abs(c.amount) for c in made.contributions] == sorted(
                    (abs(c.amount) for c in made.contributions), reverse=True
                )


def words() -> tuple[Graph, GraphBatch]:
    from crfkit.features import ItemExtractor

    graph = Graph(
        {"token": ["other", "person"]},
        word=["token"],
        skip=Clique("token", "token", counts=[[[1.0], [0.0]], [[0.0], [2.0]]]),
        rule=Clique("token", "token", fixed=[[0.0, 0.0], [0.0, 0.1]]),
    )
    X = [[["green", "cap"], ["spoke"], ["green", "cap", "mr."]]]
    pair = [[0, 2]]
    data = graph.batch(
        labels={"token": ["person", "other", "person"]},
        scopes={"skip": pair, "rule": pair},
        features={"word": ItemExtractor()(X)},
    )
    return graph, data


def test_it_names_factors_attributes_and_variables() -> None:
    graph, data = words()
    told = GraphCRF(graph, selection="all").fit(data).explain(data, ("token", 0))
    (made,) = told
    assert (made.at, made.label, made.runner_up) == (("token", 0), "person", "other")
    said = {(c.kind, c.name) for c in made.contributions}
    assert {("word", "cap"), ("skip", "weight"), ("rule", "fixed")} <= said
    skip = next(c for c in made.contributions if c.kind == "skip")
    assert skip.at == (("token", 0), ("token", 2))
    text = str(told)
    assert text.startswith("token 0 is person (p = 0.")
    assert "token 0 person, not other" in text
    assert told.info is not None
    assert told.info.exact.all()


def test_given_labels_and_impossible_ones() -> None:
    graph, data = words()
    crf = GraphCRF(graph).fit(data)
    given = {"token": [None, "other", "other"]}
    (made,) = crf.explain(data, ("token", 0), given=given)
    assert all(c.factor[1] == "token 2 other" for c in made.contributions if ("token", 2) in c.at)  # type: ignore[operator]
    (settled,) = crf.explain(data, ("token", 2), given=given)
    assert (settled.runner_up, settled.contributions) == (None, ())
    assert str(settled) == "token 2 is other (p = 1.000); no other label is possible"
    assert crf.explain(data, given="labels").at(("token", 2)).label == "person"


def test_errors() -> None:
    graph, data = words()
    crf = GraphCRF(graph).fit(data)
    for at, message in [
        (("token", 3), "the graph has 3 variables of kind 'token'; 3 is not one of them"),
        (("word", 0), "'word' is not a kind of the graph"),
    ]:
        with pytest.raises(ValueError, match=message):
            crf.explain(data, at)
    with pytest.raises(TypeError, match="at is 0, expected a variable: its kind and its number"):
        crf.explain(data, 0)
    several = graphs(0)
    with pytest.raises(ValueError, match="graphs; explain one at a time"):
        GraphCRF(several.graph).fit(several).explain(several)
    with pytest.raises(ValueError, match="has no features in the batch"):
        crf.explain(replace(data, features={}), ("token", 0))
