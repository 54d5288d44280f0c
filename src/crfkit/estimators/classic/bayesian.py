"""`BayesianCRF`: a CRF on small graphs or chains with a posterior over its weights, not one best vector."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from crfkit.checks import check_number
from crfkit.errors import warn_about
from crfkit.estimators.base import learned
from crfkit.estimators.evaluation import Evaluated
from crfkit.estimators.graph import GraphCRF
from crfkit.estimators.saving import InFiles, recorded
from crfkit.inference.methods import Auto, Elimination
from crfkit.inference.methods.method import Method
from crfkit.linear.features import FeatureSelection
from crfkit.linear.graphs.labelings import labelings_of
from crfkit.linear.graphs.loss import GraphLoss
from crfkit.linear.graphs.posterior import Posterior, power_ep
from crfkit.models.classic.average import AveragedModel
from crfkit.models.graph_model import Given, GraphModel
from crfkit.models.graph_results import GraphLabels, GraphProba
from crfkit.objectives import Likelihood
from crfkit.optimize import LBFGS
from crfkit.optimize.options import check_above_zero
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.structures.graphs.gold import gold_of_graphs
from crfkit.structures.graphs.graph import Graph

if TYPE_CHECKING:
    from typing_extensions import Self

    from crfkit.metrics.comparison import Compared

Covariance = Literal["auto", "full", "diagonal"]
#: Weights up to which "auto" keeps all covariances: 8 MB.
_FULL = 1000
_METHOD: Final = Auto()


class BayesianCRF(Evaluated, InFiles):
    """A conditional random field whose weights have a posterior distribution: Qi, Szummer & Minka (2005).

    The posterior is a Gaussian found by power expectation propagation; predictions average over it. For few
    data this is less sure of itself than the weights with the highest density.

    Parameters
    ----------
    graph : Graph
        Kinds of variables, and the cliques that score them; chains are graphs with `scopes.chain`.
    variance : float
        Variance of the normal prior of each weight; `GraphCRF` calls 1 / variance its l2.
    covariance : {"auto", "full", "diagonal"}
        Which covariances of weights are kept; "auto": all up to 1,000 weights, else variances only.
    selection : FeatureSelection, or one of "observed", "all"
        Which weights attributes get.
    max_labelings : int
        Graphs with at most this number of labelings are summed exactly in the posterior.
    draws : int
        Labelings that stand for each larger graph, drawn from the model with the best weights.
    samples : int
        Weights drawn from the posterior that predictions average over.
    max_sweeps, tolerance : int, float
        Limits of expectation propagation: updates of all graphs; converged where one moves means by less than
        `tolerance` standard deviations, and variances by less than that share.
    method : a method of `crfkit.inference.methods`, or its name
        The inference method of predictions.
    random_state : int, optional
    n_jobs : int, optional

    Attributes
    ----------
    posterior_ : Posterior
        ``mean`` [F], ``covariance`` [F, F] or [F], ``sweeps``, ``change``, ``converged``.
    map_ : GraphModel
        The model with the weights of highest posterior density.
    classes_ : dict
        Kind -> its labels.
    model_ : AveragedModel
        It averages as well; its weights are the mean of the posterior.

    Examples
    --------
    >>> import numpy as np
    >>> from crfkit.estimators.classic import BayesianCRF
    >>> from crfkit import Graph
    >>> from crfkit.graphs import scopes
    >>> ptr = [0, 3, 5]
    >>> graph = Graph({"token": ["D", "N"]}, word=["token"], step=["token", "token"])
    >>> data = graph.batch(
    ...     graph_ptr=ptr,
    ...     labels={"token": [0, 1, 1, 0, 1]},
    ...     scopes={"step": scopes.chain(ptr)},
    ...     features={"word": np.eye(3)[[0, 1, 2, 0, 1]]},
    ... )
    >>> crf = BayesianCRF(graph).fit(data)
    >>> crf.predict(data)["token"].tolist(), crf.posterior_.converged
    (['D', 'N', 'N', 'D', 'N'], True)
    """

    graph: Graph = field(kw_only=False)
    variance: float = 1.0
    covariance: Covariance = "auto"
    selection: FeatureSelection | str = "observed"
    max_labelings: int = 2**10
    draws: int = 1000
    samples: int = 100
    max_sweeps: int = 500
    tolerance: float = 1e-4
    method: Method | str = _METHOD

    model_: AveragedModel = learned()
    n_iter_: int = learned()

    @property
    def posterior_(self) -> Posterior:
        """The Gaussian over the weights."""
        return self.model_.posterior

    @property
    def map_(self) -> GraphModel:
        """The model with the weights of highest posterior density."""
        return self.model_.plain_best

    @classmethod
    def _foreign(cls, model: Any) -> str:
        return "" if isinstance(model, AveragedModel) else "a model without a rule that averages over weights"

    @classmethod
    def _of_model(cls, model: Any) -> Self:
        return cls(model.graph, samples=model.samples, random_state=model.random_state, method=model.method)

    @property
    def classes_(self) -> dict[str, NDArray[np.object_]]:
        """The labels of each kind."""
        return {kind: np.array(labels, dtype=object) for kind, labels in self.model_.labels.items()}

    def _take_model(self, model: Any) -> None:
        super()._take_model(model)
        self.n_iter_ = model.sweeps

    def fit(self, X: GraphBatch, y: None = None) -> Self:
        """Find the best weights, then the posterior around them; warn where it did not converge.

        Parameters
        ----------
        X : GraphBatch
            Graphs with a label of every variable, of `Graph.batch`.
        y : None
            The labels are in X.
        """
        self._check(X)
        best = GraphCRF(
            self.graph,
            objective=Likelihood(l2=1.0 / self.variance),
            optimizer=LBFGS(tolerance=1e-8),
            method=Elimination(),
            selection=self.selection,
            n_jobs=self._threads,
        ).fit(X)
        found_best: GraphModel = best.model_
        loss = GraphLoss(Likelihood(), found_best.layout, X, Elimination(), threads=self._threads)
        w = np.array(found_best.w)
        found = labelings_of(
            loss, w, max_labelings=self.max_labelings, draws=self.draws, seed=self._seed, method=Elimination()
        )
        full = self.covariance == "full" or (self.covariance == "auto" and loss.size <= _FULL)
        prior = np.full(loss.size, float(self.variance))
        posterior = power_ep(found, w, prior, full=full, max_sweeps=self.max_sweeps, tolerance=self.tolerance)
        model = AveragedModel(
            self.graph,
            found_best.layout,
            posterior.mean,
            found_best.attributes,
            covariance=posterior.covariance,
            best=w,
            sweeps=posterior.sweeps,
            change=posterior.change,
            converged=posterior.converged,
            samples=self.samples,
            random_state=self._seed,
            method=self.method,
        )
        self.model_ = recorded(self, model)
        self.n_iter_ = posterior.sweeps
        if not self.posterior_.converged:
            warn_about(
                f"expectation propagation did not converge in {self.max_sweeps} sweeps: they still "
                f"change the posterior by {self.posterior_.change:.2g}; raise max_sweeps, or lower variance"
            )
        return self

    def _check(self, X: GraphBatch) -> None:
        check_above_zero(variance=self.variance, tolerance=self.tolerance)
        for name in ("max_labelings", "draws", "samples", "max_sweeps"):
            check_number(name, getattr(self, name), 1, whole=True)
        if self.covariance not in get_args(Covariance):
            raise ValueError(
                f"covariance is {self.covariance!r}, expected one of {', '.join(get_args(Covariance))}"
            )
        hidden = np.flatnonzero(gold_of_graphs(X).label < 0)
        if hidden.size:
            raise ValueError(
                f"{hidden.size} variables of {X.variables} have no label, and the posterior needs all; use "
                "GraphCRF, which sums hidden labels out"
            )

    def predict_proba(
        self, X: GraphBatch, *, given: Given = None, method: Method | str | None = None
    ) -> GraphProba:
        """Return the probability of each label, averaged over the posterior: kind -> [V, L]."""
        check_is_fitted(self, "model_")
        return self.model_.predict_proba(X, given=given, method=method, threads=self._threads)

    def predict(
        self, X: GraphBatch, *, given: Given = None, method: Method | str | None = None
    ) -> GraphLabels:
        """Return the label of each variable with the highest averaged probability: kind -> [V]."""
        check_is_fitted(self, "model_")
        return self.model_.predict(X, given=given, method=method, threads=self._threads)

    def _compared(self, X: GraphBatch, y: None, metric: Any) -> Compared:
        return self.model_._compared(X, y, metric, found=self.predict(X).ids, threads=self._threads)
