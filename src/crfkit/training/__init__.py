"""Training: the loop around the optimizers and its parts; the function to call is `crfkit.train`."""

from typing import TYPE_CHECKING

from crfkit._safe.lazy import lazily

if TYPE_CHECKING:
    from crfkit.training import events
    from crfkit.training.blocks.stream import BlockedData
    from crfkit.training.learners.boosting import Boosting
    from crfkit.training.learners.generative import Smoothing
    from crfkit.training.learners.induction.induce import induce
    from crfkit.training.learners.induction.options import Induction
    from crfkit.training.record import TrainingRecord
    from crfkit.training.runs.checkpoint import Checkpoints

__all__ = [
    "BlockedData",
    "Boosting",
    "Checkpoints",
    "Induction",
    "Smoothing",
    "TrainingRecord",
    "events",
    "induce",
]

lazily(
    __name__,
    {
        "BlockedData": ".blocks.stream",
        "Checkpoints": ".runs.checkpoint",
        "Boosting": ".learners.boosting",
        "Induction": ".learners.induction.options",
        "Smoothing": ".learners.generative",
        "TrainingRecord": ".record",
        "induce": ".learners.induction.induce",
    },
    modules=("events",),
)
