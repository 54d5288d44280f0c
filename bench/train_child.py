"""One run of `bench.train` in a process of its own: JSON lines on standard output, one for each event.

    python -m bench.train_child '{"kind": "optimiser", "corpus": "conll2000", "optimiser": "lbfgs"}'

The clock of training covers the layout, the problem and the steps: not features, and not the exact objective
of the weights after each step, which is evaluated when training has ended. CRFsuite's clock covers
`Trainer.train`.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import math
import re
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Literal, cast

import numpy as np

from bench.corpora import CORPORA, Corpus
from bench.measure import interleaved, plain
from crfkit import Chain
from crfkit.batch import Dataset
from crfkit.layout import Layout
from crfkit.model import Model
from crfkit.objectives import Likelihood
from crfkit.optimise.problem import Optimiser, Penalty
from crfkit.structures.labels import Floats
from crfkit.training.choose import by_name, suited


@dataclass(frozen=True)
class Task:
    """What to run."""

    kind: Literal["optimiser", "peer", "evaluation"]
    corpus: str
    optimiser: str = ""
    seconds: float = math.inf  # of training, after which an optimiser gets no further step
    iterations: int | None = None  # of CRFsuite
    threads: int | None = None
    gap: float | None = None  # at which an optimiser ends that knows its gap
    repetitions: int = 9  # of an evaluation


def say(event: str, **fields: Any) -> None:
    """Tell the parent; numbers that JSON does not have become null."""
    clean = {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in fields.items()}
    print(json.dumps({"event": event, **clean}), flush=True)


# ---- memory ---------------------------------------------------------------------------------------------


class HighWater:
    """The largest resident memory in MB, without what happened in between `pause` and `resume`."""

    def __init__(self) -> None:
        self.peak = 0.0

    def pause(self) -> float:
        self.peak = max(self.peak, _resident_peak())
        return self.peak

    def resume(self) -> None:
        with contextlib.suppress(OSError):  # elsewhere than on Linux the peak covers everything
            Path("/proc/self/clear_refs").write_text("5")  # sets the mark to the memory of now


def _resident_peak() -> float:
    status = Path("/proc/self/status")
    if status.exists():  # ru_maxrss would include the parent's
        return int(status.read_text().split("VmHWM:")[1].split()[0]) / 1024
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / (1 << 20 if sys.platform == "darwin" else 1 << 10)


# ---- what all have in common ----------------------------------------------------------------------------


def model_of(dataset: Dataset, layout: Layout, w: Floats) -> Model:
    labels, attributes = dataset.labels.freeze(), dataset.attributes.freeze()
    chain = Chain(labels.strings())
    return Model(labels, attributes, dataset.edge_attributes.freeze(), chain, layout, w)


def objective_at(dataset: Dataset, layout: Layout, l2: float, w: Floats) -> float:
    """Return the exact objective, without a gradient and in blocks: another way than any optimiser's."""
    if not np.isfinite(w).all():
        return math.inf
    likelihood = model_of(dataset, layout, w).log_likelihood(dataset.batch)
    return Penalty(l2=l2).value(w) - float(likelihood.sum())


def sizes(dataset: Dataset, layout: Layout) -> dict[str, int]:
    return {
        "sequences": dataset.batch.sequences,
        "positions": dataset.batch.positions,
        "labels": len(dataset.labels),
        "occurrences": len(dataset.batch.attr),
        "weights": layout.weights,
    }


# ---- crfkit ---------------------------------------------------------------------------------------------


