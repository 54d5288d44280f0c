"""spaCy's DocBin (``.spacy``): documents with tokens and entities. Needs spaCy.

Read are the entities of a document, and the spans of its groups where it has none. The ``scores`` of a group
are probabilities, also where its spans are the entities. Tokens that are white space are left out. A document
whose entities nobody has set is not known; tokens without a mark are unknown. Labels are the fine tags of
tokens, else the coarse ones. spaCy's tokens have one blank between them or none: what else stands there
becomes a token when it is written. Spans that lie over each other or have probabilities are written as the
group ``sc``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby, pairwise
from typing import Any, Final

from crfkit.data.source import Input
from crfkit.text.doc import Doc
from crfkit.text.formats.record import Options, Remarks, TextFormat, needs_tokens

__all__ = ["FORMAT", "of_spacy"]

_GROUP: Final = "sc"  #: spaCy's own name of spans that may lie over each other
_MISSING: Final = 0  #: of `Token.ent_iob`


def _spacy() -> tuple[Any, Any]:
    """Return spaCy's tokens and vocab."""
    try:
        import spacy.tokens
        import spacy.vocab
    except ImportError as error:
        raise ImportError("the format spacy needs spaCy: pip install 'crfkit[spacy]'") from error
    return spacy.tokens, spacy.vocab


def _read(source: Input, options: Options, remarks: Remarks) -> Iterator[Doc]:
    data = source.whole()
    tokens, vocab = _spacy()
    try:
        found = tokens.DocBin().from_bytes(data)
        docs = [*found.get_docs(vocab.Vocab())]
    except Exception as error:  # zlib's, msgpack's and its own
        told = f"{type(error).__name__}: {error}"
        raise source.error(
            None, f"is not a DocBin of spaCy ({told:.100}); give what DocBin.to_disk wrote"
        ) from None
    if not docs:
        raise source.error(None, "holds no document; give a file that has some")
    for number, doc in enumerate(docs, 1):
        yield of_spacy(doc, remarks, f"{source.name}, document {number}")


def of_spacy(given: Any, remarks: Remarks, place: str) -> Doc:
    """Return a document of spaCy as one of crfkit."""
    kept = [one for one in given if not one.text.isspace()]
    groups = [_group(group) for _, group in sorted(given.spans.items()) if len(group)]
    entities = sorted((one.start_char, one.end_char, one.label_) for one in given.ents)
    spans: list[Any] = [one for group in groups for one in group]
    if entities:
        same = [group for group in groups if sorted(one[:3] for one in group) == entities]
        spans = same[0] if same else [*entities]
        if beside := len(groups) - len(same):
            remarks.add("group of spans beside the entities", place, beside)
    if unnamed := sum(not one[2] for one in spans):
        remarks.add("span without a label", place, unnamed)
    tags = [one.tag_ or one.pos_ or None for one in kept]
    marked = [one.ent_iob != _MISSING for one in kept]
    looked = bool(spans and not entities and not any(marked)) or all(marked)
    begins = (
        [i for i, one in enumerate(kept) if one.is_sent_start] if given.has_annotation("SENT_START") else []
    )
    return Doc(
        given.text,
        [(one.idx, one.idx + len(one)) for one in kept],
        sorted({0, *begins, len(kept)}) if len(begins) > 1 else None,
        [one for one in spans if one[2]],
        tags if any(tags) else None,
        given.user_data.get("id") if isinstance(given.user_data.get("id"), str) else None,
        known=None if looked else _runs(kept, marked),
    )


def _group(given: Any) -> list[tuple[int, int, str, float | None]]:
    """Return the spans of a group of spaCy, with their scores where it has some."""
    scores = given.attrs.get("scores")
    known = [None] * len(given) if scores is None else [float(one) for one in scores]
    return [
        (one.start_char, one.end_char, one.label_, score) for one, score in zip(given, known, strict=True)
    ]


