"""Methods for graphs hear signals while they work: each of these calls takes ten seconds and more."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from crfkit.inference import methods
from crfkit.structures.graphs.potentials import GraphPotentials
from tests.cases.graphs import grid
from tests.cases.interrupts import seconds_until_heard

SOON = 5.0  # seconds; a tenth of one, on a machine that has nothing else to do
MANY = 10**6


def square(side: int, labels: int) -> GraphPotentials:
    return grid(np.random.default_rng(0), side, side, labels)


Ask = Callable[[GraphPotentials, int], object]
CALLS: dict[str, tuple[int, int, Ask]] = {
    "gibbs": (40, 4, lambda p, n: methods.Gibbs(draws=MANY).marginals(p, False, n)),
    "gibbs of trees": (40, 4, lambda p, n: methods.Gibbs(draws=MANY, block=True).marginals(p, False, n)),
    "draws": (40, 4, lambda p, n: methods.Gibbs(thin=10**5).sample(p, 10, 0, n)),
    "annealing": (40, 4, lambda p, n: methods.Annealing(sweeps=10**5).best(p, n)),
    "belief propagation": (
        60,
        8,
        lambda p, n: methods.BeliefPropagation(sweeps=MANY, tol=1e-300).marginals(p, False, n),
    ),
    "mean field": (60, 8, lambda p, n: methods.MeanField(sweeps=MANY, tol=1e-300).marginals(p, False, n)),
    "the k best": (10, 3, lambda p, n: methods.Elimination().kbest(p, 300_000, n)),
    "draws by elimination": (12, 2, lambda p, n: methods.Elimination().sample(p, 100_000, 0, n)),
    "expansion": (150, 8, lambda p, n: methods.Expansion().best(p, n)),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", list(CALLS))
def test_methods(name: str, threads: int) -> None:
    side, labels, ask = CALLS[name]
    potentials = square(side, labels)
    _ = potentials.problem
    assert seconds_until_heard(lambda: ask(potentials, threads), after=0.3) < SOON
