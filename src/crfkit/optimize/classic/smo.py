"""Structured SMO: mass moves between two labelings of a sequence, by the best amount.

    mu_n += e (parts of y - parts of z),   e = min(g / (c_n |f_n(y) - f_n(z)|^2 / l2), room)
    g = [cost + w.f](y) - [cost + w.f](z),   room = min over the steps of z that y lacks of their marginals

Gupta (2005) section 2.4.1 and eq. 48; Taskar, Guestrin & Koller (2003). y is the labeling of the highest
score plus cost. alpha(z) > 0 asks for the highest score too (KKT), so z should have a low one, but also mass
to give: the lowest of all had so little that 64 % of the moves ended for want of it (60 sentences of
CoNLL-2000), and the likeliest leads nowhere once its score is high. So z is least in

    [cost + w.f](z) - tau sum over its steps of log mu,    tau = gap_n / 2 / (- sum mu log mu)

with the gap of the sequence, the highest score minus the mean, and the sum over all steps. Comparing z with
the mean over alpha shows that g is at least half of the gap: moves end only at the optimum.

Many alpha go with the same marginals of a chain. The report takes the one of most entropy, in which z has
only the product of its steps' shares, so that long sequences hardly move. The marginals are a flow, and a
flow can be cut into paths such that z carries as much as its narrowest step: this is the alpha that is taken
here, anew for each move. It makes SMO a pairwise Frank-Wolfe method without a list of labelings, as that of
Garber & Meshi (2016).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from crfkit._safe.fields import Fields
from crfkit.arrays import Floats
from crfkit.optimize.classic.marginal_dual import FactoredChains, MarginalRun
from crfkit.optimize.options import GapPasses
from crfkit.optimize.problem import Penalty, State


@dataclass(frozen=True, kw_only=True)
class SMO(GapPasses):
    """Structured sequential minimal optimization for max-margin chains of order 1 with an L2 penalty.

    Examples
    --------
    >>> from crfkit import Chain
    >>> from crfkit.data.batch import Batch
    >>> from crfkit.linear.layout import Layout
    >>> from crfkit.objectives import MaxMargin
    >>> batch = Batch(seq_ptr=[0, 2], attr_ptr=[0, 1, 2], attr=[0, 1], label=[0, 1])
    >>> loss = MaxMargin().bind(Layout.all_pairs(batch, 2, transitions="none"), Chain(2), batch)
    >>> step = SMO().start(loss, Penalty(l2=1.0), np.zeros(4)).step()
    >>> step.end.value, round(step.objective, 6), round(step.gap, 6)
    ('converged', 0.5, 0.0)
    """

    needs: ClassVar[tuple[type, ...]] = (FactoredChains,)

    def start(self, problem: Any, penalty: Penalty, w: Floats, *, state: State = None) -> SMORun:
        """Begin at the gold labels, or go on from a state; given weights are refused."""
        return SMORun(self, problem, penalty, w, state)


class SMORun(MarginalRun):
    """Passes over the sequences; the marginals are `flow` [P, L, L]."""

    view: FactoredChains

    def __init__(self, options: SMO, problem: Any, penalty: Penalty, w: Floats, state: State) -> None:
        self.options = options
        limits = (options.max_passes, options.gap)
        super().__init__("SMO", FactoredChains, limits, problem, penalty, w, state)

    def begin(self) -> None:
        """Put all mass on the gold labels: weights of 0, and a dual of 0."""
        view = self.view
        self.flow = np.zeros((len(view.label), view.labels, view.labels))  # [P, L, L]
        before = np.append(0, view.label[:-1])
        before[view.seq_ptr[:-1][np.diff(view.seq_ptr) > 0]] = 0
        self.flow[np.arange(len(before)), before, view.label] = 1.0
        self.dual = 0.0

    def advance(self) -> float:
        """Visit all sequences; return the mass that moved, by sequence."""
        order = np.random.default_rng([self.options.seed, self.steps + 1]).permutation(self.view.filled)
        moved = sum(self._visit(int(n)) for n in order)
        self.evaluations += 1.0
        # What rounding has added on the way is left behind: weights and dual are those of the flow.
        self.dual = self.at(*self.view.of_flow(self.flow))
        return moved / max(len(order), 1)

    def _visit(self, n: int) -> float:
        """Move mass between two labelings of a sequence; return how much."""
        part = self.view.part(n)
        flow = self.flow[self.view.seq_ptr[n] : self.view.seq_ptr[n + 1]]  # [T, L, L]
        at = np.arange(len(flow))
        scores = part.scores(self.now)
        high, to = part.best(scores)
        gap = high - self.view.mean(part, scores, flow)
        if gap <= 1e-12 * max(abs(high), 1.0):
            return 0.0
        toll = np.full(flow.shape, np.inf)  # [T, L, L]
        some = flow > 0.0
        toll[some] = -np.log(flow[some])
        mixed = float(flow[some] @ toll[some])
        toll[some] *= 0.5 * gap / mixed if mixed > 0.0 else 0.0
        source = self.view.least(part, scores, toll)
        after, before = np.append(0, to[:-1]), np.append(0, source[:-1])
        differ = (to != source) | (after != before)
        room = float(flow[at, before, source][differ].min())
        moved = self.view.steps(part, to, source)
        violation = sum(float(np.sum(moved[slot] * scores[slot])) for slot in moved)
        change = part.features(moved)
        square = part.weight * self.square(change)
        mass = room if violation >= room * square else violation / square
        flow[at[differ], after[differ], to[differ]] += mass
        flow[at[differ], before[differ], source[differ]] -= mass
        self.move(change, -mass * part.weight)
        return mass

    def kept(self) -> dict[str, Any]:
        """Return the marginals."""
        return {"flow": self.flow.copy()}

    def recall(self, state: Fields) -> None:
        """Restore the marginals; rounding may have left some a little below 0."""
        view = self.view
        self.flow = state.floats("flow", len(view.label), view.labels, view.labels, least=-1e-6)
