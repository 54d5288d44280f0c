"""The k best label sequences of a model, as its training data have labels.

Where a model learned another encoding, several label sequences of its chain may spell the same tags (as
``I-N`` and ``B-N`` after O both begin a segment). Each sequence of tags is then given once, with the score of
the best of them: the first is what Viterbi predicts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from crfkit import inference
from crfkit.models.encoding import Recoding
from crfkit.structures.gold import Path
from crfkit.structures.results import Labeling

if TYPE_CHECKING:
    from crfkit.models.model import Model

__all__ = ["kbest_of"]

_MOST: Final = 1 << 14  # label sequences of the chain that are looked at, for each sequence


def kbest_of(model: Model, potentials: Any, k: int, threads: int | None = None) -> list[list[Labeling]]:
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
