"""The command line as a user meets it: output, messages, exit status."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

TRAIN = "The DT B\ndog NN I\n\nCats NN B\nran VB O\n"
TEMPLATE = "U00:%x[-1,0]\nU01:%x[0,0]/%x[0,1]\nB\nB1:%x[0,1]\n"


def crfkit(*arguments: object, text: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "crfkit.cli", *map(str, arguments)]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)


@pytest.fixture
def train(tmp_path: Path) -> Path:
    path = tmp_path / "train.txt"
    path.write_text(TRAIN)
    return path


@pytest.fixture
def template(tmp_path: Path) -> Path:
    path = tmp_path / "template"
    path.write_text(TEMPLATE)
    return path


def test_features_of_a_sequence(train: Path, template: Path) -> None:
    done = crfkit("features", train, "-t", template, "--sequence", 2)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "Cats\tNN\tB",
        "    U00:_B-1",
        "    U01:Cats/NN",
        "ran\tVB\tO",
        "    U00:Cats",
        "    U01:ran/VB",
        "  → B1:VB",
    ]


def test_features_from_a_pipe_as_json(template: Path) -> None:
    done = crfkit("features", "-", "-t", template, "--json", text=TRAIN)
    assert done.returncode == 0, done.stderr
    first = json.loads(done.stdout.splitlines()[0])
    assert first == {
        "token": ["The", "DT", "B"],
        "attributes": ["U00:_B-1", "U01:The/DT"],
        "edge_attributes": [],
    }


def test_features_count(tmp_path: Path, template: Path) -> None:
    path = tmp_path / "train.gz"
    path.write_bytes(gzip.compress(TRAIN.encode(), mtime=0))
    done = crfkit("features", path, "-t", template, "--count", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "sequences": 2,
        "positions": 4,
        "occurrences": 8,
        "edge occurrences": 2,
        "labels": 3,
        "attributes": 7,
        "edge attributes": 2,
        "weights, observed pairs": 7 + 2 + 9,
        "weights, all pairs": 7 * 3 + 3 * 9,
    }


def test_features_recipe_with_names(train: Path) -> None:
    done = crfkit("features", train, "-t", "lower(word)[0]; pos[1]", "--columns", "word,pos,chunk")
    assert done.stdout.splitlines()[1:3] == ["    lower(word)[0]=the", "    pos[1]=NN"]


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("ragged", b"a b\nc\n", ["-t", "0[0]"], "ragged, line 2: has 1 column, expected 2"),
        ("latin", b"ok x\ncaf\xe9 x\n", ["-t", "0[0]"], "latin, line 2: .*UTF-8"),
        ("empty", b"", ["-t", "0[0]"], "empty"),
        ("cut", gzip.compress(TRAIN.encode() * 99, mtime=0)[:-9], ["-t", "0[0]", "--count"], "cut"),
        ("column", TRAIN.encode(), ["-t", "word[0]"], "column: there is no column 'word'"),
        ("regex", TRAIN.encode(), ["-t", 'regex(0, "(")[0]'], "--features, line 1: .*is wrong"),
        ("sequence", TRAIN.encode(), ["-t", "0[0]", "--sequence", "9"], "there is no sequence 9"),
    ],
)
def test_mistakes_end_with_status_2(
    tmp_path: Path, name: str, content: bytes, options: list[str], message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    done = crfkit("features", path, *options)
    assert done.returncode == 2
    assert done.stderr.startswith("crfkit: ")
    assert done.stderr.count("\n") == 1
    assert not done.stdout
    assert re.search(message, done.stderr), done.stderr


def test_without_templates_they_are_those_of_train(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_text(TRAIN)
    sizes = json.loads(crfkit("features", path, "--count", "--json").stdout)
    done = crfkit("train", path, "-o", tmp_path / "m.crf", "--json", "-q", "--max-iterations", "1")
    assert sizes["weights, observed pairs"] == json.loads(done.stdout)["weights"]
    bare = crfkit("features", path, "--label-column", "none", "--json").stdout.splitlines()[0]
    assert len(json.loads(bare)["attributes"]) > len(
        json.loads(crfkit("features", path, "--json").stdout.splitlines()[0])["attributes"]
    )


def test_a_folder_and_a_missing_file(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing"):
        done = crfkit("features", path, "-t", "0[0]")
        assert done.returncode == 2
        assert str(path) in done.stderr


def test_help_has_an_example() -> None:
    done = crfkit("features", "--help")
    assert done.returncode == 0
    assert "crfkit features train.txt" in done.stdout
