"""Images of labeled pixels, with simple features: color, place and texture.

Features of each pixel: its color, how gray and how blue or green it is, the means and spreads of 3 x 3, 7 x 7
and 15 x 15 pixels around it, the gradient, its row and column; and the squares of all of these. Of each pair
of neighbors: in which third of all pairs the difference of their colors lies.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crfkit._safe.cached import once
from crfkit.arrays import Floats, Ids, Pointers, pointers
from crfkit.graphs import scopes
from crfkit.papers.experiment import Given
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.structures.graphs.graph import Graph

AROUND = (3, 7, 15)
PARTS = 3  # of contrasts


@dataclass(frozen=True, eq=False)
class Images:
    """Images for training and for testing, one after the other."""

    name: str
    about: str
    classes: tuple[str, ...]
    rgb: list[Floats]  #: [rows, columns, 3] from 0 to 1
    label: list[Ids]  #: [rows, columns], -1 where nothing is known
    train: Pointers
    test: Pointers

    def graph(self, pairs: bool) -> Graph:
        """Return pixels, with or without their neighbors."""
        pair = {"right": ["pixel", "pixel"], "down": ["pixel", "pixel"]} if pairs else {}
        return Graph({"pixel": self.classes}, look=["pixel"], **pair)

    def batch(self, images: Pointers, pairs: bool) -> GraphBatch:
        """Return some images as graphs."""
        shapes = [self.label[i].shape for i in images]
        look = np.concatenate([self.features[i] for i in images])  # [V, K]
        labels = {"pixel": np.concatenate([self.label[i].ravel() for i in images])}
        ptr = pointers(np.array([rows * columns for rows, columns in shapes]))
        if not pairs:
            return self.graph(False).batch(graph_ptr=ptr, labels=labels, features={"look": look})
        right, down = scopes.grid(shapes)
        rgb = np.concatenate([self.rgb[i].reshape(-1, 3) for i in images])
        return self.graph(True).batch(
            graph_ptr=ptr,
            labels=labels,
            scopes={"right": right, "down": down},
            features={"look": look, "right": self._contrast(rgb, right), "down": self._contrast(rgb, down)},
        )

    def _contrast(self, rgb: Floats, scope: Ids) -> Floats:
        """Return which third of the contrasts each pair has, [M, 3] of 0 and 1."""
        part = np.searchsorted(self._thirds, _difference(rgb[scope[:, 0]], rgb[scope[:, 1]]))
        made: Floats = np.eye(PARTS)[part]
        return made

    @once
    def _thirds(self) -> Floats:
        """Where the thirds of the contrasts of the training images end."""
        found = [_difference(self.rgb[i][:, 1:], self.rgb[i][:, :-1]).ravel() for i in self.train]
        ends: Floats = np.quantile(np.concatenate(found), np.arange(1, PARTS) / PARTS)
        return ends

    @once
    def features(self) -> list[Floats]:
        """The features of the pixels of each image, [pixels, K]; scaled by those of training."""
        own = [_own(image) for image in self.rgb]
        seen = np.concatenate([own[i] for i in self.train])
        mean, spread = seen.mean(axis=0), np.maximum(seen.std(axis=0), 1e-6)
        scaled = [np.clip((each - mean) / spread, -4.0, 4.0) for each in own]
        return [np.hstack([np.ones((len(x), 1)), x, np.square(x) - 1.0]) for x in scaled]


def _difference(a: Floats, b: Floats) -> Floats:
    made: Floats = np.sqrt(np.square(a - b).sum(axis=-1))
    return made


def _own(rgb: Floats) -> Floats:
    """Return the features of the pixels of an image before they are scaled."""
    from scipy.ndimage import uniform_filter

    rows, columns, _ = rgb.shape
    gray = rgb.mean(axis=2)
    made = [
        *np.moveaxis(rgb, 2, 0),
        rgb[..., 2] - gray,
        rgb[..., 1] - gray,
        rgb.max(axis=2) - rgb.min(axis=2),
    ]
    made += [np.hypot(*np.gradient(gray)), np.abs(np.gradient(gray)[0])]
    for size in AROUND:
        mean = uniform_filter(gray, size, mode="nearest")
        square = uniform_filter(np.square(gray), size, mode="nearest")
        made += [np.sqrt(np.maximum(square - np.square(mean), 0.0))]
        made += [uniform_filter(rgb[..., c], size, mode="nearest") for c in range(3)]
    row, column = np.mgrid[0:rows, 0:columns]
    made += [row / rows, column / columns, np.abs(column / columns - 0.5)]
    return np.stack(made, axis=-1).reshape(rows * columns, -1)


def camvid(given: Given) -> Images:
    """Return street scenes of 60 x 45 pixels; what has no label is hidden."""
    with np.load(given.file("segmentation/camvid60x45.npz"), allow_pickle=False) as found:
        names = [str(name) for name in found["class_names"]]
        rgb = [*found["train_rgb"], *found["val_rgb"]]
        labels = [*found["train_labels"], *found["val_labels"]]
        n = len(found["train_rgb"])
    about = (
        f"CamVid, 60 x 45 pixels, 11 classes: {n} images to learn from, {len(rgb) - n} of the validation part"
    )
    return _images("camvid", about, names[:-1], rgb, labels, n)


def horses(given: Given) -> Images:
    """Return horses before what is behind them."""
    with np.load(given.file("segmentation/horses_train64.npz"), allow_pickle=False) as found:
        shapes, at = found["shapes"].tolist(), found["node_offsets"].tolist()
        rgb, label = found["rgb"], found["labels"]
    images = [rgb[at[i] : at[i + 1]].reshape(*shape, 3) for i, shape in enumerate(shapes)]
    labels = [label[at[i] : at[i + 1]].reshape(*shape) for i, shape in enumerate(shapes)]
    about = f"Weizmann horses, at most 64 x 64 pixels: 120 images to learn from, {len(images) - 120} others"
    return _images("horses", about, ["ground", "horse"], images, labels, 120)


def generated_images(n: int = 30, size: int = 12, noise: float = 0.3) -> Images:
    """Return noisy images of three areas."""
    rng = np.random.default_rng(0)
    images, labels = [], []
    for _ in range(n):
        row, column = np.mgrid[0:size, 0:size]
        label = np.where(row < rng.integers(4, 8), 0, 1)
        middle = rng.integers(3, size - 3, 2)
        label[np.abs(row - middle[0]) + np.abs(column - middle[1]) < 3] = 2
        images.append(
            255.0 * np.clip(np.eye(3)[label] * 0.3 + rng.normal(0.4, noise, (size, size, 3)), 0.0, 1.0)
        )
        label[rng.random(label.shape) < 0.02] = 3  # not known
        labels.append(label)
    return _images("areas", f"generated: {n} noisy images", ["sky", "road", "car"], images, labels, n // 2)


def _images(
    name: str, about: str, classes: list[str], rgb: list[Floats], labels: list[Ids], train: int
) -> Images:
    known = [np.where(label < len(classes), label.astype(np.int32), np.int32(-1)) for label in labels]
    scaled = [image.astype(np.float64) / 255.0 for image in rgb]
    order = np.arange(len(rgb))
    return Images(name, about, tuple(classes), scaled, known, order[:train], order[train:])
