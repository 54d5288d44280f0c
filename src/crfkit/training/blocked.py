"""Objectives of data in blocks: one block in memory at a time, and one on its way.

The loss of all data is the sum of the losses of the blocks, so that every method that asks for values and
gradients works block by block; online methods take the blocks one after the other (`BlockedProblem.blocks`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from crfkit.batch import Batch
from crfkit.layout import Layout
from crfkit.objectives.diagonal import BLOCK_BYTES
from crfkit.objectives.gold import kind_of_gold
from crfkit.optimise.problem import Smooth
from crfkit.structures import Chain
from crfkit.structures.labels import Floats
from crfkit.training.stream import BlockedData

__all__ = ["BlockedProblem", "check_blocks"]


class BlockedProblem:
    """The loss of data in blocks as a function of the weights.

    Parameters
    ----------
    data : BlockedData
    layout : Layout
    chain : Chain
    bind : function of a batch
        Gives the loss of one block, such as ``lambda block: objective.bind(layout, chain, block)``.
    threads : int, optional
        For those who ask the problem, as online methods do; `bind` has its own.
    prefetch : bool
        Read and index the next block while one is at work.

    Notes
    -----
    Memory: `memory` bytes at most beside the optimiser's own vectors of `size` numbers.
    """

    def __init__(
        self,
        data: BlockedData,
        layout: Layout,
        chain: Chain,
        bind: Callable[[Batch], Smooth],
        *,
        threads: int | None = None,
        prefetch: bool = True,
    ) -> None:
        self.data, self.layout, self.chain, self.threads = data, layout, chain, threads
        self.prefetch = prefetch and data.blocks > 1
        self.kind = "set" if "set" in data.kinds else data.kinds[0]
        self._bind = bind
        self._part = np.empty(layout.weights)  # [F]

    @property
    def size(self) -> int:
        """Number of weights, F."""
        return self.layout.weights

    @property
    def memory(self) -> int:
        """Bytes that blocks, their indexes, their scores and one gradient take at most, by estimate."""
        L, P = self.layout.labels, int(self.data.sizes[:, 1].max())
        cells = P * L + (BLOCK_BYTES // 8 if self.layout.edge_attributes else 0)
        each = 2 * self.data.largest + 8 * P * L  # the batch, its index, room for scores
        return each * (2 if self.prefetch else 1) + 3 * 8 * cells + 8 * self.size

    def value_and_grad(self, w: Floats, gradient: Floats) -> float:
        """Return the loss at w [F]; its gradient goes to `gradient` [F]."""
        value = 0.0
        gradient[:] = 0.0
        for problem in self.blocks():
            value += problem.value_and_grad(w, self._part)
            gradient += self._part
        return value

    def blocks(self, order: Sequence[int] | None = None) -> Iterator[Any]:
        """Yield the problem of each block, in this order; blocks without any knowledge are left out."""
        chosen = range(self.data.blocks) if order is None else order
        if not self.prefetch:
            yield from (made for i in chosen if (made := self._problem(i)) is not None)
            return
        with ThreadPoolExecutor(1, "crfkit-block") as reader:
            coming: Future[Smooth | None] | None = None
            for i in chosen:
                ready, coming = coming, reader.submit(self._problem, i)
                if ready is not None and (made := ready.result()) is not None:
                    yield made
                    del made
            if coming is not None and (made := coming.result()) is not None:
                yield made

    def _problem(self, i: int) -> Smooth | None:
        block = self.data.block(i)
        label = block.label
        if block.allowed is None and block.soft is None and (label is None or (label < 0).all()):
            return None  # log Z - log Z
        if label is not None and kind_of_gold(block) == "path" and (label == label[0]).all():
            # As a whole a data set of one label is a mistake, and refused; a block of one is none.
            only = np.zeros((block.positions, self.layout.labels), dtype=np.bool_)
            only[:, label[0]] = True
            block = replace(block, label=None, allowed=only)
        return self._bind(block)


def check_blocks(data: BlockedData, names: Sequence[str]) -> None:
    """Raise where there is nothing to learn from; the blocks themselves are checked as they are bound."""
    known = data.label_counts > 0
    if set(data.kinds) == {"path"} and np.count_nonzero(known) == 1:
        name = names[int(np.argmax(known))]
        raise ValueError(f"all {data.positions} positions have the label {name!r}: nothing to learn")
    if not known.any() and "soft" not in data.kinds and all(b.allowed is None for b in data):
        raise ValueError("no position has a label: training needs some")
