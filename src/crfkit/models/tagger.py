"""Labels of one sequence at a time, for loops and servers: tokens or features in, strings out, in one call.

`Model.predict` is for many sequences at once: it works on all cores and on data sets. A `Tagger` works on one
thread and has hardly any fixed cost: items are walked, looked up, scored and decoded without an array or a
Python object in between. Both give the same answers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from math import inf
from typing import Any, TypeVar

from crfkit import _native
from crfkit.arrays import Floats
from crfkit.data.alphabet import Alphabet
from crfkit.data.dataset import Dataset
from crfkit.features.items import ItemExtractor
from crfkit.models.decoding import SURE, UNCLEAR, span_names
from crfkit.models.known import Watch
from crfkit.models.model import SequenceModel
from crfkit.models.reader import Reader
from crfkit.models.results import Span

_READERS = 4  # that are kept: each remembers tokens

A = TypeVar("A")


class Tagger:
    """A fast tagger for one sequence at a time, which threads may share.

    Parameters
    ----------
    model : Model
        With attributes that have names or are hashed from them.

    Notes
    -----
    Threads may share a tagger, and taggers of one model share what is prepared of it. A sequence is what
    `Model.predict` takes a list of: where the model has a recipe, plain tokens (strings) or rows of their
    columns (tuples, or dicts by name); else items, dicts or iterables of strings. Models with a recipe, with
    real-valued columns, limits on segment lengths, constraints on whole labelings or steps that are
    normalized each by itself go the way of `Model.predict`, which is slower.

    Examples
    --------
    >>> from crfkit import train
    >>> from crfkit.features import ItemExtractor
    >>> model = train(ItemExtractor()([[["the"], ["dog"]], [["a"], ["dog"]]], [["D", "N"]] * 2))
    >>> tagger = Tagger(model)
    >>> tagger.tag([["a"], ["the"], ["dog"]])
    ['D', 'D', 'N']
    >>> tagger.predict_proba([["dog"]]).shape, tagger.log_prob([["dog"]], ["N"]) > -0.7
    ((1, 2), True)

    Plain tokens, where the model has a recipe:

    >>> from crfkit import ChainCRF
    >>> crf = ChainCRF(features="w[-1..0]").fit([["in", "New", "York"]] * 9, [["O", "B-LOC", "I-LOC"]] * 9)
    >>> tagger = Tagger(crf.model_)
    >>> tagger.tag(["New", "York", "in"]), [span[:3] for span in tagger.predict_spans(["New", "York"])]
    (['B-LOC', 'I-LOC', 'O'], [(0, 2, 'LOC')])
    """

    def __init__(self, model: SequenceModel) -> None:
        if not isinstance(model, SequenceModel):
            raise TypeError(f"model is {model!r:.60}, of type {type(model).__name__}; {_remedy(model)}")
        if model.hashed is None and not len(model.attributes) and model.layout.attributes:
            raise ValueError(
                "the attributes of the model are ids without names: use Model.predict with a Batch"
            )
        self.model = model
        self._decoder = model.decoder
        self._tokens = model.recipe is not None
        self._spans = span_names(model)
        self._ids = {name: y for y, name in enumerate(model.answers)}
        self._watch = Watch.of(model)
        self._labels = Alphabet(model.answers).freeze()
        self._readers: list[Reader] = []  # which no thread uses at the moment; they remember tokens

    def __reduce__(self) -> tuple[type[Tagger], tuple[SequenceModel]]:
        return type(self), (self.model,)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels, by id."""
        return self.model.answers

    def _data(self, items: Any, labels: Any = None) -> Dataset:
        """Return one sequence as data of the model."""
        y = None if labels is None else [labels]
        if self.model.recipe is not None or self.model.feature_map is not None:
            whole = isinstance(items, str | bytes) or self.model.feature_map is not None
            return self._columns(items if whole else list(items), y)
        known = None if self.model.hashed is not None else self.model.attributes
        extract = ItemExtractor(self.model.hashed, known, self._labels).freeze()
        data = extract([items], y)
        self._watch.items(extract.seen, data.batch)
        return data

    def _columns(self, one: Any, y: Any) -> Dataset:
        """Return what a recipe or a feature map makes of one sequence."""
        read = self._readers.pop() if self._readers else Reader(self.model, self._watch)
        data = read([one], y, gold=False, threads=1)
        if len(self._readers) < _READERS:
            self._readers.append(read)
        return data

    def _read(self, items: Iterable[Any]) -> _native.Reading:
        """Return items as the decoder has them; the first ones are counted by `Watch` too."""
        assert self._decoder is not None
        if self._watch.done:
            return self._decoder.read(items)
        kept = items if isinstance(items, list | tuple | str | bytes) else list(items)
        reading = self._decoder.read(kept)  # refuses what is wrong
        self._data(kept)
        return reading

    def _of_tokens(self, ask: Callable[..., A | None], tokens: Any, *more: Any) -> A | None:
        """Return what the decoder says of tokens; None where the way of `Model.predict` is to be gone.

        That way looks at what is no list of plain tokens and at attributes that are hardly known, and says
        what is wrong in its words.
        """
        try:
            found = ask(tokens, SURE if self._watch.done else UNCLEAR, *more)
        except ValueError:
            return None
        self._watch.done |= found is not None
        return found

    def _listed(self, items: Any) -> Any:
        """Return tokens as a list, which may be read twice; strings stay, to be refused."""
        whole = not self._tokens or isinstance(items, list | str | bytes)
        return items if whole else list(items)

    def tag(self, items: Iterable[Any]) -> list[str]:
        """Return the best labels of a sequence."""
        decoder = self._decoder
        if decoder is not None and self._tokens:
            items = self._listed(items)
            labels = self._of_tokens(decoder.labels_of, items)
            if labels is not None:
                return labels
        elif decoder is not None:
            return decoder.tag(items) if self._watch.done else self._read(items).tag()
        return self.model.predict(self._data(items), threads=1)[0]

    def predict_proba(self, items: Iterable[Any]) -> Floats:
        """Return the probability of every label at every position, [T, L]."""
        reading = self._reading(items := self._listed(items))
        if reading is not None:
            return reading.marginals()
        return self.model.predict_proba(self._data(items), threads=1)[0]

    def predict_spans(self, items: Iterable[Any]) -> list[Span]:
        """Return the predicted segments as (start, end, label, probability); see `Model.predict_spans`."""
        return self.answer(items)[1]

    def answer(self, items: Iterable[Any]) -> tuple[list[str], list[Span]]:
        """Return the best labels and the segments that they spell: `tag` and `predict_spans` in one sweep.

        Examples
        --------
        >>> from crfkit import ChainCRF
        >>> X, y = [["in", "New", "York"]] * 9, [["O", "B-LOC", "I-LOC"]] * 9
        >>> labels, [span] = Tagger(ChainCRF(features="w[-1..0]").fit(X, y).model_).answer(X[0])
        >>> labels, span.tokens, span.label, span.probability > 0.5
        (['O', 'B-LOC', 'I-LOC'], (1, 3), 'LOC', True)
        """
        decoder, spans, items = self._decoder, self._spans, self._listed(items)
        if decoder is not None and spans is not None:
            if self._tokens:
                found = self._of_tokens(decoder.spans_of, items, spans)
            else:
                found = decoder.spans_of(items, SURE, spans) if self._watch.done else None
            if found is not None:
                return found
        data = self._data(items)
        return self.model.predict(data, threads=1)[0], self.model.predict_spans(data, threads=1)[0]

    def _reading(self, items: Any) -> _native.Reading | None:
        """Return a sequence as the decoder has it; None where the way of `Model.predict` is to be gone."""
        if self._decoder is None:
            return None
        return self._of_tokens(self._decoder.reading_of, items) if self._tokens else self._read(items)

    def log_prob(self, items: Iterable[Any], labels: Iterable[Any]) -> float:
        """Return log p(y | x) of labels, one for each item; -inf where the model does not know one of them.

        Labels that are None or a set are summed over, as `Model.log_prob` does.
        """
        if isinstance(labels, str | bytes):
            raise TypeError(f"labels is the string {labels!r:.60}, expected a list: one label for each item")
        given = list(labels)
        plain = all(isinstance(name, str) for name in given)
        known = not plain or all(name in self._ids for name in given)
        reading = self._reading(items := self._listed(items)) if plain else None
        if reading is None:
            data = self._data(items, given)
            return float(self.model.log_prob(data, threads=1)[0]) if known else -inf
        if len(given) != len(reading):
            raise ValueError(
                f"there are {len(reading)} items and {len(given)} labels, expected one label for each item"
            )
        if not known:
            return -inf
        score = reading.path_score([self._ids[name] for name in given])
        return score - reading.log_partition()


def _remedy(given: object) -> str:
    """Return how to get a model from what was given instead of one."""
    if isinstance(given, str | os.PathLike):
        return f"load it first: Tagger(crfkit.load({os.fspath(given)!r}))"
    if hasattr(given, "fit"):
        return "give the model of the fitted estimator: Tagger(estimator.model_)"
    return "expected a Model, from crfkit.load, crfkit.train or the model_ of an estimator"
