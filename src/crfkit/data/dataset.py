"""Datasets: a batch and the alphabets that give names to its labels and attributes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from crfkit.arrays import Bools, Pointers
from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch

__all__ = ["Dataset"]


@dataclass(frozen=True, eq=False)
class Dataset:
    """A batch with the names of its labels and attributes.

    Examples
    --------
    >>> from crfkit.features import ItemExtractor
    >>> data = ItemExtractor()([[["the"], ["dog"]], [["dogs"]], [["cats"]]], [["D", "N"], ["N"], ["N"]])
    >>> len(data), len(data[1:]), len(data[[2, 0]]), data[-1].batch.attr.tolist()
    (3, 2, 2, [3])
    >>> [sequence.batch.positions for sequence in data]
    [2, 1, 1]
    """

    batch: Batch
    labels: Alphabet
    attributes: Alphabet
    edge_attributes: Alphabet

    def __len__(self) -> int:
        return self.batch.sequences

    def __getitem__(self, which: int | Sequence[int] | slice | Pointers | Bools) -> Dataset:
        """Return one sequence, or those of a slice, a list of numbers or a mask [N], with the same names."""
        if isinstance(which, int | np.integer):
            which = [int(which)]
        return replace(self, batch=self.batch.select(which))

    def __iter__(self) -> Iterator[Dataset]:
        return (self[n] for n in range(len(self)))
