"""Work beside the caller's thread: waited for on every way out, done here where no thread can start."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest

from crfkit import _native
from crfkit._safe.background import Aside, ahead
from crfkit.native import kernels
from tests.cases.interrupts import seconds_until_heard

EARLIER: set[threading.Thread] = set()


def endless() -> float:
    """Be in native code for a minute."""
    node = np.zeros((20000, 2000))
    problem = _native.Problem.chain(node, [np.zeros((2000, 2000))], None, None, np.array([0, 20000]))
    return float(kernels.log_partition(problem, True, 2)[0])


def threads() -> set[threading.Thread]:
    """Return the threads of crfkit that are not those of tests before."""
    return {one for one in threading.enumerate() if one.name.startswith("crfkit")} - EARLIER


@pytest.fixture(autouse=True)
def none_is_left() -> Iterator[None]:
    EARLIER.clear()
    EARLIER.update(threads())
    yield
    gc.collect()
    assert not threads()


def no_thread(self: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


def test_leaving_ends_native_work() -> None:
    begun = threading.Event()

    def work() -> float:
        begun.set()
        return endless()

    before = time.perf_counter()
    with Aside() as aside:
        coming = aside.submit(work)
        assert begun.wait(30.0)
        assert coming.running
    assert time.perf_counter() - before < 10.0
    with pytest.raises(KeyboardInterrupt):
        coming.result()


def test_dropping_ends_it_too() -> None:
    aside = Aside()
    coming = aside.submit(endless)
    assert threads()
    del aside
    assert not threads()
    with pytest.raises(KeyboardInterrupt):
        coming.result()


def test_the_thread_itself_may_drop_it() -> None:
    held = [Aside()]
    coming = held[0].submit(held.clear)
    coming.result()
    for thread in threading.enumerate():
        if thread.name.startswith("crfkit"):
            thread.join(30.0)


def test_an_interrupt_while_it_is_waited_for_comes_afterwards() -> None:
    begun, ended = threading.Event(), []

    def work() -> None:
        begun.set()
        time.sleep(0.5)
        ended.append(1)

    aside = Aside()
    aside.submit(work)
    assert begun.wait(30.0)
    seconds_until_heard(aside.close, after=0.1)
    assert ended == [1]
    assert not threads()


def test_waiting_for_a_result_is_interruptible() -> None:
    with Aside() as aside:
        coming = aside.submit(endless)
        assert seconds_until_heard(coming.result) < 2.0


def test_exceptions_come_with_the_result() -> None:
    with Aside() as aside, pytest.raises(ZeroDivisionError):
        aside.submit(lambda: 1 // 0).result()


def test_without_threads_the_caller_does_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading.Thread, "start", no_thread)
    with Aside() as aside:
        made: list[int] = []
        coming = [aside.submit(partial(made.append, n)) for n in range(3)]
        assert not coming[0].running
        assert made == []
        for one in coming:
            one.result()
        assert made == [0, 1, 2]
    assert list(ahead(iter("abc"))) == ["a", "b", "c"]


def test_an_iterator_that_is_left_early_leaves_no_thread() -> None:
    parts = ahead(iter(range(1000)))
    assert next(parts) == 0
    assert threads()
    parts.close()
    assert not threads()
    dropped = ahead(iter(range(1000)))
    next(dropped)
    del dropped
    assert not threads()


def test_an_iterator_that_fails_raises_at_its_place() -> None:
    def parts() -> Iterator[int]:
        yield 1
        raise OSError("gone")

    coming = ahead(parts())
    assert next(coming) == 1
    with pytest.raises(OSError, match="gone"):
        next(coming)
