"""One measurement of `bench.compare` in a process of its own: a line of JSON, with figures and facts.

    python -m bench.compare_child '{"what": "training", "folder": "...", "corpus": "random60"}'

It runs in this tree and in the older one, so it uses only what both have: `data.reading.read`,
`crfkit.train`, `crfkit.features`, `crfkit.load`, `Model`, `Tagger`, `ChainCRF`, `inference` and the command
line; where names differ, the first that there is (`named`, `keyword`). Times are seconds of the processor on
one thread, the least of several calls: see `Job.least`. The parent writes the files of data.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise, tee
from pathlib import Path
from typing import Any

from bench.clocks import Clock, HighWater
from bench.compare_queries import query_calls

MB = 1 << (20 if sys.platform == "darwin" else 10)  # in units of ru_maxrss


@dataclass(frozen=True)
class Job:
    """What to measure, and with which files."""

    what: str
    folder: str
    side: str = "this"  # whose models are opened and written
    corpus: str = ""
    l2: float = 1.0
    steps: int = 12  # iterations of L-BFGS, for the time of one evaluation
    wall: bool = False  # train on all threads as well
    seconds: float = 2.0  # calls are repeated so long

    def file(self, name: str) -> str:
        return str(Path(self.folder) / name)

    def model(self, name: str) -> str:
        return self.file(f"{self.side}-{name}.crf")

    def least(self, clocked: Callable[[], float], most: int = 25) -> float:
        """Return the least time of as many calls as take `seconds`, 25 at most; a call returns its time.

        Other processes, which share the caches, make calls slower, never faster.
        """
        taken = list[float]()
        while not taken or (sum(taken) < self.seconds and len(taken) < most):
            taken.append(clocked())
        return min(taken)

    def timed(self, call: Callable[[], object]) -> float:
        """Return the processor time of a call, as `least` does."""

        def clocked() -> float:
            begin = time.process_time()
            call()
            return time.process_time() - begin

        return self.least(clocked)


Figures = dict[str, float]  # "measure|unit" -> figure
Facts = dict[str, Any]  # what must not differ between the versions
Found = tuple[Figures, Facts]


# ---- data --------------------------------------------------------------------------------------------------


def sequences(path: str) -> tuple[Iterator[list[Any]], Iterator[list[str]]]:
    """Return features and labels of a file with a sequence on each line; they are read as they are taken."""

    def lines() -> Iterator[Any]:
        with open(path, encoding="utf-8") as file:
            yield from map(json.loads, file)

    first, second = tee(lines())
    return (items for items, _ in first), (labels for _, labels in second)


def extracted(path: str, template: str) -> Any:
    """Return the data set that a template of CRF++ makes of a file with columns."""
    from crfkit.data.reading import read
    from crfkit.features import Extractor
    from crfkit.features.crfpp import parse_crfpp

    recipe = parse_crfpp(Path(template).read_text(encoding="utf-8"))
    columns: Any = read(path, format="columns")
    return Extractor(recipe)(columns, threads=1)


def named(of: Any, *names: str) -> Any:
    """Return the first attribute of several that there is."""
    return getattr(of, next(name for name in names if hasattr(of, name)))


def keyword(call: Callable[..., Any], value: object, *names: str) -> dict[str, Any]:
    """Return a value by the first name that a function takes."""
    return {next(name for name in names if name in inspect.signature(call).parameters): value}


# ---- measurements ------------------------------------------------------------------------------------------


def identity(job: Job) -> Found:
    """Say which version this is; the files that Python compiles are written on the way."""
    import crfkit
    import crfkit.cli

    names = [name for name in ("train", "ChainCRF", "load", "data") if getattr(crfkit, name)]
    return {}, {"version": crfkit.__version__, "file": crfkit.__file__, "names": names}


def training(job: Job) -> Found:
    """Train by the default until it ends by itself; the model stays for `tagging`."""
    import crfkit
    from crfkit.features import ItemExtractor

    data = ItemExtractor()(*sequences(job.file(f"{job.corpus}.jsonl")))
    models = list[Any]()

    def train(threads: int | None = 1) -> None:
        objective = crfkit.Likelihood(l2=job.l2)
        jobs = keyword(crfkit.train, threads, "n_jobs", "threads")
        models[:] = [crfkit.train(data, objective=objective, progress=False, **jobs)]

    figures = {
        f"training {job.corpus}|s": job.timed(train),
        f"memory, training {job.corpus}|MB": HighWater().pause(),
    }
    if job.wall:
        clock = Clock()
        train(threads=None)
        figures[f"training {job.corpus}, all threads, wall|s"] = clock.read()["seconds"]
    model = models[0]
    model.save(job.model(job.corpus))
    penalty, log_prob = job.l2 / 2 * float(model.w @ model.w), named(model, "log_prob", "log_likelihood")
    return figures, {f"objective {job.corpus}": penalty - float(log_prob(data).sum())}


class EnoughError(Exception):
    """Ends a training that has run long enough to be timed."""


def evaluation(job: Job) -> Found:
    """Time of a step of L-BFGS by the evaluations in it; the first three steps are left out."""
    import crfkit

    train, test = job.file("train.txt"), job.file("test.txt")
    plain, edges = job.file("template"), job.file("template-edges")
    order = (
        {"order": 2}
        if "order" in inspect.signature(crfkit.train).parameters
        else {"structure": crfkit.Chain(order=2)}
    )
    cases: dict[str, tuple[str, str, dict[str, Any]]] = {
        "observed pairs": (train, plain, {}),
        "all pairs": (train, plain, keyword(crfkit.train, "all", "selection", "features")),
        "edge attributes": (train, edges, {}),
        "order 2": (test, plain, order),
    }
    figures: Figures = {}
    for name, (path, template, options) in cases.items():
        marks = list[tuple[float, float]]()

        def listen(event: Any, marks: list[tuple[float, float]] = marks) -> None:
            if hasattr(event, "step"):
                marks.append((time.process_time(), float(event.step.evaluations)))
                if len(marks) > job.steps:
                    raise EnoughError

        data = extracted(path, template)
        try:
            options |= keyword(crfkit.train, "lbfgs", "optimizer", "optimiser")
            options |= keyword(crfkit.train, 1, "n_jobs", "threads")
            crfkit.train(data, listeners=[listen], progress=False, **options)
        except EnoughError:
            each = [(b[0] - a[0]) / (b[1] - a[1]) for a, b in pairwise(marks[3:])]
            figures[f"one evaluation, {name}|s"] = min(each)
        else:
            raise RuntimeError(f"{name}: training ended after {len(marks)} steps, {job.steps} are timed")
    return figures, {}


def tagging(job: Job) -> Found:
    """Open a model; tag and get marginals of features that are ready; make features."""
    import crfkit
    from crfkit.features import ItemExtractor
    from crfkit.models.tagger import Tagger

    path = job.model(job.corpus)
    model = crfkit.load(path)
    tagger = Tagger(model)
    X, y = map(list, sequences(job.file("test.jsonl")))
    made = ItemExtractor()(X)
    one = keyword(crfkit.ChainCRF, 1, "n_jobs", "threads")
    crf = crfkit.ChainCRF(objective="perceptron", **one).fit(X[:50], y[:50])
    probabilities = partial(named(model, "marginals", "predict_proba"), made)
    jobs = keyword(probabilities, 1, "threads", "n_jobs")
    figures = {
        "features from a template|s": job.timed(
            lambda: extracted(job.file("train.txt"), job.file("template"))
        ),
        "features from Python items|s": job.timed(lambda: ItemExtractor()(X, y)),
        "opening a model|s": job.timed(lambda: crfkit.load(path)),
        "Tagger.tag, sequence by sequence|s": job.timed(lambda: [tagger.tag(x) for x in X]),
        "Model.predict|s": job.timed(lambda: model.predict(made, threads=1)),
        "Model.marginals|s": job.timed(lambda: probabilities(**jobs)),
        "ChainCRF.predict|s": job.timed(lambda: crf.predict(X)),
    }
    predicted = json.dumps([tagger.tag(x) for x in X])
    return figures, {"labels by Tagger": hashlib.sha256(predicted.encode()).hexdigest()}


def queries(job: Job) -> Found:
    """Ask chains and graphs of given scores, and read a text of CRFsuite."""
    text = Path(job.file(f"{job.side}-rows.crfsuite"))
    calls = query_calls(Path(job.file("test.jsonl")), text)
    for call in calls.values():
        call()
    return {f"{name}|s": job.timed(call) for name, call in calls.items()}, {}


def command_line(job: Job) -> Found:
    """Run the command line: train, tag, and start."""
    crfkit, model = (sys.executable, "-m", "crfkit.cli"), job.model("command")
    out = job.file(f"{job.side}-tagged.txt")
    shown = subprocess.run((*crfkit, "train", "--help"), capture_output=True, text=True, check=True).stdout
    quiet = ("--jobs" if "--jobs" in shown else "--threads", "1", "--quiet")
    learn = (*crfkit, "train", job.file("test.txt"), "-t", job.file("template"), "-o", model, *quiet)
    commands = {
        "crfkit train": learn,
        "crfkit tag": (*crfkit, "tag", model, job.file("train.txt"), "-o", out, *quiet),
        "start: import crfkit": (sys.executable, "-c", "import crfkit"),
        "start: crfkit tag --help": (*crfkit, "tag", "--help"),
    }
    figures: Figures = {}
    for name, command in commands.items():
        peaks = list[float]()
        figures[f"{name}|s"] = job.least(partial(run, command, peaks))
        if not name.startswith("start"):
            figures[f"memory, {name}|MB"] = max(peaks)
    return figures, {"output of crfkit tag": hashlib.sha256(Path(out).read_bytes()).hexdigest()}


def run(command: tuple[str, ...], peaks: list[float]) -> float:
    """Run a command; return its processor time, and note the largest memory that it had, in MB."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with status {child.returncode}")
    peaks.append(used.ru_maxrss / MB)
    return used.ru_utime + used.ru_stime


MEASUREMENTS: dict[str, Callable[[Job], Found]] = {
    "identity": identity,
    "training": training,
    "evaluation": evaluation,
    "tagging": tagging,
    "queries": queries,
    "command": command_line,
}


def main() -> None:
    job = Job(**json.loads(sys.argv[1]))
    figures, facts = MEASUREMENTS[job.what](job)
    print(json.dumps({"figures": figures, "facts": facts}), flush=True)


if __name__ == "__main__":
    main()
