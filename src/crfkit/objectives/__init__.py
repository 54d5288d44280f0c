"""Training objectives, each a file with one class; `OBJECTIVES` is the table of them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crfkit.objectives.likelihood import Likelihood
    from crfkit.objectives.local import Local
    from crfkit.objectives.margin import MaxMargin
    from crfkit.objectives.perceptron import Perceptron

__all__ = ["OBJECTIVES", "Likelihood", "Local", "MaxMargin", "Perceptron", "objective_named"]

#: Names of objectives: the module and the class, loaded when they are used.
OBJECTIVES: dict[str, tuple[str, str]] = {
    "likelihood": ("crfkit.objectives.likelihood", "Likelihood"),
    "max-margin": ("crfkit.objectives.margin", "MaxMargin"),
    "perceptron": ("crfkit.objectives.perceptron", "Perceptron"),
    "local": ("crfkit.objectives.local", "Local"),
}


def objective_named(name: str) -> Any:
    """Return the class of an objective by its name.

    Examples
    --------
    >>> objective_named("max-margin")(l2=0.5).l2
    0.5
    """
    if name not in OBJECTIVES:
        raise ValueError(f"objective {name!r} is not known; the objectives are: {', '.join(OBJECTIVES)}")
    module, kind = OBJECTIVES[name]
    return getattr(import_module(module), kind)


def __getattr__(name: str) -> Any:
    for module, kind in OBJECTIVES.values():
        if kind == name:
            value = globals()[name] = getattr(import_module(module), kind)
            return value
    raise AttributeError(f"module 'crfkit.objectives' has no attribute {name!r}")
