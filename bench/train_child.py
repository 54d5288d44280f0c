"""One run of `bench.train` or `bench.grid` in a process of its own: JSON lines, one for each event.

    python -m bench.train_child '{"kind": "optimizer", "corpus": "conll2000", "optimizer": "lbfgs"}'

The clock of training covers the layout, the problem and the steps: not features, and not the exact objective
of the weights after each step, which is evaluated when training has ended. CRFsuite's clock covers
`Trainer.train`. A run of kind "user" is a plain `crfkit.train`.
"""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from bench.child import Task, model_of, objective_at, objective_of, say, scored, sizes
from bench.clocks import Clock, HighWater
from bench.corpora import CORPORA, Corpus
from bench.measure import interleaved, plain
from bench.peer import peer
from crfkit import Chain, FeatureSelection, train
from crfkit.arrays import Floats
from crfkit.features import ItemExtractor
from crfkit.objectives import Likelihood
from crfkit.optimize.problem import Optimizer, Run
from crfkit.training.choose import by_name
from crfkit.training.events import Event, Progress
from crfkit.training.runs import run as loop_of
from crfkit.training.runs.convergence import Certificate


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
                yield self.at(i), known

    def at(self, i: int) -> Floats:
        """Return the weights after a step."""
        self.file.seek(8 * self.size * i)
        return np.fromfile(self.file, dtype=np.float64, count=self.size)


def optimize(corpus: Corpus, optimizer: Optimizer, task: Task, file: IO[bytes]) -> None:
    """Train until the optimizer or the time ends; the weights of all steps go through `file`."""
    dataset, test = corpus.datasets()
    water, taken = HighWater(), 0.0
    say("start")
    begin = time.perf_counter()
    layout = corpus.layout(dataset, task.threads)
    chain, likelihood = Chain(dataset.labels.strings()), Likelihood(l2=corpus.l2)
    problem = likelihood.bind(layout, chain, dataset.batch, threads=task.threads)
    run = optimizer.start(problem, likelihood.penalty(layout), np.zeros(layout.weights))
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
        say("step", objective=objective_at(dataset, layout, corpus.penalty, w), **known)
    score = scored(corpus, test, model_of(dataset, layout, w))
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


def train_as_users_do(corpus: Corpus, task: Task, file: IO[bytes]) -> None:
    """Call `crfkit.train`: clocks around it, warnings, certificate, the exact objective of its weights.

    Optimizers may report estimates. So the weights of each step are kept as they pass, off the clock, and
    the step that first reached the target is looked for by bisection.
    """
    X, y = corpus.listed() if task.dicts else ([], [])
    dataset = None if task.dicts else corpus.datasets()[0]
    course, reported, runs = Course(file), list[float](), list[Run]()

    def listen(event: Event) -> None:
        if isinstance(event, Progress):
            now = clock.read()
            with clock.paused():
                course.keep(runs[0].w, passes=float(event.step.evaluations), **now)
                reported.append(event.step.objective)

    say("start")
    with watched(runs), warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        clock = Clock()
        dataset = ItemExtractor()(X, y) if dataset is None else dataset
        model = train(
            dataset,
            objective=Likelihood(l1=corpus.l1, l2=corpus.l2),
            optimizer=task.optimizer,
            n_jobs=task.threads,
            selection=FeatureSelection(transitions="observed"),
            progress=False,
            listeners=[listen],
        )
        clocks, peak = clock.read(), HighWater().pause()
    summary = model.training
    assert summary is not None
    for known, objective in zip(course.known, reported, strict=True):
        say("step", **known, objective=objective, peak_mb=peak)
    ours = objective_of(model, dataset, corpus.penalty)

    def first(target: float | None) -> dict[str, float] | None:
        """Return the first step that reached an objective."""
        if target is None or ours > target:
            return None
        low, high = 0, len(course.known) - 1
        while low < high:
            middle = (low + high) // 2
            there = objective_at(dataset, model.layout, corpus.penalty, course.at(middle)) <= target
            low, high = (low, middle) if there else (middle + 1, high)
        return course.known[high]

    say(
        "end",
        stopped=summary.reason,
        total=clocks["seconds"],
        cpu=clocks["cpu"],
        target=task.target,
        reached=first(task.target),
        reached_early=first(task.early),
        method=summary.optimizer,
        why=summary.why,
        evaluations=summary.passes,
        reported=summary.loss,
        ours=ours,
        excess=Certificate(summary.loss, summary.gap).excess,
        certificate=summary.certificate,
        warned=[str(warning.message) for warning in heard],
        peak_mb=peak,
        **sizes(dataset, model.layout),
    )


@contextlib.contextmanager
def watched(runs: list[Run]) -> Iterator[None]:
    """Note the runs that the training loop follows: their weights are not handed to listeners."""
    names = vars(loop_of)
    follow = names["follow"]

    def noted(run: Run, *given: Any, **options: Any) -> Any:
        runs.append(run)
        return follow(run, *given, **options)

    names["follow"] = noted
    try:
        yield
    finally:
        names["follow"] = follow


def optimize_by_name(corpus: Corpus, task: Task, file: IO[bytes]) -> None:
    try:
        optimizer = by_name(task.optimizer, threads=task.threads)
    except (AttributeError, ImportError) as error:
        return say("skipped", why=f"not there yet: {error}")
    if task.gap is not None and hasattr(optimizer, "gap"):
        optimizer = replace(cast(Any, optimizer), gap=task.gap)
    return optimize(corpus, optimizer, task, file)


def main() -> None:
    task = Task(**json.loads(sys.argv[1]))
    corpus = CORPORA[task.corpus]
    corpus = corpus.as_dicts() if task.dicts else corpus
    corpus = replace(corpus, l1=task.l1, l2=corpus.l2 if task.l2 is None else task.l2, most=task.most)
    with contextlib.suppress(OSError):  # should memory run out, this process is the one to go
        Path("/proc/self/oom_score_adj").write_text("1000")
    if task.kind == "peer":
        return peer(corpus, task)
    if task.kind == "evaluation":
        return evaluate(corpus, task)
    in_memory = "/dev/shm"  # writing to a disk takes bandwidth from training
    with tempfile.TemporaryFile(dir=in_memory if Path(in_memory).is_dir() else None) as file:
        if task.kind == "user":
            return train_as_users_do(corpus, task, file)
        return optimize_by_name(corpus, task, file)


if __name__ == "__main__":
    main()
