"""One block as a function of the weights that it shows: what a machine holds of the data while it trains.

The loss of all data is the sum of the losses of the blocks, in their order. A shard takes the weights that it
shows (`crfkit.linear.restrict`) and returns a part of that sum; so it may be evaluated here, one after the
other (`problem.py`), or on another machine (`crfkit.distributed`), with the same bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crfkit.arrays import Floats, Ids
from crfkit.data.batch import Batch
from crfkit.linear.layout import Layout
from crfkit.linear.loss import Joined, LinearLoss
from crfkit.linear.objective import Objective
from crfkit.linear.restrict import add, restrict
from crfkit.structures.structure import Structure


@dataclass(frozen=True)
class Binding:
    """What makes the loss of a block: the objective, settled by all data, and the structure."""

    objective: Objective
    structure: Structure
    threads: int | None = None

    def __call__(self, layout: Layout, batch: Batch) -> LinearLoss:
        """Return the loss of a batch as a function of the weights of a layout."""
        return self.objective.bind(layout, self.structure, batch.nonzero(), threads=self.threads)


class Part(NamedTuple):
    """What a block adds to the loss of all data."""

    value: float
    weight: float  #: of its sequences
    gradient: Floats  #: by the weights that it shows


@dataclass(frozen=True, eq=False)
class Shard:
    """The loss of one block, bound to a layout of the attributes that it shows."""

    loss: LinearLoss
    shown: Ids  #: these attributes, in the layout of all

    @classmethod
    def of(cls, layout: Layout, batch: Batch, bind: Any) -> Shard | None:
        """Return the shard of a block in the layout of all data; None where it says nothing about labels."""
        if not _knows(batch):
            return None  # log Z - log Z
        own, attr, shown = restrict(layout, batch)
        return cls(bind(own, replace(batch, attr=attr)), shown)

    def evaluate(self, w: Floats) -> Part:
        """Return the loss at the weights that it shows, and its gradient."""
        gradient = np.empty(self.loss.size)
        value = self.loss.value_and_grad(w, gradient)
        return Part(value, float(self.loss.weight.sum()), gradient)

    def packed(self) -> dict[str, NDArray[Any]]:
        """Return what evaluations need, as arrays; `unpacked` takes them in this process."""
        layout, batch = self.loss.layout, self.loss.batch
        own = {f"batch.{f.name}": getattr(batch, f.name) for f in fields(batch)}
        own |= {"node_ptr": layout.node_ptr, "node_label": layout.node_label, "shown": self.shown}
        return {name: array for name, array in own.items() if array is not None} | self.loss.packed()

    @classmethod
    def unpacked(cls, layout: Layout, kept: Mapping[str, NDArray[Any]], bind: Any) -> Shard:
        """Return a shard from what `packed` gave."""
        rest = dict(kept)
        names = [name for name in rest if name.startswith("batch.")]
        batch = Batch.unchecked(**{name.removeprefix("batch."): rest.pop(name) for name in names})
        node_ptr, node_label, shown = (rest.pop(name) for name in ("node_ptr", "node_label", "shown"))
        loss = bind(layout.with_block("node", node_label, node_ptr), batch)
        if rest:
            loss.unpack(rest)
        return cls(loss, shown)


class Held:
    """A shard in memory, and what methods keep with it."""

    def __init__(self, shard: Shard | None) -> None:
        self.shard = shard
        self.kept: dict[str, Any] = {}
        self.lock = Lock()

    @property
    def loss(self) -> LinearLoss:
        """The loss of a shard that says something about labels."""
        assert self.shard is not None
        return self.shard.loss


class Summed:
    """The loss of all data and its gradient [F], from the parts in the order of the blocks."""

    def __init__(self, layout: Layout, objective: Objective, gradient: Floats) -> None:
        self._layout, self._joined = layout, Joined(gradient, objective)

    def add(self, part: Part, shown: Ids) -> None:
        """Take in the part of the next block, whose gradient is used up."""
        self._joined.scale(part.value, part.weight, part.gradient)
        add(self._layout, shown, part.gradient, self._joined.gradient)

    @property
    def value(self) -> float:
        """The loss so far."""
        return self._joined.value


def _knows(batch: Batch) -> bool:
    """Return whether a block says anything about its labels."""
    if batch.allowed is not None or batch.soft is not None:
        return True
    return batch.label is not None and bool((batch.label >= 0).any())
