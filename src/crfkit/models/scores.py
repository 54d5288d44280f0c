"""Best labels of many sequences, in one array."""

from __future__ import annotations

from itertools import pairwise
from typing import Final, Literal, TypeAlias

import numpy as np

from crfkit import inference
from crfkit.models.states import States
from crfkit.structures.gold import Path
from crfkit.structures.potentials import Potentials
from crfkit.structures.results import Labeling

#: The best labeling, or the most probable label of each position; None: the latter of hidden states only.
Decoding: TypeAlias = Literal["viterbi", "posterior"] | None
DECISIONS: Final = ("viterbi", "posterior")


def flat_path(
    potentials: Potentials, method: Decoding, threads: int | None, states: States | None = None
) -> Path:
    """Return the best labels of all sequences in one array, and where segments begin."""
    if method == "viterbi" or (method is None and states is None):
        return inference.best(potentials, threads=threads)[1]
    if states is not None and method in (None, "posterior"):
        node = inference.marginals(potentials, threads=threads).node
        return Path(potentials.seq_ptr, states.likely(node))
    assert method is not None
    found = inference.decode(potentials, method, threads=threads)
    label = np.concatenate([np.zeros(0, dtype=np.int32), *(one.labels for one in found)])
    begin = [one.begin for one in found if one.begin is not None]
    return Path(potentials.seq_ptr, label, np.concatenate(begin) if begin else None)


def decoded(
    potentials: Potentials, threads: int | None, states: States | None = None, method: Decoding = None
) -> list[Labeling]:
    """Return the best labeling of each sequence of a batch by a method, with its score.

    For hidden states it is that of `flat_path`, and its score is the log of the sum over all paths of states
    that have its labels.
    """
    if states is None:
        found: list[Labeling] = inference.decode(potentials, method or "viterbi", threads=threads)
        return found
    path = flat_path(potentials, method, threads, states)
    within = potentials.clamped(states.group == states.ids(path)[:, None])
    score = np.atleast_1d(inference.log_partition(within, threads=threads)).tolist()
    ends = pairwise(path.seq_ptr.tolist())
    return [Labeling(path.label[a:b], value) for (a, b), value in zip(ends, score, strict=True)]
