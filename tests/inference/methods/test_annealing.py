"""Annealing finds the best labeling of small graphs, and claims nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crfkit import inference
from crfkit.errors import InfeasibleError
from crfkit.inference.methods import Annealing, Enumeration
from tests.cases.graphs import grid, random_graph


def test_small_graphs() -> None:
    rng = np.random.default_rng(1)
    right = found = 0
    for trial in range(40):
        scores = random_graph(rng, arity=4, graphs=3, forbidden=0.1 * (trial % 2), labels=(1, 4))
        try:
            best = inference.decode(scores, Enumeration())
        except InfeasibleError:
            with pytest.raises(InfeasibleError):
                inference.decode(scores, Annealing())
            continue
        answer = inference.decode(scores, Annealing())
        np.testing.assert_allclose(answer.score, inference.score(scores, answer), rtol=1e-9)
        np.testing.assert_array_equal(answer.info.lower, answer.score)
        assert (answer.score <= best.score + 1e-9).all()
        assert not answer.info.exact.any()
        assert answer.info.converged.all()
        right += int((answer.score >= best.score - 1e-9).sum())
        found += 3
    assert found > 50
    assert right >= 0.97 * found


def test_growing_cold_slowly_is_better_than_not_at_all() -> None:
    scores = grid(np.random.default_rng(2), 40, 40, 4, strength=1.0)
    quick = inference.decode(scores, Annealing(sweeps=1, hot=1e-3, restarts=1))
    slow = inference.decode(scores, Annealing(sweeps=300, restarts=1))
    assert slow.score > quick.score + 20.0


def test_threads_change_no_bit() -> None:
    scores = grid(np.random.default_rng(3), 150, 150, 3)
    for restarts in (1, 3):
        method = Annealing(sweeps=5, restarts=restarts)
        one = inference.decode(scores, method, threads=1)
        two = inference.decode(scores, method, threads=3)
        np.testing.assert_array_equal(one["node"], two["node"])
        assert one.score == two.score


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"sweeps": 0}, "sweeps is 0"),
        ({"restarts": 0}, "restarts is 0"),
        ({"hot": 0.0}, "hot is 0.0, expected a temperature above 0"),
        ({"cold": np.inf}, "cold is inf, expected a temperature above 0"),
        ({"hot": 1.0, "cold": 2.0}, "hot is 1.0, below cold"),
    ],
)
def test_bad_options(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Annealing(**options)
