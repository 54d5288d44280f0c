"""crfkit's model file: everything comes back, nothing half is ever there, nothing in a file is trusted."""

from __future__ import annotations

import fcntl
import gzip
import json
import os
import pickle
import re
import time
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open

from crfkit import Chain, FeatureSelection, Stop, train
from crfkit.data.alphabet import Alphabet
from crfkit.data.dataset import ExtractorSpec
from crfkit.data.formats.columns import Columns
from crfkit.data.sink import write_bytes
from crfkit.features import Extractor, ItemExtractor, Recipe
from crfkit.features.recipe import Field, Template
from crfkit.linear.layout import Layout
from crfkit.models import SequenceModel
from crfkit.models.files import about, read_model
from crfkit.models.files.native import FORMAT
from crfkit.models.model import Names
from crfkit.structures.constraints import START, STOP, Constraint, Forbid, Require, Scheme, SegmentLength
from crfkit.structures.rules import constraints_of, plain_constraints
from tests.cases.model_file import COLUMNS, model
from tests.cases.models import native_model

__all__ = ["model"]


def same(a: SequenceModel, b: SequenceModel) -> None:
    """Assert that two models are the same in every part."""
    for name in ("labels", "attributes", "edge_attributes"):
        assert getattr(a.names, name).strings() == getattr(b.names, name).strings()
    assert (a.layout.slots, a.layout.table_bytes) == (b.layout.slots, b.layout.table_bytes)
    for one, other in zip(a.layout.blocks, b.layout.blocks, strict=True):
        for f in fields(one):
            np.testing.assert_array_equal(getattr(one, f.name), getattr(other, f.name))
    assert a.w.tobytes() == b.w.tobytes()
    assert (a.structure, a.extractor) == (b.structure, b.extractor)


def answers(model: SequenceModel, columns: Columns = COLUMNS) -> list[Any]:
    assert model.recipe is not None
    data = Extractor(model.recipe, label=model.label_column)(columns)
    return [model.predict(data), [p.tolist() for p in model.predict_proba(data)]]


def test_everything_comes_back(model: SequenceModel, tmp_path: Path) -> None:
    path = tmp_path / "model.crf"
    model.save(path, notes="A model.\nOf cities.", license="CC0")
    loaded = SequenceModel.load(path)
    same(model, loaded)
    assert answers(model) == answers(loaded)
    assert model.training is not None
    assert loaded.training is not None
    for f in fields(model.training):
        if f.name not in ("history", "seconds"):  # equal trainings make equal files
            np.testing.assert_equal(getattr(loaded.training, f.name), getattr(model.training, f.name))
    kept = {name: column for name, column in model.training.history.items() if name != "seconds"}
    assert [*loaded.training.history] == [*kept]
    for name, column in kept.items():
        np.testing.assert_array_equal(loaded.training.history[name], column)
    said = about(path)
    assert (said.notes, said.license, said.format) == ("A model.\nOf cities.", "CC0", FORMAT)
    assert (said.labels, said.weights) == (3, len(model.w))
    assert (model.notes, loaded.notes, loaded.license) == ("", "A model.\nOf cities.", "CC0")
    loaded.save(tmp_path / "again.crf", compact=True, notes="Of towns.")
    again = SequenceModel.load(tmp_path / "again.crf")
    assert (again.notes, again.license) == ("Of towns.", "CC0")
    assert SequenceModel.from_bytes(again.to_bytes()).notes == "Of towns."
    same(model, read_model(path))
    same(model, pickle.loads(pickle.dumps(loaded)))


def test_bytes(model: SequenceModel) -> None:
    data = model.to_bytes()
    same(model, SequenceModel.from_bytes(data))
    assert SequenceModel.from_bytes(data).to_bytes() == data == model.to_bytes()


@pytest.mark.parametrize(
    "options",
    [
        {"structure": Chain(order=2)},
        {"structure": Chain(order=0)},
        {"structure": Chain(order=3), "selection": FeatureSelection(transitions="observed")},
    ],
)
def test_orders(options: dict[str, Any]) -> None:
    X = [[["a"], ["b"], ["a", "c"], ["b"]], [["c"], ["a"]]]
    data = ItemExtractor()(X, [["P", "Q", "P", "R"], ["R", "P"]])
    trained = train(data, stop=Stop(max_iterations=5), **options)
    loaded = SequenceModel.from_bytes(trained.to_bytes())
    same(trained, loaded)
    assert trained.predict(data) == loaded.predict(data)


def test_hashed_models_and_names_of_any_kind() -> None:
    X = [[["a", "ü\n\0"], {"b": 0.5}]]
    extractor = ItemExtractor(hashed=64)
    hashed = train(extractor(X, [["P", "\u4e2d"]]), stop=Stop(max_iterations=3))
    assert hashed.hashed == 64
    for compact in (False, True):
        loaded = SequenceModel.from_bytes(hashed.to_bytes(compact=compact))
        assert loaded.hashed == 64
        assert loaded.predict(ItemExtractor(hashed=64)(X)) == hashed.predict(ItemExtractor(hashed=64)(X))
    named = train(ItemExtractor()(X, [["P", "\u4e2d"]]), stop=Stop(max_iterations=3))
    same(named, SequenceModel.from_bytes(named.to_bytes()))


