"""A document: a text that is never changed, with offsets of tokens, sentences and labeled spans."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NoReturn

import numpy as np

from crfkit._safe.name_hints import missing
from crfkit._safe.printable import counted, cut, safe
from crfkit.arrays import Bools, Pointers, handed_over
from crfkit.tags.detection import follow_scheme
from crfkit.tags.schemes import OUTSIDE
from crfkit.tags.segments import runs_of, spans, to_tags
from crfkit.text.offsets import Unit, from_unit, to_unit
from crfkit.text.spans import Span, TextSpan

__all__ = ["Doc", "LabelCountError"]

_NOT_SPANS: Final = "expected (start, end, label), such as (0, 4, 'PER')"


class LabelCountError(ValueError):
    """A document has more or fewer labels than tokens."""


@dataclass(frozen=True, eq=False, repr=False)
class Doc:
    r"""A text with its labeled spans; offsets count code points unless `in_unit` says otherwise.

    Parameters
    ----------
    text : str
    tokens : array [n, 2], optional
        Where each token begins and ends, in order and apart; None: nobody has cut the text yet.
    sentences : array [sentences + 1], optional
        Pointers into the tokens; None: one sentence.
    spans : sequence of (start, end, label) or (start, end, label, probability)
        In any order. What lies over another span, cuts a token or lies outside of the text is kept as it is;
        `crfkit.text.align` counts it and decides.
    labels : sequence of str, optional
        One for each token; None where it is not known.
    id : str, optional
    meta : mapping
        Whatever else belongs to the text.
    known : sequence of (start, end), optional
        The characters that a person has looked at; None: all. What lies elsewhere is unknown, not outside of
        spans.
    unit : str
        What offsets count: "codepoint", "utf16" or "byte".

    Examples
    --------
    >>> doc = Doc("Ana lives in New York", spans=[(0, 3, "PER"), (13, 21, "LOC", 0.75)], id="7")
    >>> print(doc)
    [Ana PER] lives in [New York LOC 0.75]
    >>> doc.spans[1].text, doc.spans[1].probability, doc.text[13:21]
    ('New York', 0.75, 'New York')
    >>> tokens = Doc("Ana ran", [(0, 3), (4, 7)], spans=[(0, 3, "PER")])
    >>> tokens.words(), tokens.to_tags(), tokens.spans[0].tokens
    (['Ana', 'ran'], ['B-PER', 'O'], (0, 1))
    """

    text: str
    tokens: Pointers | None = None
    sentences: Pointers | None = None
    spans: tuple[TextSpan, ...] = ()
    labels: tuple[str | None, ...] | None = None
    id: str | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    known: tuple[tuple[int, int], ...] | None = None
    unit: Unit = "codepoint"

    def __init__(
        self,
        text: str,
        tokens: Any = None,
        sentences: Any = None,
        spans: Iterable[Sequence[Any]] = (),
        labels: Iterable[str | None] | None = None,
        id: str | None = None,
        meta: Mapping[str, Any] | None = None,
        known: Iterable[Sequence[int]] | None = None,
        unit: Unit = "codepoint",
    ) -> None:
        if not isinstance(text, str):
            raise TypeError(f"text is {text!r:.60}, of type {type(text).__name__}, expected a string")
        if not (id is None or isinstance(id, str)):
            raise TypeError(f"id is {id!r:.60}, of type {type(id).__name__}, expected a string or None")
        size = int(to_unit(text, len(text), unit))  # refuses other units
        offsets = None if tokens is None else _offsets(tokens, size)
        count = 0 if offsets is None else len(offsets)
        found = None if labels is None else tuple(labels)
        if found is not None and len(found) != count:
            raise LabelCountError(
                f"there are {counted(count, 'token')} and {counted(len(found), 'label')}, expected one label "
                "for each"
            )
        made = self.__dict__
        made.update(text=text, tokens=offsets, labels=found, id=id, meta=dict(meta or {}), unit=unit)
        made["sentences"] = None if sentences is None else _pointers(sentences, count)
        made["known"] = None if known is None else _ranges(known)
        made["spans"] = _spans(text, spans, offsets, unit)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Doc) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]  # meta is a mapping

    # ---- what it holds

    def words(self) -> list[str]:
        """Return the text of each token."""
        offsets = self._tokens("words() cuts the text into them")
        if self.unit != "codepoint":
            offsets = from_unit(self.text, offsets, self.unit)
        return [self.text[a:b] for a, b in offsets.tolist()]

    def sentence_words(self) -> list[list[str]]:
        """Return the text of each token, in a list for each sentence."""
        words = self.words()
        if self.sentences is None:
            return [words] if words else []
        return [words[a:b] for a, b in pairwise(self.sentences.tolist())]

    def to_tags(self, scheme: str = "BIO") -> list[str | None]:
        """Return the spans as tags of the tokens, in a scheme of `crfkit.tags.SCHEMES`.

        Tokens that are not wholly `known` have None for a tag. Spans must fit the tokens, and lie apart:
        `crfkit.text.align` makes them.
        """
        offsets = self._tokens("to_tags() gives a tag to each")
        begins, ends = (offsets[:, i].tolist() for i in (0, 1))
        placed = []
        for span in sorted(self.spans, key=lambda one: one[:2]):
            first, end = span.tokens
            if not first < end or (begins[first], ends[end - 1]) != (span.start, span.end):
                raise ValueError(f"{self.name}{span!r} does not fit the tokens: call crfkit.text.align first")
            if span.label == OUTSIDE:
                raise ValueError(
                    f"{self.name}{span!r} has the label {OUTSIDE!r}, which stands for what is in no span: "
                    "give it another one, or leave the span out"
                )
            placed.append((first, end, span.label))
        for before, after in pairwise(placed):
            if after[0] < before[1]:
                raise ValueError(
                    f"{self.name}the spans {before} and {after}, counted in tokens, lie over each other: "
                    "call crfkit.text.align first"
                )
        tags = to_tags(placed, len(offsets), scheme)
        if self.known is None:
            return tags
        looked_at = self.known_tokens(offsets).tolist()
        return [tag if looked else None for tag, looked in zip(tags, looked_at, strict=True)]

    # ---- others made of it

    def with_spans(self, spans: Iterable[Sequence[Any]]) -> Doc:
        """Return the document with other spans.

        Examples
        --------
        >>> print(Doc("Ana lives in New York").with_spans([(0, 3, "PER")]))
        [Ana PER] lives in New York
        """
        return self._with(spans=spans)

    def with_tags(self, tags: Sequence[str], scheme: str = "lenient") -> Doc:
        """Return the document with the spans that tags of its tokens spell, or with runs of equal labels.

        Parameters
        ----------
        tags : sequence of str
            One for each token; O lies in no span.
        scheme : str
            How tags such as B-PER are read, as in `crfkit.tags.spans`.

        Examples
        --------
        >>> doc = Doc("Ana Ruiz ran", [(0, 3), (4, 8), (9, 12)])
        >>> print(doc.with_tags(["B-PER", "I-PER", "O"]), doc.with_tags(["NAME", "NAME", "VERB"]))
        [Ana Ruiz PER] ran [Ana Ruiz NAME] [ran VERB]
        """
        offsets = self._tokens("tags are of tokens")
        if len(tags) != len(offsets):
            raise ValueError(
                f"{self.name}there are {counted(len(offsets), 'token')} and {counted(len(tags), 'tag')}"
            )
        found = spans(tags, scheme) if follow_scheme(tags) else runs_of(tags)
        places = offsets.tolist()
        return self._with(
            spans=[(places[a][0], places[b - 1][1], label) for a, b, label in found if label != OUTSIDE]
        )

    def in_unit(self, unit: Unit) -> Doc:
        r"""Return the document with offsets that count code points, UTF-16 units or bytes.

        Examples
        --------
        >>> doc = Doc("\U0001f680 Oslo", spans=[(2, 6, "LOC")])
        >>> doc.in_unit("utf16").spans[0], doc.in_unit("byte").in_unit("codepoint") == doc
        (Span(3, 7, 'LOC', text='Oslo'), True)
        """

        def moved(offsets: Any) -> Pointers:
            return to_unit(self.text, from_unit(self.text, offsets, self.unit), unit)

        if unit == self.unit:
            return self
        ends = moved([span[:2] for span in self.spans]).reshape(-1, 2).tolist()
        return self._with(
            tokens=None if self.tokens is None else moved(self.tokens),
            spans=[(a, b, *span[2:]) for (a, b), span in zip(ends, self.spans, strict=True)],
            known=None if self.known is None else moved(list(self.known)).reshape(-1, 2).tolist(),
            unit=unit,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the document as plain data, which `Doc.of_dict` reads; what is not known is left out.

        Examples
        --------
        >>> Doc("Ana ran", spans=[(0, 3, "PER")], id="7").to_dict()
        {'text': 'Ana ran', 'spans': [{'start': 0, 'end': 3, 'label': 'PER'}], 'id': '7'}
        """
        made: dict[str, Any] = {"text": self.text, "spans": [_span_as_dict(span) for span in self.spans]}
        if self.tokens is not None:
            made["tokens"] = self.tokens.tolist()
        if self.sentences is not None:
            made["sentences"] = self.sentences.tolist()
        if self.labels is not None:
            made["labels"] = list(self.labels)
        if self.id is not None:
            made["id"] = self.id
        if self.meta:
            made["meta"] = dict(self.meta)
        if self.known is not None:
            made["known"] = [list(one) for one in self.known]
        if self.unit != "codepoint":
            made["unit"] = self.unit
        return made

    @classmethod
    def of_dict(cls, given: Mapping[str, Any]) -> Doc:
        """Return the document that plain data describe, as `to_dict` writes them.

        Examples
        --------
        >>> Doc.of_dict({"text": "Ana ran", "spans": [{"start": 0, "end": 3, "label": "PER"}]}).spans
        (Span(0, 3, 'PER', text='Ana'),)
        """
        names = {one.name for one in fields(cls)}
        if odd := sorted(map(str, set(given) - names)):
            raise ValueError(
                f"a document has no field {odd[0]!r}, expected some of {', '.join(sorted(names))}"
            )
        if "text" not in given:
            raise ValueError("a document without text: it has no field 'text'")
        return cls(**given)

    def to_json(self, format: str = "jsonl") -> str:
        r"""Return the document as JSON, in a format of `crfkit.text.FORMATS`; offsets stay in their unit.

        Examples
        --------
        >>> doc = Doc("\U0001f680 Oslo", spans=[(2, 6, "LOC")])
        >>> doc.in_unit("utf16").to_json("doccano")
        '{"text": "🚀 Oslo", "label": [[3, 7, "LOC"]]}'
        """
        if format == "jsonl":
            return json.dumps(self.to_dict(), ensure_ascii=False)
        from crfkit.text.formats.writing import as_json

        return as_json(self, format)

    # ---- printed

    if not TYPE_CHECKING:  # which would take every name for an attribute

        def __getattr__(self, name: str) -> NoReturn:
            raise missing("Doc", name)

    def __str__(self) -> str:
        """Return the text with its spans in brackets; of spans that lie over each other, the first."""
        ends = [] if not self.spans else [span[:2] for span in self.spans]
        places = from_unit(self.text, ends, self.unit).reshape(-1, 2).tolist()
        parts, at = [], 0
        for (start, end), span in sorted(zip(places, self.spans, strict=True), key=lambda one: one[0]):
            if at <= start < end <= len(self.text):
                probability = "" if span.probability is None else f" {span.probability:.2f}"
                parts += [self.text[at:start], f"[{self.text[start:end]} {span.label}{probability}]"]
                at = end
        return safe("".join([*parts, self.text[at:]]))

    def _repr_html_(self) -> str:
        from crfkit.view import cell, entities

        one = self.in_unit("codepoint")
        return cell(entities(one.text, one.spans, title=one.id or ""), plain=str(self))

    def __repr__(self) -> str:
        tokens = "" if self.tokens is None else f", {counted(len(self.tokens), 'token')}"
        return f"Doc({cut(self.text, 40)!r}{tokens}, {counted(len(self.spans), 'span')})"

    # ---- within

    def _with(self, **changed: Any) -> Doc:
        return replace(self, **changed)

    @property
    def name(self) -> str:
        """What messages about the document begin with: its id, where it has one."""
        return "" if self.id is None else f"document {self.id!r:.40}: "

    def _tokens(self, why: str) -> Pointers:
        if self.tokens is None:
            raise ValueError(
                f"{self.name}the document has no tokens, and {why}: call crfkit.text.align first"
            )
        return self.tokens

    def known_tokens(self, offsets: Pointers) -> Bools:
        """Return whether all characters of each token are known, for tokens at these offsets."""
        if self.known is None:
            return np.ones(len(offsets), np.bool_)
        ranges = np.array(self.known, np.int64).reshape(-1, 2)
        place = np.searchsorted(ranges[:, 0], offsets[:, 0], "right")  # one past the range that could hold it
        looked: Bools = np.append(-1, ranges[:, 1])[place] >= offsets[:, 1]
        return looked


