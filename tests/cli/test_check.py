"""``crfkit check``: what it finds, where, and with which exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cases.cli import run

TRAIN = "Ana B-PER\nran O\n\nBo B-PER\nRuiz I-PER\nsat O\nin O\nNew B-LOC\nYork I-LOC\n"


def file(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_nothing_looks_wrong(tmp_path: Path) -> None:
    done = run("check", file(tmp_path, "a.txt", TRAIN), file(tmp_path, "b.txt", "Eve B-PER\nsat O\n"))
    assert "a.txt: 2 sequences, 8 positions" in done.stdout
    assert "3  O" in done.stdout
    assert "nothing looks wrong" in done.stderr


def test_every_kind_of_finding(tmp_path: Path) -> None:
    dev = (
        "Bo B-PER\nRuiz I-PER\nsat O\nin O\nNew B-LOC\nYork I-LOC\n\nin O\nRome I-LOC\n\nX B-ORG\n\nY I-LOC\n"
    )
    done = run("check", file(tmp_path, "a.txt", TRAIN), file(tmp_path, "b.txt", dev), status=1)
    found = [line for line in done.stdout.splitlines() if not line.startswith(" ")][2:]
    a, b = tmp_path / "a.txt", tmp_path / "b.txt"
    assert found == [
        f"unknown label: {b}, line 11: B-ORG (1 position) is not in the first file",
        f"overlap: {b}: 1 sequence of 4 stand in the first file: {b}, line 1 (as {a}, line 4)",
        f"invalid step: {b}, line 9: I-LOC after O, which BIO does not have",
        f"invalid step: {b}, line 13: I-LOC begins a sequence, which BIO does not have",
    ]
    assert "4 findings" in done.stderr


def test_labels_that_are_no_tags_do_not_hide_wrong_steps(tmp_path: Path) -> None:
    text = "word label\n\n" + TRAIN * 100 + "\nin O\nRome I-LOC\nx b-loc\n"
    done = run("check", file(tmp_path, "a.txt", text), status=1)
    kinds = [line.partition(":")[0] for line in done.stdout.splitlines()[1:] if not line.startswith(" ")]
    assert kinds == ["odd label", "odd label", "invalid step", "suspicious"]
    assert "b-loc (1 position) is not a tag, where others are, such as B-" in done.stdout
    assert "I-LOC after O, which BIO does not have" in done.stdout


def test_labels_of_the_tokens_of_documents_are_counted(tmp_path: Path) -> None:
    row = {"text": "Ana ran", "tokens": [[0, 3], [4, 7]], "labels": ["NAME", "VERB"], "spans": []}
    path = file(tmp_path, "a.jsonl", json.dumps(row) + "\n")
    assert "1  VERB" in run("check", path).stdout


def test_the_scheme_is_that_which_the_fewest_steps_break(tmp_path: Path) -> None:
    text = "a I-X\nb I-X\nc B-X\nd O\n\n" * 5  # IOB1
    run("check", file(tmp_path, "a.txt", text))
    plain = "a NN\nb B-52\n\nc VB\n"
    run("check", file(tmp_path, "b.txt", plain))


def test_suspicions_of_readers_are_findings(tmp_path: Path) -> None:
    header = file(tmp_path, "a.txt", "word label\n" + TRAIN * 5)
    done = run("check", header, status=1)
    assert "suspicious:" in done.stdout
    assert "as if the line named the columns" in done.stdout
    giant = file(tmp_path, "b.txt", "a O\nb B-X\n" * 600)
    assert "is one sequence of 1,200 positions" in run("check", giant, status=1).stdout


def test_documents(tmp_path: Path) -> None:
    rows = [
        {"text": "in New York.", "spans": [[3, 6, "LOC"], [7, 9, "LOC"], [3, 11, "LOC"]], "id": "7"},
        {"text": "Ana", "spans": [[2, 9, "PER"]]},
    ]
    path = file(tmp_path, "a.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    done = run("check", path, "--json", status=1)
    told = json.loads(done.stdout)
    assert told["files"][str(path)] == {"sequences": 2, "positions": 5, "labels": {"LOC": 3, "PER": 1}}
    assert [one["kind"] for one in told["findings"]] == ["span", "span"]
    texts = [one["what"] for one in told["findings"]]
    assert "2 spans lie over another: 'New'" in texts[0]
    assert "1 span lies outside of its text: (2, 9, 'PER')" in texts[1]
    fine = file(tmp_path, "b.jsonl", json.dumps({"text": "Ana ran", "spans": [[0, 3, "PER"]]}) + "\n")
    assert "1 sequence, 2 positions" in run("check", fine).stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a.txt holds no sequence"),
        ("a\nb\n", "has one column, expected tokens and labels"),
        ("a b\nc d\n" * 50 + "e\n", "line 101"),
    ],
)
def test_what_is_no_data(text: str, message: str, tmp_path: Path) -> None:
    assert message in run("check", file(tmp_path, "a.txt", text), status=2).stderr
