"""The options that objectives with a penalty share: its strengths, and weights of labels.

The penalty is ``l1 * |w|_1 + l2/2 * |w|_2^2``: sigma^2 of the papers is 1 / l2, CRFsuite's c2 is l2 / 2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, Literal

import numpy as np

from crfkit._safe.documented import Documented
from crfkit.arrays import Floats
from crfkit.data.batch import Batch
from crfkit.linear.layout import Layout
from crfkit.linear.objective import Objective
from crfkit.objectives.label_weights import (
    balanced,
    by_label,
    label_counts,
    label_weighted,
    weights_of_variables,
)
from crfkit.optimize.problem import Penalty
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.structures.graphs.gold import GraphGold
from crfkit.structures.structure import Structure

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from typing_extensions import Self


@dataclass(frozen=True)
class Penalized(Documented, Objective):
    """Options of a penalty; the documentation of each subclass has these parameters too.

    Parameters
    ----------
    l1, l2 : float
        Strengths of the penalty.
    transition_l1, transition_l2 : float, optional
        Strengths for transitions, edge attributes, start and stop where they differ; of graphs: for cliques
        of two and more variables.
    label_weights : dict or "balanced", optional
        Weight of each label (1 where not named): a sequence counts by the mean over its gold labels, and a
        graph by the mean over its known ones. Pseudo-likelihood and piecewise pseudo-likelihood of graphs are
        sums of terms of single labels: there each term has the weight of its own label. Labels of graphs may
        be given by kind: ``{"token": {"O": 0.1}}``. "balanced" gives each label positions / (labels *
        positions of the label), as scikit-learn's ``class_weight`` does, counted over the labels that
        training data show; of graphs kind by kind.
    """

    l1: float = 0.0
    l2: float = 1.0
    transition_l1: float | None = None
    transition_l2: float | None = None
    label_weights: Mapping[str, float | Mapping[str, float]] | Literal["balanced"] | None = None

    def __post_init__(self) -> None:
        for name in ("l1", "l2", "transition_l1", "transition_l2"):
            given = getattr(self, name)
            if not (isinstance(given, Real) or (given is None and name.startswith("transition"))):
                raise TypeError(
                    f"{name} is {given!r}, of type {type(given).__name__}, expected a number such as "
                    f"{name}=1.0"
                )
        weights: object = self.label_weights
        if not (weights is None or weights == "balanced" or isinstance(weights, Mapping)):
            wrong = ValueError if isinstance(weights, str) else TypeError
            raise wrong(f'label_weights is {weights!r}, expected "balanced" or a dict such as {{"O": 0.1}}')

    def settled(self, names: Sequence[str], counts: ArrayLike) -> Self:
        """Return the options with numbers for "balanced", by the positions [L] of each label in all data.

        Examples
        --------
        >>> from crfkit import Likelihood
        >>> Likelihood(label_weights="balanced").settled(["A", "B", "C"], [3, 1, 0]).label_weights
        {'A': 0.6666666666666666, 'B': 2.0}
        """
        if self.label_weights != "balanced":
            return self
        return replace(self, label_weights=balanced(names, counts))

    def sequence_weights(self, structure: Structure, batch: Batch) -> Floats:
        """Return the weight of each sequence, times the mean weight of its gold labels: [N]."""
        if self.label_weights is None:
            return super().sequence_weights(structure, batch)
        settled = self.settled(structure.labels, label_counts(batch, len(structure.labels)))
        assert isinstance(settled.label_weights, Mapping)
        return label_weighted(batch, by_label(settled.label_weights, structure.labels))

    def graph_weights(
        self, batch: GraphBatch, gold: GraphGold, weight: Floats | None
    ) -> tuple[GraphGold, Floats]:
        """Return the gold with a weight for each label, or the weights of graphs times their mean label's."""
        gold, each = super().graph_weights(batch, gold, weight)
        if self.label_weights is None:
            return gold, each
        own = weights_of_variables(self.label_weights, batch, gold)
        if self.separate:
            return replace(gold, weight=own), each
        known = np.bincount(batch.graph_of[gold.label >= 0], minlength=batch.graphs)  # [N]
        total = np.bincount(batch.graph_of, np.where(gold.label >= 0, own, 0.0), minlength=batch.graphs)
        return gold, each * np.where(known > 0, total / np.maximum(known, 1), 1.0)

    def penalty(self, layout: Layout) -> Penalty:
        """Return the penalty of the weights of a layout."""
        return Penalty(
            self._strength(layout, self.l1, self.transition_l1),
            self._strength(layout, self.l2, self.transition_l2),
        )

    @staticmethod
    def _strength(layout: Layout, state: float, transition: float | None) -> float | Floats:
        if transition is None or transition == state:
            return state
        by_weight = np.full(layout.weights, float(state))  # [F]
        for block in layout.blocks:
            if layout.slots[block.slot].places in (None, "step"):
                by_weight[layout.parts[block.name]] = transition
        return by_weight
