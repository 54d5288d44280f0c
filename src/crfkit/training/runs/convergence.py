"""How near to the optimum a run ended: its certificate, whether it has converged, and the warning where not.

A dual method knows its gap. Otherwise strong convexity gives one: with an L2 penalty of at least l2 on every
weight, a convex loss P and any subgradient g at w,

    P(w) - min P <= |g|^2 / (2 l2)

(minimize the quadratic that bounds P from below; Nesterov 2004, theorem 2.1.10). For likelihood with L2 this
is the duality gap between w and the marginals at w. Under L1 the pseudo-gradient is such a g; under L1
alone the marginals are mixed with the gold until no attribute is worth more than l1 (`lower_bound`). A bound
that an earlier step gave holds for later ones.

A run has converged when its method says so (the gradient, the gap or the fall of the objective is below the
tolerance), or when its weights are certified to be within the tolerance of the optimum, however it ended.

There is a `ConvergenceWarning` when a run that has not converged ends by

- a limit of iterations or passes, the optimizer's or `max_iterations`, as in scikit-learn;
- a line search or an update that finds no better point;
- numbers that are no longer finite.

There is none when the end was asked for: `max_seconds`, `patience`, a listener that raises `StopTraining`,
Ctrl-C and other signals, `max_iterations` of 0, or the passes of perceptrons, which have no
optimum to reach. The summary reports every end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, is_dataclass, replace
from math import isfinite
from typing import Any

import numpy as np

from crfkit.arrays import Floats
from crfkit.errors import warn_about
from crfkit.optimize.bounds import lower_bound
from crfkit.optimize.problem import End, Penalty, Smooth, Step, evaluate, held_by_l1
from crfkit.training.record import TrainingRecord

__all__ = ["MISSED", "Certificate", "WarnedLast", "certify", "curvature_of", "exact_step", "has_converged"]
__all__ += ["pass_on", "plain_warnings", "remedy_for", "warn_of_convergence", "warn_of_end"]
__all__ += ["least_of", "with_exact_bound"]

#: Ends that miss the tolerance without having been asked for.
MISSED = (End.LIMIT, End.STUCK, End.DIVERGED)
_plain: ContextVar[bool] = ContextVar("plain", default=False)
_later: ContextVar[list[tuple[str, type[Warning]]] | None] = ContextVar("later", default=None)


@dataclass(frozen=True)
class Certificate:
    """A bound on how far the objective is above its optimum."""

    objective: float
    gap: float  #: at most so far above the optimum; nan when unknown
    why_not: str = ""  #: why nothing is known
    bounded: bool = False  #: whether another point of the run gave the bound

    @property
    def excess(self) -> float:
        """The gap as a fraction of the optimum; nan when unknown, inf when the bound says nothing."""
        if not isfinite(self.gap) or not isfinite(self.objective):
            return float("nan")
        least = self.objective - self.gap
        return self.gap / least if least > 0.0 else (0.0 if self.gap <= 0.0 else float("inf"))

    def with_bound(self, least: float) -> Certificate:
        """Return the certificate by a lower bound of the optimum that another point of the run gave.

        A dev set may keep weights whose own gap says little, though the run came near to the optimum later.

        Examples
        --------
        >>> print(Certificate(210.0, 190.0).with_bound(199.0))
        Within 5.6 % of the optimum: at most 11 above it.
        """
        gap = self.objective - least
        if not np.isfinite(gap) or self.gap <= gap:
            return self
        return Certificate(self.objective, max(gap, 0.0), bounded=True)

    def __str__(self) -> str:
        if np.isnan(self.excess):
            return f"No certificate: {self.why_not or 'nothing bounds the optimum from below'}."
        if self.excess >= 1.0 and self.bounded:
            least = self.objective - self.gap
            return f"At most {_rounded(self.gap)} above the optimum, which is {least:,.6g} or more."
        if self.excess >= 1.0:
            return (
                f"No useful certificate: the objective is {self.objective:,.6g}, and the optimum may lie "
                f"anywhere between {_rounded(max(self.objective - self.gap, 0.0))} and that."
            )
        return f"Within {_percent(self.excess)} of the optimum: at most {_rounded(self.gap)} above it."


def curvature_of(penalty: Penalty, convex: bool) -> float:
    """Return the strength of the strong convexity that the penalty gives; 0 for none."""
    return float(np.min(penalty.l2)) if convex else 0.0


def can_certify(problem: Any, penalty: Penalty) -> bool:
    """Return whether a run that comes near enough to the optimum can know it."""
    return curvature_of(penalty, problem.convex) > 0.0 or held_by_l1(problem, penalty)


def certify(step: Step, curvature: float, *, convex: bool = True) -> Certificate:
    """Return the certificate of a step.

    Examples
    --------
    >>> print(certify(Step(objective=200.0, gap=0.0099), 0.0))
    Within 0.005 % of the optimum: at most 0.0099 above it.
    >>> print(certify(Step(objective=200.0, gradient_norm=0.199), 2.0))
    Within 0.005 % of the optimum: at most 0.0099 above it.
    >>> print(certify(Step(objective=200.0, gradient_norm=0.2), 0.0))
    No certificate: without an L2 penalty on every weight the gradient bounds nothing.
    """
    if isfinite(step.gap):
        return Certificate(step.objective, max(step.gap, 0.0))
    if not convex:
        why = "the objective is not convex, so there may be better optima elsewhere"
        return Certificate(step.objective, float("nan"), why)
    if curvature <= 0.0:
        why = "without an L2 penalty on every weight the gradient bounds nothing"
        return Certificate(step.objective, float("nan"), why)
    if not isfinite(step.gradient_norm):
        return Certificate(step.objective, float("nan"), "the method knows neither gap nor gradient")
    return Certificate(step.objective, step.gradient_norm * step.gradient_norm / (2.0 * curvature))


def _rounded(value: float) -> str:
    return f"{value:,.0f}" if 999.5 <= value < 1e9 else f"{value:,.3g}"


def _percent(fraction: float) -> str:
    """Return two digits, rounded up, so that the bound still holds."""
    if fraction <= 0.0:
        return "0 %"
    percent = 100.0 * fraction
    unit = 10.0 ** (np.floor(np.log10(percent)) - 1)
    up = np.ceil(percent / unit * (1.0 - 1e-9)) * unit
    return f"{up:.2g} %" if up >= 1e-4 else f"{up:.1e} %"


def least_of(found: Iterable[Certificate], before: float = float("-inf")) -> float:
    """Return the highest lower bound of the optimum that certificates of one run give, or that of before.

    Examples
    --------
    >>> least_of([Certificate(210.0, 190.0), Certificate(205.0, 6.0), Certificate(204.0, float("nan"))])
    199.0
    """
    return max([before, *(one.objective - one.gap for one in found if isfinite(one.gap))])


def with_exact_bound(step: Step, problem: Any, penalty: Penalty, w: Floats) -> Step:
    """Return the step at w [F] with a gap where only L1 holds some weights, by one more evaluation."""
    if isfinite(step.gap) or not held_by_l1(problem, penalty):
        return step
    least = lower_bound(problem, penalty, w)
    return replace(step, gap=step.objective - least, evaluations=step.evaluations + 1.0)


def exact_step(problem: Smooth, penalty: Penalty, w: Floats, evaluations: float) -> Step:
    """Return the objective and the norm of its (pseudo-)gradient at w [F], by one pass over the data."""
    objective, norm = evaluate(problem, penalty, w)
    return Step(objective, norm, evaluations=evaluations + 1.0)


def has_converged(end: End, excess: float, tolerance: float, *, judged: bool = False) -> bool:
    """Return whether a run has met its tolerance.

    Parameters
    ----------
    end : End
    excess : float
        The weights are certified to be at most this fraction above the optimum; nan when nothing is known.
    tolerance : float
    judged : bool
        Whether the certificate alone decides, however the run ended.

    Examples
    --------
    >>> has_converged(End.LIMIT, 2e-5, 1e-4), has_converged(End.LIMIT, float("nan"), 1e-4)
    (True, False)
    """
    return bool(excess <= tolerance) or (not judged and end in (End.CONVERGED, End.SETTLED))


def remedy_for(end: End, optimizer: Any, max_iterations: int | None) -> str:
    """Return what to change so that a run gets further.

    Parameters
    ----------
    end : End
    optimizer
        Whose limits may have ended it.
    max_iterations : int, optional
        The limit of the caller, where that has ended it.

    Examples
    --------
    >>> from crfkit.optimize import LBFGS
    >>> remedy_for(End.LIMIT, LBFGS(), None)
    'Raise the limit, optimizer=LBFGS(max_iterations=2000), or tolerance (--tolerance).'
    >>> remedy_for(End.LIMIT, LBFGS(), 50)
    'Raise max_iterations (--max-iterations), which is 50, or tolerance (--tolerance).'
    """
    looser = "tolerance (--tolerance)"
    if end is End.LIMIT:
        if max_iterations is not None:
            return f"Raise max_iterations (--max-iterations), which is {max_iterations}, or {looser}."
        own = {f.name for f in fields(optimizer)} if is_dataclass(optimizer) else set()
        name = next((name for name in ("max_iterations", "max_passes") if name in own), None)
        if name is None:
            return f"Raise the limit of the optimizer, or {looser}."
        higher = f"{type(optimizer).__name__}({name}={2 * getattr(optimizer, name)})"
        return f"Raise the limit, optimizer={higher}, or {looser}."
    if end in (End.SETTLED, End.CONVERGED):
        return f"Raise {looser}, or l2, which makes the optimum easier to bound."
    if end is End.STUCK:
        return f"Raise {looser} or l2, scale the values of attributes to about 1, or try another optimizer."
    return "Scale the values of attributes to about 1, raise l2, or try another optimizer, such as lbfgs."


def warn_of_end(end: End, converged: bool, reason: str, remedy: str, known: str = "") -> None:
    """Warn if a run has missed its tolerance; `known` says how far it is from it."""
    if converged or end not in (*MISSED, End.SETTLED, End.CONVERGED):
        return
    missed = "it converged" if end in MISSED else "it was certified to be near the optimum"
    why = reason.removeprefix("converged: ")
    warn_of_convergence(f"training ended before {missed}: {why}. {remedy} {known}".rstrip())


class WarnedLast:
    """A context whose warnings of convergence come when it is left, once what was learned is held or saved.

    A program may turn warnings into exceptions, which must not cost it the model. Where another exception
    ends the context, that is what there is to say.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     with WarnedLast():
    ...         warn_of_convergence("not converged")
    ...         before = len(caught)
    ...     before, len(caught)
    (0, 1)
    """

    def __enter__(self) -> None:
        self._held: list[tuple[str, type[Warning]]] = []
        self._token = _later.set(self._held)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        _later.reset(self._token)
        if kind is None:
            for text, category in self._held:
                _said(text, category)


def _said(text: str, category: type[Warning]) -> None:
    """Warn, or leave that to the context around."""
    held = _later.get()
    if held is None:
        warn_about(text, category)
    else:
        held.append((text, category))


def warn_of_convergence(text: str) -> None:
    """Warn that something has not converged."""
    category: type[Warning] = UserWarning
    if not _plain.get():
        from sklearn.exceptions import ConvergenceWarning

        category = ConvergenceWarning
    _said(text, category)


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Warn as UserWarning: the command line shows only the words, and loading scikit-learn is slow."""
    token = _plain.set(True)
    try:
        yield
    finally:
        _plain.reset(token)


def pass_on(training: TrainingRecord | None) -> None:
    """Raise KeyboardInterrupt where Ctrl-C has ended a training, for callers that go on after one."""
    if training is not None and training.end == End.INTERRUPTED:
        raise KeyboardInterrupt
