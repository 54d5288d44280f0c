"""SIGKILL at random moments of training and saving.

`killed_training` kills ``crfkit train --checkpoint FOLDER -o MODEL`` again and again; every start goes on
from the checkpoint that the last one left. `killed_saving` kills a process that does nothing but save two
models in turn to one path. After every kill the path must hold a whole file: the old one, byte for byte, or
the new one. What training gives in the end must be, bit for bit, what a run that nobody disturbs gives.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

from crfkit.models import SequenceModel
from tests.harden.case import Input, Outcome
from tests.harden.processes import command, start, write_data

OPTIONS = ["--quiet", "--jobs", "1", "--max-iterations", "25", "--tolerance", "0"]

SAVING = """
import sys
from crfkit.models import SequenceModel
old, new = (SequenceModel.load(path) for path in sys.argv[1:3])
print("ready", flush=True)
while True:
    new.save(sys.argv[3])
    old.save(sys.argv[3])
"""


class BrokenError(AssertionError):
    """A path holds neither the old nor the new file."""


def training(folder: Path, model: str, checkpoint: str) -> subprocess.Popen[bytes]:
    kept = ["--checkpoint", folder / checkpoint, "--set", "checkpoint.seconds=0"]
    return start(*command("train", folder / "data.txt", "-o", folder / model, *kept, *OPTIONS))


def finish(child: subprocess.Popen[bytes]) -> None:
    """Wait for a child that nobody kills."""
    _, said = child.communicate(timeout=300.0)
    if child.returncode:
        raise BrokenError(f"exit status {child.returncode}: {said.decode()}")


def kill(child: subprocess.Popen[bytes]) -> bool:
    """Kill a child; tell whether it was still at work. One that failed by itself is an error."""
    child.kill()
    _, said = child.communicate(timeout=60.0)
    if child.returncode > 0:
        raise BrokenError(f"exit status {child.returncode}: {said.decode()}")
    return child.returncode < 0


def prepare(folder: Path, lines: int) -> None:
    """Write data, and what an undisturbed run makes of them."""
    write_data(folder / "data.txt", lines)
    begun = time.perf_counter()
    finish(training(folder, "new.crf", "undisturbed"))
    (folder / "seconds").write_text(str(time.perf_counter() - begun))
    new = SequenceModel.load(folder / "new.crf")
    replace(new, w=-new.w).save(folder / "old.crf")


def killed_training(folder: Path, runs: int, seed: int) -> Counter[str]:
    """Kill training so many times, in folders of `prepare`; return what was seen."""
    chance, seen = random.Random(seed), Counter[str]()
    seconds = float((folder / "seconds").read_text())
    old, expected = (folder / "old.crf").read_bytes(), SequenceModel.load(folder / "new.crf").w.tobytes()
    path, checkpoint = folder / "model.crf", folder / "run" / "checkpoint.safetensors"
    shutil.copy(folder / "old.crf", path)
    while seen["kills"] < runs:
        before = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
        child = training(folder, path.name, "run")
        if chance.random() < 0.75:  # most of the time goes to starting: begin where it writes
            while child.poll() is None:
                if checkpoint.exists() and checkpoint.stat().st_mtime_ns != before:
                    break
                time.sleep(0.001)
            time.sleep(chance.uniform(0.0, 0.5 * seconds))
        else:
            time.sleep(chance.uniform(0.0, seconds))
        if kill(child):
            seen["kills"] += 1
            seen["kills with a checkpoint"] += checkpoint.exists()
        else:
            seen["ran to the end before the kill"] += 1
        if path.read_bytes() == old:
            seen["old model"] += 1
            continue
        if SequenceModel.load(path).w.tobytes() != expected:
            raise BrokenError("the new model differs from that of an undisturbed run")
        seen["new model"] += 1
        shutil.copy(folder / "old.crf", path)
        shutil.rmtree(folder / "run")
    finish(training(folder, path.name, "run"))
    if SequenceModel.load(path).w.tobytes() != expected:
        raise BrokenError("the resumed run differs from an undisturbed one")
    return seen


def killed_saving(folder: Path, runs: int, seed: int) -> Counter[str]:
    """Kill a process that saves two models in turn, so many times; return what was seen."""
    chance, seen = random.Random(seed), Counter[str]()
    path = folder / "saved.crf"
    files = {(folder / f"{name}.crf").read_bytes(): name for name in ("old", "new")}
    shutil.copy(folder / "old.crf", path)
    if [SequenceModel.load(folder / f"{name}.crf").to_bytes() for name in ("old", "new")] != list(files):
        raise BrokenError("a model that is loaded does not give the bytes of its file")
    for _ in range(runs):
        child = start("-c", SAVING, folder / "old.crf", folder / "new.crf", path)
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(chance.uniform(0.0, 0.1))
        seen["kills"] += kill(child)
        found = files.get(path.read_bytes())
        if found is None:
            raise BrokenError(f"{path} holds neither the old nor the new model")
        seen[f"{found} model"] += 1
        left = list(folder.glob(f".{path.name}.*.crfkit-tmp"))
        if len(left) > 1:
            raise BrokenError(f"{len(left)} temporary files are left, expected those of the last kill alone")
        seen["kills in the middle of a file"] += len(left)
    return seen


class Kills:
    """Some kills of training, or of saving, and what they left behind."""

    def __init__(self, folder: Path, lines: int = 500) -> None:
        self.folder = folder
        prepare(folder, lines)

    def make(self, i: int, chance: random.Random) -> Input:
        what = chance.choice(sorted(KILLED))
        return Input(what, json.dumps([what, chance.getrandbits(32)]).encode())

    def judge(self, data: bytes) -> Outcome:
        what, seed = json.loads(data)
        KILLED[what](self.folder, 3, seed)
        return Outcome.ACCEPTED


KILLED = {"training": killed_training, "saving": killed_saving}
