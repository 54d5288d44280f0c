"""Arrays of a model file, looked at before they are used: alphabets and layouts.

Kernels and look-ups check what they need by themselves, but late and without the name of the file. The checks
here take one pass over each array and make no copies of its size in wider types.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from crfkit._safe.printable import cut, quoted
from crfkit.data.alphabet import Alphabet
from crfkit.linear.layout import Layout
from crfkit.linear.plan import Block, check_rows
from crfkit.models.files.bounds import TABLE_BYTES, check_cells
from crfkit.models.store import Array
from crfkit.structures.structure import Structure

__all__ = ["MOST_LABELS", "check_labels", "checked_alphabet", "checked_layout"]
__all__ += ["checked_rows", "plain_blocks"]

MOST_LABELS = (1 << 12) - 1  #: as in layouts


def check_labels(count: int, most: int = MOST_LABELS) -> None:
    """Raise unless there is a possible number of labels."""
    if not 1 <= count <= most:
        raise ValueError(f"there are {count:,} labels, expected 1 to {most:,}")


def checked_alphabet(arrays: Mapping[str, Array], name: str) -> Alphabet:
    """Return a frozen alphabet that looks up in arrays of a file.

    Strings must tile the bytes, the table must hold one slot for each, and no look-up may take long
    (``cpp/text/alphabet.hpp``).

    Examples
    --------
    >>> parts = zip(("a.bytes", "a.begin", "a.slots"), Alphabet(["x", "y"]).arrays())
    >>> checked_alphabet(dict(parts), "a").find("y")
    1
    """
    kinds = {"bytes": np.uint8, "begin": np.uint64, "slots": np.uint64}
    parts = []
    for part, kind in kinds.items():
        array = arrays[f"{name}.{part}"]
        if array.dtype != kind or array.ndim != 1:
            raise ValueError(f"{name}.{part} is {array.dtype} with {array.ndim} axes")
        parts.append(array)
    text, begin, slots = parts
    try:
        return Alphabet.from_arrays((text, begin, slots))
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def plain_blocks(layout: Layout) -> tuple[list[list[str | None]], dict[str, Array]]:
    """Return the blocks of a layout by slot and occurrences, and their arrays by name."""
    arrays: dict[str, Array] = {}
    for block in layout.blocks:
        arrays[f"{block.name}_ptr"], arrays[f"{block.name}_cell"] = block.ptr, block.cell
    return [[block.slot, block.by] for block in layout.blocks], arrays


def checked_layout(
    arrays: Mapping[str, Array], structure: Structure, blocks: object, budget: object
) -> Layout:
    """Return the layout that the blocks of a file make; they must fit the structure.

    Parameters
    ----------
    arrays : dict
        Arrays of the file: ``NAME_ptr`` and ``NAME_cell`` of each block.
    structure : Structure
    blocks : list
        Slot and occurrences of each block, as the file describes them.
    budget : int
        Most bytes of the tables that scoring may make; no more than `bounds.TABLE_BYTES` count.
    """
    slots = structure.slots()
    check_cells(max(slot.cells for slot in slots.values()), arrays, structure.describe())
    if type(budget) is not int or not 0 <= budget < 1 << 48:
        raise ValueError(f"table_bytes of the layout is {quoted(str(budget))}")
    needed = [[name, name if slot.places else None] for name, slot in slots.items()] + [["node", "dense"]]
    if not isinstance(blocks, list) or len(blocks) != len(needed) or any(b not in blocks for b in needed):
        raise ValueError(
            f"its blocks of weights are {cut(str(blocks), 200)}, which do not fit {structure.describe()}"
        )
    made = []
    for slot, by in blocks:
        name = slot if by is None else by
        ptr, cell = checked_rows(arrays, name, slots[slot].cells)
        if by is None and len(ptr) != 2:
            raise ValueError(f"{name} has {len(ptr) - 1} rows, expected one that all places share")
        if by == "dense" and (np.diff(ptr) != slots[slot].cells).any():
            raise ValueError("a dense column lacks weights of some labels")
        made.append(Block(slot, by, ptr, cell))
    return Layout(slots, tuple(made), min(budget, TABLE_BYTES))


def checked_rows(arrays: Mapping[str, Array], name: str, width: int) -> tuple[Any, Any]:
    """Return pointers and cells of a block: pointers never fall, cells of a row rise and exist."""
    ptr, cells = arrays[f"{name}_ptr"], arrays[f"{name}_cell"]
    check_rows(name, ptr, cells, width)
    return ptr, cells
