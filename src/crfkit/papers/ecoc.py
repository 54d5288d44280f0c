"""Gupta (2005) section 4.1, after Cohn, Smith & Osborne (2005): codes of binary chains for large label sets.

One chain against random codes of binary chains, by the number of columns and by decoder: the error of tags,
and the processor time of training, which codes are meant to save.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from crfkit.data.dataset import Dataset
from crfkit.estimators import ChainCRF
from crfkit.estimators.classic import CodeCRF
from crfkit.objectives import Likelihood
from crfkit.papers.corpora import Rows, dataset
from crfkit.papers.experiment import Given, Keyed, Quantity
from crfkit.papers.page import Claim, Figure, Line, Page, Table
from crfkit.papers.report import with_interval
from crfkit.papers.results import Result

ONE = "one chain"
SECONDS = "processor seconds"
#: The decoders of section 4.1, in its order.
DECODERS: dict[str, Any] = {
    "nearest to best bits": "hamming",
    "nearest to marginals": "marginals",
    "product": "product",
}
L2 = 0.1  # of all learners
TEMPLATE = (
    "w[-1..1]; lower(w)[0]; suffix(w, 1)[0]; suffix(w, 2)[0]; suffix(w, 3)[0]; prefix(w, 2)[0]; shape(w)[0]"
)

Key = tuple[str, int, str]  # task, columns (0: one chain), decoder or seconds


@dataclass(frozen=True)
class Task:
    """Tagged sentences, and how many are learned from and tested on."""

    name: str
    about: str
    rows: Rows  #: of words and tags; what stands between is not used
    sizes: tuple[int, int]
    columns: tuple[int, ...]

    def split(self, seed: int) -> tuple[Dataset, Dataset]:
        """Return training and test sentences; the labels are those of the training sentences."""
        order = np.random.default_rng(seed).permutation(len(self.rows)).tolist()
        n, m = self.sizes
        parts = [[self.rows[i] for i in part] for part in (order[:n], order[n : n + m])]
        train, test = (
            dataset([[(row[0], row[-1]) for row in rows] for rows in part], ["w", "y"], TEMPLATE)
            for part in parts
        )
        return train, test


def make(given: Given) -> Ecoc:
    """Return the experiment: on the corpora, or quick, on generated sentences."""
    if given.quick:
        return Ecoc([_generated()], given, 2)
    brown = Task(
        "brown",
        "brown: English, 800 sentences to learn from (about 180 tags), 500 to test on",
        [*given.columns("brown/brown.txt.gz", ["w", "y"])],
        (800, 500),
        (10, 20, 40),
    )
    web = Task(
        "ud",
        "ud en_ewt, xpos of train: English of the web, 800 sentences to learn from, 500 to test on",
        [*given.columns("ud/en_ewt.train.txt.gz", ["w", "u", "y"])],
        (800, 500),
        (10, 20),
    )
    return Ecoc([brown, web], given, 2)


def _generated() -> Task:
    """Return words that show one of 12 tags with errors, in sentences where tags follow each other."""
    rng = np.random.default_rng(0)
    rows: Rows = []
    for _ in range(260):
        tag, row = int(rng.integers(0, 12)), list[tuple[str, ...]]()
        for _ in range(int(rng.integers(3, 9))):
            shown = tag if rng.random() < 0.7 else int(rng.integers(0, 12))
            row.append((f"w{shown}", f"T{tag}"))
            tag = (tag + 1) % 12 if rng.random() < 0.6 else int(rng.integers(0, 12))
        rows.append(row)
    return Task("generated", "generated: 12 tags", rows, (160, 100), (5, 20))


@dataclass(frozen=True)
class Ecoc(Keyed[Key]):
    """The experiment on some tasks."""

    tasks: Sequence[Task]
    given: Given
    runs: int
    learned: dict[tuple[str, int, int], Any] = field(default_factory=dict)  #: what was trained last

    @property
    def settings(self) -> dict[str, Any]:
        """What the numbers depend on."""
        return {"l2": L2, "sizes": {t.name: list(t.sizes) for t in self.tasks}, "template": TEMPLATE}

    def measure(self, quantity: Quantity, seed: int) -> float:
        """Return the error of tags in percent, or the processor time of training."""
        name, columns, what = self._keys()[quantity.name]
        crf, seconds, test = self._trained(name, columns, seed)
        if what == SECONDS:
            return seconds
        if columns:
            crf.set_params(decoder=DECODERS[what])
        return 100.0 * (1.0 - float(crf.score(test)))

    def _trained(self, name: str, columns: int, seed: int) -> tuple[Any, float, Dataset]:
        """Return a learner, trained once for all its numbers, which are measured one after the other."""
        key = (name, columns, seed)
        if key not in self.learned:
            self.learned.clear()
            train, test = self._task(name).split(seed)
            shared: dict[str, Any] = {
                "objective": Likelihood(l2=L2),
                "metric": "accuracy",
                "n_jobs": self.given.threads,
            }
            crf = CodeCRF(columns=columns, random_state=seed, **shared) if columns else ChainCRF(**shared)
            begun = time.process_time()
            crf.fit(train)
            self.learned[key] = crf, time.process_time() - begun, test
        found: tuple[Any, float, Dataset] = self.learned[key]
        return found

    def page(self, found: Mapping[str, Result]) -> Page:
        """Return the table, the figures, and what follows."""
        known = self._known(found)
        rows = []
        for task in self.tasks:
            one = [with_interval(known.get((task.name, 0, what))) for what in (ONE, SECONDS)]
            rows.append([task.name, ONE, "-", "-", *one])
            for n in task.columns:
                cells = [with_interval(known.get((task.name, n, what))) for what in (*DECODERS, SECONDS)]
                rows.append([task.name, f"{n} columns", *cells])
        header = ["task", "learner", *DECODERS, SECONDS]
        return Page(
            [
                "Section 4.1 of the report has no numbers; Cohn, Smith & Osborne (2005) found the product "
                "the best of three decoders. Error of tags in percent; random codes; processor time of "
                f"training on all threads together. l2 is {L2:g} throughout and was not tuned. "
                "The error of one chain stands under product.",
                "\n".join(f"- {task.name}: {task.about}" for task in self.tasks),
            ],
            self._claims(known),
            [Table("Error of tags, and training", header, rows)],
            self._figures(known) if known else [],
        )

    def _claims(self, known: Mapping[Key, Result]) -> list[Claim]:
        cases = [(task.name, n) for task in self.tasks for n in task.columns]
        texts = (
            "the product is the best decoder",
            "more columns lower the error of the product",
            "codes take less processor time to train than one chain",
        )
        if any(key not in known for key in self._keys().values()):
            return [*map(Claim.missing, texts)]
        ours = {key: one.ours for key, one in known.items()}
        best = sum(all(ours[(*c, "product")] <= ours[(*c, one)] for one in DECODERS) for c in cases)
        falls = all(
            ours[task.name, more, "product"] < ours[task.name, fewer, "product"]
            for task in self.tasks
            for fewer, more in zip(task.columns, task.columns[1:], strict=False)
        )
        ends = ", ".join(
            f"{task.name} {ours[task.name, task.columns[0], 'product']:.1f} to "
            f"{ours[task.name, task.columns[-1], 'product']:.1f} %, one chain {ours[task.name, 0, ONE]:.1f} %"
            for task in self.tasks
        )
        faster = [f"{name} {n}" for name, n in cases if ours[name, n, SECONDS] < ours[name, 0, SECONDS]]
        told = f"of {len(cases)} codes these do: {', '.join(faster) or 'none'}"
        return [
            Claim(texts[0], best == len(cases), f"in {best} of {len(cases)} cases"),
            Claim(texts[1], falls, ends),
            Claim(texts[2], len(faster) == len(cases), told),
        ]

    def _keys(self) -> dict[str, Key]:
        made: dict[str, Key] = {}
        for task in self.tasks:
            for what in (ONE, SECONDS):
                made[f"{task.name}, {ONE}: {'error' if what == ONE else what}"] = (task.name, 0, what)
            for n, what in product(task.columns, (*DECODERS, SECONDS)):
                made[f"{task.name}, {n} columns: {what}"] = (task.name, n, what)
        return made

    def _figures(self, known: Mapping[Key, Result]) -> list[Figure]:
        error: dict[str, dict[str, Line]] = {}
        seconds: dict[str, dict[str, Line]] = {}
        for task in self.tasks:
            name, columns = task.name, task.columns
            curves = {what: _line(known, name, columns, what) for what in DECODERS}
            error[name] = {**curves, ONE: _line(known, name, columns, ONE)}
            seconds[name] = {
                "codes": _line(known, name, columns, SECONDS),
                ONE: _line(known, name, columns, SECONDS, flat=True),
            }
        return [
            Figure("error", "Error of tags by the number of columns", "columns", "error, %", error),
            Figure("seconds", "Processor time of training", "columns", "seconds", seconds),
        ]


def _line(
    known: Mapping[Key, Result], name: str, columns: Sequence[int], what: str, *, flat: bool = False
) -> Line:
    """Return the numbers of codes by their columns, or that of one chain for all of them.

    Without intervals: those of two runs would hide the curves.
    """
    keys: dict[int, Key] = {n: (name, 0 if flat or what == ONE else n, what) for n in columns}
    here = {n: known[key] for n, key in keys.items() if key in known}
    return Line([float(n) for n in here], [one.ours for one in here.values()])
