"""The queries of a fitted estimator: labels, probabilities, alternatives, draws, and scores."""

from __future__ import annotations

import operator
from typing import Any, Literal, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from crfkit import inference
from crfkit.arrays import Floats
from crfkit.data.alphabet import Alphabet
from crfkit.data.dataset import Dataset
from crfkit.data.segmentation import Segments
from crfkit.metrics import Metric as NamedMetric
from crfkit.metrics.encoding import encode
from crfkit.models.alternatives import kbest_of
from crfkit.models.explain import state_weights, transition_weights
from crfkit.models.model import Metric, Model
from crfkit.models.uncertainty import Uncertainty
from crfkit.structures.gold import Path

__all__ = ["ChainQueries", "PerSequence", "judged", "weights_of"]


def weights_of(sample_weight: ArrayLike | None, N: int, what: str = "sequences") -> Floats | None:
    """Return weights of sequences or other samples, checked: [N]."""
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (N,):
        raise ValueError(
            f"sample_weight has shape {weight.shape}, expected one number for each of {N} {what}"
        )
    wrong = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0.0)))
    if wrong.size:
        raise ValueError(f"sample_weight[{wrong[0]}] is {weight[wrong[0]]}, expected 0 or more, and finite")
    if N and not weight.any():
        raise ValueError(
            f"sample_weight is zero for all {N} {what}, so that none counts; give one of them more"
        )
    return weight


T = TypeVar("T")


class PerSequence(list[T]):
    """A list with one entry for each sequence, which NumPy takes for an array of so many objects.

    scikit-learn's ``cross_val_predict`` joins the answers of the folds with NumPy, which would take plain
    lists of lists apart, or fail where their lengths differ.

    Examples
    --------
    >>> np.concatenate([PerSequence([["a", "b"]]), PerSequence([["a"], []])]).tolist()
    [['a', 'b'], ['a'], []]
    """

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[np.object_]:
        if dtype is not None and np.dtype(dtype) != np.object_:
            raise TypeError(f"one entry for each sequence makes an array of objects, not of {dtype}")
        made = np.empty(len(self), dtype=object)  # [N]
        for n, one in enumerate(self):
            made[n] = one
        return made


