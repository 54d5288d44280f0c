"""Sums without counts of edges: chains of many labels go by the steps that differ from a common score."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from crfkit import Chain, SemiMarkov, _native, inference

LEVELS = [_native.Kernels.named(level) for level in _native.simd_levels()]
LENGTHS = [3, 7, 1, 0, 12, 2, 30, 5, 5, 1, 9, 8, 8, 17, 0, 1, 6, 40, 150]  # enough positions for listing


def problem(
    edge: Any, lengths: Any = LENGTHS, *, scale: float = 1.0, holes: float = 0.0, ends: bool = True
) -> _native.Problem:
    rng = np.random.default_rng(7)
    L = edge.shape[0]
    ptr = np.cumsum([0, *lengths]).astype(np.int64)
    node = scale * rng.normal(size=(int(ptr[-1]), L))
    node[rng.random(node.shape) < holes] = -np.inf
    start, stop = (rng.normal(size=L), rng.normal(size=L)) if ends else (None, None)
    return _native.Problem.chain(node, [edge], start, stop, ptr)


def table(L: int, common: float, listed: str) -> Any:
    rng = np.random.default_rng(L)
    scores = {
        "around": rng.normal(size=(L, L)),
        "below": -rng.exponential(9, (L, L)) - 2,
        "above": rng.exponential(9, (L, L)) + 2,
        "forbidden": np.full((L, L), -np.inf),
        "none": np.full((L, L), common),
    }[listed]
    few = rng.random((L, L)) < 0.05  # with the two that follow less than an eighth
    few[3] = few[:, 5] = True  # a label that all steps out of are listed, and one that all steps into are
    return np.where(few, scores, common)


def check(asked: _native.Problem, weight: Any = None) -> Any:
    """Compare with sums in log space; the same bits for any number of threads."""
    for native in LEVELS:
        expected = native.marginals(asked, False, True, 1, weight)
        found = native.marginals(asked, False, False, 1, weight, steps=False)
        assert "tables" not in found
        assert_allclose(found["value"], expected["value"], rtol=1e-12)
        assert_allclose(native.log_partition(asked, False, 1), expected["value"], rtol=1e-12)
        for part in ("node", "start", "stop"):
            assert_allclose(found[part], expected[part], rtol=1e-9, atol=1e-12)
        for threads in (2, 3):
            more = native.marginals(asked, False, False, threads, weight, steps=False)
            assert all(more[part].tobytes() == found[part].tobytes() for part in found)
    return found


@pytest.mark.parametrize("L", [32, 33, 70])
@pytest.mark.parametrize("common", [0.0, -1.5, 4.0, -np.inf])
@pytest.mark.parametrize("listed", ["around", "below", "above", "forbidden", "none"])
def test_few_steps_that_differ(L: int, common: float, listed: str) -> None:
    edge = table(L, common, listed)
    check(problem(edge), np.random.default_rng(1).normal(size=len(LENGTHS)))
    check(problem(edge, [40] * 7, holes=0.9, ends=False))
    check(problem(edge, holes=0.5))


@pytest.mark.parametrize("scale", [20.0, 1e4])
def test_large_scores(scale: float) -> None:
    check(problem(table(40, 0.0, "around"), scale=scale))
    check(problem(scale * table(40, 1.0, "around")))


@pytest.mark.parametrize("L", [1, 5, 9, 23, 40])
def test_steps_that_all_differ(L: int) -> None:
    found = check(problem(np.random.default_rng(L).normal(size=(L, L))))
    assert not found["in_logs"].any()


def test_a_sequence_too_long_for_lanes_side_by_side() -> None:
    asked = problem(table(33, 0.0, "around"), [22_000, 9, 9, 9, 9, 3])
    for native in LEVELS:
        found = native.marginals(asked, False, False, 1, None, steps=False)
        dense = native.marginals(asked, False, False, 1, None)
        assert_allclose(found["value"], dense["value"], rtol=1e-12)
        assert_allclose(found["node"], dense["node"], rtol=1e-9, atol=1e-12)


def test_as_by_enumeration() -> None:
    edge = table(32, 0.5, "around")
    scores = Chain(32).potentials(np.random.default_rng(3).normal(size=(2, 32)), edge=edge)
    joint = scores.node[0][:, None] + edge + scores.node[1]  # [L, L]
    p = np.exp(joint - joint.max())
    assert inference.log_partition(scores) == pytest.approx(np.log(p.sum()) + joint.max(), rel=1e-13)
    found = inference.marginals(scores, counts=False)
    assert_allclose(found.node, [p.sum(axis=1) / p.sum(), p.sum(axis=0) / p.sum()], rtol=1e-12)
    assert found.edge is None


@pytest.mark.parametrize("structure", [Chain(3, order=2), Chain(3, order=0), SemiMarkov(3, 2)])
def test_any_structure_without_counts(structure: Any) -> None:
    given = [[[0.5, 1.0, 0.0]] * 2] * 4 if isinstance(structure, SemiMarkov) else [[0.5, 1.0, 0.0]] * 4
    scores = structure.potentials(given)
    plain, found = inference.marginals(scores), inference.marginals(scores, counts=False)
    assert_allclose(found.node, plain.node, rtol=1e-12)
    assert plain.edge is not None
    assert found.edge is None
