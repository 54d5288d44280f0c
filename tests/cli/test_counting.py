"""Commands count sequences from 1, and errors name the file and the line of the data."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

from crfkit.structures.gold import GoldError
from tests.cases.cli import folder, run

__all__ = ["folder"]

TRAINED = ["-a", "lbfgs", "-q", "--max-iterations", "5"]
GOOD = "the DT B-NP\ndog NN I-NP\n\nran VB O\n\n"
WRONG = "ran VB O\ndog NN I-NP\n"


def test_answers_are_numbered_from_one(folder: Path, tmp_path: Path) -> None:
    data = tmp_path / "a.txt"
    data.write_text("the DT\ndog NN\n\nran VB\n\na DT\ncat NN\n")
    ranked = run("rank", folder / "m.crf", data).stdout.splitlines()
    assert sorted(int(line.split("\t")[0]) for line in ranked) == [1, 2, 3]
    ranked = run("rank", folder / "m.crf", data, "--json").stdout.splitlines()
    assert sorted(json.loads(line)["sequence"] for line in ranked) == [1, 2, 3]
    for line in ranked:
        told = json.loads(line)
        one = run("explain", folder / "m.crf", data, "--sequence", told["sequence"]).stdout
        assert one.split("\t")[0].split()[0] == told["text"].split()[0]
    spans = run("tag", folder / "m.crf", data, "--print", "spans").stdout.splitlines()
    assert [line.split("\t") for line in spans] == [
        ["1", "0", "2", "NP", "the dog"],
        ["3", "0", "2", "NP", "a cat"],
    ]
    best = run("tag", folder / "m.crf", data, "--kbest", "2").stdout.splitlines()
    assert [line.split()[1] for line in best if line.startswith("# ")] == ["1", "2"] * 3


def test_numbers_go_on_from_block_to_block(folder: Path, tmp_path: Path) -> None:
    data = tmp_path / "a.txt"
    data.write_text("the DT\ndog NN\n\n" * 40_000)
    spans = run("tag", folder / "m.crf", data, "--print", "spans").stdout.splitlines()
    assert [spans[0].split("\t")[0], spans[-1].split("\t")[0]] == ["1", "40000"]
    told = run(
        "tag",
        folder / "m.crf",
        "--constraint",
        "at-least:O:2",
        text="a DT\nb DT\n\n" * 50_000 + "x VB\n",
        status=2,
    )
    assert "standard input, line 150001: sequence 50001 has no labeling" in told.stderr


@pytest.mark.parametrize("more", [[], ["--block-positions", "2"]])
def test_gold_that_breaks_constraints_names_file_and_line(more: list[str], tmp_path: Path) -> None:
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    one.write_text(GOOD)
    two.write_text(GOOD + WRONG)
    given = [one, two, "-o", tmp_path / "m", "--scheme", "bio", *TRAINED, *more]
    told = run("train", *given, status=2).stderr
    assert f"crfkit: {two}, line 7: sequence 3: label 'I-NP' may not follow 'O' under the constraints" in told
    told = run("train", *given, "--comment", "#", status=2).stderr
    assert f"crfkit: {two}, line 6: sequence 3, token 2: label 'I-NP' may not follow" in told


def test_so_do_cv_and_induce(tmp_path: Path) -> None:
    data = tmp_path / "a.txt"
    data.write_text(GOOD * 3 + WRONG)
    for command in (
        ["cv", data, "--folds", "3", *TRAINED],
        ["train", data, "--induce", "-o", tmp_path / "m", "-q"],
    ):
        told = run(*command, "--scheme", "bio", status=2).stderr
        assert f"crfkit: {data}, line 17: sequence 7: label 'I-NP' may not follow 'O'" in told


def test_segments_and_formats_without_lines(tmp_path: Path) -> None:
    lines = tmp_path / "a.jsonl"
    good = {"tokens": ["the", "dog"], "labels": ["B-NP", "I-NP"]}
    wrong = {"tokens": ["ran", "dog"], "labels": ["O", "I-NP"]}
    lines.write_text("".join(json.dumps(one) + "\n" for one in (good, good, wrong)))
    told = run("train", lines, "-o", tmp_path / "m", "--scheme", "bio", *TRAINED, status=2).stderr
    assert f"crfkit: {lines}, line 3: sequence 3, token 2: label 'I-NP' may not follow 'O'" in told
    items = tmp_path / "a.txt"
    items.write_text("B-NP\tw=the\nI-NP\tw=dog\n\nO\tw=ran\nI-NP\tw=dog\n")
    told = run("train", items, "-o", tmp_path / "m", "--scheme", "bio", *TRAINED, status=2).stderr
    assert f"crfkit: {items}: sequence 2, token 2: label 'I-NP' may not follow 'O'" in told
    columns = tmp_path / "b.txt"
    columns.write_text(GOOD + "a DT B-NP\nbig JJ I-NP\ndog NN I-NP\n")
    given = [columns, "-o", tmp_path / "m", "--structure", "semi", "--max-length", "2", *TRAINED]
    told = run("train", *given, status=2).stderr
    assert f"crfkit: {columns}, line 6: sequence 3: the gold segment 'NP' of 3 positions is longer" in told


def test_gold_errors_are_pickled_and_counted_on() -> None:
    error = GoldError("wrong", sequence=2, position=1)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.sequence, again.position) == ("sequence 2, position 1: wrong", 2, 1)
    assert str(error.after(3)) == "sequence 5, position 1: wrong"
