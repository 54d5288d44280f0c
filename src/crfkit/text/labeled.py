"""Training data of documents: the sentences of their texts as tokens, and the tags that spans spell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from crfkit.tags.schemes import OUTSIDE
from crfkit.text.alignment import Aligner, Alignment, How
from crfkit.text.doc import Doc, LabelCountError
from crfkit.text.sentences import Sentences
from crfkit.text.spec import TextSpec
from crfkit.text.tokenizers import Blanks, Characters, Given, Tokenizer, Words

__all__ = ["Tagged", "in_columns", "sentences_in", "spec_for"]


class Tagged(NamedTuple):
    """Documents as sequences of tokens with gold tags."""

    words: list[list[str]]  #: of each sentence
    tags: list[list[str | None]]  #: None where nobody has looked
    alignment: Alignment
    spec: TextSpec
    docs: list[int]  #: the document of each sentence
    documents: int  #: how many there are


def spec_for(
    docs: Iterable[Doc], tokenizer: Any = None, sentences: Sentences | str = "none"
) -> tuple[list[Doc], TextSpec]:
    """Return documents and how their text is read; by default their own tokens, else `Words`.

    A model of documents with tokens reads raw text where a tokenizer makes the same tokens.

    Examples
    --------
    >>> docs = [Doc("Ana ran.", tokens) for tokens in (None, [(0, 3), (4, 8)], [(0, 3)])]
    >>> [spec_for([doc])[1].tokenizer.kind for doc in docs]
    ['words', 'blanks', 'given']
    """
    listed = list(docs)
    if tokenizer is None:
        tokenizer = _made_by(listed) if listed and all(doc.tokens is not None for doc in listed) else Words()
    return listed, TextSpec.of(tokenizer, sentences)


def _made_by(docs: list[Doc]) -> Tokenizer:
    """Return the tokenizer that makes the tokens of documents, so that the model reads text; else `Given`."""
    own = [doc.in_unit("codepoint") for doc in docs]
    for one in (Words(), Blanks(), Characters()):
        if all(doc.tokens is not None and np.array_equal(one(doc.text), doc.tokens) for doc in own):
            return one
    return Given()


def sentences_in(
    docs: Iterable[Doc],
    tokenizer: Any = None,
    *,
    sentences: Sentences | str = "none",
    alignment: How = "expand",
    scheme: str | None = "BIO",
) -> Tagged:
    """Return the sentences of documents, and the tags that their spans spell; `Tagged` has the report too.

    Without a scheme the label of a span is that of each of its tokens. Documents with labels of their tokens,
    and without spans, have these for tags.

    Examples
    --------
    >>> made = sentences_in([Doc("Ana ran. Leo sat.", spans=[(0, 3, "PER")])], sentences="rule")
    >>> made.words, made.tags
    ([['Ana', 'ran', '.'], ['Leo', 'sat', '.']], [['B-PER', 'O', 'O'], ['O', 'O', 'O']])
    """
    listed, spec = spec_for(docs, tokenizer, sentences)
    if not listed:
        raise ValueError("there are no documents to learn from: give some with text and spans")
    fit = Aligner(spec.tokenizer, alignment, sentences=spec.sentences)
    words: list[list[str]] = []
    tags: list[list[str | None]] = []
    which: list[int] = []
    labeled = any(doc.labels is not None for doc in listed) and not any(doc.spans for doc in listed)
    for n, doc in enumerate(listed):
        try:
            made = fit(doc)
        except LabelCountError:
            raise ValueError(
                f"{doc.name}its labels are those of its own tokens, which {spec.tokenizer.kind} cuts "
                'otherwise: tokenizer="given"'
            ) from None
        found = list(made.labels or [None] * len(made.words())) if labeled else made.to_tags(scheme or "IO")
        if scheme is None and not labeled:
            found = [tag if tag is None or tag == OUTSIDE else tag[2:] for tag in found]
        all_words = made.words()
        pointers = [0, len(all_words)] if made.sentences is None else made.sentences.tolist()
        for a, b in pairwise(pointers):
            if a < b:
                words.append(all_words[a:b])
                tags.append(found[a:b])
                which.append(n)
    return Tagged(words, tags, fit.report, spec, which, len(listed))


def in_columns(made: Tagged) -> Iterator[list[tuple[str, str]]]:
    """Yield the rows of each sentence; the tag is empty where nobody has looked."""
    for words, tags in zip(made.words, made.tags, strict=True):
        yield [(word, tag or "") for word, tag in zip(words, tags, strict=True)]
