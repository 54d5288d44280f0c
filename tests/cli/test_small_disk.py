"""All files of a training on a disk that is really full: one line, and the model before stays whole."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cases.cli import written

GRAPH = "columns word pos chunk\nkind pos\nfeatures word[0]\nclique pos by features\nclique pos[-1] pos\n"
MOUNT = ("unshare", "-m", "mount", "-t", "tmpfs", "tmpfs")
TRAINING = (
    "train",
    "train.txt",
    "-o",
    "disk/m.crf",
    "-a",
    "lbfgs",
    "--max-iterations",
    "2",
    "--jobs",
    "1",
    "-q",
)
KEPT = (*TRAINING, "--checkpoint", "disk/run", "--set", "checkpoint.seconds=0")
STRUCTURES: dict[str, tuple[str, ...]] = {
    "blocks": ("--block-positions", "200"),
    "graph": ("--structure", "graph", "--graph", "graph.txt"),
}
PROGRAM = """
import json, os, subprocess, sys
from typer.testing import CliRunner
from crfkit.cli import app
for size in json.loads(sys.argv[1]):
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", "disk"], check=True)
    with open("disk/m.crf", "w") as file:
        file.write("old")
    done = CliRunner().invoke(app, sys.argv[2:])
    with open("disk/m.crf", "rb") as file:
        kept = file.read() == b"old"
    print(json.dumps([done.exit_code, done.stderr, kept, sorted(os.listdir("disk"))]), flush=True)
    subprocess.run(["umount", "disk"], check=True)
"""


def may_mount(folder: Path) -> bool:
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*MOUNT, folder], stderr=subprocess.DEVNULL, check=False).returncode == 0


@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_disk_of_every_size(tmp_path: Path, structure: str) -> None:
    if not may_mount(tmp_path):
        pytest.skip("no file system can be mounted here")
    (tmp_path / "disk").mkdir()
    (tmp_path / "train.txt").write_text(written(60))
    (tmp_path / "graph.txt").write_text(GRAPH)
    sizes = [4096 * n for n in (1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32)] + [2 << 20]
    program = [
        "unshare",
        "-m",
        sys.executable,
        "-c",
        PROGRAM,
        json.dumps(sizes),
        *KEPT,
        *STRUCTURES[structure],
    ]
    done = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, check=True)
    found: list[Any] = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == len(sizes)
    for status, said, kept, left in found:
        lines = [line for line in said.splitlines() if not line.startswith("crfkit: warning")]
        assert "Traceback" not in said
        assert set(left) <= {"m.crf", "run"}
        assert kept == (status != 0)
        assert len(lines) == (status != 0), said
        assert not status or "No space left on device; make room" in lines[0]
    assert {status for status, *_ in found} == {0, 1}
    assert found[-1][0] == 0
