"""The queries of a fitted estimator of graphs: labels, probabilities, draws, scores, reasons."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from crfkit import inference
from crfkit.estimators.base import Estimator, learned
from crfkit.inference.graphs import GraphLabeling, GraphLabelings, GraphMarginals
from crfkit.inference.methods.how import Numbers
from crfkit.inference.methods.method import Method
from crfkit.models.graph_model import Given, GraphModel, accuracy
from crfkit.structures.graphs.batch import GraphBatch

if TYPE_CHECKING:
    from typing_extensions import Self

    from crfkit.models.explanation import Explanation

__all__ = ["GraphQueries"]


class GraphQueries(Estimator):
    """Queries of an estimator with a fitted model of graphs.

    `predict`, `kbest` and `sample` are answered by `crfkit.inference.methods.Auto` unless they are given a
    method; sums by the method of training, so that probabilities are those that were fitted.
    """

    model_: GraphModel = learned()
    n_iter_: int = learned()

    @property
    def _summing(self) -> Method:
        raise NotImplementedError

    @property
    def _model(self) -> GraphModel:
        check_is_fitted(self, "model_")
        return self.model_

    def predict(
        self, X: GraphBatch, *, given: Given = None, method: Method | str | None = None
    ) -> GraphLabeling:
        """Return the best labeling by kind: ``predict(X)["token"]`` is [V].

        Parameters
        ----------
        X : GraphBatch
            Labels that it has are not looked at, unless `given` says so.
        given : mapping or "labels", optional
            Labels to clamp: kind -> ids or names, -1 or None where they are asked for; "labels": the known
            labels of X, as for a network of which a part is labeled.
        method : a method of `crfkit.inference.methods`, or its name, optional
            "posterior": the likeliest label of each variable.
        """
        if method == "posterior":
            return self._posterior(X, given)
        return self._model.predict(X, given=given, method=method, threads=self._threads)

    def _posterior(self, X: GraphBatch, given: Given) -> GraphLabeling:
        scores = self._model.given(X, given, threads=self._threads)
        p = inference.marginals(scores, cliques=False, method=self._summing, threads=self._threads)
        labels = {kind: np.argmax(each, axis=1).astype(np.int32) for kind, each in p.node.items()}
        return GraphLabeling(labels, inference.score(scores, labels), p.info.unbounded(), X.graph.kinds)

    def predict_proba(
        self,
        X: GraphBatch,
        *,
        given: Given = None,
        cliques: bool = False,
        method: Method | str | None = None,
    ) -> GraphMarginals:
        """Return the probability of each label by kind: ``predict_proba(X)["token"]`` is [V, L].

        `given` clamps labels as in `predict`; ``cliques=True`` also asks for those of factors, ``.clique``.
        """
        asked = self._summing if method is None else method
        return self._model.predict_proba(X, given=given, cliques=cliques, method=asked, threads=self._threads)

    def log_prob(self, X: GraphBatch, *, method: Method | str | None = None) -> Numbers:
        """Return the logarithm of the probability of the known labels of each graph, [N]."""
        asked = self._summing if method is None else method
        return self._model.log_prob(X, method=asked, threads=self._threads)

    def kbest(
        self, X: GraphBatch, k: int, *, given: Given = None, method: Method | str | None = None
    ) -> GraphLabelings:
        """Return the k best labelings: ``kbest(X, k)["token"]`` is [k, V], ``kbest(X, k)[n]`` of graph n."""
        scores = self._model.given(X, given, threads=self._threads)
        found: GraphLabelings = inference.kbest(scores, k, method=method, threads=self._threads)
        return found

    def sample(
        self,
        X: GraphBatch,
        n_samples: int = 1,
        *,
        random_state: int | None = None,
        given: Given = None,
        method: Method | str | None = None,
    ) -> GraphLabelings:
        """Draw labelings: ``sample(X, 9)["token"]`` is [9, V]; the random state is that of the estimator."""
        scores = self._model.given(X, given, threads=self._threads)
        drawn = self._seed if random_state is None else random_state
        found: GraphLabelings = inference.sample(
            scores, n_samples, drawn, method=method, threads=self._threads
        )
        return found

    def entropy(self, X: GraphBatch, *, given: Given = None, method: Method | str | None = None) -> Numbers:
        """Return the entropy of each graph's labels in nats, [N], or the method's approximation of it."""
        scores = self._model.given(X, given, threads=self._threads)
        asked = self._summing if method is None else method
        found: Numbers = inference.entropy(scores, method=asked, threads=self._threads)
        return found

    def score(
        self,
        X: GraphBatch,
        y: None = None,
        *,
        kind: str | None = None,
        given: Given = None,
    ) -> float:
        """Return the share of known labels of X that are predicted, of all kinds or of one.

        `given` clamps labels as in `predict`: ``score(X, kind="chunk", given={"pos": pos})``.
        """
        if y is not None:
            raise ValueError("the labels of graphs are in X: graph.batch(labels=...); leave y out")
        model = self._model
        if X.label is None:
            raise ValueError("X has no labels to compare with")
        return accuracy(X, model.predict(X, given=given, threads=self._threads).labels, kind)

    def explain(
        self,
        x: GraphBatch,
        at: tuple[str, int] | None = None,
        *,
        given: Given = None,
        method: Method | str | None = None,
    ) -> Explanation:
        """Explain why variables of one graph, ``X[0]``, have their labels; see `GraphModel.explain`."""
        return self._model.explain(x, at, given=given, method=method, threads=self._threads)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what was learned to a file that `load` and `crfkit.load` open."""
        self._model.save(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return a fitted estimator of a file; parameters that it does not tell are the defaults."""
        from crfkit.models.files import load

        model = load(path)
        if not isinstance(model, GraphModel):
            raise TypeError(f"{os.fsdecode(path)} holds no model of graphs: use crfkit.load")
        made = cls(model.graph)
        made.model_ = model
        made.n_iter_ = 0 if model.training is None else model.training.iterations
        return made

    def plot(self, clique: str, *, attribute: str | int | None = None) -> Any:
        """Return a heat map of the learned table of a clique as a matplotlib figure (the extra ``plot``)."""
        from crfkit.models.plots import plot_table

        return plot_table(self._model, clique, attribute=attribute)
