"""Objectives that papers compare with."""

from crfkit.objectives.classic.exponential import Exponential
from crfkit.objectives.classic.marginal import MarginalLikelihood

__all__ = ["Exponential", "MarginalLikelihood"]
