"""Best labelings of few labels side by side, and of many labels with few steps that differ from the others.

They are bit for bit those of the general path, which takes steps that are given by position.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from crfkit import _native
from crfkit.native import kernels

Floats = NDArray[np.float64]
Pointers = NDArray[np.int64]
LEVELS = [_native.Kernels.named(level) for level in _native.simd_levels()]


def sequences(rng: np.random.Generator, count: int, longest: int) -> Pointers:
    """Return bounds of sequences of mixed lengths, empty ones and one of one position among them."""
    lengths = rng.integers(0, longest + 1, count)
    lengths[: min(count, 2)] = [longest, 1][: min(count, 2)]
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def check(
    node: Floats, edge: Floats, start: Floats | None, stop: Floats | None, ptr: NDArray[np.int64]
) -> None:
    """Compare scores and labels with the general path, on every instruction set and number of threads."""
    shared = _native.Problem.chain(node, [edge], start, stop, ptr)
    by_position = np.ascontiguousarray(np.broadcast_to(edge, (len(node), *edge.shape)))
    general = _native.Problem.chain(node, [by_position], start, stop, ptr)
    for native in LEVELS:
        value, label, _ = native.best(general, 1)
        for threads in (1, 2, 3):
            found = native.best(shared, threads)
            assert found[0].tobytes() == value.tobytes()
            assert found[1].tobytes() == label.tobytes()


def ends(rng: np.random.Generator, L: int, seed: int) -> tuple[Floats | None, Floats | None]:
    return (rng.normal(size=L) if seed % 2 else None), (rng.normal(size=L) if seed % 3 else None)


@pytest.mark.parametrize("L", [1, 2, 3, 5, 8, 9, 15, 16, 23])
@pytest.mark.parametrize("N", [1, 3, 4, 5, 9, 17, 33])
def test_few_labels(L: int, N: int) -> None:
    rng = np.random.default_rng(L * 100 + N)
    ptr = sequences(rng, N, 7)
    node, edge = rng.normal(size=(ptr[-1], L)), rng.normal(size=(L, L))
    start, stop = ends(rng, L, L + N)
    check(node, edge, start, stop, ptr)
    check(1e4 * node, 1e4 * edge, start, stop, ptr)


@pytest.mark.parametrize("L", [1, 3, 9, 15, 40])
def test_ties_go_to_the_first(L: int) -> None:
    rng = np.random.default_rng(L)
    ptr = sequences(rng, 21, 9)
    node, edge = rng.integers(-1, 2, (ptr[-1], L)).astype(float), rng.integers(-1, 2, (L, L)).astype(float)
    check(node, edge, None, np.zeros(L), ptr)
    check(np.zeros_like(node), np.zeros_like(edge), None, None, ptr)


@pytest.mark.parametrize("L", [2, 9, 33, 70])
def test_forbidden_parts(L: int) -> None:
    """Also where whole sequences have no labeling."""
    rng = np.random.default_rng(L)
    ptr = sequences(rng, 21, 9)
    node, edge = rng.normal(size=(ptr[-1], L)), rng.normal(size=(L, L))
    node[rng.random(node.shape) < 0.5] = -np.inf
    edge[rng.random(edge.shape) < 0.3] = -np.inf
    node[ptr[3]] = -np.inf
    check(node, edge, *ends(rng, L, L), ptr)


@pytest.mark.parametrize("L", [32, 33, 64, 130])
@pytest.mark.parametrize("common", [0.0, -1.5, -np.inf])
@pytest.mark.parametrize("listed", ["around", "below", "above", "forbidden", "rounded", "none"])
def test_few_steps_that_differ(L: int, common: float, listed: str) -> None:
    rng = np.random.default_rng(L)
    ptr = sequences(rng, 6, 9)
    node, edge = rng.normal(size=(ptr[-1], L)), np.full((L, L), common)
    scores = {
        "around": rng.normal(size=(L, L)),
        "below": -rng.exponential(5, (L, L)) - 2,
        "above": rng.exponential(5, (L, L)) + 2,
        "forbidden": np.full((L, L), -np.inf),
        "rounded": np.round(rng.normal(size=(L, L))),
        "none": edge,
    }[listed]
    few = rng.random((L, L)) < 0.05  # with the two that follow less than an eighth
    few[3] = few[:, 5] = True  # a label that all steps out of are listed, and one that all steps into are
    edge = np.where(few, scores, edge)
    if listed == "rounded":
        node = np.round(node)
    check(node, edge, *ends(rng, L, L), ptr)
    check(100.0 * node, edge, None, None, ptr)
    node[rng.random(node.shape) < 0.9] = -np.inf
    check(node, edge, None, None, ptr)


def test_one_source_above_all_whose_steps_are_all_low() -> None:
    """The largest cells of a row are all forbidden for one label: all others are looked at."""
    L, T = 64, 5
    rng = np.random.default_rng(1)
    node, edge = rng.normal(size=(T, L)), np.zeros((L, L))
    node[:, :12] += 50.0
    edge[:12, 40:44] = -np.inf
    node[2, 40:44] += 1e3
    check(node, edge, None, None, np.array([0, T]))


def test_a_long_sequence_beside_short_ones() -> None:
    rng = np.random.default_rng(2)
    ptr = np.array([0, 30_000, 30_001, 30_005, 30_005, 30_012])
    check(rng.normal(size=(ptr[-1], 9)), rng.normal(size=(9, 9)), None, None, ptr)


def test_the_comparison_can_fail() -> None:
    node = np.array([[0.0, 1.0], [1.0, 0.0]])
    edge = np.array([[0.0, 0.0], [0.0, 9.0]])
    ptr = np.array([0, 2])
    one = kernels.best(_native.Problem.chain(node, [edge], None, None, ptr), 1)
    other = kernels.best(_native.Problem.chain(node, [edge.T * 0], None, None, ptr), 1)
    assert one[1].tobytes() != other[1].tobytes()
