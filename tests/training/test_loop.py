"""The loop and its reasons, with runs that do as they are told."""

from __future__ import annotations

import signal
import threading
import time
from typing import Any

import numpy as np
import pytest

from crfkit import Stop, train
from crfkit.arrays import Floats
from crfkit.checks import NotFiniteError
from crfkit.optimize.problem import End, Step
from crfkit.training.events import Event, Progress
from crfkit.training.runs.convergence import certify
from crfkit.training.runs.loop import NothingLearnedError, RunInfo, follow
from crfkit.training.stop import RunRecord, seconds_left
from tests.cases.descent import Descent
from tests.cases.sentences import dataset

NAN = float("nan")


class Scripted:
    """A run that plays steps; an exception among them is raised; w counts the steps."""

    def __init__(self, *script: Step | BaseException, pause: float = 0.0) -> None:
        self.w: Floats = np.zeros(2)
        self.script, self.pause = list(script), pause

    def step(self) -> Step:
        time.sleep(self.pause)
        step = self.script.pop(0)
        self.w += 1.0
        if isinstance(step, BaseException):
            self.w[:] = np.nan
            raise step
        if not np.isfinite(step.objective):
            self.w[:] = np.nan
        return step

    def state(self) -> dict[str, Any]:
        return {}


def steps(n: int) -> list[Step]:
    return [Step(100.0 - i) for i in range(n)]


def test_the_optimizers_own_reason() -> None:
    outcome = follow(Scripted(Step(3.0), Step(2.0, stopped="converged")), RunRecord(), Stop())
    assert (outcome.reason, outcome.kept, outcome.w.tolist()) == ("converged", 2, [2.0, 2.0])


def test_the_limit_of_iterations() -> None:
    outcome = follow(Scripted(*steps(9)), RunRecord(), Stop(max_iterations=4))
    assert (outcome.reason, outcome.kept) == ("the limit of 4 iterations is reached", 4)


def test_a_bound_that_an_earlier_step_gave_ends_a_run() -> None:
    """A gradient that swings: the weights of the third step are better, and its own bound is worse."""
    script = [Step(200.0, 30.0), Step(101.0, 1.45), Step(100.0, 2.0), Step(99.99, 1.45)]
    info, stop = RunInfo(curvature=1.0), Stop(tolerance=1e-3)
    whole, resumed = RunRecord(), RunRecord()
    outcome = follow(Scripted(*script), whole, stop, info)
    assert outcome.reason == "certified to be within 0.1 % of the optimum"
    assert whole.iteration == 3
    assert whole.excess[-1] == pytest.approx(100.0 / (101.0 - 1.45**2 / 2.0) - 1.0)
    follow(Scripted(*script[:2]), resumed, Stop(max_iterations=2), info)
    follow(Scripted(*script[2:]), resumed, stop, info)
    assert resumed.excess == whole.excess, "a run that goes on knows what it knew"


def test_the_time_budget() -> None:
    outcome = follow(Scripted(*steps(99), pause=0.02), RunRecord(), Stop(max_seconds=0.1))
    assert outcome.reason == "the time budget of 0.1 s is spent"
    assert 1 <= outcome.kept <= 6


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_diverging_run_keeps_the_last_good_weights(bad: float) -> None:
    record = RunRecord()
    outcome = follow(Scripted(Step(3.0), Step(2.0), Step(bad)), record, Stop())
    assert f"the objective became {bad} in iteration 3" in outcome.reason
    assert "weights of iteration 2 are kept" in outcome.reason
    assert (outcome.w.tolist(), record.iteration) == ([2.0, 2.0], 2)


class Failing(Scripted):
    """A run whose second step fails, with weights that are sound."""

    def step(self) -> Step:
        if isinstance(self.script[0], BaseException):
            raise self.script[0]
        return super().step()


def test_kinds_of_errors_decide_not_their_words() -> None:
    outcome = follow(Failing(Step(3.0), NotFiniteError("too large")), RunRecord(), Stop())
    assert (outcome.end, outcome.kept) == (End.DIVERGED, 1)
    with pytest.raises(ValueError, match="a finite list would overflow"):
        follow(Failing(Step(3.0), ValueError("a finite list would overflow")), RunRecord(), Stop())


def test_a_step_that_overflows() -> None:
    outcome = follow(Scripted(Step(3.0), FloatingPointError("overflow")), RunRecord(), Stop())
    assert outcome.reason == "iteration 2 failed (overflow); the weights of iteration 1 are kept"
    assert outcome.end is End.DIVERGED


@pytest.mark.parametrize(
    "first",
    [ValueError("weights must be finite"), Step(NAN), Step(3.0, end=End.DIVERGED, stopped="diverged")],
)
def test_a_first_step_that_fails_is_an_error(first: Step | BaseException) -> None:
    with pytest.raises(NothingLearnedError):
        follow(Scripted(first), RunRecord(), Stop())


def test_other_errors_come_through() -> None:
    with pytest.raises(KeyError):
        follow(Scripted(KeyError("a bug")), RunRecord(), Stop())


def test_divergence_in_earnest() -> None:
    with pytest.raises(ValueError, match="nothing can be learned: the objective became inf in iteration 1"):
        train(dataset(), optimizer=Descent(rate=1e160), stop=Stop(max_iterations=20))


def passes(cost: float, *objectives: float) -> list[Step]:
    return [Step(x, evaluations=cost * n) for n, x in enumerate(objectives, start=1)]


