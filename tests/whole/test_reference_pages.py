"""Pages of reference are complete: names of registries, and samples of formats that crfkit really reads."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import crfkit
from crfkit import text
from crfkit.data.formats.columns import Columns
from crfkit.data.formats.registry import FORMATS as DATA
from crfkit.inference.methods.registry import METHODS
from crfkit.metrics import METRICS
from crfkit.objectives.registry import OBJECTIVES, ON_GRAPHS
from crfkit.text.formats.registry import FORMATS as TEXTS
from crfkit.training.choose import NAMES

REFERENCE = Path(__file__).parents[2] / "docs/reference"
SECTION = re.compile(r"^### ([\w -]+)\n(?:(?!#).*\n)*?```text\n((?:.*\n)*?)```", re.MULTILINE)
SAMPLES = dict(SECTION.findall((REFERENCE / "formats.md").read_text(encoding="utf-8")))
TOKENS = [name for name in SAMPLES if name in DATA and name != "segmented"]
SENTENCE = "Ana lives in Lima"
SPANS = [(0, 3, "PER"), (13, 17, "LOC")]


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("objectives", {*OBJECTIVES, *ON_GRAPHS}),
        ("optimizers", {*NAMES}),
        ("methods", {*METHODS}),
        ("metrics", {*METRICS}),
        ("formats", {*DATA, *TEXTS}),
    ],
)
def test_every_name_is_described(page: str, names: set[str]) -> None:
    written = (REFERENCE / f"{page}.md").read_text(encoding="utf-8")
    assert names
    assert not [
        name for name in sorted(names) if f"`{name}`" not in written and f"### {name}\n" not in written
    ]


def labels_of(data: Any, name: str) -> list[str]:
    if not isinstance(data, Columns):  # attributes
        return [data.labels.strings()[y] for y in data.batch.label]
    place = data.names.index("upos") if name == "conllu" else -1
    return [row[place] for row in data.sequence(0)]


@pytest.mark.parametrize("name", TOKENS)
def test_samples_of_tokens_are_read(name: str, tmp_path: Path) -> None:
    path = tmp_path / "sample.txt"
    path.write_text(SAMPLES[name], encoding="utf-8")
    data = crfkit.read(path, name)
    assert len(data) == 1
    expected = ["PROPN", "VERB", "ADP", "PROPN"] if name == "conllu" else ["B-PER", "O", "O", "B-LOC"]
    assert labels_of(data, name) == expected


def test_the_sample_of_words_without_labels_is_read(tmp_path: Path) -> None:
    path = tmp_path / "sample.txt"
    path.write_text(SAMPLES["segmented"], encoding="utf-8")
    data = crfkit.read(path, "segmented")
    assert isinstance(data, Columns)
    assert "".join(row[0] for row in data.sequence(0)) == SENTENCE.replace(" ", "")


@pytest.mark.parametrize("name", [name for name in SAMPLES if name not in DATA])
def test_samples_of_texts_are_read(name: str, tmp_path: Path) -> None:
    path = tmp_path / ("a.ann" if name == "brat" else "sample.txt")
    path.write_text(SAMPLES[name], encoding="utf-8")
    if name == "brat":
        (tmp_path / "a.txt").write_text(SENTENCE, encoding="utf-8")
    (doc,) = text.read(path, name.removeprefix("text "))
    assert doc.text == SENTENCE
    assert [(span.start, span.end, span.label) for span in doc.spans] == SPANS


def test_samples_are_found() -> None:
    assert len(TOKENS) == 6
    assert len(SAMPLES) == 15
