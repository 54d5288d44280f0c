"""`MultiLabelCRF`: several labels of one sample that depend on each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import validate_data

from crfkit.arrays import Floats
from crfkit.checks import check_choice, in_order
from crfkit.estimators.ready import ReadyMade
from crfkit.graphs import scopes
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.structures.graphs.clique_features import as_features
from crfkit.structures.graphs.cliques import Clique
from crfkit.structures.graphs.graph import Graph

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["MultiLabelCRF"]

#: Weights of a label and of a pair of labels: only for being there, and for being there together.
_ONE = np.array([-1, 0], dtype=np.int32)
_BOTH = np.array([[-1, -1], [-1, 0]], dtype=np.int32)


class MultiLabelCRF(ClassifierMixin, ReadyMade):
    """Multi-label classification with labels that depend on each other; for scikit-learn.

    Each label is a logistic regression, and pairs of labels have a weight for being there together:
    ``p(y | x) ~ exp(sum_a y_a (w_a x + b_a) + sum_ab y_a y_b v_ab)``, the pairwise model of Ghamrawi &
    McCallum (2005).

    Parameters
    ----------
    pairs : "tree", "all", "none", or list of pairs
        Which labels are joined: those of the likeliest tree (Chow & Liu 1968), which is exact and fast; all;
        none, which is a logistic regression for each label; or pairs of columns of y.
    l1, l2, min_count, max_iterations : optional
        Fields of the parts, as in `ChainCRF`.
    objective, optimizer, selection, stop, random_state, n_jobs
        As in `GraphCRF`.
    method : a method of `crfkit.inference.methods`, or its name, optional
        Default: exact where that is cheap, as trees are, else belief propagation; ``inference_info_`` says
        which.

    Attributes
    ----------
    model_ : GraphModel
    pairs_ : list of (int, int)
        The labels that are joined.
    coef_ : array [n, K]
        Weights of features for each label.
    intercept_ : array [n]
    interaction_ : array [n, n]
        Weights of two labels that are there together: symmetric, 0 where labels are not joined.
    classes_ : array [n]
        Numbers of the labels, as scikit-learn has them in multi-label classification.
    values_ : array [2]
        What y has where a label is not there and where it is: 0 and 1, or two integers of a single column.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from crfkit import MultiLabelCRF
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]] * 5)
    >>> Y = np.array([[0, 0, 1], [0, 0, 1], [1, 1, 0], [1, 1, 0]] * 5)
    >>> crf = MultiLabelCRF(pairs="all").fit(X, Y)
    >>> crf.predict([[0.5], [2.5]])
    array([[0, 0, 1],
           [1, 1, 0]])
    >>> crf.predict_proba([[2.5]]).shape
    (1, 3)
    >>> bool(crf.interaction_[0, 1] > 0 > crf.interaction_[0, 2])
    True
    """

    _defaults: ClassVar[Mapping[str, Any]] = {"selection": "all"}

    pairs: Literal["tree", "all", "none"] | Sequence[tuple[int, int]] = "tree"

    def __sklearn_tags__(self) -> Any:
        """Return what scikit-learn asks: sparse X, and y with a column of 0 and 1 for each label."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = tags.input_tags.sparse = True
        tags.input_tags.string = tags.input_tags.dict = False
        tags.target_tags.single_output = False
        tags.target_tags.multi_output = True
        tags.target_tags.two_d_labels = True
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.multi_label = True
        return tags

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: ArrayLike | None = None,
        progress: bool | None = False,
    ) -> Self:
        """Train, and forget what was learned before.

        Parameters
        ----------
        X : array or sparse matrix [N, K]
        y : array or sparse matrix [N, n]
            1 where a sample has a label, else 0.
        sample_weight : array [N], optional
        progress : bool, optional
            Show progress; None: where standard error is a terminal.
        """
        y = y.toarray() if hasattr(y, "toarray") else y
        X, y = validate_data(self, X, y, accept_sparse="csr", multi_output=True, dtype=np.float64)
        self.values_, gold = _binary(y)
        self.classes_ = np.arange(gold.shape[1])
        self.pairs_ = self._pairs(gold)
        names = [str(a) for a in self.classes_]
        cliques = {name: Clique(name, cells=_ONE) for name in names}
        cliques |= {f"{a} {b}": Clique(str(a), str(b), cells=_BOTH) for a, b in self.pairs_}
        graph = Graph(dict.fromkeys(names, 2), **cliques)
        self._learn(self._graphs(graph, X, gold), sample_weight, progress)
        tables = self.model_.tables()
        self.coef_ = np.array([tables[name][:-1, 1] for name in names])
        self.intercept_ = np.array([tables[name][-1, 1] for name in names])
        self.interaction_ = np.zeros((len(names), len(names)))
        for a, b in self.pairs_:
            self.interaction_[a, b] = self.interaction_[b, a] = tables[f"{a} {b}"][1, 1]
        return self

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the best labels of each sample together, [N, n]."""
        batch = self.batch(X)
        found = self.model_.predict(batch, threads=self._threads)
        return self.values_[np.column_stack([found[str(a)] for a in self.classes_])]

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each label, [N, n]."""
        batch = self.batch(X)
        found = self.model_.predict_proba(batch, method=self.method, threads=self._threads)
        return np.column_stack([found[str(a)][:, 1] for a in self.classes_])

    def batch(self, X: Any) -> GraphBatch:
        """Return a graph for each sample, for queries of `model_`."""
        model = self._fitted()
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return self._graphs(model.graph, X, None)

    def _pairs(self, gold: NDArray[np.int64]) -> list[tuple[int, int]]:
        n = gold.shape[1]
        if not isinstance(self.pairs, str):
            made = [(int(min(pair)), int(max(pair))) for pair in in_order(self.pairs)]
            wrong = [pair for pair in made if not 0 <= pair[0] < pair[1] < n]
            if wrong or len({*made}) < len(made):
                raise ValueError(f"pairs must be different pairs of labels from 0 to {n - 1}: {made!r:.80}")
            return made
        check_choice("pairs", self.pairs, ("tree", "all", "none"))
        if self.pairs == "none":
            return []
        return [*combinations(range(n), 2)] if self.pairs == "all" else scopes.chow_liu(gold)

    def _graphs(self, graph: Graph, X: Any, gold: NDArray[np.int64] | None) -> GraphBatch:
        N, names = X.shape[0], [str(a) for a in self.classes_]
        rows = as_features("X", _with_one(X), N)
        return graph.batch(
            graph_ptr=np.arange(N + 1),
            labels=None if gold is None else dict(zip(names, gold.T, strict=True)),
            features=dict.fromkeys(names, rows),
        )


def _binary(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the two values of y, 0 and 1, and y as 0 and 1; one column may have two other values."""
    gold = y[:, None] if y.ndim == 1 else y
    values = np.unique(gold)
    if gold.shape[1] == 1 and len(values) == 2 and gold.dtype.kind in "iu":
        return values, np.searchsorted(values, gold)
    wrong = np.argwhere(~np.isin(gold, (0, 1)))
    if wrong.size:
        i, a = wrong[0].tolist()
        what = "a continuous number" if gold.dtype.kind == "f" else "not a label of 0 or 1"
        raise ValueError(
            f"y[{i}, {a}] is {gold[i, a]}, {what}; expected a column of 0 and 1 for each label, as "
            "sklearn.preprocessing.MultiLabelBinarizer makes"
        )
    return np.arange(2), gold.astype(np.int64)


def _with_one(X: Any) -> Any:
    """Return X with a last column of ones."""
    if isinstance(X, np.ndarray):
        return np.column_stack([X, np.ones(len(X))])
    from scipy.sparse import csr_array, hstack

    return hstack([X, csr_array(np.ones((X.shape[0], 1)))], format="csr")
