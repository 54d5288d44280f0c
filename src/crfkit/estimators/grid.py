"""`GridCRF`: labels of the pixels of images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from crfkit.arrays import Floats, Ids, pointers
from crfkit.checks import check_choice
from crfkit.estimators.queries import weights_of
from crfkit.estimators.ready import ReadyMade
from crfkit.graphs import scopes
from crfkit.metrics.rule import check_known
from crfkit.models.results import PerSequence
from crfkit.objectives import Likelihood
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.structures.graphs.cliques import Clique
from crfkit.structures.graphs.graph import Graph

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["GridCRF"]

_OBJECTIVE: Final = Likelihood()
_DIRECTIONS = ("right", "down", "right_down", "left_down")


class GridCRF(ReadyMade):
    """A CRF on images: the label of each pixel depends on its features and on the labels beside it.

    Parameters
    ----------
    connect : {4, 8}
        Neighbors of a pixel: those to its sides, or those at its corners too.
    contrast : "exp", or None
        "exp": neighbors count ``exp(-|x - x'|^2 / v)``, the less the more their features differ (Boykov &
        Jolly 2001); v is twice the mean of ``|x - x'|^2`` in the training data. None: all count alike.
    channels : list of int, optional
        The features that make the contrast, such as those of color; by default all.
    cells : {"free", "symmetric", "same", "potts"}
        Weights of a pair of neighboring labels: one for each pair; the same both ways; one for each label
        that both have; or one for being equal. Each direction has weights of its own.
    void : int
        y has this where a pixel has no label: it is left out or summed out, by the objective.
    objective : an objective, or its name
        ``PseudoLikelihood()`` needs no sums over images and is faster, but it ties neighbors too strongly
        where labels come in large areas; compare both on a dev set.
    l1, l2, min_count, max_iterations : optional
        Fields of the parts, as in `ChainCRF`.
    optimizer, selection, stop, random_state, n_jobs
        As in `GraphCRF`.
    method : a method of `crfkit.inference.methods`, or its name, optional
        Who sums, in training and in `predict_proba`. Default: exact for small images, else belief
        propagation. The best labeling is found by cuts, TRW-S and others.

    Attributes
    ----------
    model_ : GraphModel
        ``model_.tables()`` has the weights: "look" of features, "bias", and of directions "right", "down".
    classes_ : array [L]
        The labels, sorted: columns of `predict_proba`.
    inference_info_ : How
        How the last evaluation of training was answered.

    Examples
    --------
    >>> import numpy as np
    >>> from crfkit import GridCRF
    >>> rng = np.random.default_rng(0)
    >>> y = [np.pad(np.ones((4, 4), dtype=int), 2) for _ in range(3)]  # a square, three times
    >>> X = [(image + rng.normal(scale=0.5, size=image.shape))[:, :, None] for image in y]
    >>> crf = GridCRF(cells="potts").fit(X[:2], y[:2])
    >>> crf.predict(X[2:])[0].shape, crf.predict_proba(X[2:])[0].shape
    ((8, 8), (8, 8, 2))
    >>> alone = float(((X[2][:, :, 0] > 0.5) == y[2]).mean())  # each pixel by itself
    >>> crf.score(X[2:], y[2:]) > alone
    True
    """

    connect: Literal[4, 8] = 4
    contrast: Literal["exp"] | None = None
    channels: Sequence[int] | None = None
    cells: Literal["free", "symmetric", "same", "potts"] = "free"
    void: int = -1

    def fit(
        self, X: Any, y: Any, *, sample_weight: ArrayLike | None = None, progress: bool | None = False
    ) -> Self:
        """Train on images, and forget what was learned before.

        Parameters
        ----------
        X : list of arrays [H, W, K]
            Features of pixels; images may have different sizes.
        y : list of integer arrays [H, W]
            Labels of pixels, `void` where there is none.
        sample_weight : array [N], optional
            Weight of each image.
        progress : bool, optional
            Show progress; None: where standard error is a terminal.
        """
        if self.contrast is not None:
            check_choice("contrast", self.contrast, ("exp",))
        images = _images(X)
        if not images:
            raise ValueError("X has no images")
        weights_of(sample_weight, len(images))
        gold = _gold(y, images)
        known = gold != self.void
        self.classes_: NDArray[np.integer[Any]] = np.unique(gold[known])
        if not len(self.classes_):
            raise ValueError(f"all pixels of y are {self.void!r}, void; there is nothing to learn from")
        self.n_features_in_ = images[0].shape[2]
        labels = np.where(known, np.searchsorted(self.classes_, gold), -1)
        edges = self._edges(images)
        if self.contrast is not None:
            rows = _rows(images, self.n_features_in_)
            step = np.concatenate([self._differences(rows, edge) for edge in edges.values()])
            self.contrast_variance_ = 2.0 * float(step.mean()) if step.size and step.any() else 1.0
        kind = [str(label) for label in self.classes_.tolist()]
        pairs = {name: Clique("pixel", "pixel", cells=self.cells) for name in edges}
        graph = Graph({"pixel": kind}, look=["pixel"], bias=["pixel"], **pairs)
        self._learn(self._graphs(graph, images, edges, labels), sample_weight, progress)
        return self

    def predict(self, X: Any) -> list[NDArray[np.integer[Any]]]:
        """Return the labels of each image, arrays [H, W]."""
        images, batch = self._batch(X)
        found = self.model_.predict(batch, threads=self._threads)["pixel"]
        return PerSequence(_cut(self.classes_[found], images))

    def predict_proba(self, X: Any) -> list[Floats]:
        """Return the probability of each label of each pixel, arrays [H, W, L]."""
        images, batch = self._batch(X)
        found = self.model_.predict_proba(batch, method=self.method, threads=self._threads)["pixel"]
        return PerSequence(_cut(found, images))

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of pixels whose label is predicted right; void ones do not count."""
        images = _images(X)
        gold = _gold(y, images)
        check_is_fitted(self, "model_")
        check_known([gold[gold != self.void].tolist()], self.classes_.tolist())
        each = weights_of(sample_weight, len(images))
        size = [image.shape[0] * image.shape[1] for image in images]
        weight = np.repeat(np.ones(len(images)) if each is None else each, size) * (gold != self.void)
        found = [image.ravel() for image in self.predict(X)]
        right = np.concatenate([*found, np.zeros(0, dtype=np.int64)]) == gold
        return float(weight @ right) / max(float(weight.sum()), 1e-300)

    def batch(self, X: Any) -> GraphBatch:
        """Return the graphs of images, for queries of `model_`."""
        return self._batch(X)[1]

    def _batch(self, X: Any) -> tuple[list[Floats], GraphBatch]:
        model, images = self._fitted(), _images(X)
        if images and images[0].shape[2] != self.n_features_in_:
            raise ValueError(
                f"the images of X have {images[0].shape[2]} features, those of training {self.n_features_in_}"
            )
        return images, self._graphs(model.graph, images, self._edges(images), None)

    def _edges(self, images: list[Floats]) -> dict[str, Ids]:
        sizes = np.array([image.shape[:2] for image in images], dtype=np.int64).reshape(-1, 2)
        return dict(zip(_DIRECTIONS, scopes.grid(sizes, connect=self.connect), strict=False))

    def _graphs(
        self, graph: Graph, images: list[Floats], edges: dict[str, Ids], labels: NDArray[Any] | None
    ) -> GraphBatch:
        rows = _rows(images, self.n_features_in_)
        features: dict[str, Floats] = {"look": rows}
        if self.contrast is not None:
            for name, edge in edges.items():
                scale = np.exp(-self._differences(rows, edge) / self.contrast_variance_)
                features[name] = scale[:, None]
        return graph.batch(
            graph_ptr=pointers([image.shape[0] * image.shape[1] for image in images]),
            labels=None if labels is None else {"pixel": labels},
            scopes=edges,
            features=features,
        )

    def _differences(self, rows: Floats, edge: Ids) -> Floats:
        """Return the squared difference of the features of neighbors, [M]."""
        if self.channels is not None:
            wrong = [c for c in self.channels if not 0 <= c < rows.shape[1]]
            if wrong:
                raise ValueError(f"channels has {wrong[0]}, expected 0 to {rows.shape[1] - 1}")
            rows = rows[:, list(self.channels)]
        apart: Floats = np.square(rows[edge[:, 0]] - rows[edge[:, 1]]).sum(axis=1)
        return apart


