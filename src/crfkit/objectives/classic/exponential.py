"""The exponential loss of boosting, of whole labelings.

    E(w) = sum_n weight_n * sum over y of exp(score(x_n, y) - score of the gold) = sum_n weight_n / p(gold)

Lafferty, McCallum & Pereira (2001) section 6; Altun, Hofmann & Johnson (2003). The sum here has the gold
itself too, which adds a constant. E grows as L^T and leaves the range of numbers with a few hundred
positions, so that what is minimized is its logarithm, in the scale of the likelihood:

    loss(w) = W log(E(w) / W),   W = sum_n weight_n
    d loss / d scores = sum_n r_n (marginals - gold),   r_n = weight_n W / (p(gold) E(w))

Without a penalty the minimum is the same. The loss is convex too, and at least that of the likelihood
(Jensen). It is for all optimizers of smooth losses, L-BFGS by default, and for the parallel update that
Lafferty et al. name (Collins, Schapire & Singer 2000): `crfkit.optimize.classic.parallel`. Hard sequences
have nearly all the weight: one wrong label in the data can outweigh all others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from crfkit import inference
from crfkit.arrays import Floats
from crfkit.objectives.penalized import Penalized
from crfkit.structures.gold import Gold


@dataclass(frozen=True)
class Exponential(Penalized):
    """The logarithm of the mean of 1 / p(gold), times the number of sequences.

    Examples
    --------
    >>> from crfkit import ChainCRF
    >>> crf = ChainCRF(objective=Exponential(l2=0.5))
    """

    name: ClassVar[str] = "exponential"
    shared: ClassVar[bool] = True

    def loss(
        self, potentials: Any, gold: Gold, weight: Floats, *, threads: int | None = None
    ) -> tuple[float, Mapping[str, Floats]]:
        """Return W log(E / W), and marginals minus gold, each sequence by its share of E."""
        value, share = _log_mean(_losses(potentials, gold, threads), weight)
        _, by_score = inference.expected(potentials, share, threads=threads)
        potentials.add_counts(gold, -share, by_score)
        return value, by_score

    def shares(self, potentials: Any, gold: Gold, weight: Floats, *, threads: int | None = None) -> Floats:
        """Return r_n, [N]."""
        return _log_mean(_losses(potentials, gold, threads), weight)[1]

    def joined(
        self, value: float, weight: float, part: float, part_weight: float
    ) -> tuple[float, float, float]:
        """Return the loss of two parts of the data together, and its derivatives by their losses."""
        both = np.array([weight, part_weight])
        used = np.where(both > 0.0, both, 1.0)
        whole, share = _log_mean(np.array([value, part]) / used, both)
        kept, added = share / used
        return whole, float(kept), float(added)


def _losses(potentials: Any, gold: Any, threads: int | None) -> Floats:
    """Return -log p of the gold of each sequence, [N]."""
    log_z = np.atleast_1d(np.asarray(inference.log_partition(potentials, threads=threads)))
    own: Floats = log_z - potentials.path_score(gold.label, gold.begin)
    return own


def _log_mean(own: Floats, weight: Floats) -> tuple[float, Floats]:
    """Return W log(sum_n weight_n exp(own_n) / W), W the sum of the weights, and its gradient [N].

    Examples
    --------
    >>> value, gradient = _log_mean(np.array([1000.0, 1000.0, 2000.0]), np.array([1.0, 3.0, 0.0]))
    >>> value, gradient.tolist()
    (4000.0, [1.0, 3.0, 0.0])
    """
    total, used = float(weight.sum()), weight > 0.0
    if total == 0.0:
        return 0.0, np.zeros_like(weight)
    top = float(own[used].max())
    share = np.zeros_like(weight)
    share[used] = weight[used] * np.exp(own[used] - top)
    whole = float(share.sum())
    return total * (top + float(np.log(whole / total))), share * (total / whole)
