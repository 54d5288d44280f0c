"""The learners of the experiment semi-ner: chains with two encodings, and semi-Markov chains."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np

from crfkit.arrays import Floats
from crfkit.data.formats.columns import Columns
from crfkit.estimators import ChainCRF, SemiCRF
from crfkit.features import Dictionary, Extractor, InternalDictionary, Recipe
from crfkit.features.dictionary import SIMILARITIES, Phrase
from crfkit.metrics import span_scores
from crfkit.objectives import Likelihood
from crfkit.papers.semi_ner_tasks import Document, Task
from crfkit.structures import Chain

#: Words and shapes at a position and within three words of it, for all (section 3.2).
WORDS = "bias; lower(word)[-3..3]; shape(word)[-3..3]"
#: What semi-CRFs have besides: the phrase, its shape and length, and all of the above at its first and last
#: word; the three words before and after the segment are among them.
SEGMENTS = """
begin: lower(word)[-3..3]; begin: shape(word)[-3..3]; end: lower(word)[-3..3]; end: shape(word)[-3..3]
segment: lower(word)[..]; segment: shape(word)[..]; segment: length
"""
#: Strengths of the Gaussian prior to choose from: variances of 1 and 10.
PENALTIES = (1.0, 0.1)
ENCODINGS = {"CRF/1": "IO", "CRF/4": "BCEU"}


@dataclass(frozen=True)
class Learner:
    """A learner of Table 1 or 2."""

    name: str  #: CRF/1, CRF/4 or semi-CRF
    order: int = 1
    internal: bool = False  #: a dictionary of the entities of the training data
    external: bool = False
    l2: float = PENALTIES[0]

    @property
    def segmental(self) -> bool:
        """Whether it is a semi-CRF."""
        return self.name not in ENCODINGS

    def recipe(self, task: Task, train: Sequence[Document]) -> Recipe:
        """Return the features, with the dictionaries that they need."""
        dictionaries: dict[str, Dictionary] = {}
        if self.external:
            dictionaries["external"] = _external(tuple(task.dictionary))
        if self.internal and any(one.spans for one in train):
            dictionaries["internal"] = _internal(tuple(train), task.label, not self.segmental)
        lines = [WORDS, *([SEGMENTS] if self.segmental else [])]
        for name in dictionaries:
            place = ("segment: ", "[..]") if self.segmental else ("", "[0]")
            lines += [f"{place[0]}{similarity}(word, {name}){place[1]}" for similarity in SIMILARITIES]
        return Recipe.parse("\n".join(lines), dictionaries)

    def estimator(self, threads: int | None) -> Any:
        """Return what is trained."""
        goal = Likelihood(l2=self.l2)
        if self.segmental:
            return SemiCRF(objective=goal, n_jobs=threads)
        return ChainCRF(
            structure=Chain(order=self.order),
            objective=goal,
            train_scheme=ENCODINGS[self.name],
            n_jobs=threads,
        )


def predicted(
    learner: Learner, task: Task, train: Sequence[Document], test: Sequence[Document], threads: int | None
) -> list[list[str]]:
    """Train on some documents and return the tags, in BIO, of others."""
    longest = max((end - start for one in train for start, end, _ in one.spans), default=1)
    extract = Extractor(
        learner.recipe(task, train), label=None, longest=longest if learner.segmental else None
    )
    data = extract(_columns(train), threads, leave_out=True)
    crf = learner.estimator(threads).fit(data, [one.tags() for one in train])
    found: list[list[str]] = crf.predict(extract.freeze()(_columns(test), threads))
    return found


def f1(
    learner: Learner, task: Task, train: Sequence[Document], test: Sequence[Document], threads: int | None
) -> float:
    """Train on some documents and return the F1 of spans on others, in percent."""
    found = predicted(learner, task, train, test, threads)
    return 100.0 * span_scores([one.tags() for one in test], found).overall.f1


def chosen_penalty(task: Task, train: Sequence[Document], threads: int | None) -> float:
    """Return the l2 whose CRF/4 and semi-CRF are the best in two folds of the training documents.

    Neither has a dictionary; the first of `PENALTIES` is taken where they are equally good, or where a fold
    has no entity.
    """
    folds = train[::2], train[1::2]
    if not all(any(one.spans for one in fold) for fold in folds):
        return PENALTIES[0]
    scores = [
        sum(
            f1(Learner(name, l2=l2), task, folds[i], folds[1 - i], threads)
            for name in ("CRF/4", "semi-CRF")
            for i in (0, 1)
        )
        for l2 in PENALTIES
    ]
    return PENALTIES[int(np.argmax(scores))]


class Remembered(Dictionary):
    """A dictionary that remembers its answers: learners and runs ask for the same phrases again.

    Examples
    --------
    >>> Remembered(["New York"]).best([["New"], ["York"], ["New"]], "jaccard").tolist()
    [0.5, 0.5, 0.5]
    """

    def best(
        self,
        phrases: Iterable[Phrase],
        similarity: str,
        exclude: Iterable[int] | None = None,
        threads: int | None = None,
    ) -> Floats:
        """Return the similarity of each phrase to its closest entry, as `Dictionary.best` does."""
        known: dict[Any, float] = self.__dict__.setdefault("_known", {}).setdefault(similarity, {})
        asked = [phrase if isinstance(phrase, str) else tuple(phrase) for phrase in phrases]
        numbers = [-1] * len(asked) if exclude is None or self.sources is None else [int(n) for n in exclude]
        keys = list(zip(asked, numbers, strict=True))
        new = [key for key in dict.fromkeys(keys) if key not in known]
        found = super().best([key[0] for key in new], similarity, [key[1] for key in new], threads)
        known.update(zip(new, found.tolist(), strict=True))
        return np.array([known[key] for key in keys])


@cache
def _external(entries: tuple[str, ...]) -> Dictionary:
    return Remembered(entries)


@lru_cache(maxsize=2)
def _internal(train: tuple[Document, ...], label: str, words: bool) -> Dictionary:
    made = InternalDictionary.of([one.words for one in train], [one.spans for one in train], words=words)
    return Remembered(made[label].entries, sources=made[label].sources)


def _columns(documents: Sequence[Document]) -> Columns:
    return Columns.from_rows([[(word,) for word in one.words] for one in documents], names=["word"])
