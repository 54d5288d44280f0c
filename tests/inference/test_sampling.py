"""Draws have the enumerated probabilities, and the same seed gives the same draws."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from crfkit import Chain, inference
from crfkit.inference.reference.enumeration import Enumeration, Outcome
from crfkit.inference.reference.textbook import Textbook
from tests.cases.answers import key
from tests.cases.potentials import Potentials, chain, path, possible, random_tree, segments, star, tree

DRAWS = 20_000


def rng() -> np.random.Generator:
    return np.random.default_rng(11)


PROBLEMS: dict[str, Potentials] = {
    "chain": chain(rng(), 3, [4]).sequence(0),
    "chain of 9 labels": chain(rng(), 9, [3]).sequence(0),
    "chain forbidden": possible(chain(rng(), 3, [5], holes=0.3), rng()).sequence(0),
    "chain in logs": chain(rng(), 2, [6], scale=2.0).sequence(0),
    "order 0": chain(rng(), 3, [4], order=0).sequence(0),
    "order 2": chain(rng(), 2, [6], order=2).sequence(0),
    "order 3": chain(rng(), 2, [6], order=3).sequence(0),
    "segments": segments(rng(), 2, [5], longest=3).sequence(0),
    "segments per position": segments(rng(), 2, [5], per_position=True).sequence(0),
    "path": tree(rng(), [path(5)]).sequence(0),
    "star": tree(rng(), [star(5)]).sequence(0),
    "forest": tree(rng(), [random_tree(rng(), 6, roots=2)]).sequence(0),
}


def key_of(y: Outcome) -> tuple[Any, ...]:
    return (*y.labels, None, *(y.begin or ()))


def p_value(every: Enumeration, draws: Counter[tuple[Any, ...]]) -> float:
    """Chi-square against the enumerated probabilities; rare labelings make one class."""
    total = sum(draws.values())
    statistic, classes, rest = 0.0, 0, [0.0, 0.0]
    for y, p in zip(every.outcomes, every.probabilities, strict=True):
        expected, seen = p * total, draws.pop(key_of(y), 0)
        if expected < 8.0:
            rest[0] += expected
            rest[1] += seen
        else:
            statistic += (seen - expected) ** 2 / expected
            classes += 1
    assert not draws, f"forbidden draws: {draws}"
    if rest[0] > 0.0:
        statistic += (rest[1] - rest[0]) ** 2 / rest[0]
        classes += 1
    return float(chi2.sf(statistic, classes - 1))


@pytest.mark.parametrize("space", ["auto", "log"])
@pytest.mark.parametrize("name", list(PROBLEMS))
def test_draws_have_the_right_probabilities(name: str, space: Any) -> None:
    potentials = PROBLEMS[name]
    drawn = inference.sample(potentials, DRAWS if space == "auto" else 4000, seed=7, space=space)
    assert p_value(Enumeration(potentials), Counter(map(key, drawn))) > 1e-3


def test_the_test_notices_a_wrong_distribution() -> None:
    potentials = PROBLEMS["chain"]
    other = chain(rng(), 3, [4]).sequence(0)
    other.node[1, 2] += 0.15
    drawn = inference.sample(other, DRAWS, seed=123)
    assert p_value(Enumeration(potentials), Counter(map(key, drawn))) < 1e-6


@pytest.mark.parametrize("name", list(PROBLEMS))
def test_textbook_draws(name: str) -> None:
    potentials, generator = PROBLEMS[name], np.random.default_rng(5)
    book = Textbook(potentials)
    drawn = [book.sample(generator) for _ in range(400)]
    assert p_value(Enumeration(potentials), Counter(map(key_of, drawn))) > 1e-3


@pytest.mark.parametrize("name", list(PROBLEMS))
def test_seeds(name: str) -> None:
    potentials = PROBLEMS[name]

    def draws(n: int, seed: int) -> list[tuple[Any, ...]]:
        return [key(y) for y in inference.sample(potentials, n, seed)]

    assert draws(50, 1) == draws(50, 1)
    assert draws(50, 1) != draws(50, 2)
    assert draws(50, 1)[:10] == draws(10, 1)
    assert len(set(draws(50, 1))) > 1
    assert draws(5, 2**64 - 1) == draws(5, 2**64 - 1)


def test_sequences_of_a_batch_are_independent() -> None:
    """Equal sequences get draws of their own."""
    one = chain(rng(), 3, [4])
    node = np.concatenate([one.node, one.node])
    batch = Chain(3).potentials(node, one.edge[0], seq_ptr=[0, 4, 8])
    first, second = inference.sample(batch, 2000, seed=1)
    pairs = Counter((key(a)[0], key(b)[0]) for a, b in zip(first, second, strict=True))
    p, q = Counter(a for a, _ in pairs.elements()), Counter(b for _, b in pairs.elements())
    for (a, b), seen in pairs.items():
        expected = p[a] * q[b] / 2000
        assert abs(seen - expected) < 5 * math.sqrt(expected) + 5
