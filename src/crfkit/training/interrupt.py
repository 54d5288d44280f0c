"""Ctrl-C: the first asks the loop to end after the step at work, the second ends the step."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["Interrupts", "interrupts"]


class Interrupts:
    """Whether the user has asked to stop."""

    def __init__(self) -> None:
        self.asked = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal."""
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True


@contextmanager
def interrupts() -> Iterator[Interrupts]:
    """Listen for Ctrl-C; handlers that a program has set for itself are left in place."""
    heard = Interrupts()
    ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if not ours:
        yield heard
        return
    signal.signal(signal.SIGINT, heard)
    try:
        yield heard
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
