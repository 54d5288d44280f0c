"""Faults under a program that lives on: forks while threads work, and model files that change in place."""

from __future__ import annotations

import json
import random
import shutil
import signal
import time
from pathlib import Path

from tests.harden.answers import command
from tests.harden.case import Input, Outcome
from tests.harden.processes import ended, start, write_data

__all__ = ["Forks", "Replacements"]

QUICK = ["--quiet", "--threads", "1", "--max-iter", "5"]

FORKS = """
import os, random, sys, threading, time, warnings
warnings.simplefilter("ignore")
from crfkit import Chain, Model, Stop, train
from crfkit.features import ItemExtractor
path, chance = sys.argv[1], random.Random(sys.argv[2])
X = [[[f"w{i % 7}", f"v{i % 3}"] for i in range(12)] for _ in range(40)]
data = ItemExtractor()(X, [["abc"[i % 3] for i in range(12)]] * 40)
over = False
def training():
    while not over:
        train(data, optimiser=chance.choice(["auto", "lbfgs"]), stop=Stop(max_iterations=20), threads=2)
def asking():
    while not over:
        model = Model.load(path)
        model.marginals(X, threads=2)
        model.predict(X, threads=2)
shared = Model.load(path)
threads = [threading.Thread(target=f) for f in (training, asking, asking, lambda: shared.predict(X))]
for thread in threads:
    thread.start()
wrong = 0
for _ in range(8):
    time.sleep(chance.uniform(0.0, 0.1))
    child = os.fork()
    if child == 0:
        status = 1
        try:
            shared.predict(X, threads=2)
            Model.load(path).marginals(X, threads=2)
            train(data, stop=Stop(max_iterations=3), threads=2)
            status = 0
        finally:
            os._exit(status)
    end = time.monotonic() + 30.0
    while os.waitpid(child, os.WNOHANG)[0] == 0:
        if time.monotonic() > end:
            os.kill(child, 6)  # faulthandler shows where it hangs
            time.sleep(1.0)
            os.kill(child, 9)
            print("a child of a fork hangs", file=sys.stderr)
            wrong = 1
            os.waitpid(child, 0)
            break
        time.sleep(0.005)
over = True
for thread in threads:
    thread.join()
sys.exit(wrong)
"""

ASKING = """
import sys, warnings
warnings.simplefilter("ignore")
from crfkit import Tagger, load
X = [[["w=a", "word[0]=Main"], {"b": 0.5}, ["0[0]=Street"]], [["c"]]]
rows = [[["Main"], ["Street"], ["12345"]]]
try:
    model = load(sys.argv[1])
    print("ready", flush=True)
    while True:
        model.predict(rows if model.recipe is not None else X, threads=1)
        model.marginals(rows if model.recipe is not None else X, threads=1)
        model.attributes.strings()[:10]
        if model.recipe is None:
            Tagger(model).tag(X[0])
        model.to_bytes()
except (ValueError, OSError, MemoryError) as error:
    print(error)
"""


class Living:
    """Trials that are drawn as JSON, in a folder with a model."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.model, data = folder, folder / "model.crf", folder / "data.txt"
        write_data(data, 100)
        command("train", data, "-o", self.model, *QUICK)


class Forks(Living):
    """Forks at random moments of training and queries: the child loads, asks and trains."""

    def make(self, i: int, chance: random.Random) -> Input:
        drawn = f"{chance.getrandbits(32)}"
        return Input(drawn, drawn.encode())

    def judge(self, data: bytes) -> Outcome:
        child = start("-X", "faulthandler", "-c", FORKS, self.model, data.decode())
        ended(child, 400.0).plainly()
        return Outcome.ACCEPTED


class Replacements(Living):
    """A mapped model file that is changed in place while it is used: an answer or an exception follows."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        other = folder / "other.txt"
        write_data(other, 30, seed=9)
        self.other = folder / "other.crf"
        command("train", other, "-o", self.other, *QUICK, "--order", "2")
        self.foreign = folder / "model.crfsuite"
        if command("convert", self.model, self.foreign):
            self.foreign = self.model

    def make(self, i: int, chance: random.Random) -> Input:
        kind = chance.choice(["crfkit", "crfkit", "crfsuite"])
        how = chance.choice(["cut", "zeros", "bytes", "other", "longer", "numbers"])
        drawn = [kind, how, chance.uniform(0.0, 0.3), chance.random(), chance.getrandbits(32)]
        return Input(f"{kind}, {how}", json.dumps(drawn).encode())

    def judge(self, data: bytes) -> Outcome:
        kind, how, seconds, share, seed = json.loads(data)
        used = self.folder / f"used.{kind}"
        source = self.model if kind == "crfkit" else self.foreign
        used.unlink(missing_ok=True)
        shutil.copyfile(source, used)
        child = start("-X", "faulthandler", "-c", ASKING, used)
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(seconds)
        self.change(used, how, share, seed)
        time.sleep(0.3)
        if child.poll() is None:
            child.send_signal(signal.SIGTERM)
        done = ended(child)
        if done.status == -signal.SIGTERM:
            return Outcome.ACCEPTED
        done.plainly()
        return Outcome.REFUSED

    def change(self, path: Path, how: str, share: float, seed: int) -> None:
        """Change a file without making a new one."""
        size = path.stat().st_size
        with path.open("r+b") as file:
            if how == "cut":
                file.truncate(int(share * size))
            elif how == "other":
                file.truncate(0)
                file.write(self.other.read_bytes())
            elif how == "longer":
                file.seek(0, 2)
                file.write(bytes(1 << 16))
            else:
                file.seek(int(share * size))
                left = size - int(share * size)
                draw = random.Random(seed)
                made = {"zeros": bytes(left), "bytes": draw.randbytes(left)}.get(how)
                file.write(made if made is not None else (b"\xff" * left))
