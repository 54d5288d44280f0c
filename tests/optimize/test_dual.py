"""Training in the dual: optimum, certificate, threads, state, bad input."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from crfkit import _native
from crfkit.data.batch import Batch
from crfkit.linear.fast.sequences import dual_of
from crfkit.linear.layout import Layout
from crfkit.objectives import Likelihood
from crfkit.optimize import LBFGS, Dual
from crfkit.optimize.dual.passes import DualPasses, strengths_of
from crfkit.structures import Chain
from tests.cases.dual import CASES, batch, problem_of
from tests.cases.optima import optimum, run_to_end


@pytest.mark.parametrize("step", ["mixture", "exponentiated"])
@pytest.mark.parametrize("name", CASES)
def test_optimum_and_certificate(name: str, step: Any) -> None:
    problem, penalty = problem_of(name)
    best = optimum(problem, penalty)
    optimizer = Dual(step=step, finish=None, gap=1e-5)
    run = optimizer.start(problem, penalty, np.zeros(problem.size))
    end = run_to_end(run)
    assert end.stopped.startswith("converged")
    exact = problem.value_and_grad(run.w, np.empty(problem.size)) + penalty.value(run.w)
    assert exact == pytest.approx(end.objective, rel=1e-12)
    assert best * (1.0 - 1e-7) <= exact <= best * (1.0 + 1e-5)
    assert exact - end.gap <= best * (1.0 + 1e-7)  # the dual is a lower bound


@pytest.mark.parametrize("name", ["observed", "70 labels", "elastic net", "order 2"])
def test_finisher(name: str) -> None:
    problem, penalty = problem_of(name)
    run = Dual(gap=1e-6).start(problem, penalty, np.zeros(problem.size))
    end = run_to_end(run)
    assert end.objective == pytest.approx(optimum(problem, penalty), rel=1e-6)
    assert end.stopped.startswith("converged")


def test_passes_take_no_memory_while_the_finisher_runs() -> None:
    problem, penalty = problem_of("observed")
    finish = LBFGS(preconditioner="diagonal", max_iterations=3)  # too few: passes are made anew to certify
    run = Dual(gap=1e-6, finish=finish).start(problem, penalty, np.zeros(problem.size))
    seen = set()
    for _ in range(40):
        seen.add((run.phase, run.sequences is None))
        if run.phase == "certify" or run.step().stopped:
            break
    assert seen == {("dual", False), ("finish", True), ("certify", False)}


def test_warm_start_is_certified_at_once() -> None:
    problem, penalty = problem_of("observed")
    first = Dual(gap=1e-6).start(problem, penalty, np.zeros(problem.size))
    long = run_to_end(first)
    second = Dual(gap=1e-4, finish=None).start(problem, penalty, first.w)
    assert run_to_end(second).evaluations < long.evaluations / 2


@pytest.mark.parametrize("order", [1, 2])
def test_warm_start_beyond_scaled_probabilities(order: int) -> None:
    """Sequences summed in log space, the long ones in memory that the short ones have used."""
    rng = np.random.default_rng(0)
    lengths = [2, 3, 40, 90, 5, 100]
    P, L = sum(lengths), 3
    data = Batch(
        seq_ptr=np.concatenate([[0], np.cumsum(lengths)]),
        attr_ptr=np.arange(P + 1),
        attr=rng.integers(0, 9, P).astype(np.int32),
        value=None,
        label=rng.integers(0, L, P).astype(np.int32),
    )
    chain, objective = Chain(L, order=order), Likelihood(l2=1.0)
    layout = Layout.all_pairs(data, chain)
    problem, penalty = objective.bind(layout, chain, data), objective.penalty(layout)
    run = Dual(finish=None).start(problem, penalty, 3000.0 * rng.normal(size=problem.size))
    v = np.empty(problem.size)
    assert isinstance(run.sequences, DualPasses)
    run.sequences.trainer.exact(v, 1)
    assert run.sequences.trainer.entropy() == pytest.approx(0.0, abs=1e-3)  # one labeling has it all
    assert run.sequences.dual == pytest.approx(run.sequences.trainer.entropy() - 0.5 * float(v @ v), rel=1e-5)


@pytest.mark.parametrize("step", ["mixture", "exponentiated"])
@pytest.mark.parametrize(
    "name", ["start and stop, two strengths", "few transitions", "pairs", "order 2, few n-grams"]
)
def test_threads_do_not_change_a_bit(name: str, step: Any) -> None:
    problem, penalty = problem_of(name)
    found = []
    for threads in (1, 2, 3, 8):
        run = Dual(step=step, finish=None, threads=threads).start(problem, penalty, np.zeros(problem.size))
        end = run_to_end(run)
        found.append((run.w.tobytes(), end.objective, end.gap))
    assert all(f == found[0] for f in found)


@pytest.mark.parametrize("step", ["mixture", "exponentiated"])
@pytest.mark.parametrize(
    ("name", "after"),
    [("weights", 1), ("weights", 4), ("weights", 9), ("weights", 12), ("few transitions", 4), ("order 2", 4)],
)
def test_resumed_run_gives_the_same_bits(step: Any, name: str, after: int) -> None:
    problem, penalty = problem_of(name)
    optimizer = Dual(step=step, gap=1e-5)
    whole = optimizer.start(problem, penalty, np.zeros(problem.size))
    cut = optimizer.start(problem, penalty, np.zeros(problem.size))
    for _ in range(after):
        if cut.step().stopped:
            return
    resumed = optimizer.start(problem, penalty, np.zeros(problem.size), state=cut.state())
    assert run_to_end(resumed) == run_to_end(whole)
    assert resumed.w.tobytes() == whole.w.tobytes()


def test_sequences_keep_marginals_of_transitions_with_weights_only() -> None:
    problem, penalty = problem_of("few transitions")
    run = Dual().start(problem, penalty, np.zeros(problem.size))
    assert isinstance(run.sequences, DualPasses)
    cells = len(problem.layout.transition_cell)
    assert 8 < cells < 12 * 12 // 2
    assert len(run.sequences.trainer.state()["edge"]) == problem.batch.sequences * (-(-cells // 8) * 8)


@pytest.mark.parametrize("step", ["mixture", "exponentiated"])
@pytest.mark.parametrize("name", ["pairs", "pairs, constraints"])
def test_pairs_give_what_all_steps_give(name: str, step: Any) -> None:
    problem, penalty = problem_of(name)
    arrays = dual_of(problem)
    assert arrays.pairs is not None
    strengths = strengths_of(arrays, penalty, problem.size)
    forbidden = 2 if "constraints" in name else 0
    assert len(arrays.pairs[1]) == len(problem.layout.transition_cell) + forbidden
    start = 0.5 * np.random.default_rng(0).normal(size=problem.size)
    found = []
    for used in (arrays, replace(arrays, pairs=None)):
        passes = DualPasses(used, penalty, strengths, 1.0, step == "exponentiated", 0.8, 0, 2)
        passes.begin(start)
        for number in range(3):
            passes.run(number, 0.0)
        found.append((passes.weights(problem.size), passes.dual, passes.met))
        assert passes.dual == pytest.approx(passes.exact(problem.size), rel=1e-5)
    # marginals are stored as floats, so that sums of other roundings may differ in their last bit
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=0.0, atol=1e-9)
    assert found[0][1:] == pytest.approx(found[1][1:], rel=1e-9)


def test_pairs_beyond_scaled_probabilities() -> None:
    """Where sums need log space, all steps are taken."""
    problem, penalty = problem_of("pairs, constraints")
    arrays = dual_of(problem)
    w = 3000.0 * np.random.default_rng(0).normal(size=problem.size)
    found = []
    for used in (arrays, replace(arrays, pairs=None)):
        passes = DualPasses(used, penalty, strengths_of(arrays, penalty, problem.size), 1.0, False, 0.8, 0, 1)
        passes.begin(w)
        assert passes.dual == pytest.approx(passes.exact(problem.size), rel=1e-5)
        found.append([passes.trainer.entropy(), passes.dual, *passes.weights(problem.size)])
    assert found[0] == pytest.approx(found[1], rel=1e-9, abs=1e-9)


def test_pairs_of_other_transitions_are_refused() -> None:
    problem, penalty = problem_of("pairs, constraints")
    arrays = dual_of(problem)
    assert arrays.pairs is not None
    ptr, source = arrays.pairs
    strengths = strengths_of(arrays, penalty, problem.size)
    last = np.minimum(ptr, len(source) - 1)
    with pytest.raises(ValueError, match="pairs: a transition that has a weight or is"):
        _native.DualTrainer(arrays.native, strengths, False, 1, last, source[:-1])
    with pytest.raises(ValueError, match="pair_ptr and pair_from go together"):
        _native.DualTrainer(arrays.native, strengths, False, 1, ptr)
    every = np.arange(25, dtype=np.int32) * 24, np.tile(np.arange(24, dtype=np.int32), 24)
    with pytest.raises(ValueError, match="pairs: one has no weight and is not forbidden"):
        _native.DualTrainer(arrays.native, strengths, False, 1, *every)


def test_seed_decides_the_order() -> None:
    problem, penalty = problem_of("observed")
    found = []
    for seed in (0, 0, 1):
        run = Dual(seed=seed).start(problem, penalty, np.zeros(problem.size))
        run.step()
        found.append(run.w.tobytes())
    assert found[0] == found[1] != found[2]


def test_what_the_dual_is_not_for() -> None:
    data = batch()
    layout = Layout.observed(data, 4)
    zero = np.zeros(layout.weights)

    def start(objective: Likelihood, given: Batch) -> None:
        Dual().start(objective.bind(layout, Chain(4), given), objective.penalty(layout), zero)

    with pytest.raises(ValueError, match="L2 penalty above 0: set l2, or use LBFGS"):
        start(Likelihood(l1=1.0, l2=0.0), data)
    assert data.label is not None
    hidden = data.label.copy()
    hidden[3] = -1
    with pytest.raises(ValueError, match=r"Dual does not take partial labels; use LBFGS"):
        start(Likelihood(), replace(data, label=hidden))
    for options, message in (
        ({"step": "newton"}, "step is 'newton'"),
        ({"relax": 0.0}, "relax is 0"),
        ({"gap": -1.0}, "gap is -1"),
        ({"max_passes": 0}, "max_passes is 0"),
    ):
        with pytest.raises(ValueError, match=message):
            Dual(**options)


def test_values_of_short_rows_count() -> None:
    data = batch(9, values=True)
    layout = Layout.observed(data, 4, min_count=3.0)
    ptr = np.minimum(np.arange(layout.attributes + 1), len(layout.node_label))
    few = layout.with_block("node", layout.node_label[: ptr[-1]], ptr)  # one weight for each attribute
    objective = Likelihood(l2=1.0)
    problem, penalty = objective.bind(few, Chain(4), data), objective.penalty(few)
    end = run_to_end(Dual(finish=None, gap=1e-5).start(problem, penalty, np.zeros(few.weights)))
    assert end.objective == pytest.approx(optimum(problem, penalty), rel=1e-5)


def test_state_of_other_data_is_refused() -> None:
    problem, penalty = problem_of("observed")
    other, _ = problem_of("all pairs")
    run = Dual().start(problem, penalty, np.zeros(problem.size))
    run.step()
    with pytest.raises(ValueError, match=r"expected|belongs"):
        Dual().start(other, penalty, np.zeros(other.size), state=run.state())
