"""One training on graphs: the objective bound to a layout and graphs, where it starts, and the model.

Sequences have the same in `training/fit.py`; what both share is in `training/runs/run.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from crfkit.arrays import Floats, Ids, Pointers, dot, weights_of
from crfkit.checks import check_choice
from crfkit.inference.methods import Auto, BeliefPropagation
from crfkit.inference.methods.how import How
from crfkit.inference.methods.method import Method
from crfkit.inference.methods.registry import method_of
from crfkit.linear.features import FeatureSelection
from crfkit.linear.graphs.layout import attractive_weights, graph_layout
from crfkit.linear.graphs.loss import GraphLoss
from crfkit.linear.graphs.watch import MethodStats
from crfkit.linear.layout import Layout
from crfkit.linear.objective import Family, Objective
from crfkit.models.graph_model import GraphMetric, GraphModel
from crfkit.objectives import Likelihood, Piecewise
from crfkit.optimize.problem import End, Optimizer, Stopped
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.structures.graphs.parts import part_of
from crfkit.training.events import Failed, Listener, tell
from crfkit.training.graphs.data import arrays_of, check_learnable, checked_graphs, has_hidden_kind
from crfkit.training.graphs.drawn import drawn_loss, held_out, no_worse, passes_of
from crfkit.training.graphs.networks import few_labels, shrunk, without_links
from crfkit.training.graphs.validation import GraphValidation
from crfkit.training.record import TrainingRecord
from crfkit.training.runs.checkpoint import Checkpoints, digest, within
from crfkit.training.runs.convergence import Certificate, warn_of_convergence
from crfkit.training.runs.loop import Outcome
from crfkit.training.runs.run import TrainingRun, halted_by
from crfkit.training.start import RandomStart, checked_start, warm_graph_start
from crfkit.training.stop import Stop

#: Where training on graphs starts: by name, at the weights of a model, at given weights [F], or at those that
#: a function of the problem and the layout returns.
GraphInit: TypeAlias = (
    Literal["piecewise", "alone", "drawn", "zero"]
    | GraphModel
    | ArrayLike
    | Callable[[Any, Layout], Any]
    | None
)
_PIECEWISE_ITERATIONS = 20
_ALONE_ITERATIONS = 30
_BUDGET = 2**22  #: cells of the tables of a component that is summed exactly in training
_MESSAGES = BeliefPropagation(tol=1e-3, sweeps=30)  # what still moves then does so for hundreds
_ASKED = 4  #: graphs whose messages say whether they rest
_FEW = 0.05  #: share of graphs that may miss the tolerance of a method without a warning


class GraphFit(TrainingRun[GraphModel]):
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
        init: GraphInit = "piecewise",
        seed: int = 0,
        threads: int | None = None,
    ) -> None:
        self.batch, self.objective, self.stop, self.seed, self.threads = batch, objective, stop, seed, threads
        self.init, self.notes, self.weight = init, check_learnable(batch, objective), weight
        self._first: Floats | None = None  # weights of variables alone, [F]
        if isinstance(init, str):
            check_choice("init", init, ("piecewise", "alone", "drawn", "zero"))
        self.layout = graph_layout(batch, features)
        if not self.layout.weights:
            raise ValueError("the graph has no weights: its cliques are all fixed, or have no features")
        attract = attractive_weights(batch.graph, self.layout)
        self.penalty = replace(objective.penalty(self.layout), nonnegative=attract)
        self.problem = GraphLoss(objective, self.layout, batch, method, weight=weight, threads=threads)
        self.choose_optimizer(optimizer, graphs=True)

    def model(self, w: Floats, training: TrainingRecord | None = None) -> GraphModel:
        """Return a model with these weights [F]."""
        names = {
            name: each.names.freeze() for name, each in self.batch.features.items() if each.names is not None
        }
        return GraphModel(self.batch.graph, self.layout, w, names, training)

    def marks(self, dev: GraphBatch | None) -> dict[str, str]:
        """Return the graphs, the method, which weights there are, and the start."""
        return {
            "data": digest([*arrays_of(self.batch), self.problem.weight]),
            "dev": "none" if dev is None else digest(arrays_of(dev)),
            "method": str(self.problem.method),
            "layout": digest([self.layout]),
            "structure": repr(self.batch.graph),
            "start": self._start_name(),
        }

    def sizes(self) -> tuple[int, int, int, int]:
        """Return how many graphs, variables, labels and attributes there are."""
        batch = self.batch
        attributes = sum(self.layout.rows_of(name) for name in batch.features)
        labels = sum(batch.graph.width(kind) for kind in batch.graph.kinds)
        return batch.graphs, batch.variables, labels, attributes

    def validation(self, dev: GraphBatch, metric: GraphMetric | str) -> GraphValidation:
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
        if init == "zero" or init is None or self.problem.convex:
            return zero, None
        if init != "piecewise" or self._few:
            first = self._alone(begun)
            self._first = first.w
            if init == "drawn" and self._draws and not first.asked:
                return self._drawn(first.w, begun)
            self.notes.append(
                "the objective is not convex: training began at the weights of variables alone "
                '(init="zero" begins at 0)'
            )
            return first.w, halted_by(first)
        pieces = GraphLoss(
            Piecewise(),
            self.layout,
            self.batch,
            self.problem.method,
            weight=self.weight,
            threads=self.threads,
        )
        found = self.briefly(pieces, zero, _PIECEWISE_ITERATIONS, begun)
        self.notes.append(
            f"the objective is not convex: training began with {_PIECEWISE_ITERATIONS} iterations of the "
            'objective piecewise (init="zero" begins at 0)'
        )
        return found.w, halted_by(found)

    @property
    def _few(self) -> bool:
        """Whether this is a network of few known labels, summed by messages."""
        likely = self.objective.family is Family.LIKELIHOOD
        return likely and few_labels(self.batch) and self.problem.rough

    @property
    def _draws(self) -> bool:
        """Whether this is a likelihood by rough sums, of which draws know the gradient."""
        likely = isinstance(self.objective, Likelihood) and self.objective.label_weights is None
        return likely and self.problem.rough and not self._few and not self.penalty.sparse

    def _drawn(self, alone: Floats, begun: float) -> tuple[Floats, Stopped | None]:
        """Learn weights of links by draws; return them, and an end where messages do not rest there."""
        passes = passes_of(self.batch)
        first = self.briefly(drawn_loss(self.problem), alone, passes, begun, "links by draws")
        self.notes.append(
            f"the objective is not convex: training began with {passes} passes of persistent contrastive "
            'divergence, from the weights of variables alone (init="zero" begins at 0)'
        )
        ended = halted_by(first)
        if ended is None and getattr(self.optimizer, "jumps", False) and not self._rests(first.w):
            why = "messages do not rest at the weights of contrastive divergence, which were kept"
            ended = Stopped(End.SETTLED, why)
        return first.w, ended

    def _rests(self, w: Floats) -> bool:
        """Return whether messages come to rest on most of some graphs at w [F]."""
        some = self.problem.part(np.unique(np.linspace(0, self.batch.graphs - 1, _ASKED).astype(np.int64)))
        some.tally = MethodStats()
        some.value_and_grad(w, np.empty(self.layout.weights))
        return 2 * some.tally.converged > some.tally.answers

    def _alone(self, begun: float, label: Ids | None = None, *, graphs: Pointers | None = None) -> Outcome:
        """Learn weights without factors of several variables: from known labels, others, or some graphs."""
        batch = without_links(self.batch if graphs is None else part_of(self.batch, graphs).batch, label)
        loss = GraphLoss(
            self.objective,
            self.layout,
            batch,
            Auto(budget=_BUDGET),
            weight=self.weight if graphs is None or self.weight is None else self.weight[graphs],
            threads=self.threads,
        )
        return self.briefly(loss, np.zeros(self.layout.weights), _ALONE_ITERATIONS, begun)

    def _shrunk(self, model: GraphModel, begun: float) -> GraphModel:
        """Return the model with as much of the weights of links as predicts labels that are held out.

        In the best labeling of a network of few known labels most variables may have one label, whatever
        their probabilities are: the likeliest label of each is predicted.
        """
        if not self._few:
            return model
        model = replace(model, decoding="posterior")
        training, named = model.training, isinstance(self.init, str) and self.init != "zero"
        if not named or training is None or training.end == End.INTERRUPTED.value:
            return model
        found = shrunk(
            self.batch,
            self.layout,
            model.w,
            lambda label: self._alone(begun, label).w,
            self.seed,
            self.threads,
        )
        if not found.note:
            return model
        return replace(model, w=found.w, training=replace(training, notes=(*training.notes, found.note)))

    def _no_worse(self, model: GraphModel, begun: float) -> GraphModel:
        """Return the model with the better decoding, and with weaker links where these find more labels."""
        drawn = isinstance(self.init, str) and self.init == "drawn"
        if not drawn or not self._draws or model.training is None:
            return model
        if model.training.end == End.INTERRUPTED.value or self.problem.convex:
            return model
        if self._first is None:  # training went on from a checkpoint
            self._first = self._alone(begun).w
        held, others = held_out(self.batch), None
        if len(held):
            others = self._alone(begun, graphs=np.setdiff1d(np.arange(self.batch.graphs), held)).w
        return no_worse(model, self._first, self.batch, self.problem.method, self.threads, others=others)

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

    def best_of(
        self,
        restarts: int,
        dev: GraphBatch | None,
        metric: GraphMetric | str,
        keep: Checkpoints | None,
        audience: Sequence[Listener],
        begun: float,
    ) -> GraphModel:
        """Train from several starts where labels are hidden, else once; return the best model.

        It says how its graphs were answered (`GraphModel.info`), and many that were not is a warning.
        """
        starts = restarts if self.problem.kind == "set" else 1
        latent = (self.init is None or isinstance(self.init, str)) and has_hidden_kind(self.batch)
        found: list[tuple[float, GraphModel]] = []
        for r in range(starts):
            if latent or r:
                self.init = RandomStart(self.seed, r)
            there = keep if keep is None or starts == 1 else within(keep, f"start-{r}")
            model = self.run(dev, metric, there, audience, begun)
            model = self._shrunk(model, begun)
            model = self._no_worse(model, begun)
            made = model.training
            assert made is not None
            found.append((-made.loss if dev is None else made.score, replace(model, info=self.how(model.w))))
            if made.end == End.INTERRUPTED.value:
                break
        goodness = [each[0] for each in found]
        number = int(np.nanargmax(goodness)) if np.isfinite(goodness).any() else 0
        best = found[number][1]
        if len(found) > 1 and best.training is not None:
            what = "losses" if dev is None else "dev scores"
            values = ", ".join(f"{abs(value):.6g}" for value in goodness)
            note = f"start {number} of {len(found)} is the best; their {what} are {values}"
            best = replace(best, training=replace(best.training, notes=(*best.training.notes, note)))
        try:
            warn_of_answers(best.info)
        except Warning as error:  # a filter makes exceptions of warnings
            tell(audience, Failed(error, best))
            raise
        return best

    def how(self, w: Floats) -> How:
        """Return how the graphs were answered in the last evaluation; ask at w [F] where it was of others."""
        found = self.problem.tally.how(self.batch.graphs)
        if found is None and self.objective.asks != "nothing" and not self.problem.drawn:
            self.problem.value_and_grad(w, np.empty(self.layout.weights))
            found = self.problem.tally.how(self.batch.graphs)
        return How.of("none", self.batch.graphs, exact=True) if found is None else found


def training_method(given: Method | str | None, *, rough: bool = True) -> Method:
    """Return the inference method: the one given, or exact where tables have at most 2**22 cells.

    Messages, elsewhere, are rough for the losses of training, and not for probabilities that users ask for.
    """
    if given is not None:
        return method_of(given)
    return Auto(budget=_BUDGET, messages=_MESSAGES if rough else None)


def graph_fit(
    data: GraphBatch,
    objective: Objective,
    selection: FeatureSelection,
    optimizer: Optimizer | str,
    method: Method | str | None,
    stop: Stop,
    sample_weight: ArrayLike | None,
    init: GraphInit,
    seed: int,
    threads: int | None,
) -> GraphFit:
    """Return the training of graphs by the options of `crfkit.train`."""
    return GraphFit(
        checked_graphs(data, data.graph, "data"),
        objective,
        selection,
        optimizer,
        training_method(method),
        stop,
        weight=weights_of(sample_weight, data.graphs, "graphs"),
        init="piecewise" if init is None else init,
        seed=seed,
        threads=threads,
    )


def warn_of_answers(how: How | None) -> None:
    """Warn where many graphs were not answered to the tolerance of the method."""
    missed = 1.0 - float(how.converged.mean()) if how is not None and len(how.converged) else 0.0
    if how is not None and missed > _FEW:
        names = ", ".join(sorted({str(name) for name in how.method[~how.converged]}))
        warn_of_convergence(
            f"{names} did not converge for {100.0 * missed:.3g} % of the graphs in the last evaluation "
            "of training, so that loss and gradient are rough there. Give the method more sweeps or "
            "damping, as in method=BeliefPropagation(sweeps=1000, damping=0.5), use TreeReweighted(), "
            "or train by PseudoLikelihood()."
        )
