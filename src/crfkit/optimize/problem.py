"""The protocols of optimizers: problems and penalties in, runs and steps out.

A problem is a loss with its gradient; the penalty is a term of its own, because L1 has no gradient. An
optimizer is a small dataclass of options whose `start` makes a run; a run moves on
each call of `step`, so that budgets, dev sets, checkpoints and interrupts are left to the caller.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar, cast, runtime_checkable

import numpy as np

from crfkit.arrays import Bools, Floats, checked_later, norm
from crfkit.errors import NotCoveredError

R = TypeVar("R")
V = TypeVar("V")

State: TypeAlias = dict[str, Any] | None  # what a run goes on from, as its `state` gave it; None: begin


class End(str, Enum):
    """How a run of an optimizer ended."""

    CONVERGED = "converged"  #: near enough to the optimum, by the gradient or a certified gap
    SETTLED = "settled"  #: the objective no longer falls by what is asked for
    PLANNED = "planned"  #: all passes of a method that has no optimum to reach are made
    LIMIT = "limit"  #: iterations or passes are used up before the tolerance is met
    STUCK = "stuck"  #: the tolerance is not met, and no better point can be found
    DIVERGED = "diverged"  #: numbers are no longer finite; the weights before are kept
    BUDGET = "budget"  #: the time that the user gave is spent
    PATIENCE = "patience"  #: the dev score no longer rises
    LISTENER = "listener"  #: a listener has raised `StopTraining`
    INTERRUPTED = "interrupted"  #: a signal: Ctrl-C, SIGTERM, SIGHUP
    FAILED = "failed"  #: an exception, which is raised again


class Stopped(NamedTuple):
    """The end of a run: its kind, and the reason in words."""

    end: End
    why: str


class Smooth(Protocol):
    """A differentiable loss of `size` weights."""

    @property
    def size(self) -> int:
        """Number of weights, F."""
        ...

    def value_and_grad(self, w: Floats, gradient: Floats) -> float:
        """Return the loss at w [F] and write its gradient over `gradient` [F]."""
        ...


class Differentiable(Smooth, Protocol):
    """A loss that has a gradient everywhere, not only a subgradient."""


class Convex(Smooth, Protocol):
    """A loss that lies above all of its tangents."""


@runtime_checkable
class Curvature(Protocol):
    """A loss that knows how it curves along each weight."""

    def diagonal(self, w: Floats) -> Floats:
        """Return roughly the diagonal of the Hessian at w, [F]."""
        ...


@runtime_checkable
class Latent(Protocol):
    """A loss that is the difference of two sums, of all labelings and of those that agree with the gold."""

    def free(self, w: Floats, gradient: Floats) -> float:
        """Return the logarithm of the first sum at w [F], and write its gradient over `gradient` [F]."""
        ...

    def within(self, w: Floats, gradient: Floats) -> float:
        """Return the same of the second sum, whose gradient is expected counts."""
        ...


class Viewed(Smooth, Protocol):
    """A loss that offers views beside values and gradients."""

    def lacks(self, kind: type) -> str:
        """Return why there is no view of this kind; empty where there is one."""
        ...

    def view(self, kind: type[V]) -> V:
        """Return the view, or raise `NotCoveredError`."""
        ...


def view_of(problem: Any, kind: type[V], who: str) -> V:
    """Return a view of a problem that a method needs, or the problem itself where it is of that kind.

    Examples
    --------
    >>> view_of(object(), Curvature, "CG")
    Traceback (most recent call last):
    crfkit.errors.NotCoveredError: CG needs Curvature, which object does not give; use LBFGS
    """
    if hasattr(problem, "lacks"):
        against = cast(Viewed, problem).lacks(kind)
        if against:
            raise NotCoveredError(f"{who} does not take {against}; {getattr(kind, 'remedy', 'use LBFGS')}")
        return cast(Viewed, problem).view(kind)
    if kind in (Convex, Differentiable) or isinstance(problem, kind):
        return cast(V, problem)
    raise NotCoveredError(
        f"{who} needs {kind.__name__}, which {type(problem).__name__} does not give; use LBFGS"
    )


@dataclass(frozen=True, eq=False)
class Penalty:
    """``l1 * |w|_1 + l2/2 * |w|_2^2``; strengths are numbers, or arrays [F] where they differ by weight.

    Weights that are `nonnegative` [F] may not fall below 0: optimizers with ``bounds = True`` see to that.

    Examples
    --------
    >>> import numpy as np
    >>> Penalty(l1=1.0, l2=2.0).value(np.array([3.0, -1.0]))
    14.0
    """

    l1: float | Floats = 0.0
    l2: float | Floats = 0.0
    nonnegative: Bools | None = None

    def __post_init__(self) -> None:
        for name in ("l1", "l2"):
            given = getattr(self, name)
            if not (np.all(np.isfinite(given)) and np.all(np.asarray(given) >= 0.0)):
                raise ValueError(f"{name} is {given}, expected finite numbers of 0 or more")

    @property
    def sparse(self) -> bool:
        """Whether there is an L1 part."""
        return bool(np.any(self.l1))

    def projected(self, w: Floats) -> Floats:
        """Return w [F], or the nearest weights that are allowed."""
        return w if self.nonnegative is None else np.where(self.nonnegative & (w < 0.0), 0.0, w)

    def inward(self, w: Floats, gradient: Floats) -> Floats:
        """Return the gradient [F], without the parts that only weights below their bound would follow."""
        if self.nonnegative is None:
            return gradient
        return np.where(self.nonnegative & (w <= 0.0) & (gradient > 0.0), 0.0, gradient)

    def value(self, w: Floats) -> float:
        """Return the whole penalty."""
        return float(np.sum(self.l1 * np.abs(w))) + self.smooth_value(w)

    def smooth_value(self, w: Floats) -> float:
        """Return the L2 part."""
        return 0.5 * float(np.sum(self.l2 * w * w))

    def add_smooth(self, w: Floats, gradient: Floats) -> float:
        """Add the gradient of the L2 part; return its value."""
        pull = self.l2 * w
        gradient += pull
        return 0.5 * float(np.sum(pull * w))


def evaluate(problem: Smooth, penalty: Penalty, w: Floats) -> tuple[float, float]:
    """Return the penalized objective at w [F] and the norm of its (pseudo-)gradient, by one evaluation."""
    gradient = np.empty(len(w))
    with checked_later():
        value = problem.value_and_grad(w, gradient) + penalty.value(w)
        penalty.add_smooth(w, gradient)
        if penalty.sparse:
            at_zero = np.sign(gradient) * np.maximum(np.abs(gradient) - penalty.l1, 0.0)
            gradient = np.where(w == 0.0, at_zero, gradient + penalty.l1 * np.sign(w))
        return float(value), norm(penalty.inward(w, gradient))


def held_by_l1(problem: Any, penalty: Penalty) -> bool:
    """Return whether the penalties hold all weights of a convex loss, and L1 some of them alone."""
    l1, l2 = np.asarray(penalty.l1) > 0.0, np.asarray(penalty.l2) > 0.0
    held = bool(np.all(l1 | l2) and not np.all(l2))
    return held and hasattr(problem, "lacks") and not problem.lacks(Convex)


@dataclass(frozen=True)
class Step:
    """What a run did with one step: an iteration of a batch method, a pass of an online one."""

    objective: float  #: loss plus penalty at the weights of the run (online methods: as met on the way)
    gradient_norm: float = float("nan")  #: of the penalized objective; the pseudo-gradient under L1
    length: float = float("nan")  #: step length or learning rate
    evaluations: float = 0.0  #: passes over the data so far
    gap: float = float("nan")  #: the objective is at most so far from its optimum, where that is known
    stopped: str = ""  #: why the method itself ends, in words; empty while it goes on
    end: End | None = None  #: what kind of end that is; None while it goes on


class Run(Protocol):
    """A run of an optimizer."""

    @property
    def w(self) -> Floats:
        """The weights now, [F]: a live array that later steps may write over."""
        ...

    def step(self) -> Step:
        """Make one step; do not call it again after a step with `stopped`."""
        ...

    def state(self) -> dict[str, Any]:
        """Return everything that `Optimizer.start` needs to go on from here: numbers and arrays."""
        ...


@runtime_checkable
class Closing(Protocol):
    """A run that works beside its steps, on threads, which must not outlive it."""

    def close(self) -> None:
        """End what runs beside the steps."""
        ...


@contextmanager
def closed(run: R) -> Iterator[R]:
    """Give a run, and close it on every way out.

    Examples
    --------
    >>> with closed("anything") as run:
    ...     run
    'anything'
    """
    try:
        yield run
    finally:
        if isinstance(run, Closing):
            run.close()


class Optimizer(Protocol):
    """The base of all optimizers: frozen options, which `start` a run."""

    @property
    def needs(self) -> tuple[type, ...]:
        """The views of a loss that it needs beside values and gradients."""
        ...

    def start(self, problem: Any, penalty: Penalty, w: Floats, *, state: State = None) -> Run:
        """Begin at w [F], or go on from a state, which holds its own weights."""
        ...
