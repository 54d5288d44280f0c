"""brat: each document is a text file, letter by letter as it is, and a file of annotations beside it.

Offsets count code points; where that does not fit the text beside them and UTF-16 units do, those are meant,
and so are line ends that count once where the file has two characters for each.
Spans in several parts with no more than blanks between them are one; others cannot be held: they are counted,
and what they cover is not known. Events, relations, attributes, normalizations, notes and equivalences are
counted. A blank line end within a span is written as a blank.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from itertools import pairwise

import numpy as np

from crfkit._safe.printable import quoted
from crfkit.data.source import Input, open_input
from crfkit.text.doc import Doc
from crfkit.text.formats.evidence import Said, fitting_unit, misfits
from crfkit.text.formats.record import Options, Remarks, TextFormat, encoded, placed
from crfkit.text.offsets import from_unit

__all__ = ["FORMAT"]

_OTHERS = {
    "E": "event",
    "R": "relation",
    "A": "attribute",
    "M": "attribute",
    "N": "normalization",
    "#": "note",
    "*": "equivalence",
}
_SPAN = re.compile(r"(.+?) (-?\d{1,18} -?\d{1,18}(?:;-?\d{1,18} -?\d{1,18})*)")
_NOT_ONE_LINE = re.compile(r"[\t\r\n]")
_LINE_END = re.compile("\r\n")
_BLANK = re.compile(r"\s")


def _read(source: Input, options: Options, remarks: Remarks) -> Iterator[Doc]:
    stem, ending = os.path.splitext(source.name)
    if ending not in (".ann", ".txt") or not os.path.exists(source.name):
        raise source.error(None, "is neither a .ann nor a .txt file, as brat writes them; give the .ann file")
    with ExitStack() as files:
        try:
            partner = files.enter_context(open_input(f"{stem}{'.txt' if ending == '.ann' else '.ann'}"))
        except FileNotFoundError as error:
            raise source.error(
                None, f"has no {error.filename} beside it; a document of brat is two files"
            ) from None
        texts, annotations = (partner, source) if ending == ".ann" else (source, partner)
        text = _exact(texts, options)
        yield _document(text, annotations, os.path.basename(stem), options, remarks)


def _exact(source: Input, options: Options) -> str:
    """Return a text without any change, a mark at its beginning included: brat counts it."""
    if options.encoding is not None:
        source.as_text(options.encoding)
    data = source.whole(text=True)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise source.error(
            line, "is not valid UTF-8; name its encoding, such as encoding='latin-1'"
        ) from None


def _document(text: str, source: Input, name: str, options: Options, remarks: Remarks) -> Doc:
    found = [*_spans(source, remarks)]
    said: list[Said] = [
        (*parts[0], says) for _, parts, says, _ in found if len(parts) == 1 and says is not None
    ]
    counted = _counted_once(text, said) if options.unit is None else text
    unit = options.unit or fitting_unit(counted, said, FORMAT.unit, source.name, remarks)
    ends = np.array([found.start() for found in _LINE_END.finditer(text)], np.int64)
    longer = ends - np.arange(len(ends)) if counted is not text else ends[:0]
    spans, unknown = [], []
    for label, parts, _, place in found:
        with placed(source, None):
            at = from_unit(counted, parts, unit)
            at = (at + np.searchsorted(longer, at)).tolist()
        if _joined(text, at):
            spans.append((at[0][0], at[-1][1], label))
        else:
            remarks.add("span in several parts", place)
            unknown.append((at[0][0], at[-1][1]))
    return Doc(text, spans=spans, id=name, known=_around(unknown, len(text)) if unknown else None)


def _counted_once(text: str, said: list[Said]) -> str:
    """Return a text as its offsets count it: line ends of two characters as one, where that fits better."""
    if "\r\n" not in text:
        return text
    short = _LINE_END.sub("\n", text)
    return short if misfits(short, said, FORMAT.unit)[1] < misfits(text, said, FORMAT.unit)[1] else text


def _spans(source: Input, remarks: Remarks) -> Iterator[tuple[str, list[tuple[int, int]], str | None, str]]:
    """Yield the label of each span, its parts, the text that it should have, and its place."""
    for line, kind, rest in _lines(source):
        place = f"{source.name}, line {line}"
        if kind != "T":
            remarks.add(_OTHERS.get(kind, "line of an unknown kind"), place)
            continue
        fields = rest.split("\t", 1)
        found = _SPAN.fullmatch(fields[0])
        if found is None:
            raise source.error(line, f"has {quoted(fields[0])}, expected a label and offsets, as in LOC 0 8")
        parts = [(int(a), int(b)) for a, b in (part.split(" ") for part in found[2].split(";"))]
        yield found[1], parts, fields[1] if len(fields) > 1 else None, place


def _lines(source: Input) -> Iterator[tuple[int, str, str]]:
    """Yield the lines: their numbers, the letters of their ids, and what is behind the first tab."""
    for first, block in source.blocks():
        for line, written in enumerate(block.split("\n")[:-1], start=first):
            if written.strip():
                name, _, rest = written.rstrip("\r").partition("\t")
                yield line, name[:1], rest


def _joined(text: str, parts: list[list[int]]) -> bool:
    """Return whether nothing but blanks stands between the parts."""
    between = [(b, a) for (_, b), (a, _) in pairwise(parts)]
    return all(0 <= b <= a <= b + 100 and not text[b:a].strip() for b, a in between)


def _around(covered: list[tuple[int, int]], size: int) -> list[tuple[int, int]]:
    """Return the ranges of a text that nothing covers."""
    made, at = [], 0
    for start, end in sorted(covered):
        made.append((at, max(at, start)))
        at = max(at, end)
    return [*made, (at, max(at, size))]


def _files(doc: Doc, options: Options, remarks: Remarks) -> Mapping[str, bytes]:
    lines = []
    for number, span in enumerate(doc.spans, 1):
        if _BLANK.search(span.label):
            raise ValueError(
                f"the label {quoted(span.label, 40)} has a blank, which brat does not allow in labels"
            )
        text = _NOT_ONE_LINE.sub(" ", span.text)
        lines.append(f"T{number}\t{span.label} {span.start} {span.end}\t{text}\n")
    return {".txt": encoded(doc.text), ".ann": encoded("".join(lines))}


FORMAT = TextFormat(
    "brat",
    "brat's .txt and .ann, or a folder of them",
    {".txt": "Ana lives in New York\n", ".ann": "T1\tPER 0 3\tAna\nT2\tLOC 13 21\tNew York\n"},
    _read,
    "a folder is written, a file for each document",
    keeps=frozenset({"overlaps", "id"}),
    options=frozenset({"unit", "encoding"}),
    endings=(".ann",),
    beside=".txt",
    files=_files,
)
