"""A JSON array of objects, read as lines of JSON: one object after the other, in memory for one of them."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator

from crfkit._safe.printable import quoted
from crfkit.data.source import LONGEST_LINE, Input
from crfkit.errors import DataError

_ARRAY = re.compile(rb'(\xef\xbb\xbf)?\s*\[\s*(\{\s*["}]|\]\s*$)')
_SOLID = re.compile(rb"[^ \t\r\n]")
_STRUCTURE = re.compile(rb'["{}\[\]]')
_IN_STRING = re.compile(rb'["\\\r\n]')
_LINE_END = re.compile(rb"[\r\n]")


def is_array(beginning: bytes) -> bool:
    r"""Return whether a text begins as an array of objects does.

    Examples
    --------
    >>> is_array(b'[\n  {"tokens": []}'), is_array(b'{"tokens": []}'), is_array(b"[ X")
    (True, False, False)
    """
    return _ARRAY.match(beginning) is not None


def lined(source: Input) -> Input:
    """Return an input of lines of JSON: the input itself, or the objects of its array."""
    first = source.peek(1)
    if first in (b" ", b"\t", b"\r", b"\n", b"\xef"):
        first = source.peek_line().removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    return ArrayInput(source) if first == b"[" else source


class ArrayInput(Input):
    """The objects of an array, one in each line; errors name the lines of the array.

    Parameters
    ----------
    source : Input
        The array.
    """

    def __init__(self, source: Input) -> None:
        self._source = source
        source.has_lines = False
        self._begins = array("q")  # the line of the array that each object begins in
        objects = self._objects()
        super().__init__(source.name, lambda _: next(objects, b""))
        self.remedy, self.say = source.remedy, source.say

    def line_of(self, line: int) -> int:
        """Return the line of the array that an object begins in, by its number from 1."""
        return self._begins[min(line, len(self._begins)) - 1] if self._begins else 1

    def error(self, line: int | None, what: str) -> DataError:
        """Return an error in an object, to be raised."""
        return self._source.error(None if line is None else self.line_of(line), what)

    def nothing(self) -> DataError:  # type: ignore[override]
        """Return the error of an array without objects."""
        return self._source.nothing()

    def _objects(self) -> Iterator[bytes]:
        """Yield the objects that end in each chunk, in a line each."""
        held: list[bytes] = []  # of the object at hand
        size = depth = 0
        expected, string, escaped, line = "[", False, False, 1
        for chunk in self._source.chunks():
            made: list[bytes] = []
            at = counted = start = 0
            while at < len(chunk):
                if escaped:
                    at, escaped = at + 1, False
                    continue
                pattern = _IN_STRING if string else _STRUCTURE if depth else _SOLID
                found = pattern.search(chunk, at)
                if found is None:
                    break
                at, mark = found.end(), found.group()
                if string:
                    if mark in b"\r\n":
                        line += chunk.count(b"\n", counted, found.start())
                        raise self._source.error(line, "has a line end within a string; write \\n")
                    string, escaped = mark != b'"', mark == b"\\"
                elif depth:
                    string = mark == b'"'
                    depth += (mark in b"{[") - (mark in b"}]")
                    if not depth:
                        made.append(_LINE_END.sub(b" ", b"".join([*held, chunk[start:at]])) + b"\n")
                        held, size, expected = [], 0, ",]"
                else:
                    if expected == "[" and mark in b"\xef\xbb\xbf":  # the mark of UTF-8
                        continue
                    line += chunk.count(b"\n", counted, found.start())
                    counted = found.start()
                    if mark not in expected.encode():
                        raise self._source.error(
                            line, f"has {quoted(_letter(chunk, counted))}, {_WANTED[expected]}"
                        )
                    if mark == b"{":
                        self._begins.append(line)
                        depth, start = 1, found.start()
                    expected = {"[": "{]", ",": "{"}.get(mark.decode(), "")
            line += chunk.count(b"\n", counted)
            if depth:
                held.append(chunk[start:])
                size += len(held[-1])
                if size > LONGEST_LINE:
                    what = f"has an object of more than {LONGEST_LINE >> 20} MiB; is this the right format?"
                    raise self._source.error(self._begins[-1], what)
            if made:
                yield b"".join(made)
        if expected or depth:
            raise self._source.error(line, "ends in the middle of its array; close it with ]")


def _letter(chunk: bytes, at: int) -> str:
    return chunk[at : at + 4].decode(errors="replace")[0]


#: What errors say of what should come.
_WANTED = {
    "[": "expected an array of objects",
    "{]": 'expected an object, as in [{"tokens": [...], "labels": [...]}, ...]',
    "{": "expected an object after the comma",
    ",]": "expected a comma or ] after the object",
    "": "expected nothing after the array",
}
