"""Checkpoints: whole at every moment, of one run only, and resumed to the same bits."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crfkit import Chain, FeatureSelection, Likelihood, Stop, train
from crfkit.data.dataset import Dataset
from crfkit.models import SequenceModel
from crfkit.training import Checkpoints
from crfkit.training.events import Begin, Checkpointed, Event, History, Progress, StopTraining
from crfkit.training.runs.tree import read_tree, write_tree
from tests.cases.descent import Descent
from tests.cases.sentences import dataset

TREE: dict[str, Any] = {
    "numbers": [1, -0.1, float("inf"), 2**80, True, None, "text, ünï"],
    "pair": (np.float64(0.1), np.int32(4)),
    "arrays": {"a": np.arange(6.0).reshape(2, 3).T, "b": np.zeros((0, 4), np.int32), "c": np.array(3.5)},
    "odd": np.array([True, False, True]),
    "seed": np.array([2**63 + 5], np.uint64),
    "empty": {},
}


def test_trees_come_back_with_the_same_bits(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", TREE)
    back = read_tree(tmp_path / "tree")
    assert back["numbers"] == TREE["numbers"]
    assert back["pair"] == (0.1, 4)
    assert back["empty"] == {}
    for there, here in ((back["arrays"][k], TREE["arrays"][k]) for k in "abc"):
        assert (there.shape, there.dtype) == (here.shape, here.dtype)
        np.testing.assert_array_equal(there, here)
    assert back["seed"][0] == 2**63 + 5
    assert back["odd"].tolist() == [True, False, True]
    assert os.listdir(tmp_path) == ["tree"]


def test_what_a_tree_cannot_hold(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="/x/0 is a set"):
        write_tree(tmp_path / "tree", {"x": [{1}]})
    with pytest.raises(TypeError, match="array of object"):
        write_tree(tmp_path / "tree", {"x": np.array([None])})


def test_damaged_files(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", TREE)
    whole = (tmp_path / "tree").read_bytes()
    for size in (0, 5, 40, len(whole) - 9):
        (tmp_path / "tree").write_bytes(whole[:size])
        with pytest.raises(ValueError, match="damaged or was not written by crfkit"):
            read_tree(tmp_path / "tree")


def fit(data: Dataset, folder: Path | None = None, cut: int = 0, **options: Any) -> SequenceModel:
    """Train for 30 iterations, unless told to stop before."""

    def stopper(event: Event) -> None:
        if isinstance(event, Progress) and event.iteration == cut:
            raise StopTraining("cut")

    keep = None if folder is None else Checkpoints(folder, seconds=None, iterations=7)
    defaults: dict[str, Any] = {
        "optimizer": Descent(),
        "stop": Stop(max_iterations=30),
        "listeners": [stopper],
    }
    return train(data, checkpoint=keep, **{**defaults, **options})


@pytest.mark.parametrize("optimizer", [Descent(), "lbfgs"])
@pytest.mark.parametrize("features", ["observed", "likely"])
def test_resumed_runs_give_the_same_bits(tmp_path: Path, optimizer: Any, features: str) -> None:
    data, dev = dataset(), dataset(20, 2)
    options = {
        "optimizer": optimizer,
        "selection": features,
        "dev": dev,
        "stop": Stop(max_iterations=30, dev_every=3, patience=4),
    }
    straight = fit(data, **options)
    for n, cut in enumerate((1, 6, 7, 8, 13, 20, 30)):
        fit(data, tmp_path, cut, **options)
        assert (tmp_path / "checkpoint.safetensors").exists(), n
    resumed = fit(data, tmp_path, **options)
    assert resumed.w.tobytes() == straight.w.tobytes()
    assert straight.training is not None
    assert resumed.training is not None
    assert resumed.training.reason == straight.training.reason
    assert resumed.training.kept == straight.training.kept
    for name in ("objective", "score", "gradient_norm"):
        np.testing.assert_array_equal(resumed.training.history[name], straight.training.history[name])


def test_events_of_a_resumed_run(tmp_path: Path) -> None:
    data, history = dataset(), History()
    fit(data, tmp_path, 10)
    fit(data, tmp_path, listeners=[history])
    begin = history.events[0]
    assert isinstance(begin, Begin)
    assert begin.resumed == 10
    written = [event.iteration for event in history.events if isinstance(event, Checkpointed)]
    assert written == [14, 21, 28, 30]
    again = History()
    assert fit(data, tmp_path, listeners=[again]).training is not None
    assert [type(event).__name__ for event in again.events] == ["Begin", "Finished"]


def test_a_larger_budget_goes_on(tmp_path: Path) -> None:
    data = dataset()
    fit(data, tmp_path, stop=Stop(max_iterations=5))
    more = fit(data, tmp_path, stop=Stop(max_iterations=12))
    assert more.w.tobytes() == fit(data, stop=Stop(max_iterations=12)).w.tobytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"optimizer": Descent(rate=0.02)},
            r"optimizer is .*rate=0.01.* there and .*rate=0.02",
        ),
        ({"objective": Likelihood(l2=3.0)}, "objective is Likelihood.*l2=3.0.* here"),
        ({"selection": "all"}, "features is observed there and all here"),
        ({"selection": FeatureSelection(start=True)}, "layout is"),
        ({"structure": Chain(order=2)}, "structure is .*order=1.* there and .*order=2.* here"),
        ({"dev": dataset(5, 9)}, "other dev; metric is"),
        ({"data": dataset(61, 1)}, "other data"),
        ({"init": "memm"}, "other start"),
    ],
)
def test_checkpoints_of_other_runs_are_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    fit(dataset(), tmp_path, 3)
    with pytest.raises(ValueError, match=f"belongs to another run: {message}"):
        fit(**{"data": dataset(), "folder": tmp_path, **change})


def test_a_file_that_is_no_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "checkpoint.safetensors").write_bytes(b"nonsense")
    with pytest.raises(ValueError, match="damaged"):
        fit(dataset(), tmp_path)
    write_tree(tmp_path / "checkpoint.safetensors", {"a": 1})
    with pytest.raises(ValueError, match="not a checkpoint that this version"):
        fit(dataset(), tmp_path)
    with pytest.raises(ValueError, match="iterations is 0"):
        Checkpoints(tmp_path, iterations=0)


CHILD = """
import sys
from tests.cases.descent import Descent
from tests.cases.sentences import dataset
from crfkit import Stop, train
from crfkit.training import Checkpoints
keep = Checkpoints(sys.argv[1], seconds=None, iterations=1)
model = train(dataset(), dataset(20, 2), optimizer=Descent(pause=0.002), checkpoint=keep,
              stop=Stop(patience=None, max_iterations=60), n_jobs=1)
