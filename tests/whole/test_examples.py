"""The scripts in examples run, and print what one would expect."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import pytest

from crfkit import datasets
from crfkit.text import Doc

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(script: str, *arguments: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / script), *arguments], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def columns(docs: list[Doc]) -> str:
    sentences = [zip(doc.text.split(), doc.labels or (), strict=True) for doc in docs]
    return "\n".join("".join(f"{word} {label}\n" for word, label in one) for one in sentences)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    here = tmp_path_factory.mktemp("examples")
    made = datasets.make_addresses(200)
    (here / "train.txt").write_text(columns(made.train[:120]))
    (here / "dev.txt").write_text(columns(made.train[120:]))
    (here / "test.txt").write_text(columns(made.test))
    return here


def test_every_script_is_listed_and_run() -> None:
    scripts = {path.name for path in EXAMPLES.glob("*.py")}
    listed = (EXAMPLES / "README.md").read_text()
    assert scripts == {"train_tagger.py", "addresses_to_csv.py", "label_next.py", "bilstm_crf.py"}
    assert all(f"[{name}]({name})" in listed for name in scripts)


def test_train_tagger(folder: Path) -> None:
    printed = run("train_tagger.py", "train.txt", "dev.txt", "test.txt", folder=folder)
    assert printed.count("on dev.txt") == 4
    assert "precision  recall" in printed
    assert (folder / "tagger.crf").exists()


def test_addresses_to_csv(folder: Path) -> None:
    (folder / "raw.txt").write_text("123 Main St, Springfield IL 62701\nPO Box 12, Dover DE 19901\n")
    first, second = csv.DictReader(run("addresses_to_csv.py", "raw.txt", folder=folder).splitlines())
    assert (first["number"], first["street"], first["city"], first["zip"]) == (
        "123",
        "Main",
        "Springfield",
        "62701",
    )
    assert second["state"] == "DE"


def test_label_next(folder: Path) -> None:
    (folder / "pool.txt").write_text("12 Main St\nzzz qqq\n7 Oak Ave Dover\n")
    printed = run("label_next.py", "train.txt", "pool.txt", "-n", "2", folder=folder).splitlines()
    sure = [float(line.split("\t")[0]) for line in printed]
    assert len(printed) == 2
    assert sure == sorted(sure, reverse=True)
