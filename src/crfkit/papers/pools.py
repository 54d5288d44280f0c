"""Gupta (2005) section 2.6, after Smith, Cohn & Osborne (2005): pools of unregularized chains.

One chain without a penalty overfits. The usual remedy is a penalty, whose strength must be searched for;
another is to pool it with unregularized experts on subsets of its features, whose weights are learned. Both
choose on the same held-out sentences here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from crfkit.data.dataset import Dataset
from crfkit.estimators import ChainCRF
from crfkit.estimators.classic import OpinionPool
from crfkit.objectives import Likelihood
from crfkit.papers.corpora import Rows, dataset
from crfkit.papers.experiment import Given, Keyed, Quantity
from crfkit.papers.page import Claim, Figure, Line, Page, Table
from crfkit.papers.report import with_interval
from crfkit.papers.results import Result

PLAIN, PENALIZED = "one chain, no penalty", "one chain, l2 chosen"
#: Experts of each pool, beside the chain without a penalty.
POOLS: dict[str, dict[str, Any]] = {
    "pool, random": {"subsets": "random", "experts": 5},
    "pool, positional": {"subsets": "positional"},
    "pool, label": {"subsets": "label", "experts": 4},
}
LEARNERS = (PLAIN, PENALIZED, *POOLS)
PENALTIES = (10.0, 1.0, 0.1, 0.01)
NEAR = 0.5  # points of F1 that count as comparable
NAMES = ("w", "p", "y")
LABELS = ("O", "B-X", "B-Y", "B-Z")  # of generated sentences

TEMPLATE = (
    "w[-2..2]; p[-2..2]; w[-1] & w[0]; w[0] & w[1]; p[-1] & p[0]; p[0] & p[1]; shape(w)[-1..1]; "
    "prefix(w, 3)[0]; suffix(w, 3)[0]; lower(w)[0]"
)

Key = tuple[str, str, int]  # task, learner, sentences


@dataclass(frozen=True)
class Task:
    """Sentences to learn from, to choose on, and to test on."""

    name: str
    about: str
    train: Dataset
    dev: Dataset
    test: Dataset

    def sentences(self, seed: int, size: int) -> Dataset:
        """Return `size` training sentences; fewer are the first of more."""
        return self.train[np.random.default_rng(seed).permutation(len(self.train))[:size]]


def make(given: Given) -> Pools:
    """Return the experiment: on the corpora, or quick, on generated sentences."""
    if given.quick:
        return Pools([_generated()], given, (20, 60), 2)
    entities = _task(
        "entities",
        "conll2002 esp: Spanish names, 300 sentences of testa to choose on, 1,000 of testb to test on",
        [[*given.columns(f"conll2002/esp.{name}.gz", NAMES)] for name in ("train", "testa", "testb")],
    )
    chunks, test = ([*given.columns(f"conll2000/{name}.txt.gz", NAMES)] for name in ("train", "test"))
    phrases = _task(
        "chunks",
        "conll2000: English phrases, the last 300 training sentences to choose on, 1,000 of test to test on",
        [chunks[:-300], chunks[-300:], test],
    )
    return Pools([entities, phrases], given, (125, 250, 500, 1000), 2)


def _task(name: str, about: str, parts: Sequence[Rows]) -> Task:
    few = zip(parts, (4000, 300, 1000), strict=True)
    return Task(name, about, *(dataset(rows[:most], NAMES, TEMPLATE) for rows, most in few))


def _generated() -> Task:
    """Return sentences of words that show their label with errors, and much that means nothing."""
    rng = np.random.default_rng(0)
    rows: Rows = []
    for _ in range(300):
        row: list[tuple[str, ...]] = []
        for label in rng.choice(LABELS, rng.integers(3, 8), p=[0.4, 0.2, 0.2, 0.2]):
            kind = label if rng.random() < 0.7 else rng.choice(LABELS)
            row.append((f"{kind}{rng.integers(0, 30)}", str(rng.integers(0, 9)), str(label)))
        rows.append(row)
    about = "generated: words that show their label in 7 of 10 cases"
    return _task("generated", about, [rows[:100], rows[100:150], rows[150:]])


@dataclass(frozen=True)
class Pools(Keyed[Key]):
    """The experiment on some tasks."""

    tasks: Sequence[Task]
    given: Given
    sizes: tuple[int, ...]
    runs: int

    @property
    def settings(self) -> dict[str, Any]:
        """What the numbers depend on."""
        return {"penalties": list(PENALTIES), "sentences": list(self.sizes), "template": TEMPLATE}

    def measure(self, quantity: Quantity, seed: int) -> float:
        """Return the F1 of segments on the test sentences, in percent."""
        name, learner, size = self._keys()[quantity.name]
        task = self._task(name)
        crf = self._fitted(learner, task.sentences(seed, size), task.dev, seed)
        return 100.0 * crf.score(task.test)

    def _fitted(self, learner: str, train: Dataset, dev: Dataset, seed: int) -> ChainCRF:
        shared: dict[str, Any] = {"metric": "span_f1", "n_jobs": self.given.threads}
        free = Likelihood(l2=0.0)
        if learner == PLAIN:
            return ChainCRF(objective=free, **shared).fit(train)
        if learner == PENALIZED:
            tried = [ChainCRF(objective=Likelihood(l2=l2), **shared).fit(train) for l2 in PENALTIES]
            return max(tried, key=lambda crf: crf.score(dev))
        pool = OpinionPool(objective=free, whole=True, random_state=seed, **POOLS[learner], **shared)
        return pool.fit(train, dev=dev)

    def page(self, found: Mapping[str, Result]) -> Page:
        """Return the table, the figure, and what follows."""
        known = self._known(found)
        rows = [
            [task.name, str(size), *(with_interval(known.get((task.name, one, size))) for one in LEARNERS)]
            for task, size in product(self.tasks, self.sizes)
        ]
        return Page(
            [
                "Section 2.6 of the report has no numbers; Smith, Cohn & Osborne (2005) found pools of an "
                "unregularized chain with unregularized experts better than that chain, and close to a "
                "regularized one. F1 of segments in percent, learned from a draw of training sentences.",
                f"The l2 of the regularized chain ({', '.join(f'{one:g}' for one in PENALTIES)}) and the "
                "weights of the pools are chosen on the same sentences, which nothing else is learned from.",
                "\n".join(f"- {task.name}: {task.about}" for task in self.tasks),
            ],
            self._claims(known),
            [Table("F1 of segments", ["task", "sentences", *LEARNERS], rows)],
            [self._figure(known)] if known else [],
        )

    def _claims(self, known: Mapping[Key, Result]) -> list[Claim]:
        cases = list(product((task.name for task in self.tasks), self.sizes))
        texts = (
            (PLAIN, "pools are better than the unregularized chain", 0.0),
            (PENALIZED, f"pools are as good as the regularized chain, within {NEAR:g} of F1", -NEAR),
        )
        if any((name, one, size) not in known for (name, size), one in product(cases, LEARNERS)):
            return [Claim.missing(text) for _, text, _ in texts]
        made = []
        for rival, text, least in texts:
            gains = {
                pool: [known[n, pool, size].ours - known[n, rival, size].ours for n, size in cases]
                for pool in POOLS
            }
            mean = {pool: sum(one) / len(one) for pool, one in gains.items()}
            told = ", ".join(
                f"{pool} {mean[pool]:+.1f} in the mean, {sum(g > least for g in one)} of {len(cases)} cases"
                for pool, one in gains.items()
            )
            made.append(Claim(text, min(mean.values()) > least, told))
        return made

    def _keys(self) -> dict[str, Key]:
        names = [task.name for task in self.tasks]
        return {
            f"{name}, {learner}, {size} sentences": (name, learner, size)
            for name, size, learner in product(names, self.sizes, LEARNERS)
        }

    def _figure(self, known: Mapping[Key, Result]) -> Figure:
        """Return what each learner gains: the intervals of so few runs would hide the curves."""
        panels: dict[str, dict[str, Line]] = {}
        for task, learner in product(self.tasks, LEARNERS[1:]):
            pairs = {n: ((task.name, learner, n), (task.name, PLAIN, n)) for n in self.sizes}
            gains = {
                float(n): known[one].ours - known[plain].ours
                for n, (one, plain) in pairs.items()
                if one in known and plain in known
            }
            panels.setdefault(task.name, {})[learner] = Line([*gains], [*gains.values()])
        title = "F1 above that of the chain without a penalty, by the sentences that are learned from"
        return Figure("pools", title, "sentences", "points of F1", panels)
