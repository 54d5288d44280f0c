"""Models of sequences and of graphs are one kind of thing: the same verbs, from `train` and from `load`."""

from __future__ import annotations

import inspect
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import crfkit
from crfkit import Graph, inference, train
from crfkit.features import ItemExtractor
from crfkit.models import Explanation, GraphModel, Model, SequenceModel
from crfkit.structures.graphs.batch import GraphBatch

VERBS = sorted(Model.__abstractmethods__)


def graphs() -> GraphBatch:
    graph = Graph(
        {"token": ["D", "N"], "size": 2}, word=["token"], step=["token", "token"], of=["token", "size"]
    )
    return graph.batch(
        graph_ptr={"token": [0, 2, 5], "size": [0, 1, 2]},
        labels={"token": ["D", "N", "D", "N", "N"], "size": [1, 1]},
        scopes={"step": [[0, 1], [2, 3], [3, 4]], "of": [[0, 0], [2, 1]]},
        features={"word": np.eye(3)[[0, 1, 0, 1, 2]]},
    )


def sequences() -> Any:
    return ItemExtractor()([[["the"], ["dog"]], [["a"], ["dog"], ["ran"]]], [["D", "N"], ["D", "N", "N"]])


@pytest.mark.parametrize("data", [sequences(), graphs()], ids=["sequences", "graphs"])
def test_every_model_has_the_shared_verbs(data: Any, tmp_path: Path) -> None:
    model = train(data)
    model.save(tmp_path / "m.crf", notes="an example", license="MIT")
    again = crfkit.load(tmp_path / "m.crf")
    for one in (model, again):
        assert isinstance(one, Model)
        assert one.score(data) == 1.0
        assert isinstance(one.explain(data[:1]), Explanation)
        assert one.training is not None
        assert len(one.labels) == 2
    assert type(again) is type(model)
    assert (again.notes, again.license) == ("an example", "MIT")
    assert str(again.explain(data[:1])) == str(model.explain(data[:1]))


@pytest.mark.parametrize("kind", [SequenceModel, GraphModel])
@pytest.mark.parametrize("verb", VERBS)
def test_verbs_take_what_the_base_says(kind: type, verb: str) -> None:
    ours, theirs = getattr(kind, verb), getattr(Model, verb)
    if isinstance(theirs, property):
        assert isinstance(ours, property)
        return
    own = inspect.signature(ours).parameters
    for parameter in list(inspect.signature(theirs).parameters.values())[2:]:
        assert own[parameter.name].kind in (parameter.kind, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    assert ours.__doc__


def test_queries_of_graphs_are_those_of_inference() -> None:
    data = graphs()
    model = train(data)
    scores = model.potentials(data)
    assert model.labels == {"token": ("D", "N"), "size": ("0", "1")}
    assert model.entropy(data).tolist() == inference.entropy(scores).tolist()
    listed, drawn = inference.kbest(scores, 3), inference.sample(scores, 5, 7)
    answers = zip(model.kbest(data, 3), model.sample(data, 5, random_state=7), strict=True)
    for n, (several, draws) in enumerate(answers):
        right = listed[n].names("token").tolist()
        assert [each.labels["token"].tolist() for each in several] == right
        assert [each["token"].tolist() for each in draws] == drawn[n].names("token").tolist()
    known = {"token": ["N", None, None, None, None]}
    assert model.kbest(data, 1, given=known)[0][0].labels["token"][0] == "N"


def test_graphs_are_judged_by_kind_and_by_functions() -> None:
    data = graphs()
    model = train(data)
    assert data.label is not None
    wrong = replace(data, label=np.where(np.arange(7) == 6, 0, data.label).astype(np.int32))
    assert model.score(wrong) == pytest.approx(6 / 7)
    assert model.score(wrong, kind="size") == 0.5
    assert model.score(wrong, kind="token") == 1.0
    assert (
        model.evaluate(wrong, metric=lambda gold, found: float((gold["size"] != found["size"]).sum())).score
        == 1.0
    )
    with pytest.raises(
        ValueError, match="metric is 'f1', expected 'auto', 'accuracy', 'log_prob' or a function"
    ):
        float(model.evaluate(data, metric="f1"))
    with pytest.raises(ValueError, match="X has no labels"):
        model.score(replace(data, label=None))
