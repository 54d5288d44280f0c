"""`GraphCRF`: a CRF on general graphs as an estimator."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
from numpy.typing import ArrayLike

from crfkit.estimators.params import PartParams
from crfkit.inference.graphs import GraphLabelling, GraphMarginals
from crfkit.inference.methods.how import How
from crfkit.inference.methods.method import Method
from crfkit.inference.methods.registry import method_of
from crfkit.linear.features import Features
from crfkit.linear.objective import Objective
from crfkit.methods import Auto
from crfkit.models.graph_model import GraphModel
from crfkit.objectives import Likelihood
from crfkit.optimise.problem import Optimiser
from crfkit.structures.graph import Graph
from crfkit.structures.graph_batch import GraphBatch
from crfkit.training.choose import objective_of
from crfkit.training.events import Listener
from crfkit.training.graph_fit import GraphFit, Init
from crfkit.training.interrupt import pass_on
from crfkit.training.progress import display_for
from crfkit.training.stop import Stop

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["GraphCRF"]

_LIKELIHOOD: Final = Likelihood()
_FEATURES: Final = Features()
_STOP: Final = Stop()
#: Cells of the tables of a component that is summed exactly in training.
_BUDGET = 2**22


class GraphCRF(PartParams):
    """A conditional random field on general graphs.

    Parameters
    ----------
    graph : Graph
        Kinds of variables, and the cliques that score them.
    objective : an objective, or its name
        What to optimise, penalty included: ``Likelihood(l2=1.0)``, ``PseudoLikelihood()``, ``MaxMargin()``.
    optimiser : an optimiser, its name, or "auto"
        "auto" takes the fastest sound one.
    method : a method of `crfkit.methods`, or its name, optional
        Who sums and maximises. Default: exact where the tables of a component have at most 2**22 cells,
        else belief propagation; ``how_`` and ``model_.training.notes`` say which.
    features : Features, or one of "observed", "all"
        Which weights attributes get: for the labels that they occur with, or for all.
    stop : Stop
        When training ends.
    init : {"piecewise", "zero"}, GraphModel or array [F], optional
        Where training starts. "piecewise": where the objective is not convex (belief propagation, mean field,
        hidden labels), at the weights of a short piecewise training, and else at 0. A model of the same graph
        is a warm start: weights are matched by the names of attributes.
    seed : int
        For what is drawn.
    threads : int, optional
        Default: all cores. Results do not depend on it.

    Attributes
    ----------
    model_ : GraphModel
        The weights; ``model_.tables()`` shows them by clique, ``model_.training`` how they were learned.
    how_ : How
        How the last evaluation of training was answered, graph by graph.

    Examples
    --------
    >>> import numpy as np
    >>> from crfkit import Graph, GraphCRF, scopes
    >>> ptr = [0, 3, 5]
    >>> graph = Graph({"token": ["D", "N"]}, word=["token"], step=["token", "token"])
    >>> data = graph.batch(
    ...     graph_ptr=ptr,
    ...     labels={"token": [0, 1, 1, 0, 1]},
    ...     scopes={"step": scopes.chain(ptr)},
    ...     features={"word": np.eye(3)[[0, 1, 2, 0, 1]]},
    ... )
    >>> crf = GraphCRF(graph).fit(data)
    >>> crf.predict(data)["token"].tolist()
    [0, 1, 1, 0, 1]
    """

    _parts: ClassVar[Mapping[str, Callable[[Any], Any] | None]] = {
        "objective": objective_of,
        "features": Features.of,
        "optimiser": None,
        "method": None,
        "stop": None,
    }

    def __init__(
        self,
        graph: Graph,
        objective: Objective | str = _LIKELIHOOD,
        optimiser: Optimiser | str = "auto",
        method: Method | str | None = None,
        features: Features | str = _FEATURES,
        stop: Stop = _STOP,
        init: Init = "piecewise",
        seed: int = 0,
        threads: int | None = None,
    ) -> None:
        self.graph = graph
        self.objective = objective
        self.optimiser = optimiser
        self.method = method
        self.features = features
        self.stop = stop
        self.init = init
        self.seed = seed
        self.threads = threads

    def fit(
        self,
        X: GraphBatch,
        y: None = None,
        *,
        sample_weight: ArrayLike | None = None,
        progress: bool | None = False,
    ) -> Self:
        """Train on graphs, and forget what was learned before.

        Parameters
        ----------
        X : GraphBatch
            Graphs with labels, of `Graph.batch`; -1 where a label is hidden.
        y : None
            The labels are in X.
        sample_weight : array [N], optional
            Weight of each graph.
        progress : bool, optional
            Show progress; None: where standard error is a terminal.
        """
        begun = time.perf_counter()
        weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        fit = GraphFit(
            X,
            objective_of(self.objective, self.optimiser),
            Features.of(self.features),
            self.optimiser,
            Auto(budget=_BUDGET) if self.method is None else method_of(self.method),
            self.stop,
            weight=weight,
            init=self.init,
            seed=self.seed,
            threads=self.threads,
        )
        display = display_for(progress)
        audience: list[Listener] = [] if display is None else [display]
        try:
            self.model_: GraphModel = fit.run(None, None, None, audience, begun)
        finally:
            if display is not None:
                display.close()
        last = fit.problem.tally.last
        self.how_: How | None = last[-1] if last else None
        self.n_iter_ = 0 if self.model_.training is None else self.model_.training.iterations
        pass_on(self.model_.training)
        return self

    def predict(
        self,
        X: GraphBatch,
        *,
        given: Mapping[str, ArrayLike] | None = None,
        method: Method | str | None = None,
    ) -> GraphLabelling:
        """Return the best labelling, by kind: ``predict(X)["token"]`` is [V]."""
        return self.model_.predict(X, given=given, method=method, threads=self.threads)

    def predict_marginals(
        self,
        X: GraphBatch,
        *,
        given: Mapping[str, ArrayLike] | None = None,
        method: Method | str | None = None,
    ) -> GraphMarginals:
        """Return the probability of each label, by kind: ``predict_marginals(X)["token"]`` is [V, L]."""
        return self.model_.predict_marginals(X, given=given, method=method, threads=self.threads)
