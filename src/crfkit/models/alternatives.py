"""The k best label sequences of a model, and draws of them, as its training data have labels.

Where a model learned another encoding, several label sequences of its chain may spell the same tags (as
``I-N`` and ``B-N`` after O both begin a segment). Each sequence of tags is then given once, with the score of
the best of them: the first is what Viterbi predicts.
"""

from __future__ import annotations

import operator
from math import exp
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from crfkit import inference
from crfkit.data.batch import Batch
from crfkit.models.encoding import Recoding
from crfkit.models.predictions import Predictions
from crfkit.models.probabilities import Probabilities
from crfkit.models.results import Candidate, PerSequence
from crfkit.models.scoring import asked
from crfkit.structures.gold import Path
from crfkit.structures.results import Labeling
from crfkit.tags.schemes import OUTSIDE

if TYPE_CHECKING:
    from crfkit.models.model import SequenceModel

_MOST: Final = 1 << 14  # label sequences of the chain that are looked at, for each sequence


class Alternatives(Predictions, Probabilities):
    """Other label sequences of a `crfkit.models.SequenceModel` than the best."""

    def kbest(self, X: Any, k: int, *, threads: int | None = None) -> list[list[Candidate]]:
        """Return the k best label sequences of each sequence, best first; fewer where fewer exist.

        Where another encoding was learned, labels are as in the data; each sequence of them comes once, with
        the probability of the best label sequence of the chain that spells it.

        Parameters
        ----------
        X : Columns, rows, items, Dataset or Batch
            As in `dataset`.
        k : int
        threads : int, optional

        Examples
        --------
        >>> from crfkit import train
        >>> from crfkit.features import ItemExtractor
        >>> model = train(ItemExtractor()([[["the"], ["dog"]], [["a"], ["dog"]]], [["D", "N"]] * 2))
        >>> first, second = model.kbest([[["the"], ["dog"]]], 2)[0]
        >>> first.labels, first.probability > 0.5 > second.probability
        (['D', 'N'], True)
        """
        if operator.index(k) < 1:
            raise ValueError(f"k is {k}, expected 1 or more")
        if self.constraints:
            raise ValueError(
                "kbest does not keep constraints on whole labelings; use predict, or a model without "
                "constraints"
            )
        self.check_labelings("kbest")
        model = cast("SequenceModel", self)

        def ask(_: Batch, potentials: Any) -> list[list[Candidate]]:
            total = np.atleast_1d(inference.log_partition(potentials, threads=threads)).tolist()
            several = kbest_of(model, potentials, k, threads)
            return [
                [self._candidate(one, log_z) for one in each]
                for each, log_z in zip(several, total, strict=True)
            ]

        parts = self.parts(self.batch_of(X, threads=threads), threads=threads)
        return PerSequence(one for _, found in asked(parts, ask) for one in found)

    def sample(
        self, X: Any, n_samples: int = 1, *, random_state: int | None = None, threads: int | None = None
    ) -> list[list[list[str]]]:
        """Draw label sequences of each sequence from p(y | x), in the form of `predict`.

        Parameters
        ----------
        X : Columns, rows, items, Dataset or Batch
            As in `dataset`.
        n_samples : int
            For each sequence.
        random_state : int, optional
            Default: 0. The same number draws the same.
        threads : int, optional
        """
        if operator.index(n_samples) < 1:
            raise ValueError(f"n_samples is {n_samples}, expected 1 or more")
        potentials = self.potentials(self.batch_of(X, threads=threads), threads=threads)
        drawn = inference.sample(potentials, n_samples, random_state or 0, threads=threads)
        return PerSequence([self._labels_of(one) for one in several] for several in drawn)

    def _candidate(self, one: Labeling, log_z: float) -> Candidate:
        log_prob = one.score - log_z
        spans = [(a, b, *self.said([y])) for a, b, y in self.segments_in(_path_of(one))[0] if y != OUTSIDE]
        return Candidate(self._labels_of(one), log_prob, exp(min(log_prob, 0.0)), spans)

    def _labels_of(self, one: Labeling) -> list[Any]:
        return self.said(self.spelling.tags(_path_of(one))[0])


def _path_of(one: Labeling) -> Path:
    return Path(np.array([0, len(one.labels)]), one.labels, one.begin)


def kbest_of(
    model: SequenceModel, potentials: Any, k: int, threads: int | None = None
) -> list[list[Labeling]]:
    """Return the k best label sequences of each sequence, best first; those that spell the same tags once.

    There are fewer where fewer exist.
    """
    spelling, asked = model.spelling, k
    while True:
        found: list[list[Labeling]] = inference.kbest(potentials, asked, threads=threads)
        if not isinstance(spelling, Recoding):
            return found
        distinct = [_distinct(spelling, several)[:k] for several in found]
        if all(len(d) == k or len(f) < asked for d, f in zip(distinct, found, strict=True)):
            return distinct
        asked *= 2
        if asked > max(_MOST, k):
            raise ValueError(
                f"{_MOST:,} label sequences of the encoding {model.encoding} spell fewer than {k} sequences "
                f"of tags; train with the constraint Scheme({model.encoding!r}): each then spells its own"
            )


def _distinct(spelling: Recoding, several: list[Labeling]) -> list[Labeling]:
    """Return label sequences without those that spell what a better one spells."""
    if not several:
        return several
    T = len(several[0].labels)
    label = np.concatenate([one.labels for one in several])
    tags = spelling.ids(Path(np.arange(len(several) + 1) * T, label)).reshape(len(several), T)
    first: dict[bytes, Labeling] = {}
    for row, one in zip(tags, several, strict=True):
        first.setdefault(row.tobytes(), one)
    return list(first.values())
