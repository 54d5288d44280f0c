"""Stochastic optimizers and block coordinate descent: optima, dense references, state, bad input."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from crfkit.data.batch import Batch
from crfkit.linear.layout import Layout
from crfkit.linear.loss import LinearLoss
from crfkit.objectives import Likelihood
from crfkit.optimize import SGD, SGDL1, AdaGrad
from crfkit.optimize.classic import BlockCoordinate
from crfkit.optimize.problem import Penalty
from crfkit.structures import Chain
from crfkit.structures.constraints import Forbid, SegmentLength
from tests.cases.optima import optimum
from tests.cases.optima import run_to_end as finish
from tests.cases.stochastic import BOTH, FLAT, SPARSE, A, L, N, batch, bound, layout_of


def exact(problem: LinearLoss, penalty: Penalty, w: Any) -> float:
    return problem.value_and_grad(w, np.empty_like(w)) + penalty.value(w)


LONG: dict[str, Any] = {
    "sgd": SGD(delta=-1.0, max_passes=400),
    "sgd-l1": SGDL1(eta0=0.2, alpha=0.97, delta=-1.0, max_passes=500),
    "adagrad": AdaGrad(delta=-1.0, max_passes=1500),
    "bcd": BlockCoordinate(delta=1e-8),
}
SHORT: dict[str, Any] = {
    "sgd": SGD(max_passes=6, period=2, delta=-1.0, seed=3),
    "sgd-l1": SGDL1(max_passes=6, period=2, delta=-1.0, seed=3),
    "adagrad": AdaGrad(max_passes=6, period=2, delta=-1.0, seed=3),
    "bcd": BlockCoordinate(max_passes=6, period=2, delta=-1.0),
}
PENALTY = {"sgd": FLAT, "sgd-l1": SPARSE, "adagrad": BOTH, "bcd": BOTH}


@pytest.mark.parametrize(
    ("name", "penalty"),
    [
        ("sgd", FLAT),
        ("sgd-l1", SPARSE),
        *((name, penalty) for name in ("adagrad", "bcd") for penalty in (FLAT, SPARSE, BOTH)),
    ],
)
def test_reaches_the_optimum(name: str, penalty: Penalty) -> None:
    problem = bound(batch())
    run = LONG[name].start(problem, penalty, np.zeros(problem.size))
    step = finish(run)
    assert step.objective == pytest.approx(exact(problem, penalty, run.w), rel=1e-12)
    assert step.objective == pytest.approx(optimum(problem, penalty), rel=1e-4)


@pytest.mark.parametrize("name", LONG)
def test_reaches_the_optimum_with_everything(name: str) -> None:
    """Values, weights of sequences, constraints, masked and short rows, strengths by group."""
    data = batch(values=True, weights=True)
    assert data.label is not None
    shown = [n for n in range(N) if not {(0, 3), (2, 2)} & steps_of(data, n)]
    assert 20 < len(shown) < N
    data = data.select(shown)
    problem = bound(data, Chain(L, constraints=[Forbid("0", "3"), Forbid("2", "2")]), observed=True)
    nodes = problem.layout.parts["node"].stop
    two = np.where(np.arange(problem.size) < nodes, 1.0, 3.0)
    base = PENALTY[name]
    penalty = Penalty(l1=base.l1 * two, l2=base.l2 * two)
    step = finish(LONG[name].start(problem, penalty, np.zeros(problem.size)))
    assert step.objective == pytest.approx(optimum(problem, penalty), rel=2e-4)


def steps_of(data: Batch, n: int) -> set[tuple[int, int]]:
    assert data.label is not None
    return set(pairwise(data.label[data.seq_ptr[n] : data.seq_ptr[n + 1]].tolist()))


@pytest.mark.parametrize("name", SHORT)
def test_values_of_short_rows_count(name: str) -> None:
    """Every attribute has one weight, so that there is no table of rows."""
    data = batch(values=True)
    layout = Layout.all_pairs(data, L, attributes=A)
    column = (np.arange(A) % L).astype(np.int32)
    layout = layout.with_block("node", column, np.arange(A + 1))
    problem = Likelihood().bind(layout, Chain(L), data, threads=1)
    penalty = PENALTY[name]
    step = finish(LONG[name].start(problem, penalty, np.zeros(problem.size)))
    assert step.objective == pytest.approx(optimum(problem, penalty), rel=2e-4)


def test_sgd_l1_and_bcd_find_the_same_zeros() -> None:
    problem = bound(batch())
    w = {}
    for name in ("sgd-l1", "bcd"):
        run = LONG[name].start(problem, SPARSE, np.zeros(problem.size))
        finish(run)
        w[name] = run.w
    assert 20 < (w["bcd"] == 0.0).sum() < problem.size - 20
    assert ((w["bcd"] == 0.0) == (w["sgd-l1"] == 0.0)).mean() > 0.9


@pytest.mark.parametrize("name", SHORT)
def test_same_seed_same_bits_and_another_seed_others(name: str) -> None:
    problem = bound(batch())
    runs = [SHORT[name].start(problem, PENALTY[name], np.zeros(problem.size)) for _ in range(2)]
    steps = [finish(run) for run in runs]
    assert repr(steps[0]) == repr(steps[1])
    assert (runs[0].w == runs[1].w).all()
    if name != "bcd":
        other = replace(SHORT[name], seed=4).start(problem, PENALTY[name], np.zeros(problem.size))
        finish(other)
        assert (other.w != runs[0].w).any()


@pytest.mark.parametrize("name", LONG)
def test_weights_of_sequences_are_repetitions(name: str) -> None:
    data = batch(weights=True)
    assert data.weight is not None
    repeated = replace(data, weight=None).select(np.repeat(np.arange(N), data.weight.astype(int)).tolist())
    reached = []
    for given in (data, repeated):
        problem = Likelihood().bind(layout_of(data), Chain(L), given, threads=1)
        reached.append(finish(LONG[name].start(problem, PENALTY[name], np.zeros(problem.size))).objective)
    assert reached[0] == pytest.approx(reached[1], rel=2e-4)


@pytest.mark.parametrize("options", [SGDL1(eta0=1e308), AdaGrad(eta=1e308)], ids=["sgd-l1", "adagrad"])
def test_divergence_ends_the_run_at_the_last_good_weights(options: Any) -> None:
    problem = bound(batch())
    begin = np.full(problem.size, 0.1)
    run = options.start(problem, SPARSE, begin)
    step = run.step()
    assert step.stopped.startswith("diverged: ")
    assert (run.w == begin).all()
    assert step.objective == pytest.approx(exact(problem, SPARSE, begin))


def test_calibration_survives_rates_that_are_far_too_high() -> None:
    problem = bound(batch())
    run = SGD(calibration_eta=1e6, max_passes=200).start(problem, FLAT, np.zeros(problem.size))
    assert finish(run).objective == pytest.approx(optimum(problem, FLAT), rel=1e-3)


def test_sgd_keeps_the_best_pass() -> None:
    problem = bound(batch())
    run = SGD(max_passes=30, delta=-1.0).start(problem, FLAT, np.zeros(problem.size))
    seen = []
    while True:
        step = run.step()
        if step.stopped:
            break
        seen.append((step.objective, run.w.copy()))
    assert run.best_w is not None
    seen.append((run.best, run.best_w))
    assert (run.w == min(seen, key=lambda pair: pair[0])[1]).all()


def partly(data: Batch) -> Batch:
    assert data.label is not None
    return replace(data, label=np.where(np.arange(data.positions) % 3 == 0, -1, data.label))


def with_edges(data: Batch) -> Batch:
    ptr = np.arange(data.positions + 1)
    return replace(data, edge_ptr=ptr, edge_attr=np.zeros(data.positions, dtype=np.int32))


BAD: dict[str, tuple[Batch, Chain, str]] = {
    "partial": (partly(batch()), Chain(L), "partial labels"),
    "soft": (replace(batch(), soft=np.full((batch().positions, L), 0.25)), Chain(L), "soft labels"),
    "order": (batch(), Chain(L, order=0), "order 0"),
    "dense": (replace(batch(), dense=np.ones((batch().positions, 1))), Chain(L), "real-valued columns"),
    "lengths": (batch(), Chain(L, constraints=[SegmentLength(None, maximum=99)]), "segment lengths"),
}


@pytest.mark.parametrize("name", SHORT)
@pytest.mark.parametrize("case", BAD)
def test_what_is_not_covered_is_named_with_the_remedy(case: str, name: str) -> None:
    data, chain, words = BAD[case]
    layout = Layout.all_pairs(data, chain, attributes=A)
    problem = Likelihood().bind(layout, chain, data, threads=1)
    with pytest.raises(ValueError, match=rf"{type(SHORT[name]).__name__}.*{words}.*LBFGS"):
        SHORT[name].start(problem, PENALTY[name], np.zeros(problem.size))


@pytest.mark.parametrize(
    ("data", "chain", "words"),
    [(with_edges(batch()), Chain(L), "edge attributes"), (batch(), Chain(L, order=2), "order 2")],
)
def test_block_coordinates_are_for_plain_chains(data: Batch, chain: Chain, words: str) -> None:
    problem = Likelihood().bind(Layout.all_pairs(data, chain, attributes=A), chain, data, threads=1)
    with pytest.raises(ValueError, match=rf"BlockCoordinate.*{words}.*LBFGS"):
        BlockCoordinate().start(problem, BOTH, np.zeros(problem.size))


def test_bad_input_is_named() -> None:
    problem = bound(batch())
    zero = np.zeros(problem.size)
    with pytest.raises(ValueError, match=r"SGD .* l1 is not 0.*SGDL1"):
        SGD().start(problem, BOTH, zero)
    with pytest.raises(ValueError, match=r"l2 is 0.*AdaGrad"):
        SGD().start(problem, Penalty(), zero)
    with pytest.raises(ValueError, match=r"SGDL1 .* l2 is not 0.*AdaGrad"):
        SGDL1().start(problem, BOTH, zero)
    with pytest.raises(ValueError, match="eta is 1000, expected less than N / l2 = 59"):
        SGD(eta=1000.0).start(problem, FLAT, zero)
    with pytest.raises(ValueError, match="l2 differs within"):
        AdaGrad().start(problem, Penalty(l2=np.arange(problem.size, dtype=np.float64)), zero)
    with pytest.raises(ValueError, match=r"w has shape \(3,\)"):
        AdaGrad().start(problem, FLAT, np.zeros(3))
    with pytest.raises(ValueError, match=r"w\[1\] is not finite"):
        BlockCoordinate().start(problem, FLAT, np.where(np.arange(problem.size) == 1, np.inf, 0.0))
    with pytest.raises(ValueError, match="AdaGrad needs SequenceBlocks, which int does not give; use LBFGS"):
        AdaGrad().start(3, FLAT, zero)
    for wrong in (
        lambda: SGD(eta=0.0),
        lambda: SGD(period=0),
        lambda: SGD(calibration_rate=1.0),
        lambda: SGD(calibration_samples=0),
        lambda: SGDL1(alpha=1.5),
        lambda: AdaGrad(offset=0.0),
        lambda: BlockCoordinate(kappa=-1.0),
    ):
        with pytest.raises(ValueError, match="expected"):
            wrong()
