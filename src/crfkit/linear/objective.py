"""The base classes of objectives and of losses.

An objective takes potentials and gold, and gives a value and its gradient by scores. It knows neither weights
nor features, and of a structure only its potentials; `crfkit.linear.loss.LinearLoss` turns it into a function
of the weights. A new objective is one file with a subclass of `Objective`, and a line in
`crfkit.objectives`; see docs/adding.md.

Views of a loss are what optimizers may ask of it beside values and gradients, as a table.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np

from crfkit.arrays import Floats, Ids
from crfkit.data.batch import Batch
from crfkit.errors import NotCoveredError
from crfkit.linear.layout import Layout
from crfkit.optimize.problem import Convex, Differentiable, Penalty
from crfkit.optimize.sequential.sequences import Prepared
from crfkit.structures.gold import Gold, GoldKind
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.structures.graphs.gold import GraphGold
from crfkit.structures.structure import Scores, Structure, Trainable

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from typing_extensions import Self

    from crfkit.linear.loss import LinearLoss


#: What an objective asks a method for graphs for.
Asks: TypeAlias = Literal["sums", "best", "nothing"]


class Family(Enum):
    """Families of losses: a native fast path covers one family."""

    LIKELIHOOD = "log Z - score of the gold"
    MISTAKES = "score of the best labels - score of the gold"
    MARGIN = "score of the best labels, wrong ones with a cost of 1 each - score of the gold"
    OTHER = "anything else"


@dataclass(frozen=True)
class Objective(ABC):
    """Options of an objective; class variables say what it can do."""

    name: ClassVar[str]  #: in messages and on the command line
    family: ClassVar[Family] = Family.OTHER
    asks: ClassVar[Asks] = "sums"  #: over labelings, the best of them, or nothing
    golds: ClassVar[frozenset[GoldKind]] = frozenset({"path"})  #: what gold it takes
    convex: ClassVar[bool] = True  #: with gold that is a path or a distribution
    smooth: ClassVar[bool] = True  #: whether it has a gradient everywhere
    #: Whether its least value trains a model; the perceptron's is at weights of 0.
    minimizes: ClassVar[bool] = True
    #: Whether its gradient is drawn at random by `draw`, and its value an estimate that nothing minimizes.
    drawn: ClassVar[bool] = False
    #: Whether it learns from sequences without any label.
    open: ClassVar[bool] = False
    #: Whether it is a sum of terms of single labels, each of which may have a weight of its own.
    separate: ClassVar[bool] = False
    #: Whether its gradient is the sum of `shares` times (marginals - gold).
    shared: ClassVar[bool] = False
    #: How many numbers it makes of each score of a step: batches with such scores are cut accordingly.
    copies: ClassVar[int] = 1

    @property
    def whole(self) -> bool:
        """Whether all data must be evaluated together: its loss is not that of parts."""
        return False

    def covers(self, structure: Trainable, kinds: Sequence[str]) -> str:
        """Return why it cannot be used on a structure with these kinds of gold; empty where it can."""
        lacking = [_GOLD[kind] for kind in kinds if kind not in self.golds]
        if lacking:
            takes = " or ".join(_GOLD[kind] for kind in _GOLD if kind in self.golds)
            return f"the objective {self.name} takes {takes}, and the data have {' and '.join(lacking)}"
        if structure.objective not in ("likelihood", self.name):
            own = structure.objective
            return f"{structure.describe()} is trained by the objective {own}, not by {self.name}"
        return ""

    def penalty(self, layout: Layout) -> Penalty:
        """Return the penalty of the weights of a layout: none."""
        return Penalty()

    def settled(self, names: Sequence[str], counts: ArrayLike) -> Self:
        """Return the objective with its options settled by the positions [L] of each label in all data."""
        return self

    def sequence_weights(self, structure: Structure, batch: Batch) -> Floats:
        """Return the weight of each sequence, [N]."""
        return np.ones(batch.sequences) if batch.weight is None else batch.weight

    def graph_weights(
        self, batch: GraphBatch, gold: GraphGold, weight: Floats | None
    ) -> tuple[GraphGold, Floats]:
        """Return the gold of graphs with the weights of its labels, and the weight of each graph, [N]."""
        return gold, np.ones(batch.graphs) if weight is None else weight

    def potentials(self, structure: Structure, scores: Scores, batch: Batch) -> Any:
        """Return the potentials that the loss is computed from."""
        return structure.potentials_of(scores, batch)

    @abstractmethod
    def loss(
        self, potentials: Any, gold: Any, weight: Floats, *, threads: int | None = None
    ) -> tuple[float, Mapping[str, Floats]]:
        """Return the loss of some sequences, each times its weight [N], and its gradient by scores."""

    def shares(self, potentials: Any, gold: Gold, weight: Floats, *, threads: int | None = None) -> Floats:
        """Return the factor of marginals - gold of each sequence, [N], where the gradient is `shared`."""
        raise NotImplementedError

    @property
    def labelings(self) -> int:
        """How many labelings `draw` leaves for the next visit."""
        return 1

    def draw(
        self,
        potentials: Any,
        gold: Any,
        weight: Floats,
        labels: Ids | None,
        seed: Sequence[int],
        *,
        threads: int | None = None,
    ) -> tuple[float, Mapping[str, Floats], Ids]:
        """Return an estimate of the loss, a draw of its gradient by scores, and where the chains are then.

        Where the gradient is `drawn`. `labels` [chains, V] are the Markov chains after the visit before, None
        at first; random numbers depend on `seed` alone.
        """
        raise NotImplementedError

    def joined(
        self, value: float, weight: float, part: float, part_weight: float
    ) -> tuple[float, float, float]:
        """Return the loss of two parts of the data together, and its derivatives by their losses.

        Each part has its loss and the sum of its sequences' weights. Losses add up unless this says else.
        """
        return value + part, 1.0, 1.0

    def bind(
        self, layout: Layout, structure: Structure, batch: Batch, *, threads: int | None = None
    ) -> LinearLoss:
        """Return the loss of a batch as a function of the weights of a layout."""
        from crfkit.linear.loss import LinearLoss

        return LinearLoss(self, structure, layout, batch, threads=threads)


_GOLD = {"path": "one gold label at each position", "set": "partial labels", "soft": "soft labels"}


V = TypeVar("V")


class View(NamedTuple):
    """When a loss has a view, and how it is made."""

    lacks: Callable[[Any], str]  #: of a loss: why it has no such view; empty where it has one
    make: Callable[[Any], Any]


def itself(loss: Any) -> Any:
    """Return the loss, where it is its own view."""
    return loss


class ViewedLoss:
    """A loss with views: `VIEWS` is the table of them, beside those that every loss has."""

    VIEWS: ClassVar[Mapping[type, View]] = {}
    _one: ClassVar[str] = "sequences"  #: what has weights, and what a missing view does not take

    objective: Objective
    weight: Floats  #: [N]

    @property
    def convex(self) -> bool:
        """Whether every local optimum is a global one."""
        raise NotImplementedError

    def lacks(self, kind: type) -> str:
        """Return why this loss has no such view; empty where it has one."""
        if kind is Prepared:
            return ""
        if kind is Differentiable:
            return "" if self.objective.smooth else "a loss with kinks"
        if kind is Convex:
            if (self.weight < 0.0).any():
                return f"negative weights of {self._one}"
            return "" if self.convex else "a loss that is not convex"
        return self.VIEWS[kind].lacks(self) if kind in self.VIEWS else self._one

    def view(self, kind: type[V]) -> V:
        """Return this loss as an optimizer wants to see it.

        Raises
        ------
        NotCoveredError
            This loss has no such view; the message says why.
        """
        against = self.lacks(kind)
        if against:
            raise NotCoveredError(against)
        made: V = (self.VIEWS[kind].make if kind in self.VIEWS else itself)(self)
        return made
