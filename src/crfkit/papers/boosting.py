"""Gupta (2005) section 2.5, after Dietterich, Ashenfelter & Bulatov (2004): potentials as regression trees.

A chain with linear potentials against chains whose potentials are sums of trees, on letters (128 pixels) and
on proteins (the amino acids of 15 residues): trees find conjunctions that linear potentials lack.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from crfkit.arrays import Floats
from crfkit.estimators import BoostedCRF, ChainCRF
from crfkit.models.forest import windowed
from crfkit.objectives import Likelihood
from crfkit.papers.experiment import Given, Keyed, Quantity
from crfkit.papers.page import Claim, Figure, Line, Page, Table
from crfkit.papers.report import with_interval
from crfkit.papers.results import Result
from crfkit.training.learners.boosting import Boosting

LINEAR, TREES, SHARED, STEPS = "linear", "trees", "shared trees", "trees, of steps too"
PENALTIES = (10.0, 3.0, 1.0, 0.3, 0.1)
AMINO_ACIDS = "ACDEFGHIKLMNPQRSTVWY"
WINDOW = 7

Key = tuple[str, str, int]  # task, learner, rounds (0: linear)
Sequences = list[tuple[Floats, list[str]]]


@dataclass(frozen=True)
class Task:
    """Sequences of rows and labels, and how many are learned from, chosen on and tested on."""

    name: str
    about: str
    sequences: Sequences
    sizes: tuple[int, int, int]
    learners: tuple[str, ...]

    def split(self, seed: int) -> tuple[Sequences, Sequences, Sequences]:
        """Return training, dev and test sequences."""
        order = np.random.default_rng(seed).permutation(len(self.sequences)).tolist()
        a, b, c = np.cumsum(self.sizes).tolist()
        parts = order[:a], order[a:b], order[b:c]
        first, second, third = ([self.sequences[i] for i in part] for part in parts)
        return first, second, third


def make(given: Given) -> TreeBoosting:
    """Return the experiment: on the corpora, or quick, on generated data."""
    if given.quick:
        return TreeBoosting([_generated()], given, (5, 20), 2)
    return TreeBoosting([_letters(given), _proteins(given)], given, (10, 30, 100), 3)


def _letters(given: Given) -> Task:
    with np.load(given.file("ocr/ocr_letters.npz"), allow_pickle=False) as found:
        pixels, labels, at = found["pixels"], found["labels"], found["word_offsets"].tolist()
    names = np.array([chr(ord("a") + i) for i in range(26)], dtype=object)
    words = [(pixels[a:b].astype(np.float64), names[labels[a:b]].tolist()) for a, b in pairwise(at)]
    about = "ocr: handwritten words, 26 letters, 128 pixels; 600 words to learn from"
    return Task("letters", about, words, (600, 200, 1000), (LINEAR, SHARED))


def _proteins(given: Given) -> Task:
    text = gzip.decompress(given.file("protein/cb513.tsv.gz").read_bytes()).decode()
    chains: Sequences = []
    for block in text.split("\n\n"):
        lines = [line.split("\t") for line in block.splitlines() if line and not line.startswith("#")]
        if lines:
            which = np.array([AMINO_ACIDS.find(line[0]) for line in lines])
            rows = (which[:, None] == np.arange(len(AMINO_ACIDS))).astype(np.float64)
            chains.append((rows, [line[1] for line in lines]))
    about = "cb513: proteins, three kinds of secondary structure, 20 amino acids; 150 domains to learn from"
    return Task("proteins", about, chains, (150, 50, 200), (LINEAR, TREES, SHARED, STEPS))


def _generated() -> Task:
    rng = np.random.default_rng(0)
    made: Sequences = []
    for _ in range(160):
        rows = (rng.random((8, 4)) > 0.5).astype(np.float64)
        odd = rows[:, 0] != rows[:, 1]
        made.append((rows, ["odd" if one else "even" for one in odd.tolist()]))
    return Task(
        "parity", "generated: labels are the exclusive or of two columns", made, (60, 40, 60), (LINEAR, TREES)
    )


@dataclass(frozen=True)
class TreeBoosting(Keyed[Key]):
    """The experiment on some tasks."""

    tasks: list[Task]
    given: Given
    rounds: tuple[int, ...]
    runs: int

    @property
    def settings(self) -> dict[str, Any]:
        """What the numbers depend on."""
        return {
            "penalties": list(PENALTIES),
            "rounds": list(self.rounds),
            "sizes": {t.name: list(t.sizes) for t in self.tasks},
        }

    def measure(self, quantity: Quantity, seed: int) -> float:
        """Return the share of wrong labels of the test part, in percent."""
        name, learner, rounds = self._keys()[quantity.name]
        task = self._task(name)
        train, dev, test = task.split(seed)
        crf = self._fitted(task, learner, rounds, train, dev, seed)
        return 100.0 * _error(crf, _seen(task, learner, test))

    def _fitted(
        self, task: Task, learner: str, rounds: int, train: Sequences, dev: Sequences, seed: int
    ) -> ChainCRF | BoostedCRF:
        threads = self.given.threads
        if learner == LINEAR:
            train, dev = _seen(task, learner, train), _seen(task, learner, dev)
            tried = [
                ChainCRF(objective=Likelihood(l2=l2), n_jobs=threads).fit(*_columns(train))
                for l2 in PENALTIES
            ]
            return min(tried, key=lambda crf: _error(crf, dev))
        options = Boosting(
            rounds=rounds,
            leaves=32 if learner == SHARED else 8,
            shared=learner == SHARED,
            steps=learner == STEPS,
            features=0.2,
            subsample=0.5,
        )
        window = WINDOW if task.name == "proteins" else 0
        crf = BoostedCRF(boosting=options, window=window, random_state=seed, n_jobs=threads)
        return crf.fit(*_columns(train), dev=_columns(dev))

    def page(self, found: Mapping[str, Result]) -> Page:
        """Return the table, the figure, and what follows."""
        last, most = self._known(found), self.rounds[-1]
        rows = [
            [
                task.name,
                learner,
                with_interval(last.get((task.name, learner, 0 if learner == LINEAR else most))),
            ]
            for task in self.tasks
            for learner in task.learners
        ]
        return Page(
            [
                "Section 2.5 of the report has no numbers; Dietterich et al. found trees as good as linear "
                "potentials, or better. Error of labels in percent, "
                "each the most probable one of its position. The penalty of the linear chain and the "
                "number of rounds (up to the given one) are chosen on the dev part.",
                "\n".join(f"- {task.name}: {task.about}" for task in self.tasks),
            ],
            [_claim(task, last, most) for task in self.tasks],
            [Table("Error of labels", ["task", "potentials", "error %"], rows)],
            [self._figure(last)] if found else [],
        )

    def _keys(self) -> dict[str, Key]:
        made: dict[str, Key] = {}
        for task in self.tasks:
            for learner in task.learners:
                if learner == LINEAR:
                    made[f"{task.name}, {learner}"] = (task.name, learner, 0)
                for rounds in () if learner == LINEAR else self.rounds:
                    made[f"{task.name}, {learner}, {rounds} rounds"] = (task.name, learner, rounds)
        return made

    def _figure(self, found: Mapping[Key, Result]) -> Figure:
        panels: dict[str, dict[str, Line]] = {}
        for task in self.tasks:
            panels[task.name] = {
                one: Line.of({n: found.get((task.name, one, 0 if one == LINEAR else n)) for n in self.rounds})
                for one in task.learners
            }
        title = "Error of labels by the number of rounds, with 95 % intervals"
        return Figure("error-by-rounds", title, "rounds", "error, percent", panels)


def _claim(task: Task, found: Mapping[Key, Result], rounds: int) -> Claim:
    text = f"{task.name}: sums of trees are at least as good as linear potentials"
    linear = found.get((task.name, LINEAR, 0))
    trees = [one for learner in task.learners if (one := found.get((task.name, learner, rounds))) is not None]
    if linear is None or not trees:
        return Claim(text, None, "not measured yet")
    best = min(one.ours for one in trees)
    return Claim(text, best <= linear.ours, f"error {best:.1f} against {linear.ours:.1f} %")


def _error(crf: ChainCRF | BoostedCRF, sequences: Sequences) -> float:
    """Return the share of positions whose most probable label is wrong."""
    X, y = _columns(sequences)
    shares = crf.predict_proba(X)
    found = crf.classes_[np.concatenate([share.argmax(axis=1) for share in shares])]
    return float(np.mean(found != np.concatenate([np.array(labels, dtype=object) for labels in y])))


def _columns(sequences: Sequences) -> tuple[list[Floats], list[list[str]]]:
    return [rows for rows, _ in sequences], [labels for _, labels in sequences]


def _seen(task: Task, learner: str, sequences: Sequences) -> Sequences:
    """Return what a learner is given: the linear chain sees the same window as the trees."""
    if learner != LINEAR or task.name != "proteins":
        return sequences
    return [
        (windowed(rows, np.array([0, len(rows)]), WINDOW).astype(np.float64), labels)
        for rows, labels in sequences
    ]
