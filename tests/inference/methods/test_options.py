"""Options of methods for graphs that are not of the right type are named when the method is made."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from crfkit import Graph, inference
from crfkit.errors import MethodError
from crfkit.inference.methods import ICM, IntegerProgram
from crfkit.inference.methods.registry import METHODS, method_of

_SIMPLE = ("int", "float", "int | None", "float | None")


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("value", ["x", [1], float("nan"), 2**70, -1])
def test_numbers_of_methods(name: str, value: Any) -> None:
    made = method_of(name)
    for field in fields(made):
        if field.type not in _SIMPLE or (value == 2**70 and "float" in str(field.type)):
            continue
        with pytest.raises((TypeError, ValueError), match=f"^{field.name} is .*expected"):
            type(made)(**{field.name: value})


@pytest.mark.parametrize("start", [3, "x", [1]])
def test_labels_to_start_from(start: Any) -> None:
    with pytest.raises(TypeError, match=r"^start is .*expected kind -> label ids"):
        ICM(start=start)


def test_a_method_that_is_neither_a_name_nor_a_method() -> None:
    scores = Graph.from_factors([2], [([0], [0.0, 1.0])])
    given: Any = ["bp"]
    with pytest.raises(MethodError, match=r"method is \['bp'\], expected one of auto, "):
        inference.log_partition(scores, method=given)


@pytest.mark.parametrize("method", ["auto", "elimination", "enumeration", "gibbs"])
def test_how_many_labelings(method: str) -> None:
    scores = Graph.from_factors([2, 2], [([0, 1], [[0.0, 1.0], [0.0, 0.0]])])
    ask: Any = inference
    for wrong in (0, 1.5, "3"):
        with pytest.raises((TypeError, ValueError), match=r"^n is .*expected"):
            ask.sample(scores, wrong, method=method)
        with pytest.raises((TypeError, ValueError), match=r"^k is .*expected"):
            ask.kbest(scores, wrong, method=method)
    with pytest.raises((TypeError, ValueError), match=r"^seed is .*expected"):
        ask.sample(scores, 1, seed=-1, method=method)
    with pytest.raises(MethodError, match="more than 2\\*\\*32 labels; ask for fewer"):
        ask.sample(scores, 2**40, method=method)


def test_constraints_that_are_not_a_list() -> None:
    given: Any = 3
    with pytest.raises(TypeError, match="constraints is 3, expected a list of"):
        IntegerProgram(constraints=given)
