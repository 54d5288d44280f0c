"""Losses of data in blocks: one block in memory at a time, and the next one being read.

The loss of all data is the sum of the losses of the blocks, so that every method that asks for values and
gradients works block by block; stochastic methods visit the sequences of one block after the other.

A block is bound to a layout of the attributes that it shows (`restrict.py`), and what its evaluations need is
made once and kept in a temporary file beside the blocks (`store.py`), which nobody else can change. On
CoNLL-2000 in blocks of 100,000 positions an evaluation takes 1.6 times as long as in memory, 2.0 times in
blocks of 25,000; bound anew each time they took 5.6 and 7.4 times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing, suppress
from dataclasses import fields, replace
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from crfkit._safe.background import ahead
from crfkit._safe.cached import once
from crfkit.arrays import Floats, Ids, Pointers
from crfkit.data.batch import Batch
from crfkit.errors import NotCoveredError, warn_about
from crfkit.linear.diagonal import BLOCK_BYTES
from crfkit.linear.layout import Layout
from crfkit.linear.loss import Joined, LinearLoss
from crfkit.linear.restrict import add, restrict, take
from crfkit.optimize.problem import Convex, Curvature, Differentiable, view_of
from crfkit.optimize.sequential.sequences import SequenceBlocks, Sequences
from crfkit.training.blocks.store import BlockStore
from crfkit.training.blocks.stream import BlockedData

V = TypeVar("V")

#: The views that a loss of data in blocks can have.
BLOCKWISE: tuple[type, ...] = (Convex, Differentiable, Curvature, SequenceBlocks)

__all__ = ["BLOCKWISE", "Block", "BlockedProblem"]


class Block(NamedTuple):
    """The loss of one block as a function of some of the weights."""

    problem: LinearLoss
    shown: Ids  #: the attributes that it has, in the layout of all


class BlockedProblem:
    """The loss of data in blocks as a function of the weights.

    Parameters
    ----------
    data : BlockedData
    layout : Layout
    bind : function of a layout and a batch
        Gives the loss of one block: ``lambda layout, block: objective.bind(layout, structure, block)``.
    threads : int, optional
        For stochastic methods, which ask the problem; `bind` has its own.
    prefetch : bool
        Read the next block while one is used.
    keep : bool
        Keep what a block needs for evaluations in a temporary file in the folder of the blocks, three to six
        times as large as they are. Where nothing may be written there, it is made for each evaluation.

    Notes
    -----
    Memory: `memory` bytes at most beside the optimizer's own vectors of `size` numbers.
    """

    def __init__(
        self,
        data: BlockedData,
        layout: Layout,
        bind: Callable[[Layout, Batch], LinearLoss],
        *,
        threads: int | None = None,
        prefetch: bool = True,
        keep: bool = True,
    ) -> None:
        self.data, self.layout, self.threads = data, layout, threads
        self.prefetch = prefetch and data.blocks > 1
        self.kind = "set" if "set" in data.kinds else data.kinds[0]
        self._bind = bind
        self._store: BlockStore | None = None
        if keep:
            with suppress(OSError):  # such as a folder that is read-only
                self._store = BlockStore(data.folder)

    @property
    def size(self) -> int:
        """Number of weights, F."""
        return self.layout.weights

    @property
    def memory(self) -> int:
        """Bytes that blocks, what is made of them and their scores take at most, by estimate."""
        L, P = self.layout.labels, int(self.data.sizes[:, 1].max())
        cells = P * L + (BLOCK_BYTES // 8 if self.layout.edge_attributes else 0)
        each = 12 * self.data.largest + 8 * P * L  # mostly while the index of a block is made
        return each * (2 if self.prefetch else 1) + 3 * 8 * cells

    def value_and_grad(self, w: Floats, gradient: Floats) -> float:
        """Return the loss at w [F], and write its gradient to `gradient` [F]."""
        so_far = Joined(gradient)
        with closing(self.blocks()) as blocks:
            for problem, shown in blocks:
                part = np.empty(problem.size)
                value = problem.value_and_grad(take(self.layout, shown, w), part)
                so_far.scale(problem, value, part)
                add(self.layout, shown, part, gradient)
                del problem, shown  # before the next block but one is made
        return so_far.value

    def diagonal(self, w: Floats) -> Floats:
        """Return the approximate diagonal of the Hessian at w, [F]; see `LinearLoss.diagonal`."""
        diagonal = np.zeros(self.size)
        with closing(self.blocks()) as blocks:
            for problem, shown in blocks:
                add(self.layout, shown, problem.diagonal(take(self.layout, shown, w)), diagonal)
                del problem, shown
        return diagonal

    def blocks(self) -> Generator[Block, None, None]:
        """Yield the problem of each block, except blocks that say nothing about their labels."""
        numbers = range(self.data.blocks)
        made = map(self._block, numbers)
        return (block for block in (ahead(made) if self.prefetch else made) if block is not None)

    @once
    def _whole(self) -> LinearLoss:
        """A block bound to all weights: what holds for its objective and structure holds for all blocks."""
        return self._bind(self.layout, self.data.block(0))

    @property
    def convex(self) -> bool:
        """Whether every local optimum is a global one."""
        return self._whole.objective.convex and self.kind != "set"

    @property
    def minimizes(self) -> bool:
        """Whether minimizing it trains a model."""
        return self._whole.minimizes

    def lacks(self, kind: type) -> str:
        """Return why this loss has no such view; empty where it has one."""
        if kind not in BLOCKWISE:
            return "data in blocks: it needs all of them in memory"
        return self._whole.lacks(kind)

    def view(self, kind: type[V]) -> V:
        """Return the view of this loss that an optimizer needs."""
        against = self.lacks(kind)
        if against:
            raise NotCoveredError(against)
        return cast(V, self)

    def sizes(self, who: str) -> Pointers:
        """Return how many sequences of each block are not empty; refuse those that cannot be visited."""
        every = (view_of(self._bind(self.layout, block), SequenceBlocks, who).block(0) for block in self.data)
        return np.array([len(sequences.filled) for sequences in every])

    def block(self, i: int) -> Sequences:
        """Return the sequences of one block, as stochastic optimizers visit them."""
        return self._bind(self.layout, self.data.block(i)).view(SequenceBlocks).block(0)

    def _block(self, i: int) -> Block | None:
        if self._store is not None and i in self._store:
            return self._kept(self._store.get(i))
        batch = self.data.block(i)
        if not _knows(batch):
            return None  # log Z - log Z
        layout, attr, shown = restrict(self.layout, batch)
        problem = self._bind(layout, replace(batch, attr=attr))
        if self._store is not None:
            self._keep(self._store, i, problem, shown)
        return Block(problem, shown)

    def _keep(self, store: BlockStore, i: int, problem: LinearLoss, shown: Ids) -> None:
        layout, batch = problem.layout, problem.batch
        own = {f"batch.{f.name}": getattr(batch, f.name) for f in fields(batch)}
        own |= {"node_ptr": layout.node_ptr, "node_label": layout.node_label, "shown": shown}
        try:
            store.put(i, {name: array for name, array in own.items() if array is not None} | problem.packed())
        except OSError as error:
            self._store = None
            warn_about(
                f"what evaluations need cannot be kept in {self.data.folder}: {error.strerror or error}; it "
                "is made anew for each of them, which takes several times as long: make room there"
            )

    def _kept(self, kept: dict[str, NDArray[Any]]) -> Block:
        names = [name for name in kept if name.startswith("batch.")]
        batch = Batch.unchecked(**{name.removeprefix("batch."): kept.pop(name) for name in names})
        node_ptr, node_label, shown = (kept.pop(name) for name in ("node_ptr", "node_label", "shown"))
        layout = self.layout.with_block("node", node_label, node_ptr)
        problem = self._bind(layout, batch)
        if kept:
            problem.unpack(kept)
        return Block(problem, shown)


def _knows(batch: Batch) -> bool:
    """Return whether a block says anything about its labels."""
    if batch.allowed is not None or batch.soft is not None:
        return True
    return batch.label is not None and bool((batch.label >= 0).any())