model.w.tofile(sys.argv[2])
"""


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL of POSIX")
def test_killed_at_random_moments(tmp_path: Path) -> None:
    """SIGKILL, again and again; what comes out in the end is what an undisturbed run gives."""
    out = tmp_path / "w"
    chance = random.Random(5)
    paths = [os.environ.get("PYTHONPATH", ""), str(Path(__file__).parents[2])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    kills = 0
    for _ in range(40):
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(tmp_path / "run"), str(out)], env=environment
        )
        patience = time.monotonic() + 60.0
        path = tmp_path / "run" / "checkpoint.safetensors"
        before = path.stat().st_mtime_ns if path.exists() else 0
        while child.poll() is None and time.monotonic() < patience:  # let it write something new first
            if kills < 3 and path.exists() and path.stat().st_mtime_ns != before:
                time.sleep(chance.uniform(0.0, 0.03))
                child.kill()
                break
            time.sleep(0.002)
        if child.wait(60.0) == 0:
            break
        kills += 1
    assert kills == 3
    straight = train(
        dataset(), dataset(20, 2), optimizer=Descent(), stop=Stop(max_iterations=60, patience=None)
    )
    assert out.read_bytes() == straight.w.tobytes()
    assert json.dumps(sorted(os.listdir(tmp_path))) == '["run", "w"]'