@pytest.mark.parametrize(("cost", "stopped"), [(0.0, 5), (1.0, 5), (2.0, 4), (0.5, 8)])
def test_patience_counts_passes(cost: float, stopped: int) -> None:
    """Steps are counted where an optimizer does not say how many passes they were."""
    scores, record = iter([0.5, 0.7, 0.6, 0.7, 0.7, 0.6, 0.6, 0.6, 0.6]), RunRecord()
    run = Scripted(*passes(cost, *[100.0] * 9))
    outcome = follow(run, record, Stop(patience=3), validate=lambda w: next(scores))
    assert (outcome.kept, outcome.score, record.iteration) == (2, 0.7, stopped)
    assert outcome.w.tolist() == [2.0, 2.0]
    assert outcome.end is End.PATIENCE
    assert "passes over the data; the best is that of iteration 2" in outcome.reason


def test_patience_waits_until_the_objective_settles() -> None:
    """F1 is often 0 in the first steps; and steps that go up and down have not settled."""
    falling = [900.0, 700.0, 800.0, 500.0, 600.0, 300.0, 310.0, 299.0, 300.0, *[298.0] * 4]
    scores, record = iter([0.0] * 8 + [0.4, 0.5, 0.5, 0.5, 0.5]), RunRecord()
    outcome = follow(
        Scripted(*passes(1.0, *falling)), record, Stop(patience=2), validate=lambda w: next(scores)
    )
    assert (outcome.end, record.iteration, outcome.kept, outcome.score) == (End.PATIENCE, 8, 1, 0.0)
    scores, record = iter([0.0] * 8 + [0.4, 0.5, 0.5, 0.5, 0.5]), RunRecord()
    outcome = follow(
        Scripted(*passes(1.0, *falling)), record, Stop(patience=3), validate=lambda w: next(scores)
    )
    assert (outcome.kept, outcome.score) == (10, 0.5)


def test_patience_ends_only_after_an_evaluation() -> None:
    stop, record = Stop(patience=2, dev_every=4), RunRecord()
    outcome = follow(Scripted(*passes(1.0, *[9.0] * 9)), record, stop, validate=lambda w: -float(w[0]))
    assert (record.iteration, outcome.kept) == (8, 4)


def test_a_large_dev_set_is_evaluated_less_often() -> None:
    judged: list[float] = []
    stop, info = Stop(max_iterations=8), RunInfo(dev_passes=2.5)

    def validate(w: Floats) -> float:
        judged.append(float(w[0]))
        return 0.0

    follow(Scripted(*passes(1.0, *[9.0] * 9)), RunRecord(), stop, info, validate=validate)
    assert judged == [3.0, 6.0, 8.0]


def test_a_last_step_that_was_not_judged_is_judged_in_the_end() -> None:
    outcome = follow(
        Scripted(*steps(9)), RunRecord(), Stop(max_iterations=5, dev_every=2), validate=lambda w: float(w[0])
    )
    assert (outcome.kept, outcome.score) == (5, 5.0)


def test_keyboard_interrupt_inside_a_step() -> None:
    saves: list[bool] = []
    outcome = follow(Scripted(Step(3.0), KeyboardInterrupt()), RunRecord(), Stop(), save=saves.append)
    assert (outcome.reason, outcome.kept, outcome.w.tolist()) == ("stopped by the user", 1, [1.0, 1.0])
    assert saves == [False]  # the state of a step that was cut off is not saved


def test_ctrl_c_ends_after_the_step_at_work() -> None:
    def interrupt(event: Event) -> None:
        if isinstance(event, Progress) and event.iteration == 3:
            signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    model = train(dataset(), optimizer=Descent(), listeners=[interrupt])
    assert model.training is not None
    assert (model.training.reason, model.training.iterations) == ("stopped by the user", 3)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_second_ctrl_c_ends_the_step() -> None:
    class Pressed(Scripted):
        def step(self) -> Step:
            if self.script:
                return super().step()
            self.w[:] = -1.0  # half a step
            signal.raise_signal(signal.SIGINT)
            self.w[:] = -2.0
            signal.raise_signal(signal.SIGINT)
            raise AssertionError("the second one must not come back")

    run = Pressed(Step(3.0))
    outcome = follow(run, RunRecord(), Stop())
    assert (outcome.reason, outcome.kept, outcome.asked) == ("stopped by the user", 1, True)
    assert (run.w.tolist(), outcome.w.tolist()) == ([-2.0, -2.0], [1.0, 1.0])


def test_training_in_a_thread() -> None:
    models: list[Any] = []
    worker = threading.Thread(
        target=lambda: models.append(train(dataset(), optimizer=Descent(), stop=Stop(max_iterations=2)))
    )
    worker.start()
    worker.join()
    assert models[0].training.iterations == 2


def test_certificates_round_up() -> None:
    assert "Within 0.011 %" in str(certify(Step(100.0 + 0.0105, gap=0.0105), 0.0))
    assert "0 %" in str(certify(Step(100.0, gap=0.0), 0.0))
    assert "No useful certificate" in str(certify(Step(100.0, gap=99.0), 0.0))
    assert "neither gap nor gradient" in str(certify(Step(100.0), 1.0))


def test_time_left() -> None:
    t, e = np.arange(1.0, 6.0), np.full(5, NAN)
    assert seconds_left(t, e, 1e-4, max_seconds=7.0) == 2.0
    assert seconds_left(t, e, 1e-4, max_iterations=8) == pytest.approx(3.0)
    assert np.isnan(seconds_left(t, e, 1e-4))
    assert seconds_left(t, 10.0**-t, 1e-8, max_seconds=100.0) == pytest.approx(3.0)
