"""Gupta (2005) section 6: associative Markov networks, trained and decoded by cuts.

Pixels of images attract their neighbors, the more so the more alike they are; weights of pairs stay at 0 or
more while they are learned (Taskar, Chatalbashev & Koller 2004). With two labels a minimum cut gives the best
labeling. With more, expansion moves come within a factor of 1/2 for pairs; how near they come is measured
against the upper bound of TRW-S.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from crfkit import inference
from crfkit.arrays import Floats, Ids
from crfkit.estimators import GraphCRF
from crfkit.graphs import scopes
from crfkit.inference.methods import TRWS, BeliefPropagation, Expansion, Method, MinCut
from crfkit.objectives import Likelihood, MaxMargin, PseudoLikelihood
from crfkit.papers.experiment import Given, Keyed, Quantity
from crfkit.papers.page import Claim, Page, Table
from crfkit.papers.report import with_interval
from crfkit.papers.results import Result
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.structures.graphs.cliques import Clique
from crfkit.structures.graphs.graph import Graph
from crfkit.structures.graphs.potentials import GraphPotentials
from crfkit.training.stop import Stop

ALONE, PSEUDO, LIKELY, MARGIN = "independent pixels", "pseudo-likelihood", "likelihood by BP", "max-margin"
LEARNERS = (ALONE, PSEUDO, LIKELY, MARGIN)
RIGHT = "right pixels"
#: Of the max-margin network on test images.
GAP, CYCLES, FACTOR, PROVED, SECONDS = (
    "score below the upper bound",
    "cycles of moves",
    "of the bound, scores from 0 on",
    "images proved optimal",
    "seconds of decoding",
)
DETAILS = (GAP, CYCLES, FACTOR, PROVED, SECONDS)
L2, LEVELS, PLACES = 1.0, 4, 8  # penalty; levels of a color, cells of the image along a side

Key = tuple[str, str, str]  # task, learner or "decoding", measure


@dataclass(frozen=True)
class Image:
    """Colors [h, w, 3] from 0 to 1, and labels [h, w]; -1: nobody says."""

    color: Floats
    label: Ids


@dataclass(frozen=True)
class Task:
    """Images; each run draws some to learn from, and tests on some of the others."""

    name: str
    about: str
    labels: int
    images: Sequence[Image]
    sizes: tuple[int, int]  #: images to learn from, and to test on
    seconds: float  #: that a learner may take

    def split(self, seed: int) -> tuple[list[Image], list[Image]]:
        """Return images to learn from, and to test on."""
        order = np.random.default_rng(seed).permutation(len(self.images))[: sum(self.sizes)]
        drawn = [self.images[i] for i in order]
        return drawn[: self.sizes[0]], drawn[self.sizes[0] :]


def make(given: Given) -> Networks:
    """Return the experiment: on images, or quick, on generated ones."""
    if given.quick:
        return Networks([_generated(2), _generated(4)], given, 2)
    horses = _horses(given.file("segmentation/horses_train64.npz"))
    streets = _streets(given.file("segmentation/camvid60x45.npz"))
    return Networks(
        [
            Task("horses", "Weizmann horses, 64 pixels, 40 + 40 images", 2, horses, (40, 40), 40.0),
            Task("camvid", "CamVid, 60 x 45 pixels, 40 + 40 images", 11, streets, (40, 40), 60.0),
        ],
        given,
        3,
    )


def _horses(path: Path) -> list[Image]:
    with np.load(path) as data:
        ptr, shapes = data["node_offsets"], data["shapes"].tolist()
        rgb, labels = data["rgb"] / 255.0, data["labels"].astype(np.int32)
    return [
        Image(rgb[a:b].reshape(*shape, 3), labels[a:b].reshape(shape))
        for (a, b), shape in zip(pairwise(ptr.tolist()), shapes, strict=True)
    ]


def _streets(path: Path) -> list[Image]:
    with np.load(path) as data:
        parts = [(data[f"{part}_rgb"] / 255.0, data[f"{part}_labels"]) for part in ("train", "val")]
    return [
        Image(rgb, np.where(label == 11, -1, label.astype(np.int32)).astype(np.int32))
        for colors, labels in parts
        for rgb, label in zip(colors, labels, strict=True)
    ]


def _generated(labels: int) -> Task:
    """Return images of rectangles whose colors are hidden by noise."""
    rng = np.random.default_rng(labels)
    images = []
    for _ in range(16):
        label = np.zeros((12, 12), dtype=np.int32)
        for _ in range(3):
            y, x = rng.integers(0, 8, 2).tolist()
            label[y : y + 5, x : x + 5] = rng.integers(0, labels)
        gray = (label / labels)[:, :, None] + rng.normal(0.0, 0.3, (12, 12, 3))
        images.append(Image(np.clip(gray, 0.0, 1.0), label))
    about = f"generated: rectangles of {labels} shades under noise, 12 x 12 pixels, 10 + 6 images"
    return Task(f"{labels} labels", about, labels, images, (10, 6), 5.0)


def graphs(images: Sequence[Image], labels: int, *, alone: bool = False) -> GraphBatch:
    """Return images as grids; pixels without a label are left out.

    A pixel knows its color, in levels, and where it is; a pair knows that it is one, and how alike it is.
    """
    near = {} if alone else {"near": Clique("pixel", "pixel", cells="same", attractive=True)}
    graph = Graph({"pixel": labels}, look=["pixel"], **near)
    shapes = [one.label.shape for one in images]
    label = np.concatenate([one.label.ravel() for one in images])
    color = np.concatenate([one.color.reshape(-1, 3) for one in images])
    level = np.minimum((color * LEVELS).astype(np.int32), LEVELS - 1) @ np.array([LEVELS**2, LEVELS, 1])
    place = np.concatenate([_places(shape) for shape in shapes]) + LEVELS**3
    known = label >= 0
    number = np.cumsum(known) - 1
    of = np.repeat(np.arange(len(images)), [h * w for h, w in shapes])[known]
    ptr = np.concatenate([[0], np.cumsum(np.bincount(of, minlength=len(images)))])
    ids = np.stack([level, place], axis=1)[known].astype(np.int32)
    features: dict[str, Any] = {"look": (2 * np.arange(len(ids) + 1), ids.ravel(), None)}
    given: dict[str, Any] = {}
    if not alone:
        pairs = np.concatenate(scopes.grid(shapes))
        pairs = pairs[known[pairs].all(axis=1)]
        apart = np.square(color[pairs[:, 0]] - color[pairs[:, 1]]).sum(axis=1)
        alike = np.exp(-apart / max(2.0 * float(apart.mean()), 1e-12))
        features["near"] = np.stack([np.ones(len(pairs)), alike], axis=1)
        given["near"] = number[pairs]
    return graph.batch(graph_ptr=ptr, labels={"pixel": label[known]}, scopes=given, features=features)


def _places(shape: tuple[int, ...]) -> Ids:
    rows, columns = ((np.arange(n) * PLACES // n) for n in shape)
    return np.add.outer(rows * PLACES, columns).ravel()


@dataclass(frozen=True)
class Networks(Keyed[Key]):
    """The experiment on some tasks."""

    tasks: Sequence[Task]
    given: Given
    runs: int
    _kept: dict[Any, dict[tuple[str, str], float]] = field(default_factory=dict)

    @property
    def settings(self) -> dict[str, Any]:
        """What the numbers depend on."""
        return {"l2": L2, "levels": LEVELS, "places": PLACES}

    def measure(self, quantity: Quantity, seed: int) -> float:
        """Return one number of a run; a run is made once."""
        name, who, measure = self._keys()[quantity.name]
        if (name, seed) not in self._kept:
            task = self._task(name)
            self._kept[name, seed] = self._run(task, *task.split(seed))
        return self._kept[name, seed][who, measure]

    def _run(self, task: Task, train: list[Image], test: list[Image]) -> dict[tuple[str, str], float]:
        cut: Method = MinCut() if task.labels == 2 else Expansion()
        ways: dict[str, tuple[Any, Method | None]] = {
            ALONE: (Likelihood(l2=L2), None),
            PSEUDO: (PseudoLikelihood(l2=L2), None),
            LIKELY: (Likelihood(l2=L2), BeliefPropagation(tol=1e-3, sweeps=50)),
            MARGIN: (MaxMargin(l2=L2 * len(train)), cut),
        }
        made: dict[tuple[str, str], float] = {}
        data = {
            alone: [graphs(part, task.labels, alone=alone) for part in (train, test)]
            for alone in (False, True)
        }
        for name, (objective, method) in ways.items():
            learn, judge = data[name == ALONE]
            stop = Stop(max_seconds=task.seconds, tolerance=1e-2 if name == MARGIN else 1e-4)
            crf = GraphCRF(
                learn.graph,
                objective=objective,
                method=method,
                stop=stop,
                selection="all",
                n_jobs=self.given.threads,
            ).fit(learn)
            scores = crf.model_.potentials(judge, threads=self.given.threads)
            begun = perf_counter()
            found = inference.decode(scores, cut, threads=self.given.threads)
            seconds = perf_counter() - begun
            made[name, RIGHT] = 100.0 * float((found["pixel"] == judge.label).mean())
            if name == MARGIN:
                near = _nearness(scores, found, self.given.threads)
                made |= {("decoding", one): value for one, value in near.items()}
                made["decoding", SECONDS] = seconds
        return made

    def page(self, found: Mapping[str, Result]) -> Page:
        """Return the tables, and what follows."""
        known = self._known(found)
        right = [
            [task.name, *(with_interval(known.get((task.name, one, RIGHT))) for one in LEARNERS)]
            for task in self.tasks
        ]
        near = [
            [
                task.name,
                "min-cut" if task.labels == 2 else "expansion",
                *(with_interval(known.get((task.name, "decoding", one)), 3) for one in DETAILS),
            ]
            for task in self.tasks
        ]
        return Page(
            [
                "Section 6 of the report has no numbers. Pixels of images attract their neighbors: weights "
                "of pairs stay at 0 or more. The first table is the percentage of test pixels with the right "
                "label; all networks are decoded by cuts.",
                "The second table is about the best labelings of the max-margin network on the test images: "
                "how far the score is below the upper bound of TRW-S, in percent of that bound, where the "
                "least score of each pixel and pair is taken as 0; the cycles of expansion moves; the share "
                "of the bound that is reached, which the theory says is at least 1/2 for pairs; and the "
                "images whose labeling the bound or the cut proves to be the best.",
                "\n".join(f"- {task.name}: {task.about}" for task in self.tasks),
            ],
            self._claims(known),
            [
                Table("Right pixels", ["task", *LEARNERS], right),
                Table("Decoding", ["task", "method", *DETAILS], near),
            ],
            [],
        )

    def _claims(self, known: Mapping[Key, Result]) -> list[Claim]:
        texts = (
            "a minimum cut is exact for two labels",
            "expansion moves are close to the optimum for more, in a few sweeps",
            "expansion moves keep the factor 1/2 of pairs",
            "attraction between neighbors gains over independent pixels",
        )
        if any(key not in known for key in self._keys().values()):
            return [*map(Claim.missing, texts)]
        two = [task.name for task in self.tasks if task.labels == 2]
        more = [task.name for task in self.tasks if task.labels > 2]
        proved = [known[name, "decoding", PROVED].ours for name in two]
        gaps, cycles, factors = (
            [known[name, "decoding", one].ours for name in more] for one in (GAP, CYCLES, FACTOR)
        )
        gains = {
            name: max(known[name, one, RIGHT].ours for one in LEARNERS[1:]) - known[name, ALONE, RIGHT].ours
            for name in (*two, *more)
        }
        told = ", ".join(f"{name}: {gain:+.2f}" for name, gain in gains.items())
        return [
            Claim(texts[0], min(proved) == 100.0, f"{min(proved):.0f} % of the images are proved"),
            Claim(
                texts[1],
                max(gaps) < 1.0 and max(cycles) < 10.0,
                f"{max(gaps):.3f} % below the upper bound after {max(cycles):.1f} cycles",
            ),
            Claim(texts[2], min(factors) >= 0.5, f"at least {min(factors):.4f} of the optimum"),
            Claim(texts[3], min(gains.values()) > 0.0, f"points of the best network: {told}"),
        ]

    def _keys(self) -> dict[str, Key]:
        names = [task.name for task in self.tasks]
        keys = [(name, one, RIGHT) for name, one in product(names, LEARNERS)]
        keys += [(name, "decoding", one) for name, one in product(names, DETAILS)]
        return {f"{name}, {who}: {measure}": (name, who, measure) for name, who, measure in keys}


def _nearness(scores: GraphPotentials, found: Any, threads: int | None) -> dict[str, float]:
    """Return how near labelings are to the upper bounds of TRW-S, over all graphs."""
    bound = inference.decode(scores, TRWS(sweeps=200), threads=threads).info.upper  # [N]
    batch, least = scores.batch, np.zeros(scores.batch.graphs)
    for name, table in scores.tables.items():
        lowest = table.scores.min(axis=tuple(range(1, table.scores.ndim)))  # [K]
        which = np.arange(len(batch.scopes[name])) if table.which is None else table.which
        each = lowest[which] if len(lowest) > 1 else np.full(len(batch.scopes[name]), lowest[0])
        least += np.bincount(batch.graph_of[batch.scopes[name][:, 0]], each, minlength=batch.graphs)
    share = (found.score - least) / (bound - least)  # [N]
    exact = found.info.exact | (bound - found.score <= 1e-6 * np.abs(bound))
    return {
        GAP: 100.0 * float((bound - found.score).sum() / (bound - least).sum()),
        CYCLES: float(found.info.sweeps.mean()),
        FACTOR: float(share.min()),
        PROVED: 100.0 * float(exact.mean()),
    }
