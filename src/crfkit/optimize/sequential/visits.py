"""The sequences that stochastic passes visit, block by block; those in memory are one block.

Pass p visits the blocks in random order, and the sequences of each block in random order, drawn by one
generator seeded with (seed, p): the number of the pass is all the state that there is, and data in one block
are visited in the same order as data in memory. One block is in memory at a time, and the next on its way.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from crfkit import _native
from crfkit._safe.background import ahead
from crfkit.arrays import Pointers
from crfkit.optimize.problem import view_of
from crfkit.optimize.sequential.sequences import SequenceBlocks

__all__ = ["Visit", "Visits"]

Visit = tuple[int, Pointers]  # a block, and places among its sequences that are not empty


class Visits:
    """Labeled sequences in blocks.

    Parameters
    ----------
    problem
        A loss with `SequenceBlocks`.
    who : str
        The optimizer, for messages.
    """

    def __init__(self, problem: Any, who: str) -> None:
        blocks = view_of(problem, SequenceBlocks, who)
        self.sizes = blocks.sizes(who)  #: [blocks] sequences that are not empty
        self._load = blocks.block
        first = self._load(0)
        none = np.zeros(0, dtype=np.int32)
        zero = np.zeros(1, dtype=np.int64)
        #: the layout of the weights, without any sequence
        self.layout = replace(
            first,
            seq_ptr=zero,
            attr_ptr=zero,
            attr=none,
            value=None,
            label=none,
            weight=None,
            edges=first.edges and first.edges._replace(ptr=zero, attr=none, value=None),
        )
        self._last: tuple[int, _native.CompiledSequences, Pointers] | None = None

    @property
    def total(self) -> int:
        """Sequences that are not empty, N."""
        return int(self.sizes.sum())

    def plan(self, seed: int, number: int) -> Iterator[Visit]:
        """Yield the visits of a pass, counted from 1."""
        generator = np.random.default_rng([seed, number])
        for block in generator.permutation(len(self.sizes)).tolist():
            yield block, generator.permutation(self.sizes[block])

    def sample(self, seed: int, count: int) -> list[Visit]:
        """Return the first visits of pass 0, which no run makes: from as few blocks as have that many."""
        visits = []
        for block, places in self.plan(seed, 0):
            visits.append((block, places[:count]))
            count -= len(visits[-1][1])
            if count <= 0:
                break
        return visits

    def compiled(
        self, trainer: _native.StochasticTrainer, visits: Iterable[Visit]
    ) -> Generator[tuple[_native.CompiledSequences, Pointers], None, None]:
        """Yield the blocks of some visits as the trainer takes them, and the order of their sequences."""

        def make(visit: Visit) -> tuple[_native.CompiledSequences, Pointers]:
            block, places = visit
            if self._last is None or self._last[0] != block:
                self._last = None
                arrays = self._load(block)
                self._last = block, trainer.compile(arrays.native), arrays.filled
            _, sequences, filled = self._last
            return sequences, filled[places]

        made = map(make, visits)
        yield from made if len(self.sizes) == 1 else ahead(made)
