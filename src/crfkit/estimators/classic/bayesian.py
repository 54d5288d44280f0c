"""`BayesianCRF`: a CRF on small graphs or chains with a posterior over its weights, not one best vector."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

import numpy as np
from sklearn.utils.validation import check_is_fitted

from crfkit import inference
from crfkit.arrays import Floats, Ids
from crfkit.checks import check_number
from crfkit.errors import warn_about
from crfkit.estimators.graph import GraphCRF
from crfkit.estimators.judged import Judged
from crfkit.inference.methods import Auto, Elimination
from crfkit.inference.methods.method import Method
from crfkit.inference.methods.registry import method_of
from crfkit.linear.features import FeatureSelection
from crfkit.linear.graphs.labelings import labelings_of
from crfkit.linear.graphs.loss import GraphLoss
from crfkit.linear.graphs.posterior import Posterior, power_ep
from crfkit.linear.graphs.score import GraphScores
from crfkit.models.graph_model import GraphModel
from crfkit.objectives import Likelihood
from crfkit.optimize import LBFGS
from crfkit.optimize.options import check_above_zero
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.structures.graphs.gold import gold_of_graphs
from crfkit.structures.graphs.graph import Graph

if TYPE_CHECKING:
    from typing_extensions import Self

    from crfkit.metrics.comparison import Compared

__all__ = ["BayesianCRF"]

Covariance = Literal["auto", "full", "diagonal"]
#: Weights up to which "auto" keeps all covariances: 8 MB.
_FULL = 1000
_METHOD: Final = Auto()


class BayesianCRF(Judged):
    """A conditional random field whose weights have a posterior distribution: Qi, Szummer & Minka (2005).

    The posterior is a Gaussian found by power expectation propagation; predictions average over it. For few
    data this is less sure of itself than the weights with the highest density.

    Parameters
    ----------
    graph : Graph
        Kinds of variables, and the cliques that score them; chains are graphs with `scopes.chain`.
    variance : float
        Of the normal prior of each weight; `GraphCRF` calls 1 / variance its l2.
    covariance : {"auto", "full", "diagonal"}
        Which covariances of weights are kept; "auto": all up to 1,000 weights, else variances only.
    selection : FeatureSelection, or one of "observed", "all"
        Which weights attributes get.
    most : int
        Graphs with at most so many labelings are summed exactly in the posterior.
    draws : int
        Labelings that stand for each larger graph, drawn from the model with the best weights.
    samples : int
        Weights drawn from the posterior that predictions average over.
    max_sweeps, tolerance : int, float
        Of expectation propagation: at most so many updates of all graphs; converged where one moves means by
        less than `tolerance` standard deviations, and variances by less than that share.
    method : a method of `crfkit.inference.methods`, or its name
        Who sums in predictions.
    random_state : int, optional
    n_jobs : int, optional

    Attributes
    ----------
    posterior_ : Posterior
        ``mean`` [F], ``covariance`` [F, F] or [F], ``sweeps``, ``change``, ``converged``.
    map_ : GraphModel
        The model with the weights of highest posterior density.
    model_ : GraphModel
        The model with the mean of the posterior.

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
    ([0, 1, 1, 0, 1], True)
    """

    graph: Graph = field(kw_only=False)
    variance: float = 1.0
    covariance: Covariance = "auto"
    selection: FeatureSelection | str = "observed"
    most: int = 2**10
    draws: int = 1000
    samples: int = 100
    max_sweeps: int = 500
    tolerance: float = 1e-4
    method: Method | str = _METHOD

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
        self.map_: GraphModel = best.model_
        loss = GraphLoss(Likelihood(), self.map_.layout, X, Elimination(), threads=self._threads)
        w = np.array(self.map_.w)
        found = labelings_of(loss, w, most=self.most, draws=self.draws, seed=self._seed, method=Elimination())
        full = self.covariance == "full" or (self.covariance == "auto" and loss.size <= _FULL)
        prior = np.full(loss.size, float(self.variance))
        self.posterior_: Posterior = power_ep(
            found, w, prior, full=full, max_sweeps=self.max_sweeps, tolerance=self.tolerance
        )
        self.model_ = GraphModel(
            self.graph,
            self.map_.layout,
            self.posterior_.mean,
            self.map_.attributes,
            lacks="the posterior, over which BayesianCRF averages, and have its mean only: pickle the "
            "estimator, or save estimator.map_, which has the best weights",
        )
        if not self.posterior_.converged:
            warn_about(
                f"expectation propagation did not converge in {self.max_sweeps} sweeps: they still "
                f"change the posterior by {self.posterior_.change:.2g}; raise max_sweeps, or lower variance"
            )
        return self

    def _check(self, X: GraphBatch) -> None:
        check_above_zero(variance=self.variance, tolerance=self.tolerance)
        for name in ("most", "draws", "samples", "max_sweeps"):
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

    def predict_proba(self, X: GraphBatch) -> dict[str, Floats]:
        """Return the probability of each label, averaged over the posterior: kind -> [V, L]."""
        scores, method = GraphScores(self.map_.layout, self.map_.fitted(X)), method_of(self.method)
        total: dict[str, Floats] = {}
        drawn = self.posterior_.sample(self.samples, self._seed)
        for w in drawn:
            potentials = scores.potentials(w, threads=self._threads)
            found = inference.marginals(potentials, cliques=False, method=method, threads=self._threads)
            for kind in X.graph.kinds:
                total[kind] = total.get(kind, 0.0) + found[kind] / len(drawn)
        return total

    def predict(self, X: GraphBatch) -> dict[str, Ids]:
        """Return the label of each variable with the highest averaged probability: kind -> [V]."""
        return {kind: p.argmax(axis=1).astype(np.int32) for kind, p in self.predict_proba(X).items()}

    def _compared(self, X: GraphBatch, y: None, metric: Any) -> Compared:
        check_is_fitted(self, "model_")
        return self.model_._compared(X, y, metric, found=self.predict(X), threads=self._threads)
