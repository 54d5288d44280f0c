"""How ``crfkit train`` keeps what it has learned, whatever ends it: signals, failures, a full disk."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from typing import TYPE_CHECKING, Any

import typer

from crfkit._safe.interrupts import Interrupts, interrupts, listening
from crfkit.training.events import Begin, Checkpointed, Event, Failed

if TYPE_CHECKING:
    from crfkit.models.model import SequenceModel
    from crfkit.training import Checkpoints


class Saver:
    """Saves a model to a file; as a listener, also that of a training that fails.

    Parameters
    ----------
    output : str
    checkpoint : str, optional
        The folder of checkpoints; empty where there can be none.
    options : dict
        Of `Model.save`.
    say : function of a text
    """

    def __init__(
        self, output: str, checkpoint: str | None, options: dict[str, Any], say: Callable[[str], None]
    ) -> None:
        self.output, self.checkpoint, self.options, self.say = output, checkpoint, options, say
        self.iteration = 0  # of the last checkpoint

    def __call__(self, event: Event) -> None:
        """Remember checkpoints, and save the model of a training that fails."""
        if isinstance(event, Begin):
            self.iteration = event.resumed
        elif isinstance(event, Checkpointed):
            self.iteration = event.iteration
        elif isinstance(event, Failed) and event.model.training is not None and event.model.training.kept:
            self.save(event.model)
            self.say(f"{self.output}: the model of iteration {event.model.training.kept}, before it failed")

    def save(self, model: SequenceModel) -> None:
        """Write the model, or say what is left where that fails; one signal meanwhile is only noted."""
        try:
            with interrupts():
                model.save(self.output, **self.options)
        except BrokenPipeError:
            raise
        except OSError as error:
            left = "the training is lost"
            if self.checkpoint is None:
                left += "; a --checkpoint on another disk would have kept it"
            if self.iteration:
                left = f"{self.checkpoint} has iteration {self.iteration}: run the same command again"
            why = f"the model is not saved: {error.strerror or error}; make room, or write elsewhere; {left}"
            raise OSError(error.errno, why, self.output) from None


@contextmanager
def kept_safe(checkpoints: Checkpoints | None) -> Iterator[tuple[Interrupts, Checkpoints | None]]:
    """Hear signals, keep the log readable, hold the folder of checkpoints."""
    from crfkit.training.runs.checkpoint import held_checkpoints
    from crfkit.training.runs.convergence import WarnedLast, plain_warnings
    from crfkit.training.runs.progress import Lenient

    log: Any = Lenient(sys.stderr)  # a log that nobody reads must not lose a model
    with (
        redirect_stderr(log),
        plain_warnings(),
        _signals() as caught,
        WarnedLast(),
        held_checkpoints(checkpoints) as keep,
    ):
        yield caught, keep


@contextmanager
def _signals() -> Iterator[Interrupts]:
    """Listen for signals; end with the status of the one that came: 130, 143 or 129."""
    with listening() as caught:
        try:
            yield caught
        except KeyboardInterrupt:
            print("crfkit: interrupted; no model is saved", file=sys.stderr)
            raise typer.Exit(caught.status) from None
        if caught.asked:
            raise typer.Exit(caught.status)
