"""A foreign format is one record: it is read, written, guessed and listed."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

import crfkit
from crfkit import data
from crfkit.data import Columns, Dataset
from crfkit.data.formats import registry
from crfkit.data.formats.record import Format, FormatOptions, Sample
from crfkit.data.source import Input
from crfkit.errors import DataError


def parts(source: Input, options: FormatOptions) -> Iterator[Columns]:
    words = source.text().removeprefix("!words ").split()
    yield Columns.from_rows([[(word,) for word in words]], names=options.columns or ["word"])


def render(given: Columns | Dataset, options: FormatOptions, first: bool) -> bytes:
    assert isinstance(given, Columns)
    mark = b"!words " if first else b" "
    return mark + b" ".join(row[0].encode() for sequence in given for row in sequence)


def guess(sample: Sample) -> str:
    return "it begins with !words" if sample.data.startswith(b"!words ") else ""


WORDS = Format("words", "columns", parts, render, frozenset({"columns"}), guess, (".words",))


@pytest.fixture(autouse=True)
def added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.FORMATS, "words", WORDS)


def test_it_is_read_written_and_guessed(tmp_path: Path) -> None:
    text = b"!words the dog barks"
    said: list[str] = []
    made = crfkit.read(io.BytesIO(text), say=said.append)
    assert isinstance(made, Columns)
    assert said == ["input is taken for format 'words': it begins with !words."]
    assert list(made) == [[("the",), ("dog",), ("barks",)]]
    found = data.guess(text)
    assert found is not None
    assert found.format == "words"
    data.write(tmp_path / "x.words", made)
    assert (tmp_path / "x.words").read_bytes() == text
    data.write(tmp_path / "y", [made, made], "words")
    assert (tmp_path / "y").read_bytes() == b"!words the dog barks the dog barks"
    again = next(data.stream(tmp_path / "y", "words", columns=["token"]))
    assert isinstance(again, Columns)
    assert again.names == ("token",)


def test_it_is_listed() -> None:
    assert data.FORMATS[-1] == "words"
    with pytest.raises(ValueError, match=r"the formats are columns, .*, words"):
        crfkit.read(io.BytesIO(b"a"), "nothing")
    with pytest.raises(DataError, match=r"one of columns, .*, words"):
        crfkit.read(io.BytesIO(b"a b c\nd e\nf g h i\n"))
    with pytest.raises(ValueError, match="words has no option 'sequence'; columns, csv, parquet have it"):
        crfkit.read(io.BytesIO(b"!words a"), "words", sequence="s")
    with pytest.raises(ValueError, match=r"crfsuite has no option 'columns'; .*words have it"):
        crfkit.read(io.BytesIO(b"a"), "crfsuite", columns=["a"])


def test_its_mistakes_are_those_of_all_formats() -> None:
    attributes = crfkit.read(io.BytesIO(b"N\tw=dog\n"), "crfsuite")
    with pytest.raises(ValueError, match="the data are attributes, but format words holds columns"):
        data.write(io.BytesIO(), attributes, "words")


def test_every_record_goes_by_its_name() -> None:
    assert [one.name for one in reversed(registry.records())] == list(registry.names())
    for one in registry.records():
        assert one.name == "words" or f"``{one.name}``" in str(data.__doc__), (
            "the table in crfkit.data lacks it"
        )
        assert one.options <= set(FormatOptions.__dataclass_fields__)
        assert one.holds in ("columns", "attributes", "either")
