"""Arrays of a model file, looked at before they are used: alphabets and layouts.

Kernels and look-ups check what they need by themselves, but late and without the name of the file. The checks
here take one pass over each array and make no copies of its size in wider types.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from crfkit.data.alphabet import Alphabet
from crfkit.linear.layout import Layout
from crfkit.linear.plan import MOST_CELLS
from crfkit.models.store import Array
from crfkit.structures.chain import chain_slots

__all__ = ["MOST_LABELS", "check_labels", "checked_alphabet", "checked_layout"]

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


def checked_layout(arrays: Mapping[str, Array], L: int, order: object, options: object) -> Layout:
    """Return the layout that arrays of a file and a few options make."""
    check_labels(L)
    if (
        type(order) is not int
        or not 0 <= order <= 8
        or chain_slots(L, order)["transition"].cells > MOST_CELLS
    ):
        raise ValueError(f"the order is {order!r}, which is not possible with {L} labels")
    if not isinstance(options, dict):
        raise ValueError("the options of the layout are missing")
    start, stop, dense, table_bytes = (options.get(k) for k in ("start", "stop", "dense", "table_bytes"))
    if type(start) is not bool or type(stop) is not bool:
        raise ValueError("start and stop of the layout are neither true nor false")
    if type(dense) is not int or not 0 <= dense < 1 << 31:
        raise ValueError(f"the layout has {dense!r} dense columns")
    if type(table_bytes) is not int or not 0 <= table_bytes < 1 << 48:
        raise ValueError(f"table_bytes of the layout is {table_bytes!r}")
    node_ptr, node_label = _rows(arrays, "node_ptr", "node_label", L)
    edge_ptr, edge_cell = _rows(arrays, "edge_ptr", "edge_cell", L * L)
    if len(edge_ptr) > 1 and order != 1:
        raise ValueError(f"there are edge attributes, which need order 1, not {order}")
    cells = _of_kind(arrays, "transition_cell", np.int32)
    if cells.size and not (cells[0] >= 0 and cells[-1] < chain_slots(L, order)["transition"].cells):
        raise ValueError("transition_cell has cells outside its tables")
    if (cells[1:] <= cells[:-1]).any():
        raise ValueError("transition_cell does not rise")
    return Layout.of_chain(
        L, node_ptr, node_label, edge_ptr, edge_cell, cells, start, stop, dense, table_bytes, order
    )


def _of_kind(arrays: Mapping[str, Array], name: str, kind: type) -> Any:
    array = arrays[name]
    if array.dtype != kind or array.ndim != 1:
        raise ValueError(f"{name} is {array.dtype} with {array.ndim} axes, expected {np.dtype(kind)} with 1")
    return array


def _rows(arrays: Mapping[str, Array], of: str, column: str, width: int) -> tuple[Any, Any]:
    """Return pointers and columns of rows: pointers never fall, columns of a row rise and exist."""
    ptr, columns = _of_kind(arrays, of, np.int64), _of_kind(arrays, column, np.int32)
    if not 1 <= len(ptr) < 1 << 31 or ptr[0] != 0 or ptr[-1] != len(columns):
        raise ValueError(f"{of} does not span {column}")
    if (ptr[1:] < ptr[:-1]).any():
        raise ValueError(f"{of} falls")
    if columns.size:
        if columns.view(np.uint32).max() >= width:  # negative ones are large
            raise ValueError(f"{column} has entries outside 0 to {width - 1}")
        begins = np.zeros(len(columns) + 1, dtype=np.bool_)
        begins[ptr] = True
        if ((columns[1:] <= columns[:-1]) > begins[1:-1]).any():
            raise ValueError(f"{column} does not rise within a row")
    return ptr, columns
