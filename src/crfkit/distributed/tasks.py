"""What workers do: pure functions of their arguments, whose results can be made again anywhere."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from crfkit.arrays import Floats, Ids
from crfkit.data.batch import Batch
from crfkit.distributed.connection import Machine
from crfkit.linear.layout import Layout
from crfkit.linear.plan import Block
from crfkit.training.blocks.shard import Binding, Held, Part, Shard
from crfkit.training.blocks.stored import StoredBlock
from crfkit.training.runs.tree import read_tree, write_tree

__all__ = ["HeldShard", "ShardAddress", "called", "diagonal", "evaluate", "gold_alone", "open_shard", "shown"]
__all__ += ["write_layout"]

T = TypeVar("T")


def called(block: StoredBlock, function: Callable[..., T], *others: Any) -> T:
    """Return what a function returns for a block."""
    return function(block.read(), *others)


def write_layout(folder: Path, layout: Layout) -> Path:
    """Write a layout beside the blocks, and return its file; one for each training."""
    number, name = tempfile.mkstemp(".safetensors", "layout-", folder)
    os.close(number)
    blocks = [{"slot": b.slot, "by": b.by, "ptr": b.ptr, "cell": b.cell} for b in layout.blocks]
    write_tree(Path(name), {"table_bytes": layout.table_bytes, "blocks": blocks})
    return Path(name)


def _read_layout(path: Path, bind: Binding) -> Layout:
    tree = read_tree(path, "start the training again")
    made = []
    for kept in tree["blocks"]:
        made.append(Block(kept["slot"], kept["by"], kept["ptr"], kept["cell"]))
    return Layout(bind.structure.slots(), tuple(made), tree.count("table_bytes"))


@dataclass(frozen=True)
class ShardAddress:
    """All that a shard is made of."""

    block: StoredBlock
    layout: Path
    bind: Binding
    machine: Machine  #: as which workers must compute

    def open(self) -> Shard | None:
        """Read the block and bind it; None where it says nothing about labels."""
        why = self.machine.refused(Machine.here())
        if why:
            raise ValueError(f"worker {_own_address()} {why}")
        try:
            batch = self.block.read()
            layout = _read_layout(self.layout, self.bind)
        except OSError as error:
            raise ValueError(
                f"worker {_own_address()} cannot read {error.filename or self.block.path} "
                f"({error.strerror or error}); put the blocks on a disk that all machines mount under this "
                "path"
            ) from None
        shard = Shard.of(layout, batch, self.bind)
        if shard is not None:
            shard.loss.prepare()
        return shard


class HeldShard(Held):
    """A shard in the memory of a worker; elsewhere, and on its disk, it is its address and made again."""

    def __init__(self, address: ShardAddress) -> None:
        super().__init__(address.open())
        self.address = address

    def __reduce__(self) -> tuple[Any, ...]:
        return HeldShard, (self.address,)

    def __sizeof__(self) -> int:
        """Return its bytes, for those who look after the memory of the worker."""
        if self.shard is None:
            return 1000
        arrays = self.shard.packed().values()
        cells = self.shard.loss.batch.positions * self.shard.loss.layout.labels
        return sum(array.nbytes for array in arrays) + 8 * cells


def open_shard(address: ShardAddress) -> HeldShard:
    """Return a shard."""
    return HeldShard(address)


def shown(held: HeldShard) -> Ids | None:
    """Return the attributes that a shard shows; None where it says nothing about labels."""
    return None if held.shard is None else held.shard.shown


def evaluate(held: HeldShard, w: Floats) -> Part:
    """Return the part of a shard in the loss of all data."""
    assert held.shard is not None
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return held.shard.evaluate(w)


def diagonal(held: HeldShard, w: Floats) -> Floats:
    """Return the part of a shard in the diagonal of the Hessian."""
    assert held.shard is not None
    return held.shard.loss.diagonal(w)


def gold_alone(batch: Batch) -> Batch:
    """Return a batch without attributes: its sequences and what is known about their labels."""
    none = np.zeros(batch.positions + 1, dtype=np.int64)
    gold = {name: getattr(batch, name) for name in ("label", "allowed", "soft", "begin", "weight")}
    return Batch(batch.seq_ptr, none, np.zeros(0, np.int32), **gold)


def _own_address() -> str:
    from distributed import get_worker

    try:
        return str(get_worker().address)
    except ValueError:  # not on a worker
        return "here"
