"""`GridCRF`: labels of the pixels of images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from crfkit.checks import check_choice
from crfkit.errors import warn_about
from crfkit.estimators.ready import ReadyMade
from crfkit.models.graph_model import GraphModel
from crfkit.models.grounding import Grounding, Samples
from crfkit.models.grounding.images import DIRECTIONS, PIXEL, Images, images_in, pixels_in
from crfkit.objectives import PseudoLikelihood
from crfkit.structures.graphs.cliques import Clique
from crfkit.structures.graphs.graph import Graph
from crfkit.training.graphs.fit import GraphInit


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
    tying : {"free", "symmetric", "same", "potts"}
        Weights of a pair of neighboring labels: one for each pair; the same both ways; one for each label
        that both have; or one for being equal. Each direction has weights of its own.
    void : int
        y has this where a pixel has no label: it is left out or summed out, by the objective.
    objective : an objective, or its name
        ``PseudoLikelihood()`` needs no sums over images and is faster, but it ties neighbors too strongly
        where labels come in large areas, and `fit` warns of it; compare both on a dev set.
    l1, l2, min_count, max_iterations : optional
        Fields of the parts, as in `ChainCRF`.
    init : {"drawn", "alone", "piecewise", "zero"}, GraphModel or array [F], optional
        As in `GraphCRF`. By default training begins with draws, and ends there where messages do not rest,
        with a warning. Images that are held out decide whether `predict` takes the likeliest label of each
        pixel or the best labeling, and whether links are weakened; ``model_.training.notes`` says so.
    optimizer, selection, stop, restarts, random_state, n_jobs
        As in `GraphCRF`.
    metric : str or function
        What judges the dev set, and what `score` gives; "auto": the accuracy of pixels.
    method : a method of `crfkit.inference.methods`, or its name, optional
        The inference method of training and of `predict_proba`. Default: exact for small images, else belief
        propagation. The best labeling, ``predict(X, method="viterbi")``, is found by cuts, TRW-S and others.

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
    >>> crf = GridCRF(tying="potts").fit(X[:2], y[:2])
    >>> crf.predict(X[2:])[0].shape, crf.predict_proba(X[2:])[0].shape
    ((8, 8), (8, 8, 2))
    >>> alone = float(((X[2][:, :, 0] > 0.5) == y[2]).mean())  # each pixel by itself
    >>> crf.score(X[2:], y[2:]) > alone
    True
    """

    connect: Literal[4, 8] = 4
    contrast: Literal["exp"] | None = None
    channels: Sequence[int] | None = None
    tying: Literal["free", "symmetric", "same", "potts"] = "free"
    void: int = -1
    init: GraphInit = "drawn"

    def _grounded(self, X: Any, y: Any) -> tuple[Graph, Grounding, Samples, dict[str, Any]]:
        if self.contrast is not None:
            check_choice("contrast", self.contrast, ("exp",))
        if self._part("objective").name == PseudoLikelihood.name:
            warn_about(
                "pseudo-likelihood ties pixels of smooth images so strongly that one label may fill them: "
                "compare it with the default, Likelihood(), on images that were not trained on"
            )
        images = images_in(X)
        if not images:
            raise ValueError("X has no images")
        samples = Samples(images, [(image.shape[0], image.shape[1]) for image in images])
        gold = pixels_in(y, samples)
        self.classes_: NDArray[np.integer[Any]] = np.unique(gold[gold != self.void])
        if not len(self.classes_):
            raise ValueError(f"all pixels of y are {self.void!r}, void; there is nothing to learn from")
        self.n_features_in_ = images[0].shape[2]
        grounding = Images(self.n_features_in_, self.classes_, self.void, self.connect, None, self.channels)
        edges = grounding.edges(samples)
        if self.contrast is not None:
            grounding = grounding.fitted(samples)
        pairs = {name: Clique(PIXEL, PIXEL, cells=self.tying) for name in edges}
        kinds = {PIXEL: [str(label) for label in self.classes_.tolist()]}
        graph = Graph(kinds, look=[PIXEL], bias=[PIXEL], **pairs)
        return graph, grounding, samples, grounding.gold(graph, samples, y)

    @classmethod
    def _params_of_model(cls, model: GraphModel) -> dict[str, Any] | None:
        found = model.feature_map
        if not isinstance(found, Images):
            return None
        return {
            "connect": found.connect,
            "contrast": None if found.contrast is None else "exp",
            "channels": found.channels,
            "tying": model.graph.cliques[DIRECTIONS[0]].cells,
            "void": found.void,
        }

    def _take_model(self, model: Any) -> None:
        super()._take_model(model)
        assert isinstance(model.feature_map, Images)
        self.classes_, self.n_features_in_ = model.feature_map.labels, model.feature_map.features
