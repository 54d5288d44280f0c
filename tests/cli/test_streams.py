"""Standard streams that are closed, full or given up, and odd surroundings: one line, no traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import crfkit
from crfkit.native import threads_or_all
from tests.cases.cli import folder, run

__all__ = ["folder"]

ENVIRONMENT = {**os.environ, "PYTHONWARNINGS": "", "PYTHONUNBUFFERED": ""}  # as users have it


def shell(line: str, folder: Path, **more: str) -> tuple[int, list[str]]:
    """Run a line of the shell in which crfkit is a command; return the status and what is said."""
    command = f'crfkit() {{ "{sys.executable}" -m crfkit.cli "$@"; }}; set -o pipefail; {line}'
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={**ENVIRONMENT, **more},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stderr.decode().splitlines()


@pytest.mark.parametrize(
    ("line", "status", "said"),
    [
        ("crfkit tag m.crf test.txt >&-", 2, "standard output: it is closed"),
        ("crfkit show m.crf >&-", 2, "standard output: it is closed"),
        ("crfkit show m.crf --json > /dev/full", 1, "No space left on device"),
        ("crfkit tag --help > /dev/full", 1, "No space left on device"),
        ("crfkit explain m.crf test.txt | true", 1, ""),
        ("crfkit tag missing test.txt 2> /dev/full", 2, ""),
        ("crfkit train train.txt -o n.crf --max-iterations 1 2> /dev/full", 0, ""),
        ("crfkit tag m.crf missing >&- 2>&- <&-", 2, ""),
        ("crfkit tag m.crf - <&-", 2, "holds no sequence"),
        ("crfkit tag m.crf test.txt -o tagged.txt -q >&- 2>&- <&- && cmp tagged.txt tagged.txt", 0, ""),
    ],
)
def test_streams_that_take_nothing(line: str, status: int, said: str, folder: Path) -> None:
    ended, lines = shell(line, folder)
    assert ended == status, lines
    assert len(lines) == bool(said), lines
    assert said in "".join(lines)


def test_a_closed_stream_gives_its_number_to_no_file(folder: Path) -> None:
    shell("crfkit tag m.crf test.txt -q -o closed.txt >&- 2>&- <&-", folder)
    shell("crfkit tag m.crf test.txt -q -o open.txt", folder)
    assert (folder / "closed.txt").read_bytes() == (folder / "open.txt").read_bytes()


def test_letters_that_the_output_cannot_hold_are_spelled_out(folder: Path) -> None:
    (folder / "accents.jsonl").write_text('{"items": [["é→"], ["b"]], "labels": ["é", "→"]}\n')
    run("train", folder / "accents.jsonl", "-o", folder / "accents.crf", "-q", "--max-iterations", "1")
    line = r"crfkit explain accents.crf accents.jsonl | grep -c 'u00e9'"
    ended, lines = shell(line, folder, PYTHONIOENCODING="ascii")
    assert (ended, lines) == (0, [])


def test_odd_surroundings_get_one_line(folder: Path) -> None:
    ended, lines = shell("crfkit tag m.crf test.txt", folder, CRFKIT_SIMD="nonsense")
    assert (ended, len(lines)) == (2, 1)
    assert "CRFKIT_SIMD: 'nonsense' is not available here" in lines[0]
    ended, lines = shell("mkdir gone; cd gone; rmdir ../gone; crfkit show m.crf", folder)
    assert ended == 2
    assert lines[-1].startswith("crfkit: m.crf: No such file")


def test_a_number_of_threads_that_nobody_has_is_lowered(folder: Path) -> None:
    assert threads_or_all(10**30) == 1 << 16
    for words in (
        ["tag", folder / "m.crf", folder / "test.txt"],
        ["evaluate", folder / "i.crf", folder / "items.jsonl"],
    ):
        assert run(*words, "--jobs", 10**30).stdout == run(*words, "--jobs", 1).stdout


def test_a_warning_that_is_an_error_is_one_line(folder: Path) -> None:
    words = "crfkit train train.txt -o w.crf -q -a lbfgs --max-iterations 1"
    ended, lines = shell(words, folder, PYTHONWARNINGS="error")
    assert (ended, len(lines)) == (1, 1)
    assert "a mistake in crfkit" not in lines[0]
    assert crfkit.load(folder / "w.crf").training.iterations == 1  # what was learned is saved all the same
