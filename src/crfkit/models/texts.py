"""Raw text in, documents with labeled spans out: what a model of sequences does with its tokenizer.

    text --tokenizer--> tokens --sentences--> sequences --labels, spans--> characters

A text is cut into tokens and sentences (`crfkit.text.spec.TextSpec`, which the model file keeps); each
sentence is one sequence of the model. Spans are those of `predict_spans`, with the probability of exactly
these ends and label, moved to the characters of the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from crfkit.data.dataset import ExtractorSpec
from crfkit.models.text_parts import (
    FUNCTION,
    Ways,
    check_reads_text,
    checked_text,
    items_of,
    parts_of,
    sentences_of,
    words_of,
)
from crfkit.tags.schemes import OUTSIDE
from crfkit.text.spans import TextSpan
from crfkit.text.spec import LONGEST, Cut, Features, TextSpec

if TYPE_CHECKING:
    from typing_extensions import Self

    from crfkit.inference.constrained.kinds import GlobalConstraint
    from crfkit.models.marked_spans import MarkedSpan
    from crfkit.models.model import SequenceModel
    from crfkit.text.doc import Doc
    from crfkit.text.offsets import Unit
    from crfkit.text.sentences import Sentences


#: A span: start, end, label, probability; its first token and one past the last.
Placed = tuple[int, int, str, float | None, tuple[int, int]]


class Texts:
    """Documents of raw text from a `crfkit.models.SequenceModel`."""

    extractor: ExtractorSpec | None

    @property
    def text(self) -> TextSpec | None:
        """How raw text becomes sequences, where the model knows."""
        return None if self.extractor is None else self.extractor.text

    def with_text(
        self, tokenizer: Any, sentences: Sentences | str = "none", *, features: Features | None = None
    ) -> Self:
        """Return the same model with a tokenizer, so that it reads raw text; its file keeps it.

        Parameters
        ----------
        tokenizer : Tokenizer or its name
            "words", "blanks", "characters", "given", or one of `crfkit.text`.
        sentences : Sentences or its name
            Where sequences begin: "none" takes a text for one.
        features : function, optional
            ``f(tokens, i)``, which makes the features of a token, where the model has no recipe, as models of
            CRFsuite; a model with a function cannot be saved.

        Examples
        --------
        >>> from crfkit import ChainCRF
        >>> crf = ChainCRF().fit([["in", "New", "York"]] * 9, [["O", "B-LOC", "I-LOC"]] * 9)
        >>> print(crf.model_.with_text("words")("in New York").with_spans([(3, 11, "LOC")]))
        in [New York LOC]
        """
        spec = TextSpec.of(tokenizer, sentences, features)
        check_reads_text(cast("SequenceModel", self), spec)
        made_by = replace(self.extractor or ExtractorSpec(), text=spec)
        given = {} if features is None else {"lacks": FUNCTION}
        made: Self = replace(self, extractor=made_by, **given)  # type: ignore[type-var]
        return made

    def __call__(
        self,
        text: str | Doc,
        *,
        fixed: Sequence[Any] = (),
        constraints: Iterable[GlobalConstraint] | None = None,
        threads: int | None = 1,
    ) -> Doc:
        """Return a document with the spans of a raw text, each with its probability.

        Parameters
        ----------
        text : str or Doc
            A document gives its text, and its tokens where the tokenizer is `crfkit.text.Given`.
        fixed : sequence of (start, end, label)
            Spans of characters that a person has marked: they stay, and all else is the best beside them. The
            label O says that nothing is there.
        constraints : list of constraints, optional
            On the labels of a sentence (`crfkit.constraints`); default: those of the model.
        threads : int, optional

        Examples
        --------
        >>> from crfkit import ChainCRF, Doc
        >>> docs = [Doc("Ana lives in New York.", spans=[(0, 3, "PER"), (13, 21, "LOC")])] * 5
        >>> model = ChainCRF(tokenizer="words").fit(docs).model_
        >>> [(span.text, span.label) for span in model("In New York lives Ana.").spans]
        [('New York', 'LOC'), ('Ana', 'PER')]
        >>> [(span.text, span.label) for span in model("Ana York", fixed=[(0, 8, "LOC")]).spans]
        [('Ana York', 'LOC')]
        """
        spec = self._spec()
        given = checked_text(text)
        cut = spec.cut(given)
        if fixed:
            from crfkit.models.marked_spans import fixed_tokens

            marked = fixed_tokens(fixed, given if isinstance(given, str) else given.text, cut.offsets)
            return self._answer(given, cut, self._marked(given, cut, spec, marked, constraints, threads))
        if constraints is None and cut.sentences is None and self._ways.swift:
            words = words_of(given, cut.offsets)
            return self._answer(given, cut, [self._tagged(words)] if words else [])
        kept = None if constraints is None else tuple(constraints)
        return self._answer(given, cut, self._found(given, cut, spec, kept, threads))

    def pipe(
        self, texts: Iterable[str | Doc], *, batch: int = 256, threads: int | None = None
    ) -> Iterator[Doc]:
        """Yield a document for each text, in order; `batch` texts are labeled at a time.

        Parameters
        ----------
        texts : iterable of str or Doc
            Read as documents are asked for, at most `batch` ahead.
        batch : int
            Texts that are labeled together.
        threads : int, optional
            Default: all cores.

        Examples
        --------
        >>> from crfkit import ChainCRF
        >>> crf = ChainCRF().fit([["in", "York"]] * 9, [["O", "B-LOC"]] * 9)
        >>> model = crf.model_.with_text("words")
        >>> [str(doc)[:12] for doc in model.pipe(["in York", "York"])]
        ['in [York LOC', '[York LOC 0.']
        """
        if isinstance(texts, str):
            raise TypeError("texts is a string, expected several: for one text call the model, model(text)")
        if batch < 1:
            raise ValueError(f"batch is {batch}, expected 1 or more")
        for given, cut, spans in self.piped(texts, batch, threads):
            yield self._document(given, cut, spans)

    def piped(
        self, texts: Iterable[str | Doc], batch: int = 256, threads: int | None = None
    ) -> Iterator[tuple[str | Doc, Cut, list[Placed]]]:
        """Yield each text, how it is cut, and its spans as plain tuples: what `pipe` makes documents of."""
        spec = self._spec()
        held: list[tuple[str | Doc, Cut]] = []
        size = 0
        for text in texts:
            given = checked_text(text)
            cut = spec.cut(given)
            held.append((given, cut))
            size += len(cut.offsets)
            if len(held) >= batch or size >= LONGEST:
                yield from self._several(held, spec, threads)
                held, size = [], 0
        yield from self._several(held, spec, threads)

    def stream(
        self, file: Any, *, window: int = 1 << 20, unit: Unit = "codepoint", threads: int | None = None
    ) -> Iterator[TextSpan]:
        r"""Yield the spans of one text of any size, in constant memory.

        Parameters
        ----------
        file : path, or file opened as text
            UTF-8 where it is a path.
        window : int
            How many characters are in memory; a sentence that is longer is cut.
        unit : str
            What offsets count: "codepoint", "utf16" or "byte".
        threads : int, optional

        Yields
        ------
        TextSpan
            Counted from the beginning of the file, with its text.

        Notes
        -----
        A model that takes a text for one sentence ("none") labels line by line here.

        Examples
        --------
        >>> import io
        >>> from crfkit import ChainCRF
        >>> crf = ChainCRF().fit([["in", "York"]] * 9, [["O", "B-LOC"]] * 9)
        >>> model = crf.model_.with_text("words", "lines")
        >>> [(span.start, span.text) for span in model.stream(io.StringIO("in York\nin York"))]
        [(3, 'York'), (11, 'York')]
        """
        from crfkit.text.offsets import to_unit
        from crfkit.text.streams import windows

        spec = self._spec()
        if spec.sentences.rule == "none":
            spec = TextSpec.of(spec.tokenizer, "lines", spec.features)
        begin = 0
        for _, text in windows(file, spec.sentences, window):
            cut = spec.cut(text)
            found = self._answer(text, cut, self._found(text, cut, spec, None, threads)).in_unit(unit)
            for span in found.spans:
                start, end, label, probability = span
                own = span.text  # a copy: the span does not hold the window
                yield TextSpan.of(start + begin, end + begin, label, probability, own, (0, len(own)), None)
            begin += int(to_unit(text, len(text), unit))

    # ---- within

    def _spec(self) -> TextSpec:
        spec = self.text
        if spec is None:
            model = cast("SequenceModel", self)
            check_reads_text(model)
            raise ValueError(
                "the model was trained on tokens and has no tokenizer; give it one: "
                'model.with_text("words"), or "blanks" for text that is already cut by blanks'
            )
        return spec

    @property
    def _ways(self) -> Ways:
        """What of the model decides how its texts are labeled, looked up once."""
        model = cast("SequenceModel", self)
        return model._once("texts", lambda: Ways.of(model))

    def _tagged(self, words: list[str]) -> Sequence[Sequence[Any]]:
        from crfkit.models.tagger import Tagger

        model = cast("SequenceModel", self)
        tagger: Tagger = model._once("tagger", lambda: Tagger(model))
        return tagger.predict_spans(words)

    def _several(
        self, held: list[tuple[str | Doc, Cut]], spec: TextSpec, threads: int | None
    ) -> Iterator[tuple[str | Doc, Cut, list[Placed]]]:
        """Yield texts that are cut, with their spans; they are labeled together."""
        if len(held) == 1:
            given, cut = held[0]
            yield given, cut, _placed(cut, self._found(given, cut, spec, None, threads))
            return
        words: list[list[str]] = []
        ends = [0]
        for given, cut in held:
            words += sentences_of(given, cut)
            ends.append(len(words))
        found = self._spans(words, spec, None, None, threads)
        for (given, cut), (a, b) in zip(held, pairwise(ends), strict=True):
            yield given, cut, _placed(cut, found[a:b])

    def _found(
        self,
        given: str | Doc,
        cut: Cut,
        spec: TextSpec,
        constraints: Iterable[GlobalConstraint] | None,
        threads: int | None,
    ) -> list[Any]:
        """Return the spans of each sentence of a text, in tokens of the sentence."""
        found: list[Any] = []
        for part in parts_of(cut):
            found += self._spans(sentences_of(given, part), spec, None, constraints, threads)
        return found

    def _marked(
        self,
        given: str | Doc,
        cut: Cut,
        spec: TextSpec,
        fixed: Sequence[MarkedSpan],
        constraints: Iterable[GlobalConstraint] | None,
        threads: int | None,
    ) -> list[Any]:
        """Return the spans of each sentence, those that are marked among them."""
        words = sentences_of(given, cut)
        ends = np.cumsum([len(one) for one in words])
        for one in fixed:
            if one.end > ends[np.searchsorted(ends, one.first, "right")]:
                raise ValueError(
                    f"fixed has a span labeled {one.label!r:.40} that crosses the end of a sentence"
                )
        return self._spans(words, spec, fixed, constraints, threads)

    def _spans(
        self,
        words: list[list[str]],
        spec: TextSpec,
        fixed: Sequence[MarkedSpan] | None,
        constraints: Iterable[GlobalConstraint] | None,
        threads: int | None,
    ) -> list[Any]:
        """Return (start, end, label) and, where the model has one, the probability, of each sentence."""
        if not words:
            return []
        model = cast("SequenceModel", self)
        X: Any = words if spec.features is None else [items_of(spec.features, one) for one in words]
        if self._ways.sure and not fixed and constraints is None:
            return model.predict_spans(X, threads=threads)
        batch = model.batch_of(X, threads=threads)
        allowed = None
        if fixed:
            from crfkit.models.marked_spans import allowed_by

            allowed = allowed_by(model, fixed, batch.seq_ptr)
        if self._ways.sure:
            from crfkit.models.confidence import segment_confidence

            return segment_confidence(model, batch, allowed=allowed, constraints=constraints, threads=threads)
        path = model._path(batch, allowed=allowed, constraints=constraints, threads=threads)
        return model.segments_in(path)

    def _answer(self, given: str | Doc, cut: Cut, found: Sequence[Sequence[Sequence[Any]]]) -> Doc:
        """Return a document with the spans of its sentences."""
        return self._document(given, cut, _placed(cut, found))

    def _document(self, given: str | Doc, cut: Cut, spans: list[Placed]) -> Doc:
        from crfkit.text.answers import answered

        labels = None
        if self._ways.plain:  # their runs are the spans
            labels = [OUTSIDE] * len(cut.offsets)
            for *_, label, _, (a, b) in spans:
                labels[a:b] = [label] * (b - a)
        return answered(given, cut.offsets, cut.sentences, spans, labels)


def _placed(cut: Cut, found: Sequence[Sequence[Sequence[Any]]]) -> list[Placed]:
    """Return the spans of the sentences of a text, in its characters."""
    offsets = cut.offsets
    begins = (0,) if cut.sentences is None else cut.sentences.tolist()
    spans: list[Placed] = []
    for at, several in zip(begins, found, strict=False):
        for a, b, label, *sure in several:
            if label != OUTSIDE:
                start, end = int(offsets[at + a, 0]), int(offsets[at + b - 1, 1])
                spans.append((start, end, str(label), sure[0] if sure else None, (at + a, at + b)))
    return spans
