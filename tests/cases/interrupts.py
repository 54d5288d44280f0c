"""Signals that come while native code works."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from types import FrameType


class Alarm(Exception):  # noqa: N818 - no error
    """What the handler of the signal raises."""


def seconds_until_heard(
    call: Callable[[], object], after: float = 0.05, when: Callable[[], bool] = lambda: True
) -> float:
    """Return how long after a signal a call ends with what its handler raises; signals before `when` wait."""
    sent = 0.0

    def ring(number: int, frame: FrameType | None) -> None:
        nonlocal sent
        if when():
            raise Alarm
        sent = time.perf_counter() + after
        signal.setitimer(signal.ITIMER_REAL, after)

    before = signal.signal(signal.SIGALRM, ring)
    try:
        sent = time.perf_counter() + after
        signal.setitimer(signal.ITIMER_REAL, after)
        call()
    except Alarm:
        return time.perf_counter() - sent
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    raise AssertionError("the call was over before the signal was heard")
