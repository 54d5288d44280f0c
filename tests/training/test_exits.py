"""Ways out of training: signals, pipes that nobody reads, full disks, failing listeners. Nothing is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from crfkit import ChainCRF, Stop, train
from crfkit._safe.interrupts import interrupts, listening
from crfkit.compat.sklearn_crfsuite import CRF
from crfkit.datasets.generate import corpus
from crfkit.models import SequenceModel
from crfkit.training import Checkpoints
from crfkit.training.events import Checkpointed, Event, Failed, Finished, History, Progress, Unsaved
from crfkit.training.runs.tree import write_tree
from tests.cases.descent import Descent
from tests.cases.estimators import X, Y
from tests.cases.sentences import dataset

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals and limits of POSIX")

#: The command line, in a process that hears Ctrl-C even where its parent does not.
RUN = """
import resource, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
if (size := int(sys.argv.pop(1))) >= 0:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
from crfkit.cli import main
main()
"""


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "data.txt"
    path.write_text(
        "\n".join("".join(f"{word} {label}\n" for word, label in line) for line in corpus(60, seed=1))
    )
    return path


def start(*arguments: object, limit: int = -1, stderr: Any = subprocess.PIPE) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", RUN, str(limit), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
    )


# ---- the command line


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_saves_the_model_so_far(text: Path, tmp_path: Path, number: signal.Signals) -> None:
    model = tmp_path / "m.crf"
    endless = ("--optimizer", "steepest", "--l2", "0", "--tolerance", "0", "--jobs", "1")
    child = start("train", text, "-o", model, *endless)
    assert child.stderr is not None
    lines = iter(child.stderr.readline, "")
    next(line for line in lines if "objective" in line)  # the first step is done
    child.send_signal(number)
    said = "".join(lines)
    child.stderr.close()
    child.communicate(timeout=60.0)
    assert child.returncode == 128 + number, said
    about = SequenceModel.load(model).training
    assert about is not None
    assert about.end == "interrupted"
    assert about.reason == (
        "stopped by the user" if number == signal.SIGINT else f"ended by {signal.Signals(number).name}"
    )
    assert f"{model}: " in said


@pytest.mark.parametrize("quiet", [False, True])
def test_a_log_that_nobody_reads(text: Path, tmp_path: Path, quiet: bool) -> None:
    there, here = os.pipe()
    os.close(there)
    child = start(
        "train", text, "-o", tmp_path / "m.crf", "--max-iterations", 3, *["--quiet"] * quiet, stderr=here
    )
    os.close(here)
    child.communicate(timeout=60.0)
    assert child.returncode == 0
    assert SequenceModel.load(tmp_path / "m.crf").w.any()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_log_on_a_full_disk(text: Path, tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        child = start("train", text, "-o", tmp_path / "m.crf", "--max-iterations", 3, stderr=full)
        child.communicate(timeout=60.0)
    assert child.returncode == 0
    assert SequenceModel.load(tmp_path / "m.crf").w.any()


def test_a_disk_that_is_full_in_the_end(text: Path, tmp_path: Path) -> None:
    (tmp_path / "m.crf").write_bytes(b"the model before")
    child = start("train", text, "-o", tmp_path / "m.crf", "--max-iterations", 3, "-q", limit=9000)
    _, said = child.communicate(timeout=60.0)
    assert child.returncode == 1
    assert "m.crf: the model is not saved: File too large; make room, or write elsewhere; the train" in said
    assert (tmp_path / "m.crf").read_bytes() == b"the model before"
    assert os.listdir(tmp_path) == ["m.crf"]


def test_the_command_warns_in_one_line(text: Path, tmp_path: Path) -> None:
    child = start("train", text, "-o", tmp_path / "m.crf", "--max-iterations", 2, "--quiet")
    _, said = child.communicate(timeout=60.0)
    assert child.returncode == 0
    assert said.startswith("crfkit: warning: training ended before it converged: the limit of 2 iterations")
    assert len(said.splitlines()) == 1


def test_patience_on_the_command_line(text: Path, tmp_path: Path) -> None:
    child = start("train", text, "-o", tmp_path / "m.crf", "--dev", text, "--patience", 2, "--json", "-q")
    out, said = child.communicate(timeout=60.0)
    assert (child.returncode, said) == (0, "")
    assert '"end": "patience", "converged": false' in out
    _, said = start("train", text, "-o", tmp_path / "m.crf", "--patience", 2).communicate(timeout=60.0)
    assert "--patience is for a dev set; give one with --dev FILE" in said


# ---- Ctrl-C in Python


class Pressed:
    """A listener, or a wrapper of functions, that presses Ctrl-C the second time that it is called."""

    def __init__(self, call: Callable[..., Any] | None = None) -> None:
        self.call, self.count = call, 0

    def __call__(self, *given: Any, **named: Any) -> Any:
        self.count += 1
        if self.count == 2:
            signal.raise_signal(signal.SIGINT)
        return None if self.call is None else self.call(*given, **named)


def test_fit_holds_what_it_has_and_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    pressed = Pressed()

    def tell(*given: Any, **named: Any) -> Any:
        return train(*given, **{**named, "listeners": [pressed]})

    monkeypatch.setattr("crfkit.estimators.fitting.train", tell)
    crf = ChainCRF(optimizer=Descent())
    with pytest.raises(KeyboardInterrupt):
        crf.fit(X, Y)
    assert crf.model_.training is not None
    assert (crf.model_.training.end, crf.n_iter_) == ("interrupted", 1)
    assert len(crf.predict(X[:2])) == 2
    pressed.count = 0
    with pytest.raises(KeyboardInterrupt):
        GridSearchCV(ChainCRF(optimizer=Descent()), {"structure__order": [0, 1]}, cv=2).fit(X, Y)
    assert pressed.count == 3  # the begin, the step in which it was pressed, the end; no other fit


def test_the_crfsuite_face_writes_the_model_and_raises() -> None:
    items = [[{"w": f"{word}"} for word in range(len(y))] for y in Y]

    class Trainer(CRF()._trainer().__class__):  # type: ignore[misc]
        def on_iteration(self, log: str, info: dict[str, Any]) -> None:
            if info["num"] == 3:
                signal.raise_signal(signal.SIGINT)

    crf = CRF(algorithm="lbfgs", verbose=True, trainer_cls=Trainer)
    with pytest.raises(KeyboardInterrupt):
        crf.fit(items, Y)
    assert crf.training_log_ is not None
    assert len(crf.training_log_.iterations) == 3
    assert len(crf.predict(items)) == len(items)


def test_cross_validation_ends(monkeypatch: pytest.MonkeyPatch, text: Path) -> None:
    from crfkit.cli.cv import cross_validate

    pressed, fits = Pressed(), []

    def tell(*given: Any, **named: Any) -> Any:
        fits.append(1)
        return train(*given, **{**named, "listeners": [pressed]})

    monkeypatch.setattr("crfkit.training.train.train", tell)
    with pytest.raises(KeyboardInterrupt):
        cross_validate(data=[str(text)], quiet=True)
    assert len(fits) == 1


def test_signals_are_noted_inside_and_raised_outside() -> None:
    usual = signal.getsignal(signal.SIGTERM)
    with listening(signal.SIGINT, signal.SIGTERM) as heard:
        with interrupts() as inner, interrupts():
            assert inner is heard
            signal.raise_signal(signal.SIGTERM)
            assert (heard.number, heard.asked) == (signal.SIGTERM, True)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGTERM) is usual
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


# ---- listeners and checkpoints that fail


def failing(event: Event) -> None:
    if isinstance(event, Progress) and event.iteration == 5:
        raise LookupError("a listener with a bug")


def test_a_listener_that_raises(tmp_path: Path) -> None:
    history, data = History(), dataset()
    options: dict[str, Any] = {"optimizer": Descent(), "stop": Stop(max_iterations=9)}
    with pytest.raises(LookupError, match="a listener with a bug"):
        train(data, checkpoint=tmp_path, listeners=[failing, history], **options)
    saved, failed = history.events[-2:]
    assert isinstance(saved, Checkpointed)
    assert saved.iteration == 5
    assert isinstance(failed, Failed)
    about = failed.model.training
    assert about is not None
    assert (about.end, about.kept, about.reason) == ("failed", 5, "LookupError: a listener with a bug")
    assert failed.model.w.tobytes() == train(data, **{**options, "stop": Stop(max_iterations=5)}).w.tobytes()
    resumed = train(data, checkpoint=tmp_path, **options)
    assert resumed.w.tobytes() == train(data, **options).w.tobytes()


def test_a_listener_that_raises_again_is_warned_of() -> None:
    def always(event: Event) -> None:
        if not hasattr(event, "sequences"):
            raise LookupError("still broken")

    history = History()
    with (
        pytest.raises(LookupError, match="still broken"),
        pytest.warns(RuntimeWarning, match="failed after training had failed: LookupError: still broken"),
    ):
        train(dataset(), optimizer=Descent(), listeners=[always, history])
    assert isinstance(history.events[-1], Failed)


def test_a_listener_that_fails_in_the_end() -> None:
    def at_end(event: Event) -> None:
        if isinstance(event, Finished):
            raise LookupError("no such page")

    history = History()
    with pytest.raises(LookupError, match="no such page"):
        train(dataset(), optimizer=Descent(), stop=Stop(max_iterations=3), listeners=[at_end, history])
    assert isinstance(history.events[-1], Failed)
    assert history.events[-1].model.w.any()


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the second checkpoint fail."""
    count = [0]

    def write(path: Path, tree: Any) -> None:
        count[0] += 1
        if count[0] == 2:
            raise OSError(28, "No space left on device")
        write_tree(path, tree)

    monkeypatch.setattr("crfkit.training.runs.checkpoint.write_tree", write)


