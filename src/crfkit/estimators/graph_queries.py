"""The queries of a fitted estimator of graphs: labels, probabilities, draws, scores, reasons."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from crfkit.estimators.base import learned
from crfkit.estimators.evaluation import Evaluated
from crfkit.estimators.saving import InFiles
from crfkit.inference.methods.how import Numbers
from crfkit.inference.methods.method import Method
from crfkit.models.graph_model import GraphModel
from crfkit.models.results import Candidate

if TYPE_CHECKING:
    from typing_extensions import Self

    from crfkit.metrics.comparison import Compared
    from crfkit.metrics.report import Report
    from crfkit.models.explanation import Explanation


class GraphQueries(Evaluated, InFiles):
    """Queries of an estimator with a fitted model of graphs.

    The best labeling, `kbest` and `sample` are answered by `crfkit.inference.methods.Auto` unless they are
    given a method; sums by the method of training, so that probabilities are those that were fitted.
    """

    model_: GraphModel = learned()
    n_iter_: int = learned()
    inference_info_: Any = learned()  # a How; None where the model is from a file

    @property
    def _summing(self) -> Method:
        raise NotImplementedError

    @property
    def _model(self) -> GraphModel:
        check_is_fitted(self, "model_")
        return self.model_

    def predict(self, X: Any, *, given: Any = None, method: Method | str | None = None) -> Any:
        """Return labels: of graphs by kind, of samples in the form that y had.

        ``predict(X)["token"]`` are the labels of a kind, [V], ``predict(X).ids["token"]`` their ids,
        ``predict(X).split()[n]`` the labels of graph n, and ``predict(X).info`` says how they were found.

        Parameters
        ----------
        X : GraphBatch, or samples as in `fit`
            Labels that graphs have are not looked at, unless `given` says so.
        given : mapping or "labels", optional
            Labels to clamp: kind -> ids or names, -1 or None where they are asked for; "labels": the known
            labels of X, as for a network of which a part is labeled. Of samples: in the form of y.
        method : {"viterbi", "posterior"}, or a method of `crfkit.inference.methods`, or its name, optional
            "viterbi": the best labeling; "posterior": the likeliest label of each variable; a method: the
            best labeling that it finds. Default: ``model_.decoding``, "viterbi" but where training on
            samples chose otherwise.
        """
        return self._model._labels(self._checked(X), given, method, self._summing, self._threads)

    def predict_proba(
        self, X: Any, *, given: Any = None, cliques: bool = False, method: Method | str | None = None
    ) -> Any:
        """Return the probability of each label: ``predict_proba(X)["token"]`` is [V, L]; of samples arrays.

        `given` clamps labels as in `predict`; ``cliques=True`` also asks for those of the factors of graphs,
        ``.clique``.
        """
        asked = self._summing if method is None else method
        return self._model.predict_proba(
            self._checked(X), given=given, cliques=cliques, method=asked, threads=self._threads
        )

    def log_prob(self, X: Any, y: Any = None, *, method: Method | str | None = None) -> Numbers:
        """Return the logarithm of the probability of the known labels of each graph, [N].

        Labels that are not known are summed over; one that the model does not have has probability 0.
        """
        asked = self._summing if method is None else method
        return self._model.log_prob(self._checked(X), y, method=asked, threads=self._threads)

    def kbest(
        self, X: Any, k: int, *, given: Any = None, method: Method | str | None = None
    ) -> list[list[Candidate]]:
        """Return the k best labelings of each graph or sample, best first; fewer where fewer exist.

        Each has ``labels`` (by kind, or in the form of y), ``log_prob`` and ``probability``.
        """
        return self._model.kbest(
            self._checked(X), k, given=given, method=method, summing=self._summing, threads=self._threads
        )

    def sample(
        self,
        X: Any,
        n_samples: int = 1,
        *,
        random_state: int | None = None,
        given: Any = None,
        method: Method | str | None = None,
    ) -> list[list[Any]]:
        """Draw labelings: ``sample(X, 9)[n]`` are 9 of graph or sample n, by kind or in the form of y.

        The random state is that of the estimator unless given.
        """
        drawn = self._seed if random_state is None else random_state
        return self._model.sample(
            self._checked(X), n_samples, random_state=drawn, given=given, method=method, threads=self._threads
        )

    def entropy(self, X: Any, *, given: Any = None, method: Method | str | None = None) -> Numbers:
        """Return the entropy of each graph's labels in nats, [N], or the method's approximation of it."""
        asked = self._summing if method is None else method
        return self._model.entropy(self._checked(X), given=given, method=asked, threads=self._threads)

    def score(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        kind: str | None = None,
        given: Any = None,
    ) -> float:
        """Return how good the predictions are: the score of `evaluate`, by the metric of the estimator.

        Labels that are not known do not count. Of graphs "auto" is the share of known labels of X that are
        predicted, of all kinds or of one; of samples it is what fits the labels. `given` clamps labels as in
        `predict`: ``score(X, kind="chunk", given={"pos": pos})``.
        """
        return self._compared(X, y, self._metric(None), kind=kind, given=given).score(sample_weight)

    def evaluate(
        self,
        X: Any,
        y: Any = None,
        *,
        metric: Any = None,
        groups: Sequence[Hashable] | None = None,
        kind: str | None = None,
        given: Any = None,
    ) -> Report:
        """Return how good the predictions are: a report to print, whose ``float`` is that of `score`.

        Parameters
        ----------
        X, y
            As in `fit`. Labels that are not known do not count.
        metric : str or function, optional
            For graphs "auto", "accuracy", "log_prob" or a function of gold and predicted labels by kind; for
            samples also other names of `crfkit.metrics.METRICS`, and functions are of lists of labels.
            Default: that of the estimator.
        groups : sequence [N], optional
            The group of each graph or sample: the report has a row for each.
        kind : str, optional
            The only kind or column whose labels count.
        given
            As in `predict`.
        """
        return self._compared(X, y, self._metric(metric), kind=kind, given=given).report(groups)

    def _compared(self, X: Any, y: None, metric: Any, **asked: Any) -> Compared:
        return self._model._compared(
            self._checked(X), y, metric, summing=self._summing, threads=self._threads, **asked
        )

    def explain(
        self, x: Any, at: Any = None, *, given: Any = None, method: Method | str | None = None
    ) -> Explanation:
        """Explain why one graph or sample, ``X[0]``, has its labels; see `GraphModel.explain`."""
        return self._model.explain(x, at, given=given, method=method, threads=self._threads)

    def _checked(self, X: Any) -> Any:
        """Return X, checked as the estimator checks it."""
        return X

    @classmethod
    def _foreign(cls, model: Any) -> str:
        if not isinstance(model, GraphModel):
            return "a model of sequences"
        if cls._params_of_model(model) is not None:
            return ""
        made = model.feature_map
        return f"{model!r}, " + ("without a map of samples" if made is None else f"with a map of {made.kind}")

    @classmethod
    def _of_model(cls, model: Any) -> Self:
        return cls(**(cls._params_of_model(model) or {}))

    def _take_model(self, model: Any) -> None:
        super()._take_model(model)
        self.inference_info_ = None

    @classmethod
    def _params_of_model(cls, model: GraphModel) -> dict[str, Any] | None:
        """Return the parameters that a model tells; None where this estimator cannot have learned it."""
        raise NotImplementedError

    def plot(self, clique: str, *, attribute: str | int | None = None) -> Any:
        """Return a heat map of the learned table of a clique as a matplotlib figure (the extra ``plot``)."""
        from crfkit.models.plots import plot_table

        return plot_table(self._model, clique, attribute=attribute)
