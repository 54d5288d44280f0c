"""Losses of data in blocks: one block in memory at a time, and the next one being read.

The loss of all data is the sum of the losses of the blocks, so that every method that asks for values and
gradients works block by block; stochastic methods visit the sequences of one block after the other. The dual
and perceptrons let every block make a pass of its own (`crfkit.optimize.parts`).

A block is bound to a layout of the attributes that it shows (`restrict.py`), and what its evaluations need is
made once and kept in a temporary file beside the blocks (`BlockStore`), which nobody else can change. On
CoNLL-2000 in blocks of 100,000 positions an evaluation takes 1.6 times as long as in memory, 2.0 times in
blocks of 25,000; bound anew each time they took 5.6 and 7.4 times as long.
The temporary file has no name (where the system allows it), so that it goes with the process, however that
ends.
"""

from __future__ import annotations

import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, TypeVar, cast
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from crfkit._safe.background import ahead
from crfkit._safe.cached import once
from crfkit.arrays import Floats, Ids, Pointers
from crfkit.data.batch import Batch
from crfkit.errors import NotCoveredError, warn_about
from crfkit.linear.diagonal import BLOCK_BYTES
from crfkit.linear.layout import Layout
from crfkit.linear.loss import LinearLoss
from crfkit.linear.restrict import add, take
from crfkit.optimize.dual.shared import SharedSequences
from crfkit.optimize.problem import Convex, Curvature, Differentiable, view_of
from crfkit.optimize.sequential.sequences import (
    DualSequences,
    PerceptronSequences,
    Prepared,
    SequenceBlocks,
    Sequences,
)
from crfkit.training.blocks.shard import Held, Shard, Summed
from crfkit.training.blocks.stream import BlockedData

__all__ = ["BlockStore"]

_ALIGNED = 64  # bytes


