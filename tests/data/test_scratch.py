"""Folders for a while: removed in the end, or by the next process; never one in use, or of somebody else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from crfkit.data.scratch import scratch_folder

MAKER = """
import sys
from crfkit.data.scratch import scratch_folder
with scratch_folder("blocks-", sys.argv[1]) as folder:
    (folder / "large").write_bytes(bytes(1000))
    (folder / "crfkit.lock").write_bytes(b"")
    print(folder, flush=True)
    sys.stdin.readline()
"""


def test_the_next_process_removes_what_a_killed_one_left_and_nothing_that_is_used(tmp_path: Path) -> None:
    made = [
        subprocess.Popen(
            [sys.executable, "-c", MAKER, str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    folders = [Path(one.stdout.readline().strip()) for one in made if one.stdout is not None]
    made[0].send_signal(signal.SIGKILL)
    made[0].wait()
    assert all(folder.is_dir() for folder in folders)
    with scratch_folder("blocks-", str(tmp_path)) as mine:
        assert sorted(tmp_path.iterdir()) == sorted([folders[1], mine])
        assert (folders[1] / "large").exists()
    made[1].communicate("\n", timeout=60)
    assert list(tmp_path.iterdir()) == []
    for one in made:
        for file in (one.stdin, one.stdout):
            assert file is not None
            file.close()


def test_what_is_not_a_folder_of_ours_stays(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / ".crfkit-scratch").write_bytes(b"")
    (precious / "work").write_bytes(b"years")
    (tmp_path / "blocks-link").symlink_to(precious)
    (tmp_path / "blocks-file").write_bytes(b"x")
    (tmp_path / "blocks-mine").mkdir()
    (tmp_path / "blocks-mine" / "thesis").write_bytes(b"without a lock it is not ours")
    (tmp_path / "blocks-odd").mkdir()
    (tmp_path / "blocks-odd" / ".crfkit-scratch").symlink_to(precious / "work")
    (tmp_path / "blocks-pipe").mkdir()
    os.mkfifo(tmp_path / "blocks-pipe" / ".crfkit-scratch")
    (tmp_path / "blocks-empty").mkdir()  # killed before it could lock
    before = {path for path in tmp_path.rglob("*") if path.name != "blocks-empty"}
    with scratch_folder("blocks-", str(tmp_path)):
        pass
    assert {*tmp_path.rglob("*")} == before
    assert (precious / "work").read_bytes() == b"years"


def test_links_inside_are_removed_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_bytes(b"years")
    left = tmp_path / "blocks-left"
    left.mkdir()
    (left / ".crfkit-scratch").write_bytes(b"")
    (left / "link").symlink_to(tmp_path / "precious")
    with scratch_folder("blocks-", str(tmp_path)):
        assert not left.exists()
    assert (tmp_path / "precious").read_bytes() == b"years"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_folder_of_somebody_else_stays(tmp_path: Path) -> None:
    theirs = tmp_path / "blocks-theirs"
    theirs.mkdir()
    (theirs / ".crfkit-scratch").write_bytes(b"")
    os.chown(theirs, 4711, 4711)
    with scratch_folder("blocks-", str(tmp_path)):
        pass
    assert (theirs / ".crfkit-scratch").exists()


def test_a_child_that_leaves_the_block_does_not_remove_the_folder(tmp_path: Path) -> None:
    with scratch_folder("blocks-", str(tmp_path)) as folder:
        child = os.fork()
        if child:
            assert os.waitpid(child, 0)[1] == 0
            assert folder.is_dir()
    if not child:
        os._exit(0)
    assert not folder.exists()
