"""Options and answers of queries about graphs: in signatures and docstrings, as indices, as bounds."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

from crfkit import Chain, Graph, inference
from crfkit.graphs import scopes
from crfkit.inference import graphs
from crfkit.inference.methods import BeliefPropagation, Elimination, Enumeration, MeanField
from tests.cases.graphs import cycle, random_graph

QUERIES = sorted(set(inference.__all__) & set(graphs.__all__))
CHAIN = Chain(2).potentials([[0.0, 1.0], [0.5, 0.0]])


@pytest.mark.parametrize("name", QUERIES)
def test_help_shows_the_options_of_graphs(name: str) -> None:
    query = getattr(inference, name)
    shown = inspect.signature(query).parameters
    for option in inspect.signature(getattr(graphs, name)).parameters:
        assert option in shown
        if option in ("method", "cliques"):
            assert option in (inspect.getdoc(query) or "")


def test_queries_have_a_method() -> None:
    """All but those that do not ask one, and those of objectives, whose potentials name it."""
    without = [
        name for name in QUERIES if "method" not in inspect.signature(getattr(inference, name)).parameters
    ]
    assert without == ["best", "expected", "score"]


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("log_partition", ()),
        ("entropy", ()),
        ("marginals", ()),
        ("count", ()),
        ("kbest", (2,)),
        ("sample", ()),
        ("log_prob", ([0, 1],)),
    ],
)
def test_sequences_have_no_method(name: str, more: Any) -> None:
    with pytest.raises(TypeError, match="method is 'elimination', an option of graphs; sequences and trees"):
        getattr(inference, name)(CHAIN, *more, method="elimination")


def test_sequences_have_no_cliques() -> None:
    with pytest.raises(TypeError, match="cliques is False, an option of graphs"):
        inference.marginals(CHAIN, cliques=False)


def test_decode_of_sequences_names_its_methods() -> None:
    with pytest.raises(ValueError, match="method is 'icm', expected 'viterbi' or 'posterior'"):
        inference.decode(CHAIN, "icm")
    assert inference.decode(CHAIN, None).labels.tolist() == inference.decode(CHAIN).labels.tolist()


def tokens(single: bool = False) -> Any:
    graph = Graph({"token": ["a", "b"], "chunk": 3}, word=["token"], step=["token", "token"], rung=["chunk"])
    ptr = {"token": [0, 3, 3, 5], "chunk": [0, 1, 2, 2]}
    rng = np.random.default_rng(4)
    if single:
        batch = graph.batch(sizes={"token": 2, "chunk": 0}, scopes={"step": scopes.chain([0, 2])})
        return batch.potentials(word=rng.normal(size=(2, 2)), step=rng.normal(size=(2, 2)))
    batch = graph.batch(graph_ptr=ptr, scopes={"step": scopes.chain([0, 3, 3, 5])})
    return batch.potentials(
        word=rng.normal(size=(5, 2)), step=rng.normal(size=(2, 2)), rung=rng.normal(size=(2, 3))
    )


@pytest.mark.parametrize("query", ["kbest", "sample"])
def test_several_labelings_of_one_graph_are_a_sequence(query: str) -> None:
    scores = tokens(single=True)
    found = getattr(inference, query)(scores, 3)
    assert len(found) == len(list(found)) == 3
    for i, one in enumerate(found):
        assert one["token"].tolist() == found["token"][i].tolist()
        assert one.names("token").tolist() == found.names("token")[i].tolist()
        assert one.score == found.score[i] == pytest.approx(inference.score(scores, one))
    assert found[-1].score == found.score[-1]
    with pytest.raises(IndexError):
        found[3]


def test_labelings_that_do_not_exist_are_not_counted() -> None:
    found = inference.kbest(tokens(single=True), 9)
    assert found["token"].shape == (9, 2)
    assert len(found) == 4
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


@pytest.mark.parametrize("query", ["kbest", "sample"])
def test_several_labelings_of_a_batch_are_one_sequence_for_each_graph(query: str) -> None:
    scores = tokens()
    found = getattr(inference, query)(scores, 4, method=Elimination())
    assert len(found) == 3
    assert [len(one) for one in found] == ([4, 3, 4] if query == "kbest" else [4, 4, 4])
    for n, one in enumerate(found):
        alone = inference.kbest(scores.select([n]), 4)
        assert one["token"].shape[1] == alone["token"].shape[1]
        assert one.info.method.tolist() == ["elimination"]
        for labeling in one:
            assert {kind: len(ids) for kind, ids in labeling.labels.items()} == {
                "token": [3, 0, 2][n],
                "chunk": [1, 1, 0][n],
            }
            assert labeling.score == pytest.approx(float(inference.score(scores.select([n]), labeling)[0]))
        if query == "kbest":
            assert one.score == pytest.approx(alone.score[alone.score[:, 0] > -np.inf, 0])


# ---- bounds


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("method", [None, Elimination(), Enumeration(), BeliefPropagation()], ids=str)
def test_exact_answers_bound_themselves(method: Any, seed: int) -> None:
    scores = random_graph(
        np.random.default_rng(seed), variables=5, arity=2, labels=(2, 3), graphs=3, forbidden=0.0
    )
    for found in (
        inference.log_partition(scores, method=method),
        inference.entropy(scores, method=method),
        inference.marginals(scores, method=method).log_partition,
        inference.log_prob(scores, inference.decode(scores), method=method),
    ):
        exact, value = found.info.exact, np.atleast_1d(np.asarray(found))
        assert method is not None or exact.all()
        assert found.info.lower[exact].tolist() == found.info.upper[exact].tolist() == value[exact].tolist()
    best = inference.decode(scores, method=method)
    exact, value = best.info.exact, np.atleast_1d(best.score)
    assert best.info.lower[exact].tolist() == best.info.upper[exact].tolist() == value[exact].tolist()


def test_bounds_of_log_z_are_none_of_the_entropy() -> None:
    scores = cycle(np.random.default_rng(0), 5, 3)
    assert inference.log_partition(scores, method=MeanField()).info.lower[0] > -np.inf
    assert inference.entropy(scores, method=MeanField()).info.lower[0] == -np.inf
    labels = inference.decode(scores)
    found = inference.log_prob(scores, labels, method=MeanField())
    assert found.info.upper[0] >= inference.log_prob(scores, labels)
    assert found.info.lower[0] == -np.inf


def test_a_forbidden_labeling_has_bounds_too() -> None:
    scores = Graph.from_factors([2, 2], [([0, 1], [[-np.inf, 0.0], [0.0, 0.0]])])
    for method in (None, MeanField()):
        found = inference.log_prob(scores, {"variable": [0, 0]}, method=method)
        assert (float(found), found.info.lower.tolist(), found.info.upper.tolist()) == (
            -np.inf,
            [-np.inf],
            [-np.inf],
        )
