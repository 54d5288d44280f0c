"""The queries of a fitted estimator: labels, probabilities, alternatives, draws, and scores."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from crfkit.arrays import Floats
from crfkit.data.dataset import Dataset
from crfkit.estimators.base import learned, unless_absent
from crfkit.estimators.evaluation import Evaluated
from crfkit.estimators.saving import InFiles
from crfkit.models.active_learning import Uncertainty, uncertainty
from crfkit.models.explain import state_weights, tokens_of, transition_weights
from crfkit.models.explanation import Explanation
from crfkit.models.model import Metric, SequenceModel
from crfkit.models.reading import are_docs, is_text, itemized
from crfkit.models.results import Candidate, LabelProba, PerSequence, Span
from crfkit.models.scores import Decoding
from crfkit.models.weights import WeightTable
from crfkit.structures.gold import Path

if TYPE_CHECKING:
    from typing_extensions import Self

    from crfkit.metrics.comparison import Compared


class SequenceQueries(Evaluated, InFiles):
    """Queries of an estimator with a fitted model of sequences; `SequenceModel` has the same."""

    #: The class of its models, and the kind of their feature map, where they have one.
    _learns: ClassVar[type[SequenceModel]] = SequenceModel
    _maps: ClassVar[str] = ""

    metric: Metric | str = "auto"

    model_: SequenceModel = learned()
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
        if are_docs(X):
            check_is_fitted(self, "model_")
            return self.model_.predict(X, given=given, method=method, threads=self._threads)
        return self.model_.predict(self._data(X), given=given, method=method, threads=self._threads)

    def _path(self, data: Dataset) -> Path:
        """Return the best labels of all positions."""
        return self.model_._path(data, threads=self._threads)

    @unless_absent
    def tag(self, x: Any) -> Any:
        """Return the best labels of one sequence, or the `Doc` of a raw text with its spans.

        Text is cut by the tokenizer of the estimator, else at blanks.
        """
        if is_text(x):
            return self._reading()(x)
        return self.predict([x])[0]

    @unless_absent
    def predict_proba(self, X: Any, *, given: Any = None) -> LabelProba:
        """Return the probability of every label at every position: an array [T, L] for each sequence.

        Columns are as in ``classes_``; ``predict_proba(X).to_dicts()`` has dicts of label and probability.
        Labels that are `given` are known, as in `predict`.
        """
        return self.model_.predict_proba(self._data(X), given=given, threads=self._threads)

    @unless_absent
    def predict_spans(self, X: Any) -> list[list[Span]]:
        """Return the predicted segments of each sequence as (start, end, label, probability).

        Those that labels spell, or runs of equal labels, without what lies outside, labeled O. The end is one
        past the last position; the probability is that of exactly this segment, with both ends and the label.
        """
        if are_docs(X):
            check_is_fitted(self, "model_")
            return self.model_.predict_spans(X, threads=self._threads)
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
        """Return how unsure the model is of each sequence, [N], as `crfkit.models.uncertainty` does."""
        return uncertainty(self.model_, self._data(X), method, k=k, threads=self._threads)

    @unless_absent
    def explain(self, x: Any, at: int | None = None) -> Explanation:
        """Explain why the labels of one sequence won, everywhere or at one position: `Model.explain`."""
        if is_text(x):
            return self._reading().explain(x, at)
        found = self.model_.explain(self._data([x]), at, threads=self._threads)
        return replace(found, tokens=tokens_of(x))

    @property
    def n_features_in_(self) -> int:
        """How many columns X has, where it is arrays."""
        check_is_fitted(self, "model_")
        made = self.model_.feature_map
        columns = self.model_.layout.dense if made is None else getattr(made, "columns", 0)
        if not columns:
            raise AttributeError("n_features_in_")  # `__getattr__` says why
        return int(columns)

    @unless_absent
    def top_features(self, label: str | int | None = None, n: int = 10) -> list[tuple[str, str, float]]:
        """Return the n largest weights as (feature, label, weight), those of one label or of all."""
        check_is_fitted(self, "model_")
        return self.model_.top_features(label, n)

    @property
    def transitions_(self) -> WeightTable:
        """Weights of labels one after the other, as a table: a row for each label before."""
        check_is_fitted(self, "model_")
        return self.model_.transitions

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

    @classmethod
    def _foreign(cls, model: Any) -> str:
        if not isinstance(model, SequenceModel):
            return "a model of graphs"
        made = "" if model.feature_map is None else model.feature_map.kind
        if (model.rule, made) != (cls._learns.rule, cls._maps):
            lacks = ["a rule"] * bool(cls._learns.rule and not model.rule) + ["a map"] * bool(
                cls._maps and not made
            )
            return f"{model.told} without {' and '.join(lacks)}" if lacks else str(model.told)
        if model.states is not None:
            return "a model with hidden states"
        mine, structure = cls()._made("structure", None), model.structure
        return "" if type(structure) is type(mine) else structure.describe()

    @classmethod
    def _of_model(cls, model: Any) -> Self:
        made, structure = cls(), model.structure
        told = {
            "features": model.recipe,
            "train_scheme": None if model.states is not None else model.encoding,
            "constraints": model.constraints,
            "structure": None if model.states is not None else replace(structure, labels=()),
        }
        own = made._get_param_names()
        for name, value in told.items():
            if name in own and value:
                setattr(made, name, value)
        return made

    def _take_model(self, model: Any) -> None:
        super()._take_model(model)
        self.classes_ = np.array(model.labels, dtype=object)

    def _reading(self) -> SequenceModel:
        """Return the model, with a tokenizer; without one of its own it cuts at blanks."""
        from crfkit.models.documents import reads_text

        check_is_fitted(self, "model_")
        return reads_text(self.model_, getattr(self, "features", None))

    def _data(self, X: Any, y: Any = None) -> Dataset:
        check_is_fitted(self, "model_")
        X = X if are_docs(X) else itemized(getattr(self, "features", None), X)
        data = self.model_.dataset(X, y, threads=self._threads)
        given, fitted = data.batch.dense, self.model_.layout.dense
        columns = 0 if given is None else given.shape[1]
        if columns != fitted:
            raise ValueError(f"X has {columns} real-valued columns, the model was fitted with {fitted}")
        return data