def _span_as_dict(span: Span) -> dict[str, Any]:
    made: dict[str, Any] = {"start": span.start, "end": span.end, "label": span.label}
    return made if span.probability is None else {**made, "probability": span.probability}


def _offsets(given: Any, size: int) -> Pointers:
    """Check where tokens are."""
    offsets: Pointers = np.array(given, np.int64).reshape(-1, 2) if len(given) == 0 else np.array(given)
    if offsets.ndim != 2 or offsets.shape[1] != 2 or offsets.dtype.kind not in "iu":
        raise ValueError(
            f"tokens is {given!r:.60}, expected whole numbers [tokens, 2]: where each begins and ends"
        )
    offsets = np.array(offsets, np.int64, order="C")
    flat = offsets.ravel()
    if len(flat) and (flat[0] < 0 or flat[-1] > size or (flat[1:] < flat[:-1]).any()):
        raise ValueError(f"tokens is {given!r:.60}, expected offsets in order, within a text of {size:,}")
    if (offsets[:, 0] == offsets[:, 1]).any():
        empty = int(np.argmax(offsets[:, 0] == offsets[:, 1]))
        raise ValueError(f"token {empty} is empty: it begins and ends at {int(offsets[empty, 0])}")
    return handed_over(offsets)


def _pointers(given: Any, tokens: int) -> Pointers:
    """Check where sentences are."""
    made: Pointers = np.array(given, np.int64)
    if made.ndim != 1 or not len(made) or made[0] != 0 or made[-1] != tokens or (np.diff(made) < 0).any():
        raise ValueError(
            f"sentences is {given!r:.60}, expected pointers into the tokens: from 0 to {tokens}, in order"
        )
    return handed_over(made)


