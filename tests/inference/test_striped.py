"""Sums over chains of few labels, whose lanes lie side by side, against sums in log space."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from crfkit.native import kernels
from crfkit.structures import Chain
from crfkit.structures.chains.potentials import ChainPotentials

LENGTHS = np.array([3, 7, 1, 0, 12, 12, 12, 2, 30, 5, 5, 5, 5, 1, 9, 8, 8, 40, 17, 0, 1, 6])


def chain(L: int, lengths: Any = LENGTHS, *, scale: float = 1.0, holes: float = 0.0) -> ChainPotentials:
    rng = np.random.default_rng(L)
    seq_ptr = np.cumsum([0, *lengths])

    def scores(*shape: int) -> Any:
        values = scale * rng.normal(size=shape)
        return np.where(rng.random(shape) < holes, -np.inf, values)

    node, edge = scores(int(seq_ptr[-1]), L), scores(L, L)
    return Chain(L).potentials(node, edge, start=scores(L), stop=scores(L), seq_ptr=seq_ptr)


def agree(potentials: ChainPotentials, weight: Any = None) -> Any:
    found = kernels.marginals(potentials.problem, False, False, 1, weight)
    expected = kernels.marginals(potentials.problem, False, True, 1, weight)
    assert_allclose(found["value"], expected["value"], rtol=1e-12)
    for part in ("node", "start", "stop"):
        assert_allclose(found[part], expected[part], rtol=1e-10, atol=1e-12)
    assert_allclose(found["tables"][0], expected["tables"][0], rtol=1e-10, atol=1e-11)
    return found


@pytest.mark.parametrize("L", range(1, 18))
def test_lanes_of_all_lengths(L: int) -> None:
    found = agree(chain(L), np.random.default_rng(1).normal(size=len(LENGTHS)))
    assert not found["in_logs"].any()


@pytest.mark.parametrize("L", [2, 5, 9, 15])
def test_forbidden_parts(L: int) -> None:
    found = agree(chain(L, holes=0.15))
    if L == 2:
        assert np.isneginf(found["value"]).any()


@pytest.mark.parametrize("L", [3, 9])
@pytest.mark.parametrize("scale", [20.0, 60.0, 1e4])
def test_large_scores(L: int, scale: float) -> None:
    agree(chain(L, scale=scale))


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33])
def test_any_number_of_lanes(count: int) -> None:
    agree(chain(5, np.arange(count) % 9 + 1))


def test_long_sequences_are_rescaled() -> None:
    potentials = chain(4, [3000, 2999, 2000, 1500, 10], scale=5.0)
    found = agree(potentials)
    assert not found["in_logs"].any()


@pytest.mark.parametrize("threads", [2, 3])
def test_same_bits_for_any_number_of_threads(threads: int) -> None:
    potentials = chain(9, np.tile(LENGTHS, 20))
    one = kernels.marginals(potentials.problem, False, False, 1)
    more = kernels.marginals(potentials.problem, False, False, threads)
    for part in ("value", "node", "start", "stop"):
        assert_array_equal(one[part], more[part])
    assert_array_equal(one["tables"][0], more["tables"][0])


@pytest.mark.parametrize("L", [2, 5, 9, 11, 14])
@pytest.mark.parametrize("end", ["start", "stop"])
def test_labels_forbidden_at_one_end_only(L: int, end: str) -> None:
    rng = np.random.default_rng(L)
    seq_ptr = np.cumsum([0, *LENGTHS])
    scores = {"start": rng.normal(size=L), "stop": rng.normal(size=L)}
    scores[end][1] = -np.inf
    node, edge = rng.normal(size=(int(seq_ptr[-1]), L)), rng.normal(size=(L, L))
    potentials = Chain(L).potentials(node, edge, **scores, seq_ptr=seq_ptr)
    found = agree(potentials)
    assert not found["in_logs"].any()
    alone = kernels.marginals(potentials.problem, False, True, 1)["value"]
    assert_allclose(kernels.log_partition(potentials.problem, False, 1), alone, rtol=1e-12)
