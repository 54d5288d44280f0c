"""Sutton & McCallum (2006), section 1.3.2: how long the training of a chain takes.

They report under two hours for a named-entity task with 11 labels and 200,000 words, and over a week for
parts of speech with 45 labels and a million words. Both sizes are trained here until the objective is
certified to be within 0.01 % of its optimum.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from crfkit.data.formats.columns import Columns
from crfkit.data.reading import read
from crfkit.features import Extractor, Recipe
from crfkit.metrics import token_scores
from crfkit.models.model import SequenceModel
from crfkit.objectives import Likelihood
from crfkit.papers.curves import curve_of
from crfkit.papers.experiment import Given, Quantity, Reading
from crfkit.papers.page import Claim, Figure, Line, Page, Table
from crfkit.papers.results import Result
from crfkit.training.train import train

Sentence = Sequence[tuple[str, ...]]

ENTITIES = """
bias; word[-2..2]; lower(word)[0]; pos[-2..2]; shape(word)[-1..1]; prefix(word, 3)[0]; suffix(word, 3)[0]
word[-1] & word[0]; word[0] & word[1]; pos[-1] & pos[0]; pos[0] & pos[1]
"""
PARTS_OF_SPEECH = """
bias; word[-2..2]; lower(word)[0]; shape(word)[0]; prefix(word, 1)[0]; prefix(word, 3)[0]
suffix(word, 1)[0]; suffix(word, 2)[0]; suffix(word, 3)[0]; word[-1] & word[0]
"""
L2 = 1.0
TAGS = 45


@dataclass(frozen=True)
class Task:
    """A size of the paper: its minutes, and sentences of as many words."""

    name: str
    paper: float  #: minutes
    under: bool  #: whether the paper says under, or over
    data: str
    columns: tuple[str, ...]  #: the last one is the label
    features: str
    words: int  #: that are trained on; the rest is tested on
    sentences: Callable[[], Sequence[Sentence]]

    def split(self, seed: int) -> tuple[Columns, Columns]:
        """Return sentences drawn at random, with as many words as asked for, and all others."""
        sentences = self.sentences()
        order = np.random.default_rng(seed).permutation(len(sentences))
        ends = np.cumsum([len(sentences[i]) for i in order])
        cut = int(np.searchsorted(ends, self.words, side="right"))
        if cut >= len(order):
            raise ValueError(f"{self.data} has {ends[-1]:,} words, expected more than {self.words:,}")
        parts = ([sentences[i] for i in some] for some in (order[:cut], order[cut:]))
        train, test = (Columns.from_rows(rows, names=list(self.columns)) for rows in parts)
        return train, test


def make(given: Given) -> TrainingCost:
    """Return the experiment: on corpora of these sizes, or quick, on small generated ones."""
    if given.quick:
        small = partial(_generated, 200, 4)
        return TrainingCost(
            [
                Task("entities", 120.0, True, "generated", ("word", "tag"), "word[-1..1]", 1000, small),
                Task("parts of speech", 10080.0, False, "generated", ("word", "tag"), "word[0]", 1500, small),
            ],
            given.threads,
        )
    spanish, brown = given.file("conll2002/esp.train.gz"), given.file("brown/brown.txt.gz")
    return TrainingCost(
        [
            Task(
                "entities",
                120.0,
                True,
                "conll2002, Spanish, 9 labels",
                ("word", "pos", "tag"),
                ENTITIES,
                200_000,
                lambda: list(_columns(spanish)),
            ),
            Task(
                "parts of speech",
                10080.0,
                False,
                f"brown, the {TAGS} most common tags",
                ("word", "tag"),
                PARTS_OF_SPEECH,
                1_000_000,
                lambda: common_tags(list(_columns(brown)), TAGS),
            ),
        ],
        given.threads,
    )


@dataclass(frozen=True)
class TrainingCost:
    """The experiment on tasks of some sizes."""

    tasks: Sequence[Task]
    threads: int | None
    runs: int = 1
    models: dict[tuple[str, int], tuple[SequenceModel, float]] = field(
        default_factory=dict
    )  #: with the accuracy

    @property
    def settings(self) -> dict[str, Any]:
        """What the numbers depend on."""
        return {"l2": L2, "words": [task.words for task in self.tasks], "threads": self.threads}

    def quantities(self) -> list[Quantity]:
        """Return minutes, passes and accuracy of each task."""
        made = []
        for task in self.tasks:
            made += [
                Quantity(f"minutes to train {task.name}", task.paper, task.data),
                Quantity(f"labels of {task.name}", 11.0 if task.under else 45.0, task.data),
                Quantity(f"passes over {task.name}", None, task.data),
                Quantity(f"percent above the optimum, {task.name}", None, task.data),
                Quantity(f"accuracy on {task.name} in percent", None, task.data),
            ]
        return made

    def measure(self, quantity: Quantity, seed: int) -> float | Reading:
        """Return the minutes with their curve, or another number of the same training."""
        task = next(task for task in self.tasks if quantity.name.find(task.name) >= 0)
        model, accuracy = self._trained(task, seed)
        summary = model.training
        assert summary is not None
        if quantity.name.startswith("minutes"):
            return Reading(summary.seconds / 60.0, curve_of(model))
        if quantity.name.startswith("labels"):
            return float(len(model.labels))
        if quantity.name.startswith("passes"):
            return summary.passes
        return accuracy if quantity.name.startswith("accuracy") else 100.0 * summary.gap / summary.loss

    def page(self, found: Mapping[str, Result]) -> Page:
        """Return the times side by side, the curves, and whether they are as long as in the paper."""
        rows = []
        for task in self.tasks:
            told = f"{'under' if task.under else 'over'} {task.paper / 60:g} hours"
            others = [
                found.get(name.format(task.name))
                for name in (
                    "labels of {}",
                    "passes over {}",
                    "percent above the optimum, {}",
                    "accuracy on {} in percent",
                )
            ]
            time = found.get(f"minutes to train {task.name}")
            rows.append(
                [
                    f"{task.name}: {task.data}",
                    f"{task.words:,}",
                    told,
                    "-" if time is None else f"{60.0 * time.ours:.1f} seconds",
                    *("-" if one is None else f"{one.ours:.3g}" for one in others),
                ]
            )
        curves = {
            task.name: next(iter(one.series.values()))
            for task in self.tasks
            if (one := found.get(f"minutes to train {task.name}"))
        }
        header = ["task", "words", "paper", "ours", "labels", "passes", "% above the optimum", "accuracy"]
        return Page(
            [
                f"l2 = {L2:g}, the method that crfkit takes by default, until the objective is certified "
                "to be within 0.01 % of its optimum. The paper does not name its data, features or "
                "hardware (of 2006); words that are left over are tested on. Seconds are those of "
                "training, without reading and features."
            ],
            [_claim(task, found.get(f"minutes to train {task.name}")) for task in self.tasks],
            [Table("Time to train", header, rows)],
            [_figure(curves)] if curves else [],
        )

    def _trained(self, task: Task, seed: int) -> tuple[SequenceModel, float]:
        if (task.name, seed) not in self.models:
            train_on, test_on = task.split(seed)
            extract = Extractor(Recipe.parse(task.features), label=task.columns[-1])
            data = extract(train_on, self.threads)
            model = train(
                data, objective=Likelihood(l2=L2), random_state=seed, n_jobs=self.threads, progress=False
            )
            found = model.predict(extract.freeze()(test_on, self.threads), threads=self.threads)
            gold = [[row[-1] for row in sentence] for sentence in test_on]
            self.models.clear()
            self.models[task.name, seed] = model, 100.0 * token_scores(gold, found).accuracy
        return self.models[task.name, seed]


def common_tags(sentences: Sequence[Sentence], most: int) -> list[Sentence]:
    """Keep the most common tags, without what follows a hyphen, and call all others by one name.

    Examples
    --------
    >>> common_tags([[("The", "at-tl"), ("dog", "nn")], [("the", "at")]], 2)
    [[('The', 'at'), ('dog', 'other')], [('the', 'at')]]
    """
    plain = [[(word, tag.split("-")[0] or tag) for word, tag in one] for one in sentences]
    counts = Counter(tag for one in plain for _, tag in one)
    kept = {tag for tag, _ in counts.most_common(most - 1)}
    return [[(word, tag if tag in kept else "other") for word, tag in one] for one in plain]


def _columns(path: Any) -> Columns:
    columns = read(path)
    assert isinstance(columns, Columns)
    return columns


def _generated(n: int, labels: int) -> list[Sentence]:
    draw = random.Random(0)
    return [
        [(f"w{draw.randint(0, 9) + 7 * (tag := draw.randrange(labels))}", f"t{tag}") for _ in range(10)]
        for _ in range(n)
    ]


def _claim(task: Task, time: Result | None) -> Claim:
    text = f"{task.name}: training takes {'under two hours' if task.under else 'over a week'}"
    if time is None:
        return Claim.missing(text)
    return Claim(text, (time.ours < task.paper) is task.under, f"{60.0 * time.ours:.1f} seconds here")


def _figure(curves: Mapping[str, Mapping[str, Sequence[float]]]) -> Figure:
    lines = {
        name: Line(
            one["seconds"], [max(100.0 * (x / min(one["objective"]) - 1.0), 1e-3) for x in one["objective"]]
        )
        for name, one in curves.items()
    }
    return Figure(
        "training", "Training in time", "seconds", "% above the best objective", {"": lines}, log="xy"
    )
