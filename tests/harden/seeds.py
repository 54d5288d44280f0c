"""Small sound models of every kind that crfkit's own file holds, as bytes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Literal

import numpy as np

from crfkit import Chain, FeatureSelection, Graph, GraphCRF, HiddenChainCRF, SemiMarkov, Stop, train
from crfkit.constraints import (
    AtMost,
    AtMostOnce,
    Before,
    Forbid,
    Implies,
    LinearConstraint,
    Scheme,
)
from crfkit.data.dataset import Dataset
from crfkit.data.formats.columns import Columns
from crfkit.features import Conjunctions, Dictionary, Extractor, ItemExtractor, Recipe
from crfkit.features.dialects import parse_recipe
from crfkit.graphs import Clique
from crfkit.inference.constrained.kinds import GlobalConstraint
from crfkit.models import SequenceModel
from crfkit.models.files.graphs import graph_pieces
from crfkit.models.graph_model import GraphModel
from crfkit.structures.constraints import Constraint
from tests.cases.models import graph_model, native_model
from tests.cases.sentences import full

ROWS = [
    [("The", "DT", "O"), ("New", "NN", "B-LOC"), ("York", "NN", "I-LOC"), ("ran", "VB", "O")],
    [("a", "DT", "O"), ("York", "NN", "B-LOC")],
]
SHORT = Stop(max_iterations=3)


def columns(recipe: Recipe, longest: int | None = None) -> Dataset:
    return Extractor(recipe, label="tag", longest=longest)(
        Columns.from_rows(ROWS, names=["word", "pos", "tag"])
    )


def dialect(text: str, name: Literal["crfkit", "crfpp", "wapiti"]) -> SequenceModel:
    return train(columns(parse_recipe(text, name)), stop=SHORT)


def items(hashed: int | None = None) -> Dataset:
    X = [[["a", "b"], {"c": 0.5}, ["a"]], [["b"], ["c", "d"]], [["d"]]]
    return ItemExtractor(hashed)(X, [["P", "Q", "R"], ["Q", "P"], ["R"]])


def of_order(order: int) -> SequenceModel:
    both: list[Constraint] = [Scheme("BIO"), Forbid("O", "O")]
    return train(
        columns(Recipe.parse("bias; word[0]; suffix(word, 2)[0]")),
        stop=SHORT,
        structure=Chain(order=order, constraints=both[: 3 - order]),
    )


def segments() -> SequenceModel:
    towns = Dictionary(["New York", "York", "Boston"])
    text = (
        "bias; word[-1..0]; begin: word[-1]; end: word[1]; segment: word[..] & length\n"
        "segment: jaccard(word, towns)[..]; segment: value(length)"
    )
    parts: dict[str, Any] = {"structure": SemiMarkov(max_length=3), "stop": SHORT}
    return train(columns(Recipe.parse(text, {"towns": towns}), longest=3), **parts)


def hidden() -> SequenceModel:
    X = [[["a"], ["b"], ["c"], ["a"]], [["c"], ["b"]]]
    model: SequenceModel = (
        HiddenChainCRF(states=2, stop=SHORT).fit(X, [["P", "P", "Q", "Q"], ["Q", "P"]]).model_
    )
    return model


def constrained() -> SequenceModel:
    rules: list[GlobalConstraint] = [
        AtMost("LOC", 2),
        AtMostOnce(["LOC"]),
        Before("B-LOC", "I-LOC"),
        Implies("I-LOC", "B-LOC"),
        LinearConstraint({"O": 1.0, "B-LOC": -2.0}, 3.0),
    ]
    parts: dict[str, Any] = {"structure": Chain(constraints=[Scheme("BIO")]), "stop": SHORT}
    return train(columns(Recipe.parse("word[0]; pos[0]")), **parts).constrained(rules)


def calibrated() -> SequenceModel:
    data = columns(Recipe.parse("word[0]; pos[0]"))
    return train(data, stop=SHORT).calibrated(data, method="isotonic")


def conjoined() -> SequenceModel:
    pairs = Conjunctions([("a", "b"), ("c", "d")])
    return train(pairs(items()), stop=SHORT)


def chosen_weights() -> SequenceModel:
    return train(items(), selection=FeatureSelection(which="all", start=True, stop=True), stop=SHORT)


def formless_graph() -> GraphModel:
    graph = Graph(
        {"pos": ["N", "V"], "state": 3},
        word=["pos"],
        rung=Clique(
            "pos", "state", cells=[[0, 1, -1], [-1, 0, 2]], fixed=[[0.0, 0.5, 0.0], [-np.inf, 0.0, 0.0]]
        ),
        own=["state"],
        both=Clique("pos", "pos", counts=np.arange(8.0).reshape(2, 2, 2)),
        near=Clique("pos", "pos", cells="same", attractive=True),
    )
    words = ItemExtractor()([[["the", "w"], {"dog": 0.5}, ["barks"], ["the"]]])
    data = graph.batch(
        labels={"pos": ["N", "N", "V", "N"], "state": [1, 0, 2, 1]},
        scopes={"both": [[0, 3]], "near": [[1, 3]]},
        features={"word": words, "own": np.arange(8.0).reshape(4, 2) / 8},
    )
    return GraphCRF(data.graph, stop=SHORT).fit(data).model_


def graph_bytes(model: GraphModel) -> bytes:
    return b"".join(graph_pieces(model, notes=None, license=None))


CRFPP = "U00:%x[-1,0]\nU01:%x[0,0]/%x[0,1]\nB\n"
WAPITI = '*\nu:%x[0,0]\nu:%m[ 0,0,"^\\u*.?"]\nb:%t[ 0,1,"^N"]\nu:%X[-1,0]\n'
OWN = 'bias; word[-1..1]; shape(word)[0] & pos[0]; regex(word, "[a-z]+")[0]; is(word, "^[A-Z]")[0]'

SEEDS: dict[str, Callable[[], bytes]] = {
    "chain": lambda: native_model().to_bytes(),
    "chain float32": lambda: native_model().to_bytes(dtype="float32"),
    "chain compact": lambda: native_model().to_bytes(compact=True),
    "order 2": lambda: of_order(2).to_bytes(),
    "order 3": lambda: of_order(3).to_bytes(),
    "memm": lambda: train(items(), structure="local-chain", stop=SHORT).to_bytes(),
    "segments": lambda: segments().to_bytes(),
    "hidden": lambda: hidden().to_bytes(),
    "dense": lambda: train(full(8), stop=SHORT).to_bytes(),
    "hashed": lambda: train(items(64), stop=SHORT).to_bytes(),
    "conjunctions": lambda: conjoined().to_bytes(),
    "all weights": lambda: chosen_weights().to_bytes(),
    "crfpp recipe": lambda: dialect(CRFPP, "crfpp").to_bytes(),
    "wapiti recipe": lambda: dialect(WAPITI, "wapiti").to_bytes(),
    "own recipe": lambda: dialect(OWN.replace("", ""), "crfkit").to_bytes(),
    "constraints": lambda: constrained().to_bytes(),
    "calibrated": lambda: calibrated().to_bytes(),
    "graph": lambda: graph_bytes(graph_model()),
    "graph tables": lambda: graph_bytes(formless_graph()),
}


@cache
def seed(name: str) -> bytes:
    """Return the bytes of a sound model."""
    return SEEDS[name]()
