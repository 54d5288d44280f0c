"""Best labels of many sequences, in one array."""

from __future__ import annotations

from typing import Literal

import numpy as np

from crfkit import inference
from crfkit.structures.gold import Path
from crfkit.structures.potentials import Potentials

__all__ = ["flat_path"]


def flat_path(potentials: Potentials, method: Literal["viterbi", "posterior"], threads: int | None) -> Path:
    """Return the best labels of all sequences in one array, and where segments begin."""
    if method == "viterbi":
        return inference.best(potentials, threads=threads)[1]
    found = inference.decode(potentials, method, threads=threads)
    label = np.concatenate([np.zeros(0, dtype=np.int32), *(one.labels for one in found)])
    begin = [one.begin for one in found if one.begin is not None]
    return Path(potentials.seq_ptr, label, np.concatenate(begin) if begin else None)
