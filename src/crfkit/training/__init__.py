"""Training: the loop around the optimizers and its parts; the function to call is `crfkit.train`."""

from typing import TYPE_CHECKING

from crfkit._safe.lazy import lazily

if TYPE_CHECKING:
    from crfkit.linear.features import Chosen, Likely
    from crfkit.training import events
    from crfkit.training.blocks.stream import BlockedData
    from crfkit.training.curvature import with_curvature
    from crfkit.training.learners.boosting import Boosting
    from crfkit.training.learners.generative import Smoothing
    from crfkit.training.learners.induction.induce import induce
    from crfkit.training.learners.induction.options import Induction
    from crfkit.training.runs.checkpoint import Checkpoints
    from crfkit.training.stop import Stop

__all__ = [
    "BlockedData",
    "Boosting",
    "Checkpoints",
    "Chosen",
    "Induction",
    "Likely",
    "Smoothing",
    "Stop",
    "events",
    "induce",
    "with_curvature",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "BlockedData": ".blocks.stream",
        "Checkpoints": ".runs.checkpoint",
        "Boosting": ".learners.boosting",
        "Chosen": "crfkit.linear.features",
        "Induction": ".learners.induction.options",
        "Smoothing": ".learners.generative",
        "induce": ".learners.induction.induce",
        "Likely": "crfkit.linear.features",
        "Stop": ".stop",
        "with_curvature": ".curvature",
    },
    modules=("events",),
)
