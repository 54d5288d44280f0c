"""Models: what training gives, tagging with it, why a label won, and its files (`crfkit.models.files`)."""

from typing import TYPE_CHECKING

from crfkit._safe.lazy import lazily

if TYPE_CHECKING:
    from crfkit.models import explain, files
    from crfkit.models.model import Model
    from crfkit.models.tagger import Tagger

__all__ = ["Model", "Tagger", "explain", "files"]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "Model": ".model",
        "Tagger": ".tagger",
    },
    modules=("explain", "files"),
)
