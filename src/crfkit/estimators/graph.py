"""`GraphCRF`: a CRF on general graphs as an estimator."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crfkit.estimators.base import learned
from crfkit.estimators.graph_queries import GraphQueries
from crfkit.estimators.parameters import Trained
from crfkit.estimators.saving import recorded
from crfkit.inference.methods.method import Method
from crfkit.models.graph_model import GraphMetric, GraphModel
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.structures.graphs.graph import Graph
from crfkit.training.events import Listener
from crfkit.training.graphs.data import checked_graphs
from crfkit.training.graphs.fit import GraphInit, training_method
from crfkit.training.runs.checkpoint import Checkpoints
from crfkit.training.runs.convergence import WarnedLast, pass_on
from crfkit.training.train import train

if TYPE_CHECKING:
    from typing_extensions import Self


class GraphCRF(GraphQueries, Trained):
    """A conditional random field on general graphs.

    Parameters
    ----------
    graph : Graph
        Kinds of variables, and the cliques that score them.
    objective : an objective, or its name
        What to optimize, penalty included: ``Likelihood(l2=1.0)``, ``PseudoLikelihood()``, ``MaxMargin()``.
    optimizer : an optimizer, its name, or "auto"
        "auto" takes the fastest sound one; "em" is expectation maximization, for hidden labels.
    method : a method of `crfkit.inference.methods`, or its name, optional
        The inference method of training, of `predict_proba` and of `log_prob`. Default: exact where the
        tables of a component have at most 2**22 cells, else belief propagation; ``inference_info_`` and
        ``model_.training.notes`` say which.
    selection : FeatureSelection, or one of "observed", "all"
        Which weights attributes get: for the labels that they occur with, or for all.
    stop : Stop
        When training ends.
    init : {"piecewise", "alone", "drawn", "zero"}, GraphModel or array [F], optional
        Where training starts. "piecewise": where the objective is not convex (belief propagation, mean field,
        hidden labels), at the weights of a short piecewise training, and else at 0. "alone": there at the
        weights of variables without links; "drawn": from these on by persistent contrastive divergence, for
        likelihoods by messages on large graphs. A model of the same graph is a warm start: weights are
        matched by the names of attributes. One network of which a quarter of the labels or more are hidden
        begins "alone" unless `init` is "zero" or weights; links are as strong as finds most of the known
        labels that are held out, and `predict` gives the likeliest label of each variable.
    restarts : int
        Where labels are hidden, training begins so often from other random weights, and the best result is
        kept: by the dev set where there is one, else by the objective.
    metric : {"auto", "accuracy", "log_prob"} or function
        The score of the dev set; a function of gold and predicted labels by kind, more is better. "auto" is
        the accuracy of known variables, as in `score`.
    l1, l2, min_count, max_iterations : optional
        Fields of the parts, as in `ChainCRF`.
    random_state : int, optional
        For what is drawn.
    n_jobs : int, optional
        Default: all cores. Results do not depend on it.

    Attributes
    ----------
    model_ : GraphModel
        The weights; ``model_.tables()`` shows them by clique, ``model_.training`` how they were learned.
    inference_info_ : How
        How the last evaluation of training was answered, graph by graph: ``inference_info_.exact.mean()``.
    classes_ : dict
        Kind -> its labels, as text where they have no names.
    n_iter_ : int
        Iterations of the training that was kept.

    Notes
    -----
    A kind without labels in any graph is hidden: it is summed out, and training starts at random weights
    unless `init` gives some, because at 0 all its labels would stay alike.

    Examples
    --------
    >>> import numpy as np
    >>> from crfkit import Graph, GraphCRF
    >>> from crfkit.graphs import scopes
    >>> ptr = [0, 3, 5]
    >>> graph = Graph({"token": ["D", "N"]}, word=["token"], step=["token", "token"])
    >>> data = graph.batch(
    ...     graph_ptr=ptr,
    ...     labels={"token": ["D", "N", "N", "D", "N"]},
    ...     scopes={"step": scopes.chain(ptr)},
    ...     features={"word": np.eye(3)[[0, 1, 2, 0, 1]]},
    ... )
    >>> crf = GraphCRF(graph).fit(data)
    >>> crf.predict(data)["token"].tolist(), crf.predict(data).ids["token"].tolist()
    (['D', 'N', 'N', 'D', 'N'], [0, 1, 1, 0, 1])
    >>> crf.score(data), crf.inference_info_.exact.mean()
    (1.0, np.float64(1.0))
    """

    graph: Graph = field(kw_only=False)
    method: Method | str | None = None
    init: GraphInit = "piecewise"
    restarts: int = 1
    metric: GraphMetric | str = "auto"

    classes_: dict[str, NDArray[np.object_]] = learned()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False  # the labels are in X
        tags.input_tags.dict = tags.input_tags.string = tags.input_tags.sparse = False
        return tags

    @classmethod
    def _params_of_model(cls, model: GraphModel) -> dict[str, Any] | None:
        return {"graph": model.graph} if model.feature_map is None else None

    def _take_model(self, model: Any) -> None:
        super()._take_model(model)
        self.classes_ = self._named(model)

    @staticmethod
    def _named(model: GraphModel) -> dict[str, NDArray[np.object_]]:
        return {kind: np.array(labels, dtype=object) for kind, labels in model.labels.items()}

    @property
    def _summing(self) -> Method:
        return training_method(self.method, rough=False)

    def fit(
        self,
        X: GraphBatch,
        y: None = None,
        *,
        dev: GraphBatch | None = None,
        sample_weight: ArrayLike | None = None,
        checkpoint: str | os.PathLike[str] | Checkpoints | None = None,
        listeners: Sequence[Listener] = (),
        progress: bool | None = False,
    ) -> Self:
        """Train on graphs, and forget what was learned before.

        Ctrl-C ends training: the estimator holds the model so far, and KeyboardInterrupt is raised. There is
        a `ConvergenceWarning` where training ends before it converges, and where a method such as belief
        propagation did not converge for more than 5 % of the graphs in the last evaluation.

        Parameters
        ----------
        X : GraphBatch
            Graphs with labels, of `Graph.batch`; -1 where a label is hidden.
        y : None
            The labels are in X.
        dev : GraphBatch, optional
            Graphs to score the weights on: training ends when the score no longer rises, and the best
            weights are kept.
        sample_weight : array [N], optional
            Weight of each graph: 2 is as if it were there twice.
        checkpoint : path or Checkpoints, optional
            A folder: training goes on from the checkpoint there, with the same result as if it had never
            been interrupted.
        listeners : sequence of functions
            Each is called with every event; see `crfkit.training.events`.
        progress : bool, optional
            Show progress; None: where standard error is a terminal.
        """
        if y is not None:
            raise ValueError("the labels of graphs are in X: graph.batch(labels=...); leave y out")
        if not isinstance(self.graph, Graph):
            raise TypeError(f"graph is {self.graph!r}, expected a Graph")
        data = checked_graphs(X, self.graph, "X")
        with WarnedLast():
            self.model_ = train(
                data,
                dev,
                objective=self._part("objective"),
                optimizer=self.optimizer,
                method=self.method,
                selection=self._part("selection"),
                stop=self._part("stop"),
                init="zero" if self.init is None else self.init,
                restarts=self.restarts,
                metric=self.metric,
                checkpoint=checkpoint,
                sample_weight=sample_weight,
                random_state=self._seed,
                n_jobs=self._threads,
                listeners=listeners,
                progress=progress,
            )
            self.model_ = recorded(self, self.model_)
            assert self.model_.info is not None
            self.inference_info_ = self.model_.info
            self.n_iter_ = 0 if self.model_.training is None else self.model_.training.iterations
            self.classes_ = self._named(self.model_)
        pass_on(self.model_.training)
        return self
