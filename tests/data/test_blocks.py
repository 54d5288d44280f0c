"""data.stream(alphabets="fresh"): blocks that know nothing of each other, and formats chosen as by read."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest

import crfkit
from crfkit import _native, data
from crfkit._safe.background import ahead
from crfkit.data.dataset import Dataset
from crfkit.data.formats.columns import Columns
from crfkit.data.source import EmptyInputError
from crfkit.errors import DataError

TEXT = b"the D\ndog N\n\ndogs N\n\n"


class Slow(io.RawIOBase):
    """Gives one piece at a time, and fails where somebody waits for more than is asked for."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces = list(pieces)
        self.taken = 0

    def read1(self, size: int = -1) -> bytes:
        self.taken += 1
        return self.pieces.pop(0) if self.pieces else b""

    read = read1


def fresh(source: bytes | Slow, format: str | None = None, **options: str) -> Iterator[Columns | Dataset]:
    given = io.BytesIO(source) if isinstance(source, bytes) else source
    return data.stream(given, format, alphabets="fresh", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("separator", [b" ", b"\t"])
def test_blocks_have_alphabets_of_their_own_and_do_not_wait(separator: bytes) -> None:
    text = TEXT.replace(b" ", separator)
    source = Slow(text, text + b"cats", separator + b"N\n")
    blocks = fresh(source)
    first = next(blocks)
    assert source.taken <= 2
    second, third = blocks
    assert [list(block) for block in (first, second)] == [list(crfkit.read(io.BytesIO(text)))] * 2
    assert list(third) == [[("cats", "N")]]
    assert isinstance(first, Columns)
    assert isinstance(second, Columns)
    assert first.alphabets[0] is not second.alphabets[0]


def test_the_lines_of_mistakes_are_those_of_the_input() -> None:
    blocks = fresh(Slow(TEXT, TEXT, b"a b c\n"), "columns")
    with pytest.raises(DataError, match="line 11: from here on there are 3 columns, expected 2 as before"):
        list(blocks)


def test_formats_are_chosen_as_by_read() -> None:
    for text, kind in ((TEXT, Columns), (b"N\tw=dog\n\n", Dataset), (b'{"word": ["a"]}\n', Columns)):
        (block,) = fresh(text)
        assert type(block) is type(crfkit.read(io.BytesIO(text))) is kind
    (block,) = fresh(b"sequence,word\n1,a\n1,b\n", "csv")
    assert len(block) == 1
    with pytest.raises(ValueError, match="there is no format 'xml'"):
        fresh(TEXT, "xml")
    with pytest.raises(EmptyInputError, match="the file is empty"):
        list(fresh(b""))
    with pytest.raises(ValueError, match=r"alphabets is .none., expected"):
        data.stream(io.BytesIO(TEXT), alphabets="none")


def test_what_is_needed_decides_where_a_guess_gives_the_other() -> None:
    (block,) = fresh(b"N\tdog\n\n", needs="attributes")
    assert isinstance(block, Dataset)
    (block,) = fresh(b"N\tw=dog\n\n", needs="columns")
    assert isinstance(block, Columns)
    whole = crfkit.read(io.BytesIO(b"N\tw=dog\n\n"), needs="columns")
    assert isinstance(whole, Columns)
    with pytest.raises(ValueError, match="needs is 'rows'"):
        crfkit.read(io.BytesIO(TEXT), needs="rows")


def test_marks_of_documents_decide_no_format() -> None:
    (block,) = fresh(b'{"word": ["a"]}\n', docstart="keep")
    assert isinstance(block, Columns)
    (block,) = fresh(b"-DOCSTART- O\n\n" + TEXT, docstart="keep")
    assert len(block) == 3


def test_a_block_ahead_and_its_error_come_in_their_turn() -> None:
    begun: list[int] = []

    def parts() -> Iterator[int]:
        for n in range(3):
            begun.append(n)
            yield n
        raise DataError("a.txt", 7, "is bad")

    found = ahead(parts())
    assert [next(found), next(found), next(found)] == [0, 1, 2]
    with pytest.raises(DataError, match=r"a.txt, line 7: is bad"):
        next(found)
    early = ahead(parts())
    next(early)
    early.close()
    assert begun in ([0, 1, 2, 0], [0, 1, 2, 0, 1])


def test_nul_bytes_are_seen_wherever_the_input_is_cut() -> None:
    text = b"the D\n\nd\0g N\n\ncat N\n"
    for cut in range(len(text)):
        parser = _native.ColumnParser(None, "", True, False)
        found = parser.feed(text[:cut]) or parser.feed(text[cut:]) or parser.finish()
        assert found == (3, "holds a NUL byte; is this a text file?")
