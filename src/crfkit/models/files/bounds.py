"""What a model may ask for beyond the size of its file, which may come from a stranger.

Arrays of a file take as much memory as the file. What is larger is made of its description:

- tables of scores that all places share (transitions, lengths of segments, cliques of graphs): `most_cells`.
  A position costs as many steps as there are cells, so that models that can be trained lie far below. A query
  holds several such tables, up to eight for chains of high orders.
- the table that rows of weights are spread out into: `TABLE_BYTES`, whatever the file says, and 64 bytes for
  each byte of the weights of its block, beside 64 MB (``cpp/engine/linear/row_plan.hpp``).

A small model with large tables (300 labels, order 2, few n-grams observed) is saved with bytes that make its
file as large as its tables ask for: `room_for`.

Recipes, constraints and limits on segments bound the work that their texts make where they are read.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from crfkit.models.store import Array

TABLE_BYTES = 1 << 29  #: of the rows of weights that are spread out; the default of layouts
_CELLS = 1 << 24  # 128 MB: 4095 labels, or 256 labels and order 2
_CELLS_PER_BYTE = 8


def check_cells(cells: int, arrays: Mapping[str, Array], what: str) -> None:
    """Refuse tables of scores that are too large for a file of these arrays.

    Examples
    --------
    >>> check_cells(4095**2, {}, "a chain")
    >>> check_cells(600**3, {}, "a chain")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ValueError: a chain has tables of 216,000,000 cells, more than the 16,777,216 that a file of 0 bytes ...
    """
    size = sum(array.nbytes for array in arrays.values())
    most = max(_CELLS, _CELLS_PER_BYTE * size)
    if cells > most:
        raise ValueError(
            f"{what} has tables of {cells:,} cells, more than the {most:,} that a file of {size:,} bytes may "
            "have"
        )


def room_for(cells: int, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Return the array that a file of these arrays has to hold too, for tables of `cells` cells; mostly none.

    Examples
    --------
    >>> room_for(4095**2, {})
    {}
    >>> arrays = room_for(600**3, {})
    >>> check_cells(600**3, arrays, "a chain")
    >>> arrays["room"].nbytes
    27000000
    """
    missing = -(-cells // _CELLS_PER_BYTE) - sum(array.nbytes for array in arrays.values())
    return {"room": np.zeros(missing, dtype=np.uint8)} if cells > _CELLS and missing > 0 else {}
