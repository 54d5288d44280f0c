"""The one-slack cutting plane: Joachims, Finley & Yu (2009); bundle methods: Teo et al. (2010).

A convex loss lies above each of its tangents, c_j - a_j.w with a_j = -(its subgradient at w_j). The loss of
a batch gives the tangent of the sum over all sequences at once, so that there is one slack variable for all
of them. Each round adds a tangent and minimizes the penalty plus the highest tangent, a quadratic program
with as many variables as there are tangents. Its value bounds the optimum from below.

The next tangent is taken `reach` of the way from the best point so far to the minimum of the model, as in
Franc & Sonnenburg (2009): the minimum alone jumps about while the tangents are few.

Where weights may not be negative, shares and the multipliers of these bounds are found in turn, each best for
the other: any shares and multipliers bound the optimum from below.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from crfkit._safe.fields import Fields
from crfkit.arrays import Floats, Pointers, dot
from crfkit.optimize.classic.simplex import maximum_on_simplex
from crfkit.optimize.margin.certified import certified_step, inverse_strengths
from crfkit.optimize.options import GapRounds, check_above_zero, check_counts
from crfkit.optimize.problem import Convex, Penalty, Smooth, State, Step, view_of

_TURNS = 200  # of shares and multipliers


@dataclass(frozen=True, kw_only=True)
class OneSlack(GapRounds):
    """The one-slack cutting plane, for convex losses with or without kinks and an L2 penalty.

    Parameters
    ----------
    reach : float
        How far the next tangent is from the best point so far, on the way to the minimum of the model; 1 is
        the classical method.
    idle : int
        Tangents that were of no use in this many rounds are forgotten.

    Examples
    --------
    >>> class Hinge:
    ...     size = 1
    ...
    ...     def value_and_grad(self, w, gradient):
    ...         gradient[:] = -1.0 if w[0] < 1.0 else 0.0
    ...         return float(max(1.0 - w[0], 0.0))
    >>> run = OneSlack(reach=1.0).start(Hinge(), Penalty(l2=0.1), np.zeros(1))
    >>> while not run.step().stopped:
    ...     pass
    >>> run.w.round(6).tolist()
    [1.0]
    """

    needs: ClassVar[tuple[type, ...]] = (Convex,)
    bounds: ClassVar[bool] = True

    max_iterations: int = 1000
    reach: float = 0.1
    idle: int = 20

    def __post_init__(self) -> None:
        super().__post_init__()
        check_counts(idle=self.idle)
        check_above_zero(reach=self.reach)
        if self.reach > 1.0:
            raise ValueError(f"reach is {self.reach}, expected at most 1")

    def start(self, problem: Smooth, penalty: Penalty, w: Floats, *, state: State = None) -> OneSlackRun:
        """Begin at w, or go on from a state."""
        return OneSlackRun(self, view_of(problem, Convex, "OneSlack"), penalty, w, state)


class OneSlackRun:
    """A run of the one-slack cutting plane; `w` is the best point so far."""

    def __init__(self, options: OneSlack, problem: Smooth, penalty: Penalty, w: Floats, state: State) -> None:
        self.options, self.problem, self.penalty = options, problem, penalty
        self.inverse = inverse_strengths(penalty, problem.size, "OneSlack")  # [F]
        none = np.zeros(0)
        if state is None:
            begin = penalty.projected(np.array(w, dtype=np.float64))
            state = {"w": begin, "at": begin, "steps": 0, "best": np.inf, "bound": -np.inf}
            state |= {"places": [], "amounts": [], "cost": none, "gram": none.reshape(0, 0)}
            state |= {"share": none, "unused": np.zeros(0, np.int64)}
        kept, F = Fields.of(state), problem.size
        self.w, self.at = kept.floats("w", F), kept.floats("at", F)
        self.steps, self.best, self.bound = kept.count("steps"), *kept.bounds("best", "bound")
        self.cost = kept.floats("cost", None)
        m = len(self.cost)
        # The tangents: where a_j is not 0, and what it is there.
        places, amounts = kept.items_of("places", m), kept.items_of("amounts", m)
        self.places: list[Pointers] = [places.integers(str(j), None, below=F) for j in range(m)]
        self.amounts: list[Floats] = [
            amounts.floats(str(j), len(place)) for j, place in enumerate(self.places)
        ]
        self.gram, self.share = kept.floats("gram", m, m), kept.floats("share", m, least=0.0)
        self.unused = kept.array("unused", np.int64, m)  # rounds since a tangent had a share

    def step(self) -> Step:
        """Add the tangent at the present point, and minimize the model."""
        gradient = np.empty_like(self.at)
        value = self.problem.value_and_grad(self.at, gradient)
        objective = value + self.penalty.value(self.at)
        self.steps += 1
        if objective < self.best:
            self.best, self.w = objective, self.at.copy()
        if np.isfinite(objective):
            self._add(gradient, value - dot(gradient, self.at))
            self.bound = max(self.bound, self._solve())
            self._forget()
            self.at = self.w + self.options.reach * (self._minimum() - self.w)
        limit = ("max_iterations", self.options.max_iterations)
        return certified_step(self.best, self.bound, self.options.gap, self.steps, limit, float(self.steps))

    def _solve(self) -> float:
        """Find the shares of the model's minimum, or nearly; return a lower bound of the objective."""
        held = self.penalty.nonnegative
        if held is None:
            self.share = maximum_on_simplex(self.gram, self.cost, self.share)
            return float(self.cost @ self.share - 0.5 * self.share @ self.gram @ self.share)
        number, inverse = np.cumsum(held) - 1, self.inverse[held]
        rows = np.zeros((len(self.cost), len(inverse)))  # [m, weights with a bound]
        for row, place, amount in zip(rows, self.places, self.amounts, strict=True):
            row[number[place[held[place]]]] = amount[held[place]]
        bound = -np.inf
        for _ in range(_TURNS):
            cut = np.minimum(self.share @ rows, 0.0)  # what the bounds take away
            share = self.share
            dual = self.cost @ share - 0.5 * (share @ self.gram @ share - cut @ (inverse * cut))
            if dual - bound <= 0.01 * self.options.gap * abs(dual):
                break
            bound = float(dual)
            self.share = maximum_on_simplex(self.gram, self.cost + rows @ (inverse * cut), share)
        return max(bound, float(dual))

    def _add(self, gradient: Floats, cost: float) -> None:
        """Take in the tangent with this gradient [F] and this value at w = 0."""
        scaled = gradient * self.inverse
        place = np.flatnonzero(gradient)
        amount = -gradient[place]
        products = [-dot(a, scaled[at]) for at, a in zip(self.places, self.amounts, strict=True)]
        m = len(products)
        gram = np.empty((m + 1, m + 1))
        gram[:m, :m] = self.gram
        gram[m, :m] = gram[:m, m] = products
        gram[m, m] = dot(gradient, scaled)
        self.gram, self.cost = gram, np.append(self.cost, cost)
        self.share = np.append(self.share, 1.0 if m == 0 else 0.0)
        self.unused = np.append(self.unused, 0)
        self.places.append(place)
        self.amounts.append(amount)

    def _forget(self) -> None:
        """Drop the tangents without a share for many rounds."""
        self.unused = np.where(self.share > 0.0, 0, self.unused + 1)
        kept = np.flatnonzero(self.unused <= self.options.idle)
        if len(kept) < len(self.unused):
            self.places, self.amounts = [self.places[i] for i in kept], [self.amounts[i] for i in kept]
            self.gram, self.cost = self.gram[np.ix_(kept, kept)], self.cost[kept]
            self.share, self.unused = self.share[kept], self.unused[kept]

    def _minimum(self) -> Floats:
        """Return where penalty and highest tangent are least, [F]."""
        total = np.zeros_like(self.at)
        for share, place, amount in zip(self.share.tolist(), self.places, self.amounts, strict=True):
            if share > 0.0:
                total[place] += share * amount
        return self.penalty.projected(total * self.inverse)

    def state(self) -> dict[str, Any]:
        """Return everything that a run needs to go on from here."""
        names = ("w", "at", "steps", "best", "bound", "places", "amounts", "cost", "gram", "share", "unused")
        return {name: getattr(self, name) for name in names}
