"""`HiddenSequenceCRF`: a label for each sequence and a hidden chain inside, as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from crfkit._safe.printable import counted
from crfkit.arrays import Floats, Pointers
from crfkit.data.alphabet import Alphabet
from crfkit.data.dataset import Dataset, labeled, spelled_number
from crfkit.estimators.base import fixed
from crfkit.estimators.evaluation import Evaluated
from crfkit.estimators.hidden import HiddenStates
from crfkit.features import Recipe
from crfkit.metrics.comparison import Columns, Compared, log_prob, name_of
from crfkit.metrics.default_metric import LOG_PROB, check_known, judge_for
from crfkit.models.model import Metric, SequenceModel
from crfkit.models.reading import read
from crfkit.structures.constraints import Forbid, Resolved, resolve
from crfkit.structures.structure import Structure

if TYPE_CHECKING:
    pass


class HiddenSequenceCRF(ClassifierMixin, Evaluated, HiddenStates):
    """A classifier of sequences with hidden states: the HCRF of Quattoni et al. (2007).

    A sequence has one label y and a hidden chain h of the states of that label; p(y | x) is the sum of
    p(h | x) over them. It is the chain of `HiddenChainCRF` in which no step leads from the states of one
    label to those of another.

    Parameters
    ----------
    states : int or dict
        How many states each label has, or ``{"wave": 3}`` with 1 for labels that are not named.
    restarts : int
        Training begins so often from other random weights; the best result is kept. The likelihood with
        hidden states is not convex.
    structure : Chain, or "chain"
        Its order; constraints are not for labels of whole sequences.
    l1, l2, order, min_count, max_iterations : optional
        Fields of the parts, as in `ChainCRF`.
    objective, optimizer, selection, stop, features, metric, random_state, n_jobs
        As in `HiddenChainCRF`.

    Attributes
    ----------
    model_ : Model
        A chain over states called ``label/0``, ``label/1``, ...; its answers have the label of the sequence
        at each position.
    classes_ : array of str [L]
        The labels, sorted: the columns of `predict_proba`.
    n_iter_ : int
        Iterations of the training that was kept.

    Notes
    -----
    `fit` takes a label for each sequence, and scikit-learn's tools for classifiers apply. An empty sequence
    says nothing of its label: all are equally probable.

    Examples
    --------
    >>> from crfkit import HiddenSequenceCRF
    >>> X = [[["a"], ["c"], ["b"]], [["b"], ["c"], ["a"]], [["a"], ["b"]], [["b"], ["a"]]] * 5
    >>> crf = HiddenSequenceCRF(states=2, restarts=3).fit(X, ["up", "down", "up", "down"] * 5)
    >>> crf.predict([[["c"], ["a"], ["b"]]]).tolist(), crf.classes_.tolist()
    (['up'], ['down', 'up'])
    """

    states: int | Mapping[str, int] = 3
    tokenizer: Any = fixed()
    sentences: Any = fixed("none")
    alignment: Any = fixed("expand")

    def predict(self, X: Any) -> NDArray[np.object_]:
        """Return the most probable label of each sequence, [N]."""
        best: NDArray[np.object_] = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return best

    score = Evaluated.score  # the same number as that of scikit-learn's mixin, with its report

    def _compared(self, X: Any, y: Any, metric: Metric | str) -> Compared:
        found = self.predict(X)
        if y is None:
            raise ValueError("y is missing; give one label for each sequence")
        gold = [*y]
        if len(gold) != len(found):
            raise ValueError(f"X has {counted(len(found), 'sequence')}, y has {len(gold)} labels")
        check_known([[str(label) for label in gold]], [str(label) for label in self.classes_])
        if metric == LOG_PROB:
            judge: Any = log_prob(self.log_prob(X, gold), np.ones(len(gold), np.int64))
        else:
            judge = judge_for(metric, "accuracy")
        return Columns.of([[str(label)] for label in gold], [[str(label)] for label in found], judge)

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each label for each sequence, [N, L]; columns are ``classes_``."""
        check_is_fitted(self, "model_")
        L = len(self.classes_)
        rows = self.model_.predict_proba(self.model_.dataset(X, threads=self._threads), threads=self._threads)
        # All states of a labeling belong to one label, so any position has the probability of the whole.
        return np.array([row[0] if len(row) else np.full(L, 1.0 / L) for row in rows]).reshape(-1, L)

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithm of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def log_prob(self, X: Any, y: Any = None) -> Floats:
        """Return log p(y | x) of the label of each sequence, [N]; -inf of labels that are new, 0 of None."""
        p = np.column_stack([self.predict_log_proba(X), np.full(len(X), -np.inf)])
        place = {label: i for i, label in enumerate(self.classes_)}
        given = [None] * len(p) if y is None else list(y)
        if len(given) != len(p):
            raise ValueError(f"X has {counted(len(p), 'sequence')}, y has {len(given)} labels")
        found = p[np.arange(len(p)), [place.get(label, -1) for label in given]]
        return np.where([label is None for label in given], 0.0, found)

    def entropy(self, X: Any) -> Floats:
        """Return the entropy of the label of each sequence in nats, [N]."""
        p = self.predict_proba(X)
        return np.asarray(-np.sum(p * np.log(np.where(p > 0.0, p, 1.0)), axis=1))

    def _take_model(self, model: Any) -> None:
        super()._take_model(model)
        self.classes_ = np.array(model.labels, dtype=object)

    @property
    def _dev_metric(self) -> Metric | str:
        if self.metric == LOG_PROB:
            return LOG_PROB
        judge = judge_for(self.metric, "sequence_accuracy")

        def of_sequences(gold: list[list[str]], found: list[list[str]]) -> float:
            return float(judge(*([labels[:1] for labels in each if labels] for each in (gold, found))))

        of_sequences.__name__ = name_of(judge)
        return of_sequences

    def _rules(self, names: Sequence[str]) -> Resolved | None:
        if getattr(self._part("structure"), "constraints", ()):
            raise ValueError("a label of a whole sequence has no steps to constrain; leave constraints out")
        apart = [Forbid(a, b) for a in names for b in names if a != b]
        return resolve(apart, names)

    def _prepared(
        self, X: Any, y: Any, recipe: Recipe | None, known: Sequence[str], before: SequenceModel | None
    ) -> tuple[Dataset, Structure]:
        if y is None:
            raise ValueError(
                "y is missing: HiddenSequenceCRF requires y to be passed, but the target y is None; give one "
                "label for each sequence"
            )
        data = read(X, recipe, self._threads)
        if not len(data):
            raise ValueError("X has no sequences (0 samples): there is nothing to learn from")
        labels = _labels(y, data.batch.seq_ptr)
        names = sorted({*known, *labels}, key=None if isinstance(y[0], str) else int)
        if len(names) < 2:
            raise ValueError(f"y has one label only, {names[0]!r}: training needs two labels or more")
        return self._stated(labeled(data, spread(y, data.batch.seq_ptr), Alphabet(names)))

    def _dev_data(self, X: Any, y: Any, recipe: Recipe | None, structure: Structure) -> Dataset:
        data = read(X, recipe, self._threads)
        _labels(y, data.batch.seq_ptr)
        return labeled(data, spread(y, data.batch.seq_ptr), Alphabet())


def _labels(y: Any, seq_ptr: Pointers) -> list[str]:
    """Return the label of each sequence, checked."""
    if isinstance(y, str | bytes) or not isinstance(y, Iterable):
        raise TypeError(f"y is {y!r:.60}, expected a list with one label for each sequence")
    labels, N = list(y), len(seq_ptr) - 1
    if len(labels) != N:
        raise ValueError(f"X has {counted(N, 'sequence')}, y has {len(labels)} labels")
    for n, label in enumerate(labels):
        if not isinstance(spelled_number(label), str):
            raise TypeError(
                f"y[{n}] is {label!r:.60}, of type {type(label).__name__}; expected one label for the whole "
                "sequence, a string or a whole number"
            )
    return [*map(spelled_number, labels)]


def spread(labels: Sequence[Any], seq_ptr: Pointers) -> list[list[Any]]:
    """Return the label of each sequence at each of its positions."""
    return [[label] * T for label, T in zip(labels, np.diff(seq_ptr).tolist(), strict=True)]
