"""What trainings have made on other threads ends with them, whatever ends them."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from crfkit import Stop, train
from crfkit.linear.loss import LinearLoss
from crfkit.optimize.dual.trainer import Dual
from crfkit.training.events import Begin, Event, Progress
from tests.cases.dual import problem_of
from tests.cases.interrupts import seconds_until_heard
from tests.cases.sentences import dataset

DUAL = Dual(threads=2)


@pytest.fixture
def preparing(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Have the finisher prepared until somebody asks for its end; an event says that it has begun."""
    begun = threading.Event()

    def prepare(self: LinearLoss) -> None:
        begun.set()
        gradient = np.zeros(self.size)
        while True:
            self.value_and_grad(np.zeros(self.size), gradient)  # raises where it is not wanted any more

    monkeypatch.setattr(LinearLoss, "prepare", prepare)
    yield begun
    gc.collect()
    assert not [one for one in threading.enumerate() if one.name.startswith("crfkit")]


@pytest.mark.parametrize("when", [Begin, Progress])
@pytest.mark.parametrize("error", [ValueError, SystemExit, KeyboardInterrupt])
def test_listeners_that_raise(
    preparing: threading.Event, when: type[Event], error: type[BaseException]
) -> None:
    def listen(event: Event) -> None:
        if isinstance(event, when):
            assert preparing.wait(30.0)
            raise error("enough")

    def run() -> None:
        train(dataset(), optimizer=DUAL, listeners=[listen], stop=Stop(max_iterations=2), progress=False)

    if error is KeyboardInterrupt and when is Progress:  # is an end as any other
        run()
        return
    with pytest.raises(error, match="enough"):
        run()


def test_a_run_that_is_dropped(preparing: threading.Event) -> None:
    loss, penalty = problem_of("observed")
    run = DUAL.start(loss, penalty, np.zeros(loss.size))
    run.step()
    assert preparing.wait(30.0)
    del run


def test_a_run_that_cannot_begin(preparing: threading.Event) -> None:
    loss, penalty = problem_of("observed")
    state = {**DUAL.start(loss, penalty, np.zeros(loss.size)).state(), "gaps": None}
    with pytest.raises(ValueError, match="gaps is None"):
        DUAL.start(loss, penalty, np.zeros(loss.size), state=state)


def test_waiting_for_the_finisher_is_interruptible(preparing: threading.Event) -> None:
    loss, penalty = problem_of("observed")
    run = DUAL.start(loss, penalty, np.zeros(loss.size))

    def steps() -> None:
        while True:
            run.step()

    assert seconds_until_heard(steps, after=0.5) < 5.0
    run.close()


ENDING = """
import os, signal, sys, threading
import numpy as np
from crfkit.linear.loss import LinearLoss
from crfkit.optimize.dual.trainer import Dual
from crfkit import train
from tests.cases.sentences import dataset
begun = threading.Event()
def prepare(self):
    begun.set()
    while True:
        self.value_and_grad(np.zeros(self.size), np.zeros(self.size))
LinearLoss.prepare = prepare
def listen(event):
    begun.wait()
    raise ValueError("the end")
work = lambda: train(dataset(), optimizer=Dual(threads=2), listeners=[listen], progress=False)
if sys.argv[1] == "daemon":  # threads of a daemon are daemons
    one = threading.Thread(target=work, daemon=True)
    one.start()
    one.join()
else:
    work()
"""


@pytest.mark.parametrize("thread", ["main", "daemon"])
def test_the_program_ends_as_it_should(thread: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ENDING, thread],
        capture_output=True,
        text=True,
        timeout=120.0,
    )
    assert done.returncode == (1 if thread == "main" else 0), done.stderr
    assert "ValueError: the end" in done.stderr