def _runs(tokens: list[Any], marked: list[bool]) -> list[tuple[int, int]]:
    found = []
    for is_marked, run in groupby(zip(tokens, marked, strict=True), key=lambda one: one[1]):
        if is_marked:
            each = [one for one, _ in run]
            found.append((each[0].idx, each[-1].idx + len(each[-1])))
    return found


def _write(docs: Iterable[Doc], options: Options, remarks: Remarks) -> Iterator[bytes]:
    tokens, vocab = _spacy()
    shared = vocab.Vocab()
    made = tokens.DocBin(
        attrs=["ORTH", "SPACY", "TAG", "SENT_START", "ENT_IOB", "ENT_TYPE"], store_user_data=True
    )
    for number, doc in enumerate(docs, 1):
        made.add(_to_spacy(tokens, shared, doc, number, remarks))
    yield made.to_bytes()


def _to_spacy(kinds: Any, vocab: Any, doc: Doc, number: int, remarks: Remarks) -> Any:
    offsets = needs_tokens(doc, number, "spacy").tolist()
    place = f"document {number if doc.id is None else doc.id}"
    ends = sorted(span[:2] for span in doc.spans)
    over = any(later[0] < earlier[1] for earlier, later in pairwise(ends))
    spelled = _without_spans(doc) if over else doc.to_tags()
    words: list[str] = []
    spaces: list[bool] = []
    tags: list[str] = []
    marks: list[str | None] = []
    starts: list[bool] = []
    begins = set() if doc.sentences is None else set(doc.sentences.tolist())
    where: list[int] = []  # of each token, its place among spaCy's
    at = 0
    for i, (start, end) in enumerate([*offsets, (len(doc.text), None)]):
        gap = doc.text[at:start]
        if gap.startswith(" ") and words:
            spaces[-1], gap = True, gap[1:]
        if gap:
            if gap.strip():
                remarks.add("text outside of tokens", place)
            inside = i < len(offsets) and str(spelled[i])[:2] == "I-"
            words, spaces, tags, starts = [*words, gap], [*spaces, False], [*tags, ""], [*starts, False]
            marks.append(spelled[i] if inside else "" if over else "O")
        if end is None:
            break
        where.append(len(words))
        words, spaces = [*words, doc.text[start:end]], [*spaces, False]
        tags.append((doc.labels[i] if doc.labels is not None else None) or "")
        marks.append("" if spelled[i] is None else spelled[i])
        starts.append(i in begins)
        at = end
    sentences = starts if doc.sentences is not None else None
    made = kinds.Doc(vocab, words, spaces, tags=tags, ents=marks, sent_starts=sentences)
    if over and doc.known is not None and "O" not in spelled:
        remarks.add("document with text that nobody looked at", place)
    sure = bool(doc.spans) and all(span.probability is not None for span in doc.spans)
    if over or sure:
        made.spans[_GROUP] = [
            kinds.Span(made, where[span.tokens[0]], where[span.tokens[1] - 1] + 1, label=span.label)
            for span in doc.spans
        ]
        if sure:
            made.spans[_GROUP].attrs["scores"] = [span.probability for span in doc.spans]
    if doc.id is not None:
        made.user_data["id"] = doc.id
    return made


def _without_spans(doc: Doc) -> list[str | None]:
    """Return O for tokens that are known, where some are not; refuse spans that do not fit the tokens."""
    for span in doc.spans:
        doc.with_spans([span]).to_tags()
    return [None] * len(doc.words()) if doc.known is None else doc.with_spans([]).to_tags()


FORMAT = TextFormat(
    "spacy",
    "spaCy's DocBin, a binary file; needs spaCy",
    "",
    _read,
    _write,
    keeps=frozenset({"probabilities", "overlaps", "tokens", "sentences", "labels", "id", "known", "unseen"}),
    endings=(".spacy",),
    magic=b"x",
    needs="spacy",
)
