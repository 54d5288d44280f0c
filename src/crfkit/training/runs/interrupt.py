"""Ctrl-C that has ended a training: its model is kept, and whoever wants more than that one hears of it."""

from __future__ import annotations

from crfkit.optimize.problem import End
from crfkit.training.events import Summary

__all__ = ["pass_on"]


def pass_on(training: Summary | None) -> None:
    """Raise KeyboardInterrupt where Ctrl-C has ended a training, for callers that go on after one."""
    if training is not None and training.end == End.INTERRUPTED:
        raise KeyboardInterrupt
