"""The loop and its reasons, with runs that do as they are told."""

from __future__ import annotations

import signal
import threading
import time
from typing import Any

import numpy as np
import pytest

from crfkit import train
from crfkit.events import Event, Progress
from crfkit.optimise.problem import Step
from crfkit.structures.labels import Floats
from crfkit.training.certificate import certify
from crfkit.training.forecast import seconds_left
from crfkit.training.loop import Course, Rules, follow
from tests.test_train import Descent, dataset

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


def test_the_optimisers_own_reason() -> None:
    outcome = follow(Scripted(Step(3.0), Step(2.0, stopped="converged")), Course(), Rules())
    assert (outcome.reason, outcome.kept, outcome.w.tolist()) == ("converged", 2, [2.0, 2.0])


def test_the_limit_of_iterations() -> None:
    outcome = follow(Scripted(*steps(9)), Course(), Rules(max_iterations=4))
    assert (outcome.reason, outcome.kept) == ("the limit of 4 iterations is reached", 4)


def test_the_time_budget() -> None:
    outcome = follow(Scripted(*steps(99), pause=0.02), Course(), Rules(max_seconds=0.1))
    assert outcome.reason == "the time budget of 0.1 s is spent"
    assert 1 <= outcome.kept <= 6


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_diverging_run_keeps_the_last_good_weights(bad: float) -> None:
    course = Course()
    outcome = follow(Scripted(Step(3.0), Step(2.0), Step(bad)), course, Rules())
    assert f"the objective became {bad} in iteration 3" in outcome.reason
    assert "weights of iteration 2 are kept" in outcome.reason
    assert (outcome.w.tolist(), course.iteration) == ([2.0, 2.0], 2)


def test_a_step_that_overflows() -> None:
    outcome = follow(Scripted(Step(3.0), FloatingPointError("overflow")), Course(), Rules())
    assert outcome.reason == "iteration 2 failed (overflow); the weights of iteration 1 are kept"
    outcome = follow(Scripted(ValueError("weights must be finite")), Course(), Rules())
    assert (outcome.kept, outcome.w.tolist()) == (0, [0.0, 0.0])


def test_other_errors_come_through() -> None:
    with pytest.raises(KeyError):
        follow(Scripted(KeyError("a bug")), Course(), Rules())


def test_divergence_in_earnest() -> None:
    model = train(dataset(), optimiser=Descent(rate=1e160), max_iterations=20)
    assert model.training is not None
    assert np.isfinite(model.w).all()
    assert any(word in model.training.reason for word in ("became", "failed", "finite"))


def test_patience_counts_evaluations() -> None:
    scores = iter([0.5, 0.7, 0.6, 0.7, 0.7, 0.9])
    course = Course()
    outcome = follow(Scripted(*steps(9)), course, Rules(patience=3), judge=lambda w: next(scores))
    assert (outcome.kept, outcome.score, course.iteration) == (2, 0.7, 5)
    assert outcome.w.tolist() == [2.0, 2.0]
    assert "has not risen in 3 evaluations; the best is that of iteration 2" in outcome.reason


def test_a_last_step_that_was_not_judged_is_judged_in_the_end() -> None:
    outcome = follow(
        Scripted(*steps(9)), Course(), Rules(max_iterations=5, dev_every=2), judge=lambda w: float(w[0])
    )
    assert (outcome.kept, outcome.score) == (5, 5.0)


def test_keyboard_interrupt_inside_a_step() -> None:
    saves: list[bool] = []
    outcome = follow(Scripted(Step(3.0), KeyboardInterrupt()), Course(), Rules(), save=saves.append)
    assert (outcome.reason, outcome.kept, outcome.w.tolist()) == ("stopped by the user", 1, [1.0, 1.0])
    assert saves == [False]  # the state of a step that was cut off is not saved


def test_ctrl_c_ends_after_the_step_at_work() -> None:
    def interrupt(event: Event) -> None:
        if isinstance(event, Progress) and event.iteration == 3:
            signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    model = train(dataset(), optimiser=Descent(), listeners=[interrupt])
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
    outcome = follow(run, Course(), Rules())
    assert (outcome.reason, outcome.kept, outcome.asked) == ("stopped by the user", 1, True)
    assert (run.w.tolist(), outcome.w.tolist()) == ([-2.0, -2.0], [1.0, 1.0])


def test_training_in_a_thread() -> None:
    models: list[Any] = []
    worker = threading.Thread(
        target=lambda: models.append(train(dataset(), optimiser=Descent(), max_iterations=2))
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
