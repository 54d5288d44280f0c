"""The protocol of potentials: what `crfkit.inference` and training ask of the scores of any structure.

A structure makes its potentials; queries and objectives know only this protocol, so that a new structure
needs no edit there. The kernels see `problem` and answer in flat arrays; the other members translate between
those arrays and the labels and shapes of the structure.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from crfkit import _native
from crfkit._safe.pickling import Restored
from crfkit.arrays import Floats, Ids, Pointers, dot
from crfkit.structures.gold import Path
from crfkit.structures.results import Marginals

if TYPE_CHECKING:
    from typing_extensions import Self


class Potentials(Protocol):
    """Scores of one sequence, or of a batch of them, one after the other."""

    @property
    def structure(self) -> Any:
        """The structure that made these scores."""

    @property
    def seq_ptr(self) -> Pointers:
        """Where each sequence begins, and the last one ends: [N + 1]."""

    @property
    def single(self) -> bool:
        """Whether this is one sequence, and not a batch of one."""

    @property
    def constrained(self) -> bool:
        """Whether the structure has constraints, so that a sequence without a labeling is an error."""

    @property
    def problem(self) -> _native.Problem:
        """The arrays as the kernels see them, checked."""

    # ---- other scores of the same structure --------------------------------------------------

    def sequence(self, n: int) -> Self:
        """Return sequence n as one sequence."""

    def clamped(self, mask: Any) -> Self:
        """Return the same scores with -inf for what a mask of labels rules out."""

    def with_cost(self, gold: Path) -> Self:
        """Return the scores plus the Hamming cost: 1 for each position with a wrong label."""

    # ---- labelings --------------------------------------------------------------------------

    def flat_path(self, labels: Any) -> tuple[Ids, NDArray[Any] | None]:
        """Return the label ids [P] and segment begins [P] of a labeling, in any form that users write."""

    def path_score(self, labels: Ids, begin: NDArray[Any] | None = None) -> Floats:
        """Score one labeling of each sequence, [N]; only segments look at where they begin [P]."""

    def as_labels(self, paths: Ids) -> Ids:
        """Return the label ids of paths [k, P] that the kernels found; -1 stays where there is no path."""

    def posterior(self, node: Any) -> tuple[Ids, NDArray[Any] | None]:
        """Return the labels [P] of the highest marginals, and where their segments begin [P]."""

    def span_mask(self, start: int, end: int, labels: Any) -> Any:
        """Return the mask that gives positions start to end - 1 of one sequence these labels."""

    def most(self) -> int:
        """Return an upper bound of the number of labelings of a sequence."""

    # ---- sums, and what training learns from -------------------------------------------------

    def shaped(self, raw: dict[str, Any]) -> Marginals:
        """Return the kernels' marginals in the shapes and labels of the scores.

        `raw` has no "tables" where expected counts of shared edges were not asked for.
        """

    def scores(self) -> dict[str, Floats]:
        """Return the scores by slot, in the shapes in which training gives them; do not change them."""

    def zeros(self) -> dict[str, Floats]:
        """Return arrays of 0 for a gradient by scores, with every slot that training may have filled."""

    def in_slots(self, marginals: Marginals) -> dict[str, Floats]:
        """Return marginals in the shapes of `scores`; they may share memory with the marginals."""

    def gold_score(self, gold: Any, weight: Floats) -> float:
        """Add up weight[n] times the score of the gold of sequence n; see `score_of_gold`."""

    def add_counts(self, gold: Any, weight: Floats, counts: dict[str, Floats]) -> None:
        """Add to `counts` how often the gold takes each cell, each sequence times its weight [N]."""


def one_or_all(potentials: Potentials, values: NDArray[Any]) -> Any:
    """Return the value of the one sequence, or the values of a batch."""
    return values[0].item() if potentials.single else values


def weighted_sum(weight: Floats, values: Floats) -> float:
    """Add up weight * value, where 0 times -inf is 0.

    Examples
    --------
    >>> weighted_sum(np.array([2.0, 0.0]), np.array([3.0, -np.inf]))
    6.0
    """
    used = weight != 0.0
    return dot(weight[used], values[used])


def score_of_gold(potentials: Potentials, gold: Any, weight: Floats) -> float:
    """Add up weight[n] times the score of the gold of sequence n.

    A `Path` has the score of its labeling. Other gold has an expected score: its counts of each part, which
    ``add_counts(gold, weight, counts)`` adds to arrays like `scores`, times the scores.
    """
    if isinstance(gold, Path):
        return weighted_sum(weight, potentials.path_score(gold.label, gold.begin))
    scores = potentials.scores()
    counts = {slot: np.zeros_like(array) for slot, array in scores.items()}
    potentials.add_counts(gold, weight, counts)
    return sum(weighted_sum(counts[slot], array) for slot, array in scores.items())


@dataclass(frozen=True, eq=False)
class KeptScores(Restored):
    """Potentials whose copies and pickles hold scores alone.

    What the kernels see of them is made anew: it is not for other processes.
    """

    @property
    @abstractmethod
    def problem(self) -> object:
        """The arrays as native code sees them, checked."""


def edge_slot(tables: Sequence[Floats]) -> dict[str, Floats]:
    """Return edges as a slot: "edge" [P, L * L] by position, "transition" [cells] of shared tables.

    Examples
    --------
    >>> [(slot, array.shape) for slot, array in edge_slot([np.zeros((2, 2)), np.zeros((2, 2, 2))]).items()]
    [('transition', (12,))]
    """
    if len(tables) > 1:
        return {"transition": np.concatenate([table.ravel() for table in tables])}
    only = tables[0]
    if only.ndim == 3:
        return {"edge": only.reshape(len(only), only.shape[1] * only.shape[2])}
    return {"transition": only.reshape(-1)}


def wrong_labels(gold: Path, labels: int) -> Floats:
    """Return 1 for each wrong label of a position and 0 for the gold's, [P, L]."""
    return np.not_equal(np.arange(labels), gold.label[:, None]).astype(np.float64)
