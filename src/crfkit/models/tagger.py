"""Labels of one sequence at a time, for loops and servers: Python features in, strings out, in one call.

`Model.predict` is for many sequences at once: it works on all cores and on data sets. A `Tagger` works on one
thread and has hardly any fixed cost: items are walked, looked up, scored and decoded without an array or a
Python object in between. Both give the same labels.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from math import exp
from typing import Any

from crfkit import _native
from crfkit.arrays import Floats
from crfkit.data.alphabet import Alphabet
from crfkit.data.dataset import Dataset
from crfkit.features.items import ItemExtractor
from crfkit.models.known import Watch
from crfkit.models.model import SequenceModel
from crfkit.models.reading import Reader

__all__ = ["Tagger"]


class Tagger:
    """Labels and probabilities of single sequences.

    Parameters
    ----------
    model : Model
        With attributes that have names or are hashed from them.

    Notes
    -----
    Threads may share a tagger, and taggers of one model share what is prepared of it. A sequence is what
    `crfkit.features.ItemExtractor` takes for one: an iterable of items, dicts or iterables of strings; where
    the model has a recipe, tokens or rows of their columns, as `Model.predict` takes them. Such models, and
    those with real-valued columns, limits on segment lengths, constraints on whole labelings or steps that
    are normalized each by itself go the way of `Model.predict`, which is slower.

    Examples
    --------
    >>> from crfkit import train
    >>> from crfkit.features import ItemExtractor
    >>> model = train(ItemExtractor()([[["the"], ["dog"]], [["a"], ["dog"]]], [["D", "N"]] * 2))
    >>> tagger = Tagger(model)
    >>> tagger.tag([["a"], ["the"], ["dog"]])
    ['D', 'D', 'N']
    >>> tagger.predict_proba([["dog"]]).shape, tagger.probability([["dog"]], ["N"]) > 0.5
    ((1, 2), True)
    """

    def __init__(self, model: SequenceModel) -> None:
        if not isinstance(model, SequenceModel):
            raise TypeError(f"model is {model!r:.60}, of type {type(model).__name__}; {_remedy(model)}")
        if model.hashed is None and not len(model.attributes) and model.layout.attributes:
            raise ValueError(
                "the attributes of the model are ids without names: use Model.predict with a Batch"
            )
        self.model = model
        self._decoder = None if model.recipe is not None else model.decoder
        self._ids = {name: y for y, name in enumerate(model.answers)}
        self._watch = Watch.of(model)
        self._labels = Alphabet(model.answers).freeze()

    def __reduce__(self) -> tuple[type[Tagger], tuple[SequenceModel]]:
        return type(self), (self.model,)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels, by id."""
        return self.model.answers

    def _data(self, items: Any, labels: list[str] | None = None) -> Dataset:
        """Return one sequence as data of the model."""
        y = None if labels is None else [labels]
        if self.model.recipe is not None or self.model.feature_map is not None:
            whole = isinstance(items, str | bytes) or self.model.feature_map is not None
            one = items if whole else list(items)
            return Reader(self.model, self._watch)([one], y, gold=False, threads=1)
        known = None if self.model.hashed is not None else self.model.attributes
        extract = ItemExtractor(self.model.hashed, known, self._labels).freeze()
        data = extract([items], y)
        self._watch.items(extract.seen, data.batch)
        return data

    def _read(self, items: Iterable[Any]) -> _native.Reading:
        """Return a sequence as the decoder has it; the first ones are counted by `Watch` too."""
        assert self._decoder is not None
        if self._watch.done:
            return self._decoder.read(items)
        kept = items if isinstance(items, list | tuple | str | bytes) else list(items)
        reading = self._decoder.read(kept)  # refuses what is wrong
        self._data(kept)
        return reading

    def tag(self, items: Iterable[Any]) -> list[str]:
        """Return the best labels of a sequence."""
        if self._decoder is None:
            return self.model.predict(self._data(items), threads=1)[0]
        if not self._watch.done:
            return self._read(items).tag()
        return self._decoder.tag(items)

    def predict_proba(self, items: Iterable[Any]) -> Floats:
        """Return the probability of every label at every position, [T, L]."""
        if self._decoder is None:
            return self.model.predict_proba(self._data(items), threads=1)[0]
        return self._read(items).marginals()

    def probability(self, items: Iterable[Any], labels: Iterable[str]) -> float:
        """Return p(y | x) of labels, one for each item; 0 where the model does not know one of them."""
        if isinstance(labels, str | bytes):
            raise TypeError(f"labels is the string {labels!r:.60}, expected a list: one label for each item")
        given = list(labels)
        known = all(name in self._ids for name in given)
        if self._decoder is None:
            data = self._data(items, given)
            return exp(min(self.model.log_prob(data, threads=1)[0], 0.0)) if known else 0.0
        reading = self._read(items)
        if len(given) != len(reading):
            raise ValueError(
                f"there are {len(reading)} items and {len(given)} labels, expected one label for each item"
            )
        if not known:
            return 0.0
        score = reading.path_score([self._ids[name] for name in given])
        return exp(min(score - reading.log_partition(), 0.0))


def _remedy(given: object) -> str:
    """Return how to get a model from what was given instead of one."""
    if isinstance(given, str | os.PathLike):
        return f"load it first: Tagger(crfkit.load({os.fspath(given)!r}))"
    if hasattr(given, "fit"):
        return "give the model of the fitted estimator: Tagger(estimator.model_)"
    return "expected a Model, from crfkit.load, crfkit.train or the model_ of an estimator"
