"""Training curves: runs that end after some passes over the data, and what they showed on the way."""

from __future__ import annotations

import numpy as np

from crfkit.models.model import SequenceModel
from crfkit.training.events import Event, Listener, Progress, StopTraining


def until(passes: float) -> Listener:
    """Return a listener that ends training after this number of passes over the data.

    Examples
    --------
    >>> from crfkit.optimize import Step
    >>> nan = float("nan")
    >>> until(3)(Progress(1, Step(12.5, evaluations=3), nan, nan, 0, 0.1, nan))
    Traceback (most recent call last):
    crfkit.training.events.StopTraining: 3 passes were asked for
    """

    def listen(event: Event) -> None:
        if isinstance(event, Progress) and event.step.evaluations >= passes:
            raise StopTraining(f"{passes:g} passes were asked for")

    return listen


def curve_of(model: SequenceModel) -> dict[str, list[float]]:
    """Return the curves of a training: passes, seconds and the objective of each step, and dev scores.

    ``scored`` has the passes of the steps that have a ``score``.
    """
    assert model.training is not None
    history = model.training.history
    known = ~np.isnan(history["score"])
    made = {
        "passes": history["evaluations"],
        "seconds": history["seconds"],
        "objective": history["objective"],
        "scored": history["evaluations"][known],
        "score": history["score"][known],
    }
    return {name: column.tolist() for name, column in made.items()}
