"""Exact inference as the textbooks write it: plain NumPy in log space, readable and slow.

The second reference beside `crfkit.inference.reference.enumeration`, for problems too large to enumerate. It
shares nothing with the kernels, which have neither a beta table nor downward messages.

The recursions (alpha and beta tables, messages up and down) are those of
`crfkit.inference.reference.recursions`, under the semirings sum, max, count and k best. Zero is
-inf, never a finite stand-in.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from crfkit.inference.reference.enumeration import Outcome, Parts, Potentials, edge_tables
from crfkit.inference.reference.recursions import (
    COUNT,
    MAX,
    SUM,
    ChainRecursion,
    SegmentRecursion,
    TreeRecursion,
    k_best,
)
from crfkit.structures import SemiMarkovPotentials, TreePotentials

__all__ = ["Textbook"]


class Textbook:
    """The queries of `crfkit.inference` for one sequence, by textbook recursions.

    Parameters
    ----------
    potentials
        Scores of one sequence; of a batch take ``potentials.sequence(n)``.

    Examples
    --------
    >>> from crfkit import Chain
    >>> book = Textbook(Chain(2).potentials([[0.0, 1.0], [0.5, 0.0]]))
    >>> book.count, book.best_score, book.kbest_scores(2), round(book.log_partition, 4)
    (4, 1.5, [1.5, 1.0], 2.2873)
    """

    def __init__(self, potentials: Potentials) -> None:
        if not potentials.single:
            raise ValueError("potentials is a batch; give one sequence: potentials.sequence(n)")
        self.potentials = potentials
        self._model: ChainRecursion | SegmentRecursion | TreeRecursion
        if isinstance(potentials, TreePotentials):
            self._model = TreeRecursion(potentials)
        elif isinstance(potentials, SemiMarkovPotentials):
            self._model = SegmentRecursion(potentials)
        else:
            self._model = ChainRecursion(potentials)

    @cached_property
    def log_partition(self) -> float:
        """Log Z, eq. 1.29."""
        return float(self._model.total(SUM))

    @cached_property
    def best_score(self) -> float:
        """Score of the best labelling, eq. 1.35."""
        return float(self._model.total(MAX))

    @cached_property
    def count(self) -> int:
        """How many labellings are allowed."""
        return int(self._model.total(COUNT))

    def kbest_scores(self, k: int) -> list[float]:
        """Return the scores of the k best labellings, best first; fewer where fewer exist."""
        return [float(score) for score in self._model.total(k_best(k)) if score > -np.inf]

    def sample(self, rng: np.random.Generator) -> Outcome:
        """Draw one labelling, backwards (tree: downwards) through the forward sums."""
        return self._model.sample(rng)

    def marginals(self, *, edges_by_position: bool = False) -> Parts:
        """Return the probability of every part, eq. 1.34 (of shared edges: the expected number)."""
        return self._shape(edges_by_position, np.exp, np.sum)

    def reachable(self, *, edges_by_position: bool = False) -> Parts:
        """Return which parts some allowed labelling has."""
        return self._shape(edges_by_position, lambda logs: logs > -np.inf, np.any)

    @cached_property
    def entropy(self) -> float:
        """Log Z - <marginals, potentials>, with 0 * -inf = 0."""
        p, parts = self.potentials, self.marginals()
        pairs = [(getattr(parts, end), getattr(p, end, None)) for end in ("start", "stop")]
        if isinstance(p, SemiMarkovPotentials):
            pairs.append((parts.segment, p.segment))
        else:
            pairs.extend(zip(parts.node, p.node, strict=True))
        tables = p.edge if isinstance(p, TreePotentials) else edge_tables(p)[0]
        found = parts.edge if isinstance(parts.edge, list | tuple) else (parts.edge,)
        pairs.extend(zip(found, tables, strict=True))
        expected = 0.0
        for probability, score in pairs:
            if score is not None:
                used = probability > 0.0
                expected += float(np.sum(probability[used] * score[used]))
        return parts.log_partition - expected

    def _shape(self, by_position: bool, of: Any, pool: Any) -> Parts:
        p, logs = self.potentials, self._model.log_parts(self.log_partition)
        if isinstance(p, TreePotentials):
            return Parts(self.log_partition, *([of(a) for a in logs[k]] for k in ("node", "edge")))
        shared = not by_position and not edge_tables(p)[1]
        edges = tuple(pool(of(run), axis=0) if shared else of(run) for run in logs["runs"])
        return Parts(
            self.log_partition,
            of(logs["node"]),
            edges[0] if len(edges) == 1 else edges,
            None if p.start is None else of(logs["start"]),
            None if p.stop is None else of(logs["stop"]),
            of(logs["segment"]) if "segment" in logs else None,
        )
