"""Blocks: the weights that one kind of occurrence gives to the cells of one slot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crfkit._safe.pickling import Restored
from crfkit.arrays import Ids, Pointers, sealed

__all__ = ["Block", "check_rows"]


@dataclass(frozen=True, eq=False)
class Block(Restored):
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

    def __post_init__(self) -> None:
        object.__setattr__(self, "ptr", sealed(self.ptr))
        object.__setattr__(self, "cell", sealed(self.cell))

    @classmethod
    def shared(cls, slot: str, cell: Ids) -> Block:
        """Return the block of a slot that all places share."""
        return cls(slot, None, np.array([0, len(cell)], dtype=np.int64), cell)

    @property
    def name(self) -> str:
        """What messages and files call it: the slot's name, or "dense" for real-valued columns."""
        return self.slot if self.by is None else self.by


def check_rows(name: str, ptr: NDArray[Any], cells: NDArray[Any], width: int) -> None:
    """Refuse pointers that fall or do not span the cells, and cells of a row that do not rise or exist.

    Examples
    --------
    >>> check_rows("node", np.array([0, 2]), np.array([1, 5], dtype=np.int32), 3)
    Traceback (most recent call last):
    ValueError: node_cell has entries outside 0 to 2
    """
    for what, array, kind in ((f"{name}_ptr", ptr, np.int64), (f"{name}_cell", cells, np.int32)):
        if array.dtype != kind or array.ndim != 1:
            raise ValueError(
                f"{what} is {array.dtype} with {array.ndim} axes, expected {np.dtype(kind)} with 1"
            )
    if not 1 <= len(ptr) < 1 << 31 or ptr[0] != 0 or ptr[-1] != len(cells):
        raise ValueError(f"{name}_ptr does not span {name}_cell")
    if (ptr[1:] < ptr[:-1]).any():
        raise ValueError(f"{name}_ptr falls")
    if cells.size:
        if cells.view(np.uint32).max() >= width:  # negative ones are large
            raise ValueError(f"{name}_cell has entries outside 0 to {width - 1}")
        begins = np.zeros(len(cells) + 1, dtype=np.bool_)
        begins[ptr] = True
        if ((cells[1:] <= cells[:-1]) > begins[1:-1]).any():
            raise ValueError(f"{name}_cell does not rise within a row")
