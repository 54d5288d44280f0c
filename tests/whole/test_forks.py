"""A fork at any moment: the child can load, query, train and save, whatever other threads were at."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import crfkit
from crfkit import Model, Stop, train
from tests.cases.dual import problem_of
from tests.cases.forks import answer_of_child
from tests.cases.sentences import dataset, sentences

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="fork is of POSIX")
SECONDS = 60.0  # within which a child must answer; one second, on a machine that has nothing else to do


@contextmanager
def meanwhile(work: Callable[[], object]) -> Iterator[None]:
    """Do something again and again on two threads."""
    over, begun = threading.Event(), threading.Semaphore(0)

    def again() -> None:
        begun.release()
        while not over.is_set():
            work()

    threads = [threading.Thread(target=again) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in threads:
            assert begun.acquire(timeout=30.0)
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


def model() -> Model:
    return train(dataset(), stop=Stop(max_iterations=3), progress=False, threads=1)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_child_loads_queries_trains_and_saves(tmp_path: Path) -> None:
    file, X = tmp_path / "m.crf", sentences(20, 2)[0]
    first = model()
    first.save(file)
    expected = first.predict(X)

    def work() -> None:
        Model.load(file).predict(X)  # the first query of a model
        first.marginals(X)
        model()

    def live() -> bool:
        loaded = Model.load(file)
        loaded.save(tmp_path / "copy.crf")
        trained = train(dataset(), stop=Stop(max_iterations=3), progress=False)
        return first.predict(X) == loaded.predict(X) == trained.predict(X) == expected

    with meanwhile(work):
        for _ in range(4):
            assert answer_of_child(live, SECONDS) == "True"


def test_a_child_evaluates_what_a_thread_of_its_parent_evaluates() -> None:
    """One evaluation of a loss at a time: the thread that is at it does not exist in the child."""
    loss, _ = problem_of("70 labels")
    w, gradient = np.zeros(loss.size), np.zeros(loss.size)
    expected = loss.value_and_grad(w, gradient.copy())
    with meanwhile(lambda: loss.value_and_grad(w, np.zeros(loss.size))):
        for _ in range(20):
            assert answer_of_child(lambda: loss.value_and_grad(w, gradient) == expected, SECONDS) == "True"


def test_a_fork_waits_for_an_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first query of a process imports: a child has the locks of modules without whoever held them."""
    begun = threading.Event()
    monkeypatch.setattr(crfkit, "__path__", [*crfkit.__path__, str(tmp_path)])
    monkeypatch.setattr(crfkit, "begun", begun, raising=False)
    (tmp_path / "slowly.py").write_text("import crfkit, time\ncrfkit.begun.set()\ntime.sleep(0.3)\nx = 7\n")
    thread = threading.Thread(target=import_module, args=["crfkit.slowly"])
    thread.start()
    try:
        assert begun.wait(30.0)
        assert answer_of_child(lambda: import_module("crfkit.slowly").x, 5.0) == "7"
    finally:
        thread.join()
        sys.modules.pop("crfkit.slowly", None)


def test_a_fork_within_an_import_does_not_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crfkit, "__path__", [*crfkit.__path__, str(tmp_path)])
    monkeypatch.setattr(crfkit, "fork", lambda: answer_of_child(lambda: "here", 30.0), raising=False)
    (tmp_path / "forking.py").write_text("import crfkit\nanswer = crfkit.fork()\n")
    try:
        assert import_module("crfkit.forking").answer == "here"
    finally:
        sys.modules.pop("crfkit.forking", None)


def _predict(given: tuple[Model, list[object]]) -> list[list[str]]:
    one, X = given
    return one.predict(X)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_multiprocessing_by_fork() -> None:
    one, X = model(), sentences(20, 2)[0]
    with meanwhile(lambda: one.marginals(X)), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        with multiprocessing.get_context("fork").Pool(2) as pool:
            found = pool.map_async(_predict, [(one, X)] * 4).get(SECONDS)
    assert found == [one.predict(X)] * 4
