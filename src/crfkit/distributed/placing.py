"""Which worker holds which block: as even as their threads are, and moved only when workers come and go."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from crfkit.distributed.tasks import ShardAddress, open_shard
from crfkit.errors import warn_about

if TYPE_CHECKING:
    from distributed import Client, Future

__all__ = ["Placing", "balanced"]

_LOOK = 2.0  # seconds between looks at the workers
_AVOIDED = 30.0  # seconds that nothing is moved to a worker that was late


def balanced(sizes: Sequence[int], where: Sequence[str | None], threads: dict[str, int]) -> list[str]:
    """Return a worker for each block, with few moves.

    Parameters
    ----------
    sizes : sequence of int
        Bytes of each block.
    where : sequence of str
        The workers that have them now; None, or one that is gone: nobody has it.
    threads : dict
        How many threads each worker has.

    Examples
    --------
    >>> balanced([5, 5, 5, 5], [None] * 4, {"a": 1, "b": 1})
    ['a', 'b', 'a', 'b']
    >>> balanced([5, 5, 5, 5], ["a", "b", "a", "b"], {"a": 1, "b": 1, "c": 2})  # c takes half of them
    ['c', 'c', 'a', 'b']
    """
    load = dict.fromkeys(threads, 0.0)
    made: list[str] = []
    for size, here in zip(sizes, where, strict=True):
        made.append(here if here in threads else "")
        if made[-1]:
            load[made[-1]] += size / threads[made[-1]]

    def least(size: int) -> str:
        return min(threads, key=lambda worker: load[worker] + size / threads[worker])

    for i in sorted((i for i, here in enumerate(made) if not here), key=lambda i: -sizes[i]):
        made[i] = least(sizes[i])
        load[made[i]] += sizes[i] / threads[made[i]]
    for i, size in enumerate(sizes):
        best = least(size)
        if load[best] + size / threads[best] < load[made[i]]:
            load[made[i]] -= size / threads[made[i]]
            load[best] += size / threads[best]
            made[i] = best
    return made


def _spilled(worker: dict[str, Any]) -> bool:
    """Return whether a worker has dropped something to its disk, by what the scheduler knows of it."""
    return bool(worker.get("metrics", {}).get("spilled_bytes", {}).get("memory"))


class Placing:
    """The blocks on the workers.

    Parameters
    ----------
    client : distributed.Client
    address : function of the number of a block
        Says what the shard of the block is made of.
    sizes : sequence of int
        Bytes of each block.
    """

    def __init__(self, client: Client, address: Callable[[int], ShardAddress], sizes: Sequence[int]) -> None:
        self.client, self._address, self._sizes = client, address, sizes
        self._shards: list[Future | None] = [None] * len(sizes)
        self.where: list[str] = [""] * len(sizes)  #: the worker that shall have each
        self._workers: dict[str, int] = {}
        self._looked = 0.0
        self._told = False  # that memory is short
        self._late: dict[str, float] = {}  # workers, and until when they are avoided

    def shard(self, i: int) -> Future:
        """Return the shard of a block, which is made again where it was cancelled."""
        found = self._shards[i]
        if found is None or found.cancelled():
            found = self._shards[i] = self._open(i)
        return found

    def place(self) -> None:
        """Give the blocks to the workers that there are; mostly they stay where they are."""
        workers = self._look()
        if not workers or workers == self._workers:
            return
        self._workers = workers
        where = self._holders()
        self._move(balanced(self._sizes, where, workers), where)

    def rescue(self) -> list[int]:
        """Give blocks whose workers are gone to others, while an evaluation waits; return which these are.

        Dask makes them again by itself, except where all workers were gone for a moment: then it waits for
        the worker that was asked for, although others would do.
        """
        workers = self._look()
        gone = [i for i, worker in enumerate(self.where) if workers and worker not in workers]
        if not gone:
            return []
        where = self._holders()
        gone = [i for i in gone if where[i] is None]
        kept = [None if i in gone else self.where[i] for i in range(len(where))]
        self._move(balanced(self._sizes, kept, workers), kept, gone)
        return gone

    def _look(self) -> dict[str, int]:
        """Return the threads of each worker that can take blocks; none where the last look was just now."""
        now = time.monotonic()
        if now - self._looked < _LOOK:
            return {}
        self._looked = now
        about = self.client.scheduler_info(n_workers=-1)["workers"]
        dropped = [address for address, one in about.items() if _spilled(one)]
        if dropped and not self._told:
            self._told = True
            warn_about(
                f"memory is short on {', '.join(dropped)}: blocks are dropped there and made again for each "
                "evaluation, which takes several times as long; start more workers, or give them more memory "
                "(dask worker --memory-limit)"
            )
        return {
            address: int(one["nthreads"])
            for address, one in about.items()
            if one["status"] == "running" and self._late.get(address, 0.0) < now
        }

    def _holders(self) -> list[str | None]:
        """Return a worker that has each block; None where nobody has it."""
        held = [future for future in self._shards if future is not None]
        holders = self.client.who_has(held) if held else {}
        found: list[str | None] = []
        for i, future in enumerate(self._shards):
            has = () if future is None else holders.get(future.key, ())
            found.append(self.where[i] if self.where[i] in has else next(iter(has), None))
        return found

    def elsewhere(self, late: Collection[int]) -> bool:
        """Give blocks to other workers than those that have them; return whether there are any."""
        slow = {self.where[i] for i in late}
        workers = {address: n for address, n in self._workers.items() if address not in slow}
        if not workers:
            return False
        self._late |= dict.fromkeys(slow, time.monotonic() + _AVOIDED)
        where: list[str | None] = [None if i in late else here for i, here in enumerate(self.where)]
        self._workers = workers
        self._move(balanced(self._sizes, where, workers), where)
        return True

    def _move(
        self, wanted: Sequence[str], where: Sequence[str | None], some: Collection[int] | None = None
    ) -> None:
        for i, worker in enumerate(wanted):
            if some is None or i in some:
                self.where[i] = worker
                if where[i] != worker:
                    self._shards[i] = self._open(i)

    def _open(self, i: int) -> Future:
        worker = self.where[i]
        given = {"workers": [worker], "allow_other_workers": True} if worker else {}
        return self.client.submit(open_shard, self._address(i), key=f"shard-{i}-{uuid4().hex}", **given)
