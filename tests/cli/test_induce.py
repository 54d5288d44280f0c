"""``crfkit train --induce``: the model tags as the one in memory does, the report names what was found."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from crfkit import load
from crfkit.features import ItemExtractor
from crfkit.training import Induction, induce
from tests.cases.cli import folder, run

__all__ = ["folder"]


def columns(count: int, seed: int) -> str:
    """Return sequences whose label says whether two bits are equal."""
    lines = []
    for bits in np.random.default_rng(seed).integers(0, 2, size=(count, 5, 2)).tolist():
        lines += [f"u{u} v{v} {'same' if u == v else 'other'}" for u, v in bits]
        lines.append("")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("induce")
    (made / "train.txt").write_text(columns(40, 0))
    (made / "test.txt").write_text(columns(10, 1))
    (made / "template").write_text("U0:%x[0,0]\nU1:%x[0,1]\nB\n")
    return made


def test_columns_become_a_model_that_tags(place: Path) -> None:
    options = [
        "-t",
        place / "template",
        "--set",
        "induction.margin=1",
        "--set",
        "induction.rounds=2",
        "--jobs",
        1,
    ]
    done = run(
        *("train", "--induce", place / "train.txt", "-o", place / "m.crf", "--dev", place / "test.txt"),
        *("--json", *options),
    )
    told = json.loads(done.stdout)
    assert told["rounds"][0]["tokens"] == 200
    assert "gain" in done.stderr
    assert any("|" in one["name"] for each in told["rounds"] for one in each["features"])
    tagged = run("tag", place / "m.crf", place / "test.txt").stdout.split("\n\n")
    gold = (place / "test.txt").read_text().split("\n\n")
    for ours, theirs in zip(tagged, gold, strict=True):
        assert [line.split()[-1] for line in ours.splitlines()] == [
            line.split()[-1] for line in theirs.splitlines()
        ]
    made = json.loads(run("evaluate", place / "m.crf", place / "test.txt", "--json").stdout)
    assert made["accuracy"] == 1.0
    assert "|" in run("explain", place / "m.crf", place / "test.txt").stdout


def test_items_give_the_tags_of_the_model_in_memory(folder: Path, place: Path) -> None:
    lines = [json.loads(line) for line in (folder / "items.jsonl").read_text().splitlines()]
    X, y = [line["items"] for line in lines], [line["labels"] for line in lines]
    options = ["--set", "induction.rounds=1", "--set", "induction.margin=1", "-q", "--jobs", 1]
    run("train", "--induce", folder / "items.jsonl", "-o", place / "items.crf", *options)
    found = induce(
        ItemExtractor()(X, y), induction=Induction(rounds=1, margin=1.0), threads=1, progress=False
    )
    again = load(place / "items.crf")
    assert again.predict(X) == found.model.predict(X)
    assert again.log_prob(X, y).tobytes() == found.model.log_prob(X, y).tobytes()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--set", "induction.start=all"], "start is 'all', expected"),
        (["--metric", "accuracy"], "--metric is for a dev set"),
        (["--patience", "3"], "--patience is for a dev set"),
        (["--l2", "0"], "needs an L2 penalty"),
        (["--set", "induction.min_gain=1e9"], "a larger beam or a smaller min_gain"),
    ],
)
def test_what_cannot_be_done_is_said(place: Path, options: list[str], why: str) -> None:
    done = run("train", "--induce", place / "train.txt", "-o", place / "x.crf", "-q", *options, status=2)
    assert why in done.output
    assert not (place / "x.crf").exists()
