"""`MultiLabelCRF`: several labels of one sample that depend on each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from crfkit.arrays import Floats
from crfkit.checks import check_choice, in_order
from crfkit.estimators.ready import ReadyMade
from crfkit.graphs import scopes
from crfkit.models.graph_model import GraphModel
from crfkit.models.grounding import Grounding, Samples
from crfkit.models.grounding.rows import Rows
from crfkit.structures.graphs.cliques import Clique
from crfkit.structures.graphs.graph import Graph

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
    objective, optimizer, selection, stop, init, restarts, random_state, n_jobs
        As in `GraphCRF`.
    metric : str or function
        What judges the dev set, and what `score` gives; "auto": how often all labels
        of a sample are right.
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

    def _grounded(self, X: Any, y: Any) -> tuple[Graph, Grounding, Samples, dict[str, Any]]:
        y = y.toarray() if hasattr(y, "toarray") else y
        X, y = validate_data(self, X, y, accept_sparse="csr", multi_output=True, dtype=np.float64)
        self.values_, gold = _binary(y)
        self.classes_ = np.arange(gold.shape[1])
        self.pairs_ = self._pairs(gold)
        names = [str(a) for a in self.classes_]
        cliques = {name: Clique(name, cells=_ONE) for name in names}
        cliques |= {f"{a} {b}": Clique(str(a), str(b), cells=_BOTH) for a, b in self.pairs_}
        grounding = Rows(X.shape[1], len(names), self.values_)
        graph = Graph(dict.fromkeys(names, 2), **cliques)
        return graph, grounding, grounding.samples(X), dict(zip(names, gold.T, strict=True))

    @classmethod
    def _params_of_model(cls, model: GraphModel) -> dict[str, Any] | None:
        if not isinstance(model.feature_map, Rows):
            return None
        found = (clique.kinds for clique in model.graph.cliques.values() if len(clique.kinds) == 2)
        return {"pairs": [(int(a), int(b)) for a, b in found]}

    def _take_model(self, model: Any) -> None:
        super()._take_model(model)
        assert isinstance(model.feature_map, Rows)
        self.values_, self.n_features_in_ = model.feature_map.values, model.feature_map.features
        self.classes_, self.pairs_ = np.arange(model.feature_map.labels), [*self.pairs]

    score = ReadyMade.score  # that of scikit-learn's mixin is the same number, and knows no given labels

    @property
    def coef_(self) -> Floats:
        """Weights of features for each label, [n, K]."""
        tables = self._model.tables()
        return np.array([tables[str(a)][:-1, 1] for a in self.classes_])

    @property
    def intercept_(self) -> Floats:
        """Weights of labels by themselves, [n]."""
        tables = self._model.tables()
        return np.array([tables[str(a)][-1, 1] for a in self.classes_])

    @property
    def interaction_(self) -> Floats:
        """Weights of two labels that are there together, [n, n]: symmetric, 0 where they are not joined."""
        tables, n = self._model.tables(), len(self.classes_)
        made = np.zeros((n, n))
        for a, b in self.pairs_:
            made[a, b] = made[b, a] = tables[f"{a} {b}"][1, 1]
        return made

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self, "model_")
        return validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)

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
