"""Answers of a model to lists of token sequences, one after the other, by its decoder.

From strings to strings in one native call, a sequence takes a tenth of the time that columns, a batch and
potentials take (`bench.sentence`). What a decoder does not cover, and whatever is wrong, is left to these:
the functions here then return None. They keep nothing of a model beyond what the model keeps itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from crfkit import _native
from crfkit.models.decoder import span_names_of
from crfkit.text.spans import Span

if TYPE_CHECKING:
    from crfkit.models.model import SequenceModel

#: Which sequences a decoder leaves to others (cpp/python/decoder.hpp): none; those whose attributes the model
#: hardly knows (`crfkit.models.known`); also those with too few attributes to tell.
SURE, UNKNOWN, UNCLEAR = 0, 1, 2
_ITEMS: Final = (list, tuple, dict)
_SHORT: Final = 256  # sequences whose attributes are counted together, at the most

A = TypeVar("A")


def labels_of_each(model: SequenceModel, X: Any, threads: int | None = None) -> list[list[str]] | None:
    """Return the best labels of each sequence of tokens, or of the only sequence of items.

    Examples
    --------
    >>> from crfkit import ChainCRF
    >>> model = ChainCRF(features="w[0]").fit([["the", "dog"]] * 2, [["D", "N"]] * 2).model_
    >>> labels_of_each(model, [["dog"], ["the", "dog"]]), labels_of_each(model, "the dog")
    ([['N'], ['D', 'N']], None)
    """
    decoder = _decoder(model, X, threads)
    if decoder is None:
        return None
    if model.recipe is not None:
        return _each(model, X, decoder.labels_of)
    if len(X) != 1 or not isinstance(X[0], list) or not all(type(item) in _ITEMS for item in X[0]):
        return None  # many are for all cores; iterators can be read but once
    try:
        labels = decoder.labels_of(X[0], UNKNOWN)
    except ValueError:
        return None
    return None if labels is None else [labels]


def spans_of_each(model: SequenceModel, X: Any, threads: int | None = None) -> list[list[Span]] | None:
    """Return the segments of each sequence of tokens, with their probabilities.

    Examples
    --------
    >>> from crfkit import ChainCRF
    >>> X, y = [["in", "New", "York"]] * 9, [["O", "B-LOC", "I-LOC"]] * 9
    >>> [[span]] = spans_of_each(ChainCRF(features="w[0]").fit(X, y).model_, [["New", "York"]])
    >>> span.tokens, span.label
    ((0, 2), 'LOC')
    """
    decoder = _decoder(model, X, threads) if model.recipe is not None else None
    names = None if decoder is None else span_names(model)
    if decoder is None or names is None:
        return None
    found = _each(model, X, lambda x, doubt: decoder.spans_of(x, doubt, names))
    return None if found is None else [spans for _, spans in found]


def span_names(model: SequenceModel) -> _native.SpanNames | None:
    """Return how the decoder of a model finds segments, made once; None where it does not."""
    return model._once("span names", lambda: span_names_of(model))


def _decoder(model: SequenceModel, X: Any, threads: int | None) -> _native.Decoder | None:
    plain = isinstance(X, list) and (threads is None or threads > 0)
    return model.decoder if plain else None


def _each(model: SequenceModel, X: list[Any], ask: Callable[[Any, int], A | None]) -> list[A] | None:
    """Return the answer to each sequence; the first that says so shows that the model knows the data."""
    made: list[A] = []
    clear = False
    try:
        for x in X:
            found = ask(x, SURE if clear else UNCLEAR)
            if found is not None:
                clear = True
            elif clear or (found := ask(x, UNKNOWN)) is None:
                return None
            made.append(found)
    except ValueError:
        return None
    if not clear and len(X) > 1:  # what each is too short for, all may show
        model.batch_of(X[:_SHORT], threads=1)
    return made
