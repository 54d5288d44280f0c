"""Best labels of many sequences at once, and whether a layout fits a structure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np

from crfkit import inference
from crfkit.arrays import Ids
from crfkit.linear.layout import Layout
from crfkit.native import kernels, threads_or_all
from crfkit.structures import Chain, ChainPotentials
from crfkit.structures.local import LocalChain
from crfkit.structures.structure import Slot

__all__ = ["check_fits", "flat_labels"]


def flat_labels(
    potentials: ChainPotentials, method: Literal["viterbi", "posterior"], threads: int | None
) -> Ids:
    """Return the ids of the best labels of all sequences, end to end: [P]."""
    if method == "viterbi" and potentials.expansion is None:
        values, paths, _ = kernels.best(potentials.problem, threads_or_all(threads))  # [N], [1, P]
        if values.min(initial=0.0) > -np.inf:
            best: Ids = paths[0]
            return best
    found = inference.decode(potentials, method, threads=threads)
    return np.concatenate([np.zeros(0, dtype=np.int32), *(labelling.labels for labelling in found)])


def check_fits(structure: Chain, layout: Layout) -> None:
    """Raise unless a layout has weights for the scores of a structure, and for no others."""
    if dict(layout.slots) != structure.slots():
        raise ValueError(
            f"the layout has weights for {_scores(layout.slots)}; {structure.describe()} of "
            f"{len(structure.labels)} labels takes {_scores(structure.slots())}"
        )
    if layout.stop and isinstance(structure, LocalChain):
        raise ValueError("the layout has stop weights, which a locally normalised chain has not")


def _scores(slots: Mapping[str, Slot]) -> str:
    return ", ".join(f"{name} ({slot.cells:,})" for name, slot in slots.items())