class Course:
    """The weights after each step, in a file: to judge them meanwhile would empty the caches of training."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.known: list[dict[str, float]] = []
        self.size = 0

    def keep(self, w: Floats, **known: float) -> None:
        self.size = len(w)
        w.tofile(self.file)
        self.known.append(known)

    def __iter__(self) -> Iterator[tuple[Floats, dict[str, float]]]:
        """Yield weights and what is known of them: all steps, or every so many where there are very many."""
        every = max(len(self.known) // 100, 1)
        for i, known in enumerate(self.known):
            if i % every == 0 or i + 1 == len(self.known):
                self.file.seek(8 * self.size * i)
                yield np.fromfile(self.file, dtype=np.float64, count=self.size), known


def optimise(corpus: Corpus, optimiser: Optimiser, task: Task, file: IO[bytes]) -> None:
    """Train until the optimiser or the time ends; the weights of all steps go through `file`."""
    dataset, test = corpus.datasets()
    water, taken = HighWater(), 0.0
    say("start")
    begin = time.perf_counter()
    layout = corpus.layout(dataset, task.threads)
    chain, likelihood = Chain(dataset.labels.strings()), Likelihood(l2=corpus.l2)
    problem = suited(likelihood.bind(layout, chain, dataset.batch, threads=task.threads), optimiser)
    run = optimiser.start(problem, likelihood.penalty(layout), np.zeros(layout.weights))
    taken += time.perf_counter() - begin
    setup, course = taken, Course(file)
    while True:
        begin = time.perf_counter()
        step = run.step()
        now = time.perf_counter()
        taken += now - begin
        peak = water.pause()
        stopped = step.stopped or ("time limit" if taken >= task.seconds else "")
        if not np.isfinite(run.w).all():
            stopped = "diverged"
        course.keep(run.w, seconds=taken, passes=float(step.evaluations), peak_mb=peak)
        water.resume()
        if stopped:
            break
    for w, known in course:
        say("step", objective=objective_at(dataset, layout, corpus.l2, w), **known)
    score = math.nan
    if np.isfinite(w).all():
        score = corpus.score(model_of(dataset, layout, w).predict(test().batch))
    say("end", stopped=stopped, setup=setup, score=score, **sizes(dataset, layout))


def evaluate(corpus: Corpus, task: Task) -> None:
    """Time one evaluation of loss and gradient, on one thread and on two."""
    dataset, _ = corpus.datasets()
    layout = corpus.layout(dataset)
    chain = Chain(dataset.labels.strings())
    problem = Likelihood(l2=corpus.l2).bind(layout, chain, dataset.batch)
    w = np.random.default_rng(0).normal(scale=0.1, size=layout.weights)
    gradient = np.empty_like(w)
    say("start")

    def once(threads: int) -> float:
        problem.threads = threads
        return problem.value_and_grad(w, gradient)

    timings = interleaved(
        {"1": lambda: once(1), "2": lambda: once(2)}, task.repetitions, at_least=0.0, at_most=60.0
    )
    threads = {name: plain(timing) for name, timing in timings.items()}
    say("end", stopped="done", by_threads=threads, peak_mb=HighWater().pause(), **sizes(dataset, layout))


# ---- CRFsuite -------------------------------------------------------------------------------------------


class Log:
    """CRFsuite's messages as they come, in pieces, and what they say about each iteration."""

    def __init__(self) -> None:
        self.rest = ""
        self.begin = time.perf_counter()
        self.loss, self.trials, self.evaluations = math.nan, 0, 1  # liblbfgs evaluates the first weights
        self.features, self.stopped = 0, ""

    def __call__(self, piece: str) -> None:
        *lines, self.rest = (self.rest + piece).split("\n")
        for line in lines:
            self.read(line)

    def read(self, line: str) -> None:
        name, _, value = line.partition(": ")
        if name == "Number of features":
            self.features = int(value)
        elif name == "Loss":
            self.loss = float(value)
        elif name == "Line search trials":
            self.trials = int(value)
        elif name == "Seconds required for this iteration":
            self.iteration()
        elif line.startswith("L-BFGS "):
            self.stopped = re.sub("^L-BFGS (terminated with|resulted in) ", "", line)

    def iteration(self) -> None:
        now = time.perf_counter()
        self.evaluations += self.trials
        peak = HighWater().pause()
        say("step", seconds=now - self.begin, passes=self.evaluations, objective=self.loss, peak_mb=peak)


