r"""CRFsuite's text: ``label TAB attribute TAB attribute:value ...``, an empty line after each sequence.

Fields lie between TABs (runs count once); blanks are ordinary characters. ``\:`` is a colon, ``\\`` a
backslash, and a backslash before anything else is itself. A value that is not given is 1, and the same
attribute twice at one position adds up into one entry. ``a:1:2`` is the attribute ``a`` with value 1 and the
attribute with the empty name with value 2. A line ``@weight:NUMBER`` anywhere in a sequence is the weight of
that sequence.

Unlike the original: CRLF is a line end; text must be valid UTF-8; a value must be a finite number from its
first to its last character, as C writes numbers (the original reads 0 where it fails); a label with a value,
a line that begins with a TAB and an ``@weight`` without a sequence are errors.

A written name cannot hold TAB, line feed or NUL nor end in CR; a label cannot be empty, unknown or begin with
``@``. Beware: ``crfsuite learn`` knows ``@weight`` lines, ``crfsuite tag`` takes them for items.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from crfkit.arrays import Bools, Floats, Ids, Pointers
from crfkit.data.assemble import DatasetBuilder
from crfkit.data.dataset import Dataset
from crfkit.data.formats.columns import spell
from crfkit.data.source import Input

__all__ = ["parts", "render"]

# Escapes are replaced by unpaired surrogates, which valid UTF-8 never decodes to.
_BACKSLASH, _COLON = "\udc5c", "\udc3a"
_TAB, _LF, _COLON_BYTE = b"\t\n:"
_PLAIN = b"0123456789.eE+-"
_NUMBER = re.compile(
    r"[ \t\v\f\r]*[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
    r"|(?P<hex>0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)(?:[pP][+-]?[0-9]+)?))[ \t\v\f\r]*"
)


def parts(source: Input) -> Iterator[Dataset]:
    """Read attributes, and yield finished sequences as soon as there are any."""
    reader = _Reader(source)
    for first, text in source.blocks():
        reader.read(first, text)
        yield from reader.take()
    reader.finish()
    yield from reader.take()


class _Reader:
    def __init__(self, source: Input) -> None:
        self.source = source
        self.builder = DatasetBuilder()
        self.declared: tuple[int, float] | None = None  # line and value of a weight whose sequence goes on

    def take(self) -> Iterator[Dataset]:
        try:
            yield from self.builder.take()
        except ValueError as error:
            raise self.source.error(None, str(error)) from None

    def read(self, first: int, text: str) -> None:
        """Read whole lines, the first of which has a number."""
        if text.startswith("\t") or "\n\t" in text:
            at = 0 if text.startswith("\t") else text.index("\n\t") + 1
            what = "begins with a TAB, so it has no label; begin with a label or a placeholder"
            raise self.source.error(first + text.count("\n", 0, at), what)
        escapes = "\\" in text
        if escapes:
            text = text.replace("\\\\", _BACKSLASH).replace("\\:", _COLON)
        while "\t\t" in text:
            text = text.replace("\t\t", "\t")
        text = text.replace("\t\n", "\n")

        # How a token ends decides what comes next: a head after LF, a name after TAB, a value after a colon.
        letters = np.frombuffer(text.encode(errors="surrogatepass"), dtype=np.uint8)
        marks = letters[(letters == _TAB) | (letters == _LF) | (letters == _COLON_BYTE)]
        tokens = np.empty(len(marks), dtype=object)
        tokens[:] = text.replace("\n", "\t").replace(":", "\t").split("\t")[:-1]
        before = np.roll(marks, 1)
        is_value: Bools = before == _COLON_BYTE
        begins = np.flatnonzero(before == _LF)
        width = np.diff(begins, append=len(tokens))
        heads: list[str] = tokens[begins].tolist()
        is_row: Bools = (width > 1) | np.array([head != "" for head in heads], dtype=bool)
        blanks = np.flatnonzero(~is_row)
        weights = {}
        if text.startswith("@") or "\n@" in text:
            weights = self._declarations(first, tokens, begins, width, is_value)
            is_row[list(weights)] = False
        valued = np.flatnonzero(is_row & np.append(is_value, False)[begins + 1])
        if valued.size:
            what = f"gives the label {_restore(heads[valued[0]])!r} a value; write \\: for a colon in a label"
            raise self.source.error(first + int(valued[0]), what)

        # An attribute is a name, or a value behind a value (a:1:2), which has the empty name.
        is_attribute = ~is_value | (np.roll(is_value, 1) & is_value)
        is_attribute[begins] = False
        line = np.repeat(np.arange(len(width)), width)
        is_attribute &= is_row[line]
        is_value &= is_row[line]
        value = None
        if is_value.any():
            value = self._values(tokens, is_value, is_attribute, first, line)
            tokens[is_value & is_attribute] = ""
        names: list[str] = tokens[is_attribute].tolist()
        labels: list[str] = tokens[begins[is_row]].tolist()
        count = np.bincount(line[is_attribute], minlength=len(width))[is_row]
        if escapes:
            names, labels = list(map(_restore, names)), list(map(_restore, labels))
        builder = self.builder
        ends = builder.rows + np.cumsum(is_row)[blanks]  # [blank lines]
        real = np.diff(ends, prepend=builder.last_end) > 0
        self._weigh(first, weights, blanks, real)
        builder.add(builder.labels.ids(labels), count, builder.attributes.ids(names), value, ends[real])

    def finish(self) -> None:
        """End the last sequence."""
        builder = self.builder
        if builder.rows > builder.last_end:
            nothing: Ids = np.zeros(0, dtype=np.int32)
            builder.add(nothing, np.zeros(0, dtype=np.int64), nothing, None, np.array([builder.rows]))
        elif self.declared:
            raise self._alone(self.declared[0])

    def _values(
        self, tokens: NDArray[np.object_], is_value: Bools, is_attribute: Bools, first: int, line: Pointers
    ) -> Floats:
        """Return the values of the attributes; `line` is that of each token, counted from `first`."""
        numbers: list[str] = tokens[is_value].tolist()
        written = "".join(numbers)
        try:
            if not written.isascii() or written.encode().translate(None, _PLAIN):
                raise ValueError
            given = np.fromiter(map(float, numbers), dtype=np.float64, count=len(numbers))
        except ValueError:
            given = np.array(list(map(_number, numbers)))
        places = np.flatnonzero(is_value)
        owner = places - ~is_attribute[places]  # the name before it, or itself
        if not np.isfinite(given).all():
            at = int(np.argmin(np.isfinite(given)))
            name = "" if is_value[owner[at]] else _restore(tokens[owner[at]])
            raise self.source.error(first + int(line[places[at]]), _bad(f"attribute {name!r}", numbers[at]))
        value = np.ones(len(tokens))
        value[owner] = given
        chosen: Floats = value[is_attribute]
        return chosen

    def _declarations(
        self, first: int, tokens: NDArray[np.object_], begins: Pointers, width: Pointers, is_value: Bools
    ) -> dict[int, float]:
        found = {}
        for i, begin in enumerate(begins.tolist()):
            if not tokens[begin].startswith("@"):
                continue
            if tokens[begin] != "@weight" or width[i] != 2 or not is_value[begin + 1]:
                what = (
                    f"begins with {tokens[begin]!r}; the only declaration is @weight:NUMBER, on its own line"
                )
                raise self.source.error(first + i, what)
            number = tokens[begin + 1]
            found[i] = _number(number)
            if not np.isfinite(found[i]):
                raise self.source.error(first + i, _bad("@weight", number))
        return found

    def _weigh(self, first: int, weights: dict[int, float], blanks: Pointers, real: Bools) -> None:
        """Give declared weights to their sequences: those that end at the next blank line."""
        before = self.builder.sequences
        pending = {} if self.declared is None else {self.declared[0] - first: self.declared[1]}
        self.declared = None
        for i, weight in {**pending, **weights}.items():
            blank = int(np.searchsorted(blanks, i))
            if blank == len(blanks):
                self.declared = first + i, weight
            elif not real[blank]:
                raise self._alone(first + i)
            self.builder.weights[before + int(real[:blank].sum())] = weight

    def _alone(self, line: int) -> Exception:
        return self.source.error(line, "weighs a sequence that has no items; put @weight inside its sequence")


def _number(text: str) -> float:
    """Return the number that C would read from the whole text, or NaN."""
    match = _NUMBER.fullmatch(text)
    if not match:
        return np.nan
    try:
        return float.fromhex(text.strip()) if match["hex"] else float(text)
    except OverflowError:
        return np.inf


def _bad(name: str, number: str) -> str:
    what = f"gives {name} the value {_restore(number)!r}, which is not a finite number"
    return f"{what}; write \\: for a colon in a name"


def _restore(text: str) -> str:
    return text.replace(_BACKSLASH, "\\").replace(_COLON, ":")


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace(":", "\\:")


def render(data: Dataset, *, first: bool = True) -> str:
    """Return a dataset as text; refuse what could not be read back."""
    batch = data.batch
    check_plain(data, "CRFsuite's text")
    if batch.label is None or (batch.label < 0).any():
        raise ValueError("CRFsuite's text has no way to write an unknown label; label every position")
    label_used, label_places = np.unique(batch.label, return_inverse=True)
    labels: list[str] = spell(data.labels, label_used).tolist()
    attr_used, attr_places = np.unique(batch.attr, return_inverse=True)
    names: list[str] = spell(data.attributes, attr_used).tolist()
    for kind, strings in (("label", labels), ("attribute", names)):
        for string in strings:
            if any(c in string for c in "\t\n\0") or string.endswith("\r"):
                raise ValueError(f"{kind} {string!r} holds TAB, line feed or NUL or ends in CR; rename it")
    for label in labels:
        if not label or label.startswith("@"):
            raise ValueError(f"label {label!r} is empty or begins with @; rename it")
    if first and batch.positions and labels[label_places[0]].startswith("\ufeff"):
        raise ValueError(
            "the first label begins with U+FEFF, which at the start of a file is a byte order mark"
        )
    heads = np.array([_escape(label) for label in labels], dtype=object)[label_places].tolist()
    fields = np.empty(len(names), dtype=object)
    fields[:] = [_escape(name) or ":1" for name in names]
    cells: list[str] = fields[attr_places].tolist()
    if batch.value is not None:
        cells = [
            cell if v == 1 else f"{'' if cell == ':1' else cell}:{v!r}"
            for cell, v in zip(cells, batch.value.tolist(), strict=True)
        ]
    ends = batch.attr_ptr.tolist()
    rows = ["\t".join([head, *cells[a:b]]) for head, a, b in zip(heads, ends, ends[1:], strict=False)]
    lines: list[str] = []
    for n, (a, b) in enumerate(zip(batch.seq_ptr[:-1].tolist(), batch.seq_ptr[1:].tolist(), strict=True)):
        if batch.weight is not None and batch.weight[n] != 1:
            lines.append(f"@weight:{float(batch.weight[n])!r}")
        lines += rows[a:b]
        lines.append("")
    return "".join([line + "\n" for line in lines])


def check_plain(data: Dataset, format: str, empty: bool = False) -> None:
    """Refuse what no text format can hold."""
    batch = data.batch
    if batch.edge_attr is not None and len(batch.edge_attr):
        raise ValueError(f"{format} has no way to write edge attributes; write the columns they came from")
    if batch.dense is not None:
        raise ValueError(f"{format} has no way to write dense features; name them as attributes with values")
    lengths = np.diff(batch.seq_ptr)
    if not empty and (lengths == 0).any():
        raise ValueError(f"sequence {int(np.argmin(lengths))} is empty; {format} cannot hold it")