def test_single_precision(model: SequenceModel) -> None:
    small, large = model.to_bytes(dtype="float32"), model.to_bytes()
    loaded = SequenceModel.from_bytes(small)
    assert len(large) - len(small) == pytest.approx(4 * len(model.w), abs=200)
    np.testing.assert_array_equal(loaded.w, model.w.astype(np.float32))
    with pytest.raises(ValueError, match='expected "float64" or "float32"'):
        model.to_bytes(dtype="float16")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"w\[0\] is 1e\+300, which a file of float32 cannot keep"):
        replace(model, w=np.full(len(model.w), 1e300)).to_bytes(dtype="float32")


def test_compact_models_say_the_same(model: SequenceModel) -> None:
    rng = np.random.default_rng(3)
    w = np.where(rng.random(len(model.w)) < 0.7, 0.0, model.w)
    w[model.layout.parts["start"]] = 0.0
    sparse = replace(model, w=w)
    loaded = SequenceModel.from_bytes(sparse.to_bytes(compact=True))
    assert 0 < loaded.layout.attributes < model.layout.attributes
    assert not loaded.layout.start
    assert loaded.w[: loaded.layout.parts["transition"].stop].all()
    (labels, probabilities), (their_labels, theirs) = answers(sparse), answers(loaded)
    assert labels == their_labels
    for a, b in zip(probabilities, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    empty = SequenceModel.from_bytes(replace(model, w=np.zeros(len(w))).to_bytes(compact=True))
    assert (len(empty.attributes), len(empty.edge_attributes), len(empty.layout.transition_cell)) == (0, 0, 0)


def test_rules_come_back() -> None:
    labels = ["O", "B-x", "I-x", "B-y", "I-y"]
    rules: list[Constraint] = [
        Scheme("BIO"),
        Forbid(START, "B-y"),
        Forbid(re.compile("I-.*"), STOP),
        Require("B-x", "I-x"),
        SegmentLength("x", 2, 4),
        SegmentLength(None, maximum=7),
        Forbid(pair=re.compile(r"B-(.*),O")),
    ]
    plain = json.loads(json.dumps(plain_constraints(rules, labels)))
    assert constraints_of(plain, labels) == rules
    slow = [
        Forbid(re.compile("(B|I)-(x|y)+"), re.compile("O|(O)+")),
        Forbid(pair=re.compile(r"(B|O)(-.*)?,B.*")),
    ]
    again = constraints_of(json.loads(json.dumps(plain_constraints(slow, labels))), labels)
    assert again != slow
    a, b = Chain(labels, constraints=slow).resolved, Chain(labels, constraints=again).resolved
    assert a is not None
    assert b is not None
    np.testing.assert_array_equal(a.transition, b.transition)


def test_recipes_of_every_dialect_come_back() -> None:
    texts = {"crfpp": "U00:%x[-1,0]\nB", "wapiti": '*\nu:%m[ 0,0,"\\"?.$"]'}
    from crfkit.features.dialects import parse_recipe

    recipes = [parse_recipe(text, dialect) for dialect, text in texts.items()]  # type: ignore[arg-type]
    recipes += [
        Recipe.parse(r'regex(word, "[a-z]\\d")[0]; word[-3] & shape(pos)[2]; both: pos[0]'),
        Recipe.parse('regex(word, "a..b")[0]'),
        Recipe((Template("node", (Field("word", 1, lower=True),), ("by hand ", "!")),)),
        Recipe.parse(
            "begin: word[-1]; segment: shape(word)[..4] & word[end+1] & length; segment: square(length, 0.1)"
        ),
        Recipe((Template("segment", (Field("word", 1, lower=True, anchor="end"),), ("by hand ", "!")),)),
    ]
    model = train(ItemExtractor()([[["a"], ["b"]]], [["P", "Q"]]), stop=Stop(max_iterations=2))
    for recipe in recipes:
        assert (
            SequenceModel.from_bytes(replace(model, extractor=ExtractorSpec(recipe)).to_bytes()).recipe
            == recipe
        )


def test_any_safetensors_library_reads_it(model: SequenceModel, tmp_path: Path) -> None:
    model.save(tmp_path / "m")
    with safe_open(tmp_path / "m", "numpy") as file:
        np.testing.assert_array_equal(file.get_tensor("w"), model.w)
        assert file.metadata()["format"] == "crfkit"
        assert "labels.slots" in file.keys()  # noqa: SIM118


def test_written_as_a_whole_or_not_at_all(
    model: SequenceModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.crf"
    model.save(path)
    before, mapped = path.read_bytes(), SequenceModel.load(path)
    synced: list[str] = []
    sync = os.fsync

    def failing(handle: int) -> None:
        raise OSError("the disk is full")

    def watching(handle: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{handle}") if os.path.isdir("/proc/self/fd") else "")
        sync(handle)

    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(OSError, match="full"):
        model.save(path, notes="never there")
    assert path.read_bytes() == before
    monkeypatch.setattr(os, "fsync", watching)
    model.save(path, dtype="float32")
    assert len(synced) == 2
    assert synced[1] in (str(tmp_path), "")
    assert os.listdir(tmp_path) == ["m.crf"]
    same(model, mapped)  # the old file lives as long as its map


def test_what_killed_writers_left_is_removed(model: SequenceModel, tmp_path: Path) -> None:
    dead, alive, foreign = (
        tmp_path / name for name in (".m.abcdefgh.crfkit-tmp", ".m.12345678.crfkit-tmp", ".m.tmp")
    )
    for path in (dead, alive, foreign):
        path.write_bytes(b"half a model")
    with open(alive, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # as its writer does
        model.save(tmp_path / "m")
        assert {path.name for path in tmp_path.iterdir()} == {"m", alive.name, foreign.name}
    model.save(tmp_path / "m")
    assert {path.name for path in tmp_path.iterdir()} == {"m", foreign.name}
    same(model, SequenceModel.load(tmp_path / "m"))


def test_writers_of_one_file_do_not_remove_what_others_write(tmp_path: Path) -> None:
    """Each is begun while another is at work; the last to end wins."""

    def pieces(depth: int) -> Iterator[bytes]:
        yield b"begun "
        if depth:
            write_bytes(tmp_path / "m", pieces(depth - 1))
        yield b"ended %d" % depth

    write_bytes(tmp_path / "m", pieces(4))
    assert (tmp_path / "m").read_bytes() == b"begun ended 4"
    assert os.listdir(tmp_path) == ["m"]


def test_gzip(model: SequenceModel, tmp_path: Path) -> None:
    model.save(tmp_path / "m.gz")
    assert (tmp_path / "m.gz").read_bytes()[:2] == b"\x1f\x8b"
    same(model, SequenceModel.load(tmp_path / "m.gz"))
    (tmp_path / "cut.gz").write_bytes(gzip.compress(model.to_bytes())[:-20])
    with pytest.raises(ValueError, match=r"cut\.gz ends in the middle of its gzip data; fetch"):
        read_model(tmp_path / "cut.gz")


@pytest.mark.parametrize("mapped", [False, True])
def test_a_large_model_opens_quickly_and_without_a_copy(mapped: bool, tmp_path: Path) -> None:
    A, L = 1_000_000, 5
    names = Alphabet([f"attribute {i}" for i in range(A)])
    label = np.arange(A, dtype=np.int32) % L
    nothing = (np.zeros(1, np.int64), np.zeros(0, np.int32))
    layout = Layout.of_chain(L, np.arange(A + 1), label, *nothing, np.arange(L * L, dtype=np.int32))
    labels = [f"L{y}" for y in range(L)]
    large = SequenceModel(Chain(labels), layout, Names(Alphabet(labels), names), np.ones(layout.weights))
    large.save(tmp_path / "m")
    times = []
    for _ in range(3):
        begun = time.perf_counter()
        loaded = SequenceModel.load(tmp_path / "m", mapped=mapped)
        times.append(time.perf_counter() - begun)
    assert min(times) < 0.5  # 30 ms on an idle machine
    layout = loaded.layout
    parts: list[Any] = [loaded.w, layout.node_ptr, layout.node_label, *loaded.attributes.arrays()]
    assert not any(part.flags.owndata or part.flags.writeable for part in parts)
    assert loaded.attributes.find("attribute 777777") == 777_777
    assert loaded.attributes[999_999] == "attribute 999999"


def test_attributes_without_weights_are_left_out(tmp_path: Path) -> None:
    """Those of weights that are all zero, and those that have none; no bit of an answer changes."""
    whole = native_model()
    w, ptr = whole.w.copy(), whole.layout.node_ptr
    w[ptr[2] : ptr[5]] = 0.0
    w[ptr[7]] = 0.0
    idle = replace(whole, w=w)
    names = [n for i, n in enumerate(whole.attributes) if w[ptr[i] : ptr[i + 1]].any()]
    assert 0 < len(names) < len(whole.attributes) - 2
    idle.save(tmp_path / "m.crf")
    whole.save(tmp_path / "whole.crf")
    assert (tmp_path / "m.crf").stat().st_size < (tmp_path / "whole.crf").stat().st_size
    for again in (SequenceModel.load(tmp_path / "m.crf"), SequenceModel.from_bytes(idle.to_bytes())):
        assert again.attributes.strings() == names
        assert again.edge_attributes.strings() == whole.edge_attributes.strings()
        assert answers(again) == answers(idle)
    nothing = replace(whole, w=np.zeros_like(w))
    assert len(SequenceModel.from_bytes(nothing.to_bytes()).attributes) == 0
    assert answers(SequenceModel.from_bytes(nothing.to_bytes())) == answers(nothing)
    hashed = train(ItemExtractor(hashed=32)([[["a"], ["b"]]], [["P", "Q"]]), stop=Stop(max_iterations=2))
    assert SequenceModel.from_bytes(hashed.to_bytes()).layout.attributes == hashed.layout.attributes
