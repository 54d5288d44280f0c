"""Whatever a path names in place of a file, at any place of any command: one line and a status, no hang."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest

from crfkit.cli.commands import COMMANDS
from crfkit.data import opening
from tests.cases.cli import run, written

#: Every place of every command at which a file is read; PLACE stands for what is no file.
PLACES = [
    *(
        "train PLACE -o OUT",
        "train DATA PLACE -o OUT",
        "train DATA -o OUT -t PLACE",
        "train DATA -o OUT -d PLACE",
    ),
    *("train DATA -o OUT --init PLACE", "train DATA -o OUT --unlabeled PLACE --objective entropy"),
    *("train DATA -o OUT --dictionary c=PLACE", "train DATA -o OUT --structure graph --graph PLACE"),
    *("train PLACE -o OUT --block-positions 9", "train DATA -o OUT --checkpoint PLACE/"),
    *("forecast PLACE", "forecast DATA -t PLACE", "forecast DATA --dictionary c=PLACE"),
    *(
        "train --induce PLACE -o OUT",
        "train --induce DATA -o OUT -t PLACE",
        "train --induce DATA -o OUT -d PLACE",
    ),
    *(
        "train --induce DATA -o OUT --dictionary c=PLACE",
        "cv PLACE",
        "cv DATA -t PLACE",
        "cv DATA --dictionary c=PLACE",
    ),
    *("tag PLACE DATA", "tag MODEL PLACE", "tag MODEL PLACE -f columns", "evaluate MODEL PLACE -f csv"),
    *(
        "evaluate PLACE DATA",
        "evaluate MODEL PLACE",
        "evaluate MODEL DATA --against PLACE",
        "evaluate --predicted PLACE",
    ),
    *(
        "evaluate --predicted DATA --predicted PLACE",
        "show PLACE",
        "explain PLACE DATA",
        "explain MODEL PLACE",
    ),
    "convert-data PLACE OUT",
    *("rank PLACE DATA", "rank MODEL PLACE", "infer PLACE", "infer PLACE -f uai", "infer PLACE -f opengm"),
    *("infer GRAPH --evidence PLACE", "calibrate PLACE DATA -o OUT", "calibrate MODEL PLACE -o OUT"),
    *("calibrate MODEL DATA -o OUT --test PLACE", "features PLACE -t word[0]", "features DATA -t PLACE"),
    *(
        "features DATA -t word[0] --dictionary c=PLACE",
        "convert PLACE OUT",
        "convert PLACE OUT --from wapiti",
    ),
    *("check PLACE", "check DATA PLACE"),
    *("reproduce pos --data PLACE -o OUT", "card PLACE", "card MODEL PLACE"),
    *("serve PLACE --port 0", "serve MODEL --port 0 --token-file PLACE", "inspect PLACE --port 0"),
    *("inspect MODEL PLACE --port 0", "inspect MODEL --data PLACE --port 0"),
    *("inspect MODEL --pool PLACE --port 0", "inspect MODEL --pool PLACE --port 0 -f columns"),
]
KINDS = ("pipe", "folder", "socket", "/dev/zero")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("no")
    (made / "data.txt").write_text(written(12))
    (made / "g.uai").write_bytes(b"MARKOV 1 2 1 1 0 2 1 1")
    run("train", made / "data.txt", "-o", made / "m.crf", "-q", "--max-iterations", 3)
    return made


@pytest.fixture
def strange(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a pipe that nobody writes to, a folder and a socket."""
    monkeypatch.setattr(opening, "LONGEST_WAIT", 0.2)
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    os.mkdir("folder")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("socket")
        yield tmp_path


@pytest.fixture(autouse=True)
def no_hang() -> Iterator[None]:
    def late(number: int, frame: FrameType | None) -> None:
        raise TimeoutError("the command hangs")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(120)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def test_every_command_that_reads_files_has_its_places_here() -> None:
    assert {line.split()[0] for line in PLACES} == set(COMMANDS) - {"demo", "new"}


@pytest.mark.parametrize("command", PLACES)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_file_is_refused_in_one_line(kind: str, command: str, folder: Path, strange: Path) -> None:
    os.mkfifo("folder/checkpoint.safetensors")
    names = {"DATA": folder / "data.txt", "MODEL": folder / "m.crf", "GRAPH": folder / "g.uai", "OUT": "out"}
    done = run(*(str(names.get(word, word)).replace("PLACE", kind) for word in command.split()), status=None)
    said = done.stderr.splitlines()
    assert done.exit_code in (1, 2), done.output
    assert "Traceback" not in done.output
    assert [kind in line for line in said if line.startswith("crfkit: ")] == [True], said
    assert not os.path.isfile("out")


# ---- models through pipes

GRAPH = "columns word pos chunk\nkind chunk\nfeatures word[0]\nclique chunk by features\n"


@pytest.fixture(scope="module")
def models(folder: Path) -> Path:
    """A folder with data, and models of sequences, of graphs and of another program."""
    (folder / "graph.txt").write_text(GRAPH)
    form = ["--structure", "graph", "--graph", folder / "graph.txt"]
    run("train", folder / "data.txt", "-o", folder / "g.crf", "-q", "--max-iterations", 3, *form)
    run("convert", folder / "m.crf", folder / "s.crf.gz", "-q")
    return folder


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="there is no /dev/fd")
@pytest.mark.parametrize("model", ["m.crf", "g.crf", "s.crf.gz"])
@pytest.mark.parametrize("command", ["show", "tag", "evaluate", "explain"])
def test_a_model_may_come_through_a_pipe(command: str, model: str, models: Path) -> None:
    path, data = models / model, [] if command == "show" else [models / "data.txt"]
    expected = run(command, path, *data).stdout
    ours, theirs = os.pipe()

    def write() -> None:
        with open(theirs, "wb") as file:
            file.write(path.read_bytes())

    writer = threading.Thread(target=write)
    writer.start()
    found = run(command, f"/dev/fd/{ours}", *data).stdout
    writer.join()
    os.close(ours)
    assert found.replace(f"/dev/fd/{ours}", str(path)) == expected != ""


def test_the_shell_gives_models_by_pipes(models: Path) -> None:
    crfkit = f"{sys.executable} -m crfkit.cli"
    for line in (
        f"{crfkit} show -q <(cat m.crf)",
        f"cat m.crf | {crfkit} show -q /dev/stdin",
        f"{crfkit} show -q /dev/stdin < m.crf",
        f"{crfkit} convert <(cat m.crf) c.crfsuite -q && {crfkit} show -q c.crfsuite",
    ):
        done = subprocess.run(["bash", "-c", line], cwd=models, capture_output=True, text=True, timeout=100)
        assert (done.returncode, done.stderr) == (0, ""), line
        assert "chain" in done.stdout
