"""L-BFGS, and OWL-QN where there is an L1 penalty.

L-BFGS (Nocedal 1980; Nocedal & Wright 2006, algorithm 7.5) goes along -H g, where H approximates the inverse
Hessian from the last few pairs s = w' - w, y = g' - g (`pairs.py`), to a point that meets the strong Wolfe
conditions. It is the method of Sha & Pereira (2003), section 3.2, and of most CRF tools.

OWL-QN (Andrew & Gao 2007) does the same inside one orthant at a time, where |w| is linear. The
pseudo-gradient takes the place of the gradient (eq. 4), and trial points are projected onto the orthant
(eq. 7); they are accepted by sufficient decrease along the projected step. H is learned from the smooth part
only. Two things differ from the paper. H is that of the weights that may move (`KeptPairs`), not a part of
the H of all. And only weights that would leave 0 must go down by themselves; eq. 6 asks that of all. On
1,200 sentences of CoNLL-2002 (c1 = c2 = 0.1) 190 evaluations end at 1,106.30, where the paper's rule needs
1,067 to reach 1,106.85 and CRFsuite 876 to reach 1,116.64.

Weights that may not be negative are treated likewise: those that are 0 and would fall are left out of the
direction, and trial points are projected (the two-metric projection of Bertsekas 1982).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, nan, sqrt
from typing import Any, ClassVar, Literal

import numpy as np

from crfkit._safe.fields import Fields
from crfkit.arrays import Floats, dot, norm
from crfkit.checks import check_choice
from crfkit.optimize.batch.descent import Descent, Found, Searching, Trial
from crfkit.optimize.batch.preconditioned import ScaledRun
from crfkit.optimize.batch.vectors import KeptPairs, Pairs, Vectors
from crfkit.optimize.bounds import Tangents
from crfkit.optimize.options import check_counts
from crfkit.optimize.problem import Curvature, Penalty, Run, Smooth, State, held_by_l1

_PAIR_BYTES = 1 << 26  # for the pairs that are remembered by default


@dataclass(frozen=True, kw_only=True)
class LBFGS(Searching):
    """Limited-memory BFGS; with an L1 penalty, OWL-QN.

    Parameters
    ----------
    memory : int, optional
        Pairs to remember; default: as many as 64 MB hold, from 6 to 300.
    preconditioner : {"none", "diagonal"}
        "diagonal" works on weights scaled by the diagonal of the Hessian at the start, for which it asks the
        problem (`diagonal(w)`): far fewer iterations from a good start, none gained from a bad one.

    Examples
    --------
    >>> import numpy as np
    >>> class Bowl:
    ...     size = 2
    ...
    ...     def value_and_grad(self, w, gradient):
    ...         gradient[:] = [w[0] - 3.0, 10.0 * (w[1] + 1.0)]
    ...         return 0.5 * ((w[0] - 3.0) ** 2 + 10.0 * (w[1] + 1.0) ** 2)
    >>> run = LBFGS().start(Bowl(), Penalty(), np.zeros(2))
    >>> while not (step := run.step()).stopped:
    ...     pass
    >>> run.w.round(4).tolist(), step.stopped.partition(":")[0]
    ([3.0, -1.0], 'converged')
    >>> run = LBFGS().start(Bowl(), Penalty(l1=10.0), np.zeros(2))
    >>> run.step().stopped, run.w.tolist()
    ('converged: gradient norm 0 below 1e-05', [0.0, 0.0])
    """

    bounds: ClassVar[bool] = True
    certifies: ClassVar[bool] = True  # goes on until a gradient or a tangent bounds the optimum

    memory: int | None = None
    preconditioner: Literal["none", "diagonal"] = "none"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("preconditioner", self.preconditioner, ("none", "diagonal"))
        if self.memory is not None:
            check_counts(memory=self.memory)

    @property
    def needs(self) -> tuple[type, ...]:
        """Needs the curvature for a preconditioner."""
        return (Curvature,) if self.preconditioner == "diagonal" else ()

    def start(self, problem: Smooth, penalty: Penalty, w: Floats, *, state: State = None) -> Run:
        """Begin at w, or go on from a state."""
        if penalty.nonnegative is not None and (penalty.sparse or self.preconditioner == "diagonal"):
            what = "an L1 penalty" if penalty.sparse else "a preconditioner"
            raise ValueError(f"LBFGS with {what} does not keep weights at 0 or more: leave {what} out")
        if self.preconditioner == "diagonal":
            return ScaledRun(replace(self, preconditioner="none").begin, problem, penalty, w, state)
        return self.begin(problem, penalty, w, state=state)

    def begin(self, problem: Smooth, penalty: Penalty, w: Floats, *, state: State = None) -> LBFGSRun:
        """Begin on the weights as they are, without a preconditioner."""
        kind = OrthantRun if penalty.sparse else LBFGSRun if penalty.nonnegative is None else BoundedRun
        return kind(self, problem, penalty, w, state)


def default_memory(vector_bytes: int) -> int:
    """Return how many pairs of vectors to remember.

    Each pair has to be read in each step, and saves steps. On CoNLL-2002 Spanish, l2 = 0.02, 84 pairs instead
    of 40 save a third of the evaluations and a quarter of the time; on its first 1,200 sentences 160 instead
    of 40 save 42 and 48 %.

    Examples
    --------
    >>> [default_memory(size) for size in (2 * 3_581, 2 * 450_000, 2 * 7_400_000)]
    [300, 37, 6]
    """
    return max(min(_PAIR_BYTES // (2 * max(vector_bytes, 1)), 300), 6)


class LBFGSRun(Descent):
    """A run of L-BFGS."""

    remembers: ClassVar[type[KeptPairs]] = Pairs
    pairs: Any  # of that kind

    def __init__(self, options: LBFGS, problem: Smooth, penalty: Penalty, w: Floats, state: State) -> None:
        vectors = Vectors(problem.size, options.threads)
        self.pairs = self.remembers(options.memory or default_memory(vectors.kept_bytes()), vectors)
        super().__init__(options, problem, penalty, w, state)

    def direction(self) -> float:
        """Go along -H g."""
        return float(self.pairs.downhill(self.gradient, self.gradient_norm**2, self.d))

    def first_length(self, slope: float) -> float:
        """Return 1 once H has seen a step and knows the scale; first move by 1 in all."""
        return 1.0 if len(self.pairs) else 1.0 / self.gradient_norm

    def learn(self, length: float, slope: float) -> None:
        """Remember the step."""
        self.vectors.combine([1.0, -1.0], [self.gradient, self.spare], out=self.spare)
        self.pairs.add(self.d, length, self.spare, self.gradient)

    def forget(self) -> bool:
        """Fall back to the gradient."""
        known = len(self.pairs) > 0
        self.pairs.clear()
        return known

    def recall(self, state: Fields) -> None:
        """Restore a state."""
        super().recall(state)
        self.pairs.recall(state)

    def state(self) -> dict[str, Any]:
        """Return everything that a run needs to go on from here."""
        return {**super().state(), **self.pairs.state()}


class OrthantRun(LBFGSRun):
    """A run of OWL-QN."""

    remembers = KeptPairs

    def __init__(self, options: LBFGS, problem: Smooth, penalty: Penalty, w: Floats, state: State) -> None:
        self.pseudo = np.zeros(problem.size)  # [F]
        self.tangents = Tangents(penalty, problem.size) if held_by_l1(problem, penalty) else None
        super().__init__(options, problem, penalty, w, state)
        if state is not None:
            self.vectors.pseudo_gradient(self.l1, self.w, self.gradient, self.pseudo)

    @property
    def uphill(self) -> Floats:
        """The pseudo-gradient, [F]."""
        return self.pseudo

    def begin(self) -> bool:
        """Evaluate the first weights."""
        self.point = self.evaluate(self.w, self.gradient)
        self.arrive()
        return self.point.finite

    def arrive(self) -> None:
        """Compute the pseudo-gradient and the L1 part at the current weights."""
        square, penalty = self.vectors.pseudo_gradient(self.l1, self.w, self.gradient, self.pseudo)
        self.note(self.point.value + penalty, sqrt(square), self.point.weight_norm)
        if self.tangents is not None:
            pull = self.l2 * self.w
            loss = self.point.value - 0.5 * dot(pull, self.w)
            self.tangents.add(loss, self.gradient - pull, self.w)

    @property
    def gap(self) -> float:
        """What tangents say where L1 alone holds some weights; elsewhere the gradient says it."""
        return self.objectives[-1] - self.tangents.least if self.tangents and self.objectives else nan

    def recall(self, state: Fields) -> None:
        """Restore a state."""
        super().recall(state)
        if self.tangents is not None:
            self.tangents.recall(state.part("tangents"))

    def state(self) -> dict[str, Any]:
        """Return everything that a run needs to go on from here."""
        return {**super().state(), **({} if self.tangents is None else {"tangents": self.tangents.state()})}

    def direction(self) -> float:
        """Go along -H pseudo, where H is that of the weights that may move; none leaves 0 the wrong way."""
        return float(self.pairs.downhill_within(self.l1, self.w, self.pseudo, self.d))

    def search(self, slope: float) -> Found:
        """Halve the length until the objective falls by c1 of what the pseudo-gradient promises."""
        begin = here = Trial(0.0, self.objectives[-1], slope)
        length = self.first_length(slope)
        for _ in range(self.rule.max_evaluations):
            promised, penalty = self.move(length)
            self.point = self.evaluate(self.trial, self.spare)
            value = self.point.value + penalty if self.point.finite else inf
            here = Trial(length, value, slope)
            if promised < 0.0 and value <= begin.value + self.rule.c1 * promised:
                return Found(here, here)
            length *= 0.5
        return Found(begin, here)

    def move(self, length: float) -> tuple[float, float]:
        """Set `trial`, projected; return what the pseudo-gradient promises there, and the L1 part."""
        promised, penalty, _ = self.vectors.move_in_orthant(
            self.l1, self.w, self.pseudo, self.d, length, self.trial
        )
        return promised, penalty

    def learn(self, length: float, slope: float) -> None:
        """Remember the step as it was after projection."""
        self.vectors.combine([1.0, -1.0], [self.w, self.trial], out=self.d)
        self.vectors.combine([1.0, -1.0], [self.gradient, self.spare], out=self.spare)
        self.pairs.add(self.d, 1.0, self.spare, self.pseudo)


class BoundedRun(OrthantRun):
    """A run of L-BFGS in which some weights may not be negative."""

    remembers = Pairs

    def __init__(self, options: LBFGS, problem: Smooth, penalty: Penalty, w: Floats, state: State) -> None:
        super().__init__(options, problem, penalty, penalty.projected(w), state)
        if state is not None:
            self.pseudo = penalty.inward(self.w, self.gradient)

    def arrive(self) -> None:
        """Leave out what points below the bounds."""
        self.pseudo = self.penalty.inward(self.w, self.gradient)
        self.note(self.point.value, norm(self.pseudo), self.point.weight_norm)

    def direction(self) -> float:
        """Go along -H pseudo, but not below the bounds."""
        self.pairs.downhill(self.pseudo, self.gradient_norm**2, self.d)
        self.d[:] = -self.penalty.inward(self.w, -self.d)
        return dot(self.pseudo, self.d)

    def move(self, length: float) -> tuple[float, float]:
        """Set `trial`, projected; return what the gradient promises there; there is no L1 part."""
        self.trial[:] = self.penalty.projected(self.w + length * self.d)
        return dot(self.pseudo, self.trial - self.w), 0.0
