"""Work in other processes: spawned ones, those of joblib, and forks of a process without other threads."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from crfkit import Model, Stop, train
from tests.cases.dual import problem_of
from tests.cases.forks import answer_of_child
from tests.cases.sentences import dataset, sentences

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="fork is of POSIX"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning"),
]
SECONDS = 60.0  # within which a child must answer; one second, on a machine that has nothing else to do


def model() -> Model:
    return train(dataset(), stop=Stop(max_iterations=3), progress=False, n_jobs=1)


def _predict(given: tuple[Model, list[object]]) -> list[list[str]]:
    one, X = given
    return one.predict(X)


def test_a_child_loads_queries_trains_and_saves(tmp_path: Path) -> None:
    """Threads of native code end with the call that started them: there are none to fork."""
    file, X = tmp_path / "m.crf", sentences(20, 2)[0]
    first = train(dataset(), stop=Stop(max_iterations=3), progress=False, n_jobs=2)
    first.save(file)
    first.predict_proba(X, threads=2)
    expected = first.predict(X, threads=2)

    def live() -> bool:
        loaded = Model.load(file)
        loaded.save(tmp_path / "copy.crf")
        trained = train(dataset(), stop=Stop(max_iterations=3), progress=False, n_jobs=2)
        return first.predict(X) == loaded.predict(X) == trained.predict(X) == expected

    for _ in range(2):
        assert answer_of_child(live, SECONDS) == "True"


def test_a_child_evaluates_what_its_parent_evaluated() -> None:
    loss, _ = problem_of("70 labels")
    w, gradient = np.zeros(loss.size), np.zeros(loss.size)
    expected = loss.value_and_grad(w, gradient.copy())
    assert answer_of_child(lambda: loss.value_and_grad(w, gradient) == expected, SECONDS) == "True"


@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_multiprocessing(how: str) -> None:
    one, X = model(), sentences(20, 2)[0]
    expected = [one.predict(X)] * 4
    with multiprocessing.get_context(how).Pool(2) as pool:
        assert pool.map_async(_predict, [(one, X)] * 4).get(SECONDS) == expected


JOBLIB = """
import joblib, sys, warnings
warnings.simplefilter("ignore")
from sklearn.model_selection import cross_val_score
from crfkit import ChainCRF
from tests.cases.sentences import sentences
X, y = sentences(20, 2)
one = ChainCRF().fit(X, y)
found = joblib.Parallel(n_jobs=2)(joblib.delayed(one.predict)(X) for _ in range(4))
assert found == [one.predict(X)] * 4
alone, together = (cross_val_score(ChainCRF(), X, y, cv=2, n_jobs=jobs).tolist() for jobs in (1, 2))
assert alone == together, (alone, together)
"""


def test_joblib() -> None:
    """In a process of its own, as the workers of joblib stay until the end."""
    ended = subprocess.run([sys.executable, "-c", JOBLIB], capture_output=True, text=True, timeout=SECONDS)
    assert (ended.returncode, ended.stderr) == (0, "")
