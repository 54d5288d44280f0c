"""Model files of graphs: everything comes back, and nothing in a file is trusted."""

from __future__ import annotations

import gzip
import json
import pickle
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import crfkit
from crfkit import Graph, GraphCRF, Stop
from crfkit.cli.show import show_graph
from crfkit.errors import ModelFileError
from crfkit.features import ItemExtractor
from crfkit.graphs import Clique
from crfkit.models.files import about, read_model
from crfkit.models.files.graphs import graph_pieces
from crfkit.models.files.native import any_model_of
from crfkit.models.graph_model import GraphModel
from crfkit.models.store import pack, unpack
from crfkit.structures.graphs.batch import GraphBatch
from tests.cases.cli import run

WEIGHTS = 4 + 4 + 3 + 6 + 2 + 0 + 2


def batch() -> GraphBatch:
    graph = Graph(
        {"pos": ["N", "V"], "state": 3},
        word=["pos"],
        step=["pos", "pos"],
        rung=Clique(
            "pos", "state", cells=[[0, 1, -1], [-1, 0, 2]], fixed=[[0.0, 0.5, 0.0], [-np.inf, 0.0, 0.0]]
        ),
        own=["state"],
        both=Clique("pos", "pos", counts=np.arange(8.0).reshape(2, 2, 2)),
        ties=Clique("state", "state", fixed=np.eye(3)),
        near=Clique("pos", "pos", cells="same", attractive=True),
    )
    words = ItemExtractor()([[["the", "w"], {"dog": 0.5}, ["barks"], ["the"]]])
    return graph.batch(
        labels={"pos": ["N", "N", "V", "N"], "state": [1, 0, 2, 1]},
        scopes={"step": [[0, 1], [1, 2], [2, 3]], "both": [[0, 3]], "ties": [[0, 2]], "near": [[1, 3]]},
        features={"word": words, "own": np.arange(8.0).reshape(4, 2) / 8},
    )


@pytest.fixture(scope="module")
def model() -> GraphModel:
    data = batch()
    return GraphCRF(data.graph, stop=Stop(max_iterations=40)).fit(data).model_


