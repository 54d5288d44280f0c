"""Spans of characters made to fit tokens; what does not fit is counted and shown, never dropped in silence.

A span fits where it begins and ends with tokens, white space at its ends aside. One that cuts a token is

===============  ===================================================================================
`"expand"`       widened to whole tokens
`"contract"`     narrowed to the tokens that lie in it; where there are none, its tokens are unknown
`"unknown"`      left out, and its tokens are unknown
`"strict"`       refused, as is anything else that does not fit
===============  ===================================================================================

Where spans lie over each other, one stays. Tokens of the others, like those of spans that are left out, are
unknown: training sums over all that they could be, where O would teach that nothing is there.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np

from crfkit._safe.printable import counted, cut
from crfkit.arrays import Bools, Pointers
from crfkit.checks import check_choice
from crfkit.text.doc import Doc
from crfkit.text.sentences import Sentences
from crfkit.text.spans import Span
from crfkit.text.tokenizers import Given, Tokenizer, tokenizer_of

__all__ = ["ALIGNMENTS", "Aligner", "Alignment", "How", "Overlap", "align"]

How: TypeAlias = Literal["expand", "contract", "unknown", "strict"]
Overlap: TypeAlias = Literal["longest", "first"]
ALIGNMENTS: Final = ("expand", "contract", "unknown", "strict")
OVERLAPS: Final = ("longest", "first")
_SHOWN: Final = 5  #: examples of each kind


@dataclass(frozen=True)
class Alignment:
    """How spans of characters became spans of tokens: counts, which add up to `spans`, and examples.

    Examples
    --------
    >>> print(align([Doc("in New York.", spans=[(3, 6, "LOC"), (7, 9, "LOC")])])[1])
    1 document, 4 tokens, 2 spans: 1 exact, 1 expanded.
      expanded: 'Yo' to 'York' (LOC)
    """

    documents: int = 0
    tokens: int = 0
    spans: int = 0
    exact: int = 0  #: begin and end with tokens
    trimmed: int = 0  #: so once white space at their ends is left out
    expanded: int = 0  #: widened to whole tokens
    contracted: int = 0  #: narrowed to whole tokens
    unknown: int = 0  #: cut a token, and were left out
    overlapping: int = 0  #: lay over one that stayed, and were left out
    blank: int = 0  #: held nothing that is in a token, and were left out
    out_of_range: int = 0  #: not within their texts, and were left out
    joined: int = 0  #: ends of sentences within a span, which are none then
    examples: tuple[tuple[str, str], ...] = ()  #: (kind, what and where), a few of each kind

    @property
    def changed(self) -> int:
        """How many spans are not as they were given, white space at their ends aside."""
        return self.spans - self.exact - self.trimmed

    def __add__(self, other: Alignment) -> Alignment:
        """Return the counts of both, with the first examples of each kind."""
        names = [one.name for one in fields(self) if one.name != "examples"]
        shown: dict[str, list[tuple[str, str]]] = {kind: [] for kind in _KINDS}
        for one in (*self.examples, *other.examples):
            shown.setdefault(one[0], []).append(one)
        examples = tuple(one for several in shown.values() for one in several[:_SHOWN])
        return Alignment(
            **{name: getattr(self, name) + getattr(other, name) for name in names}, examples=examples
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the counts and examples as plain data."""
        return {**vars(self), "examples": [list(one) for one in self.examples]}

    @classmethod
    def of_dict(cls, plain: Mapping[str, Any]) -> Alignment:
        """Return what `to_dict` wrote; raise a ValueError on anything else."""
        names = {one.name for one in fields(cls)}
        counts = {name: value for name, value in dict(plain).items() if name != "examples"}
        shown = plain.get("examples")
        if not set(counts) <= names or any(type(n) is not int or n < 0 for n in counts.values()):
            raise ValueError("the report on the alignment of spans is damaged")
        if not isinstance(shown, list) or not all(
            isinstance(one, list) and len(one) == 2 and all(isinstance(part, str) for part in one)
            for one in shown
        ):
            raise ValueError("the report on the alignment of spans is damaged: its examples")
        return cls(**counts, examples=tuple((kind, what) for kind, what in shown))

    def to_frame(self) -> Any:
        """Return the counts as a data frame of pandas."""
        from crfkit._safe.frames import frame_of

        counts = {name: (n,) for name, n in vars(self).items() if name != "examples"}
        return frame_of(counts, ["number"], "kind")

    def _repr_html_(self) -> str:
        from crfkit.view import alignment, cell

        kinds = {kind: getattr(self, kind) for kind in _KINDS if getattr(self, kind)}
        parts = ", ".join([counted(self.documents, "document"), counted(self.tokens, "token")])
        return cell(alignment(kinds, self.examples, note=parts), plain=str(self))

    def __str__(self) -> str:
        kinds = ", ".join(
            f"{getattr(self, kind):,} {kind.replace('_', ' ')}" for kind in _KINDS if getattr(self, kind)
        )
        parts = [counted(self.documents, "document"), counted(self.tokens, "token")]
        told = f"{', '.join(parts)}, {counted(self.spans, 'span')}{': ' if kinds else ''}{kinds}."
        if self.joined:
            told += f" {counted(self.joined, 'sentence')} joined, as a span crosses the end."
        return "\n".join([told, *(f"  {kind.replace('_', ' ')}: {what}" for kind, what in self.examples)])


