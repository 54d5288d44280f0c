"""Best labels of many sequences, in one array."""

from __future__ import annotations

from typing import Literal

import numpy as np

from crfkit import inference
from crfkit.arrays import Ids
from crfkit.structures.potentials import Potentials

__all__ = ["flat_labels"]


def flat_labels(potentials: Potentials, method: Literal["viterbi", "posterior"], threads: int | None) -> Ids:
    """Return the ids of the best labels of all sequences in one array, [P]."""
    if method == "viterbi":
        return inference.best(potentials, threads=threads)[1].label
    found = inference.decode(potentials, method, threads=threads)
    return np.concatenate([np.zeros(0, dtype=np.int32), *(labelling.labels for labelling in found)])
