"""Where no thread can start, as in a narrow container, the calling thread does everything: same bits."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from rich.console import Console

from crfkit import Stop, train
from crfkit.datasets.generate import corpus
from crfkit.estimators.classic import OpinionPool
from crfkit.models import SequenceModel
from crfkit.training.runs.progress import Display
from tests.cases.cli import run
from tests.cases.estimators import X, Y
from tests.cases.sentences import dataset

TRAININGS: dict[str, tuple[str, ...]] = {
    "default": (),
    "dual": ("--optimizer", "dual"),
    "lbfgs": ("--optimizer", "lbfgs"),
    "blocks": ("--block-positions", "100"),
    "blocks, one by one": ("--block-positions", "100", "--optimizer", "sgd"),
}


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "data.txt"
    lines = ("".join(f"{word} {label}\n" for word, label in line) for line in corpus(20, seed=1))
    path.write_text("\n".join(lines))
    return path


@pytest.fixture
def no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", fail)


@pytest.mark.parametrize("name", list(TRAININGS))
def test_commands(name: str, text: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    def commands(folder: Path) -> tuple[bytes, str, str]:
        folder.mkdir()
        model = folder / "m.crf"
        run("train", text, "-o", model, "--max-iterations", "3", "--jobs", "2", *TRAININGS[name])
        tagged = run("tag", model, text, "--jobs", "2").output
        judged = run("evaluate", model, text, "--jobs", "2").output
        return SequenceModel.load(model).w.tobytes(), tagged, judged

    expected = commands(tmp_path / "with")
    request.getfixturevalue("no_threads")
    assert commands(tmp_path / "without") == expected


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_many_trainings(request: pytest.FixtureRequest) -> None:
    def pooled() -> bytes:
        one = OpinionPool(n_jobs=4, held_out=0.25, stop=Stop(max_iterations=3)).fit(X, Y)
        return one.model_.w.tobytes()

    expected = pooled()
    request.getfixturevalue("no_threads")
    assert pooled() == expected


@pytest.mark.usefixtures("no_threads")
def test_a_terminal_gets_lines_where_nothing_can_be_live() -> None:
    said = io.StringIO()
    display = Display(Console(file=said, force_terminal=True))
    train(dataset(), stop=Stop(max_iterations=2), progress=False, listeners=[display])
    assert "objective" in said.getvalue()


LIMITED = """
import os, resource, threading, warnings
from crfkit import Stop, train
from tests.cases.sentences import dataset
warnings.simplefilter("ignore")
def weights():
    return train(dataset(), optimizer="dual", stop=Stop(max_iterations=5), n_jobs=4).w.tobytes()
expected = weights()
resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
try:
    threading.Thread(target=int).start()
    print("there are threads")
except RuntimeError:
    print(weights() == expected)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of Linux")
def test_under_a_limit_of_the_system() -> None:
    root = Path(__file__).parents[2]
    path = os.pathsep.join([*map(str, sys.path), str(root)])
    done = subprocess.run(
        [sys.executable, "-c", LIMITED],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        timeout=120.0,
    )
    if "there are threads" in done.stdout:
        pytest.skip("the system does not limit threads here")
    assert (done.stdout, done.returncode) == ("True\n", 0), done.stderr
