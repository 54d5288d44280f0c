"""The demonstration: its corpus, what is learned from it, and the commands that show it."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from crfkit import inference
from crfkit.cli import app
from crfkit.datasets.generate import LABELS, corpus
from crfkit.demo import label_bias, tour
from crfkit.models import SequenceModel


def demo(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "crfkit.demo", *arguments]
    told = {**os.environ, "TMPDIR": str(folder), "COLUMNS": "100", **environment}
    return subprocess.run(command, capture_output=True, check=False, env=told)


def test_the_corpus_is_the_same_for_the_same_seed() -> None:
    assert corpus(200, seed=3) == corpus(200, seed=3) == corpus(300, seed=3)[:200]
    assert corpus(200, seed=3) != corpus(200, seed=4)


def test_the_corpus_is_varied_and_ambiguous() -> None:
    lines = corpus(3000)
    assert len({tuple(word for word, _ in line) for line in lines}) == len(lines) == 3000
    assert {label for line in lines for _, label in line} == set(LABELS)
    labels: dict[str, set[str]] = {}
    for line in lines:
        assert len(line) > 1
        for word, label in line:
            assert word
            assert not re.search(r"\s", word)
            labels.setdefault(word.strip(",").lower(), set()).add(label)
    assert {"recipient", "building", "street", "city"} <= labels["paris"]
    assert {"street", "street_type", "city"} <= labels["st"]
    assert {"state", "country"} <= labels["ca"]
    of_five = [found for word, found in labels.items() if re.fullmatch(r"\d{5}", word)]
    assert {"number", "postcode", "box"} <= set().union(*of_five)


def test_hard_lines_are_not_in_the_corpus() -> None:
    known = {" ".join(word.strip(",").lower() for word, _ in line) for line in corpus(5000)}
    assert not known & {line.replace(",", "").lower() for line in tour.HARD}


def test_it_learns_to_read_addresses() -> None:
    lines = corpus(1000, seed=1)
    learned = tour.learn(lines[:800], lines[800:], progress=False)
    assert learned.scores.accuracy > 0.93
    assert learned.whole > 0.7
    first = tour.decisions(learned.model, tour.HARD)[0]
    assert [one.label for one in first] == ["number", "street", "street_type", "city", "state", "postcode"]


def test_the_tour_without_a_terminal(tmp_path: Path) -> None:
    path = tmp_path / "a model.crf"
    done = demo(tmp_path, "--lines", "500", "--output", str(path))
    assert done.returncode == 0, done.stderr
    shown = done.stdout.decode()
    assert "\x1b" not in shown + done.stderr.decode()
    assert "of whole lines right" in shown
    assert "why is 10115 a" in shown
    assert "400 sequences" in done.stderr.decode()
    assert SequenceModel.load(path).recipe is not None


def test_the_commands_to_try_next_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["demo", "--lines", "500", "--seed", "2"])
    assert done.exit_code == 0, done.output
    commands = done.stdout.split("what to try next")[1].splitlines()[1:]
    assert len(commands) == 6
    for command in commands:
        pipe = command.rpartition("| ")
        words = shlex.split(pipe[2])
        text = "\n".join(shlex.split(pipe[0])[1].split()) if pipe[0] else None
        assert words.pop(0) == "crfkit"
        tried = CliRunner().invoke(app, words, input=text)
        assert tried.exit_code == 0, (command, tried.output)


def test_output_that_knows_no_accents(tmp_path: Path) -> None:
    done = demo(tmp_path, "--lines", "100", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--label-bias", "--seed", "1"], "does not train"),
        (["--output", "-"], "give the name of a file"),
        (["--output", "nowhere/m.crf"], "there is no folder"),
        (["--lines", "3"], "lines"),
    ],
)
def test_mistakes(tmp_path: Path, arguments: list[str], message: str) -> None:
    done = demo(tmp_path, *arguments)
    assert done.returncode == 2
    assert message in done.stderr.decode()
    assert not list(tmp_path.iterdir())


def test_label_bias() -> None:
    shown = CliRunner().invoke(app, ["demo", "--label-bias"])
    assert shown.exit_code == 0, shown.output
    assert "label bias" in shown.output
    crf, memm = (
        inference.span_probability(build("rob", float("-inf")), 0, 3, [0, 1, 2])
        for build in (label_bias.network, label_bias.normalized_by_state)
    )
    assert crf < 0.1 < 0.5 < memm
