"""Small graphs that would need large tables are refused, or answered in little memory, by every method."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import combinations

import numpy as np
import pytest

from crfkit import Graph, inference
from crfkit.errors import MethodError
from crfkit.inference.methods.registry import METHODS
from crfkit.structures.graphs.potentials import GraphPotentials
from tests.cases.growth import peak_of

MOST = 200e6  # bytes


def clique() -> GraphPotentials:
    """Return 60 variables that all depend on each other: 2^60 labelings, tables of 2^59 cells."""
    rng = np.random.default_rng(0)
    nodes = [([v], rng.normal(size=2)) for v in range(60)]
    pairs = [([a, b], 0.01 * rng.normal(size=(2, 2))) for a, b in combinations(range(60), 2)]
    return Graph.from_factors([2] * 60, [*nodes, *pairs])


def grid() -> GraphPotentials:
    """Return a grid of 35 x 35 variables: tables of 2^35 cells and more, labelings of more than 10^308."""
    rng = np.random.default_rng(0)
    at = np.arange(35 * 35).reshape(35, 35)
    pairs = [*zip(at[:, 1:].flat, at[:, :-1].flat, strict=True), *zip(at[1:].flat, at[:-1].flat, strict=True)]
    nodes = [([int(v)], rng.normal(size=2)) for v in at.flat]
    edges = [([int(a), int(b)], 0.01 * rng.normal(size=(2, 2))) for a, b in pairs]
    return Graph.from_factors([2] * at.size, [*nodes, *edges])


def certain() -> GraphPotentials:
    """Return 2,000 variables of one label beside 18 of two: few labelings, each of them long."""
    return Graph.from_factors([2] * 18 + [1] * 2_000, [([0, 1], np.zeros((2, 2)))])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("make", [clique, grid, certain])
def test_methods_answer_or_refuse_in_little_memory(make: Callable[[], GraphPotentials], method: str) -> None:
    scores = make()

    def asked() -> None:
        asks: list[Callable[..., object]] = [inference.log_partition, inference.decode]
        for ask in asks:
            with suppress(MethodError):
                ask(scores, method=method)

    assert peak_of(asked) < MOST


def test_enumeration_of_many_variables_of_one_label() -> None:
    """NumPy has 64 axes at the most."""
    scores = Graph.from_factors([1] * 100 + [2] * 2, [([100, 101], [[0.0, 1.0], [2.0, 3.0]])])
    assert inference.count(scores, method="enumeration") == 4
    found = inference.decode(scores, method="enumeration")
    assert found.score == 3.0
    assert found.labels["variable"].tolist() == [0] * 100 + [1, 1]
