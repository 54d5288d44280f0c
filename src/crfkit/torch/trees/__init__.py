"""Distributions over dependency trees, constituency trees and alignments: exact, batched, differentiable."""

from crfkit.torch.trees.alignments import Alignments, Steps
from crfkit.torch.trees.constituents import ConstituencyTrees, Spans
from crfkit.torch.trees.dependencies import DependencyTrees, Heads

__all__ = ["Alignments", "ConstituencyTrees", "DependencyTrees", "Heads", "Spans", "Steps"]
