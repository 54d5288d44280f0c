"""Work on a thread beside the caller's: joined on every way out, done here where no thread can start.

Native code notices that it is no longer wanted (`crfkit._native.Stop`), so that nobody waits long for a
thread that is given up. There are no daemons: one in native code would bring the process down at its end.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from crfkit import _native

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor
    from types import TracebackType

T = TypeVar("T")


class Later(Generic[T]):
    """What a call returns, perhaps on another thread."""

    def __init__(self, call: Callable[[], T], coming: Future[T] | None = None) -> None:
        self._call, self._coming = call, coming

    @property
    def running(self) -> bool:
        """Whether a thread is at it, or about to be."""
        return self._coming is not None and not self._coming.done()

    def result(self) -> T:
        """Wait for the call, or make it here where no thread does; raises what it raises."""
        return self._call() if self._coming is None else self._coming.result()


class Aside:
    """A thread that makes calls one after the other, until it is closed.

    Dropped or left as a context it is closed, too. What it is at is then asked to end, and waited for.

    Examples
    --------
    >>> with Aside() as aside:
    ...     sum_of = aside.submit(lambda: sum(range(10)))
    ...     sum_of.result()
    45
    """

    def __init__(self) -> None:
        self._stop = _native.Stop()
        self._thread: ThreadPoolExecutor | None = None
        self._calls: list[Future[Any]] = []  # that may not be over
        self._process, self._its_number = os.getpid(), set[int]()

    def submit(self, call: Callable[[], T]) -> Later[T]:
        """Have a call made; where no thread can start, `Later.result` makes it."""
        from concurrent.futures import ThreadPoolExecutor  # not before it is needed: it takes 10 ms to load

        stop, its = self._stop, self._its_number  # the thread must not keep what would close it

        def make() -> T:
            its.add(threading.get_ident())
            return cast("T", stop.run(call))

        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "crfkit-aside")
        try:
            coming = self._thread.submit(make)
        except RuntimeError:  # no thread to be had
            self._thread = None
            return Later(call)
        self._calls = [*(one for one in self._calls if not one.done()), coming]
        return Later(call, coming)

    def close(self) -> None:
        """End the thread; what a signal raises meanwhile is raised afterwards."""
        thread, self._thread = self._thread, None
        if thread is None or self._process != os.getpid():  # there is no thread in a child of a fork
            return
        self._stop.ask()
        thread.shutdown(wait=False, cancel_futures=True)
        if threading.get_ident() in self._its_number:  # dropped by the thread itself, which ends anyway
            return
        raised: BaseException | None = None
        while self._calls:
            try:
                if not self._calls[-1].done():
                    from concurrent.futures import wait  # nothing is imported at the end of the process

                    wait(self._calls)  # not `join`: interrupted, it takes the thread for ended
                self._calls.pop()
            except BaseException as error:
                raised = error
        thread.shutdown(wait=True)
        if raised is not None:
            raise raised

    def __enter__(self) -> Aside:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def __del__(self) -> None:
        """Close it, where nobody has."""
        if getattr(self, "_thread", None) is not None:
            self.close()


def ahead(parts: Iterator[T]) -> Generator[T, None, None]:
    """Yield what an iterator yields; it makes the next one, on a thread, while the caller has this one.

    At most two of them exist at a time if the caller drops one before it asks for the next.

    Examples
    --------
    >>> list(ahead(iter("abc")))
    ['a', 'b', 'c']
    """
    nothing = object()

    def following() -> T | object:
        return next(parts, nothing)

    with Aside() as aside:
        coming = aside.submit(following)
        while (part := coming.result()) is not nothing:
            coming = aside.submit(following)
            yield cast("T", part)
            del part
