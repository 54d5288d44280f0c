"""Parameters of CRFsuite's training algorithms: names, order, types, defaults, and a line of help."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

__all__ = ["ALGORITHMS", "Parameter", "Parameters", "algorithm_of"]

Value = float | int | bool | str


class Parameter(NamedTuple):
    """The default, whose type is that of the parameter, and a line for people."""

    default: Value
    help: str


_COMMON = {
    "feature.minfreq": Parameter(0.0, "Drop features that occur less often than this."),
    "feature.possible_states": Parameter(False, "Give every pair of attribute and label a weight."),
    "feature.possible_transitions": Parameter(False, "Give every pair of labels a weight."),
}
_PERIOD = Parameter(10, "How many iterations back `delta` compares with.")
_DELTA = "Stop when the loss fell by less than this fraction within `period` iterations."
_C2 = Parameter(1.0, "Strength of the L2 penalty: c2 * |w|^2.")
_ROUNDS = {"max_iterations": Parameter(100, "Most passes over the data.")}
_MEAN_LOSS = {"epsilon": Parameter(0.0, "Stop when the mean loss of a pass is at most this.")}

#: Parameters of each algorithm, in the order of `params`.
ALGORITHMS: dict[str, dict[str, Parameter]] = {
    "lbfgs": {
        **_COMMON,
        "c1": Parameter(0.0, "Strength of the L1 penalty: c1 * |w|."),
        "c2": _C2,
        "max_iterations": Parameter(2147483647, "Most iterations."),
        "num_memories": Parameter(6, "Steps that L-BFGS remembers."),
        "epsilon": Parameter(1e-5, "Stop when |gradient| is below this times max(1, |w|)."),
        "period": _PERIOD,
        "delta": Parameter(1e-5, _DELTA),
        "linesearch": Parameter(
            "MoreThuente", "Line search: MoreThuente, Backtracking or StrongBacktracking."
        ),
        "max_linesearch": Parameter(20, "Most evaluations in one line search."),
    },
    "l2sgd": {
        **_COMMON,
        "c2": _C2,
        "max_iterations": Parameter(1000, "Most passes over the data."),
        "period": _PERIOD,
        "delta": Parameter(1e-6, _DELTA),
        "calibration.eta": Parameter(0.1, "The learning rate that calibration tries first."),
        "calibration.rate": Parameter(2.0, "Factor from one learning rate to the next."),
        "calibration.samples": Parameter(1000.0, "Sequences that learning rates are tried on."),
        "calibration.candidates": Parameter(10, "Learning rates that are compared once the loss falls."),
        "calibration.max_trials": Parameter(20, "Most learning rates to try."),
    },
    "averaged-perceptron": {
        **_COMMON,
        **_ROUNDS,
        "epsilon": Parameter(0.0, "Stop when the share of wrong labels in a pass is below this."),
    },
    "passive-aggressive": {
        **_COMMON,
        "type": Parameter(1, "Update: 0 (without slack), 1 (PA-I) or 2 (PA-II)."),
        "c": Parameter(1.0, "Largest step of an update (PA-I), or the price of slack (PA-II)."),
        "error_sensitive": Parameter(True, "Ask for a margin that grows with the number of wrong labels."),
        "averaging": Parameter(True, "Return the mean of the weights over all updates."),
        **_ROUNDS,
        **_MEAN_LOSS,
    },
    "arow": {
        **_COMMON,
        "variance": Parameter(1.0, "Variance that each weight begins with."),
        "gamma": Parameter(1.0, "How little an error moves the weights: larger moves less."),
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
