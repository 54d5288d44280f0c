"""How samples that are no graphs become graphs, and what is found for graphs the answers of samples."""

from crfkit.models.grounding.base import Grounding, Samples

__all__ = ["Grounding", "Samples"]
