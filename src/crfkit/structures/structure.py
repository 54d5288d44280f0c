"""The protocol of structures: which scores one takes, what gold it knows, how it makes potentials.

A structure names *slots* of scores, not what fills them: it knows nothing of features, weights and files.
Scores and their gradients are arrays by slot, of one shape: [places, cells] where places have scores of their
own, [cells] where they share them.

A structure with training: `slots`, `potentials_of`, `gold`, `gold_cells` and `add_counts`, each of a few
lines; see docs/adding.md. Other rooms never ask which class a structure is of: what they need to know is a
member here (tests/whole/test_structure_names.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np

from crfkit._safe.cached import once
from crfkit.arrays import Floats, Pointers
from crfkit.data.batch import Batch
from crfkit.structures.constraints import Constraint, Resolved
from crfkit.structures.gold import Gold
from crfkit.structures.potentials import Potentials

#: Slot -> array. Gradients by scores have the same keys and shapes.
Scores: TypeAlias = Mapping[str, Floats]


@dataclass(frozen=True)
class Slot:
    """Scores that a structure takes at each of its places, or once for all of them.

    Parameters
    ----------
    tables : tuple of shapes
        What a place scores: the cells of these tables, in a row. An axis is a label, the oldest first.
    places : str, optional
        What has scores of its own: "position", "step" (into a position) or "segment" (by begin and length).
        None: all places share the scores.
    base : str, optional
        The shared slot whose scores those of each place begin with: where this slot has scores, they hold the
        base's, and its gradient is the base's too.

    Examples
    --------
    >>> Slot(((3,),), "position").cells, Slot(((2, 2), (2, 2, 2))).cells
    (3, 12)
    >>> Slot(((2, 2), (2, 2, 2))).labels_of(7)  # the fourth cell of the second table
    (0, 1, 1)
    """

    tables: tuple[tuple[int, ...], ...]
    places: str | None = None
    base: str | None = None

    @once
    def cells(self) -> int:
        """How many scores a place has."""
        return sum(prod(shape) for shape in self.tables)

    def labels_of(self, cell: int) -> tuple[int, ...]:
        """Return the labels that a cell is for, the oldest first."""
        for shape in self.tables:
            if cell < prod(shape):
                return tuple(int(y) for y in np.unravel_index(cell, shape))
            cell -= prod(shape)
        raise IndexError(f"the slot has {self.cells} cells")

    def split(self, flat: Floats) -> tuple[Floats, ...]:
        """Return the tables of scores [cells]."""
        begin, found = 0, []
        for shape in self.tables:
            end = begin + prod(shape)
            found.append(flat[begin:end].reshape(shape))
            begin = end
        return tuple(found)


class Trainable(Protocol):
    """What objectives ask of any structure, of sequences or graphs."""

    kind: ClassVar[str]  #: its name in files and messages
    objective: ClassVar[str]  #: the objective that it is trained by unless another is given
    segmental: ClassVar[bool]  #: whether labels are those of segments, which may be long
    local: ClassVar[bool]  #: whether steps are normalized one by one, so that weights do not add up
    graphical: ClassVar[bool]  #: whether it has variables and cliques instead of positions in a row

    @property
    def is_chain(self) -> bool:
        """Whether it scores as `Chain` does; one of another kind that is built on a chain does not."""
        ...

    @property
    def order(self) -> int | None:
        """How many labels before one, of positions or segments, its scores look at; None of graphs."""
        ...

    @property
    def limits_lengths(self) -> bool:
        """Whether constraints limit the lengths of segments that labels of positions spell."""
        ...

    def describe(self) -> str:
        """Return the name that messages use, as "a chain of order 2"."""
        ...


class Structure(Trainable, Protocol):
    """A structure of sequences that can be trained: a chain, segments, and those that users add."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the labels; empty until they are found in the data."""
        ...

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """What is forbidden or required; see `crfkit.structures.constraints`."""
        ...

    @property
    def resolved(self) -> Resolved | None:
        """What the constraints mean for the labels; None where there are none."""
        ...

    def with_labels(self, names: Sequence[str]) -> Structure:
        """Return the same structure over these labels."""
        ...

    def settled(self, batches: Iterable[Batch]) -> Structure:
        """Return the structure with what was left open and the labeled data say; mostly itself."""
        ...

    def slots(self) -> Mapping[str, Slot]:
        """Return the slots of scores that the structure takes."""
        ...

    def potentials_of(self, scores: Scores, batch: Batch) -> Potentials:
        """Return potentials of the scores of a batch; a slot that is missing counts as 0."""
        ...

    def gold(self, batch: Batch, before: int = 0) -> Gold:
        """Return what is known about the labels, checked; `before` counts the sequences before the batch."""
        ...

    def gold_cells(self, batch: Batch) -> Mapping[str, Pointers]:
        """Return the cell of each slot that the gold takes at each place, -1 where it is not known.

        Shared slots have an entry for each time the gold takes one of their cells.
        """
        ...

    def add_counts(self, gold: Gold, weight: Floats, counts: Scores) -> None:
        """Add to `counts` how often the gold takes each cell, each sequence times its weight [N].

        Slots that are not in `counts` are left out.
        """
        ...

    def unnormalized(self, scores: Scores, batch: Batch) -> Potentials:
        """Return potentials before steps are normalized one by one; mostly those of `potentials_of`."""
        ...

    def cells(self) -> int:
        """Return how many scores a position has in its potentials: queries take parts of that size."""
        ...

    def states(self) -> int:
        """Return how many states a position has in a sweep; limits of lengths need several for a label."""
        ...

    def lengths(self) -> dict[str, int] | None:
        """Return the longest segment of each label; None where labels are those of positions."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Return all but the labels, as values that JSON can hold; "kind" is one of them."""
        ...

    @classmethod
    def of_dict(cls, plain: Mapping[str, Any], labels: Sequence[str]) -> Structure:
        """Return the structure that `to_dict` described, over these labels; else raise a ValueError."""
        ...
