"""The README's own programs run and print what they say."""

from __future__ import annotations

import random
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_python_blocks_run(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, str(README), "exec"), {})
    printed = capsys.readouterr().out
    promises = (
        "['D', 'N']",
        "['B', 'I', 'O'] 3.0",
        "4 18 ['B', 'I', 'O']",
        "[['number', 'street', 'street', 'city']]",
    )
    for promised in promises:
        assert promised in printed
        assert promised in README.read_text()
    assert printed.startswith("[['number', 'street', 'street', 'city']]\n")  # the first program
    assert "accuracy 1.0000 of 12 tokens" in printed


def test_shell_blocks_run(tmp_path: Path) -> None:
    rng = random.Random(0)
    words = {"DT": ["the", "a"], "NN": ["dog", "tree", "house"], "VB": ["sees", "has"]}
    for name, lines in (("train.txt", 60), ("dev.txt", 15)):
        with (tmp_path / name).open("w") as file:
            for _ in range(lines):
                for tag, label in (
                    ("DT", "B-NP"),
                    ("NN", "I-NP"),
                    ("VB", "O"),
                    ("DT", "B-NP"),
                    ("NN", "I-NP"),
                ):
                    file.write(f"{rng.choice(words[tag])} {tag} {label}\n")
                file.write("\n")
    (block,) = re.findall(r"```sh\n(.*?)```", README.read_text(), re.DOTALL)
    crfkit = f"{shlex.quote(sys.executable)} -m crfkit.cli"
    for line in block.splitlines():
        done = subprocess.run(line.replace("crfkit", crfkit, 1), shell=True, capture_output=True, text=True)
        assert done.returncode == 0, f"{line}: {done.stderr}"
    assert (tmp_path / "chunks.crfsuite").read_bytes()[:4] == b"lCRF"
    assert "FB1: 100.00" in subprocess.run(
        f"{crfkit} eval chunks.crf dev.txt", shell=True, capture_output=True, text=True
    ).stdout.replace("  ", " ")
