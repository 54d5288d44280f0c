"""The default training: it hands over where passes are slow, never fails, and says what happened."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from crfkit import Likelihood, SemiMarkov, native, train
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset
from crfkit.features import ItemExtractor
from crfkit.linear.layout import Layout
from crfkit.optimize import LBFGS, Dual
from crfkit.optimize.bounds import lower_bound
from crfkit.optimize.dual.passes import DualPasses
from crfkit.optimize.problem import End, Penalty, Step
from crfkit.training.choose import NAMES, choose
from crfkit.training.memory import marginal_bytes
from crfkit.training.runs.convergence import certify
from crfkit.training.stop import Stop
from tests.cases.batches import random_batch
from tests.cases.losses import noise, problem_of
from tests.cases.segments import with_segments


def finish(run: Any) -> Step:
    for _ in range(3000):
        step: Step = run.step()
        if step.stopped:
            return step
    raise AssertionError("the run does not end")


def optimum(data: Batch, l2: float) -> float:
    problem, penalty = problem_of(data, l2)
    return finish(LBFGS(tolerance=1e-9).start(problem, penalty, np.zeros(problem.size))).objective


def test_segments_are_for_the_dual_too() -> None:
    for A, expected in ((100, LBFGS), (5000, Dual)):
        structure, objective = SemiMarkov(4, max_length=3), Likelihood(l2=1.0)
        data = with_segments(random_batch(np.random.default_rng(0), [12] * 400, A, 4), structure)
        layout = Layout.all_pairs(data, structure)
        optimizer, _ = choose(objective.bind(layout, structure, data), objective.penalty(layout))
        assert isinstance(optimizer, expected)


# ---- the dual hands over


@pytest.mark.parametrize("l2", [1.0, 0.1, 0.01, 0.001])
def test_slow_passes_are_left_for_lbfgs(l2: float) -> None:
    data = noise()
    problem, penalty = problem_of(data, l2)
    run = Dual(patience=5.0, gap=1e-5).start(problem, penalty, np.zeros(problem.size))
    step = finish(run)
    assert step.end is End.CONVERGED
    assert run.passes <= 12, "passes are foreseen to be slow, not tried out"
    assert "L-BFGS went on after" in step.stopped
    least = optimum(data, l2)
    assert least <= step.objective * (1 + 1e-12) <= least * (1.0 + 1e-5)
    assert step.objective - step.gap <= least * (1 + 1e-9), "the certificate holds"


@pytest.mark.parametrize("max_passes", [1, 2, 7])
def test_the_last_pass_is_not_the_end(max_passes: int) -> None:
    problem, penalty = problem_of(noise(), 0.01)
    run = Dual(max_passes=max_passes).start(problem, penalty, np.zeros(problem.size))
    step = finish(run)
    assert step.end is End.CONVERGED
    assert run.passes <= max_passes
    assert f"after {run.passes} passes" in step.stopped


@pytest.mark.parametrize("after", [3, 8, 20])
def test_a_run_that_has_handed_over_resumes_to_the_same_bits(after: int) -> None:
    problem, penalty = problem_of(noise(), 0.01)
    options = Dual(patience=5.0)
    run = options.start(problem, penalty, np.zeros(problem.size))
    for _ in range(after):
        run.step()
    again = options.start(problem, penalty, np.zeros(problem.size), state=run.state())
    one, two = finish(run), finish(again)
    assert (one.objective, one.stopped) == (two.objective, two.stopped)
    np.testing.assert_array_equal(run.w, again.w)


def test_weak_penalties_begin_with_passes_of_a_stronger_one() -> None:
    data = noise()
    problem, penalty = problem_of(data, 0.01)  # 150 attributes of a sequence by l2: 15 times 1000
    run = Dual().start(problem, penalty, np.zeros(problem.size))
    assert run.ease == 15.0
    stronger = Dual().start(problem, problem_of(data, 0.15)[1], np.zeros(problem.size))
    for _ in range(3):
        run.step()
        stronger.step()
    np.testing.assert_allclose(run.w, stronger.w, rtol=1e-4, atol=1e-6)
    step = finish(run)
    assert run.passes == 4
    assert "passes were made with 15 times as much" in step.stopped
    assert step.objective == pytest.approx(optimum(data, 0.01), rel=1e-4)
    given = Dual().start(problem, penalty, run.w)
    assert finish(given).evaluations < 20.0, "given weights are kept"
    assert given.passes == 0


def test_weights_that_are_worse_than_none_are_left_behind() -> None:
    """A few passes at a tiny penalty overshoot: L-BFGS then begins at zero."""
    data = noise(seed=3)
    problem, penalty = problem_of(data, 1e-4)
    run = Dual(patience=5.0).start(problem, penalty, np.zeros(problem.size))
    while run.phase == "dual":
        run.step()
    first = run.step().objective
    assert first <= 40 * 30 * np.log(4.0), "not above the loss of no weights at all"


@pytest.mark.parametrize("l2", [0.02, 0.001])
def test_bounds_of_the_dual_allow_for_rounding(l2: float) -> None:
    """Marginals are floats: what they add up to creeps above the optimum at weak penalties."""
    rng = np.random.default_rng(7)
    data = noise(60, 8, kinds=6, values=200)
    data = replace(data, label=((data.attr[::6] % 4) * (rng.random(480) < 0.97)).astype(np.int32))
    problem, penalty = problem_of(data, l2)
    exact = LBFGS(tolerance=1e-9).start(problem, penalty, np.zeros(problem.size))
    least = finish(exact).objective
    run = Dual(finish=None).start(problem, penalty, exact.w)
    assert isinstance(run.sequences, DualPasses)
    found: list[float] = []
    for _ in range(10):
        run.sequences.run(1 + len(found), 0.0)
        found.append(run.sequences.exact(problem.size))
    assert max(found) > least * (1.0 + 1e-8), "it does creep"
    assert max(found) - run.sequences.rounding <= least


# ---- what auto chooses


def dataset(data: Batch, L: int = 4) -> Dataset:
    made = ItemExtractor()([[["a"]]] * L, [[f"L{y}"] for y in range(L)])
    return replace(made, batch=data)


def chosen(data: Batch, l2: float) -> tuple[str, str]:
    problem, penalty = problem_of(data, l2)
    optimizer, why = choose(problem, penalty)
    scaled = getattr(optimizer, "preconditioner", "") == "diagonal"
    return type(optimizer).__name__ + " scaled" * scaled, why


def test_the_dual_is_not_chosen_for_marginals_beyond_its_share_of_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    large = noise(400, 10, kinds=6, values=1500)
    problem, _ = problem_of(large, 2.0)
    needed = marginal_bytes(problem)
    rows = -(-problem.layout.labels // 8) * 8
    assert needed >= 4 * large.positions * rows
    monkeypatch.setattr("crfkit.training.choose._MOST_BYTES", needed)
    assert chosen(large, 2.0)[0] == "Dual"
    monkeypatch.setattr("crfkit.training.choose._MOST_BYTES", needed - 1)
    name, why = chosen(large, 2.0)
    assert (name, "not for marginals of" in why) == ("LBFGS", True)


def test_the_choice_follows_size_penalty_and_scales() -> None:
    large = noise(400, 10, kinds=6, values=1500)  # 60 attributes of a sequence
    assert chosen(large, 2.0)[0] == "Dual"
    assert chosen(large, 0.2)[0] == "Dual", "which may hand over"
    assert chosen(large, 0.01)[0] == "Dual"
    name, why = chosen(noise(), 2.0)
    assert (name, "model is small" in why) == ("LBFGS", True)
    rng = np.random.default_rng(0)
    values = np.where(large.attr < 1500, 1e-3, 500.0) * rng.random(len(large.attr))
    name, why = chosen(replace(large, value=values), 2.0)
    assert (name, "scales of values differ by" in why) == ("LBFGS scaled", True)


def test_values_of_different_scales_are_learned() -> None:
    """A frequency of 1e-3 beside a position up to 1000: L-BFGS alone ended far from the optimum."""
    rng = np.random.default_rng(1)
    label = rng.integers(0, 3, 400)
    features = [
        {"position": 1000.0 * float(x), "frequency": 1e-3 * (float(y) + 0.3 * float(z))}
        for x, y, z in zip(rng.random(400), label, rng.normal(size=400), strict=True)
    ]
    X = [features[i : i + 10] for i in range(0, 400, 10)]
    y = [[f"L{k}" for k in label[i : i + 10]] for i in range(0, 400, 10)]
    about = train(ItemExtractor()(X, y), objective=Likelihood(l2=1e-4)).training
    assert about is not None
    assert about.converged
    assert about.gap <= 1e-4 * about.loss
    assert about.iterations < 300


def test_scaled_runs_tell_the_gradient_of_the_weights_themselves() -> None:
    problem, penalty = problem_of(noise(), 0.5)
    run = LBFGS(preconditioner="diagonal").start(problem, penalty, np.zeros(problem.size))
    gradient = np.empty(problem.size)
    for _ in range(4):
        step = run.step()
        problem.value_and_grad(run.w, gradient)
        penalty.add_smooth(run.w, gradient)
        assert step.gradient_norm == pytest.approx(float(np.linalg.norm(gradient)), rel=1e-9)


def test_weights_of_zero_are_no_failure_of_the_dual() -> None:
    data = noise(400, 10, kinds=6, values=1500)
    problem, penalty = problem_of(replace(data, weight=np.zeros(400)), 2.0)
    run = Dual().start(problem, penalty, np.zeros(problem.size))
    assert finish(run).end is End.CONVERGED
    assert not run.w.any()


def test_l1_ends_by_a_rule_of_its_own() -> None:
    about = train(dataset(noise()), objective=Likelihood(l1=2.0, l2=0.0)).training
    assert about is not None
    assert about.converged
    assert about.iterations < 300
    closer = train(dataset(noise()), objective=Likelihood(l1=2.0, l2=0.0), optimizer=LBFGS(tolerance=1e-6))
    assert closer.training is not None
    assert about.loss <= closer.training.loss * (1.0 + 1e-4)


def test_l1_with_l2_ends_with_a_certificate() -> None:
    """It ended where its objective hardly fell, 0.15 % from the optimum, and said that it had converged."""
    for name in ("auto", "owlqn"):
        objective = Likelihood(l1=0.3, l2=0.002)
        about = train(dataset(noise()), objective=objective, optimizer=name).training
        assert about is not None
        assert (about.end, about.converged) == (End.CONVERGED, True)
        assert about.gap <= 1e-4 * about.loss
    rule = LBFGS(period=10, delta=1e-3)
    asked = train(dataset(noise()), objective=objective, optimizer=rule, stop=Stop(tolerance=0.0))
    assert asked.training is not None
    assert asked.training.end == End.SETTLED, "as asked for"


@pytest.mark.parametrize(("l1", "l2"), [(0.5, 0.0), (3.0, 0.0), (0.5, 0.02), (0.0, 0.5), (2.0, 1.0)])
def test_no_weights_go_below_the_bound(l1: float, l2: float) -> None:
    problem, _ = problem_of(noise(), 1.0)
    some = np.random.default_rng(0).random(problem.size) < 0.5
    for strength in (l2, np.where(some, l2, 0.5)):  # the same for all weights, or not
        penalty = Penalty(l1, strength)
        best = LBFGS(tolerance=1e-8).start(problem, penalty, np.zeros(problem.size))
        least = finish(best).objective
        for scale in (0.0, 0.1, 1.0, 3.0):
            w = np.random.default_rng(1).normal(scale=scale, size=problem.size)
            assert 0.0 <= lower_bound(problem, penalty, w) <= least
        assert lower_bound(problem, penalty, best.w) == pytest.approx(least, rel=1e-4)


def test_l1_alone_that_is_not_certified_warns() -> None:
    """It ended without a useful bound, and said nothing."""
    objective, few = Likelihood(l1=2.0, l2=0.0), LBFGS(period=10, delta=1e-2)
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(NAMES, "owlqn", ("LBFGS", {"period": 3, "delta": 0.1}))
        with pytest.warns(ConvergenceWarning, match=r"before it was certified.* Raise tolerance"):
            about = train(dataset(noise()), objective=objective).training
    assert about is not None
    assert (about.end, about.converged) == (End.SETTLED, False)
    asked = train(dataset(noise()), objective=objective, optimizer=few).training
    assert asked is not None
    assert asked.converged, "as asked for"


def test_l1_alone_has_a_certificate() -> None:
    about = train(dataset(noise()), objective=Likelihood(l1=2.0, l2=0.0)).training
    closer = train(
        dataset(noise()), objective=Likelihood(l1=2.0, l2=0.0), optimizer=LBFGS(tolerance=1e-7)
    ).training
    assert about is not None
    assert closer is not None
    assert 0.0 <= about.loss - closer.loss <= about.gap < 0.01 * about.loss
    assert "of the optimum" in about.certificate
    none = train(dataset(noise()), objective=Likelihood(l1=0.0, l2=0.0), stop=Stop(max_iterations=9))
    assert none.training is not None
    assert "No certificate: without an L2 penalty" in none.training.certificate


# ---- certificates in words


def test_a_certificate_does_not_promise_less_than_nothing() -> None:
    words = str(certify(Step(4194.0, gradient_norm=5000.0), 0.02))
    assert words.endswith("the optimum may lie anywhere between 0 and that.")


# ---- cores


def test_cores_are_counted_by_affinity() -> None:
    if not hasattr(os, "sched_setaffinity"):
        pytest.skip("no affinity on this system")
    code = (
        "import os, numpy as np; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
        "from crfkit.native import threads_or_all, usable_cores\n"
        "assert usable_cores() == threads_or_all(None) == 1 and threads_or_all(3) == 3\n"
        "from tests.cases.losses import noise, problem_of\n"
        "from crfkit.optimize import Dual\n"
        "problem, penalty = problem_of(noise(), 2.0)\n"
        "assert Dual(threads=4).start(problem, penalty, np.zeros(problem.size)).sequences.threads == 1\n"
        "print('one core')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "one core\n", done.stderr


@pytest.mark.parametrize(
    ("files", "own", "cores"),
    [
        ({"a/b/cpu.max": "150000 100000\n", "a/cpu.max": "max 100000\n"}, "0::/a/b\n", 1.5),
        ({"a/b/cpu.max": "max 100000\n", "a/cpu.max": "50000 100000\n"}, "0::/a/b\n", 0.5),
        ({"cpu.max": "300000 100000\n"}, "0::/\n", 3.0),
        (
            {"cpu,cpuacct/x/cpu.cfs_quota_us": "400000\n", "cpu,cpuacct/x/cpu.cfs_period_us": "100000\n"},
            "3:memory:/x\n2:cpu,cpuacct:/x\n",
            4.0,
        ),
        (
            {"cpu,cpuacct/x/cpu.cfs_quota_us": "-1\n", "cpu,cpuacct/x/cpu.cfs_period_us": "100000\n"},
            "2:cpu,cpuacct:/x\n",
            float("inf"),
        ),
        ({"a/cpu.max": "what is this"}, "0::/a\n", float("inf")),
        ({}, "", float("inf")),
    ],
)
def test_quotas_of_containers_count(tmp_path: Path, files: dict[str, str], own: str, cores: float) -> None:
    for name, text in files.items():
        (tmp_path / "groups" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "groups" / name).write_text(text)
    (tmp_path / "own").write_text(own)
    assert native.quota(str(tmp_path / "groups"), str(tmp_path / "own")) == cores


def test_without_control_groups_there_is_no_quota(tmp_path: Path) -> None:
    assert native.quota(str(tmp_path), str(tmp_path / "absent")) == float("inf")
