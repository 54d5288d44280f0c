"""Results of tasks in the order in which they were asked for, whatever becomes of the workers meanwhile.

Dask makes again what a lost worker held or was at. What is left to do here: send again what was cancelled
with a connection, say in plain words why nothing comes, and end where nothing will.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from crfkit.errors import warn_about

if TYPE_CHECKING:
    from distributed import Client, Future

__all__ = ["Patience", "check_connected", "failures_named", "in_order", "lost", "result_of"]

T = TypeVar("T")

_SENT_AGAIN = 5  # times
_CANCELLED = (concurrent.futures.CancelledError, asyncio.CancelledError)  # of Dask, by release
_PATIENCE = 30.0  # seconds without a worker after which there is a warning
_LOST = (
    "the scheduler of the cluster is gone; start it and its workers again, and train once more: with "
    "checkpoint=FOLDER (--checkpoint) training goes on where it was"
)


def lost(client: Client) -> bool:
    """Return whether the scheduler is gone."""
    return bool(client.status != "running")


def check_connected(client: Client) -> None:
    """Raise an error where the scheduler is gone."""
    if lost(client):
        raise ConnectionError(_LOST)


@contextmanager
def failures_named(client: Client, what: str) -> Iterator[None]:
    """Raise what ends the work of a cluster in words: `what` was being done."""
    from distributed import KilledWorker

    try:
        yield
    except KilledWorker as error:
        raise RuntimeError(
            f"{what}: {error.allowed_failures + 1} workers died one after the other while they were at it, "
            f"the last one at {error.last_worker.address}, most often because memory was short; make smaller "
            "blocks (--block-positions), or give workers more memory (dask worker --memory-limit)"
        ) from error
    except (Exception, asyncio.CancelledError) as error:  # Dask raises many kinds without a scheduler
        if lost(client):
            raise ConnectionError(_LOST) from error
        raise


def result_of(client: Client, future: Future, again: Callable[[], Future], seconds: float) -> Any:
    """Return the result of a task, sent again where it was cancelled; TimeoutError after `seconds`."""
    for _ in range(_SENT_AGAIN):
        try:
            return future.result(timeout=seconds)
        except _CANCELLED:
            if lost(client):
                raise
            future = again()
    raise ConnectionError("the cluster cancels what it is given; see the log of its scheduler")


class Patience:
    """Says what is wrong where nothing comes for long."""

    def __init__(self, client: Client) -> None:
        self.client, self._since, self._told = client, time.monotonic(), False

    def came(self) -> None:
        """Take note that something came."""
        self._since, self._told = time.monotonic(), False

    def nothing(self) -> None:
        """Take note that nothing came for a while; raise or warn where there is a reason."""
        check_connected(self.client)
        if self._told or time.monotonic() - self._since < _PATIENCE:
            return
        workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
        if not workers:
            why = "the cluster has no worker left; it goes on as soon as there is one"
        elif all(one["status"] == "paused" for one in workers):
            why = (
                f"the memory of all {len(workers)} workers is short, and they pause; start more of them, or "
                "give them more (dask worker --memory-limit)"
            )
        else:
            return
        self._told = True
        warn_about(why)


def in_order(
    client: Client, submit: Callable[[Any], Future], items: Iterable[Any], what: str, ahead: int
) -> Iterator[Any]:
    """Yield the result of a task for each item, in order; at most `ahead` of them are under way.

    Parameters
    ----------
    client : Client
    submit : function of an item
        Sends its task.
    items : iterable
    what : str
        What is being done, in error messages.
    ahead : int
    """
    walk = iter(items)
    sent: deque[tuple[Any, Future]] = deque()
    patience = Patience(client)

    def fill() -> None:
        for item in walk:
            sent.append((item, submit(item)))
            if len(sent) >= ahead:
                return

    fill()
    while sent:
        item, future = sent.popleft()
        with failures_named(client, what):
            while True:
                try:
                    found = result_of(client, future, partial(submit, item), 1.0)
                    break
                except TimeoutError:
                    patience.nothing()
        patience.came()
        fill()
        yield found
