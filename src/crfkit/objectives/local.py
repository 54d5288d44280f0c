"""The local loss: one softmax per position, given the label before it: a maximum-entropy Markov model.

    loss(w) = - sum_t log softmax(start or edge[y_{t-1}] + node[t])[y_t]

with the gold label before (McCallum, Freitag & Pereira 2000). It trains a `LocalChain`; on a chain it is a
start for the likelihood, with the same weights (Lafferty, McCallum & Pereira 2001, section 5.3). It has no
stop weights: they stay at 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from crfkit.arrays import Floats
from crfkit.data.batch import Batch
from crfkit.objectives.penalized import Penalized
from crfkit.objectives.pieces import softmax_loss
from crfkit.structures.gold import Gold, Path
from crfkit.structures.structure import Scores, Structure, Trainable


@dataclass(frozen=True)
class Local(Penalized):
    """The log-likelihood of each step, given the gold label before it: what MEMMs are trained by.

    Examples
    --------
    >>> Local(l2=0.5).name
    'local'
    """

    name: ClassVar[str] = "local"

    def covers(self, structure: Trainable, kinds: Sequence[str]) -> str:
        """Return why it cannot be used: it is for chains of order 1."""
        if not (structure.is_chain or structure.local) or structure.order != 1:
            return f"the objective local is for chains of order 1, not for {structure.describe()}"
        return super().covers(structure, kinds)

    def potentials(self, structure: Structure, scores: Scores, batch: Batch) -> Any:
        """Return potentials whose steps are not normalized: the loss does that for the gold's own only."""
        return structure.unnormalized(scores, batch)

    def loss(
        self, potentials: Any, gold: Gold, weight: Floats, *, threads: int | None = None
    ) -> tuple[float, Mapping[str, Floats]]:
        """Return the sum of the steps' losses, and each step's distribution minus the gold."""
        assert isinstance(gold, Path)
        raw = potentials.raw  # before steps were normalized
        seq_ptr, label, P = gold.seq_ptr, gold.label, len(gold.label)
        each = np.repeat(weight, np.diff(seq_ptr))  # [P]
        first = seq_ptr[:-1][np.diff(seq_ptr) > 0]
        is_first = np.zeros(P, dtype=np.bool_)
        is_first[first] = True
        inner = np.flatnonzero(~is_first)
        before = label[inner - 1]
        step = raw.node.copy()  # [P, L]
        if raw.start is not None:
            step[first] += raw.start
        edge = raw.edge[0]  # [L, L] or [P, L, L]
        step[inner] += edge[inner, before] if edge.ndim == 3 else edge[before]
        value, share = softmax_loss(step, label, each)
        by_score = {**raw.zeros(), "node": share}
        if "edge" in by_score:
            by_score["edge"].reshape(edge.shape)[inner, before] = share[inner]
        elif "transition" in by_score:
            np.add.at(by_score["transition"].reshape(edge.shape), before, share[inner])
        if "start" in by_score:
            by_score["start"][:] = share[first].sum(axis=0)
        return value, by_score
