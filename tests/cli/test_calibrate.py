"""crfkit calibrate as a user meets it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from crfkit.models import SequenceModel
from tests.cases.cli import folder, run

__all__ = ["folder", "run"]


@pytest.mark.parametrize("method", ["temperature", "isotonic"])
def test_a_model_is_calibrated(folder: Path, tmp_path: Path, method: str) -> None:
    out = tmp_path / "c.crf"
    asked = ["calibrate", folder / "m.crf", folder / "test.txt", "-o", out, "--calibration", method]
    done = run(*asked)
    assert done.stdout.startswith("labels: expected calibration error 0.")
    assert "segments: expected calibration error 0." in done.stdout
    told = json.loads(run(*asked, "--json", "--test", folder / "train.txt").stdout)
    assert told["after"]["labels"]["count"] > 100
    error = "expected_calibration_error"
    assert told["after"]["labels"][error] < (
        told["before"]["labels"][error] if method == "temperature" else 0.02
    )
    before, after = SequenceModel.load(folder / "m.crf"), SequenceModel.load(out)
    assert (after.calibration is not None) == (method == "isotonic")
    assert np.array_equal(before.w, after.w) == (method == "isotonic")
    tagged = [run("tag", model, folder / "test.txt").stdout for model in (folder / "m.crf", out)]
    assert tagged[0] == tagged[1]
    marginals = [
        run("tag", m, folder / "test.txt", "--print", "proba").stdout for m in (folder / "m.crf", out)
    ]
    assert marginals[0] != marginals[1]
    if method == "isotonic":
        refused = run("tag", out, folder / "test.txt", "-k", 2, status=2)
        assert "--kbest is not for models calibrated by isotonic" in refused.output


def test_reliability_is_drawn(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    asked = ["calibrate", folder / "m.crf", folder / "test.txt", "-o", tmp_path / "c.crf"]
    run(*asked, "--plot", tmp_path / "c.png")
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib_nothing_is_begun(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    asked = ["calibrate", folder / "m.crf", folder / "test.txt", "-o", tmp_path / "c.crf"]
    refused = run(*asked, "--plot", tmp_path / "c.png", status=2)
    assert "pip install 'crfkit[plot]'" in refused.output
    assert not (tmp_path / "c.crf").exists()


def test_what_is_refused(folder: Path, tmp_path: Path) -> None:
    asked = ["calibrate", folder / "m.crf", folder / "test.txt", "-o", tmp_path / "c.crf"]
    assert "expected one of temperature, isotonic" in run(*asked, "--calibration", "platt", status=2).output
    asked[2] = folder / "empty"
    assert "holds no sequence" in run(*asked, status=2).output


def test_rank_prints_what_to_label_next(folder: Path) -> None:
    lines = run("rank", folder / "m.crf", folder / "test.txt", "--top", 4).stdout.splitlines()
    rows = [line.split("\t") for line in lines]
    unsure = [float(row[1]) for row in rows]
    assert len(rows) == 4
    assert unsure == sorted(unsure, reverse=True)
    asked = ["rank", folder / "m.crf", folder / "test.txt", "--by", "density", "--json"]
    told = [json.loads(line) for line in run(*asked).stdout.splitlines()]
    assert len(told) == 10
    assert sorted(one["sequence"] for one in told) == list(range(1, 11))
    assert all(one["text"] for one in told)
    assert "holds no sequence" in run("rank", folder / "m.crf", folder / "empty", status=2).stderr
    assert "expected one of" in run("rank", folder / "m.crf", "--by", "x", status=2).output
