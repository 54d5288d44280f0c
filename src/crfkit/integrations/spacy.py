"""A component for spaCy: ``nlp.add_pipe("crfkit", config={"model": "names.crf"})``.

A model with a tokenizer tags ``doc.text`` and answers as ``model(doc.text)`` does: with its own tokens and
sentences. Spans that cut a token of spaCy are expanded to it. A model that was trained on tokens, or with
`crfkit.text.Given`, labels spaCy's tokens, white space left out, sentence by sentence where these are known.
Set are ``doc.ents`` and the group ``doc.spans["crfkit"]``, whose ``attrs["scores"]`` are the probabilities of
exactly the spans that the model found. ``nlp.to_disk`` writes the model beside the other parts. spaCy finds
the component by an entry point, without an import, where crfkit is installed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

try:
    from spacy.language import Language
    from spacy.tokens import Doc, Span
    from spacy.util import filter_spans
except ImportError as error:
    raise ImportError("the component crfkit needs spaCy: pip install 'crfkit[spacy]'") from error

from crfkit.checks import check_choice
from crfkit.models import SequenceModel, Tagger
from crfkit.models.files import load
from crfkit.tags.detection import are_tags
from crfkit.text.doc import Doc as TextDoc

__all__ = ["Component", "make"]

_FILE = "model.crf"
_SETS = ("ents", "spans", "both")


class _Part(NamedTuple):
    """A sentence of a document: the places of its tokens that are not white space."""

    doc: int
    places: list[int]


class Component:
    """Finds the spans of a model in documents of spaCy.

    Parameters
    ----------
    model : str, path, SequenceModel or None
        None: what `from_disk` or `from_bytes` will bring.
    name : str
        That of the component.
    sets : {"both", "ents", "spans"}
        Whether ``doc.ents``, a group of ``doc.spans``, or both are set.
    spans_key : str
        The name of the group.

    Notes
    -----
    A path that is not there is an error when the first document comes, not before: `spacy.load` makes the
    component with the path that it once had, and then brings the model.
    """

    def __init__(
        self,
        model: str | os.PathLike[str] | SequenceModel | None,
        name: str = "crfkit",
        sets: str = "both",
        spans_key: str = "crfkit",
    ) -> None:
        check_choice("sets", sets, _SETS)
        self.name, self.sets, self.spans_key = name, sets, spans_key
        self._path = None if isinstance(model, SequenceModel) else model
        self._tagger: Tagger | None = None
        self._reads_text = False
        if isinstance(model, SequenceModel):
            self._take(model)
        elif model is not None and os.path.exists(model):
            self._take(load(model))

    def _take(self, model: Any) -> None:
        text = getattr(model, "text", None)
        self._reads_text = text is not None and text.tokenizer.kind != "given"
        columns = getattr(getattr(model, "recipe", None), "columns", ())
        if not self._reads_text and len(columns) != 1:
            read = ", ".join(columns) or "no column of tokens"
            raise ValueError(
                f"the component {self.name} gives tokens, and its model reads {read}; train it on tokens"
            )
        self._tagger = Tagger(model)

    @property
    def model(self) -> SequenceModel | None:
        """The model; None where there is none yet. spaCy asks every part for it: this never raises."""
        return None if self._tagger is None else self._tagger.model

    @property
    def _ready(self) -> Tagger:
        if self._tagger is None and self._path is not None:
            self._take(load(self._path))  # it may be there by now; if not, the error names it
        if self._tagger is None:
            raise ValueError(
                f"the component {self.name} has no model: give one, "
                'nlp.add_pipe("crfkit", config={"model": "names.crf"})'
            )
        return self._tagger

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of spans; none where there is no model yet."""
        labels = () if self._tagger is None else self._tagger.labels
        kinds = [label[2:] for label in labels if label != "O"] if are_tags(labels) else labels
        return tuple(dict.fromkeys(str(one) for one in kinds))

    def __call__(self, doc: Doc) -> Doc:
        """Find the spans of a document."""
        tagger = self._ready
        if self._reads_text:
            return self._set(doc, _expanded(doc, tagger.model(doc.text)))
        parts = _parts([doc])
        found = [tagger.predict_spans([doc[i].text for i in part.places]) for part in parts]
        return self._set(doc, _placed(doc, parts, found))

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 256) -> Iterator[Doc]:
        """Find the spans of a stream of documents, many at a time."""
        docs = iter(stream)
        while batch := list(islice(docs, batch_size)):
            model = self._ready.model
            if self._reads_text:
                for doc, answer in zip(batch, model.pipe([doc.text for doc in batch]), strict=True):
                    yield self._set(doc, _expanded(doc, answer))
                continue
            parts = _parts(batch)
            words = [[batch[part.doc][i].text for i in part.places] for part in parts]
            found = model.predict_spans(words) if words else []
            by_doc: list[tuple[list[_Part], list[Any]]] = [([], []) for _ in batch]
            for part, spans in zip(parts, found, strict=True):
                by_doc[part.doc][0].append(part)
                by_doc[part.doc][1].append(spans)
            for doc, (its_parts, its_spans) in zip(batch, by_doc, strict=True):
                yield self._set(doc, _placed(doc, its_parts, its_spans))

    def _set(self, doc: Doc, found: list[tuple[Span, float | None]]) -> Doc:
        spans = [span for span, _ in found]
        if self.sets != "ents":
            doc.spans[self.spans_key] = spans
            doc.spans[self.spans_key].attrs["scores"] = [probability for _, probability in found]
        if self.sets != "spans":
            kept = [
                one for one in doc.ents if not any(one.start < b.end and b.start < one.end for b in spans)
            ]
            doc.set_ents(filter_spans([*spans, *kept]), default="outside")
        return doc

    # ---- to files and back

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Return the model as the bytes of its file."""
        return self._ready.model.to_bytes()

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> Component:
        """Take the model that `to_bytes` wrote."""
        self._take(SequenceModel.from_bytes(data))
        return self

    def to_disk(self, path: str | os.PathLike[str], *, exclude: Iterable[str] = ()) -> None:
        """Write the model into a folder, which is made."""
        os.makedirs(path, exist_ok=True)
        self._ready.model.save(Path(path) / _FILE)

    def from_disk(self, path: str | os.PathLike[str], *, exclude: Iterable[str] = ()) -> Component:
        """Take the model that `to_disk` wrote."""
        self._take(load(Path(path) / _FILE))
        return self


def _expanded(doc: Doc, answer: TextDoc) -> list[tuple[Span, float | None]]:
    """Return the spans of a text as those of spaCy's tokens; blanks between two of them are none."""
    found = (
        (doc.char_span(one.start, one.end, str(one.label), alignment_mode="expand"), one.probability)
        for one in answer.spans
    )
    return [(span, probability) for span, probability in found if span]


