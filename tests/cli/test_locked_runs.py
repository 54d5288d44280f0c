"""Runs that share a folder of checkpoints: the second is told at once, before it reads anything."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import crfkit.training.train
from crfkit import GraphCRF, Stop, train
from crfkit.data import sink
from crfkit.data.locks import LOCK, locked_folder
from crfkit.models import SequenceModel
from crfkit.training import Checkpoints
from tests.cases.cli import folder, run
from tests.cases.cycles import cycles
from tests.cases.sentences import dataset

__all__ = ["folder"]

STRUCTURES: dict[str, tuple[str, ...]] = {
    "chain": (),
    "blocks": ("--block-positions=60",),
    "segments": ("--structure=semi", "--max-length=2"),
    "graph": ("--structure=graph", "--graph=graph.txt"),
}


@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_command_is_told_before_it_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, structure: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run").mkdir()
    Path("graph.txt").write_text("kind tag = column 2\nclique tag\n")
    command = ("train", "none.txt", "-o", "m.crf", *STRUCTURES[structure], "--checkpoint", "run")
    with locked_folder(Path("run"), "wait"):
        said = run(*command, status=2).stderr
        assert said.count("\n") == 1
        assert f"run is in use by process {os.getpid()} on " in said
        assert "give each run a folder of its own" in said
    assert "none.txt" in run(*command, status=2).stderr  # which is read once the folder is free
    assert sorted(os.listdir()) == ["graph.txt", "run"]
    assert not os.listdir("run")


def test_a_folder_that_was_made_for_nothing_is_removed(tmp_path: Path) -> None:
    run("train", tmp_path / "none", "-o", tmp_path / "m.crf", "--checkpoint", tmp_path / "run", status=2)
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("learn", ["train", "fit"])
def test_a_call_is_told_before_it_looks_at_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, learn: str
) -> None:
    def looks(*_: object, **__: object) -> None:
        raise AssertionError("it has begun")

    batch = cycles(0, 4)
    calls: dict[str, Callable[[], Any]] = {
        "train": lambda: train(dataset(2), checkpoint=tmp_path),
        "fit": lambda: GraphCRF(batch.graph).fit(batch, checkpoint=tmp_path),
    }
    monkeypatch.setattr(crfkit.training.train, "Fit", looks)
    monkeypatch.setattr("crfkit.training.graphs.fit.GraphFit", looks)
    with locked_folder(tmp_path, "wait"), pytest.raises(ValueError, match="is in use by process"):
        calls[learn]()
    with pytest.raises(AssertionError, match="it has begun"):
        calls[learn]()
    assert not os.listdir(tmp_path)


def test_whoever_holds_checkpoints_can_train_with_them(tmp_path: Path) -> None:
    with Checkpoints(tmp_path, iterations=1).held() as keep:
        assert os.listdir(tmp_path) == [LOCK]
        with pytest.raises(ValueError, match="is in use"):
            train(dataset(2), checkpoint=tmp_path)
        train(dataset(2), checkpoint=keep, stop=Stop(max_iterations=2))
        assert LOCK in os.listdir(tmp_path)
    assert os.listdir(tmp_path) == ["checkpoint.safetensors"]


def test_runs_that_write_one_model_save_it_whole(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither knows of the other; the file is that of whoever saves last."""
    output = tmp_path / "m.crf"
    found: list[int] = []
    command = ("train", folder / "train.txt", "-o", output, "-q", "--max-iterations")
    honest = sink._pour

    def iterations() -> int:
        made = SequenceModel.load(output, mapped=False).training
        assert made is not None
        return made.iterations

    def pour(file: Any, pieces: Any) -> None:
        if not found:  # the first run has a file under a temporary name
            found.append(0)
            run(*command, 2)
            found[0] = iterations()
        honest(file, pieces)

    monkeypatch.setattr(sink, "_pour", pour)
    run(*command, 1)
    assert [*found, iterations()] == [2, 1]
    assert os.listdir(tmp_path) == ["m.crf"]
