"""Grids of pixels: each pixel alone, against neighbors learned by pieces, pseudo-likelihood and messages.

A pixel sees its features; pairs of neighbors, to the right and below, have a free table for each third of
the contrasts (`crfkit.papers.images`). The grid is a general CRF as in Sutton & McCallum (2006) section 1.4,
trained as in 1.4.5: piecewise, by pseudo-likelihood (Besag 1977), and, from weights of independent pixels,
by Bethe's approximation of the likelihood. Close to its optimum that one is not smooth: messages of strongly
tied neighbors rest at one place or another, and line searches fail. So it is minimized by mini-batches, with
few sweeps. Labels are the likeliest ones of each pixel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from colorsys import hsv_to_rgb
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from crfkit.arrays import Floats, Ids, Pointers
from crfkit.inference.methods import BeliefPropagation
from crfkit.linear.features import FeatureSelection
from crfkit.linear.layout import Layout
from crfkit.linear.objective import Objective
from crfkit.metrics.counts import ratio
from crfkit.models.graph_model import GraphModel
from crfkit.objectives import Likelihood, Piecewise, PseudoLikelihood
from crfkit.papers.experiment import Given, Keyed, Quantity, Reading
from crfkit.papers.images import Images, camvid, generated_images, horses
from crfkit.papers.page import Claim, Page, Pictures, Table
from crfkit.papers.report import number
from crfkit.papers.results import Result
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.training.graphs.fit import GraphFit
from crfkit.training.stop import Stop

ALONE, PIECES, PSEUDO = "independent pixels", "grid, piecewise", "grid, pseudo-likelihood"
BETHE = "grid, Bethe likelihood"
LEARNERS = (ALONE, PIECES, PSEUDO, BETHE)
PIXELS, CLASSES = "pixels", "classes"
MEASURES = (PIXELS, CLASSES)
_OBJECTIVES: dict[str, Callable[..., Objective]] = {
    ALONE: PseudoLikelihood,  # the likelihood where there are no neighbors, and faster
    PIECES: Piecewise,
    PSEUDO: PseudoLikelihood,
    BETHE: Likelihood,
}
Key = tuple[str, str, str]  # task, learner, measure
PENALTIES = (100.0, 10.0, 1.0)
ITERATIONS, PASSES = 60, 10  # of L-BFGS at most; of AdaGrad from the weights of independent pixels
SHOWN = 3  # test images in the figure
TRAINING = BeliefPropagation(tol=1e-2, sweeps=10)
METHOD = BeliefPropagation(tol=1e-3, sweeps=50)


def make(given: Given) -> Grid:
    """Return the experiment: on photographs, or quick, on generated images."""
    if given.quick:
        return Grid([generated_images()], given, (1.0,))
    return Grid([camvid(given), horses(given)], given, PENALTIES)


@dataclass(frozen=True)
class Grid(Keyed[Key]):
    """The experiment on some sets of images; there is one run, intervals are over images."""

    tasks: list[Images]
    given: Given
    penalties: tuple[float, ...]
    runs: int = 1
    models: dict[tuple[str, str], GraphModel] = field(default_factory=dict)
    chosen: dict[str, float] = field(default_factory=dict)  #: l2 of each task

    @property
    def settings(self) -> dict[str, Any]:
        """What the numbers depend on."""
        images = {task.name: [len(task.train), len(task.test)] for task in self.tasks}
        return {"penalties": list(self.penalties), "images": images, "iterations": [ITERATIONS, PASSES]}

    def measure(self, quantity: Quantity, seed: int) -> float | Reading:
        """Return an accuracy in percent, with counts of each image and labels of a few."""
        name, learner, measure = self._keys()[quantity.name]
        task = self._task(name)
        found = _labeled(self._model(task, learner), task, task.test, learner, self.given.threads)
        counts = _counts(task, task.test, found)  # [images, classes, 2]
        kept: dict[str, list[float]] = {"counts": counts.ravel().tolist()}
        if measure == PIXELS:
            kept |= {f"image {i}": found[i].ravel().astype(np.float64).tolist() for i in _shown(task)}
        return Reading(100.0 * float(_VALUES[measure](counts.sum(axis=0))), kept)

    def _model(self, task: Images, learner: str) -> GraphModel:
        key = (task.name, learner)
        if key not in self.models:
            l2 = self._penalty(task)
            pixels = self._model(task, ALONE).w if learner == BETHE else None
            self.models[key] = self._fitted(task.batch(task.train, learner != ALONE), learner, l2, pixels)
        return self.models[key]

    def _penalty(self, task: Images) -> float:
        """Return the l2 whose pixels are right most often in the last quarter of the training images."""
        if task.name not in self.chosen:
            cut = len(task.train) * 3 // 4
            learn, dev = task.train[:cut], task.train[cut:]
            batch, right = task.batch(learn, False), {}
            for l2 in self.penalties:
                model = self._fitted(batch, ALONE, l2, None)
                counts = _counts(task, dev, _labeled(model, task, dev, ALONE, self.given.threads))
                right[l2] = float(_pixels(counts.sum(axis=0)))
            self.chosen[task.name] = max(right, key=lambda l2: right[l2])
        return self.chosen[task.name]

    def _fitted(self, batch: GraphBatch, learner: str, l2: float, pixels: Floats | None) -> GraphModel:
        """Return a model; `pixels` are weights of the features of pixels to start from."""
        objective, optimizer = _OBJECTIVES[learner](l2=l2), "adagrad" if learner == BETHE else "lbfgs"
        stop = Stop(max_iterations=PASSES if learner == BETHE else ITERATIONS)

        def start(_: object, layout: Layout) -> Floats:
            w = np.zeros(layout.weights)
            if pixels is not None:
                w[layout.parts["look"]] = pixels
            return w

        threads = self.given.threads
        fit = GraphFit(
            batch, objective, FeatureSelection(), optimizer, TRAINING, stop, init=start, threads=threads
        )
        return fit.run(None, None, None, [], 0.0)

    def page(self, found: Mapping[str, Result]) -> Page:
        """Return the table, the pictures, and what follows."""
        known = self._known(found)
        rows = [
            [task.name, learner, *(number(_ours(known.get((task.name, learner, m)))) for m in MEASURES)]
            for task, learner in product(self.tasks, LEARNERS)
        ]
        pictures = [self._pictures(task, known) for task in self.tasks]
        return Page(
            [
                "Accuracy in percent: of all labeled pixels, and the mean over classes. Features of pixels: "
                "color, place, means and spreads around, gradients, and their squares; pixels without a "
                "label are hidden. One l2 for all learners of a task, chosen by independent pixels on the "
                "last quarter of the training images. "
                f"At most {ITERATIONS} iterations of L-BFGS; Bethe's likelihood starts from the weights of "
                f"independent pixels and has {PASSES} passes of AdaGrad with {TRAINING.sweeps} sweeps of "
                "messages at most.",
                "\n".join(f"- {task.name}: {task.about}" for task in self.tasks),
            ],
            [_claim(task, learner, known) for task in self.tasks for learner in LEARNERS[1:]],
            [Table("Accuracy", ["task", "learner", *MEASURES], rows)],
            [one for one in pictures if one is not None],
        )

    def _pictures(self, task: Images, known: Mapping[Key, Result]) -> Pictures | None:
        results = {one: r for one in LEARNERS if (r := known.get((task.name, one, PIXELS))) is not None}
        if not results:
            return None
        rows = []
        for i in _shown(task):
            image, truth = task.rgb[task.test[i]], task.label[task.test[i]]
            found = [np.array(next(iter(r.series.values()))[f"image {i}"]) for r in results.values()]
            labels = [truth, *(one.reshape(truth.shape).astype(int) for one in found)]
            rows.append([image, *(_colors(task, one) for one in labels)])
        title = f"{task.name}: test images, their labels, and what was found; white is not labeled"
        return Pictures(f"{task.name}-images", title, ["image", "truth", *results], rows)

    def _keys(self) -> dict[str, Key]:
        names = [task.name for task in self.tasks]
        return {
            f"{name}, {learner}: accuracy of {measure}": (name, learner, measure)
            for learner, name, measure in product(LEARNERS, names, MEASURES)
        }


def _labeled(
    model: GraphModel, task: Images, images: Pointers, learner: str, threads: int | None
) -> list[Ids]:
    """Return the likeliest label of each pixel, image by image."""
    batch = task.batch(images, learner != ALONE)
    shares = model.predict_proba(batch, method=METHOD, threads=threads)["pixel"]
    ends = np.cumsum([task.label[i].size for i in images])[:-1]
    return np.split(shares.argmax(axis=1), ends)


def _counts(task: Images, images: Pointers, found: list[Ids]) -> Floats:
    """Return how many pixels of each class each image has, and how many of them are right."""
    counts = np.zeros((len(images), len(task.classes), 2))
    for n, (i, labels) in enumerate(zip(images, found, strict=True)):
        truth = task.label[i].ravel()
        for c in range(len(task.classes)):
            counts[n, c] = ((truth == c) & (labels == c)).sum(), (truth == c).sum()
    return counts


def _pixels(counts: Floats) -> Floats:
    return ratio(counts[..., 0].sum(axis=-1), counts[..., 1].sum(axis=-1))


def _classes(counts: Floats) -> Floats:
    made: Floats = ratio(counts[..., 0], counts[..., 1]).mean(axis=-1)
    return made


_VALUES = {PIXELS: _pixels, CLASSES: _classes}


def _shown(task: Images) -> list[int]:
    """Return the test images of the figure, by their places among the test images."""
    return [int(i) for i in np.linspace(0, len(task.test) - 1, SHOWN)]


def _colors(task: Images, label: Ids) -> Floats:
    """Return the colors of labels, [..., 3]: hues, light and dark in turn; white where they are hidden."""
    hues = np.linspace(0.0, 1.0, len(task.classes), endpoint=False)
    colors = np.array([hsv_to_rgb(hue, 0.8, 0.9 - 0.35 * (i % 2)) for i, hue in enumerate(hues)])
    made = np.ones((*label.shape, 3))
    made[label >= 0] = colors[label[label >= 0]]
    return made


def _ours(result: Result | None) -> float | None:
    return None if result is None else result.ours


def _claim(task: Images, learner: str, known: Mapping[Key, Result]) -> Claim:
    text = f"{task.name}: {learner} finds more pixels than independent pixels"
    both = [known.get((task.name, one, PIXELS)) for one in (ALONE, learner)]
    if both[0] is None or both[1] is None:
        return Claim.missing(text)
    shape = (len(task.test), len(task.classes), 2)
    counts = [np.array(next(iter(one.series.values()))["counts"]).reshape(shape) for one in both if one]
    return Claim.significant(text, np.stack(counts, 1), _pixels, "accuracy", "images")