class ChainQueries:
    """Queries of an estimator with a fitted model."""

    model_: Model
    metric: Metric | str
    structure: Any
    seed: int
    threads: int | None

    def predict(self, X: Any) -> list[list[str]]:
        """Return the best labels of each sequence: always a list of lists of strings."""
        path = self._path(self._data(X))
        return PerSequence(self.model_.spelling.tags(path))

    def _path(self, data: Dataset) -> Path:
        """Return the best labels of all positions."""
        return self.model_.path(data, threads=self.threads)

    def predict_single(self, x: Any) -> list[str]:
        """Return the best labels of one sequence; for many calls, `crfkit.models.Tagger` is faster."""
        return self.predict([x])[0]

    @overload
    def predict_marginals(self, X: Any, as_array: Literal[False] = False) -> list[list[dict[str, float]]]: ...

    @overload
    def predict_marginals(self, X: Any, as_array: Literal[True]) -> list[Floats]: ...

    def predict_marginals(
        self, X: Any, as_array: bool = False
    ) -> list[Floats] | list[list[dict[str, float]]]:
        """Return the probability of every label at every position.

        Parameters
        ----------
        X : sequences
        as_array : bool
            For each sequence an array [T, L] with columns as in ``classes_``, instead of a list of dicts.
        """
        data = self._data(X)
        found = self.model_.marginals(data, threads=self.threads)
        if as_array:
            return PerSequence(found)
        names = self.model_.answers
        return PerSequence([dict(zip(names, row, strict=True)) for row in node.tolist()] for node in found)

    def predict_segments(self, X: Any) -> list[Segments]:
        """Return the segments of each sequence as (start, end, label); the end is one past the last position.

        Without what lies outside, labeled O; where labels are plain, as in addresses, segments are the runs
        of equal labels, O among them.
        """
        return PerSequence(self.model_.segments_in(self._path(self._data(X))))

    def predict_confidence(self, X: Any) -> list[list[tuple[int, int, str, float]]]:
        """Return the predicted segments of each sequence as (start, end, label, probability).

        They are those of `predict_segments`; the probability is that of exactly this segment, with both ends
        and the label.
        """
        return PerSequence(self.model_.confidence(self._data(X), threads=self.threads))

    def uncertainty(self, X: Any, method: Uncertainty = "entropy", k: int = 10) -> Floats:
        """Return how unsure the model is of each sequence, [N], as `Model.uncertainty` does."""
        return self.model_.uncertainty(self._data(X), method, k=k, threads=self.threads)

    def predict_marginals_single(self, x: Any) -> list[dict[str, float]]:
        """Return the probability of every label at every position of one sequence."""
        return self.predict_marginals([x])[0]

    @property
    def state_features_(self) -> dict[tuple[str, str], float]:
        """Weights by attribute and label, those that are not 0; of attributes without names by their id."""
        check_is_fitted(self, "model_")
        return state_weights(self.model_)

    @property
    def transition_features_(self) -> dict[tuple[str, ...], float]:
        """Weights by label before and label (of higher orders: by label n-gram), without zeros."""
        check_is_fitted(self, "model_")
        return transition_weights(self.model_)

    def predict_kbest(self, X: Any, k: int) -> list[list[tuple[list[str], float]]]:
        """Return the k best labelings of each sequence, best first, each with log p(y | x).

        There are fewer where fewer exist. Where an `encoding` was learned, labelings are as in y; each comes
        once, with the probability of the best labeling of the chain that spells it.
        """
        potentials = self._listed(X, k)
        total = inference.log_partition(potentials, threads=self.threads).tolist()
        return [
            [(self._spelled(one), one.score - log_z) for one in labelings]
            for labelings, log_z in zip(
                kbest_of(self.model_, potentials, k, self.threads), total, strict=True
            )
        ]

    def sample(self, X: Any, n: int = 1, seed: int | None = None) -> list[list[list[str]]]:
        """Draw n labelings of each sequence from p(y | x); the seed is the estimator's unless given."""
        return [[self._spelled(one) for one in several] for several in self._draws(X, n, seed)]

    def _draws(self, X: Any, n: int, seed: int | None) -> list[list[inference.Labeling]]:
        if operator.index(n) < 1:
            raise ValueError(f"n is {n}, expected 1 or more")
        seed = self.seed if seed is None else seed
        found: list[list[inference.Labeling]] = inference.sample(
            self._potentials(self._data(X)), n, seed, threads=self.threads
        )
        return found

    def _spelled(self, one: inference.Labeling) -> list[str]:
        return self.model_.spelling.tags(Path(np.array([0, len(one.labels)]), one.labels))[0]

    def log_proba(self, X: Any, y: Any = None) -> Floats:
        """Return log p(y | x) of each sequence, [N].

        Positions where y is None or a set are summed over; a label that the model does not know has
        probability 0.
        """
        return self._log_proba(self._data(X, y))

    def _log_proba(self, data: Dataset) -> Floats:
        """Return log p(y | x) of data that `_data` has made."""
        label, allowed = data.batch.label, data.batch.allowed
        if label is None:
            raise ValueError("y is missing; log_proba needs labels")
        found = self.model_.log_likelihood(data, threads=self.threads)
        # Whether the model knows each label; the last is that of -1, None.
        names = self.model_.structure.labels if self.model_.states is None else self.model_.answers
        known = np.append(Alphabet(names).freeze().ids(data.labels.strings()) >= 0, True)
        possible = known[label]  # [P]
        if allowed is not None:
            possible &= (label >= 0) | allowed[:, known[:-1][: allowed.shape[1]]].any(axis=1)
        sequence = np.repeat(np.arange(data.batch.sequences), np.diff(data.batch.seq_ptr))  # [P]
        found[sequence[~possible]] = -np.inf
        return found

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Return how good the predictions are, by the metric of the estimator.

        "auto" is the F1 of entities where the labels of the model spell them (right are those with their type
        and both ends; O does not count), else the accuracy of tokens: as `Model.evaluate`, dev sets and
        ``crfkit evaluate`` have it. Gold labels that the model does not know count as errors, with a
        `crfkit.errors.DataWarning`; where it knows none of them, a ValueError says so.

        Parameters
        ----------
        X : sequences
        y : list of lists of str
            The gold; may be None where X is a Dataset with labels.
        sample_weight : array [N], optional
            How often each sequence counts.
        """
        data = self._data(X, y)
        weight = weights_of(sample_weight, len(data))
        if self.metric == "log_likelihood":
            lengths = np.diff(data.batch.seq_ptr)  # [N]
            each = np.ones(len(data)) if weight is None else weight
            return float(each @ self._log_proba(data)) / max(float(each @ lengths), 1e-300)
        metric = self.model_.judge(self.metric)
        gold, found = self._labels_for(metric, data)
        self.model_.check_known(gold, metric)
        return judged(metric, gold, found, weight)

    def _labels_for(self, metric: Metric, data: Dataset) -> tuple[list[list[str]], list[list[str]]]:
        """Return gold labels and predicted ones as a metric reads them."""
        return self.model_.labels_for(metric, data, path=self._path(data))

    def _data(self, X: Any, y: Any = None) -> Dataset:
        check_is_fitted(self, "model_")
        data = self.model_.dataset(X, y, threads=self.threads)
        given, fitted = data.batch.dense, self.model_.layout.dense
        columns = 0 if given is None else given.shape[1]
        if columns != fitted:
            raise ValueError(f"X has {columns} real-valued columns, the model was fitted with {fitted}")
        return data

    def _listed(self, X: Any, k: int) -> Any:
        """Return the scores of X for a list of the k best labelings."""
        if operator.index(k) < 1:
            raise ValueError(f"k is {k}, expected 1 or more")
        data = self._data(X)
        if self.model_.constraints:
            raise ValueError(
                "predict_kbest does not keep constraints on whole labelings; use predict, or fit without "
                "constraints"
            )
        self.model_.check_labelings("predict_kbest")
        return self._potentials(data)

    def _potentials(self, data: Dataset) -> Any:
        """Return the scores of data that `_data` has made."""
        return self.model_.potentials(self.model_.batch_of(data), threads=self.threads)


def judged(
    metric: Metric, gold: list[list[str]], found: list[list[str]], weight: Floats | None = None
) -> float:
    """Return a metric; of weighted sequences [N]: metrics are functions of counts that add up."""
    if weight is None:
        return float(metric(gold, found))
    if not isinstance(metric, NamedMetric):
        raise ValueError("sample_weight: the metric is a function of labels, which cannot be weighted")
    encoded = encode({"y_true": gold, "y_pred": found}, None, None)
    counts: NDArray[Any] = metric.count(encoded, np.arange(encoded.N), encoded.N)  # [N, ...]
    return float(metric.value(np.tensordot(weight, counts, axes=1)[None])[0])