class BlockStore:
    """Named arrays for each block, in one temporary file.

    Parameters
    ----------
    folder : Path
        Where there is room.

    Examples
    --------
    >>> store = BlockStore(Path(tempfile.gettempdir()))
    >>> store.put(3, {"a": np.arange(3), "b": np.zeros((2, 0))})
    >>> 3 in store, 4 in store
    (True, False)
    >>> store.get(3)["a"].tolist(), store.get(3)["b"].shape
    ([0, 1, 2], (2, 0))
    """

    def __init__(self, folder: Path) -> None:
        self._file = tempfile.TemporaryFile(dir=folder, prefix="crfkit-", buffering=0)  # noqa: SIM115
        finalize(self, self._file.close)
        self._end = 0
        #: by block: where its arrays begin, and name, type, shape and offset of each
        self._places: dict[int, tuple[int, list[tuple[str, np.dtype[Any], tuple[int, ...], int]]]] = {}

    def __contains__(self, i: int) -> bool:
        return i in self._places

    def put(self, i: int, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Write the arrays of block i, all of them or, where that fails, none."""
        end, places = self._end, []
        for name, array in arrays.items():
            self._write(end, array)
            places.append((name, array.dtype, array.shape, end - self._end))
            end += -(-array.nbytes // _ALIGNED) * _ALIGNED
        self._file.truncate(end)
        self._places[i], self._end = (self._end, places), end

    def _write(self, at: int, array: NDArray[Any]) -> None:
        left = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        while left:
            done = os.pwrite(self._file.fileno(), left, at)
            left, at = left[done:], at + done

    def get(self, i: int) -> dict[str, NDArray[Any]]:
        """Return the arrays of block i, which stay in the file until they are used."""
        begin, places = self._places[i]
        data = np.memmap(self._file, dtype=np.uint8, mode="r", offset=begin)
        made = {}
        for name, dtype, shape, offset in places:
            size = dtype.itemsize * int(np.prod(shape))
            made[name] = np.asarray(data[offset : offset + size]).view(dtype).reshape(shape)
        return made


V = TypeVar("V")

#: The views that a loss of data in blocks can have.
BLOCKWISE: tuple[type, ...] = (
    Convex,
    Differentiable,
    Curvature,
    SequenceBlocks,
    DualSequences,
    PerceptronSequences,
    Prepared,
)


class SummedProblem(ABC):
    """The loss of data in blocks, wherever they are evaluated: what holds for it follows from one block.

    Parameters
    ----------
    data : BlockedData
    layout : Layout
    bind : function of a layout and a batch
        Gives the loss of one block: ``lambda layout, block: objective.bind(layout, structure, block)``.
    """

    views: tuple[type, ...] = BLOCKWISE  #: that it can have
    where: str = "data in blocks: it needs all of them in memory"  #: why it has no others

    def __init__(
        self, data: BlockedData, layout: Layout, bind: Callable[[Layout, Batch], LinearLoss]
    ) -> None:
        self.data, self.layout, self._bind = data, layout, bind
        self.kind = "set" if "set" in data.kinds else data.kinds[0]

    @property
    def size(self) -> int:
        """Number of weights, F."""
        return self.layout.weights

    @property
    def notes(self) -> list[str]:
        """What the summary of a training says about it."""
        return []

    @once
    def whole(self) -> LinearLoss:
        """A block bound to all weights: what holds for its objective and structure holds for all blocks."""
        return self._bind(self.layout, self.data.block(0))

    @property
    def convex(self) -> bool:
        """Whether every local optimum is a global one."""
        return self.whole.objective.convex and self.kind != "set"

    @property
    def minimizes(self) -> bool:
        """Whether minimizing it trains a model."""
        return self.whole.minimizes

    def lacks(self, kind: type) -> str:
        """Return why this loss has no such view; empty where it has one."""
        if kind in (SequenceBlocks, DualSequences, PerceptronSequences) and self.kind != "path":
            return "partial labels" if self.kind == "set" else "soft labels"
        return self.whole.lacks(kind) if kind in self.views else self.where

    def view(self, kind: type[V]) -> V:
        """Return the view of this loss that an optimizer needs."""
        against = self.lacks(kind)
        if against:
            raise NotCoveredError(against)
        sequences, positions, occurrences = self.data.sizes[:, :3].sum(axis=0).tolist()
        if kind is DualSequences:
            return cast(V, SharedSequences(self, sequences, positions, occurrences))
        if kind is PerceptronSequences:
            from crfkit.optimize.sequential.mixed import MixedSequences  # few need it

            return cast(V, MixedSequences(self))
        return cast(V, self)

    @abstractmethod
    def value_and_grad(self, w: Floats, gradient: Floats) -> float:
        """Return the loss at w [F], and write its gradient to `gradient` [F]."""

    @property
    @abstractmethod
    def shown(self) -> dict[int, Ids]:
        """The attributes that each block shows; those that say nothing about labels are left out."""

    @abstractmethod
    def ask(
        self,
        function: Callable[..., Any],
        given: Callable[[int], tuple[Any, ...]],
        numbers: Collection[int] | None = None,
        keep: bool = False,
    ) -> Iterator[tuple[int, Any]]:
        """Yield the number of each block and ``function(held, *given(number))``, in order of the blocks.

        `numbers` names some of them; `keep`: what the function keeps with a block is wanted again.
        """

    def take(self, i: int, w: Floats) -> Floats:
        """Return those of all weights [F] that block i shows."""
        return take(self.layout, self.shown[i], w)

    def add(self, i: int, part: Floats, sums: Floats) -> None:
        """Add what belongs to the weights of block i to all weights [F]."""
        add(self.layout, self.shown[i], part, sums)


class BlockedProblem(SummedProblem):
    """The loss of data in blocks as a function of the weights.

    Parameters
    ----------
    data, layout, bind
        As of `SummedProblem`.
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
        super().__init__(data, layout, bind)
        self.threads = threads
        self.prefetch = prefetch and data.blocks > 1
        self._held: dict[int, Held] = {}  # blocks whose sequences a method keeps something of
        self._shown: dict[int, Ids] = {}
        self._store: BlockStore | None = None
        if keep:
            with suppress(OSError):  # such as a folder that is read-only
                self._store = BlockStore(data.folder)

    @property
    def notes(self) -> list[str]:
        """What the summary of a training says about it."""
        size = self.memory / 2**20
        return [f"{self.data.blocks} blocks on disk, about {size:,.0f} MB of them in memory at a time"]

    @property
    def memory(self) -> int:
        """Bytes that blocks, what is made of them and their scores take at most, by estimate."""
        L, P = self.layout.labels, int(self.data.sizes[:, 1].max())
        cells = P * L + (BLOCK_BYTES // 8 if self.layout.edge_attributes else 0)
        each = 12 * self.data.largest + 8 * P * L  # mostly while the index of a block is made
        return each * (2 if self.prefetch else 1) + 3 * 8 * cells

    def value_and_grad(self, w: Floats, gradient: Floats) -> float:
        """Return the loss at w [F], and write its gradient to `gradient` [F]."""
        so_far = Summed(self.layout, self.whole.objective, gradient)
        with closing(self.shards()) as shards:
            for shard in shards:
                so_far.add(shard.evaluate(take(self.layout, shard.shown, w)), shard.shown)
                del shard  # before the next block but one is made
        return so_far.value

    def diagonal(self, w: Floats) -> Floats:
        """Return the approximate diagonal of the Hessian at w, [F]; see `LinearLoss.diagonal`."""
        diagonal = np.zeros(self.size)
        with closing(self.shards()) as shards:
            for shard in shards:
                part = shard.loss.diagonal(take(self.layout, shard.shown, w))
                add(self.layout, shard.shown, part, diagonal)
                del shard
        return diagonal

    def shards(self) -> Generator[Shard, None, None]:
        """Yield the shard of each block, except blocks that say nothing about their labels."""
        made = map(self._shard, range(self.data.blocks))
        return (shard for shard in (ahead(made) if self.prefetch else made) if shard is not None)

    @property
    def shown(self) -> dict[int, Ids]:
        """The attributes that each block shows; those that say nothing about labels are left out."""
        if not self._shown:
            self._shown = dict(self._each(lambda held: held.shard.shown, lambda i: (), None))
        return self._shown

    def ask(
        self,
        function: Callable[..., Any],
        given: Callable[[int], tuple[Any, ...]],
        numbers: Collection[int] | None = None,
        keep: bool = False,
    ) -> Iterator[tuple[int, Any]]:
        """Yield what a function returns for each block; with `keep` all blocks stay in memory."""
        if not keep:
            yield from self._each(function, given, numbers)
            return
        for i in self.shown if numbers is None else numbers:
            if i not in self._held:
                self._held[i] = Held(self._shard(i))
            yield i, function(self._held[i], *given(i))

    def _each(
        self, function: Any, given: Callable[[int], tuple[Any, ...]], numbers: Collection[int] | None
    ) -> Iterator[tuple[int, Any]]:
        wanted = range(self.data.blocks) if numbers is None else numbers
        made = ((i, self._shard(i)) for i in wanted)
        with closing(ahead(made) if self.prefetch else made) as shards:
            for i, shard in shards:
                if shard is not None:
                    yield i, function(Held(shard), *given(i))
                del shard  # before the next block but one is made

    def sizes(self, who: str) -> Pointers:
        """Return how many sequences of each block are not empty; refuse those that cannot be visited."""
        every = (view_of(self._bind(self.layout, block), SequenceBlocks, who).block(0) for block in self.data)
        return np.array([len(sequences.filled) for sequences in every])

    def block(self, i: int) -> Sequences:
        """Return the sequences of one block, as stochastic optimizers visit them."""
        return self._bind(self.layout, self.data.block(i)).view(SequenceBlocks).block(0)

    def _shard(self, i: int) -> Shard | None:
        if self._store is not None and i in self._store:
            return Shard.unpacked(self.layout, self._store.get(i), self._bind)
        shard = Shard.of(self.layout, self.data.block(i), self._bind)
        if shard is not None and self._store is not None:
            self._keep(self._store, i, shard)
        return shard

    def _keep(self, store: BlockStore, i: int, shard: Shard) -> None:
        try:
            store.put(i, shard.packed())
        except OSError as error:
            self._store = None
            warn_about(
                f"what evaluations need cannot be kept in {self.data.folder}: {error.strerror or error}; it "
                "is made anew for each of them, which takes several times as long: make room there"
            )
