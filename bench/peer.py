"""CRFsuite in a process of its own: its messages as they come, and whether its objective is ours."""

from __future__ import annotations

import importlib.util
import math
import re
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from bench.child import Task, model_of, objective_at, say, scored, sizes
from bench.clocks import Clock, HighWater
from bench.corpora import Corpus
from crfkit.arrays import Floats
from crfkit.data.dataset import Dataset
from crfkit.linear.layout import Layout


class Log:
    """CRFsuite's messages as they come, in pieces, and what they say about each iteration."""

    def __init__(self) -> None:
        self.rest = ""
        self.clock = Clock()
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
            say("size", weights=self.features)
        elif name == "Loss":
            self.loss = float(value)
        elif name == "Line search trials":
            self.trials = int(value)
        elif name == "Seconds required for this iteration":
            self.iteration()
        elif line.startswith("L-BFGS "):
            self.stopped = re.sub("^L-BFGS (terminated with|resulted in) ", "", line)

    def iteration(self) -> None:
        clocks = self.clock.read()
        self.evaluations += self.trials
        peak = HighWater().pause()
        say("step", **clocks, passes=self.evaluations, objective=self.loss, peak_mb=peak)


def trainer_of(corpus: Corpus, log: Log, iterations: int | None, dicts: bool = False) -> Any:
    """Return CRFsuite's trainer with the features of a corpus, ready to train; the log hears its messages.

    With `dicts` the clock of the log starts once the features are there, before the trainer is given them.
    """
    import pycrfsuite

    class Trainer(pycrfsuite.BaseTrainer):
        def message(self, message: str) -> None:
            log(message)

    trainer = Trainer()
    given = corpus.listed() if dicts else corpus.featured()
    if dicts:
        log.clock = Clock()
    for items, labels in zip(*given, strict=True):
        trainer.append(items, labels)
    trainer.select("lbfgs")
    trainer.set_params({"c1": corpus.l1, "c2": corpus.l2 / 2})
    if iterations is not None:
        trainer.set_params({"max_iterations": iterations})
    return trainer


def peer(corpus: Corpus, task: Task) -> None:
    """Train CRFsuite on the same features; see that its objective and its number of weights are ours."""
    if not importlib.util.find_spec("pycrfsuite"):
        return say("skipped", why="pip install python-crfsuite")
    import pycrfsuite

    log = Log()
    trainer = trainer_of(corpus, log, task.iterations, task.dicts)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model")
        say("start")
        if not task.dicts:
            log.clock = Clock()
        trainer.train(path)
        clocks, peak = log.clock.read(), HighWater().pause()
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        info = tagger.info()
        tagger.close()
    dataset, test = corpus.datasets()
    layout = corpus.layout(dataset)
    w = weights_of(info, dataset, layout)  # to six decimals
    ours = objective_at(dataset, layout, corpus.penalty, w)
    same = log.features == layout.weights and abs(ours - log.loss) <= 1e-6 * abs(ours)
    differs = f"differs: {log.features} weights, {log.loss}; crfkit has {layout.weights}, {ours}"
    say(
        "end",
        stopped=log.stopped if same else differs,
        ended=same and "maximum" not in log.stopped,
        total=clocks["seconds"],
        cpu=clocks["cpu"],
        ours=ours,
        score=scored(corpus, test, model_of(dataset, layout, w)),
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
