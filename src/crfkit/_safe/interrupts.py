"""Signals that ask for an end: the first is noted where work asks to be let finish, the second ends the work.

`crfkit.train` handles Ctrl-C while it works. The command line handles SIGTERM and SIGHUP too (`listening`),
from its first line to its last; training then uses its handlers.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

#: What the signals do where nobody has set a handler.
_USUAL: dict[signal.Signals, Any] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGHUP: signal.SIG_DFL,
}


class Interrupts:
    """Which signal has come; while `patient`, the first one is only noted.

    A piece of work that asks to be let finish is ended by the second signal that comes while it lasts. Those
    that came before do not count: whoever presses Ctrl-C twice does not lose the model that is being saved.
    """

    def __init__(self) -> None:
        self.number = 0  #: of the last signal; 0 for none
        self.patient = 0  #: how many pieces of work ask to be let finish
        self._heard = 0  # signals since the last of them began

    @property
    def asked(self) -> bool:
        """Whether there was a signal."""
        return self.number != 0

    @property
    def why(self) -> str:
        """The end in words."""
        by_hand = self.number in (0, signal.SIGINT)
        return "stopped by the user" if by_hand else f"ended by {signal.Signals(self.number).name}"

    @property
    def status(self) -> int:
        """The exit status of a command that a signal, or KeyboardInterrupt, has ended."""
        return 128 + (self.number or signal.SIGINT)

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal."""
        at_once = self._heard or not self.patient
        self.number = number
        self._heard += 1
        if at_once:
            raise KeyboardInterrupt

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Only note the first signal that comes in a block."""
        before, self._heard = self._heard, 0
        self.patient += 1
        try:
            yield
        finally:
            self.patient -= 1
            self._heard += before


@contextmanager
def listening(*numbers: signal.Signals) -> Iterator[Interrupts]:
    """Listen for signals, all that ask for an end by default; a program's own handlers stay in place.

    A signal raises KeyboardInterrupt, unless it comes inside of `interrupts`. Whoever listens within such a
    block gets what is listening already.

    Examples
    --------
    >>> with listening() as caught:
    ...     caught.asked
    False
    """
    if (active := _active()) is not None:
        yield active
        return
    caught = Interrupts()
    ours = []
    if threading.current_thread() is threading.main_thread():
        ours = [number for number in numbers or _USUAL if signal.getsignal(number) is _USUAL[number]]
    for number in ours:
        signal.signal(number, caught)
    try:
        yield caught
    finally:
        for number in ours:
            signal.signal(number, _USUAL[number])


@contextmanager
def interrupts() -> Iterator[Interrupts]:
    """Only note the first signal: one that is handled already, or else Ctrl-C.

    Examples
    --------
    >>> with interrupts() as signals:
    ...     signals.asked
    False
    """
    with listening(signal.SIGINT) as caught, caught.waiting():
        yield caught


def _active() -> Interrupts | None:
    """Return what handles signals now; None on a thread that handles none."""
    if threading.current_thread() is threading.main_thread():
        for number in _USUAL:
            if isinstance(found := signal.getsignal(number), Interrupts):
                return found
    return None
