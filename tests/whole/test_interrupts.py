"""Native code hears signals while it works: each of these calls takes ten seconds and more."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable

import numpy as np
import pytest

from crfkit import _native
from crfkit.linear.layout import Layout
from crfkit.linear.loss import LinearLoss
from crfkit.native import kernels
from crfkit.objectives import Likelihood
from crfkit.optimize.dual.trainer import Dual
from crfkit.optimize.problem import Penalty
from crfkit.structures import Chain
from tests.cases.batches import random_batch
from tests.cases.dual import problem_of
from tests.cases.interrupts import seconds_until_heard

SOON = 5.0  # seconds; a tenth of one, on a machine that has nothing else to do


def chain(L: int, *lengths: int, order: int = 1) -> _native.Problem:
    rng = np.random.default_rng(0)
    node = rng.normal(size=(sum(lengths), L))
    tables = [rng.normal(size=(L,) * (h + 1)) for h in range(1, order + 1)]
    return _native.Problem.chain(node, tables, None, None, np.cumsum([0, *lengths]))


def segments(L: int, D: int, T: int) -> _native.Problem:
    rng = np.random.default_rng(0)
    return _native.Problem.segments(
        rng.normal(size=(T, D, L)), rng.normal(size=(L, L)), None, None, np.array([0, T])
    )


def path(L: int, T: int) -> _native.Problem:
    """A tree without branches."""
    rng = np.random.default_rng(0)
    parent = np.arange(-1, T - 1, dtype=np.int32)
    return _native.Problem.tree(
        rng.normal(size=T * L),
        np.arange(T + 1) * L,
        rng.normal(size=(T - 1) * L * L),
        np.concatenate([[0], np.arange(T) * L * L]),
        parent,
        np.full(T, L, dtype=np.int32),
        np.array([0, T]),
    )


def star(L: int, T: int) -> _native.Problem:
    """A tree of one root and its leaves."""
    rng = np.random.default_rng(0)
    parent = np.zeros(T, dtype=np.int32)
    parent[0] = -1
    edges = np.concatenate([[0, 0], np.arange(1, T) * L * L])
    return _native.Problem.tree(
        rng.normal(size=T * L),
        np.arange(T + 1) * L,
        rng.normal(size=(T - 1) * L * L),
        edges,
        parent,
        np.full(T, L, dtype=np.int32),
        np.array([0, T]),
    )


Problem = Callable[[], _native.Problem]
QUERIES: dict[str, tuple[Problem, Callable[[_native.Problem, int], object]]] = {
    "sums of a long chain": (lambda: chain(2000, 4000), lambda p, n: kernels.log_partition(p, False, n)),
    "sums in logs": (lambda: chain(1000, 2000), lambda p, n: kernels.log_partition(p, True, n)),
    "marginals": (lambda: chain(1500, 2000, 2000), lambda p, n: kernels.marginals(p, False, False, n)),
    "the best": (lambda: chain(2000, 2000, 2000), lambda p, n: kernels.best(p, n)),
    "the best of order 2": (lambda: chain(250, 600, order=2), lambda p, n: kernels.best(p, n)),
    "sums of order 2": (lambda: chain(160, 700, order=2), lambda p, n: kernels.marginals(p, False, False, n)),
    "the k best": (lambda: chain(300, 1000), lambda p, n: kernels.kbest(p, 100, n)),
    "draws": (lambda: chain(300, 4000), lambda p, n: kernels.sample(p, 2000, 0, False, n)),
    "reach": (lambda: chain(2000, 3000), lambda p, n: kernels.reach(p, False, n)),
    "count": (lambda: chain(2000, 3000), lambda p, n: kernels.count(p, 1000003, n)),
    "segments": (lambda: segments(1000, 2, 1000), lambda p, n: kernels.log_partition(p, True, n)),
    "the k best of segments": (lambda: segments(10, 1000, 1000), lambda p, n: kernels.kbest(p, 200, n)),
    "the k best of a path": (lambda: path(20, 6000), lambda p, n: kernels.kbest(p, 1000, n)),
    "the k best of a star": (lambda: star(20, 6000), lambda p, n: kernels.kbest(p, 1000, n)),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", list(QUERIES))
def test_queries(name: str, threads: int) -> None:
    make, ask = QUERIES[name]
    problem = make()
    assert seconds_until_heard(lambda: ask(problem, threads)) < SOON


# ---- training, templates, and what is left behind


def training(L: int = 500) -> LinearLoss:
    batch = random_batch(np.random.default_rng(0), np.array([3000, 3000]), 300, L, least=1, most=3)
    chain = Chain(L)
    return Likelihood(l2=1.0).bind(Layout.observed(batch, chain), chain, batch)


def test_evaluations_and_what_they_leave() -> None:
    """An evaluation that was interrupted leaves a loss that can be evaluated again."""
    loss = training()
    w, gradient = np.zeros(loss.size), np.zeros(loss.size)
    loss.prepare()
    assert seconds_until_heard(lambda: repeat(lambda: loss.value_and_grad(w, gradient)), after=0.3) < SOON
    small, _ = problem_of("observed")
    x, g = np.zeros(small.size), np.zeros(small.size)
    value = small.value_and_grad(x, g)
    expected = g.copy()
    seconds_until_heard(lambda: repeat(lambda: small.value_and_grad(x, g)), after=0.1)
    assert small.value_and_grad(x, g) == value
    assert np.array_equal(g, expected)


def repeat(call: Callable[[], object]) -> None:
    while True:
        call()


def test_passes_of_the_dual() -> None:
    loss = training()
    penalty = Penalty(l2=1.0)
    run = Dual(finish=None, threads=2).start(loss, penalty, np.zeros(loss.size))
    assert seconds_until_heard(lambda: repeat(run.step), after=0.3) < SOON


def test_the_first_signal_of_a_training_lets_the_step_finish() -> None:
    """Handlers that do not raise are heard, and the work goes on."""
    problem = chain(300, 1000)
    expected = kernels.log_partition(problem, False, 1)
    heard = []
    before = signal.signal(signal.SIGALRM, lambda number, frame: heard.append(number))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        while not heard:
            assert np.array_equal(kernels.log_partition(problem, False, 1), expected)
    finally:
        signal.signal(signal.SIGALRM, before)


def test_other_threads_do_not_hear_it() -> None:
    """Signals are for the main thread; a thread that is asked to end raises what ends it."""
    stop, ended = _native.Stop(), []
    problem = chain(2000, 4000)

    def work() -> None:
        try:
            stop.run(lambda: kernels.log_partition(problem, False, 2))
        except KeyboardInterrupt:
            ended.append(stop.asked)

    thread = threading.Thread(target=work)
    thread.start()
    stop.ask()
    thread.join(30.0)
    assert ended == [True]
