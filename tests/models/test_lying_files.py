"""Files that are no models, cut off, changed or lying: each is refused by what is wrong with it."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crfkit import Chain
from crfkit.data.alphabet import Alphabet
from crfkit.errors import ModelFileError
from crfkit.linear.layout import Layout
from crfkit.models import SequenceModel
from crfkit.models.files import write_model
from crfkit.models.model import Names
from crfkit.models.store import pack, unpack
from tests.cases.model_file import model

__all__ = ["model"]


def test_files_that_are_no_models(model: SequenceModel, tmp_path: Path) -> None:
    empty, text, other = tmp_path / "empty", tmp_path / "text", tmp_path / "other"
    empty.write_bytes(b"")
    text.write_text("the D\ndog N\n" * 10)
    other.write_bytes(next(pack({}, {})).replace(b'"format":"crfkit"', b'"format":"others"'))
    for path, message in (
        (empty, "is empty"),
        (tmp_path, "is a folder; give the file of a model"),
        (text, "is not a model of crfkit; give a file that Model.save wrote"),
        (other, "is safetensors, but not a model of crfkit"),
    ):
        with pytest.raises(ValueError, match=f"{path.name} {message}"):
            SequenceModel.load(path)
    with pytest.raises(FileNotFoundError):
        SequenceModel.load(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="crfkit, crfsuite, crfpp, wapiti are the kinds that can be written"):
        write_model(model, tmp_path / "m", "mallet")


def test_cut_off_anywhere(model: SequenceModel) -> None:
    data = model.to_bytes()
    for size in [*range(0, 200), *range(200, len(data), 97), len(data) - 1]:
        with pytest.raises(ModelFileError):
            SequenceModel.from_bytes(data[:size])


def test_every_flipped_bit_is_noticed(model: SequenceModel) -> None:
    data = model.to_bytes()
    head = 8 + int.from_bytes(data[:8], "little")
    rng = random.Random(5)
    places = [*range(0, 64), *(rng.randrange(head) for _ in range(500))]
    places += [rng.randrange(head, len(data)) for _ in range(500)]
    for place in places:
        damaged = bytearray(data)
        damaged[place] ^= 1 << rng.randrange(8)
        with pytest.raises(ModelFileError, match="the data"):
            SequenceModel.from_bytes(bytes(damaged))


def spoilt(model: SequenceModel, change: Any) -> bytes:
    arrays, described = unpack(model.to_bytes(), "seed")
    arrays = {name: array.copy() for name, array in arrays.items()}
    change(arrays, described)
    described.pop("sums", None)
    return b"".join(pack(arrays, described))


def put(name: str, place: int, value: float) -> Any:
    def change(arrays: dict[str, Any], described: dict[str, Any]) -> None:
        arrays[name][place] = value

    return change


def describe(**entries: Any) -> Any:
    return lambda arrays, described: described.update(entries)


def shape(**entries: Any) -> Any:
    return lambda arrays, described: described["structure"].update(entries)


def more_rows(part: str) -> Any:
    def change(arrays: dict[str, Any], described: dict[str, Any]) -> None:
        ptr = arrays[f"{part}_ptr"]
        arrays[f"{part}_ptr"] = np.append(ptr, ptr[-1])

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("w", 3, np.nan), r"w\[3\] is not finite"),
        (put("node_cell", 0, 99), "node_cell has entries outside 0 to 2"),
        (put("node_cell", 0, -1), "node_cell has entries outside"),
        (put("node_ptr", 1, 10**12), "node_ptr falls"),
        (put("node_ptr", -1, 0), "node_ptr does not span node_cell"),
        (put("transition_cell", -1, 9), "transition_cell has entries outside 0 to 8"),
        (put("start_ptr", 1, 2), "start_ptr does not span start_cell"),
        (
            put("attributes.begin", 1, 10**6),
            "attributes: the alphabet is damaged: string 1 ends before it begins",
        ),
        (put("attributes.begin", -1, 3), "attributes: .* to 3, expected 0 to"),
        (put("labels.bytes", 0, ord("I")), "are not found in their own table"),
        (
            lambda arrays, _: arrays["attributes.slots"].fill(7),
            "slots are taken, expected one for each|names a string that is not there",
        ),
        (
            lambda arrays, _: arrays.update(w=arrays["w"][:-1]),
            r"w is float64 with shape \(48,\), the layout needs \(49,\)",
        ),
        (more_rows("node"), r"rows of node attributes, of which \d+ have names"),
        (more_rows("edge"), r"rows of edge attributes, of which \d+ have names"),
        (lambda arrays, _: arrays.pop("edge_cell"), "edge_cell is missing"),
        (lambda arrays, _: arrays.pop("resource.1.values"), "values is missing"),
        (lambda arrays, _: arrays.pop("resource.3.tokens"), "'towns' is damaged: tokens is missing"),
        (put("resource.3.ptr", 1, 9), "'towns' is damaged: its pointers are wrong"),
        (put("resource.3.ptr", 1, 0), "entry 0 of the dictionary 'towns' is empty"),
        (put("resource.3.tokens_begin", 1, 0), "entry 0 of the dictionary 'towns' has an empty token"),
        (put("resource.3.tokens", 0, 255), "can't decode byte 0xff"),
        (shape(order=9), "order is 9, expected 0 to 8"),
        (shape(order="1"), "the order is '1', expected a number"),
        (shape(order=2, constraints=[]), "its blocks of weights are .*, which do not fit a chain of order 2"),
        (describe(format=8), "it has format 8 .*, this version knows format 7: use a newer crfkit"),
        (describe(format=3), "it has format 3 .*, this version knows format 7: train the model again"),
        (describe(format=None), "version of the format is missing"),
        (describe(format=2), "it has format 2 .*this version knows format 7: train the model again"),
        (describe(hashed=-1), "hashed is -1"),
        (
            shape(kind="ring"),
            "the structure is of kind 'ring', this version knows chain, local-chain, semi-markov: use a",
        ),
        (describe(structure=3), "the structure is not described"),
        (shape(kind="local-chain"), "local chain has order 1 and no constraints"),
        (shape(kind="local-chain", constraints=[]), "stop weights, which a local chain does not take"),
        (describe(blocks=[["node", "node"]]), "its blocks of weights are .*, which do not fit"),
        (describe(table_bytes=-1), "table_bytes of the layout is '-1'"),
        (describe(notes=None), "notes are 'None', expected a text"),
        (describe(label_column=[1]), "label column"),
        (describe(training={}), "loss is missing"),
        (describe(recipe={"dialect": "crfkit", "text": "word[0", "resources": {}}), "is not a field"),
        (
            describe(recipe={"dialect": "crfkit", "text": "word[-999..999]", "resources": {}}),
            "it has windows",
        ),
        (
            describe(recipe={"dialect": "crfpp", "text": "U\n" * 30_000, "resources": {}}),
            "more than 20,000 templates",
        ),
        (shape(constraints=[{"kind": "forbid", "before": "O", "after": "Q"}]), "does not have"),
        (shape(constraints=[{"kind": "magic"}]), "a constraint is damaged"),
        (shape(constraints=[{"kind": "pair", "pattern": "(B+)+,x", "flags": 32}]), "could take forever"),
        (
            shape(constraints=[{"kind": "length", "type": None, "minimum": 1, "maximum": 10**9}]),
            "more than a model file may have",
        ),
        (shape(constraints=[{"kind": "require", "before": "O", "after": "I"}] * 200_000), "bytes, more than"),
    ],
)
def test_lies_are_found_out(model: SequenceModel, change: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SequenceModel.from_bytes(spoilt(model, change))


def test_crowded_tables_are_refused() -> None:
    names = Alphabet([f"a{i}" for i in range(5000)])
    nothing = (np.zeros(1, np.int64), np.zeros(0, np.int32))
    layout = Layout.of_chain(1, np.arange(5001), np.zeros(5000, np.int32), *nothing, np.zeros(0, np.int32))
    model = SequenceModel(Chain(["x"]), layout, Names(Alphabet(["x"]), names), np.ones(5000))

    def crowd(arrays: dict[str, Any], described: dict[str, Any]) -> None:
        arrays["attributes.slots"].sort()

    with pytest.raises(ValueError, match=r"crowded around slot .*: look-ups would take long"):
        SequenceModel.from_bytes(spoilt(model, crowd))


def test_headers_that_lie() -> None:
    def file(header: str, body: bytes = b"") -> bytes:
        return len(header).to_bytes(8, "little") + header.encode() + body

    for data in (
        file("{" * 100_000),
        file('{"__metadata__":' + "[" * 50_000 + "}"),
        file('{"a":1,"a":2}'),
        b"\xff" * 7 + b"\x7f{" + bytes(20),
        (1 << 40).to_bytes(8, "little") + b"{" + bytes(20),
        file("[" + " " * 30 + "]"),
    ):
        with pytest.raises(ModelFileError):
            SequenceModel.from_bytes(data)
    with pytest.raises(ValueError, match="shorten the notes"):
        list(pack({}, {"notes": "x" * (5 << 20)}))
