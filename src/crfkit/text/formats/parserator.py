"""parserator's XML (usaddress, probablepeople): an element for a document, and one for each of its tokens.

``<Addresses><Address><Number>12</Number> <Street>Main</Street> <Street>St</Street></Address></Addresses>``:
the names of the outer elements may be any, those of the tokens are their labels. White space at the ends of a
token lies between tokens. A run of tokens with one label is a span; ``Null`` is none. Written are tokens with
the labels of the spans that they lie in, or with their own where there are no spans. XML cannot hold most
control characters: documents that have some are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Any, Final
from xml.parsers import expat
from xml.sax.saxutils import escape

from crfkit.data.formats.record import Sample
from crfkit.data.source import Input
from crfkit.text.doc import Doc
from crfkit.text.formats.record import Options, Remarks, TextFormat, encoded, needs_tokens

__all__ = ["FORMAT"]

_NULL: Final = "Null"
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_HEAD = re.compile(
    r"\s*(?:<\?xml[^>]*>|<!--.*?-->|\s)*<[^\W\d][\w.-]*>\s*<[^\W\d][\w.-]*>\s*<[^\W\d]", re.DOTALL
)
_NAME = re.compile(r"[^\W\d][\w.-]*")
_ROOT, _DOCUMENT, _TOKEN = 1, 2, 3  # how deep they are


@dataclass
class _State:
    """What has been read of the document at hand, and those that are ready."""

    source: Input
    remarks: Remarks
    parser: Any = field(default_factory=lambda: expat.ParserCreate("UTF-8"))
    depth: int = 0
    text: list[str] = field(default_factory=list)
    size: int = 0
    token: list[str] = field(default_factory=list)
    tokens: list[tuple[int, int]] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    ready: list[Doc] = field(default_factory=list)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        if self.depth == _DOCUMENT:
            self.text, self.tokens, self.labels, self.size = [], [], [], 0
        elif self.depth > _TOKEN:
            raise ValueError(f"has the element {name!r:.40} within a token, where text was expected")

    def characters(self, text: str) -> None:
        if self.depth == _TOKEN:
            self.token.append(text)
        elif self.depth == _DOCUMENT:
            self.text.append(text)
            self.size += len(text)
        elif text.strip():
            raise ValueError(f"has the text {text.strip()!r:.40} outside of documents")

    def end(self, name: str) -> None:
        if self.depth == _TOKEN:
            whole = "".join(self.token)
            self.token = []
            begin = self.size + len(whole) - len(whole.lstrip())
            if word := whole.strip():
                self.tokens.append((begin, begin + len(word)))
                self.labels.append("O" if name == _NULL else name)
            else:
                place = f"{self.source.name}, line {self.parser.CurrentLineNumber}"
                self.remarks.add("label without a token", place)
            self.text.append(whole)
            self.size += len(whole)
        elif self.depth == _DOCUMENT:
            self.ready.append(_with_runs(Doc("".join(self.text), self.tokens), self.labels))
        self.depth -= 1


def _with_runs(doc: Doc, labels: list[str]) -> Doc:
    """Return a document with a span for each run of tokens with one label."""
    assert doc.tokens is not None
    spans: list[tuple[int, int, str]] = []
    before = ""
    for (a, b), label in zip(doc.tokens.tolist(), labels, strict=True):
        if label == before and label != "O":
            spans[-1] = (spans[-1][0], b, label)
        elif label != "O":
            spans.append((a, b, label))
        before = label
    return doc.with_spans(spans)


def _refuse_types(*given: Any) -> None:
    raise ValueError("declares types or entities, which are not read; remove its DOCTYPE")


def _read(source: Input, options: Options, remarks: Remarks) -> Iterator[Doc]:
    state = _State(source, remarks)
    parser = state.parser
    parser.StartElementHandler, parser.EndElementHandler = state.start, state.end
    parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = state.characters, _refuse_types
    parser.buffer_text = True
    found = False
    for data in chain((block.encode() for _, block in source.blocks()), [b""]):
        try:
            parser.Parse(data, not data)
        except expat.ExpatError as error:
            told = expat.ErrorString(error.code)
            raise source.error(error.lineno, f"is not XML ({told} at letter {error.offset + 1})") from None
        except ValueError as error:
            raise source.error(parser.CurrentLineNumber, str(error)) from None
        found = found or bool(state.ready)
        yield from state.ready
        state.ready.clear()
    if not found:
        raise source.error(None, "holds no document; give a file that has some")


def _write(docs: Iterable[Doc], options: Options, remarks: Remarks) -> Iterator[bytes]:
    yield b"<Collection>\n"
    for number, doc in enumerate(docs, 1):
        yield encoded(f"  <String>{_tokens(doc, number, remarks)}</String>\n")
    yield b"</Collection>\n"


def _tokens(doc: Doc, number: int, remarks: Remarks) -> str:
    """Return the elements of the tokens of a document, and what stands between them."""
    name = f"document {number if doc.id is None else doc.id}"
    offsets = needs_tokens(doc, number, "parserator").tolist()
    labels: list[str | None] = doc.to_tags("IO") if doc.spans or doc.labels is None else list(doc.labels)
    for one, following in pairwise(sorted(doc.spans)):
        if one.label == following.label and one.tokens[1] == following.tokens[0]:
            remarks.add("end of a span before one of the same label", name)
    made, at = [], 0
    for (start, end), label in zip(offsets, labels, strict=True):
        label = _NULL if label is None or label == "O" else label.removeprefix("I-" if doc.spans else "")
        if not _NAME.fullmatch(label):
            raise ValueError(f"{name}: the label {label!r:.40} cannot name an element of XML")
        made += [_text(doc.text[at:start], name), f"<{label}>{_text(doc.text[start:end], name)}</{label}>"]
        at = end
    return "".join([*made, _text(doc.text[at:], name)])


def _text(given: str, name: str) -> str:
    if found := _NOT_XML.search(given):
        raise ValueError(f"{name} holds U+{ord(found[0]):04X}, which XML cannot hold; write JSON")
    return escape(given, {"\r": "&#13;"})


def _guess(sample: Sample) -> str:
    fits = _HEAD.match(sample.data.decode(errors="replace").removeprefix("\ufeff"))
    return "it is XML: a collection of documents of tokens" if fits else ""


FORMAT = TextFormat(
    "parserator",
    "parserator's XML: tokens with their labels",
    "<AddressCollection>\n  <AddressString><AddressNumber>20</AddressNumber> <StreetName>Benton</StreetName> "
    "<StreetNamePostType>Pl,</StreetNamePostType> <PlaceName>St</PlaceName> <PlaceName>Louis</PlaceName>"
    "</AddressString>\n</AddressCollection>\n",
    _read,
    _write,
    keeps=frozenset({"tokens"}),
    options=frozenset({"encoding"}),
    guess=_guess,
    endings=(".xml",),
    labels_for_spans=True,
)
