"""Training objectives: options, and what binding them to a layout, a structure and data gives."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crfkit.objectives.likelihood import Likelihood, LikelihoodProblem
    from crfkit.objectives.perceptron import Perceptron, PerceptronProblem

__all__ = ["Likelihood", "LikelihoodProblem", "Perceptron", "PerceptronProblem"]

_HOMES = {
    "Likelihood": "crfkit.objectives.likelihood",
    "LikelihoodProblem": "crfkit.objectives.likelihood",
    "Perceptron": "crfkit.objectives.perceptron",
    "PerceptronProblem": "crfkit.objectives.perceptron",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'crfkit.objectives' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
