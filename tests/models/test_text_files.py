"""Model files keep the tokenizer and what is known of the training texts."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import crfkit
from crfkit import ChainCRF, Doc
from crfkit.errors import ModelFileError
from crfkit.models.store import pack, unpack
from crfkit.text import Blanks, Characters, Given, Sentences, Words
from tests.cases.documents import DOCS
from tests.cases.text_models import MODEL, TEXT


@pytest.mark.parametrize(
    ("tokenizer", "sentences"),
    [
        (Words("-"), "rule"),
        (Characters(), "none"),
        (Blanks(","), "lines"),
        (crfkit.text.Pattern(r"\w+|[^\w\s]"), "blank-lines"),
        (Given(), Sentences("rule", ("abc",))),
    ],
)
def test_a_file_keeps_the_tokenizer(tokenizer: Any, sentences: Any, tmp_path: Path) -> None:
    model = MODEL.with_text(tokenizer, sentences)
    model.save(tmp_path / "m.crf", compact=True)
    for again in (
        crfkit.load(tmp_path / "m.crf"),
        crfkit.load(tmp_path / "m.crf", mapped=True),
        pickle.loads(pickle.dumps(model)),
    ):
        assert again.text == model.text
        if not isinstance(tokenizer, Given):
            assert again(TEXT) == model(TEXT)
    assert crfkit.load(tmp_path / "m.crf").to_bytes() == model.to_bytes()


def _changed(tmp_path: Path, change: Any) -> Path:
    """Return a model file whose description is another, with checksums that fit."""
    path = tmp_path / "m.crf"
    MODEL.save(path)
    arrays, described = unpack(path.read_bytes(), "m")
    change(described)
    path.write_bytes(b"".join(pack(arrays, described)))
    return path


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ([], "the tokenizer is damaged"),
        ({"tokenizer": {"kind": "words"}}, "the tokenizer is damaged"),
        ({"tokenizer": {"kind": "python"}, "sentences": {"rule": "none"}}, "tokenizer is 'python'"),
        ({"tokenizer": {"kind": "words", "split": 7}, "sentences": {"rule": "none"}}, "split is 7"),
        ({"tokenizer": {"kind": "words"}, "sentences": {"rule": "regex"}}, "sentences is 'regex'"),
        ({"tokenizer": {"kind": "words"}, "sentences": 7}, "the tokenizer is damaged"),
        (
            {"tokenizer": {"kind": "pattern", "expression": "(a+)+$"}, "sentences": {"rule": "none"}},
            "could take far more steps",
        ),
    ],
)
def test_a_damaged_tokenizer_is_refused(text: Any, told: str, tmp_path: Path) -> None:
    path = _changed(tmp_path, lambda described: described.update(text=text))
    with pytest.raises(ModelFileError, match=told):
        crfkit.load(path)


def test_the_record_of_training_tells_of_the_alignment(tmp_path: Path) -> None:
    crf = ChainCRF(tokenizer="words").fit([*DOCS, Doc("Osloer", spans=[(0, 4, "LOC")])])
    assert crf.training_ is not None
    assert "expanded: 'Oslo' to 'Osloer' (LOC)" in str(crf.training_.alignment)
    json.dumps(crf.training_.to_dict())
    crf.save(tmp_path / "m.crf")
    again = crfkit.load(tmp_path / "m.crf")
    assert again.training.alignment == crf.training_.alignment

    def change(described: Any) -> None:
        described["training"]["alignment"]["expanded"] = -1

    with pytest.raises(ModelFileError, match="the report on the alignment of spans is damaged"):
        crfkit.load(_changed_file(crf, tmp_path, change))


def _changed_file(crf: Any, tmp_path: Path, change: Any) -> Path:
    arrays, described = unpack(crf.model_.to_bytes(), "m")
    change(described)
    path = tmp_path / "changed.crf"
    path.write_bytes(b"".join(pack(arrays, described)))
    return path
