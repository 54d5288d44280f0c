"""What a path may name beside a file: nothing hangs, and everything that is refused is named."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from crfkit.data import opening
from crfkit.data.opening import NotAFileError, open_file

DESCRIPTORS = pytest.mark.skipif(not Path("/dev/fd").exists(), reason="there is no /dev/fd")


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


@contextmanager
def written(path: Path, *pieces: bytes, before: float = 0.0, between: float = 0.0) -> Iterator[None]:
    """Somebody opens a pipe after a while, and writes pieces after another."""

    def write() -> None:
        time.sleep(before)
        with open(path, "wb", buffering=0) as file:
            for piece in pieces:
                time.sleep(between)
                file.write(piece)

    writer = threading.Thread(target=write)
    writer.start()
    yield
    writer.join()


def test_files_are_opened(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"abc")
    with open_file(tmp_path / "file") as file:
        assert file.read() == b"abc"
    assert file.closed
    with pytest.raises(FileNotFoundError):
        open_file(tmp_path / "nowhere")


@pytest.mark.parametrize("devices", [True, False])
@pytest.mark.parametrize("pipes", [True, False])
def test_folders_and_sockets_are_refused(pipes: bool, devices: bool, tmp_path: Path) -> None:
    with pytest.raises(NotAFileError, match=r"is a folder; give a file$"):
        open_file(tmp_path, pipes=pipes, devices=devices)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(tmp_path / "s"))
        with pytest.raises(NotAFileError, match=r"s is a socket; give a file$"):
            open_file(tmp_path / "s", pipes=pipes, devices=devices)


def test_devices_and_pipes_are_taken_on_request(pipe: Path) -> None:
    with pytest.raises(NotAFileError, match=r"/dev/null is a device; give a file$"):
        open_file("/dev/null", pipes=True)
    with open_file("/dev/null", devices=True) as file:
        assert file.read() == b""
    with pytest.raises(NotAFileError, match=r"pipe is a pipe; give a file$"):
        open_file(pipe, devices=True)


def test_all_that_is_written_to_a_pipe_is_read(pipe: Path) -> None:
    pieces = [os.urandom(n) for n in (1, 5000, 100_000)]
    with written(pipe, *pieces, before=0.05, between=0.02), open_file(pipe, pipes=True) as file:
        assert file.read() == b"".join(pieces)


def test_a_writer_may_take_its_time(pipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "LONGEST_WAIT", 0.1)
    with written(pipe, b"late", between=0.4), open_file(pipe, pipes=True) as file:
        assert file.read() == b"late"


def test_a_pipe_that_nobody_writes_to_is_refused(pipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "LONGEST_WAIT", 0.1)
    with pytest.raises(NotAFileError, match=r"pipe is a pipe that nobody writes to, .*; start its writer"):
        open_file(pipe, pipes=True)


@DESCRIPTORS
@pytest.mark.parametrize("data", [b"", b"abc"])
def test_pipes_of_the_shell_are_read_at_once(data: bytes) -> None:
    """As in ``crfkit show <(cat m.crf)``, where the writer may be gone already."""
    ours, theirs = os.pipe()
    os.write(theirs, data)
    os.close(theirs)
    begun = time.monotonic()
    with open_file(f"/dev/fd/{ours}", pipes=True) as file:
        assert file.read() == data
    assert time.monotonic() - begun < opening.LONGEST_WAIT / 2
    os.close(ours)


def test_nothing_stays_open(pipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "LONGEST_WAIT", 0.0)
    before = os.open(os.devnull, os.O_RDONLY)
    os.close(before)
    for path in (pipe, tmp_path, Path("/dev/null")):
        with pytest.raises(NotAFileError):
            open_file(path, pipes=True)
    after = os.open(os.devnull, os.O_RDONLY)
    os.close(after)
    assert after == before
