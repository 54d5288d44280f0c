"""Model files of formats 1 and 2, written by the code of then, still open and answer the same.

``tests/models/files/answers.json`` holds what that code answered. Weights are multiples of 1/64, so that
scores are exact; logarithms may differ in the last digits from one C library to another.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crfkit import Model
from crfkit.data.dataset import Dataset
from crfkit.data.formats.columns import Columns
from crfkit.features import Extractor, ItemExtractor
from crfkit.models.files import about
from crfkit.models.store import pack, unpack
from crfkit.structures.constraints import Scheme

FOLDER = Path(__file__).parent / "files"
ANSWERS: dict[str, Any] = json.loads((FOLDER / "answers.json").read_text())
FORMATS = {"chain": 1, "local": 2, "second": 1, "hashed": 1}

ROWS = [
    [("York", "NN", "B"), ("the", "DT", "O"), ("New", "NN", "B"), ("York", "NN", "I")],
    [("a", "DT", "O")],
]
ITEMS = [[["a"], ["c", "new"], ["b"], ["b"], ["a"]], [["c"]]]
LABELS = [["P", "Q", "Q", "R", "P"], ["R"]]


def data_for(model: Model) -> Dataset:
    if model.recipe is None:
        return ItemExtractor(model.hashed)(ITEMS, LABELS)
    return Extractor(model.recipe, label="tag")(Columns.from_rows(ROWS, names=["word", "pos", "tag"]))


def numbers(texts: Any) -> Any:
    return [numbers(one) for one in texts] if isinstance(texts, list) else float.fromhex(texts)


def answers(model: Model) -> list[bytes]:
    data = data_for(model)
    return [model.log_likelihood(data).tobytes(), *(one.tobytes() for one in model.marginals(data))]


@pytest.mark.parametrize("name", FORMATS)
def test_old_files_answer_as_they_did(name: str) -> None:
    told = ANSWERS[name]
    assert about(FOLDER / f"{name}.crf").format == FORMATS[name]
    model = Model.load(FOLDER / f"{name}.crf")
    assert model.w.tolist() == numbers(told["w"])
    data = data_for(model)
    assert model.predict(data) == told["predicted"]
    batch = model.batch_of(data)
    assert batch.label is not None
    score = model.potentials(batch).path_score(batch.label)
    exact = 0.0 if name != "local" else 1e-14
    np.testing.assert_allclose(score, numbers(told["score"]), rtol=exact)
    np.testing.assert_allclose(model.log_likelihood(data), numbers(told["log_likelihood"]), rtol=1e-13)
    for found, expected in zip(model.marginals(data), numbers(told["marginals"]), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-13)
    assert (model.notes, model.licence) == ("old", "CC0")
    assert model.training is not None
    assert model.training.iterations == 3


@pytest.mark.parametrize("name", FORMATS)
def test_saved_anew_they_have_format_3_and_the_same_bits(name: str, tmp_path: Path) -> None:
    old = Model.load(FOLDER / f"{name}.crf")
    old.save(tmp_path / "new.crf")
    assert about(tmp_path / "new.crf").format == 3
    new = Model.load(tmp_path / "new.crf")
    assert (new.structure, new.extractor) == (old.structure, old.extractor)
    assert answers(new) == answers(old)


def test_structures_of_old_files() -> None:
    found = {name: Model.load(FOLDER / f"{name}.crf").structure for name in FORMATS}
    assert {name: (one.kind, getattr(one, "order", None)) for name, one in found.items()} == {
        "chain": ("chain", 1),
        "local": ("local-chain", 1),
        "second": ("chain", 2),
        "hashed": ("chain", 1),
    }
    assert found["chain"].constraints == (Scheme("BIO"),)


@pytest.mark.parametrize(
    ("name", "entries", "message"),
    [
        ("local", {"local": 1}, "local is '1', expected true or false"),
        ("second", {"format": 2, "local": True}, "local chain has order 1"),
        ("chain", {"layout": {}}, "start and stop of the layout are neither"),
        ("chain", {"layout": 3}, "options of the layout are missing"),
        (
            "chain",
            {"layout": {"start": True, "stop": True, "dense": 1 << 40, "table_bytes": 0}},
            "the layout has 1099511627776 dense columns",
        ),
        ("chain", {"order": 2}, "limits|constraints|edge attributes, which need order 1"),
        ("hashed", {"layout": {"start": True, "stop": False, "dense": 0, "table_bytes": 0}}, "w has shape"),
    ],
)
def test_lies_in_old_files_are_found_out(name: str, entries: dict[str, Any], message: str) -> None:
    arrays, described = unpack((FOLDER / f"{name}.crf").read_bytes(), name)
    with pytest.raises(ValueError, match=message):
        Model.from_bytes(b"".join(pack(arrays, {**described, **entries})))


@pytest.mark.parametrize("part", ["node", "edge"])
def test_rows_without_names_are_refused(part: str) -> None:
    arrays, described = unpack((FOLDER / "chain.crf").read_bytes(), "m")
    ptr = arrays[f"{part}_ptr"]
    arrays[f"{part}_ptr"] = np.append(ptr, ptr[-1])
    message = f"{len(ptr)} rows of {part} attributes, of which {len(ptr) - 1} have names"
    with pytest.raises(ValueError, match=message):
        Model.from_bytes(b"".join(pack(arrays, described)))
