"""Constraints on whole labelings at the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crfkit.constraints import AtMost
from crfkit.models import SequenceModel
from tests.cases.cli import folder, run

__all__ = ["folder"]

LINES = "the DT\ndog NN\nsees VB\nthe DT\ncat NN\n\nthe DT\ncat NN\n\n"


def tags(text: str) -> list[list[str]]:
    return [[line.split("\t")[-1] for line in part.splitlines()] for part in text.strip().split("\n\n")]


@pytest.mark.parametrize(
    "options",
    [
        ["--constraint", "once:all"],
        ["--constraint", "once:NP"],
        ["--constraint", "at-most:NP:1"],
        ["--constraint", "exactly:B-NP:1"],
        ["--constraint", "before:NP,O"],
    ],
)
def test_tag_keeps_constraints(folder: Path, options: list[str]) -> None:
    free = tags(run("tag", folder / "m.crf", text=LINES).stdout)
    assert free == [["B-NP", "I-NP", "O", "B-NP", "I-NP"], ["B-NP", "I-NP"]]
    done = run("tag", folder / "m.crf", *options, text=LINES)
    found = tags(done.stdout)
    assert found[1] == free[1]
    assert found[0] != free[0]
    assert "labels that keep the constraints: 1 free, 1 DP" in done.stderr
    assert run("tag", folder / "m.crf", *options, "-q", text=LINES).stderr == ""
    told = run("tag", folder / "m.crf", *options, "--json", text=LINES).stdout.splitlines()
    assert [json.loads(line)["predicted"] for line in told] == found


def test_sequences_that_cannot_keep_them(folder: Path) -> None:
    done = run("tag", folder / "m.crf", "--constraint", "at-least:O:3", text=LINES, status=2)
    assert (
        "standard input, line 7: sequence 2 has no labeling that keeps AtLeast(label='O', k=3)"
        in " ".join(done.stderr.split())
    )
    done = run(
        "tag", folder / "m.crf", "--constraint", "at-least:O:3", "--infeasible", "free", "-q", text=LINES
    )
    assert "its free ones stay: 1 sequence" in done.stderr
    assert tags(done.stdout)[1] == ["B-NP", "I-NP"]
    assert tags(done.stdout)[0].count("O") == 3


def test_a_model_with_constraints(folder: Path, tmp_path: Path) -> None:
    SequenceModel.load(folder / "m.crf").constrained([AtMost("NP", 1)]).save(tmp_path / "m.crf")
    found = tags(run("tag", tmp_path / "m.crf", text=LINES).stdout)
    assert found == tags(run("tag", folder / "m.crf", "--constraint", "at-most:NP:1", text=LINES).stdout)
    assert "AtMost(label='NP', k=1)" in run("show", tmp_path / "m.crf").stdout


def test_eval_compares_with_the_free_labels(folder: Path) -> None:
    data = folder / "train.txt"
    done = run(
        "evaluate",
        folder / "m.crf",
        data,
        "--against",
        folder / "m.crf",
        "--constraint",
        "at-most:NP:1",
        "--json",
    )
    kept, free = json.loads(done.stdout)["systems"]
    assert kept["micro"]["recall"] < free["micro"]["recall"]
    assert "labels that keep the constraints" in done.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--constraint", "at-most:NP"], "is 'at-most:NP', expected labels as in at-most:PER:1"),
        (["--constraint", "before:NP"], "expected labels as in before:author,title"),
        (["--constraint", "implies:NP,O,B-NP"], "expected labels as in implies:end,start"),
        (["--constraint", "once:NP,"], "--constraint is 'once:NP,', expected labels"),
        (["--constraint", "once:VP"], "'VP' matches no segment type"),
        (["--infeasible", "no"], "--infeasible is 'no', expected one of raise, free"),
        (
            ["--constraint", "once:all", "--kbest", "2"],
            "--kbest does not know constraints on whole labelings",
        ),
        (
            ["--constraint", "once:all", "--print", "proba"],
            "--print proba does not know constraints on whole labelings",
        ),
    ],
)
def test_what_is_refused(folder: Path, options: list[str], message: str) -> None:
    done = run("tag", folder / "m.crf", *options, text=LINES, status=2)
    assert message in " ".join(done.stderr.split())


def test_labels_in_files_are_not_changed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_text("the D D\n")
    done = run("evaluate", "--predicted", tmp_path / "p.txt", "--constraint", "once:all", status=2)
    assert "need a MODEL" in done.stderr
