"""Stochastic optimizers by mini-batches: a step for each of some fixed parts of the data, in random order.

With B parts and V places (of graphs: variables), part b of pass p gives the direction g = B / V * gradient of
its loss, an estimate of the mean gradient of a place. Each weight has a rate a, and the penalty is a proximal
step, so that L1 and L2 are exact for every rule (Duchi et al. 2011):

    w <- soft(w - a d, a l1 / V) / (1 + a l2 / V)

========= =========================== ======================================= ===========================
rule      direction d                 rate a, with e = eta / (1 + decay p)    as in
========= =========================== ======================================= ===========================
sgd       g                           e                                       Robbins & Monro (1951)
adagrad   g                           e / (offset + sqrt(sum of g^2))         Duchi et al. (2011)
adam      mean of g, 0.9 a step       e / (offset + sqrt(mean of g^2))        Kingma & Ba (2015)
========= =========================== ======================================= ===========================

The weights of the model are an average over all steps, later ones with more weight: average_t =
average_{t-1} + 2 / (t + 2) (w_t - average_{t-1}), Lacoste-Julien, Schmidt & Bach (2012). The objective of a
step is an estimate, the losses as they were met plus the penalty, until the run ends by itself. Where the
gradient is drawn at random (contrastive divergence, SampleRank) there is no objective that could settle: the
run makes all its passes. Random numbers depend on (seed, pass, part): a resumed run keeps its bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, get_args, runtime_checkable

import numpy as np

from crfkit._safe.fields import Fields
from crfkit.arrays import Floats, Ids
from crfkit.checks import check_choice
from crfkit.optimize.options import Settling, check_above_zero, check_counts
from crfkit.optimize.problem import End, Penalty, State, Step, Stopped, evaluate, view_of
from crfkit.optimize.sequential.sequences import begin_at

Rule = Literal["sgd", "adagrad", "adam"]
_ETA: dict[str, tuple[float, float]] = {"sgd": (0.2, 0.1), "adagrad": (0.1, 0.0), "adam": (0.02, 0.1)}
_FIRST, _SECOND = 0.9, 0.999  # how much Adam keeps of its means


class Visited(Protocol):
    """A part of the data, ready for visits."""

    labels: Ids | None  #: where the Markov chains of this part are, if it has any

    def visit(self, w: Floats, gradient: Floats, seed: Sequence[int]) -> float:
        """Return the loss of the part at w [F], or an estimate, and write its gradient to `gradient` [F]."""
        ...

    def restore(self, state: Fields, name: str) -> None:
        """Set `labels` to a field of a state, which must be labels of this part, or None."""
        ...


class Parts(NamedTuple):
    """The data in parts."""

    visits: Sequence[Visited]
    places: int  #: V, of all data
    drawn: bool  #: whether gradients are drawn at random, and there is no objective to settle


@runtime_checkable
class MiniBatches(Protocol):
    """A loss that is the sum of the losses of parts, which can be visited one by one."""

    def parts(self, size: int | None, seed: int) -> Parts:
        """Return the data in parts of `size` graphs, drawn at random."""
        ...


@dataclass(frozen=True, kw_only=True)
class MiniBatch(Settling):
    """Stochastic gradient descent, AdaGrad or Adam by mini-batches, for graphs.

    Parameters
    ----------
    rule : {"adagrad", "sgd", "adam"}
    size : int, optional
        Graphs in a mini-batch. Default: a 32nd of the data, at most 64. One large graph is one mini-batch.
    eta : float, optional
        The first rate. Default: 0.1 for "adagrad", 0.2 for "sgd", 0.02 for "adam".
    decay : float, optional
        Rates of pass p are eta / (1 + decay p). Default: 0 for "adagrad", else 0.1.
    averaging : bool
        The weights of the model are an average over all steps. With L1 only False makes weights exactly 0.
    offset : float
        Added to the roots of sums or means of squares.
    seed : int
        Seed of the parts, of their order, and of what is drawn in visits.

    Examples
    --------
    >>> MiniBatch(rule="sgd").rate(passes=10.0)
    0.1
    """

    needs: ClassVar[tuple[type, ...]] = (MiniBatches,)

    rule: Rule = "adagrad"
    size: int | None = None
    eta: float | None = None
    decay: float | None = None
    averaging: bool = True
    max_passes: int = 200
    delta: float = 1e-5
    offset: float = 1e-8
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("rule", self.rule, get_args(Rule))
        check_above_zero(offset=self.offset)
        if self.size is not None:
            check_counts(size=self.size)
        if self.eta is not None:
            check_above_zero(eta=self.eta)
        if self.decay is not None and not 0.0 <= self.decay < float("inf"):
            raise ValueError(f"decay is {self.decay}, expected a number of 0 or more")

    @property
    def name(self) -> str:
        """The rule, for people."""
        return f"MiniBatch ({self.rule})"

    def rate(self, passes: float) -> float:
        """Return the rate after that many passes."""
        eta, decay = _ETA[self.rule]
        eta = eta if self.eta is None else self.eta
        return eta / (1.0 + (decay if self.decay is None else self.decay) * passes)

    def start(self, problem: Any, penalty: Penalty, w: Floats, *, state: State = None) -> MiniBatchRun:
        """Begin at w [F], or go on from a state."""
        return MiniBatchRun(self, problem, penalty, w, state)


class MiniBatchRun:
    """Passes over the parts in random order; `w` is the average, or the last weights."""

    def __init__(self, method: MiniBatch, problem: Any, penalty: Penalty, w: Floats, state: State) -> None:
        self.method, self.problem, self.penalty = method, problem, penalty
        view = view_of(problem, MiniBatches, method.name)
        self.visits, places, self.drawn = view.parts(method.size, method.seed)
        self.share = 1.0 / max(places, 1)
        kept = None if state is None else Fields.of(state)
        F = problem.size
        self.last = begin_at(w if kept is None else kept.floats("last", F), F)  # [F]
        if kept is None:
            self.average, self.squares = self.last.copy(), np.zeros(problem.size)
            self.mean = np.zeros(problem.size if method.rule == "adam" else 0)
            self.passes, self.steps = 0, 0
            self.history: list[float] = []  # the lowest objective so far, after each of the last passes
        else:
            self.average, self.squares = kept.floats("average", F), kept.floats("squares", F, least=0.0)
            self.mean = kept.floats("mean", F if method.rule == "adam" else 0)
            self.passes, self.steps = kept.count("passes"), kept.count("steps")
            self.history = kept.numbers("history", most=method.period + 1)
            drawn = kept.items_of("labels", len(self.visits))
            for i, visit in enumerate(self.visits):
                visit.restore(drawn, str(i))
        self.w = self._result()

    def step(self) -> Step:
        """Make one pass."""
        method, B = self.method, len(self.visits)
        before = (self.last, self.average, self.squares, self.mean)
        self.last, self.average, self.squares, self.mean = (array.copy() for array in before)
        order = np.random.default_rng([method.seed, self.passes + 1]).permutation(B)
        gradient, loss, length = np.empty_like(self.last), 0.0, 0.0
        for i, b in enumerate(order.tolist()):
            key = (method.seed, self.passes + 1, b)
            loss += self.visits[b].visit(self.last, gradient, key)
            if not (np.isfinite(loss) and np.isfinite(gradient).all()):
                self.last, self.average, self.squares, self.mean = before
                why = f"diverged: the loss is not finite in pass {self.passes + 1}; begin with a lower rate"
                return self._end(Stopped(End.DIVERGED, why), length)
            length = method.rate(self.passes + i / B)
            self._move(gradient * (B * self.share), length)
        self.passes += 1
        self.w = self._result()
        objective = float(loss + self.penalty.value(self.last))
        self.history = [*self.history, min([objective, *self.history[-1:]])][-method.period - 1 :]
        stop = self._verdict()
        if stop is not None:
            return self._end(stop, length)
        return Step(objective, length=length, evaluations=float(self.passes))

    def _move(self, gradient: Floats, rate: float) -> None:
        """Take one step along a gradient of the mean loss of a place."""
        method, direction, each = self.method, gradient, np.asarray(rate)
        self.steps += 1
        if method.rule == "adagrad":
            self.squares += gradient**2
            each = rate / (method.offset + np.sqrt(self.squares))
        elif method.rule == "adam":
            self.mean += (1.0 - _FIRST) * (gradient - self.mean)
            self.squares += (1.0 - _SECOND) * (gradient**2 - self.squares)
            direction = self.mean / (1.0 - _FIRST**self.steps)
            each = rate / (method.offset + np.sqrt(self.squares / (1.0 - _SECOND**self.steps)))
        self.last -= each * direction
        if self.penalty.sparse:
            least = each * (self.penalty.l1 * self.share)
            self.last = np.sign(self.last) * np.maximum(np.abs(self.last) - least, 0.0)
        self.last /= 1.0 + each * (self.penalty.l2 * self.share)
        self.average += 2.0 / (self.steps + 1.0) * (self.last - self.average)

    def _verdict(self) -> Stopped | None:
        *history, now = self.history
        stop = self.method.verdict([] if self.drawn else history, now, self.passes)
        return stop._replace(end=End.PLANNED) if stop and self.drawn else stop

    def _end(self, stop: Stopped, length: float) -> Step:
        objective, norm = evaluate(self.problem, self.penalty, self.w)
        return Step(objective, norm, length, self.passes + 1.0, stopped=stop.why, end=stop.end)

    def _result(self) -> Floats:
        return (self.average if self.method.averaging else self.last).copy()

    def state(self) -> dict[str, Any]:
        """Return everything that a run needs to go on from here; the seed is an option."""
        names = ("last", "average", "squares", "mean")
        labels = [None if visit.labels is None else visit.labels.copy() for visit in self.visits]
        made: dict[str, Any] = {name: getattr(self, name).copy() for name in names}
        counts = {"passes": self.passes, "steps": self.steps, "history": list(self.history)}
        return made | counts | {"labels": labels}
