"""Gold: what the data say about the labels."""

from __future__ import annotations

from dataclasses import dataclass

from crfkit.arrays import Bools, Ids, Pointers

__all__ = ["Path"]


@dataclass(frozen=True, eq=False)
class Path:
    """One labelling of each sequence, end to end."""

    seq_ptr: Pointers  #: [N + 1]
    label: Ids  #: [P] (tree: one label of each variable)
    begin: Bools | None = None  #: [P] where segments begin; semi-Markov only
