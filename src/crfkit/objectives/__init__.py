"""Training objectives: options, and what binding them to a layout, a structure and data gives."""

from crfkit.objectives.likelihood import Likelihood, LikelihoodProblem

__all__ = ["Likelihood", "LikelihoodProblem"]
