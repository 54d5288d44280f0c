"""What queries return: labelings and marginals in the user's labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from crfkit.arrays import Bools, Floats, Ids


@dataclass(frozen=True, eq=False)
class Labeling:
    """One labeling of one sequence."""

    labels: Ids  #: [T] label ids
    score: float
    begin: Bools | None = None  #: [T] where segments begin; semi-Markov only

    @property
    def segments(self) -> list[tuple[int, int, int]]:
        """(start, end, label) of each segment; in a chain or tree every position is one."""
        begin = np.ones(len(self.labels), np.bool_) if self.begin is None else self.begin
        first = np.flatnonzero(begin).tolist()
        ends = [*first[1:], len(self.labels)]
        return [(a, b, int(self.labels[a])) for a, b in zip(first, ends, strict=bool(first))]


@dataclass(frozen=True, eq=False)
class Marginals:
    """Probabilities of the parts, shaped like the potentials that scored them."""

    log_partition: float | Floats  #: one number, or [N]
    node: Any  #: chain, semi-Markov [P, L]; tree: a list with one array per variable
    edge: Any  #: like the edge potentials, added up over positions where those are shared, or None
    start: Floats | None = None  #: [L], added up over sequences
    stop: Floats | None = None  #: [L]
    segment: Floats | None = None  #: [P, D, L]; semi-Markov only
