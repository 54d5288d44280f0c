"""The dual of max-margin over marginals: the views, and what runs of SMO and exponentiated gradient share.

    P(w) = l2/2 |w|^2 + sum_n c_n max_y [cost_n(y) + w.(f_n(y) - f_n(gold))]
    D(mu) = sum_n c_n <mu_n, cost_n> - |v|^2 / (2 l2),  v = sum_n c_n (f_n(gold) - <mu_n, f_n>),  w = v / l2

Gupta (2005) eqs. 42 to 47, with C = c_n / l2 and the objective times l2; Taskar, Guestrin & Koller (2003).
The dual variables alpha of all labelings are never made: cost and features are sums over parts, so that D
needs only the marginals mu of parts. P(w) - D(mu) is the certificate of a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from crfkit._safe.fields import Fields
from crfkit.arrays import Floats, Ids, Pointers
from crfkit.optimize.margin.certified import certified_step, inverse_strengths
from crfkit.optimize.problem import End, Penalty, State, Step, view_of


class Part(Protocol):
    """One labeled sequence. Scores, and changes of counts of parts, are dicts of arrays by slot.

    Weights have an entry more than the layout, which is 0: it stands for all weights that do not exist.
    """

    weight: float  #: c_n

    def scores(self, w: Floats) -> dict[str, Floats]:
        """Return scores by weights [F + 1], plus 1 for each wrong label."""
        ...

    def at_gold(self, amount: float) -> dict[str, Floats]:
        """Return scores of 0, but `amount` for each gold label."""
        ...

    def best(self, scores: dict[str, Floats]) -> tuple[float, Ids]:
        """Return the best score of a labeling, and its labels [T]."""
        ...

    def marginals(self, scores: dict[str, Floats]) -> dict[str, Floats]:
        """Return the expected parts of the distribution that scores give."""
        ...

    def wrong(self, parts: dict[str, Floats]) -> float:
        """Return the expected number of wrong labels of expected parts."""
        ...

    def features(self, parts: dict[str, Floats]) -> list[tuple[Pointers, Floats]]:
        """Return the sum of the features of parts: places in the weights, none twice, and amounts."""
        ...


@runtime_checkable
class FactoredSequences(Protocol):
    """Sequences of a max-margin loss, of any structure."""

    remedy: ClassVar[str] = "use the objective MaxMargin(), or another optimizer"

    @property
    def filled(self) -> Pointers:
        """The sequences that have a position and a weight above 0."""
        ...

    def part(self, n: int) -> Part:
        """Return one sequence."""
        ...

    def tilted(self, w: Floats, cost: float) -> tuple[float, Floats]:
        """Return sum_n c_n <mu_n, cost_n> and v [F] for alpha_n(y) ~ exp(w.f_n(y) + cost * cost_n(y))."""
        ...


@runtime_checkable
class FactoredChains(FactoredSequences, Protocol):
    """Sequences of a max-margin loss that are chains of order 1: marginals of their steps are all there is.

    The marginals of all sequences are a flow [P, L, L]: entry (p, y, z) is the share of the labelings that
    step from y to z into position p; into a first position all step from label 0.
    """

    remedy: ClassVar[str] = (
        "use ExponentiatedMargin or BCFW for other structures, the objective MaxMargin() for all of them"
    )

    seq_ptr: Pointers  #: [N + 1]
    label: Ids  #: [P]
    labels: int  #: L

    def mean(self, part: Part, scores: dict[str, Floats], flow: Floats) -> float:
        """Return the expected score of the labelings of a flow [T, L, L]."""
        ...

    def least(self, part: Part, scores: dict[str, Floats], toll: Floats) -> Ids:
        """Return the labels [T] whose score plus the toll [T, L, L] of their steps is least."""
        ...

    def steps(self, part: Part, labels: Ids, minus: Ids) -> dict[str, Floats]:
        """Return the parts of one labeling minus those of another."""
        ...

    def of_flow(self, flow: Floats) -> tuple[float, Floats]:
        """Return sum_n c_n <mu_n, cost_n> and v [F]."""
        ...


class MarginalRun:
    """A run whose dual never falls; `w` are the weights of the least objective so far.

    Subclasses have the dual variables: `begin` sets them, `advance` raises the dual, `kept` is their state.
    """

    def __init__(
        self,
        who: str,
        kind: type,
        limits: tuple[int, float],
        problem: Any,
        penalty: Penalty,
        w: Floats,
        state: State,
    ) -> None:
        inverse = inverse_strengths(penalty, problem.size, who)
        self.problem, self.penalty = problem, penalty
        self.most, self.gap = limits
        self.view: Any = view_of(problem, kind, who)
        if state is None and np.any(w):
            raise ValueError(
                f"{who} starts near the gold labels and cannot start at given weights; leave them out, "
                "or use Subgradient"
            )
        F = problem.size
        self.inverse = np.append(inverse, 0.0)  # [F + 1] 1 / l2
        self.now = np.zeros(F + 1)  # of the dual variables now
        self.w, self.best, self.bound, self.dual = np.zeros(F), np.inf, -np.inf, -np.inf
        self.steps, self.evaluations = 0, 0.0
        self.ended: Step | None = None
        if state is None:
            self.begin()
            return
        kept = Fields.of(state)
        self.w, self.now = kept.floats("w", F), kept.floats("now", F + 1)
        self.best, self.bound = kept.bounds("best", "bound")
        self.dual = kept.number("dual")
        self.steps, self.evaluations = kept.count("steps"), kept.number("evaluations", least=0.0)
        self.recall(kept)

    # ---- what methods define

    def begin(self) -> None:
        """Set the first dual variables."""
        raise NotImplementedError

    def advance(self) -> float:
        """Raise the dual; return the length of the step."""
        raise NotImplementedError

    def kept(self) -> dict[str, Any]:
        """Return the dual variables and whatever goes with them."""
        raise NotImplementedError

    def recall(self, state: Fields) -> None:
        """Restore what `kept` has returned."""
        raise NotImplementedError

    # ---- what they share

    def at(self, wrong: float, v: Floats) -> float:
        """Return the dual of marginals with these wrong labels and v [F]; write their weights to `now`."""
        self.now[:-1] = v * self.inverse[:-1]
        return wrong - 0.5 * float(v @ self.now[:-1])

    def square(self, change: Sequence[tuple[Pointers, Floats]]) -> float:
        """Return |change|^2 / l2 of features."""
        return float(sum(np.sum(amount * amount * self.inverse[place]) for place, amount in change))

    def move(self, change: Sequence[tuple[Pointers, Floats]], length: float) -> None:
        """Change the present weights by features times a length, by l2."""
        for place, amount in change:
            self.now[place] += length * amount * self.inverse[place]

    def step(self) -> Step:
        """Raise the dual, and evaluate the objective at the weights that go with it."""
        if self.ended is not None:
            return self.ended
        length = self.advance()
        self.steps += 1
        w = self.now[:-1].copy()
        objective = float(self.problem.value_and_grad(w, np.empty_like(w))) + self.penalty.value(w)
        self.evaluations += 1.0
        if objective < self.best:
            self.best, self.w = objective, w
        self.bound = max(self.bound, self.dual)
        limit = ("max_passes", self.most)
        made = certified_step(self.best, self.bound, self.gap, self.steps, limit, self.evaluations)
        made = replace(made, length=length)
        if made.end is None and length == 0.0:
            made = replace(made, end=End.STUCK, stopped="no step raises the dual any more")
        self.ended = made if made.end is not None else None
        return made

    def state(self) -> dict[str, Any]:
        """Return everything that a run needs to go on from here."""
        numbers = {name: getattr(self, name) for name in ("best", "bound", "dual", "steps", "evaluations")}
        return {**numbers, "w": self.w.copy(), "now": self.now.copy(), **self.kept()}
