"""Signals: the first asks the loop to end after the current step, the second ends the step.

`train` handles Ctrl-C while it works. The command line handles SIGTERM too (`listening`), from before the
first step until the model is saved; `train` then uses its handlers.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from crfkit.optimise.problem import End
from crfkit.training.events import Summary

__all__ = ["Interrupts", "interrupts", "listening", "pass_on"]

#: What the signals do where nobody has set a handler.
_USUAL: dict[int, Any] = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}


class Interrupts:
    """Which signal has come; while `patient` the first one is only noted."""

    def __init__(self) -> None:
        self.number = 0  #: of the last signal; 0 for none
        self.patient = 0  #: how many pieces of work ask to be let finish

    @property
    def asked(self) -> bool:
        """Whether there was a signal."""
        return self.number != 0

    @property
    def why(self) -> str:
        """The end in words."""
        return "ended by SIGTERM" if self.number == signal.SIGTERM else "stopped by the user"

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal."""
        at_once = self.asked or not self.patient
        self.number = number
        if at_once:
            raise KeyboardInterrupt


@contextmanager
def listening(*numbers: signal.Signals) -> Iterator[Interrupts]:
    """Listen for signals; handlers that a program has set for itself are left in place.

    A signal raises KeyboardInterrupt, unless it comes inside of `interrupts`.
    """
    caught = Interrupts()
    ours = []
    if threading.current_thread() is threading.main_thread():
        ours = [number for number in numbers if signal.getsignal(number) is _USUAL[number]]
    for number in ours:
        signal.signal(number, caught)
    try:
        yield caught
    finally:
        for number in ours:
            signal.signal(number, _USUAL[number])


@contextmanager
def interrupts() -> Iterator[Interrupts]:
    """Only note the first signal: one that is handled already, or else Ctrl-C."""
    caught = signal.getsignal(signal.SIGINT)
    if not isinstance(caught, Interrupts) or threading.current_thread() is not threading.main_thread():
        with listening(signal.SIGINT) as caught, _patient(caught):
            yield caught
        return
    with _patient(caught):
        yield caught


def pass_on(training: Summary | None) -> None:
    """Raise KeyboardInterrupt where Ctrl-C has ended a training, for callers that go on after one."""
    if training is not None and training.end == End.INTERRUPTED:
        raise KeyboardInterrupt


@contextmanager
def _patient(caught: Interrupts) -> Iterator[None]:
    caught.patient += 1
    try:
        yield
    finally:
        caught.patient -= 1
