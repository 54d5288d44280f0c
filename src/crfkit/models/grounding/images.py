"""Images as graphs: a variable for each pixel, and edges between neighbors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from crfkit._safe.fields import Fields
from crfkit.arrays import Floats, Ids
from crfkit.graphs import scopes
from crfkit.linear.layout import Layout
from crfkit.metrics.comparison import Columns
from crfkit.metrics.default_metric import check_known, judge_for
from crfkit.models.explanation import At
from crfkit.models.grounding.base import Comparison, Grounding, Samples, integers_of
from crfkit.models.parts import Plain
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.structures.graphs.graph import Graph

PIXEL: Final = "pixel"
#: The cliques of neighbors: two with 4 neighbors of a pixel, four with 8.
DIRECTIONS: Final = ("right", "down", "right_down", "left_down")


@dataclass(frozen=True, eq=False)
class Images(Grounding):
    """Images [H, W, K], with labels [H, W]."""

    kind: ClassVar[str] = "images"
    takes: ClassVar[str] = "images"

    features: int  #: K
    labels: NDArray[np.integer[Any]]  #: [L] of y, sorted
    void: int  #: y where there is none
    connect: int
    contrast: float | None = None  #: the variance by which neighbors count; None: all count alike
    channels: Sequence[int] | None = None  #: features that make the contrast

    def plain(self) -> Plain:
        """Return a description."""
        plain: dict[str, Any] = {name: getattr(self, name) for name in ("features", "connect", "contrast")}
        plain |= {"labels": self.labels.tolist(), "dtype": str(self.labels.dtype), "void": int(self.void)}
        channels = None if self.channels is None else [int(c) for c in self.channels]
        return {**plain, "channels": channels}, {}

    @classmethod
    def of_plain(cls, fields: Fields) -> Images:
        """Return what a file describes."""
        features, void, contrast, channels = (
            fields[name] for name in ("features", "void", "contrast", "channels")
        )
        if type(void) is not int or fields["connect"] not in (4, 8):
            fields.wrong("connect", "4 or 8, and void a whole number")
        if contrast is not None and not (type(contrast) is float and 0.0 < contrast < np.inf):
            fields.wrong("contrast", "a variance")
        each = [] if channels is None else channels
        if not isinstance(each, list) or not all(type(c) is int and 0 <= c < features for c in each):
            fields.wrong("channels", "numbers of features")
        labels = integers_of(fields, "labels")
        return cls(fields.count("features"), labels, void, fields["connect"], contrast, channels)

    def check_fits(self, names: Graph, layout: Layout) -> None:
        """Refuse another graph."""
        kinds = {PIXEL: tuple(map(str, self.labels.tolist()))}
        if names.kinds != kinds or self.features != layout.rows_of("look"):
            raise ValueError("its map is of images with other labels or features than its weights")

    def samples(self, X: Any, threads: int | None = None) -> Samples:
        """Read images."""
        images = images_in(X)
        if images and images[0].shape[2] != self.features:
            raise ValueError(
                f"the images of X have {images[0].shape[2]} features, those of training {self.features}"
            )
        return Samples(images, [(image.shape[0], image.shape[1]) for image in images])

    def edges(self, samples: Samples) -> dict[str, Ids]:
        """Return the neighbors in each direction."""
        sizes = np.array(samples.shapes, dtype=np.int64).reshape(-1, 2)
        return dict(zip(DIRECTIONS, scopes.grid(sizes, connect=self.connect), strict=False))

    def fitted(self, samples: Samples) -> Images:
        """Return the same with the variance of these images in the contrast."""
        rows = self._rows(samples)
        step = np.concatenate([self._differences(rows, edge) for edge in self.edges(samples).values()])
        return replace(self, contrast=2.0 * float(step.mean()) if step.size and step.any() else 1.0)

    def graphs(self, graph: Graph, samples: Samples, labels: Mapping[str, Ids] | None = None) -> GraphBatch:
        """Return a graph for each image."""
        rows, edges = self._rows(samples), self.edges(samples)
        features: dict[str, Floats] = {"look": rows}
        if self.contrast is not None:
            for name, edge in edges.items():
                features[name] = np.exp(-self._differences(rows, edge) / self.contrast)[:, None]
        return graph.batch(graph_ptr=samples.ptr, labels=labels, scopes=edges, features=features)

    def gold(
        self, graph: Graph, samples: Samples, y: Any, what: str = "y", *, foreign: bool = True
    ) -> dict[str, Ids]:
        """Return the label ids of all pixels, -1 where they are void."""
        given = pixels_in(y, samples, what)
        place = np.searchsorted(self.labels, given)
        L = len(self.labels)
        known = self.labels[np.minimum(place, L - 1)] == given
        if not foreign and (~known & (given != self.void)).any():
            wrong = given[~known & (given != self.void)][0]
            raise ValueError(f"{what} has the label {wrong}, which the model does not know")
        ids = np.where(given == self.void, -1, np.where(known, place, L))
        return {PIXEL: ids.astype(np.int32)}

    def compared(self, asked: Comparison) -> dict[str, Columns]:
        """Return the labels of all pixels."""
        gold = pixels_in(asked.y, asked.samples)
        known = gold != self.void
        check_known([gold[known].tolist()], self.labels.tolist())
        values = np.union1d(self.labels, gold[known])
        made = Columns.of_ids(
            map(str, values.tolist()),
            np.where(known, np.searchsorted(values, gold), -1),
            np.searchsorted(values, self.labels)[asked.found[PIXEL]],
            asked.samples.ptr,
            judge_for(asked.metric, "accuracy"),
            unit="image",
        )
        return {PIXEL: made}

    def answer(self, graph: Graph, labels: Mapping[str, Ids]) -> NDArray[np.integer[Any]]:
        """Return the labels of an image, [H, W]."""
        return self.labels[labels[PIXEL]]

    def proba(self, node: Mapping[str, list[Any]]) -> Any:
        """Return arrays [H, W, L]."""
        return self.gathered(node[PIXEL])

    def variable(self, at: Any, shape: tuple[int, ...]) -> tuple[str, int]:
        """Return the variable of a pixel (row, column)."""
        whole = isinstance(at, tuple) and len(at) == 2 and all(isinstance(i, int | np.integer) for i in at)
        if not whole:
            raise TypeError(f"at is {at!r}, expected a pixel: (row, column), from 0")
        if not (0 <= at[0] < shape[0] and 0 <= at[1] < shape[1]):
            raise ValueError(f"at: the image is {shape[0]} x {shape[1]}; {at} is not one of its pixels")
        return PIXEL, int(at[0]) * shape[1] + int(at[1])

    def place(self, kind: str, number: int, shape: tuple[int, ...]) -> At:
        """Return the row and the column of a pixel."""
        return number // shape[1], number % shape[1]

    def _rows(self, samples: Samples) -> Floats:
        K = self.features
        return np.concatenate([*(image.reshape(-1, K) for image in samples.data), np.zeros((0, K))])

    def _differences(self, rows: Floats, edge: Ids) -> Floats:
        """Return the squared difference of the features of neighbors, [M]."""
        if self.channels is not None:
            wrong = [c for c in self.channels if not 0 <= c < rows.shape[1]]
            if wrong:
                raise ValueError(f"channels has {wrong[0]}, expected 0 to {rows.shape[1] - 1}")
            rows = rows[:, list(self.channels)]
        apart: Floats = np.square(rows[edge[:, 0]] - rows[edge[:, 1]]).sum(axis=1)
        return apart


def images_in(X: Any) -> list[Floats]:
    """Return images as arrays [H, W, K], checked."""
    images: list[Floats] = []
    for n, given in enumerate(X):
        image = np.asarray(given)
        if image.ndim != 3 or image.dtype.kind not in "fiub":
            raise ValueError(
                f"X[{n}] has type {image.dtype} and shape {image.shape}, expected numbers [height, width, "
                "features]; gray images are image[:, :, None]"
            )
        if not image.shape[2]:
            raise ValueError(f"X[{n}] has shape {image.shape}: no features; give each pixel at least one")
        if images and image.shape[2] != images[0].shape[2]:
            raise ValueError(
                f"X[{n}] has {image.shape[2]} features for each pixel, X[0] has {images[0].shape[2]}"
            )
        images.append(image.astype(np.float64))
        if not np.isfinite(images[-1]).all():
            raise ValueError(f"X[{n}] has features that are not finite; replace them")
    return images


def pixels_in(y: Any, samples: Samples, what: str = "y") -> NDArray[np.integer[Any]]:
    """Return the labels of all pixels, checked."""
    given = list(y)
    if len(given) != len(samples):
        raise ValueError(f"X has {len(samples)} images, {what} has {len(given)}")
    labels: list[NDArray[np.integer[Any]]] = []
    for n, (one, shape) in enumerate(zip(given, samples.shapes, strict=True)):
        array = np.asarray(one)
        if array.shape != shape or array.dtype.kind not in "iu":
            raise ValueError(
                f"{what}[{n}] has type {array.dtype} and shape {array.shape}, expected integers of shape "
                f"{shape}, a label for each pixel of X[{n}]"
            )
        labels.append(array.ravel())
    return np.concatenate(labels) if labels else np.zeros(0, dtype=np.int64)
