"""Exact inference as the textbooks write it: plain NumPy in log space, readable and slow.

The second reference beside `crfkit.inference.reference.enumeration`, for problems too large to enumerate. It
shares nothing with the kernels, which have neither a beta table nor downward messages.

The recursions (alpha and beta tables, messages up and down) are those of
`crfkit.inference.reference.recursions`, under the semirings sum, max, count and k best. Zero is
-inf, never a large number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

import numpy as np

from crfkit._safe.cached import once
from crfkit.inference.reference.enumeration import Outcome
from crfkit.inference.reference.formulas import edge_tables
from crfkit.inference.reference.recursions import ChainRecursion, SegmentRecursion, TreeRecursion
from crfkit.inference.reference.semirings import COUNT, MAX, SUM, Semiring, k_best
from crfkit.structures import Potentials
from crfkit.structures.chains.potentials import ChainPotentials
from crfkit.structures.potentials import weighted_sum
from crfkit.structures.results import Marginals
from crfkit.structures.segments.potentials import SemiMarkovPotentials
from crfkit.structures.tree import TreePotentials

Of: TypeAlias = Callable[[Any], Any]  # from logarithms of probabilities to what is asked for


class Recursion(Protocol):
    """One sequence under any semiring."""

    def total(self, ring: Semiring) -> Any:
        """Sum over all labelings."""

    def log_parts(self, log_z: float) -> dict[str, Any]:
        """Return the logarithm of the probability of every part."""

    def sample(self, rng: np.random.Generator) -> Outcome:
        """Draw one labeling."""


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
        if type(potentials) not in RECURSIONS:
            raise TypeError(f"{type(potentials).__name__} has no recursion in {__name__}")
        recursion, self._lay_out = RECURSIONS[type(potentials)]
        self._model = recursion(potentials)

    @once
    def log_partition(self) -> float:
        """Log Z, eq. 1.29."""
        return float(self._model.total(SUM))

    @once
    def best_score(self) -> float:
        """Score of the best labeling, eq. 1.35."""
        return float(self._model.total(MAX))

    @once
    def count(self) -> int:
        """How many labelings are allowed."""
        return int(self._model.total(COUNT))

    def kbest_scores(self, k: int) -> list[float]:
        """Return the scores of the k best labelings, best first; fewer where fewer exist."""
        return [float(score) for score in self._model.total(k_best(k)) if score > -np.inf]

    def sample(self, rng: np.random.Generator) -> Outcome:
        """Draw one labeling, backwards (tree: downwards) through the forward sums."""
        return self._model.sample(rng)

    def marginals(self, *, edges_by_position: bool = False) -> Marginals:
        """Return the probability of every part, eq. 1.34 (of shared edges: the expected number)."""
        return self._shape(edges_by_position, np.exp, np.sum)

    def reachable(self, *, edges_by_position: bool = False) -> Marginals:
        """Return which parts some allowed labeling has."""
        return self._shape(edges_by_position, lambda logs: logs > -np.inf, np.any)

    @once
    def entropy(self) -> float:
        """Log Z - <marginals, potentials>, with 0 * -inf = 0."""
        slots = self.potentials.in_slots(self.marginals())
        scores = self.potentials.scores()
        return self.log_partition - sum(weighted_sum(slots[slot], scores[slot]) for slot in scores)

    def _shape(self, by_position: bool, of: Of, pool: Any) -> Marginals:
        logs = self._model.log_parts(self.log_partition)
        parts = self._lay_out(self.potentials, logs, by_position, of, pool)
        return Marginals(self.log_partition, **parts)


def _linear(
    p: ChainPotentials | SemiMarkovPotentials, logs: dict[str, Any], by_position: bool, of: Of, pool: Any
) -> dict[str, Any]:
    shared = not by_position and not edge_tables(p)[1]
    edges = tuple(pool(of(run), axis=0) if shared else of(run) for run in logs["runs"])
    return {
        "node": of(logs["node"]),
        "edge": edges[0] if len(edges) == 1 else edges,
        "start": None if p.start is None else of(logs["start"]),
        "stop": None if p.stop is None else of(logs["stop"]),
        "segment": of(logs["segment"]) if "segment" in logs else None,
    }


def _by_variable(_: TreePotentials, logs: dict[str, Any], by_position: bool, of: Of, pool: Any) -> Any:
    return {name: [of(array) for array in logs[name]] for name in ("node", "edge")}


#: The recursion of each kind of potentials, and how its parts are laid out.
RECURSIONS: dict[type[Potentials], tuple[Callable[[Any], Recursion], Callable[..., dict[str, Any]]]] = {
    ChainPotentials: (ChainRecursion, _linear),
    SemiMarkovPotentials: (SegmentRecursion, _linear),
    TreePotentials: (TreeRecursion, _by_variable),
}
