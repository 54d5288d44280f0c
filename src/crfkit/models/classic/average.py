"""A model of graphs that averages over a Gaussian of its weights instead of taking one best vector."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from crfkit import inference
from crfkit._safe.fields import Fields
from crfkit.arrays import Floats
from crfkit.inference.graphs import GraphMarginals
from crfkit.inference.methods.method import Method
from crfkit.inference.methods.registry import method_of
from crfkit.linear.graphs.posterior import Posterior
from crfkit.linear.graphs.score import GraphScores
from crfkit.models.classic.missing_verbs import without
from crfkit.models.graph_model import Given, GraphModel
from crfkit.models.graph_results import GraphLabels, GraphProba
from crfkit.models.parts import Plain
from crfkit.models.values import plain_of, value_of
from crfkit.structures.graphs.batch import GraphBatch

if TYPE_CHECKING:
    from typing_extensions import Self


@without(
    ("kbest", "sample", "log_prob", "entropy", "explain"),
    lambda _: "it averages over weights; use predict_proba",
)
@dataclass(frozen=True, eq=False, repr=False)
class AveragedModel(GraphModel):
    """A model of graphs whose probabilities are averages over weights; its `w` is their mean.

    Examples
    --------
    >>> from crfkit import Graph
    >>> from crfkit.estimators.classic import BayesianCRF
    >>> graph = Graph({"token": ["D", "N"]}, step=["token", "token"])
    >>> data = graph.batch(labels={"token": ["D", "N", "N"]}, scopes={"step": [[0, 1], [1, 2]]})
    >>> model = BayesianCRF(graph).fit(data).model_
    >>> model.predict(data)["token"].tolist(), hasattr(model, "kbest")
    (['D', 'N', 'N'], False)
    """

    rule: ClassVar[str] = "average"

    covariance: Floats = field(default_factory=lambda: np.zeros(0))  #: [F, F], or its diagonal [F]
    best: Floats = field(default_factory=lambda: np.zeros(0))  #: [F]: of the highest density
    sweeps: int = 0  #: that expectation propagation took
    change: float = 0.0  #: by the last of them
    converged: bool = True
    samples: int = 100  #: weights that are drawn
    random_state: int = 0
    method: Method | str = "auto"  #: which sums

    def __post_init__(self) -> None:
        super().__post_init__()
        F = self.layout.weights
        if self.best.shape != (F,) or self.covariance.shape not in ((F,), (F, F)):
            raise ValueError(
                f"best has the shape {self.best.shape} and covariance {self.covariance.shape}, expected "
                f"({F},) and ({F}, {F}) or ({F},)"
            )

    @property
    def posterior(self) -> Posterior:
        """The Gaussian."""
        return Posterior(self.w, self.covariance, self.sweeps, self.change, self.converged)

    @property
    def plain_best(self) -> GraphModel:
        """The model with the weights of highest density alone."""
        own = {f.name: getattr(self, f.name) for f in fields(GraphModel)}
        return GraphModel(**{**own, "w": self.best, "estimator": None})

    def rule_parts(self) -> Plain:
        """Return the Gaussian, and how it is averaged over."""
        about = {name: getattr(self, name) for name in ("sweeps", "converged", "samples", "random_state")}
        about |= {"change": plain_of(float(self.change)), "method": plain_of(self.method)}
        return about, {"covariance": self.covariance, "best": self.best}

    @classmethod
    def of_rule(cls, given: Mapping[str, Any], fields: Fields) -> Self:
        """Return the model with the Gaussian of a file."""
        F, axes = given["layout"].weights, fields.any_array("covariance").ndim
        covariance = fields.floats("covariance", *[F] * max(axes, 1))
        if axes == 1 and (covariance < 0.0).any():
            fields.refuse("covariance", "partly below 0")
        if axes == 2:
            np.linalg.cholesky(covariance)
        samples = fields.count("samples")
        if not 1 <= samples <= 1 << 20:
            fields.wrong("samples", "a number of draws from 1 to 1,048,576")
        method = value_of(fields["method"])
        method_of(method)
        return cls(
            **given,
            covariance=covariance,
            best=fields.floats("best", F),
            sweeps=fields.count("sweeps"),
            change=float(value_of(fields["change"])),
            converged=fields.flag("converged"),
            samples=samples,
            random_state=fields.count("random_state", 1 << 62),
            method=method,
        )

    def predict_proba(
        self,
        X: GraphBatch,
        *,
        given: Given = None,
        cliques: bool = False,
        method: Method | str | None = None,
        threads: int | None = None,
    ) -> GraphProba:
        """Return the probability of each label, averaged over the weights, by kind."""
        if cliques:
            raise ValueError("averages over weights cover variables only: leave cliques out")
        asked = self._asked(X, threads)
        scores, used = GraphScores(self.layout, asked.batch), self.method if method is None else method
        observed = self.given(asked.batch, given, threads=threads).observed
        total: dict[str, Any] = {}
        drawn = self.posterior.sample(self.samples, self.random_state)
        for w in drawn:
            potentials = replace(scores.potentials(w, threads=threads), observed=observed)
            found = inference.marginals(potentials, cliques=False, method=used, threads=threads)
            for kind in self.graph.kinds:
                total[kind] = total.get(kind, 0.0) + found[kind] / len(drawn)
        made: GraphProba = asked.proba(GraphMarginals(np.nan, total, {}, found.info))
        return made

    def predict(
        self,
        X: GraphBatch,
        *,
        given: Given = None,
        method: Method | str | None = None,
        threads: int | None = None,
    ) -> GraphLabels:
        """Return the label of each variable with the highest averaged probability."""
        found = self.predict_proba(X, given=given, method=method, threads=threads)
        ids = {kind: p.argmax(axis=1).astype(np.int32) for kind, p in found.node.items()}
        return GraphLabels(found.info, found.ptr, ids, np.full(X.graphs, np.nan), self.graph.kinds)
