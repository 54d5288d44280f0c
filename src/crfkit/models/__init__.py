"""Models: what training gives, tagging with it, why a label won, and its files (`crfkit.models.files`)."""

from typing import TYPE_CHECKING

from crfkit._safe.lazy import lazily

if TYPE_CHECKING:
    from crfkit.models import files
    from crfkit.models.explanation import Explanation
    from crfkit.models.model import Model
    from crfkit.models.tagger import Tagger

__all__ = ["Explanation", "Model", "Tagger", "files"]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "Explanation": ".explanation",
        "Model": ".model",
        "Tagger": ".tagger",
    },
    modules=("files",),
)
