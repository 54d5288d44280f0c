"""The bounds that SECURITY.md states are those of the code, and those that are written twice agree."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "SECURITY.md").read_text()
UNITS = {"": 1, "MiB": 1 << 20, "GiB": 1 << 30}
BOUNDS = re.findall(r"^\| [^|]+ \| ([\d,]+) ?(MiB|GiB|) \| `([\w./]+)\.(\w+)` \|$", PAGE, flags=re.MULTILINE)
#: Bounds that native readers and those in Python keep.
TWICE = [
    ("crfkit.arrays.LARGEST_SCORE", "cpp/shared/problem.hpp", "kLargestScore"),
    ("crfkit.data.formats.columns.MOST_COLUMNS", "cpp/text/columns.hpp", "kMostColumns"),
    ("crfkit.data.formats.jsonlines._MOST_LETTERS", "cpp/text/json_items.hpp", "kMostLetters"),
    ("crfkit.data.source.LONGEST_TOKEN", "cpp/text/words.hpp", "kLongestToken"),
    ("crfkit.models.files.cqdb._MOST_MOVES", "cpp/text/cqdb.hpp", "longest_run"),
]


def in_python(module: str, name: str) -> float:
    found: float = getattr(import_module(module), name)
    return found


def in_native(file: str, name: str) -> float:
    """Return a constant as a file of C++ has it: a number, or one shifted."""
    found = re.search(rf"\b{name} = ([^;,]+)", (ROOT / file).read_text())
    assert found, f"{file} has no {name}"
    text = re.sub(r"std::\w+\{(\d+)\}", r"\1", found[1]).replace("'", "")
    if text.startswith("0x"):
        return float.fromhex(text)
    number, _, shift = text.partition("<<")
    return int(number) << int(shift or 0)


@pytest.mark.parametrize(("number", "unit", "place", "name"), BOUNDS)
def test_a_bound_is_that_of_the_code(number: str, unit: str, place: str, name: str) -> None:
    found = in_native(place, name) if place.startswith("cpp/") else in_python(place, name)
    assert int(number.replace(",", "")) * UNITS[unit] == found


def test_every_row_is_read() -> None:
    rows = PAGE.split("| --- | --- | --- |\n")[1].split("\n\n")[0].splitlines()
    assert len(rows) == len(BOUNDS) > 5


@pytest.mark.parametrize(("python", "file", "name"), TWICE)
def test_a_bound_that_is_written_twice_agrees(python: str, file: str, name: str) -> None:
    assert in_python(*python.rsplit(".", 1)) == in_native(file, name)
