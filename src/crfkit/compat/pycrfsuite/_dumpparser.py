r"""What a model holds, as text (``crfsuite dump``) and as dicts, both straight from the model.

The text does not escape names: one with a newline cannot be read back from it. The dicts do not
come from the text and have no such limits; weights have its six decimals.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from crfkit._safe.printable import quoted
from crfkit.models.model import SequenceModel

__all__ = ["CRFsuiteDumpParser", "ParsedDump", "dump_text", "parsed"]

_COUNTS = ("magic", "size", "type", "version", "num_features", "num_labels", "num_attrs")
_HEADER = (*_COUNTS, "off_features", "off_labels", "off_attrs", "off_labelrefs", "off_attrrefs")
_MOST_ARROWS = 1000  # of a line
_FEATURE = re.compile(r"\(\d+\) (.*): ([+-]?(?:\d+\.\d+|inf|nan))$", re.DOTALL)


class ParsedDump:
    """The weights and names of a model; `Tagger.info` returns one."""

    def __init__(self) -> None:
        self.header: dict[str, str] = {}
        self.labels: dict[str, str] = {}  #: name to id
        self.attributes: dict[str, str] = {}  #: name to id
        self.transitions: dict[tuple[str, str], float] = {}  #: (from, to) to weight
        self.state_features: dict[tuple[str, str], float] = {}  #: (attribute, label) to weight


def header_of(head: bytes) -> dict[str, str]:
    """Return the fields of the 48 bytes that a model file begins with."""
    words = np.frombuffer(head[:48], dtype="<u4").tolist()
    fields = dict(zip(_HEADER, map(str, words), strict=True))
    fields |= {name: f"0x{word:X}" for name, word in zip(_HEADER[7:], words[7:], strict=True)}
    return {**fields, "magic": head[:4].decode("latin-1"), "type": head[8:12].decode("latin-1")}


def _features(model: SequenceModel | None) -> Iterator[tuple[int, str, str, float]]:
    """Go through kind, source, label and weight of all features: transitions, then states."""
    if model is None:
        return
    labels, layout, L = model.structure.labels, model.layout, len(model.names.labels)
    cells, part = layout.transition_cell.tolist(), layout.parts["transition"]
    for cell, w in zip(cells, model.w[part].tolist(), strict=True):
        yield 1, labels[cell // L], labels[cell % L], w
    names = model.attributes.strings()
    owner = np.repeat(np.arange(layout.attributes), np.diff(layout.node_ptr)).tolist()
    columns, weights = layout.node_label.tolist(), model.w[layout.parts["node"]].tolist()
    for a, y, w in zip(owner, columns, weights, strict=True):
        yield 0, names[a], labels[y], w


def _names(model: SequenceModel | None) -> tuple[tuple[str, ...], list[str]]:
    return ((), []) if model is None else (model.structure.labels, model.attributes.strings())


def parsed(model: SequenceModel | None, head: bytes) -> ParsedDump:
    """Return the contents of a model; None is one without labels."""
    found = ParsedDump()
    found.header = header_of(head)
    labels, attributes = _names(model)
    found.labels = {name: str(i) for i, name in enumerate(labels)}
    found.attributes = {name: str(i) for i, name in enumerate(attributes)}
    for kind, source, label, w in _features(model):
        (found.transitions if kind else found.state_features)[source, label] = float(f"{w:f}")
    return found


def dump_text(model: SequenceModel | None, head: bytes) -> Iterator[str]:
    """Give the lines of the dump, each with its end."""
    yield "FILEHEADER = {\n"
    for name, value in header_of(head).items():
        yield f"  {name}: {value}\n"
    for title, names in zip(("LABELS", "ATTRIBUTES"), _names(model), strict=True):
        yield f"}}\n\n{title} = {{\n"
        for i, name in enumerate(names):
            yield f"{i:7d}: {name}\n"
    yield "}\n\nTRANSITIONS = {\n"
    before = 1
    for kind, source, label, w in _features(model):
        if kind != before:
            before = kind
            yield "}\n\nSTATE_FEATURES = {\n"
        yield f"  ({kind}) {source} --> {label}: {w:f}\n"
    if before:
        yield "}\n\nSTATE_FEATURES = {\n"
    yield "}\n\n"


class CRFsuiteDumpParser:
    """A parser of dumps from elsewhere, fed line by line; `result` is a `ParsedDump`.

    Examples
    --------
    >>> parser = CRFsuiteDumpParser()
    >>> for line in ["LABELS = {", "      0: A", "}", "TRANSITIONS = {", "  (1) A --> A: 0.500000", "}"]:
    ...     parser.feed(line)
    >>> parser.result.labels, parser.result.transitions
    ({'A': '0'}, {('A', 'A'): 0.5})
    """

    def __init__(self) -> None:
        self.state: str | None = None
        self.result = ParsedDump()

    def feed(self, line: str) -> None:
        """Take one line."""
        line = line.lstrip(" ").rstrip("\r\n")
        if not line:
            return
        if line == "}":
            self.state = None
        elif line.endswith(" = {") and self.state is None:
            self.state = line[:-4]
        elif self.state in ("TRANSITIONS", "STATE_FEATURES"):
            self._feature(line)
        elif self.state in ("FILEHEADER", "LABELS", "ATTRIBUTES"):
            before, colon, after = line.partition(": ")
            if not colon:
                raise ValueError(f"{line!r} is not a line of a block {self.state}")
            if self.state == "FILEHEADER":
                self.result.header[before] = after
            else:
                (self.result.labels if self.state == "LABELS" else self.result.attributes)[after] = before
        else:
            raise ValueError(f"{line!r} lies outside the blocks of a dump")

    def _feature(self, line: str) -> None:
        found = _FEATURE.match(line)
        steps = self.state == "TRANSITIONS"
        sources = self.result.labels if steps else self.result.attributes
        if found:
            text = found[1]
            arrows = [*re.finditer(r"(?= --> )", text)]  # names may hold arrows: take the one that fits
            for arrow in arrows if len(arrows) <= _MOST_ARROWS else []:
                source, label = text[: arrow.start()], text[arrow.start() + 5 :]
                if source in sources and label in self.result.labels:
                    into = self.result.transitions if steps else self.result.state_features
                    into[source, label] = float(found[2])
                    return
        raise ValueError(f"{quoted(line, 200)} is not a feature of known names")