def _images(X: Any) -> list[Floats]:
    """Return images as arrays [H, W, K], checked."""
    images: list[Floats] = []
    for n, given in enumerate(X):
        image = np.asarray(given)
        if image.ndim != 3 or image.dtype.kind not in "fiub":
            raise ValueError(
                f"X[{n}] has type {image.dtype} and shape {image.shape}, expected numbers [height, width, "
                "features]; grey images are image[:, :, None]"
            )
        if images and image.shape[2] != images[0].shape[2]:
            raise ValueError(
                f"X[{n}] has {image.shape[2]} features for each pixel, X[0] has {images[0].shape[2]}"
            )
        images.append(image.astype(np.float64))
        if not np.isfinite(images[-1]).all():
            raise ValueError(f"X[{n}] has features that are not finite; replace them")
    return images


def _gold(y: Any, images: list[Floats]) -> NDArray[np.integer[Any]]:
    """Return the labels of all pixels, checked."""
    given = list(y)
    if len(given) != len(images):
        raise ValueError(f"X has {len(images)} images, y has {len(given)}")
    labels: list[NDArray[np.integer[Any]]] = []
    for n, (one, image) in enumerate(zip(given, images, strict=True)):
        array = np.asarray(one)
        if array.shape != image.shape[:2] or array.dtype.kind not in "iu":
            raise ValueError(
                f"y[{n}] has type {array.dtype} and shape {array.shape}, expected integers of shape "
                f"{image.shape[:2]}, a label for each pixel of X[{n}]"
            )
        labels.append(array.ravel())
    return np.concatenate([*labels, np.zeros(0, dtype=np.int64)])


def _rows(images: list[Floats], K: int) -> Floats:
    return np.concatenate([*(image.reshape(-1, K) for image in images), np.zeros((0, K))])


def _cut(flat: NDArray[Any], images: list[Floats]) -> list[NDArray[Any]]:
    """Return what all pixels have by image, [H, W, ...]."""
    ends = pointers([image.shape[0] * image.shape[1] for image in images]).tolist()
    return [
        flat[a:b].reshape(*image.shape[:2], *flat.shape[1:])
        for a, b, image in zip(ends[:-1], ends[1:], images, strict=True)
    ]