_KINDS: Final = (
    "exact",
    "trimmed",
    "expanded",
    "contracted",
    "unknown",
    "overlapping",
    "blank",
    "out_of_range",
)


def align(
    docs: Iterable[Doc],
    tokenizer: Tokenizer | str = "words",
    *,
    alignment: How = "expand",
    overlap: Overlap = "longest",
    sentences: Sentences | str = "none",
) -> tuple[list[Doc], Alignment]:
    """Return documents with tokens, their spans fitted to these, and a report of what was changed.

    Parameters
    ----------
    docs : iterable of Doc
        In any unit.
    tokenizer : Tokenizer or its name
        "given": the documents' own tokens.
    alignment : {"expand", "contract", "unknown", "strict"}
        What becomes of spans that cut a token; the table is in `crfkit.text.alignment`.
    overlap : {"longest", "first"}
        Which of several spans over each other stays: the longest one, or the one that begins first.
    sentences : Sentences or its name
        Where sentences begin; "none" leaves those that documents have.

    Returns
    -------
    docs : list of Doc
        In code points.
    alignment : Alignment

    Examples
    --------
    >>> docs, report = align([Doc("Ana Ruiz ran", spans=[(0, 8, "PER"), (0, 3, "NAME")])])
    >>> docs[0].to_tags(), report.overlapping
    (['B-PER', 'I-PER', 'O'], 1)
    """
    aligner = Aligner(tokenizer, alignment=alignment, overlap=overlap, sentences=sentences)
    return [aligner(doc) for doc in docs], aligner.report


class _Placed(NamedTuple):
    """A span on its way to tokens."""

    span: Span
    first: int  #: token
    last: int  #: one past
    kind: str

    @property
    def length(self) -> int:
        return self.span.end - self.span.start


