"""Blocks: the weights that one kind of occurrence gives to the cells of one slot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crfkit.arrays import Ids, Pointers

__all__ = ["Block"]


@dataclass(frozen=True, eq=False)
class Block:
    """Weights of a slot, row by row: weight i of row r is for cell ``cell[i]``, ``ptr[r] <= i < ptr[r + 1]``.

    Examples
    --------
    >>> Block("node", "dense", np.array([0, 2]), np.array([0, 1], dtype=np.int32)).name
    'dense'
    >>> Block.shared("start", np.arange(3, dtype=np.int32)).ptr.tolist()
    [0, 3]
    """

    slot: str  #: whose cells the weights are for
    by: str | None  #: the occurrences whose attributes have a row each; None: one row, shared by all places
    ptr: Pointers  #: [rows + 1]
    cell: Ids  #: [weights] rising within a row

    @classmethod
    def shared(cls, slot: str, cell: Ids) -> Block:
        """Return the block of a slot that all places share."""
        return cls(slot, None, np.array([0, len(cell)], dtype=np.int64), cell)

    @property
    def name(self) -> str:
        """What messages and files call it: the slot's name, or "dense" for real-valued columns."""
        return self.slot if self.by is None else self.by
