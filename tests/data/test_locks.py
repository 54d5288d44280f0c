"""Locks say who is alive: they go with their process, not with its children, and their files may stay."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from crfkit.data.locks import LOCK, locked_folder, take_lock

HOLDER = """
import os, sys
from pathlib import Path
from crfkit.data.locks import locked_folder
with locked_folder(Path(sys.argv[1]), "wait"):
    if sys.argv[2:] and not os.fork():  # a child that lives on
        sys.stdin.readline()
        os._exit(0)
    print("held", flush=True)
    sys.stdin.readline()
"""


def holder(folder: Path, *more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", HOLDER, str(folder), *more]
    made = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert made.stdout is not None
    assert made.stdout.readline() == "held\n"
    return made


def test_the_second_is_told_who_holds_a_folder_until_that_one_is_killed(tmp_path: Path) -> None:
    other = holder(tmp_path, "forks")
    said = rf"is in use by process {other.pid} on {re.escape(socket.gethostname())} since \d{{4}}-.* UTC "
    with pytest.raises(ValueError, match=said + r"\(.*\); wait$"), locked_folder(tmp_path, "wait"):
        raise AssertionError("it has been entered")
    other.send_signal(signal.SIGKILL)
    other.wait()
    assert (tmp_path / LOCK).exists()  # and means nothing, although a child of the killed one lives on
    for last in (*[False] * 100, True):  # the child lets go of its copy as soon as it runs
        try:
            with locked_folder(tmp_path, "wait"):
                assert str(os.getpid()) in (tmp_path / LOCK).read_text()
            break
        except ValueError:
            if last:
                raise
            time.sleep(0.1)
    assert not (tmp_path / LOCK).exists()
    assert other.stdin is not None
    assert other.stdout is not None
    other.stdin.close()
    other.stdout.close()


def test_threads_and_descriptors_of_one_process_exclude_each_other(tmp_path: Path) -> None:
    with (
        locked_folder(tmp_path, "wait"),
        pytest.raises(ValueError, match=f"process {os.getpid()} "),
        locked_folder(tmp_path, "wait"),
    ):
        pass


def test_a_forked_child_neither_has_nor_removes_the_lock(tmp_path: Path) -> None:
    held = take_lock(str(tmp_path / "lock"))
    assert held is not None
    child = os.fork()
    if not child:
        fine = not held.held
        held.release()
        os._exit(0 if fine else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert (tmp_path / "lock").exists()
    assert take_lock(str(tmp_path / "lock")) is None
    held.release()


@pytest.mark.parametrize(
    "note", [b"", b"{", b"[1]", b'{"pid": 1}', b"\xff" * 9000, b"[" * 4000, b'{"pid":"\\u001b[2J\\n"}']
)
def test_a_note_that_says_nothing(tmp_path: Path, note: bytes) -> None:
    with open(tmp_path / LOCK, "wb") as file:
        file.write(note)
        file.flush()
        fcntl.flock(file, fcntl.LOCK_EX)
        with (
            pytest.raises(ValueError, match="in use by another process; wait"),
            locked_folder(tmp_path, "wait"),
        ):
            pass


def test_a_note_cannot_write_to_the_terminal(tmp_path: Path) -> None:
    with open(tmp_path / LOCK, "w") as file:
        file.write('{"pid": "\\u001b[2J", "host": "a\\nb", "since": [], "command": "' + "x" * 3000 + '"}')
        file.flush()
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(ValueError, match="in use") as caught, locked_folder(tmp_path, "wait"):
            pass
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 700


def test_folders_in_which_no_lock_can_be_made_are_used_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object, **__: object) -> int:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    for module, call in ((os, "open"), (fcntl, "flock")):
        monkeypatch.setattr(module, call, failing)
        with locked_folder(tmp_path, "wait"):
            pass
        monkeypatch.undo()
    for made in ("symlink_to", "fifo", "mkdir"):
        if made == "fifo":
            os.mkfifo(tmp_path / LOCK)
        else:
            getattr(tmp_path / LOCK, made)(*["elsewhere"][: made == "symlink_to"])
        with locked_folder(tmp_path, "wait"):
            pass
        assert [p.name for p in tmp_path.iterdir()] == [LOCK]
        (tmp_path / LOCK).rmdir() if made == "mkdir" else (tmp_path / LOCK).unlink()
