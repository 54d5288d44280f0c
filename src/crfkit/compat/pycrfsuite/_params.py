"""Parameters of CRFsuite's training algorithms: names, order, types, defaults and help.

The texts of `help` are CRFsuite's, as programs print them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

__all__ = ["ALGORITHMS", "Parameter", "Parameters", "algorithm_of"]

Value = float | int | bool | str


class Parameter(NamedTuple):
    """The default, whose type is that of the parameter, and a line for people."""

    default: Value
    help: str


_STOP = (
    "The threshold for the stopping criterion; an {} stops when{}the\nimprovement of the log likelihood "
    "over the last ${{period}} iterations is no\ngreater than this threshold."
)
_COMMON = {
    "feature.minfreq": Parameter(0.0, "The minimum frequency of features."),
    "feature.possible_states": Parameter(False, "Force to generate possible state features."),
    "feature.possible_transitions": Parameter(False, "Force to generate possible transition features."),
}
_PERIOD = Parameter(10, "The duration of iterations to test the stopping criterion.")
_C2 = Parameter(1.0, "Coefficient for L2 regularization.")
_LINESEARCH = """The line search algorithm used in L-BFGS updates:
{   'MoreThuente': More and Thuente's method,
    'Backtracking': Backtracking method with regular Wolfe condition,
    'StrongBacktracking': Backtracking method with strong Wolfe condition
}
"""
_ROUNDS = {"max_iterations": Parameter(100, "The maximum number of iterations.")}
_MEAN_LOSS = {"epsilon": Parameter(0.0, "The stopping criterion (the mean loss).")}
_TYPE = """The strategy for updating feature weights: {
    0: PA without slack variables,
    1: PA type I,
    2: PA type II
}.
"""

#: Parameters of each algorithm, in the order of `params`.
ALGORITHMS: dict[str, dict[str, Parameter]] = {
    "lbfgs": {
        **_COMMON,
        "c1": Parameter(0.0, "Coefficient for L1 regularization."),
        "c2": _C2,
        "max_iterations": Parameter(2147483647, "The maximum number of iterations for L-BFGS optimization."),
        "num_memories": Parameter(
            6, "The number of limited memories for approximating the inverse hessian matrix."
        ),
        "epsilon": Parameter(1e-5, "Epsilon for testing the convergence of the objective."),
        "period": _PERIOD,
        "delta": Parameter(1e-5, _STOP.format("L-BFGS iteration", " ")),
        "linesearch": Parameter("MoreThuente", _LINESEARCH),
        "max_linesearch": Parameter(20, "The maximum number of trials for the line search algorithm."),
    },
    "l2sgd": {
        **_COMMON,
        "c2": _C2,
        "max_iterations": Parameter(1000, "The maximum number of iterations (epochs) for SGD optimization."),
        "period": _PERIOD,
        "delta": Parameter(1e-6, _STOP.format("optimization process", "\n").replace("the\nimpr", "the impr")),
        "calibration.eta": Parameter(0.1, "The initial value of learning rate (eta) used for calibration."),
        "calibration.rate": Parameter(2.0, "The rate of increase/decrease of learning rate for calibration."),
        "calibration.samples": Parameter(1000.0, "The number of instances used for calibration."),
        "calibration.candidates": Parameter(10, "The number of candidates of learning rate."),
        "calibration.max_trials": Parameter(
            20, "The maximum number of trials of learning rates for calibration."
        ),
    },
    "averaged-perceptron": {
        **_COMMON,
        **_ROUNDS,
        "epsilon": Parameter(0.0, "The stopping criterion (the ratio of incorrect label predictions)."),
    },
    "passive-aggressive": {
        **_COMMON,
        "type": Parameter(1, _TYPE),
        "c": Parameter(1.0, "The aggressiveness parameter."),
        "error_sensitive": Parameter(True, "Consider the number of incorrect labels to the cost function."),
        "averaging": Parameter(
            True, "Compute the average of feature weights (similarly to Averaged Perceptron)."
        ),
        **_ROUNDS,
        **_MEAN_LOSS,
    },
    "arow": {
        **_COMMON,
        "variance": Parameter(1.0, "The initial variance of every feature weight."),
        "gamma": Parameter(1.0, "Tradeoff parameter."),
        **_ROUNDS,
        **_MEAN_LOSS,
    },
}
_ALIASES = {"ap": "averaged-perceptron", "pa": "passive-aggressive"}


def algorithm_of(name: str, type: str) -> str:
    """Return the full name of an algorithm.

    Examples
    --------
    >>> algorithm_of("AP", "crf1d")
    'averaged-perceptron'
    """
    key = name.lower()
    key = _ALIASES.get(key, key)
    if key not in ALGORITHMS or type != "crf1d":
        raise ValueError(f"Bad arguments: algorithm={name!r}, type={type!r}")
    return key


class Parameters:
    """Values of the parameters of one algorithm."""

    def __init__(self, algorithm: str) -> None:
        self.algorithm = algorithm
        self.known = ALGORITHMS[algorithm]
        self.values: dict[str, Value] = {name: p.default for name, p in self.known.items()}

    def set(self, name: str, value: Any) -> None:
        """Set one, from a number, a bool or a text of either."""
        text = str(int(value)) if isinstance(value, bool | np.bool_) else str(value)
        if name not in self.known:
            raise ValueError(f"Parameter not found: {name} = {text}")
        kind = type(self.known[name].default)
        if kind is str:
            self.values[name] = text
            return
        try:
            number = float(text)
            self.values[name] = number if kind is float else kind(int(number))
        except (ValueError, OverflowError):
            raise ValueError(f"Parameter {name} is {value!r}, expected a number") from None

    def get(self, name: str) -> Value:
        """Return the value of one."""
        if name not in self.known:
            raise ValueError(f"Parameter not found: {name} = ")
        return self.values[name]

    def help(self, name: str) -> str:
        """Return what it is for."""
        if name not in self.known:
            raise ValueError(f"Parameter not found: {name}")
        return self.known[name].help
