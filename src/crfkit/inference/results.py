"""From the kernels' flat answers to what queries return, and the refusal where there is no labelling."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crfkit.arrays import Floats, Ids
from crfkit.structures.potentials import Potentials
from crfkit.structures.results import Labelling

__all__ = ["Space", "cut_labellings", "demand_labelling", "in_logs"]

Space: TypeAlias = Literal["auto", "log"]


def in_logs(space: Space) -> bool:
    """Tell whether sums are forced into logarithms; anything but the two spaces is refused."""
    if space not in ("auto", "log"):
        raise ValueError(f"space is {space!r}, expected 'auto' or 'log'")
    return space == "log"


def demand_labelling(values: Floats) -> None:
    """Raise where the value of a sequence [N] says that no labelling of it is allowed."""
    impossible = np.flatnonzero(values == -np.inf)
    if impossible.size:
        raise ValueError(
            f"sequence {impossible[0]} has no labelling above -inf"
            f"{f' (and {impossible.size - 1} more)' if impossible.size > 1 else ''}: "
            "relax the constraints, the allowed labels or the -inf scores"
        )


def cut_labellings(
    potentials: Potentials, paths: Ids, begins: NDArray[np.uint8] | None, scores: Floats
) -> list[list[Labelling]]:
    """Cut k paths of the kernels [k, P] with scores [N, k] into labellings of each sequence."""
    labels = potentials.as_labels(paths)
    ptr = potentials.seq_ptr.tolist()
    cut = []
    for n in range(len(ptr) - 1):
        here = slice(ptr[n], ptr[n + 1])
        cut.append(
            [
                Labelling(
                    labels[i, here],
                    float(scores[n, i]),
                    None if begins is None else begins[i, here].astype(np.bool_),
                )
                for i in range(len(labels))
                if scores[n, i] > -np.inf
            ]
        )
    return cut
