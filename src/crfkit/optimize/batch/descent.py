"""Runs that choose a direction and search along it; methods differ in the direction only.

How far to go is decided by the strong Wolfe conditions, by bracketing and zooming:

    phi(t) <= phi(0) + c1 t phi'(0)      sufficient decrease
    |phi'(t)| <= c2 |phi'(0)|            the slope has flattened out

Nocedal & Wright (2006), algorithms 3.5 and 3.6, with the cubic interpolation of eq. 3.59. Two additions.
A value that is not finite counts as too high. Values are compared up to their rounding error (as in Hager &
Zhang 2005): near the optimum values no longer tell points apart, while slopes still do.

Weights and gradients live in pairs of buffers that change places when a point is accepted: nothing is copied.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isfinite, nan, sqrt
from typing import Any, NamedTuple

import numpy as np

from crfkit._safe.fields import Fields
from crfkit.arrays import Floats
from crfkit.optimize.batch.run import BatchRun, Stopping
from crfkit.optimize.problem import End, Penalty, State, Stopped

# Rounding error of an objective, relative to it: a loss is a small difference of large sums. With 1e-14 the
# searches on CoNLL-2000 went astray as soon as the gradient had fallen to 1e-7 of its first norm.
_NOISE = 1e-12


class Trial(NamedTuple):
    """A point on the line."""

    length: float
    value: float
    slope: float


class Found(NamedTuple):
    """Where a search ended: `best` is where it began when nothing better was met."""

    best: Trial
    last: Trial  #: what was evaluated last
    spent: bool = False  #: whether it ended because no evaluations were left

    @property
    def finite(self) -> bool:
        """Whether the last trial was finite; a search that finds nothing ends close to its beginning."""
        return isfinite(self.last.value) and isfinite(self.last.slope)


@dataclass(frozen=True)
class Wolfe:
    """A line search.

    Examples
    --------
    >>> def phi(t):
    ...     return (t - 3.0) ** 2, 2.0 * (t - 3.0)
    >>> Wolfe(c2=0.1).search(phi, Trial(0.0, 9.0, -6.0), first=1.0).best.length
    3.0
    """

    c1: float = 1e-4
    c2: float = 0.9
    max_evaluations: int = 20

    def __post_init__(self) -> None:
        if not 0.0 < self.c1 < self.c2 < 1.0:
            raise ValueError(f"c1 is {self.c1} and c2 {self.c2}, expected 0 < c1 < c2 < 1")
        if self.max_evaluations < 1:
            raise ValueError(f"max_evaluations is {self.max_evaluations}, expected 1 or more")

    def accepts(self, start: Trial, there: Trial) -> bool:
        """Return whether a point meets both conditions."""
        return not self._too_high(start, there) and abs(there.slope) <= -self.c2 * start.slope

    def _too_high(self, start: Trial, there: Trial) -> bool:
        bound = start.value + self.c1 * there.length * start.slope + _NOISE * abs(start.value)
        return not (there.value <= bound and isfinite(there.slope))

    def search(self, phi: Callable[[float], tuple[float, float]], start: Trial, first: float) -> Found:
        """Look for a length, beginning with `first`; phi gives value and slope."""
        search = _Search(self, phi, start)
        met = search.bracket(first)
        return Found(search.best, search.last, not met and search.left == 0)


class _Search:
    """One search: `low` is the best end of the bracket, `high` the other one."""

    def __init__(self, rule: Wolfe, phi: Callable[[float], tuple[float, float]], start: Trial) -> None:
        self.rule, self.phi, self.start = rule, phi, start
        self.best = self.last = start
        self.left = rule.max_evaluations
        self.noise = _NOISE * abs(start.value)

    def at(self, length: float) -> Trial:
        self.left -= 1
        self.last = Trial(length, *self.phi(length))
        return self.last

    def high(self, there: Trial, low: Trial) -> bool:
        return self.rule._too_high(self.start, there) or there.value > low.value + self.noise

    def bracket(self, length: float) -> bool:
        """Search, beginning with a length; return whether the conditions are met."""
        low = self.start
        while self.left > 0:
            there = self.at(length)
            if self.high(there, low):
                return self.zoom(low, there)
            self.best = there
            if self.rule.accepts(self.start, there):
                return True
            if there.slope >= 0.0:
                return self.zoom(there, low)
            guess = _minimum(low, there)
            length = min(max(guess, 2.0 * length), 10.0 * length) if isfinite(guess) else 4.0 * length
            low = there
        return False

    def zoom(self, low: Trial, high: Trial) -> bool:
        before = inf
        while self.left > 0:
            width = abs(high.length - low.length)
            if width <= 1e-15 * max(low.length, high.length):
                return False
            guess = _minimum(low, high) if width <= 0.66 * before else nan  # halve what hardly shrinks
            before = width
            there = self.at(_between(guess, low.length, high.length))
            if self.high(there, low):
                high = there
                continue
            self.best = there
            if self.rule.accepts(self.start, there):
                return True
            if there.slope * (high.length - low.length) >= 0.0:
                high = low
            low = there
        return False


def _minimum(a: Trial, b: Trial) -> float:
    """Return where the cubic through two points with their slopes is least; nan if nowhere."""
    if not (isfinite(b.value) and isfinite(b.slope)) or a.length == b.length:
        return nan
    d1 = a.slope + b.slope - 3.0 * (a.value - b.value) / (a.length - b.length)
    under = d1 * d1 - a.slope * b.slope
    if not under >= 0.0:
        return nan
    d2 = sqrt(under) if b.length > a.length else -sqrt(under)
    below = b.slope - a.slope + 2.0 * d2
    return b.length - (b.length - a.length) * (b.slope + d2 - d1) / below if below else nan


def _between(length: float, a: float, b: float) -> float:
    """Return a guess away from the ends of the bracket; the middle where the guess is nan."""
    least, most = min(a, b), max(a, b)
    room = 0.1 * (most - least)
    return min(max(length, least + room), most - room) if isfinite(length) else 0.5 * (a + b)


@dataclass(frozen=True, kw_only=True)
class Searching(Stopping):
    """Options of every method that searches along a direction.

    Parameters
    ----------
    c1, c2 : float
        Wolfe conditions: share of the decrease that the slope promises, share of the slope that may be left.
    max_evaluations : int
        The most evaluations of one line search.
    jumps : bool
        Whether the objective may jump, so that the run ends with a search that spends its evaluations.
    """

    c1: float = 1e-4
    c2: float = 0.9
    max_evaluations: int = 20
    jumps: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.rule

    @property
    def rule(self) -> Wolfe:
        """The line search, checked."""
        return Wolfe(self.c1, self.c2, self.max_evaluations)


class Descent(BatchRun):
    """A run with a Wolfe line search."""

    def __init__(self, options: Searching, problem: Any, penalty: Penalty, w: Floats, state: State) -> None:
        self.rule, self.jumps = options.rule, options.jumps
        self.gradient, self.spare, self.trial, self.d = (np.zeros(problem.size) for _ in range(4))
        self.least = (inf, inf)  # objective and norm of the gradient
        self.stale = 0  # iterations since one of them fell
        super().__init__(options, problem, penalty, w, state)

    # ---- what methods define

    def direction(self) -> float:
        """Write the direction to `d` and return the slope of the objective along it."""
        raise NotImplementedError

    def first_length(self, slope: float) -> float:
        """Return the length to try first."""
        raise NotImplementedError

    def learn(self, length: float, slope: float) -> None:
        """Look at an accepted step: `gradient` is the new one, `spare` the one before, `trial` the old w."""

    def forget(self) -> bool:
        """Drop what bends the direction away from the gradient; False when there is nothing."""
        return False

    # ---- one iteration

    def begin(self) -> bool:
        """Evaluate the first weights."""
        point = self.evaluate(self.w, self.gradient)
        self.note(point.value, point.gradient_norm, point.weight_norm)
        return point.finite

    @property
    def uphill(self) -> Floats:
        """The gradient, [F]."""
        return self.gradient

    def advance(self) -> tuple[float, Stopped | None]:
        """Search along a direction; where that fails, along the plain one."""
        while True:
            slope = self.direction()
            if -inf < slope < 0.0:
                found = self.search(slope)
                if found.best.length > 0.0:
                    self._accept(found.best.length, slope)
                    return found.best.length, self._jumped(found) or self._worn()
                if found.finite:
                    why = "no further progress: the line search found no better point"
                    failure = Stopped(End.STUCK, why)
                else:
                    why = "diverged: the objective is not finite along the direction, however short the step"
                    failure = Stopped(End.DIVERGED, why)
            else:
                failure = Stopped(End.STUCK, "no further progress: no direction leads down")
            if not self.forget():
                return 0.0, failure

    def search(self, slope: float) -> Found:
        """Find a length; `trial` and `spare` are left at the best one."""

        def phi(length: float) -> tuple[float, float]:
            self.vectors.combine([1.0, length], [self.w, self.d], out=self.trial)
            self.point = self.evaluate(self.trial, self.spare, self.d)
            return (self.point.value, self.point.slope) if self.point.finite else (inf, inf)

        found = self.rule.search(phi, Trial(0.0, self.objectives[-1], slope), self.first_length(slope))
        if 0.0 < found.best.length != found.last.length:
            phi(found.best.length)
            if not self.point.finite:
                return Found(Trial(0.0, self.objectives[-1], slope), Trial(found.best.length, inf, inf))
        return found

    def _accept(self, length: float, slope: float) -> None:
        self.w, self.trial = self.trial, self.w
        self.gradient, self.spare = self.spare, self.gradient
        self.arrive()
        self.learn(length, slope)

    def _jumped(self, found: Found) -> Stopped | None:
        """Return an end if the objective jumps where the search went."""
        if not (found.spent and self.jumps):
            return None
        why = f"the objective jumps: {self.rule.max_evaluations} evaluations of a search met no flat point"
        return Stopped(End.SETTLED, why)

    def _worn(self) -> Stopped | None:
        """Return an end if only rounding errors are left."""
        if self.objectives[-1] < self.least[0] or self.gradient_norm < self.least[1]:
            self.stale = 0
        else:
            self.stale += 1
        self.least = (min(self.least[0], self.objectives[-1]), min(self.least[1], self.gradient_norm))
        if self.stale < 10:
            return None
        why = "no further progress: neither the objective nor its gradient falls any more"
        return Stopped(End.SETTLED, why)

    def arrive(self) -> None:
        """Keep the numbers of the point that was accepted."""
        self.note(self.point.value, self.point.gradient_norm, self.point.weight_norm)

    def recall(self, state: Fields) -> None:
        """Restore a state."""
        super().recall(state)
        self.gradient[:] = state.floats("gradient", len(self.gradient))
        objective, norm = state.extended("least", 2).tolist()
        self.least, self.stale = (objective, norm), state.count("stale")

    def state(self) -> dict[str, Any]:
        """Return everything that a run needs to go on from here."""
        return {
            **super().state(),
            "gradient": self.gradient.copy(),
            "least": np.array(self.least),
            "stale": self.stale,
        }
