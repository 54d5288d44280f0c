"""Training: the loop around the optimizers and its parts; the function to call is `crfkit.train`."""

from typing import TYPE_CHECKING

from crfkit.lazy import lazily

if TYPE_CHECKING:
    from crfkit.linear.features import Chosen, Likely
    from crfkit.training import events
    from crfkit.training.blocks.stream import BlockedData
    from crfkit.training.checkpoint import Checkpoints
    from crfkit.training.curvature import with_curvature
    from crfkit.training.stop import Stop

__all__ = ["BlockedData", "Checkpoints", "Chosen", "Likely", "Stop", "events", "with_curvature"]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "BlockedData": ".blocks.stream",
        "Checkpoints": ".checkpoint",
        "Chosen": "crfkit.linear.features",
        "Likely": "crfkit.linear.features",
        "Stop": ".stop",
        "with_curvature": ".curvature",
    },
    modules=("events",),
)
