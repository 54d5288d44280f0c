"""Files are written whole, under any name, with the rights that they should have at every moment."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from crfkit.data.sink import write_bytes


@pytest.fixture
def mask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode_of(path: str | Path) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


def watched(folder: Path, seen: list[int]) -> Iterator[bytes]:
    """Yield pieces, and note the rights of the temporary file meanwhile."""
    for _ in range(3):
        yield b"x" * 100_000
        seen += [mode_of(path) for path in folder.iterdir() if path.name.endswith(".crfkit-tmp")]


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o027, 0o077, 0o177, 0o777], indirect=True)
def test_a_new_file_has_the_rights_that_the_mask_leaves(tmp_path: Path, mask: int) -> None:
    seen: list[int] = []
    write_bytes(tmp_path / "new", watched(tmp_path, seen))
    assert mode_of(tmp_path / "new") == 0o666 & ~mask
    assert set(seen) == {0o666 & ~mask}


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077], indirect=True)
@pytest.mark.parametrize("rights", [0o600, 0o640, 0o644, 0o666, 0o400, 0o4755])
def test_a_replaced_file_keeps_its_rights_and_nobody_gets_more_meanwhile(
    tmp_path: Path, mask: int, rights: int
) -> None:
    path = tmp_path / "secret"
    path.write_bytes(b"old")
    path.chmod(rights)
    seen: list[int] = []
    write_bytes(path, watched(tmp_path, seen))
    assert mode_of(path) == rights & 0o777
    assert seen
    assert all(mode & ~(rights | 0o600) == 0 for mode in seen)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_another_group_does_not_get_the_rights_of_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "shared"
    path.write_bytes(b"old")
    os.chown(path, 4711, 4712)
    path.chmod(0o664)
    write_bytes(path, [b"new"])
    assert (path.stat().st_uid, path.stat().st_gid, mode_of(path)) == (4711, 4712, 0o664)

    def refused(*_: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "fchown", refused)
    write_bytes(path, [b"newer"])
    assert mode_of(path) == 0o644


def test_the_mask_of_the_process_is_never_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def touched(mask: int) -> int:
        raise AssertionError("another thread creates a file at this moment")

    monkeypatch.setattr(os, "umask", touched)
    for _ in range(2):
        write_bytes(tmp_path / "x", [b"y"])
    assert (tmp_path / "x").read_bytes() == b"y"


NAMES = {
    "80 letters of three bytes": "模" * 80 + ".crf",
    "255 bytes": "m" * 255,
    "255 bytes of three": "模" * 85,
    "255 bytes of four, shifted": "abc" + "𝕞" * 63,
    "bytes that are not letters": os.fsdecode(b"\xff\xfe" * 100 + b".crf"),
    "a cut would fall into a letter": "m" * 79 + "模" * 50,
    "like a pattern": "[a-z]*?{x}" * 20,
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_every_name_that_a_folder_can_hold_is_written_and_swept(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    left: list[bytes] = []
    try:
        path.write_bytes(b"")
    except OSError:
        pytest.skip("this file system has no such names")

    def died() -> Iterator[bytes]:
        yield b"half"
        left.extend(p for p in os.listdir(os.fsencode(tmp_path)) if p.endswith(b".crfkit-tmp"))

    write_bytes(path, died())
    assert len(left) == 1
    (tmp_path / os.fsdecode(left[0])).write_bytes(b"of a process that was killed")
    write_bytes(path, [b"whole"])
    assert os.listdir(tmp_path) == [name]
    assert path.read_bytes() == b"whole"


def test_the_sweep_leaves_what_others_write_and_what_is_no_file(tmp_path: Path) -> None:
    victim, link = tmp_path / "victim", tmp_path / ".x.aaaaaaaa.crfkit-tmp"
    victim.write_bytes(b"mine")
    link.symlink_to(victim)
    os.mkfifo(tmp_path / ".x.bbbbbbbb.crfkit-tmp")
    (tmp_path / ".x.cccccccc.crfkit-tmp").mkdir()
    busy = tmp_path / ".x.dddddddd.crfkit-tmp"
    with open(busy, "wb") as writer:
        fcntl.flock(writer, fcntl.LOCK_EX)
        write_bytes(tmp_path / "x", [b"y"])
        assert busy.exists()
    write_bytes(tmp_path / "x", [b"y"])
    assert not busy.exists()
    assert link.is_symlink()
    assert victim.read_bytes() == b"mine"


def test_places_that_are_no_plain_files(tmp_path: Path) -> None:
    dangling, loop = tmp_path / "dangling", tmp_path / "loop"
    dangling.symlink_to("target")
    write_bytes(dangling, [b"y"])
    assert dangling.is_symlink()
    assert (tmp_path / "target").read_bytes() == b"y"
    loop.symlink_to("loop")
    with pytest.raises(OSError, match=r"symbolic links: '.*loop'"):
        write_bytes(loop, [b"y"])
    lost = tmp_path / "lost"
    lost.symlink_to("nowhere/at/all")
    with pytest.raises(FileNotFoundError) as caught:
        write_bytes(lost, [b"y"])
    assert caught.value.filename == str(lost)
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_bytes(tmp_path / "pipe", [b"through"])
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    write_bytes("/dev/null", [b"y"])
    assert stat.S_ISFIFO(os.stat(tmp_path / "pipe").st_mode)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_full_device_is_named() -> None:
    with pytest.raises(OSError, match=r"No space left on device: '/dev/full'"):
        write_bytes("/dev/full", [b"x" * 1_000_000])


@pytest.mark.parametrize("kind", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO])
@pytest.mark.parametrize("call", ["open", "fsync", "replace", "fchmod"])
def test_a_disk_that_fails_is_named_and_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, kind: int
) -> None:
    path = tmp_path / "model.crf"
    path.write_bytes(b"old")

    def failing(*_: object, **__: object) -> None:
        raise OSError(kind, os.strerror(kind))

    monkeypatch.setattr(os, call, failing)
    with pytest.raises(OSError, match="model") as caught:
        write_bytes(path, [b"new"])
    monkeypatch.undo()
    assert (caught.value.errno, caught.value.filename) == (kind, str(path))
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["model.crf"]


@pytest.mark.parametrize("kind", [errno.ENOLCK, errno.ENOTSUP, errno.EINVAL])
def test_file_systems_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: int) -> None:
    def failing(*_: object) -> None:
        raise OSError(kind, os.strerror(kind))

    monkeypatch.setattr(fcntl, "flock", failing)
    left = tmp_path / ".x.aaaaaaaa.crfkit-tmp"
    left.write_bytes(b"who knows whose")
    write_bytes(tmp_path / "x", [b"y"])
    assert left.exists()
    assert (tmp_path / "x").read_bytes() == b"y"


def test_a_folder_that_cannot_be_flushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest, flush = os.open, os.fsync

    def unreadable(path: str, flags: int, *rest: int, **more: int) -> int:
        if flags & os.O_DIRECTORY:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return honest(path, flags, *rest, **more)

    def unable(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        flush(handle)

    for call, fails in (("open", unreadable), ("fsync", unable)):
        monkeypatch.setattr(os, call, fails)
        write_bytes(tmp_path / "x", [call.encode()])
        monkeypatch.undo()
        assert (tmp_path / "x").read_bytes() == call.encode()