def _placed(doc: Doc, parts: list[_Part], found: list[Any]) -> list[tuple[Span, float | None]]:
    """Return the spans of sentences of spaCy's tokens."""
    return [
        (Span(doc, part.places[start], part.places[end - 1] + 1, label=str(label)), probability)
        for part, several in zip(parts, found, strict=True)
        for start, end, label, probability in several
    ]


def _parts(docs: list[Doc]) -> list[_Part]:
    """Return the sentences of documents: all of one where they are not known; none without words."""
    parts = []
    for number, doc in enumerate(docs):
        begins = (
            [i for i, token in enumerate(doc) if token.is_sent_start]
            if doc.has_annotation("SENT_START")
            else []
        )
        for a, b in pairwise(sorted({0, *begins, len(doc)})):
            if places := [i for i in range(a, b) if not doc[i].is_space]:
                parts.append(_Part(number, places))
    return parts


@Language.factory(  # type: ignore[untyped-decorator]
    "crfkit",
    assigns=["doc.ents", "doc.spans"],
    default_config={"model": None, "sets": "both", "spans_key": "crfkit"},
)
def make(nlp: Language, name: str, model: str | None, sets: str, spans_key: str) -> Component:
    """Make the component, as ``nlp.add_pipe("crfkit", config={...})`` does."""
    return Component(model, name, sets, spans_key)
