"""Readers know where sequences stand in a file, however it is cut."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

import crfkit
from crfkit import data
from crfkit.data import Columns
from crfkit.data.lines import Lines

CASES: list[tuple[str, dict[str, Any], bytes, list[int], int | None]] = [
    ("columns", {}, b"\na b\nc d\n\n\ne f\n\ng h\n", [2, 6, 8], 1),
    ("columns", {"comment": "#"}, b"# x\na b\n# y\nc d\n\ne f\n", [2, 6], None),
    ("jsonl", {}, b'{"tokens": ["a", "b"]}\n\n{"tokens": ["c"]}\n', [1, 3], 0),
    ("segmented", {}, b"\nthe dog\n\nran\n", [2, 4], 0),
    ("csv", {}, b"sequence,word\n1,a\n1,b\n2,c\n", [2, 4], 1),
    ("csv", {}, b'sequence,word\n1,"a\n"\n1,b\n\n2,c\n', [2, 6], None),
    ("columns", {"sequence": "0"}, b"1 a\n1 b\n\n2 c\n3 d\n", [1, 4, 5], 1),
]


@pytest.mark.parametrize(("format", "options", "text", "begins", "step"), CASES)
def test_lines_of_sequences(
    format: str, options: dict[str, Any], text: bytes, begins: list[int], step: int | None
) -> None:
    def found(parts: Any) -> list[int]:
        return [
            int(line)
            for part in parts
            if isinstance(part, Columns) and part.lines
            for line in part.lines.begin
        ]

    whole = crfkit.read(io.BytesIO(text), format, **options)
    assert isinstance(whole, Columns)
    assert whole.lines is not None
    assert whole.lines.step == step
    assert found([whole]) == begins
    assert found(data.stream(io.BytesIO(text), format, chunk_positions=1, **options)) == begins
    blocks = data.stream(io.BytesIO(text), format, alphabets="fresh", **options)
    assert found(blocks) == begins


def test_a_part_that_does_not_know_makes_the_whole_unknown() -> None:
    one = Lines(np.array([1]))
    assert Lines.concat([one, None]) is None
    joined = Lines.concat([one, Lines(np.array([5]))])
    assert joined is not None
    assert joined.begin.tolist() == [1, 5]


def test_columns_refuse_lines_of_other_sequences() -> None:
    made = Columns.from_rows([[("a",)], [("b",)]])
    with pytest.raises(ValueError, match="lines of 1 sequences, expected 2"):
        Columns(made.ids, made.alphabets, made.seq_ptr, made.names, lines=Lines(np.array([1])))
