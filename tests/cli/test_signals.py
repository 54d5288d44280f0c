"""Signals at every moment of commands: one line, the status of the signal, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from crfkit.models import SequenceModel
from crfkit.training.runs.convergence import certify
from tests.cases.cli import folder, run

__all__ = ["folder"]

#: A command in which a signal comes when a module is imported, or when a file has got its first bytes.
RUN = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
number, module = int(sys.argv.pop(1)), sys.argv.pop(1)

class Press:
    def find_spec(self, name, path, target=None):
        if name == module:
            sys.meta_path.remove(self)
            exec("signal.raise_signal(number)")  # in a text, as that of dataclasses

if module == "writing":
    from crfkit.data import sink

    def part_of(file, pieces):
        for piece in pieces:
            file.write(piece)
            os.kill(os.getpid(), number)

    sink._pour = part_of
else:
    sys.meta_path.insert(0, Press())
from crfkit.cli import main
main()
"""
NUMBERS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


def pressed(number: int, where: str, *arguments: object) -> tuple[int, str]:
    """Return the status of a command in which a signal comes, and what it said."""
    with tempfile.TemporaryDirectory() as place:
        Path(place, "pressing.py").write_text(RUN)
        done = subprocess.run(
            [sys.executable, "-m", "pressing", str(int(number)), where, *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=60.0,
            cwd=place,
        )
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    "module", ["crfkit.cli.commands", "typer", "crfkit.cli.tag", "numpy", "crfkit.models.model"]
)
def test_ctrl_c_while_modules_are_imported(folder: Path, module: str) -> None:
    found = pressed(signal.SIGINT, module, "tag", folder / "m.crf", folder / "test.txt")
    assert found == (130, "crfkit: interrupted\n")


def test_the_first_import_of_a_command_is_short() -> None:
    code = (
        "import sys; before = set(sys.modules); import crfkit.cli; print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert {"crfkit", "crfkit.cli"} <= loaded
    assert not loaded & {"typing", "re", "typer", "numpy"}


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("what", ["tag", "convert", "calibrate"])
def test_a_signal_while_a_file_is_written(
    folder: Path, tmp_path: Path, what: str, number: signal.Signals
) -> None:
    out = tmp_path / "out.crf"
    given: list[object] = {
        "tag": ["tag", folder / "m.crf", folder / "test.txt", "-o", out],
        "convert": ["convert", folder / "m.crf", out],
        "calibrate": ["calibrate", folder / "m.crf", folder / "test.txt", "-o", out],
    }[what]
    why = "interrupted" if number == signal.SIGINT else f"ended by {number.name}"
    assert pressed(number, "writing", *given) == (128 + number, f"crfkit: {why}\n")
    assert not os.listdir(tmp_path)


def pressing(call: Callable[..., Any], number: int, time: int = 1) -> Callable[..., Any]:
    """Return a function that sends a signal when it is called for the nth time."""
    calls = 0

    def made(*given: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == time:
            signal.raise_signal(number)
        return call(*given, **named)

    return made


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_second_signal_may_come_while_the_model_is_saved(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr("crfkit.training.runs.loop.certify", pressing(certify, number, 2))
    monkeypatch.setattr(SequenceModel, "save", pressing(SequenceModel.save, number))
    arguments = ["train", folder / "train.txt", "-o", tmp_path / "m.crf", "-a", "lbfgs", "-q"]
    run(*arguments, status=128 + number)
    about = SequenceModel.load(tmp_path / "m.crf").training
    assert about is not None
    assert (about.iterations, about.end) == (2, "interrupted")


def test_a_run_in_the_background_saves_its_model(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shells let programs behind ``&`` ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        monkeypatch.setattr(SequenceModel, "save", pressing(SequenceModel.save, signal.SIGTERM))
        run("train", folder / "train.txt", "-o", tmp_path / "m.crf", "-a", "lbfgs", "-q", status=143)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    assert SequenceModel.load(tmp_path / "m.crf").w.any()
