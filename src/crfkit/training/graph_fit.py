"""One training on graphs: data and options in, a `GraphModel` out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from crfkit import _native
from crfkit.arrays import Floats, dot
from crfkit.checks import check_choice
from crfkit.inference.methods.how import How
from crfkit.inference.methods.method import Method
from crfkit.linear.features import FeatureSelection
from crfkit.linear.graphs.layout import attractive_weights, graph_layout
from crfkit.linear.graphs.loss import GraphLoss
from crfkit.linear.layout import Layout
from crfkit.linear.objective import Family, Objective
from crfkit.models.graph_model import GraphModel
from crfkit.objectives import Piecewise
from crfkit.optimize.problem import Optimizer, Stopped
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.training.choose import by_name, check_suits, choose, name_of
from crfkit.training.events import Begin, Summary
from crfkit.training.runs.certificate import Certificate
from crfkit.training.runs.convergence import warn_of_convergence
from crfkit.training.runs.course import Course, halted_by
from crfkit.training.runs.fingerprint import described, digest
from crfkit.training.runs.graph_validation import GraphValidation, check_learnable
from crfkit.training.start import checked_start, warm_graph_start
from crfkit.training.stop import Stop

__all__ = ["GraphFit", "Init", "RandomStart"]

#: Where training on graphs starts: by name, at the weights of a model, at given weights [F], or at those that
#: a function of the problem and the layout returns.
Init: TypeAlias = Literal["piecewise", "zero"] | GraphModel | ArrayLike | Callable[[Any, Layout], Any] | None
_PIECEWISE_ITERATIONS = 20
_FEW = 0.05  #: share of graphs that may miss the tolerance of a method without a warning
_SPREAD = 0.5  #: standard deviation of first weights that are drawn


class GraphFit(Course[GraphModel]):
    """One training on graphs."""

    problem: GraphLoss

    def __init__(
        self,
        batch: GraphBatch,
        objective: Objective,
        features: FeatureSelection,
        optimizer: Optimizer | str,
        method: Method,
        stop: Stop,
        *,
        weight: Floats | None = None,
        init: Init = "piecewise",
        seed: int = 0,
        threads: int | None = None,
    ) -> None:
        self.batch, self.objective, self.stop, self.seed, self.threads = batch, objective, stop, seed, threads
        self.init, self.notes, self.weight = init, check_learnable(batch, objective), weight
        if isinstance(init, str):
            check_choice("init", init, ("piecewise", "zero"))
        self.layout = graph_layout(batch, features)
        if not self.layout.weights:
            raise ValueError("the graph has no weights: its cliques are all fixed, or have no features")
        attract = attractive_weights(batch.graph, self.layout)
        self.penalty = replace(objective.penalty(self.layout), nonnegative=attract)
        self.problem = GraphLoss(objective, self.layout, batch, method, weight=weight, threads=threads)
        self.named = isinstance(optimizer, str)
        if not isinstance(optimizer, str):
            self.optimizer, self.why = optimizer, "as asked for"
        elif optimizer == "auto":
            self.optimizer, self.why = choose(
                self.problem, self.penalty, seed=seed, threads=threads, tolerance=stop.tolerance
            )
        else:
            self.optimizer = by_name(optimizer, seed, threads, stop.tolerance, graphs=True)
            self.why = "as asked for"
        check_suits(self.problem, self.optimizer, self.penalty)

    def model(self, w: Floats, training: Summary | None = None) -> GraphModel:
        """Return a model with these weights [F]."""
        names = {
            name: each.names.freeze() for name, each in self.batch.features.items() if each.names is not None
        }
        return GraphModel(self.batch.graph, self.layout, w, names, training)

    def fingerprint(self, dev: GraphBatch | None, metric: str) -> dict[str, str]:
        """Everything that the result depends on."""
        return {
            "version": _native.__version__,
            "data": digest([*_arrays(self.batch), self.problem.weight]),
            "dev": "none" if dev is None else digest(_arrays(dev)),
            "metric": metric,
            "objective": described(self.objective),
            "optimizer": described(self.optimizer),
            "method": str(self.problem.method),
            "layout": digest([self.layout]),
            "structure": repr(self.batch.graph),
            "start": self._start_name(),
        }

    def begin(self, resumed: int) -> Begin:
        """Return the event that training begins."""
        batch = self.batch
        attributes = sum(self.layout.rows_of(name) for name in batch.features)
        labels = sum(batch.graph.width(kind) for kind in batch.graph.kinds)
        return Begin(
            batch.graphs,
            batch.variables,
            labels,
            attributes,
            self.layout.weights,
            name_of(self.optimizer),
            self.why,
            tuple(self.notes),
            resumed,
        )

    def validation(self, dev: GraphBatch, metric: Any) -> Any:
        """Return the dev score as a function of the weights."""
        zero = self.model(np.zeros(self.layout.weights))
        return GraphValidation(zero, dev, metric, self.problem.method, self.threads)

    def dev_share(self, dev: GraphBatch) -> float:
        """Return how many variables the dev set has, by those of the data."""
        return dev.variables / max(self.batch.variables, 1)

    def cause(self) -> str:
        """Return the remedy where the first step fails."""
        return "Raise l2, use another optimizer, or scale the features of factors to about 1"

    def start(self, begun: float) -> tuple[Floats, Stopped | None]:
        """Return the first weights [F], and why training must not go on after them."""
        init, zero = self.init, np.zeros(self.layout.weights)
        if callable(init):
            return self.penalty.projected(checked_start(init(self.problem, self.layout), self.layout)), None
        if isinstance(init, GraphModel):
            return self.penalty.projected(warm_graph_start(init, self.layout, self.batch)), None
        if init is not None and not isinstance(init, str):
            return self.penalty.projected(checked_start(init, self.layout)), None
        if init != "piecewise" or self.problem.convex:
            return zero, None
        pieces = GraphLoss(
            Piecewise(),
            self.layout,
            self.batch,
            self.problem.method,
            weight=self.weight,
            threads=self.threads,
        )
        found = self.briefly(pieces, zero, _PIECEWISE_ITERATIONS, begun, self.threads)
        self.notes.append(
            f"the objective is not convex: training began with {_PIECEWISE_ITERATIONS} iterations of the "
            'objective piecewise (init="zero" begins at 0)'
        )
        return found.w, halted_by(found)

    def _start_name(self) -> str:
        if callable(self.init):
            return repr(self.init)
        if isinstance(self.init, GraphModel):
            return digest([self.init.layout, self.init.w])
        if self.init is None or isinstance(self.init, str):
            return self.init or "zero"
        return digest([np.asarray(self.init, dtype=np.float64)])

    def certified(self, certificate: Certificate, w: Floats) -> Certificate:
        """Add to a gap of max-margin what the most violating labelings may have been missed by.

        Any labeling bounds the loss from below, so that the dual stays a bound; the loss itself is too low
        where a method did not find the best labeling, by no more than its upper bound says.
        """
        tally = self.problem.tally
        if self.objective.family is not Family.MARGIN or tally.exact == tally.answers:
            return certificate
        self.problem.value_and_grad(w, np.empty(self.layout.weights))
        how = tally.how(self.batch.graphs)
        missed = np.inf
        if how is not None:
            apart = np.where(how.exact, 0.0, how.upper - how.lower)
            missed = dot(self.problem.weight, apart)
        if not np.isfinite(missed):
            why = "the labelings that violate the margin most were not all found, and nothing bounds them"
            return replace(certificate, gap=float("nan"), why_not=why)
        return replace(certificate, objective=certificate.objective + missed, gap=certificate.gap + missed)

    def closing(self) -> list[str]:
        """Return how graphs were answered during training."""
        return self.problem.tally.sentences()

    def how(self, w: Floats) -> How:
        """Return how the graphs were answered in the last evaluation; ask at w [F] where it was of others."""
        found = self.problem.tally.how(self.batch.graphs)
        if found is None and self.objective.asks != "nothing" and not self.problem.drawn:
            self.problem.value_and_grad(w, np.empty(self.layout.weights))
            found = self.problem.tally.how(self.batch.graphs)
        return How.of("none", self.batch.graphs, exact=True) if found is None else found

    def warn_of_answers(self, how: How) -> None:
        """Warn where many graphs were not answered to the tolerance of the method."""
        missed = 1.0 - float(how.converged.mean()) if len(how.converged) else 0.0
        if missed > _FEW:
            names = ", ".join(sorted({str(name) for name in how.method[~how.converged]}))
            warn_of_convergence(
                f"{names} did not converge for {100.0 * missed:.3g} % of the graphs in the last evaluation "
                "of training, so that loss and gradient are rough there. Give the method more sweeps or "
                "damping, as in method=BeliefPropagation(sweeps=1000, damping=0.5), use TreeReweighted(), "
                "or train by PseudoLikelihood()."
            )


@dataclass(frozen=True)
class RandomStart:
    """First weights that are drawn: hidden labels that are alike at the start would stay alike.

    Examples
    --------
    >>> RandomStart(seed=0, restart=2)
    RandomStart(seed=0, restart=2)
    """

    seed: int
    restart: int

    def __call__(self, problem: Any, layout: Layout) -> Floats:
        """Return weights [F]."""
        return np.random.default_rng([self.seed, self.restart]).normal(scale=_SPREAD, size=layout.weights)


def _arrays(batch: GraphBatch) -> list[Any]:
    parts: list[Any] = [batch.width, batch.graph_of, *batch.scopes.values()]
    parts += [] if batch.label is None else [batch.label]
    for each in batch.features.values():
        parts += (
            [each.dense] if each.dense is not None else [tuple(x for x in each.rows or () if x is not None)]
        )
    return parts
