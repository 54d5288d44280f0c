"""What all requests share: models, settings, tokens at work, whether the service is about to end."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from crfkit.web.metrics import Metrics
from crfkit.web.models import Models
from crfkit.web.problems import Problem
from crfkit.web.settings import Settings

__all__ = ["INLINE", "State"]

#: Tokens that are labeled on the event loop, in about a millisecond; more go to a thread.
INLINE = 2000

T = TypeVar("T")


class State:
    """The state of a service.

    Parameters
    ----------
    models : Models
    settings : Settings
    """

    def __init__(self, models: Models, settings: Settings) -> None:
        self.models, self.settings = models, settings
        self.draining = False
        self.in_flight = 0  #: tokens
        self.metrics = Metrics(self)
        self._threads: ThreadPoolExecutor | None = None

    @property
    def ready(self) -> bool:
        """Whether requests should be sent here."""
        return not self.draining

    def check_room(self) -> None:
        """Refuse a request before its body is read, where there is too much at work."""
        if self.in_flight >= self.settings.in_flight:
            raise self._busy()

    @contextmanager
    def at_work(self, tokens: int) -> Iterator[None]:
        """Count tokens while they are at work; refuse them where there are too many."""
        self.begin(tokens)
        try:
            yield
        finally:
            self.in_flight -= tokens

    def begin(self, tokens: int) -> None:
        """Count tokens from now on, until somebody takes them off again."""
        if self.in_flight and self.in_flight + tokens > self.settings.in_flight:
            raise self._busy()
        self.in_flight += tokens

    def _busy(self) -> Problem:
        self.metrics.rejected["busy"] += 1
        told = f"{self.in_flight:,} tokens are at work; try again in a second"
        return Problem(503, told, headers={"Retry-After": "1"})

    async def aside(self, call: Callable[[], T]) -> T:
        """Return what a call returns, made on a thread."""
        from asyncio import get_running_loop

        if self._threads is None:
            self._threads = ThreadPoolExecutor(os.cpu_count() or 1, "crfkit-serve")
        return await get_running_loop().run_in_executor(self._threads, call)

    def close(self) -> None:
        """Let go of the threads, when their work is done."""
        if self._threads is not None:
            self._threads.shutdown(wait=True, cancel_futures=True)
