"""Models: what training gives, tagging with it, why a label won, and its files (`crfkit.models.files`)."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crfkit.models import explain, files
    from crfkit.models.model import Model
    from crfkit.models.tagger import Tagger

__all__ = ["Model", "Tagger", "explain", "files"]

_HOMES = {
    "Model": "crfkit.models.model",
    "Tagger": "crfkit.models.tagger",
}


def __getattr__(name: str) -> Any:
    if name in ("explain", "files"):
        return import_module(f"crfkit.models.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'crfkit.models' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
