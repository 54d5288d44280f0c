"""The same bits for any number of threads, and other Python threads run meanwhile."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from crfkit import inference
from crfkit.inference import Potentials
from tests.cases.potentials import chain, possible, random_tree, segments, tree
from tests.cases.queries import QUERIES, flat

N = 300


def lengths() -> list[int]:
    return [int(T) for T in np.random.default_rng(1).geometric(0.08, size=N)]


def problems() -> dict[str, Callable[[], Potentials]]:
    def rng() -> np.random.Generator:
        return np.random.default_rng(2)

    def forest() -> Potentials:
        shapes = [random_tree(rng(), T, roots=1 + T % 2) for T in lengths()]
        return tree(rng(), shapes, widths=range(1, 6))

    return {
        "chain": lambda: chain(rng(), 9, lengths()),
        "chain of 70 labels": lambda: chain(rng(), 70, lengths()),
        "chain forbidden": lambda: possible(chain(rng(), 5, lengths(), holes=0.2), rng()),
        "chain in logs": lambda: chain(rng(), 5, lengths(), scale=400.0),
        "chain per position": lambda: chain(rng(), 5, lengths(), per_position=True),
        "order 0": lambda: chain(rng(), 9, lengths(), order=0),
        "order 2": lambda: chain(rng(), 4, lengths(), order=2),
        "order 3": lambda: chain(rng(), 3, lengths(), order=3),
        "segments": lambda: segments(rng(), 5, lengths(), longest=4),
        "segments per position": lambda: segments(rng(), 3, lengths(), per_position=True),
        "tree": forest,
    }


def same_bits(a: Any, b: Any) -> bool:
    one, two = flat(a), flat(b)
    return len(one) == len(two) > 0 and all(np.array_equal(x, y) for x, y in zip(one, two, strict=True))


@pytest.mark.parametrize("query", list(QUERIES))
@pytest.mark.parametrize("name", list(problems()))
def test_any_number_of_threads(name: str, query: str) -> None:
    batch = problems()[name]()
    if query == "count" and name == "chain of 70 labels":
        batch = batch.sequence(0)
    one = QUERIES[query](batch, threads=1)
    for threads in (2, 16, None):
        assert same_bits(QUERIES[query](batch, threads=threads), one), threads


def test_bits_can_differ() -> None:
    batch, other = (chain(np.random.default_rng(2), 9, lengths()) for _ in range(2))
    assert same_bits(inference.marginals(batch), inference.marginals(other))
    again = dataclasses.replace(other, node=np.nextafter(other.node, 9.0))
    assert not same_bits(inference.marginals(batch), inference.marginals(again))


def test_draws_of_a_sequence_do_not_depend_on_the_others() -> None:
    """Only the seed, the place in the batch and the scores count."""
    batch = chain(np.random.default_rng(3), 4, [5, 3, 6])
    other = chain(np.random.default_rng(4), 4, [5, 7, 6])
    other.node[12:] = batch.node[8:]
    other.edge[0][:] = batch.edge[0]
    for mine, theirs in ((batch.start, other.start), (batch.stop, other.stop)):
        assert mine is not None
        assert theirs is not None
        theirs[:] = mine
    a, b = (inference.sample(p, 20, seed=3)[2] for p in (batch, other))
    assert [y.labels.tolist() for y in a] == [y.labels.tolist() for y in b]


def test_the_lock_of_the_interpreter_is_released() -> None:
    """A Python thread counts on while one native call runs."""
    batch = chain(np.random.default_rng(5), 150, [4000])
    ticks, done = 0, threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            time.sleep(0.001)

    _ = batch.problem
    counter = threading.Thread(target=tick)
    counter.start()
    time.sleep(0.01)
    before, begin = ticks, time.perf_counter()
    inference.log_partition(batch, space="log", threads=1)
    seconds, progress = time.perf_counter() - begin, ticks - before
    done.set()
    counter.join()
    assert seconds > 0.02, "too short to tell; make the problem larger"
    assert progress >= 5


@pytest.mark.parametrize("name", ["chain", "segments", "tree", "order 2"])
def test_many_python_threads_at_once(name: str) -> None:
    batch = problems()[name]()
    jobs = [query for query in QUERIES if query != "count"] * 3
    wanted = {query: QUERIES[query](batch, threads=1) for query in set(jobs)}
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda query: QUERIES[query](batch, threads=2), jobs))
    for query, answer in zip(jobs, answers, strict=True):
        assert same_bits(answer, wanted[query]), query
