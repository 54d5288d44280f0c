"""Files that are numbers between blanks: all words become doubles, and errors name the line.

Words are converted in blocks, so that there are never Python objects for all of them. 278,000 words take
0.1 s, of which `numpy.fromstring` would save a fifth; but it stops at the first word that it cannot read, and
says so in a warning only.
"""

from __future__ import annotations

import re
from itertools import islice

import numpy as np

from crfkit.arrays import Floats, Pointers
from crfkit.data.source import BINARY, Input
from crfkit.errors import DataError

MOST_CELLS = 1 << 22  #: of any file
CELLS_PER_BYTE = 64  #: beyond that
_BLOCK = 1 << 20  # bytes
_BLANK = re.compile(rb"[ \t\n\r\v\f]")
_WORD = re.compile(rb"[^ \t\n\r\v\f]+")
_COMMENT = re.compile(rb"#[^\n]*")
_BOM = b"\xef\xbb\xbf"


def most_cells(size: int) -> int:
    """Return how many numbers may be made of a file of that size: formats that leave zeros out are short.

    Examples
    --------
    >>> most_cells(1000)
    4258304
    """
    return MOST_CELLS + CELLS_PER_BYTE * size


class Words:
    """The numbers of a file.

    Parameters
    ----------
    source : Input
    heading : bool
        Whether the first word is text; it is in `heading` and does not count.
    comments : bool
        Whether ``#`` begins a comment, up to the end of its line.
    """

    def __init__(self, source: Input, *, heading: bool = False, comments: bool = False) -> None:
        self.name = source.name
        data = source.whole(text=True).removeprefix(_BOM)
        if comments:
            data = _COMMENT.sub(b"", data)
        self._data = data
        self.size = len(data)
        self.heading = ""
        self._begin = 0  # of the numbers, in bytes
        first = _WORD.search(data)
        if first is None:
            raise DataError(self.name, None, "the file is empty; give one with a model, or with answers")
        if heading:
            self.heading = first.group()[:80].decode(errors="replace")
            self._begin = first.end()
        self.value: Floats = self._numbers()

    def __len__(self) -> int:
        return len(self.value)

    def _numbers(self) -> Floats:
        data, at = self._data, self._begin
        blocks: list[Floats] = []
        done = 0
        while at < len(data):
            found = _BLANK.search(data, min(at + _BLOCK, len(data)))
            end = len(data) if found is None else found.end()
            words = data[at:end].split()
            try:
                blocks.append(np.fromiter(map(float, words), np.float64, len(words)))
            except ValueError:
                wrong = next(i for i, word in enumerate(words) if not _is_number(word))
                raise self._not_a_number(done + wrong, words[wrong]) from None
            done += len(words)
            at = end
        value: Floats = np.concatenate(blocks) if blocks else np.zeros(0)
        if b"_" in data[self._begin :]:  # which Python allows within numbers
            at = data.index(b"_", self._begin)
            number = len(data[self._begin : at + 1].split()) - 1
            raise self._not_a_number(
                number, next(islice(_WORD.finditer(data, self._begin), number, None)).group()
            )
        return value

    def _not_a_number(self, at: int, word: bytes) -> DataError:
        if b"\0" in word:
            return DataError(self.name, None, BINARY)
        shown = word[:40].decode(errors="backslashreplace")
        return self.error(at, f"{shown!r} is not a number")

    def error(self, at: int, what: str) -> DataError:
        """Return an error at word number `at`, to be raised."""
        words = 0
        lines = self._data.count(b"\n", 0, self._begin)
        for line, text in enumerate(self._data[self._begin :].split(b"\n"), lines + 1):
            words += len(text.split())
            if words > at:
                return DataError(self.name, line, what)
        return DataError(self.name, None, what)

    def ended(self, what: str) -> DataError:
        """Return the error of a file that ends too early."""
        return DataError(self.name, None, f"ends where {what} should come; fetch or write the file again")

    def whole(self, at: int, what: str, least: int, most: int) -> int:
        """Return word number `at`, which must be a whole number within bounds."""
        if at >= len(self.value):
            raise self.ended(what)
        number = float(self.value[at])
        if not (least <= number <= most and number == int(number)):
            bounds = f"{least} to {most}" if most < 2**31 - 1 or number > most else f"{least} or more"
            raise self.error(at, f"{what} is {_shown(number)}, expected a whole number, {bounds}")
        return int(number)

    def many(self, begin: int, count: int, what: str) -> Floats:
        """Return a run of words, which must be there."""
        if count > len(self.value) - begin:
            raise self.ended(what)
        return self.value[begin : begin + count]

    def end(self, at: int, what: str) -> None:
        """Raise if there is anything at word number `at`, where the file should end."""
        if at < len(self.value):
            raise self.error(at, f"there is more behind {what}: {_shown(float(self.value[at]))} ...")

    def check_whole(self, at: Pointers, what: str, least: int, most: int) -> None:
        """Raise unless words are whole numbers within bounds; the first that is not is named."""
        number = self.value[at]
        with np.errstate(invalid="ignore"):
            wrong = np.flatnonzero(~((number >= least) & (number <= most) & (number == np.floor(number))))
        if wrong.size:
            self.whole(int(at[wrong[0]]), what, least, most)


def _is_number(word: bytes) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _shown(number: float) -> str:
    return str(int(number)) if number == number // 1 and abs(number) < 1e15 else str(number)
