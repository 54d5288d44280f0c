"""Events of training, as they happen, and the summary in the end.

A listener is any function of one event; the progress display, logs and web pages are listeners, so that no
program parses text. A listener that raises `StopTraining` ends the run with its message as the reason; any
other exception of a listener ends it too, and reaches the caller of `train` after a checkpoint is written
(where there are any) and every listener has received it as `Failed`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from crfkit.errors import warn_about
from crfkit.training.record import TrainingRecord

if TYPE_CHECKING:  # opening a model must not load the optimizers
    from crfkit.optimize.problem import Step
    from crfkit.training.runs.progress import Display


@dataclass(frozen=True)
class Begin:
    """Training begins: how large it is, and which method runs for what reason."""

    sequences: int
    positions: int
    labels: int
    attributes: int
    weights: int
    optimizer: str
    why: str  #: why this optimizer
    notes: tuple[str, ...] = ()  #: what else is worth knowing, in sentences
    resumed: int = 0  #: iterations that a checkpoint already had
    forecast: str = ""  #: memory and time that are expected, in a sentence; empty where nobody asked
    metric: str = ""  #: the score of the dev set; empty without one


@dataclass(frozen=True)
class Progress:
    """One step is done."""

    iteration: int
    step: Step
    score: float  #: on the dev set; nan when it was not evaluated
    best: float  #: highest dev score so far; nan without one
    best_iteration: int  #: where; 0 without one
    seconds: float
    eta: float  #: seconds left by the trend, at most; nan when nothing can be said
    excess: float = float("nan")  #: certified: the objective is at most this fraction above its optimum


@dataclass(frozen=True)
class Preparing:
    """A step is done of what finds the first weights, before training begins."""

    what: str
    iteration: int
    most: int  #: iterations
    seconds: float


@dataclass(frozen=True)
class Checkpointed:
    """A checkpoint was written."""

    path: str
    iteration: int
    seconds: float  #: that writing took


@dataclass(frozen=True)
class Unsaved:
    """A checkpoint could not be written; training goes on without it, and the one before is still whole."""

    path: str
    iteration: int
    why: str


#: What the history of a `TrainingRecord` holds for each iteration.
COLUMNS = ("objective", "gradient_norm", "length", "evaluations", "gap", "score", "seconds")


@dataclass(frozen=True)
class Finished:
    """Training is over."""

    reason: str
    summary: TrainingRecord


@dataclass(frozen=True, eq=False)
class Failed:
    """Training ends by an exception, which is raised when every listener has received the event."""

    error: BaseException
    model: Any  #: a `Model` with the weights so far; its ``training.kept`` is 0 where nothing was learned


Event: TypeAlias = Preparing | Begin | Progress | Checkpointed | Unsaved | Failed | Finished
Listener: TypeAlias = Callable[[Event], object]


class StopTraining(Exception):  # noqa: N818 - no error, like StopIteration
    """Raised by a listener to end training; the message becomes the reason."""


@dataclass
class History:
    """A listener that keeps every event.

    Examples
    --------
    >>> from crfkit.optimize import Step
    >>> history = History()
    >>> history(Progress(1, Step(12.5), float("nan"), float("nan"), 0, 0.1, float("nan")))
    >>> history.objectives
    [12.5]
    """

    events: list[Event] = field(default_factory=list)

    def __call__(self, event: Event) -> None:
        """Keep an event."""
        self.events.append(event)

    @property
    def objectives(self) -> list[float]:
        """The objective after each step."""
        return [event.step.objective for event in self.events if isinstance(event, Progress)]

    @property
    def scores(self) -> list[float]:
        """The dev score after each step; nan where there is none."""
        return [event.score for event in self.events if isinstance(event, Progress)]


def tell(audience: Sequence[Listener], event: Event) -> None:
    """Send an event to every listener; after a failure of training, only warn of failures of listeners."""
    for listener in audience:
        try:
            listener(event)
        except Exception as error:
            if not isinstance(event, Failed):
                raise
            warn_about(f"a listener failed after training had failed: {type(error).__name__}: {error}")


def display_for(progress: bool | None) -> Display | None:
    """Return the progress display when it is asked for, or when standard error is a terminal."""
    if progress is None:
        progress = sys.stderr.isatty()
    if not progress:
        return None
    from crfkit.training.runs.progress import Display

    return Display()