def _ranges(given: Iterable[Sequence[int]]) -> tuple[tuple[int, int], ...]:
    """Check ranges of characters, and join those that touch."""
    made: list[tuple[int, int]] = []
    for start, end in sorted((int(a), int(b)) for a, b in given):
        if made and start <= made[-1][1]:
            made[-1] = (made[-1][0], max(end, made[-1][1]))
        elif start < end:
            made.append((start, end))
    return tuple(made)


def _spans(
    text: str, given: Iterable[Sequence[Any]], offsets: Pointers | None, unit: Unit
) -> tuple[TextSpan, ...]:
    """Return spans with their text and tokens."""
    listed = [_checked(one) for one in given]
    if not listed:
        return ()
    ends = np.array([one[:2] for one in listed], np.int64)  # [spans, 2]
    within = np.clip(from_unit(text, ends, unit), 0, len(text)).tolist()
    if offsets is None:
        touched: list[Any] = [None] * len(listed)
    else:
        first = np.searchsorted(offsets[:, 1], ends[:, 0], "right")
        last = np.maximum(np.searchsorted(offsets[:, 0], ends[:, 1], "left"), first)
        touched = [*zip(first.tolist(), last.tolist(), strict=True)]
    return tuple(
        TextSpan.of(*one, text, (a, b), tokens)
        for one, (a, b), tokens in zip(listed, within, touched, strict=True)
    )


def _checked(one: Any) -> tuple[int, int, str, float | None]:
    if isinstance(one, Mapping):
        odd = sorted(map(str, set(one) - set(Span._fields)))
        if odd or not {"start", "end", "label"} <= set(one):
            raise ValueError(f"the span {one!r:.80} does not have the fields start, end and label")
        one = (one["start"], one["end"], one["label"], one.get("probability"))
    if isinstance(one, str) or not isinstance(one, Sequence) or len(one) not in (3, 4):
        raise TypeError(f"{one!r:.60} is not a span; {_NOT_SPANS}")
    start, end, label, probability = (*one, None)[:4]
    if not all(isinstance(at, int | np.integer) and not isinstance(at, bool) for at in (start, end)):
        raise TypeError(f"{one!r:.60} is not a span: its ends are no whole numbers; {_NOT_SPANS}")
    if not isinstance(label, str) or not label:
        raise TypeError(f"{one!r:.60} has the label {label!r:.40}; {_NOT_SPANS}")
    return int(start), int(end), label, None if probability is None else float(probability)
