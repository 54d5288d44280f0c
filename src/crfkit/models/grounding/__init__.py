"""How samples that are no graphs become graphs, and what is found for graphs the answers of samples."""

from crfkit.models.grounding.base import Comparison, Grounding, Samples

__all__ = ["Comparison", "Grounding", "Samples"]