def peer(corpus: Corpus, task: Task) -> None:
    """Train CRFsuite on the same features; see that its objective and its number of weights are ours."""
    if not importlib.util.find_spec("pycrfsuite"):
        return say("skipped", why="pip install python-crfsuite")
    import pycrfsuite

    log = Log()

    class Trainer(pycrfsuite.BaseTrainer):
        def message(self, message: str) -> None:
            log(message)

    trainer = Trainer()
    for items, labels in zip(*corpus.featured(), strict=True):
        trainer.append(items, labels)
    trainer.select("lbfgs")
    trainer.set_params({"c1": 0.0, "c2": corpus.l2 / 2})
    if task.iterations is not None:
        trainer.set_params({"max_iterations": task.iterations})
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model")
        say("start")
        log.begin = time.perf_counter()
        trainer.train(path)
        total, peak = time.perf_counter() - log.begin, HighWater().pause()
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        info = tagger.info()
        tagger.close()
    dataset, test = corpus.datasets()
    layout = corpus.layout(dataset)
    w = weights_of(info, dataset, layout)  # to six decimals
    ours = objective_at(dataset, layout, corpus.l2, w)
    same = log.features == layout.weights and abs(ours - log.loss) <= 1e-6 * abs(ours)
    differs = f"differs: {log.features} weights, {log.loss}; crfkit has {layout.weights}, {ours}"
    say(
        "end",
        stopped=log.stopped if same else differs,
        ended=same and "maximum" not in log.stopped,
        total=total,
        ours=ours,
        score=corpus.score(model_of(dataset, layout, w).predict(test().batch)),
        peak_mb=peak,
        **sizes(dataset, layout),
    )
    return None


def weights_of(info: Any, dataset: Dataset, layout: Layout) -> Floats:
    """Return CRFsuite's weights in the order of a layout; one that the layout does not have is an error."""
    L, node = layout.labels, layout.parts["node"].stop
    owner = np.repeat(np.arange(layout.attributes, dtype=np.int64), np.diff(layout.node_ptr))
    w = np.zeros(layout.weights)
    for found, alphabet, cells, at in (
        (info.state_features, dataset.attributes, owner * L + layout.node_label, 0),
        (info.transitions, dataset.labels, layout.transition_cell.astype(np.int64), node),
    ):
        first, second = zip(*found, strict=True)
        keys = alphabet.freeze().ids(list(first)).astype(np.int64) * L
        keys += dataset.labels.freeze().ids(list(second))
        place = np.minimum(np.searchsorted(cells, keys), len(cells) - 1)
        if (cells[place] != keys).any():
            raise ValueError(f"CRFsuite has weights that the layout lacks, such as {min(found)}")
        w[at + place] = list(found.values())
    return w


def main() -> None:
    task = Task(**json.loads(sys.argv[1]))
    corpus = CORPORA[task.corpus]
    with contextlib.suppress(OSError):  # should memory run out, this process is the one to go
        Path("/proc/self/oom_score_adj").write_text("1000")
    if task.kind == "peer":
        return peer(corpus, task)
    if task.kind == "evaluation":
        return evaluate(corpus, task)
    try:
        optimiser = by_name(task.optimiser, threads=task.threads)
    except (AttributeError, ImportError) as error:
        return say("skipped", why=f"not there yet: {error}")
    if task.gap is not None and hasattr(optimiser, "gap"):
        optimiser = replace(cast(Any, optimiser), gap=task.gap)
    in_memory = "/dev/shm"  # writing to a disk takes bandwidth from training
    with tempfile.TemporaryFile(dir=in_memory if Path(in_memory).is_dir() else None) as file:
        return optimise(corpus, optimiser, task, file)


if __name__ == "__main__":
    main()
