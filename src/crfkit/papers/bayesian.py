"""Qi, Szummer & Minka (2005): averaging over the posterior of the weights against the best weights.

The paper, which Gupta (2005) names in section 8, has data that are not at hand. Here scenes have six labels
that depend on each other (Boutell et al. 2004), each image is a graph of six binary variables with all pairs,
and few images are there to learn from, where a posterior should matter most.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from crfkit.arrays import Floats
from crfkit.estimators.classic.bayesian import BayesianCRF
from crfkit.papers.experiment import Given, Quantity
from crfkit.papers.page import Claim, Page, Table
from crfkit.papers.report import with_interval
from crfkit.papers.results import Result
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.structures.graphs.graph import Graph

NAMES = ("beach", "sunset", "foliage", "field", "mountain", "urban")
MODELS = ("best weights", "mean of the posterior", "averaged over the posterior")
MEASURES = ("error", "log loss")
COMPONENTS = 10
VARIANCE = 1.0


class Images(NamedTuple):
    """Features and labels of images."""

    x: Floats  #: [N, columns]
    y: Any  #: [N, 6] 0 or 1


def make(given: Given) -> Bayesian:
    """Return the experiment with its data; `quick` draws images of its own."""
    if given.quick:
        return Bayesian(*_drawn(), (10,), 2, given.threads)
    with np.load(given.file("scene/scene.npz"), allow_pickle=False) as found:
        train = Images(found["X_train"].astype(np.float64), found["y_train"].astype(np.int32))
        test = Images(found["X_test"].astype(np.float64), found["y_test"].astype(np.int32))
    return Bayesian(*_reduced(train, test), (25, 50), 5, given.threads)


def _reduced(train: Images, test: Images) -> tuple[Images, Images]:
    """Return images by a constant and the first principal components of the training images, scaled to 1."""
    mean = train.x.mean(axis=0)
    _, length, right = np.linalg.svd(train.x - mean, full_matrices=False)
    turn = right[:COMPONENTS].T / (length[:COMPONENTS] / np.sqrt(len(train.x)))
    made = [Images(np.column_stack([np.ones(len(x)), (x - mean) @ turn]), y) for x, y in (train, test)]
    return made[0], made[1]


def _drawn() -> tuple[Images, Images]:
    rng = np.random.default_rng(0)
    turn, made = rng.normal(size=(3, len(NAMES))), []
    for n in (100, 200):
        x = np.column_stack([np.ones(n), rng.normal(size=(n, 2))])
        made.append(Images(x, (x @ turn + rng.normal(size=(n, len(NAMES))) > 0).astype(np.int32)))
    return made[0], made[1]


@dataclass(frozen=True, eq=False)
class Bayesian:
    """The experiment; every run draws its own images for training."""

    train: Images
    test: Images
    sizes: tuple[int, ...]
    runs: int
    threads: int | None
    settings: Mapping[str, Any] = field(
        default_factory=lambda: {"components": COMPONENTS, "variance": VARIANCE}
    )

    _kept: dict[tuple[int, int], dict[str, Floats]] = field(default_factory=dict)

    def quantities(self) -> list[Quantity]:
        """Return errors and log losses of the models, for each number of images."""
        return [
            Quantity(f"{measure}, {n} images, {model}", None, "scene")
            for n in self.sizes
            for model in MODELS
            for measure in MEASURES
        ]

    def measure(self, quantity: Quantity, seed: int) -> float:
        """Return the share of wrong labels in percent, or the mean of -log p of the right ones."""
        measure, size, model = quantity.name.split(", ")
        found = self._probabilities(int(size.split()[0]), seed)[model]  # [N, 6] of label 1
        y = self.test.y
        if measure == "error":
            return 100.0 * float(((found > 0.5) != y).mean())
        return float(-np.log(np.where(y == 1, found, 1.0 - found)).mean())

    def _probabilities(self, n: int, seed: int) -> dict[str, Floats]:
        if (n, seed) not in self._kept:
            self._kept.clear()
            self._kept[n, seed] = self._trained(n, seed)
        return self._kept[n, seed]

    def _trained(self, n: int, seed: int) -> dict[str, Floats]:
        chosen = np.random.default_rng(seed).choice(len(self.train.x), n, replace=False)
        graph = Graph(
            dict.fromkeys(NAMES, 2),
            **{name: [name] for name in NAMES},
            **{f"{a}+{b}": [a, b] for a, b in combinations(NAMES, 2)},
        )
        train = _batch(graph, Images(self.train.x[chosen], self.train.y[chosen]))
        test = _batch(graph, self.test)
        crf = BayesianCRF(
            graph, variance=VARIANCE, selection="all", samples=50, random_state=seed, n_jobs=self.threads
        )
        crf.fit(train)
        every: tuple[Any, ...] = (
            crf.map_.predict_proba(test, threads=self.threads),
            crf.model_.predict_proba(test, threads=self.threads),
            crf.predict_proba(test),
        )
        return {
            model: np.column_stack([p[name][:, 1] for name in NAMES])
            for model, p in zip(MODELS, every, strict=True)
        }

    def page(self, found: Mapping[str, Result]) -> Page:
        """Return errors and losses side by side, and whether averaging wins."""
        tables = []
        for measure, digits in zip(MEASURES, (1, 3), strict=True):
            rows = [
                [str(n), *(with_interval(found.get(f"{measure}, {n} images, {m}"), digits) for m in MODELS)]
                for n in self.sizes
            ]
            title = "Wrong labels in percent" if measure == "error" else "Log loss of a label"
            tables.append(Table(title, ["images for training", *MODELS], rows))
        return Page(
            [
                f"Each run draws images for training; {len(self.test.x)} images are for testing. Features "
                f"are {COMPONENTS} principal components and a constant; the prior has variance "
                f"{VARIANCE:g}. The paper's data are not at hand, so its numbers are not shown."
            ],
            [self._claim(found, measure) for measure in MEASURES],
            tables,
        )

    def _claim(self, found: Mapping[str, Result], measure: str) -> Claim:
        text = f"averaging over the posterior has a lower {measure} than the best weights"
        pairs = [
            (
                found.get(f"{measure}, {n} images, {MODELS[0]}"),
                found.get(f"{measure}, {n} images, {MODELS[2]}"),
            )
            for n in self.sizes
        ]
        if any(one is None for pair in pairs for one in pair):
            return Claim.missing(text)
        means = [(best.ours, averaged.ours) for best, averaged in pairs if best and averaged]
        return Claim(
            text, all(b < a for a, b in means), "; ".join(f"{b:.3g} against {a:.3g}" for a, b in means)
        )


def _batch(graph: Graph, images: Images) -> GraphBatch:
    return graph.batch(
        graph_ptr=np.arange(len(images.x) + 1),
        labels={name: images.y[:, i] for i, name in enumerate(NAMES)},
        features=dict.fromkeys(NAMES, images.x),
    )
