"""Training: the loop around the optimisers and its parts; the function to call is `crfkit.train`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crfkit.linear.features import Likely
    from crfkit.training import events
    from crfkit.training.blocks.stream import BlockedData
    from crfkit.training.checkpoint import Checkpoints
    from crfkit.training.stop import Stop

__all__ = ["BlockedData", "Checkpoints", "Likely", "Stop", "events"]

_HOMES = {
    "BlockedData": "crfkit.training.blocks.stream",
    "Checkpoints": "crfkit.training.checkpoint",
    "Likely": "crfkit.linear.features",
    "Stop": "crfkit.training.stop",
}


def __getattr__(name: str) -> Any:
    if name == "events":
        return import_module("crfkit.training.events")
    if name not in _HOMES:
        raise AttributeError(f"module 'crfkit.training' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
