"""Inputs without an end, or that are not files: commands say so in one line, soon and in little memory."""

from __future__ import annotations

import os
import resource
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from crfkit import read
from crfkit.data import source
from crfkit.features.dialects import read_recipe
from crfkit.features.dictionary import Dictionary
from crfkit.structures.graphs.files import load as load_graph
from tests.cases.cli import run

pytestmark = pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no /dev/zero")

TEXT = b"a X\nb Y\n\nb Y\na X\n\n"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("endless")
    (folder / "train.txt").write_bytes(TEXT)
    run("train", folder / "train.txt", "-o", folder / "m.crf", "--quiet")
    return str(folder / "m.crf")


@pytest.fixture(autouse=True)
def little_memory() -> Iterator[None]:
    """A test that reads without end is ended by the system, not by the machine's last byte."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    with suppress(ValueError, OSError):  # where address space has no limit
        resource.setrlimit(resource.RLIMIT_AS, (8 << 30, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom"])
@pytest.mark.parametrize(
    "command",
    [
        "tag MODEL DEVICE",
        "tag MODEL DEVICE --format columns",
        "evaluate MODEL DEVICE",
        "explain MODEL DEVICE",
        "rank MODEL DEVICE",
        "calibrate MODEL DEVICE -o OUT",
        "train DEVICE -o OUT",
        "train DATA -o OUT --features DEVICE",
        "train DATA -o OUT --dictionary c=DEVICE",
        "train DATA -o OUT --structure graph --graph DEVICE",
        "train DATA -o OUT --dev DEVICE",
        "train DEVICE -o OUT --format csv",
        "features DATA --features DEVICE",
        "tag DEVICE DATA",
        "show DEVICE",
        "convert DEVICE OUT",
        "infer DEVICE",
        "infer DEVICE --format uai",
        "infer DEVICE --format fg",
        "infer GRAPH --evidence DEVICE",
    ],
)
def test_devices_are_refused(command: str, device: str, model: str, tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_bytes(TEXT)
    (tmp_path / "g.uai").write_bytes(b"MARKOV 1 2 1 1 0 2 1 1")
    for name, place in {
        "DEVICE": device,
        "MODEL": model,
        "DATA": str(tmp_path / "data.txt"),
        "GRAPH": str(tmp_path / "g.uai"),
        "OUT": str(tmp_path / "out.crf"),
    }.items():
        command = command.replace(name, place)
    said = run(*command.split(), status=2).stderr.splitlines()
    assert device in said[-1]
    assert "memory" not in said[-1]
    assert not (tmp_path / "out.crf").exists()


@pytest.fixture
def endless(tmp_path: Path) -> Iterator[Callable[[bytes, bytes], Path]]:
    """Makes pipes that begin with some bytes and repeat others for as long as anybody reads."""
    writers: list[threading.Thread] = []

    def made(first: bytes, again: bytes) -> Path:
        path = tmp_path / f"pipe{len(writers)}"
        os.mkfifo(path)

        def write() -> None:
            with suppress(BrokenPipeError), open(path, "wb", buffering=0) as file:
                file.write(first)
                while True:
                    file.write(again)

        writers.append(threading.Thread(target=write))
        writers[-1].start()
        return path

    yield made
    for writer in writers:
        writer.join()


@pytest.mark.parametrize(
    ("use", "first", "again"),
    [
        (lambda path: read(path, "csv"), b"a,b\n", b"1,2\n" * 1000),
        (lambda path: load_graph(path, format="uai"), b"MARKOV ", b"1 " * 1000),
        (lambda path: load_graph(path, format="fg"), b"", b"# comment\n" * 1000),
        (lambda path: load_graph(path, format="opengm"), b"\x89HDF\r\n\x1a\n", b"\0" * 1000),
        (read_recipe, b"", b"word[0]\n" * 1000),
        (lambda path: read(path, "columns"), b"", b"x" * 1000),
        (Dictionary.read, b"", b"x" * 1000),
    ],
    ids=["csv", "uai", "fg", "opengm", "recipe", "a line", "an entry"],
)
def test_pipes_without_end_are_refused(
    use: Callable[[Path], object],
    first: bytes,
    again: bytes,
    endless: Callable[[bytes, bytes], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(source, "MOST_PIPED", 1 << 20)
    monkeypatch.setattr(source, "LONGEST_LINE", 1 << 20)
    with pytest.raises(ValueError, match="pipe0"):
        use(endless(first, again))


def test_blank_lines_without_end_are_not_kept(
    endless: Callable[[bytes, bytes], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "LONGEST_LINE", 1 << 20)
    with source.open_input(endless(b"", b"\n" * 1000)) as opened:
        assert len(opened.peek_line()) < 2 << 20
