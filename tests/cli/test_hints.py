"""What the command line says to people who come from elsewhere: -h, help, hints, counts, empty input."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from crfkit.cli.commands import COMMANDS
from tests.cases.cli import folder, run

__all__ = ["folder"]


def test_the_package_is_a_command() -> None:
    done = subprocess.run([sys.executable, "-m", "crfkit", "--version"], capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stdout.startswith("crfkit 0.")


@pytest.mark.parametrize("name", COMMANDS)
def test_h_is_help_in_every_command(name: str) -> None:
    long = run(name, "--help").stdout
    assert run(name, "-h").stdout == long == run("help", name).stdout
    assert "-h, --help" in long
    assert "list[" not in long
    assert "<str>" not in long
    assert run("-h").stdout == run("--help").stdout == run("help").stdout


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        *(("info", "show"), ("dump", "show"), ("predict", "tag"), ("label", "tag"), ("decode", "tag")),
        *(("test", "tag"), ("crf_test", "tag"), ("learn", "train"), ("fit", "train"), ("crf_learn", "train")),
        *(
            ("eval", "evaluate"),
            ("score", "evaluate"),
            ("cross-validate", "cv"),
            ("Train", "train"),
            ("induce", "train --induce"),
        ),
        *(("trian", "train"), ("evaluat", "evaluate")),
    ],
)
def test_commands_are_suggested_by_meaning(typed: str, meant: str) -> None:
    told = run(typed, "m.crf", status=2).stderr
    assert told.startswith(f"crfkit: there is no command {typed}; ")
    assert f" crfkit {meant}" in told.partition("; see crfkit")[0]


def test_what_means_nothing_gets_no_suggestion() -> None:
    assert run("xyzzy", status=2).stderr == "crfkit: there is no command xyzzy; see crfkit --help\n"
    told = run("train", "a", "-o", "b", "--xyzzy", status=2).stderr
    assert told == "crfkit: there is no option --xyzzy; see crfkit train --help\n"
    assert "\x1b" not in run("a\x1b[31m", status=2).stderr


@pytest.mark.parametrize(
    ("command", "given", "hint"),
    [
        ("train", ["-v"], "leave it out: progress is shown unless --quiet is given"),
        ("train", ["--algorithm", "l2sgd"], "write --optimizer sgd"),
        ("train", ["--algorithm=ap"], "write --objective perceptron"),
        ("train", ["--algo", "l-bfgs"], "write --optimizer lbfgs"),
        ("train", ["--algorithm"], "write --optimizer; see"),
        ("train", ["--c1", "0.1"], "write --l1 0.1"),
        ("train", ["--c2", "0.5"], "write --l2 1.0 (CRFsuite's penalty"),
        ("train", ["--c2=0.5"], "write --l2 1.0 (CRFsuite's penalty"),
        ("train", ["-c", "4"], "write --l2 0.25 (l2 is 1 / C)"),
        ("train", ["-c4"], "write --l2 0.25"),
        ("train", ["--rho1", "0.5"], "write --l1 0.5"),
        ("train", ["--rho2", "0.5"], "write --l2 0.5"),
        ("train", ["--gaussian-variance", "10"], "write --l2 0.1 "),
        ("train", ["--min-freq", "2"], "write --min-count 2"),
        ("train", ["--feature.minfreq=2"], "write --min-count 2"),
        ("train", ["--maxiter", "9"], "write --max-iterations 9"),
        ("train", ["--max-iter", "9"], "write --max-iterations 9"),
        ("train", ["--nthread", "2"], "write --jobs 2"),
        ("train", ["-p", "2"], "write --jobs 2"),
        ("train", ["--pattern", "t"], "write --features t"),
        ("train", ["--devel", "d.txt"], "write --dev d.txt"),
        ("train", ["--orders", "2"], "write --order 2"),
        ("train", ["--random-state", "3"], "write --seed 3"),
        ("tag", ["--nbest", "3"], "write --kbest 3"),
        ("tag", ["-n", "3"], "write --kbest 3"),
        ("tag", ["--probability"], "write --print proba"),
        ("train", ["--outptu", "x"], "did you mean --output?"),
    ],
)
def test_options_are_suggested_by_meaning(command: str, given: list[str], hint: str) -> None:
    rest = ["-o", "x"] if command == "train" else []
    told = run(command, "a", *rest, *given, status=2).stderr
    assert told.startswith("crfkit: there is no option -")
    assert f"; {hint}" in told


@pytest.mark.parametrize("name", ["tag", "evaluate", "explain", "rank", "calibrate"])
def test_empty_input_is_an_error(name: str, folder: Path, tmp_path: Path) -> None:
    more = ["-o", tmp_path / "c.crf"] if name == "calibrate" else []
    told = run(name, folder / "m.crf", "-", *more, text="", status=2).stderr
    assert "holds no sequence" in told


@pytest.mark.parametrize("name", ["train", "cv", "features"])
def test_empty_input_of_what_learns_is_an_error(name: str, tmp_path: Path) -> None:
    more: dict[str, list[object]] = {
        "train": ["-o", tmp_path / "m.crf"],
        "cv": [],
        "features": ["-t", "0[0]"],
    }
    told = run(name, "-", *more[name], text="", status=2).stderr
    assert told.startswith("crfkit: ")


def test_one_is_not_many(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("the D\ndog N\n")
    done = run("train", tmp_path / "one.txt", "-o", tmp_path / "m.crf", "--jobs", 1)
    assert "1 sequence, 2 positions, 2 labels" in done.stderr
    told = run("explain", tmp_path / "m.crf", tmp_path / "one.txt", "--sequence", 2, status=2).stderr
    assert "has 1 sequence; there is no sequence 2" in told
    told = run("cv", tmp_path / "one.txt", status=2).stderr
    assert "has only 1 sequence; give" in told
