"""Disks that fail at any write of a command: one line that names the file, and what there is is kept."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from crfkit.data import sink
from crfkit.models import SequenceModel
from tests.cases.cli import folder, run

__all__ = ["folder"]

pytestmark = pytest.mark.filterwarnings("always")  # as on the command line

LEARN = ("-a", "lbfgs", "--max-iterations", 2, "-q", "--jobs", 1)


class Faults:
    """Writes of files that fail: the n-th, or all from the n-th on."""

    def __init__(self, n: int) -> None:
        self.n, self.count = n, 0

    @property
    def met(self) -> bool:
        return self.count >= self.n


@pytest.fixture
def on_disk(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Faults]:
    """Return a function that lets writes fail."""
    honest = sink._pour

    def fail(n: int, *, lasting: bool = False, kind: int = errno.ENOSPC) -> Faults:
        made = Faults(n)

        def pour(file: Any, pieces: Any) -> None:
            made.count += 1
            if made.count == n or (lasting and made.count > n):
                file.write(next(iter(pieces)))  # a part of it fits
                raise OSError(kind, os.strerror(kind))
            honest(file, pieces)

        monkeypatch.setattr(sink, "_pour", pour)
        monkeypatch.setattr(os, "fsync", lambda handle: None)
        return made

    return fail


def one_line(done: Any, path: str, kind: int) -> str:
    """Check that a command has failed as it should; return what it says."""
    lines: list[str] = [line for line in done.stderr.splitlines() if not line.startswith("crfkit: warning")]
    assert len(lines) == 1, done.stderr
    assert path in lines[0]
    assert os.strerror(kind) in lines[0]
    assert ";" in lines[0]  # a remedy
    return lines[0]


@pytest.mark.parametrize(
    ("kind", "lasting"),
    [
        (errno.ENOSPC, False),
        (errno.ENOSPC, True),
        (errno.EDQUOT, False),
        (errno.EFBIG, False),
        (errno.EIO, True),
    ],
)
def test_a_fault_at_every_write_of_training(
    folder: Path, tmp_path: Path, on_disk: Callable[..., Faults], kind: int, lasting: bool
) -> None:
    output, made = tmp_path / "m.crf", []
    command = ("train", folder / "train.txt", "-o", output, *LEARN, "--block-positions", 60)
    for n in range(1, 100):
        output.write_bytes(b"old")
        faults = on_disk(n, lasting=lasting, kind=kind)
        place = tmp_path / f"run{n}"
        done = _invoke(*command, "--checkpoint", place, "--set", "checkpoint.seconds=0")
        assert "Traceback" not in done.output
        assert not [p for p in tmp_path.iterdir() if p.name.startswith((".", "crfkit-"))], "left behind"
        if done.exit_code:
            assert done.exit_code == 1, done.output
            assert output.read_bytes() == b"old"
            made.append("model" if "m.crf: the model is not saved" in done.stderr else "blocks")
            said = one_line(done, "m.crf" if made[-1] == "model" else "block", kind)
            if made[-1] == "model":
                kept = (place / "checkpoint.safetensors").exists()
                assert ("run the same command again" if kept else "the training is lost") in said
        else:
            made.append("checkpoint" if faults.met else "none")
            assert SequenceModel.load(output).w.any()
        if not faults.met:
            break
    assert made[-1] == "none"
    assert {*made} == {"blocks", "model", "none"} | ({"checkpoint"} if not lasting else set())


def _invoke(*arguments: object) -> Any:
    from typer.testing import CliRunner

    from crfkit.cli import app

    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.mark.parametrize("command", ["train", "tag", "convert"])
def test_a_fault_at_every_write_of_other_commands(
    folder: Path, tmp_path: Path, on_disk: Callable[..., Faults], command: str
) -> None:
    output = tmp_path / "out"
    arguments: dict[str, tuple[object, ...]] = {
        "train": (folder / "train.txt", "-o", output, "--induce", "--set", "induction.rounds=1", "-q"),
        "tag": (folder / "m.crf", folder / "test.txt", "-o", output),
        "convert": (folder / "m.crf", output, "--to", "crfsuite"),
    }
    for n in range(1, 20):
        faults = on_disk(n)
        done = _invoke(command, *arguments[command])
        if not faults.met:
            break
        assert done.exit_code == 1, done.output
        one_line(done, str(tmp_path), errno.ENOSPC)
    assert n > 1


def test_a_disk_without_room_for_what_blocks_need(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("train", folder / "train.txt", *LEARN, "--block-positions", 60, "-o")
    run(*command, tmp_path / "whole.crf")
    honest, count = os.pwrite, [0]

    def write(handle: int, data: Any, at: int) -> int:
        count[0] += len(data) > 1000
        if count[0] > 5:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return honest(handle, data[:700], at)  # writes may be short

    monkeypatch.setattr(os, "pwrite", write)
    done = run(*command, tmp_path / "parts.crf")
    assert count[0] > 5
    assert "cannot be kept in" in done.output
    assert "No space left on device" in done.output
    assert (
        SequenceModel.load(tmp_path / "parts.crf").w == SequenceModel.load(tmp_path / "whole.crf").w
    ).all()


@pytest.mark.parametrize(("limit", "option"), [(200, "--block-positions=60"), (3000, "--checkpoint=run")])
def test_a_limit_of_file_sizes(folder: Path, tmp_path: Path, limit: int, option: str) -> None:
    code = (
        f"import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}));"
        "from crfkit.cli import main; sys.argv[0] = 'crfkit'; main()"
    )
    command = ["train", str(folder / "train.txt"), "-o", "m.crf", *map(str, LEARN), option]
    done = subprocess.run(
        [sys.executable, "-c", code, *command], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    said = done.stderr.splitlines()[-1]
    assert "File too large; " in said
    assert "m.crf" in said or "block-000000" in said
    assert [p for p in os.listdir(tmp_path) if p != "run"] == []
