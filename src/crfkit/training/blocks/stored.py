"""One block on disk: where it is, and what its file must hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from crfkit.arrays import Pointers
from crfkit.data.axes import axes
from crfkit.data.batch import Batch
from crfkit.structures.gold import kind_of_gold
from crfkit.training.runs.checkpoint import digest
from crfkit.training.runs.tree import read_tree, write_tree

REMEDY = "write the blocks again"


def block_path(folder: Path, i: int) -> Path:
    """Return the file of a block."""
    return folder / f"block-{i:06}.safetensors"


@dataclass(frozen=True)
class StoredBlock:
    """A block on disk, as the index of its folder has it; small enough to travel with every task."""

    path: Path
    sequences: int
    positions: int
    occurrences: int
    kind: str  #: of gold: "path", "set" or "soft"
    dense: int  #: real-valued columns
    names: Mapping[str, int]  #: how many labels, attributes, edges and segments may be numbered

    def read(self) -> Batch:
        """Return the block, read as a whole and checked against the index."""
        kept = read_tree(self.path, REMEDY)
        given = {}
        for name in kept:
            axis = axes(Batch).get(name)
            if axis is None:
                kept.wrong(name, "nothing")
            given[name] = kept.held(name, axis.dtype, *[None] * (1 if axis.columns is None else 2))
            if axis.numbers is not None:
                kept.check_range(name, given[name], self.names[axis.numbers], -(axis.numbers == "labels"))
        for name in ("seq_ptr", "attr_ptr", "attr"):
            _ = kept[name]
        try:
            batch = Batch(**given)
        except ValueError as error:
            raise ValueError(f"{kept.source} is damaged: {error}; {REMEDY}") from None
        columns = 0 if batch.dense is None else batch.dense.shape[1]
        found = (batch.sequences, batch.positions, len(batch.attr), kind_of_gold(batch), columns)
        if found != (self.sequences, self.positions, self.occurrences, self.kind, self.dense):
            raise ValueError(f"{kept.source} is not the block that was written there; {REMEDY}")
        return batch


class Written(NamedTuple):
    """What the index keeps of a block that was written."""

    sizes: tuple[int, int, int, int]  #: sequences, positions, occurrences, bytes
    label_counts: Pointers  #: positions of each label that it shows, from 0 on
    kind: str
    dense: int
    digest: str


def write_block(path: Path, batch: Batch) -> Written:
    """Write a block, as a whole or not at all."""
    arrays = {f.name: a for f in fields(Batch) if (a := getattr(batch, f.name)) is not None}
    write_tree(path, arrays)
    shown: Any = [] if batch.label is None else batch.label[batch.label >= 0]
    return Written(
        (batch.sequences, batch.positions, len(batch.attr), sum(a.nbytes for a in arrays.values())),
        np.bincount(shown).astype(np.int64),
        kind_of_gold(batch),
        0 if batch.dense is None else batch.dense.shape[1],
        digest([batch]),
    )
