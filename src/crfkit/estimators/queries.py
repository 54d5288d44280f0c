"""The queries of a fitted estimator: labels, probabilities, alternatives, draws, and scores."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from crfkit.arrays import Floats
from crfkit.data.dataset import Dataset
from crfkit.errors import SaveError
from crfkit.estimators.base import learned, unless_absent
from crfkit.estimators.inputs import itemized
from crfkit.estimators.judged import Judged
from crfkit.models.explain import state_weights, transition_weights
from crfkit.models.explanation import Explanation
from crfkit.models.model import Metric, Model
from crfkit.models.results import Candidate, LabelProba, PerSequence, Span
from crfkit.models.scores import Decoding
from crfkit.models.uncertainty import Uncertainty
from crfkit.models.weights import WeightTable, largest_weights, transition_table
from crfkit.structures.gold import Path

if TYPE_CHECKING:
    from typing_extensions import Self

    from crfkit.metrics.comparison import Compared
    from crfkit.training.events import TrainingRecord

__all__ = ["SequenceQueries"]


class SequenceQueries(Judged):
    """Queries of an estimator with a fitted model of sequences; `crfkit.Model` has the same."""

    metric: Metric | str = "auto"

    model_: Model = learned()
    classes_: NDArray[np.object_] = learned()
    n_iter_: int = learned()

    def predict(self, X: Any, *, given: Any = None, method: Decoding = None) -> PerSequence[list[str]]:
        """Return the best labels of each sequence: always a list of lists of strings.

        Parameters
        ----------
        X : sequences
        given : list of lists, optional
            Labels that are known, None where one is asked for: the others are the best ones with these.
        method : {"viterbi", "posterior"}, optional
            The best label sequence, or the most probable label of each position.
        """
        return self.model_.predict(self._data(X), given=given, method=method, threads=self._threads)

    def _path(self, data: Dataset) -> Path:
        """Return the best labels of all positions."""
        return self.model_._path(data, threads=self._threads)

    @unless_absent
    def tag(self, x: Any) -> list[str]:
        """Return the best labels of one sequence; for many calls, `crfkit.models.Tagger` is faster."""
        return self.predict([x])[0]

    @unless_absent
    def predict_proba(self, X: Any) -> LabelProba:
        """Return the probability of every label at every position: an array [T, L] for each sequence.

        Columns are as in ``classes_``; ``predict_proba(X).to_dicts()`` has dicts of label and probability.
        """
        return self.model_.predict_proba(self._data(X), threads=self._threads)

    @unless_absent
    def predict_spans(self, X: Any) -> list[list[Span]]:
        """Return the predicted segments of each sequence as (start, end, label, probability).

        Those that labels spell, or runs of equal labels, without what lies outside, labeled O. The end is one
        past the last position; the probability is that of exactly this segment, with both ends and the label.
        """
        return self.model_.predict_spans(self._data(X), threads=self._threads)

    @unless_absent
    def kbest(self, X: Any, k: int) -> list[list[Candidate]]:
        """Return the k best label sequences of each sequence, best first; fewer where fewer exist.

        Each has ``labels``, ``log_prob``, ``probability`` and ``spans``. Where an `encoding` was learned,
        labels are as in y; each sequence of them comes once, with the probability of the best one that spells
        it.
        """
        return self.model_.kbest(self._data(X), k, threads=self._threads)

    @unless_absent
    def sample(self, X: Any, n_samples: int = 1, *, random_state: int | None = None) -> list[list[list[str]]]:
        """Draw label sequences of each sequence from p(y | x), in the form of `predict`.

        Parameters
        ----------
        X : sequences
        n_samples : int
            For each sequence.
        random_state : int, optional
            That of the estimator unless given.
        """
        drawn = self._seed if random_state is None else random_state
        return self.model_.sample(self._data(X), n_samples, random_state=drawn, threads=self._threads)

    @unless_absent
    def log_prob(self, X: Any, y: Any = None) -> Floats:
        """Return log p(y | x) of each sequence, [N].

        Positions where y is None or a set are summed over; a label that the model does not know has
        probability 0.
        """
        return self.model_.log_prob(self._data(X, y), threads=self._threads)

    @unless_absent
    def entropy(self, X: Any) -> Floats:
        """Return the entropy of p(y | x) over all label sequences in nats, [N]."""
        return self.model_.entropy(self._data(X), threads=self._threads)

    @unless_absent
    def uncertainty(self, X: Any, method: Uncertainty = "entropy", k: int = 10) -> Floats:
        """Return how unsure the model is of each sequence, [N], as `Model.uncertainty` does."""
        return self.model_.uncertainty(self._data(X), method, k=k, threads=self._threads)

    @unless_absent
    def explain(self, x: Any, at: int | None = None) -> Explanation:
        """Explain why the labels of one sequence won, everywhere or at one position: `Model.explain`."""
        return self.model_.explain(self._data([x]), at, threads=self._threads)

    @property
    def training_(self) -> TrainingRecord | None:
        """How the model was trained; None where that is not known, as of another program's file."""
        check_is_fitted(self, "model_")
        return self.model_.training

    @unless_absent
    def top_features(self, label: str | None = None, n: int = 10) -> list[tuple[str, str, float]]:
        """Return the n largest weights as (feature, label, weight), those of one label or of all.

        Examples
        --------
        >>> from crfkit import ChainCRF
        >>> crf = ChainCRF().fit([[{"w": "the"}, {"w": "dog"}]], [["D", "N"]])
        >>> [feature for feature, _, _ in crf.top_features("N", 1)]
        ['w:dog']
        """
        check_is_fitted(self, "model_")
        return largest_weights(self.model_, label, n)

    @property
    def transitions_(self) -> WeightTable:
        """Weights of labels one after the other, as a table: a row for each label before."""
        check_is_fitted(self, "model_")
        return transition_table(self.model_)

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

    def _compared(self, X: Any, y: Any, metric: Metric | str) -> Compared:
        data = self._data(X, y)
        return self.model_._compared(data, None, metric, path=self._path(data), threads=self._threads)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what was learned to a file that `load`, `crfkit.load` and ``crfkit tag`` open.

        It is that of ``model_.save``, which has more options.

        Examples
        --------
        >>> import os, tempfile
        >>> from crfkit import ChainCRF
        >>> crf = ChainCRF().fit([[{"w": "the"}, {"w": "dog"}]], [["D", "N"]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     crf.save(os.path.join(folder, "m.crf"))
        ...     ChainCRF.load(os.path.join(folder, "m.crf")).predict([[{"w": "dog"}]])
        [['N']]
        """
        if callable(getattr(self, "features", None)):
            raise SaveError(
                f"features is the function {getattr(self.features, '__name__', self.features)}, which a file "
                "cannot hold: save model_, which takes what the function makes"
            )
        self.model_.save(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return a fitted estimator of a model file; what the file does not tell has its default."""
        from crfkit.models.files import load

        made, model = cls(), load(path)
        why = made._foreign(model)
        if why:
            raise TypeError(f"{os.fsdecode(path)} holds {why}, which is no {cls.__name__}: use crfkit.load")
        made._holding_file(model)
        return made

    def _foreign(self, model: Any) -> str:
        """Return what a model is that this estimator cannot have learned; "" where it can."""
        if not isinstance(model, Model):
            return "a model of graphs"
        if model.states is not None:
            return "a model with hidden states"
        mine, structure = self._made("structure", None), model.structure
        return "" if type(structure) is type(mine) else structure.describe()

    def _holding_file(self, model: Model) -> None:
        """Take over a model of a file, and what it says of parameters."""
        own = self._get_param_names()
        structure: Any = model.structure
        told = {
            "features": model.recipe,
            "train_scheme": None if model.states is not None else model.encoding,
            "constraints": model.constraints,
            "structure": None if model.states is not None else replace(structure, labels=()),
        }
        for name, value in told.items():
            if name in own and value:
                setattr(self, name, value)
        self.model_ = model
        self.classes_ = np.array(model.answers, dtype=object)
        self.n_iter_ = 0 if model.training is None else model.training.iterations

    def _data(self, X: Any, y: Any = None) -> Dataset:
        check_is_fitted(self, "model_")
        X = itemized(getattr(self, "features", None), X)
        data = self.model_.dataset(X, y, threads=self._threads)
        given, fitted = data.batch.dense, self.model_.layout.dense
        columns = 0 if given is None else given.shape[1]
        if columns != fitted:
            raise ValueError(f"X has {columns} real-valued columns, the model was fitted with {fitted}")
        return data
