"""Models: what training gives, tagging with it, why a label won, and its files (`crfkit.models.files`)."""

from typing import TYPE_CHECKING

from crfkit._safe.lazy import lazily

if TYPE_CHECKING:
    from crfkit.models import files
    from crfkit.models.active_learning import uncertainty
    from crfkit.models.base import Model
    from crfkit.models.explanation import Explanation
    from crfkit.models.graph_model import GraphModel
    from crfkit.models.model import SequenceModel
    from crfkit.models.tagger import Tagger

__all__ = ["Explanation", "GraphModel", "Model", "SequenceModel", "Tagger", "files", "uncertainty"]

lazily(
    __name__,
    {
        "Model": ".base",
        "Explanation": ".explanation",
        "GraphModel": ".graph_model",
        "SequenceModel": ".model",
        "Tagger": ".tagger",
        "uncertainty": ".active_learning",
    },
    modules=("files",),
)
