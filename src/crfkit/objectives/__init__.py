"""Training objectives: options, and what binding them to a layout, a structure and data gives."""

from crfkit.objectives.likelihood import Likelihood, LikelihoodProblem
from crfkit.objectives.perceptron import Perceptron, PerceptronProblem

__all__ = ["Likelihood", "LikelihoodProblem", "Perceptron", "PerceptronProblem"]
