"""Faults of the machine under commands: full disks, no threads, Ctrl-C, closed and broken pipes.

A command does its work or says in one line why not; it never ends by a signal or in a traceback, and a file
that it was to replace is the old or the new one.
"""

from __future__ import annotations

import json
import os
import random
import resource
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from crfkit import load
from tests.harden.answers import command as here
from tests.harden.case import FailureError, Input, Outcome, SkippedError
from tests.harden.processes import Ended, command, ended, start, write_data

QUICK = ["--quiet", "--jobs", "1", "--max-iterations", "5"]


class Commands:
    """Trials of commands that are drawn with what happens to them; a folder has data and a model."""

    def __init__(self, folder: Path, lines: int = 150) -> None:
        self.folder = folder
        self.data, self.model = folder / "data.txt", folder / "model.crf"
        write_data(self.data, lines)
        here("train", self.data, "-o", self.model, *QUICK)

    def make(self, i: int, chance: random.Random) -> Input:
        drawn = self.draw(chance)
        return Input(", ".join(map(str, drawn)), json.dumps(drawn).encode())

    def judge(self, data: bytes) -> Outcome:
        done = self.happen(json.loads(data))
        return Outcome.REFUSED if done.status else Outcome.ACCEPTED

    def draw(self, chance: random.Random) -> list[Any]:
        raise NotImplementedError

    def happen(self, drawn: list[Any]) -> Ended:
        raise NotImplementedError


class Disks(Commands):
    """Disks that are full after some bytes: by a limit of the process, or a small file system in memory."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.ways = ["limit", "tmpfs"] if _may_mount(folder) else ["limit"]

    def draw(self, chance: random.Random) -> list[Any]:
        what = chance.choice(["train", "checkpoint", "blocks", "tag", "convert"])
        room = int(2 ** chance.uniform(0, 20)) if chance.random() < 0.9 else 0
        return [what, room, chance.choice(self.ways)]

    def happen(self, drawn: list[Any]) -> Ended:
        what, room, way = drawn
        place = self.folder / "place"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        out = place / "out.crf"
        training = ["train", self.data, "-o", out, *QUICK]
        arguments: list[object] = {
            "train": training,
            "checkpoint": [*training, "--checkpoint", place / "run", "--set", "checkpoint.seconds=0"],
            "blocks": [*training, "--block-positions", "200"],
            "tag": ["tag", self.model, self.data, "-o", out],
            "convert": ["convert", self.model, out],
        }[what]
        if way == "tmpfs":
            child = _in_small(place, room, command(*arguments))
        else:
            limit = (room, resource.RLIM_INFINITY)
            child = start(
                *command(*arguments),
                before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit),
                TMPDIR=str(place),
                PYTHONDONTWRITEBYTECODE="1",
            )
        done = ended(child).plainly(1, 2)
        if way == "limit" and what != "tag" and out.exists():
            load(out)
        return done


def _may_mount(folder: Path) -> bool:
    if not shutil.which("unshare"):
        return False
    tried = ["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", str(folder)]
    return subprocess.run(tried, stderr=subprocess.DEVNULL, check=False).returncode == 0


def _in_small(place: Path, room: int, arguments: list[object]) -> subprocess.Popen[bytes]:
    """Start Python where a folder is a file system of so many bytes, that no other process sees."""
    size = f"mount -t tmpfs -o size={max(room, 4096)} tmpfs '{place}'"
    program = [
        "unshare",
        "-m",
        "sh",
        "-c",
        f'{size} && exec "$@"',
        "sh",
        sys.executable,
        *map(str, arguments),
    ]
    environment = {**os.environ, "TMPDIR": str(place), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.Popen(
        program, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    )


class NoThreads(Commands):
    """No thread can start: stacks are asked for that no address space holds. Answers are the same bits."""

    def __init__(self, folder: Path) -> None:
        if not sys.platform.startswith("linux"):
            raise SkippedError("only Linux limits addresses")
        super().__init__(folder)

    def draw(self, chance: random.Random) -> list[Any]:
        return [chance.choice(["train", "lbfgs", "sgd", "blocks", "tag", "eval", "cv"])]

    def happen(self, drawn: list[Any]) -> Ended:
        (what,) = drawn
        answers = []
        for before in (None, _without_threads):
            out = self.folder / "out"
            out.unlink(missing_ok=True)
            training = ["train", self.data, "-o", out, "--quiet", "--jobs", "2", "--max-iterations", "5"]
            arguments: list[object] = {
                "train": training,
                "lbfgs": [*training, "-a", "lbfgs"],
                "sgd": [*training, "-a", "sgd"],
                "blocks": [*training, "--block-positions", "200"],
                "tag": ["tag", self.model, self.data, "-o", out, "--jobs", "2"],
                "eval": ["evaluate", self.model, self.data, "--jobs", "2"],
                "cv": ["cv", self.data, "--folds", "2", "--max-iterations", "3", "--jobs", "2"],
            }[what]
            done = ended(start(*command(*arguments), before=before, OPENBLAS_NUM_THREADS="1")).plainly()
            written = load(out).w.tobytes() if out.exists() and arguments[0] == "train" else done.output
            answers.append(out.read_bytes() if what == "tag" else written)
        if answers[0] != answers[1] and what != "cv":  # which prints how long it took
            raise FailureError("without threads the answer differs")
        return done


def _without_threads() -> None:
    resource.setrlimit(resource.RLIMIT_STACK, (1 << 40, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_AS, (1 << 36, resource.RLIM_INFINITY))


class Interrupts(Commands):
    """A signal at a random moment after the first sign of life: the command ends soon, with its status."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.large = folder / "large.txt"
        write_data(self.large, 20_000)

    def draw(self, chance: random.Random) -> list[Any]:
        what = chance.choice(["train", "blocks", "tag", "tag", "cv"])
        number = chance.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
        return [what, chance.choice([0.0, chance.uniform(0.0, 3.0)]), number]

    def happen(self, drawn: list[Any]) -> Ended:
        what, seconds, number = drawn
        out = self.folder / "out.crf"
        out.unlink(missing_ok=True)
        before = set(os.listdir(self.folder))
        training: list[object] = ["train", self.large, "-o", out, "--tolerance", "0"]
        child = start(
            *command(
                *{
                    "train": training,
                    "blocks": [*training, "--block-positions", "5000"],
                    "tag": ["tag", self.model, self.large, "--print", "proba"],
                    "cv": ["cv", self.large, "--folds", "2"],
                }[what]
            ),
            TMPDIR=str(self.folder),
        )
        assert child.stdout is not None
        assert child.stderr is not None
        select.select([child.stdout, child.stderr], [], [], 20.0)
        time.sleep(seconds)
        child.send_signal(number)
        done = ended(child, 30.0).plainly(128 + number)
        if left := set(os.listdir(self.folder)) - before - {out.name}:
            raise FailureError(f"{', '.join(sorted(left))} was left behind")
        if out.exists():
            load(out)
        return done


