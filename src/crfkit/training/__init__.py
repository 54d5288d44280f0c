"""Training: the loop around the optimisers, and what it needs."""

from crfkit.training.checkpoint import Checkpoints
from crfkit.training.fit import train
from crfkit.training.stream import BlockedData
from crfkit.training.task import Likely

__all__ = ["BlockedData", "Checkpoints", "Likely", "train"]
