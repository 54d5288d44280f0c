"""The loss of data in blocks that workers hold: weights go out, values and gradients come back.

Each block is bound once, on one worker, and stays there. An evaluation sends each worker the weights that
its blocks show, and adds what comes back in the order of the blocks, as `BlockedProblem` does: the bits are
those of one machine, for any number of workers, and whatever happened to them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from weakref import finalize

import numpy as np

from crfkit._safe.printable import counted
from crfkit.arrays import Floats, Ids
from crfkit.distributed import tasks
from crfkit.distributed.connection import Machine, reachable
from crfkit.distributed.placing import Placing
from crfkit.distributed.waiting import Patience, check_connected, failures_named
from crfkit.errors import warn_about
from crfkit.linear.layout import Layout
from crfkit.linear.restrict import add, take
from crfkit.training.blocks.problem import SummedProblem
from crfkit.training.blocks.shard import Binding, Summed
from crfkit.training.blocks.stream import BlockedData

if TYPE_CHECKING:
    from distributed import Client, Future

__all__ = ["ClusterProblem"]

_LATE = 5.0  # times the time that others took: then a part is asked for once more, elsewhere
_LEAST = 3.0  # seconds, at least
_BEAT = 0.25  # seconds between looks at what is late
_GLANCE = 0.002  # seconds between looks at what has come


class ClusterProblem(SummedProblem):
    """The loss of blocks on a cluster as a function of the weights.

    Parameters
    ----------
    client : distributed.Client
    data : BlockedData
        In a folder that all workers see.
    layout : Layout
    bind : Binding
    """

    def __init__(self, client: Client, data: BlockedData, layout: Layout, bind: Binding) -> None:
        super().__init__(data, layout, bind)
        self.client = client
        file = tasks.write_layout(data.folder, layout)
        finalize(self, file.unlink, missing_ok=True)
        # Workers call as many tasks at a time as they have threads; fewer blocks than that share the rest.
        held = replace(bind, threads=max(sum(client.nthreads().values()) // data.blocks, 1))

        def address(i: int) -> tasks.ShardAddress:
            return tasks.ShardAddress(data.stored(i), file, held, Machine.here())

        self._placing = Placing(client, address, data.sizes[:, 3].tolist())
        self._took: list[float] = []  # seconds of the last evaluations
        self._direct = reachable(client)
        self._shown: dict[int, Ids] = {}  # by block; those that say nothing about labels are left out

    @property
    def notes(self) -> list[str]:
        """What the summary of a training says about it."""
        blocks, workers = counted(self.data.blocks, "block"), counted(len(self.client.nthreads()), "worker")
        return [f"{blocks}, held by {workers} when training began"]

    def value_and_grad(self, w: Floats, gradient: Floats) -> float:
        """Return the loss at w [F], and write its gradient to `gradient` [F]."""
        so_far = Summed(self.layout, self.whole.objective, gradient)
        for i, part in self._parts(tasks.evaluate, w):
            so_far.add(part, self.shown[i])
        return so_far.value

    def diagonal(self, w: Floats) -> Floats:
        """Return the approximate diagonal of the Hessian at w, [F]; see `LinearLoss.diagonal`."""
        found = np.zeros(self.size)
        for i, part in self._parts(tasks.diagonal, w):
            add(self.layout, self.shown[i], part, found)
        return found

    @property
    def shown(self) -> dict[int, Ids]:
        """The attributes that each block shows."""
        if not self._shown:
            found = self._asked(range(self.data.blocks), tasks.shown, lambda i: ())
            self._shown = {i: ids for i, ids in found if ids is not None}
        return self._shown

    def ask(
        self,
        function: Callable[..., Any],
        given: Callable[[int], tuple[Any, ...]],
        numbers: Collection[int] | None = None,
        keep: bool = False,
    ) -> Iterator[tuple[int, Any]]:
        """Yield what a function returns for each block; a worker keeps its blocks, as long as it lives."""
        yield from self._asked(self.shown if numbers is None else numbers, function, given)

    def _parts(self, function: Any, w: Floats) -> Iterator[tuple[int, Any]]:
        """Yield the part of each block at weights w [F], in their order."""
        shown, begun = self.shown, time.monotonic()
        yield from self._asked(shown, function, lambda i: (take(self.layout, shown[i], w),))
        self._took = [*self._took[-8:], time.monotonic() - begun]

    def _asked(
        self, numbers: Collection[int], function: Any, given: Callable[[int], tuple[Any, ...]]
    ) -> Iterator[tuple[int, Any]]:
        """Yield what a function returns for each shard, in their order."""
        with failures_named(self.client, "evaluating the blocks"):
            self._placing.place()

            def send(i: int) -> Future:
                return self.client.submit(function, self._placing.shard(i), *given(i), pure=False)

            waiting = {i: [send(i)] for i in numbers}
            ready: dict[int, Any] = {}
            patience, since = Patience(self.client), time.monotonic()
            for i in numbers:
                while i not in ready:
                    if self._came(waiting, ready, i, send):
                        patience.came()
                        continue
                    patience.nothing()
                    for lost in self._placing.rescue():
                        since = time.monotonic()
                        if lost in waiting:
                            waiting[lost].append(send(lost))
                    if self._late(time.monotonic() - since):
                        since = float("inf")  # once
                        self._ask_elsewhere(waiting, send)
                yield i, ready.pop(i)

    def _came(self, waiting: dict[int, list[Future]], ready: dict[int, Any], i: int, send: Any) -> bool:
        """Wait a little for the part of block i, and fetch all that are ready; tell whether any are."""
        until = time.monotonic() + _BEAT
        while not any(future.done() for future in waiting[i]):  # asking Dask to wait costs 1 ms for each part
            if time.monotonic() > until:
                return False
            time.sleep(_GLANCE)
        fine = {}
        for number, sent in waiting.items():
            future = next((one for one in sent if one.done()), None)
            if future is None:
                continue
            if future.status == "finished":
                fine[number] = future
            elif future.status == "error":
                future.result()  # raises it
            else:
                check_connected(self.client)
                waiting[number] = [send(number)]
        ready.update(self.client.gather(fine, direct=self._direct))
        for number in fine:
            del waiting[number]
        return bool(fine)

    def _late(self, seconds: float) -> bool:
        return bool(self._took) and seconds > max(_LATE * float(np.median(self._took)), _LEAST)

    def _ask_elsewhere(self, waiting: dict[int, list[Future]], send: Any) -> None:
        """Ask other workers for what is late, and take what comes first: it is the same."""
        late = [i for i, sent in waiting.items() if not any(future.done() for future in sent)]
        slow = sorted({self._placing.where[i] for i in late})
        if not self._placing.elsewhere(late):
            return
        warn_about(
            f"{', '.join(slow)}: no answer for {_LATE:.0f} times as long as evaluations took; its blocks are "
            "evaluated on other workers too"
        )
        for i in late:
            waiting[i].append(send(i))