class Pipes(Commands):
    """Standard input and output that are closed, broken after some bytes, or full."""

    def draw(self, chance: random.Random) -> list[Any]:
        what = chance.choice(["tag", "marginals", "eval", "show", "features", "help"])
        how = chance.choice(["closed", "broken", "full", "no input"])
        return [what, how, int(2 ** chance.uniform(0, 16))]

    def happen(self, drawn: list[Any]) -> Ended:
        what, how, after = drawn
        known: dict[str, list[object]] = {
            "tag": ["tag", self.model, self.data],
            "marginals": ["tag", self.model, self.data, "--print", "proba"],
            "eval": ["evaluate", self.model, self.data],
            "show": ["show", self.model],
            "features": ["features", self.data, "-t", "0[-1..1]"],
            "help": ["--help"],
        }
        arguments = known[what]
        if how == "no input":
            arguments = ["-" if given == self.data else given for given in arguments]
            return ended(start(*command(*arguments), stdin=None, before=lambda: os.close(0))).plainly(1, 2)
        if how == "closed":
            return ended(start(*command(*arguments), stdout=None, before=lambda: os.close(1))).plainly(1, 2)
        if how == "full":
            full = os.open("/dev/full", os.O_WRONLY)
            try:
                return ended(start(*command(*arguments), stdout=full)).plainly(1, 2)
            finally:
                os.close(full)
        child = start(*command(*arguments))
        assert child.stdout is not None
        os.read(child.stdout.fileno(), after)
        child.stdout.close()
        child.stdout = None
        done = ended(child)
        return done if done.status == 1 and not done.said else done.plainly(1)
