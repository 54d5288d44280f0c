"""`crfkit card` says what is in the file and what was measured, and its head is YAML."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from crfkit import ChainCRF
from tests.cases.cli import run
from tests.cases.web import columns_model, words_model


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    words_model().save(tmp_path / "names.crf", notes="Names in *English*.", license="CC-BY-4.0")
    (tmp_path / "test.txt").write_text("w label\nin O\nNew B-LOC\nYork I-LOC\n\nAna B-LOC\nlives O\n")
    return tmp_path


def test_a_card_with_scores(folder: Path) -> None:
    text = run("card", folder / "names.crf", folder / "test.txt", "--header", "--language", "en").stdout
    head, _, page = text.removeprefix("---\n").partition("\n---\n")
    plain = dict(line.split(": ", 1) for line in head.splitlines())
    assert {key: json.loads(value) for key, value in plain.items() if key != "model-index"} == {
        "language": "en",
        "license": "cc-by-4.0",
        "library_name": "crfkit",
        "pipeline_tag": "token-classification",
        "tags": ["conditional-random-field", "sequence-labeling"],
    }
    [result] = json.loads(plain["model-index"])[0]["results"]
    assert [(one["type"], one["name"], one["value"]) for one in result["metrics"]] == [
        ("f1", "span_f1", pytest.approx(0.5)),
        ("accuracy", "accuracy", pytest.approx(0.8)),
    ]
    for name in ("names.crf", "test.txt"):
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() in page
    for part in (
        "Names in *English*.",
        "model = crfkit.load('names.crf')",
        "B-LOC",
        "Stopped: ",
        "2 sequences",
    ):
        assert part in page


def test_a_card_without_data(folder: Path) -> None:
    text = run("card", folder / "names.crf").stdout
    assert "## Scores" not in text
    assert "model-index" not in text
    head = json.loads(run("card", folder / "names.crf", "--json").stdout)
    assert head["library_name"] == "crfkit"


def test_cards_of_other_models(tmp_path: Path) -> None:
    columns_model().save(tmp_path / "columns.crf")
    assert "the columns word, pos" in run("card", tmp_path / "columns.crf").stdout
    ChainCRF().fit([[{"w": "the"}, {"w": "dog"}]], [["D", "N"]]).save(tmp_path / "items.crf")
    assert "features of tokens" in run("card", tmp_path / "items.crf").stdout
    assert "no.crf" in run("card", tmp_path / "no.crf", status=2).stderr