@dataclass
class Aligner:
    """`align` of one document after the other; `report` says what has been so far."""

    tokenizer: Tokenizer | str = "words"
    alignment: How = "expand"
    overlap: Overlap = "longest"
    sentences: Sentences | str = "none"
    _counts: Counter[str] = field(default_factory=Counter, init=False)
    _examples: dict[str, list[str]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.tokenizer = tokenizer_of(self.tokenizer)
        self.sentences = Sentences.of(self.sentences)
        check_choice("alignment", self.alignment, ALIGNMENTS)
        check_choice("overlap", self.overlap, OVERLAPS)

    @property
    def report(self) -> Alignment:
        """What became of all spans."""
        shown = tuple((kind, one) for kind in _KINDS for one in self._examples.get(kind, ()))
        return Alignment(**self._counts, examples=shown)

    def __call__(self, doc: Doc) -> Doc:
        """Return a document with tokens, whose spans fit them."""
        if not isinstance(doc, Doc):
            raise TypeError(f"expected documents (crfkit.Doc), not {doc!r:.60} of type {type(doc).__name__}")
        doc = doc.in_unit("codepoint")
        offsets = self._tokens(doc)
        known = doc.known_tokens(offsets)
        kept: list[_Placed] = []  # in order
        for placed in sorted(self._placed(doc, offsets, known), key=self._order):
            at = bisect_left(kept, placed.last, key=lambda one: one.first)
            if at and placed.first < kept[at - 1].last:
                what = f"{_told(doc, placed.span)} over {_told(doc, kept[at - 1].span)}"
                self._count(doc, "overlapping", what)
                known[placed.first : placed.last] = False
            else:
                kept.insert(at, placed)
        for one in kept:
            known[one.first : one.last] = True
            self._count(doc, one.kind, _told(doc, one.span, _text(doc, offsets, one)))
        self._counts.update(documents=1, tokens=len(offsets), spans=len(doc.spans))
        pointers = self._sentences(doc, offsets, kept)
        spans = [(int(offsets[one.first, 0]), int(offsets[one.last - 1, 1]), *one.span[2:]) for one in kept]
        return Doc(doc.text, offsets, pointers, spans, doc.labels, doc.id, doc.meta, _ranges(offsets, known))

    def _tokens(self, doc: Doc) -> Pointers:
        if isinstance(self.tokenizer, Given):
            if doc.tokens is None:
                raise ValueError(f"{doc.name}the tokenizer is Given(), but the document has no tokens")
            return doc.tokens
        assert isinstance(self.tokenizer, Tokenizer)
        return self.tokenizer(doc.text)

    def _order(self, placed: _Placed) -> tuple[int, int]:
        longest, start = -placed.length, placed.span.start
        return (longest, start) if self.overlap == "longest" else (start, longest)

    def _placed(self, doc: Doc, offsets: Pointers, known: Bools) -> list[_Placed]:
        """Return where spans lie that can stay; count the others, whose tokens are unknown."""
        begins, ends, size = offsets[:, 0], offsets[:, 1], len(doc.text)
        found = []
        for span in doc.spans:
            first, last = (
                int(np.searchsorted(ends, span.start, "right")),
                int(np.searchsorted(begins, span.end, "left")),
            )
            if not 0 <= span.start <= span.end <= size:
                self._count(doc, "out_of_range", f"({span.start}, {span.end}, {span.label!r:.40})")
                known[first:last] = False
            elif first >= last or span.start == span.end:
                self._count(doc, "blank", _told(doc, span))
            elif span.start <= begins[first] and ends[last - 1] <= span.end:
                exact = (begins[first], ends[last - 1]) == (span.start, span.end)
                found.append(_Placed(span, first, last, "exact" if exact else "trimmed"))
            elif (narrow := self._whole(span, offsets, first, last)) is None:
                self._count(doc, "unknown", _told(doc, span))
                known[first:last] = False
            else:
                kind = "contracted" if self.alignment == "contract" else "expanded"
                found.append(_Placed(span, *narrow, kind))
                known[first:last] = False  # but for those that stay in it
        return found

    def _whole(self, span: Span, offsets: Pointers, first: int, last: int) -> tuple[int, int] | None:
        """Return the tokens of a span that cuts some; None where it has none."""
        if self.alignment in ("expand", "strict"):
            return first, last
        first += int(offsets[first, 0] < span.start)
        last -= int(offsets[last - 1, 1] > span.end)
        return (first, last) if first < last and self.alignment == "contract" else None

    def _count(self, doc: Doc, kind: str, what: str) -> None:
        if self.alignment == "strict" and kind not in ("exact", "trimmed"):
            raise ValueError(f"{doc.name}{_REFUSED[kind]}: {what}; correct it, or choose another alignment")
        self._counts[kind] += 1
        shown = self._examples.setdefault(kind, [])
        if kind not in ("exact", "trimmed") and len(shown) < _SHOWN:
            shown.append(what if doc.id is None else f"{what}, document {doc.id!r:.40}")

    def _sentences(self, doc: Doc, offsets: Pointers, kept: list[_Placed]) -> Pointers | None:
        """Return pointers to sentences, of which none ends within a span."""
        assert isinstance(self.sentences, Sentences)
        if self.sentences.rule == "none":
            same = doc.tokens is not None and np.array_equal(doc.tokens, offsets)
            found = doc.sentences if same else None
        else:
            found = self.sentences.pointers(doc.text, offsets)
        if found is None:
            return None
        inside = np.zeros(len(offsets) + 1, np.bool_)
        for one in kept:
            inside[one.first + 1 : one.last] = True
        self._counts["joined"] += int(inside[found].sum())
        return found[~inside[found]]


_REFUSED: Final = {
    "expanded": "a span cuts a token",
    "overlapping": "spans lie over each other",
    "blank": "a span holds no token",
    "out_of_range": "a span does not lie within the text",
}


def _text(doc: Doc, offsets: Pointers, one: _Placed) -> str:
    """Return what a span became, where it changed."""
    if one.kind in ("exact", "trimmed"):
        return ""
    return f" to {cut(doc.text[offsets[one.first, 0] : offsets[one.last - 1, 1]], 40)!r}"


def _told(doc: Doc, span: Span, changed: str = "") -> str:
    text = cut(doc.text[max(span.start, 0) : max(span.end, 0)], 40)
    return f"{text!r}{changed} ({cut(span.label, 40)})"


def _ranges(offsets: Pointers, known: Bools) -> list[tuple[int, int]] | None:
    """Return the characters of tokens that are known; None where all are."""
    if known.all():
        return None
    edges = np.flatnonzero(np.diff(np.concatenate([[False], known, [False]]).astype(np.int8)))
    pairs = edges.reshape(-1, 2).tolist()
    return [(int(offsets[a, 0]), int(offsets[b - 1, 1])) for a, b in pairs]