def test_everything_comes_back(model: GraphModel, tmp_path: Path) -> None:
    path = tmp_path / "m.crf"
    model.save(path, notes="Words.", license="CC0")
    loaded = crfkit.load(path)
    assert loaded.graph == model.graph
    assert (loaded.notes, loaded.license) == ("Words.", "CC0")
    assert loaded.w.tobytes() == model.w.tobytes()
    assert loaded.attributes["word"].strings() == ["the", "w", "dog", "barks"]
    assert "own" not in loaded.attributes
    for one, other in zip(model.layout.blocks, loaded.layout.blocks, strict=True):
        for f in fields(one):
            np.testing.assert_array_equal(getattr(one, f.name), getattr(other, f.name))
    assert model.training is not None
    assert str(loaded.training) == str(replace(model.training, seconds=float("nan")))
    data = batch()
    assert loaded.predict_proba(data)["pos"].tobytes() == model.predict_proba(data)["pos"].tobytes()
    for name, table in model.tables().items():
        np.testing.assert_array_equal(table, loaded.tables()[name])
    assert len(model.w) == WEIGHTS
    said = about(path)
    assert (said.labels, said.weights, said.attributes, said.format) == (5, len(model.w), 6, 7)
    (tmp_path / "m.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert crfkit.load(tmp_path / "m.gz").w.tobytes() == model.w.tobytes()
    again = pickle.loads(pickle.dumps(loaded))
    assert again.predict(data)["state"].tolist() == model.predict(data)["state"].tolist()


def test_new_words_are_dropped_and_known_ones_found_by_name(model: GraphModel) -> None:
    graph = model.graph
    words = ItemExtractor()([[["new", "barks"], ["the"], ["w", "the"], ["x"]]])
    scopes = {"step": [[0, 1]], "both": [], "ties": [], "near": []}
    own = np.zeros((4, 2))
    new = graph.batch(sizes={"pos": 4, "state": 4}, scopes=scopes, features={"word": words, "own": own})
    known = ItemExtractor()([[["barks"], ["the"], ["the", "w"], []]])
    old = graph.batch(sizes={"pos": 4, "state": 4}, scopes=scopes, features={"word": known, "own": own})
    assert model.predict_proba(new)["pos"].tobytes() == model.predict_proba(old)["pos"].tobytes()
    wide = graph.batch(
        sizes={"pos": 4, "state": 4}, scopes=scopes, features={"word": words, "own": np.zeros((4, 3))}
    )
    with pytest.raises(ValueError, match="clique 'own' have 3 columns, the model expects 2 columns"):
        model.predict(wide)
    dense = graph.batch(
        sizes={"pos": 4, "state": 4}, scopes=scopes, features={"word": np.zeros((4, 4)), "own": own}
    )
    with pytest.raises(ValueError, match="the model expects a sparse matrix, as in training"):
        model.predict(dense)


def test_readers_of_sequences_refuse_it(model: GraphModel, tmp_path: Path) -> None:
    model.save(tmp_path / "m.crf")
    with pytest.raises(ModelFileError, match=r"m.crf holds a model of graphs, not of sequences; open"):
        read_model(tmp_path / "m.crf")


def test_the_command_line_shows_it(
    model: GraphModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.crf"
    model.save(path, license="CC0")
    show_graph("m.crf", crfkit.load(path), as_json=False)
    shown = capsys.readouterr().out
    assert "kind         pos, 2 labels: N, V\nkind         state, 3 labels\n" in shown
    assert "clique       step (pos, pos): 4 weights\n" in shown
    assert "license      CC0" in shown
    made = json.loads(run("show", path, "--json").stdout)
    word = made["cliques"]["word"]
    assert (word["kinds"], word["weights"], word["attributes"]) == (["pos"], 4, 4)
    assert "is a model of graphs without a text form" in run("evaluate", path, path, status=2).output
    refused = run("calibrate", path, path, "-o", tmp_path / "c.crf", status=2)
    assert "holds a model of graphs, not of sequences" in refused.output


def test_what_cannot_be_saved_is_refused(model: GraphModel) -> None:
    w = model.w.copy()
    w[2] = np.inf
    with pytest.raises(ValueError, match=r"w\[2\] is inf, which a file of float64 cannot keep"):
        list(graph_pieces(replace(model, w=w), notes=None, license=None))


Attack = Callable[[dict[str, Any], dict[str, Any]], Any]


def put(name: str, value: Any) -> Attack:
    return lambda arrays, about: arrays.__setitem__(name, value)


def structure(key: str, value: Any) -> Attack:
    return lambda arrays, about: about["structure"].__setitem__(key, value)


def clique(number: int, at: int, value: Any) -> Attack:
    return lambda arrays, about: about["structure"]["cliques"][number].__setitem__(at, value)


@pytest.mark.parametrize(
    ("attack", "message"),
    [
        (lambda arrays, about: arrays.pop("w"), "w is missing"),
        (lambda arrays, about: arrays.pop("clique1_ptr"), "clique1_ptr is missing"),
        (lambda arrays, about: arrays.pop("clique2.cells"), "clique2.cells is missing"),
        (lambda arrays, about: about.pop("training"), "training is missing"),
        (lambda arrays, about: about.pop("notes"), "notes is missing"),
        (lambda arrays, about: about["structure"].pop("kinds"), "kinds is missing"),
        (lambda arrays, about: about.update(format=8), "it has format 8"),
        (lambda arrays, about: about.update(notes=7), "the notes are '7'"),
        (lambda arrays, about: about.update(training=7), "summary of training is damaged"),
        (put("w", np.zeros(3)), "w is float64 with shape"),
        (put("w", np.zeros(WEIGHTS, np.int32)), "w is int32"),
        (put("clique0_ptr", np.array([0, 9, 1], np.int64)), "clique0_ptr does not span|clique0_ptr falls"),
        (put("clique1_cell", np.array([0, 1, 2, 9], np.int32)), "clique1_cell has entries outside 0 to 3"),
        (put("clique1_cell", np.array([0, 1, 1, 2], np.int32)), "does not rise within a row"),
        (put("clique2.cells", np.zeros(6)), "clique2.cells is float64"),
        (put("clique2.cells", np.full(6, 2**30, np.int32)), "numbers of 6 and more"),
        (put("clique2.cells", np.full(6, -5, np.int32)), "numbers below -1"),
        (put("clique2.fixed", np.zeros(5)), r"clique2.fixed is float64 with shape \(5,\)"),
        (put("clique2.fixed", np.full(6, np.nan)), "fixed"),
        (put("clique4.counts", np.zeros((3, 2))), r"clique4.counts is float64 with shape \(3, 2\)"),
        (put("clique4.counts", np.full((4, 2), np.inf)), "counts has shape"),
        (put("clique0.begin", np.zeros(2, np.uint64)), "clique0"),
        (structure("kinds", 7), "the list of its kinds is damaged"),
        (structure("kinds", []), "kinds|clique"),
        (structure("kinds", [["pos", 2], ["pos", 3]]), "not all different texts"),
        (structure("kinds", [["pos", 2.5], ["state", 3]]), "the labels of kind 'pos' are '2.5'"),
        (structure("kinds", [["pos", 10**15], ["state", 3]]), "there are 1,000,000,000,000,000 labels"),
        (structure("kinds", [["pos", 2**20], ["state", 3]]), "more than the 16,777,216 that"),
        (structure("kinds", [["pos", ["N", "N"]], ["state", 3]]), "kind 'pos': labels must be names"),
        (structure("kinds", [["pos", ["N", 3]], ["state", 3]]), "the labels of kind 'pos' are"),
        (structure("cliques", [["a", ["pos"]]]), "the list of its cliques is damaged"),
        (clique(0, 1, ["noun"]), "clique 'word' has the kinds"),
        (clique(0, 1, []), "clique 'word' has the kinds"),
        (clique(0, 2, "round"), "clique 'word' is damaged"),
        (clique(0, 3, 1), "clique 'word' is damaged"),
        (clique(0, 4, 1), "clique 'word' is damaged"),
        (clique(0, 4, True), "an attractive clique has cells"),
        (put("w", np.full(WEIGHTS, -1.0)), "clique 'near' is attractive and has weights below 0"),
        (clique(1, 0, "word"), "not all different texts"),
        (clique(1, 1, ["pos"] * 70), "more than the 16,777,216 that"),
    ],
)
def test_hostile_files_are_refused(model: GraphModel, attack: Attack, message: str) -> None:
    data = b"".join(graph_pieces(model, notes=None, license=None))
    arrays, described = unpack(data, "m.crf")
    attack(arrays, described)
    made = b"".join(pack(arrays, described))
    with pytest.raises(ModelFileError, match=message):
        any_model_of(made, "m.crf")