@pytest.mark.usefixtures("full_disk")
def test_a_checkpoint_that_cannot_be_written(tmp_path: Path) -> None:
    history, data = History(), dataset()
    options: dict[str, Any] = {"optimizer": Descent(), "stop": Stop(max_iterations=9), "listeners": [history]}
    with pytest.warns(RuntimeWarning, match="No space left on device; training goes on") as seen:
        model = train(data, checkpoint=Checkpoints(tmp_path, iterations=3), **options)
    assert seen[0].filename == __file__
    kinds = [type(event) for event in history.events if not isinstance(event, Progress)][1:]
    assert kinds == [Checkpointed, Unsaved, Checkpointed, Finished]
    assert model.training is not None
    assert any("No space left on device" in note for note in model.training.notes)
    assert model.w.tobytes() == train(data, **options).w.tobytes()


def test_a_full_disk_leaves_no_half_checkpoint(tmp_path: Path) -> None:
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000));"
        "from pathlib import Path; import numpy as np;"
        "from crfkit.training.runs.tree import write_tree;"
        "write_tree(Path(sys.argv[1]) / 'tree', {'a': np.zeros(4000)})"
    )
    made = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=False)
    assert "OSError: " in made.stderr
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(("every", "most", "kept"), [(1, 9, 2), (2, 5, 4)])
def test_a_metric_that_fails_on_the_way_or_in_the_end(every: int, most: int, kept: int) -> None:
    scores, history = iter([0.5, 0.6, float("nan")]), History()
    options: dict[str, Any] = {"optimizer": Descent(), "stop": Stop(dev_every=every, max_iterations=most)}

    def metric(gold: Any, predicted: Any) -> float:
        return next(scores)

    with pytest.raises(ValueError, match="metric of the dev set is nan"):
        train(dataset(), dataset(9, 2), metric=metric, listeners=[history], **options)
    failed = history.events[-1]
    assert isinstance(failed, Failed)
    assert failed.model.training is not None
    assert (failed.model.training.kept, failed.model.training.score) == (kept, 0.6)
    assert np.isfinite(failed.model.w).all()
