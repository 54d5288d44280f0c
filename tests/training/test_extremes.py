"""Training on numbers that are far too large or too small: it learns, or says why in one sentence.

NumPy's warnings are errors here: what overflows is found by looking at results, and said in words.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from crfkit import Chain, SemiMarkov, Stop, train
from crfkit.data.dataset import Dataset
from crfkit.features import ItemExtractor
from crfkit.objectives.registry import OBJECTIVES
from crfkit.optimize.problem import Step
from crfkit.training.choose import NAMES
from crfkit.training.runs.convergence import certify

Y = [["x", "y", "x", "z"], ["y", "x"]] * 2


def data(value: float, other: float | None = None, *, dense: float | None = None, **more: Any) -> Dataset:
    small = value if other is None else other
    first = [{"a": value, "b": 1.0}, {"c": small}, {"a": 1.0, "d": small}, {"b": -0.0}]
    X: list[Any] = [first, [{"b": value}, {"a": small}]] * 2
    if dense is not None:
        X = [(items, np.full((len(items), 2), dense) * [[1.0, -1.0]]) for items in X]
    return ItemExtractor()(X, Y, **more)


CASES: dict[str, Dataset] = {
    "1e300": data(1e300),
    "-1e308": data(-1e308),
    "1e160": data(1e160, 1.0),
    "1e16": data(1e16, 1.0),
    "1e-300": data(1e-300),
    "the least above 0": data(5e-324),
    "-0": data(-0.0),
    "large and small": data(1e300, 1e-300),
    "columns of 1e300": data(1.0, dense=1e300),
    "columns of 1e-300": data(1.0, dense=1e-300),
    "weights of 1e308": data(1.0, weight=[1e308] * 4),
    "weights of 1e-300": data(1.0, weight=[1e-300] * 4),
    "weights of 0": data(1.0, weight=[0.0] * 4),
}
PENALTIES: list[dict[str, float]] = [{"l2": x} for x in (0.0, 1e-300, 1e300, 1e308)]


def attempt(given: Dataset, objective: str, optimizer: str, structure: Any = None, **penalty: float) -> None:
    """Train; what comes out is finite, and what is refused is one sentence."""
    options: dict[str, Any] = {"at_most": {"x": 0.5}} if objective == "posterior" else {}
    try:
        goal = OBJECTIVES[objective](**options, **penalty)
    except (TypeError, ValueError):
        return  # it has no such penalty
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            model = train(
                given,
                structure=Chain() if structure is None else structure,
                objective=goal,
                optimizer=optimizer,
                stop=Stop(max_iterations=4),
            )
        except ValueError as error:
            refused = str(error)
        else:
            refused = ""
            assert np.isfinite(model.w).all()
    assert "\n" not in refused


@pytest.mark.parametrize("optimizer", ["auto", *NAMES])
@pytest.mark.parametrize("case", CASES)
def test_every_optimizer(case: str, optimizer: str) -> None:
    for objective in ("likelihood", "max-margin", "exponential"):
        attempt(CASES[case], objective, optimizer)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("case", CASES)
def test_every_objective(case: str, objective: str) -> None:
    for optimizer in ("auto", "lbfgs"):
        attempt(CASES[case], objective, optimizer)


@pytest.mark.parametrize("optimizer", ["auto", *NAMES])
@pytest.mark.parametrize("penalty", PENALTIES, ids=str)
def test_every_penalty(penalty: dict[str, float], optimizer: str) -> None:
    for case in ("1e16", "1e-300"):
        attempt(CASES[case], "likelihood", optimizer, **penalty)
    attempt(CASES["1e16"], "likelihood", optimizer, l1=1e300, l2=0.0)


@pytest.mark.parametrize("optimizer", ["auto", "lbfgs", "plbfgs", "dual", "gis", "sgd"])
@pytest.mark.parametrize("structure", [Chain(order=2), SemiMarkov(max_length=2)], ids=["order 2", "segments"])
def test_other_structures(structure: Any, optimizer: str) -> None:
    for case in CASES.values():
        attempt(case, "likelihood", optimizer, structure)


def test_the_value_is_named() -> None:
    for optimizer in ("auto", "lbfgs", "dual", "sgd", "gis"):
        with pytest.raises(ValueError, match=r"sequence 0, position 0: the value of attribute 'a' is 1e\+30"):
            train(CASES["1e300"], optimizer=optimizer)


def test_a_gradient_too_large_to_square_certifies_nothing() -> None:
    found = certify(Step(objective=1.0, gradient_norm=1e200), 1.0)
    assert str(found).startswith("No certificate")
