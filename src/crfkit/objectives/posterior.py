"""Posterior regularization: labels that are not known keep bounds on how often each label is expected.

    loss(w) = likelihood of what is known + gamma * min over q in Q of KL(q || p(y | x, what is known of y))
    Q: at_least[y] <= E_q[number of y] <= at_most[y], in each sequence, or as shares of all positions

Ganchev et al. (2010). The projection q is p with the score of label y lower by a multiplier theta_y, and with
b the bounds (phi_k = 1 for the label of a bound from above, -1 for that of one from below),

    min KL = max over 0 <= theta_k <= slack of  -b.theta + log Z(score) - log Z(score - theta.phi),

whose gradient by scores is p's marginals - q's. Multipliers are found one after the other, each by a
bracketed secant, until none moves. `slack` is what a bound costs that is missed by 1, so that bounds which
contradict the data are missed and not infinitely expensive. Bounds say nothing of attributes, only of labels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Literal, NamedTuple, cast

import numpy as np

from crfkit import inference
from crfkit.arrays import Floats, Ids, Pointers
from crfkit.checks import check_choice, check_number
from crfkit.objectives.entropy import add_rows, sequences_open
from crfkit.objectives.likelihood import Likelihood
from crfkit.objectives.penalized import Penalized
from crfkit.objectives.pieces import why_no_chain
from crfkit.structures.chains.potentials import ChainPotentials
from crfkit.structures.gold import Gold, GoldKind, Sets
from crfkit.structures.structure import Structure, Trainable

_LIKELIHOOD: Final = Likelihood()
_CYCLES = 200  # over the multipliers
_STEPS = 100  # of one of them


@dataclass(frozen=True)
class PosteriorRegularized(Penalized):
    """Likelihood of known labels, with bounds on the expected counts of unknown ones.

    Parameters
    ----------
    at_most, at_least : dict of label to number
        Bounds on the expected number of each label.
    per : {"sequence", "position"}
        Numbers are those of one sequence, or shares of all positions of sequences with unknown labels, which
        are then evaluated together.
    gamma : float
        How much a nat of divergence costs.
    slack : float
        How much of a nat it costs to miss a bound by 1, at the most.

    Examples
    --------
    >>> from crfkit.data.batch import Batch
    >>> from crfkit.linear.layout import Layout
    >>> from crfkit.structures import Chain
    >>> batch = Batch(seq_ptr=[0, 1, 2], attr_ptr=[0, 1, 2], attr=[0, 1], label=[0, -1])
    >>> bounded = PosteriorRegularized(at_most={"N": 0.25})
    >>> chain = Chain(["D", "N"])
    >>> problem = bounded.bind(Layout.all_pairs(batch, chain), chain, batch)
    >>> value = problem.value_and_grad(np.zeros(8), np.empty(8))
    >>> round(float(value - np.log(2.0)), 4)  # 0.25 log(0.25 / 0.5) + 0.75 log(0.75 / 0.5)
    0.1308
    """

    name: ClassVar[str] = "posterior"
    golds: ClassVar[frozenset[GoldKind]] = frozenset({"path", "set"})
    convex: ClassVar[bool] = False
    open: ClassVar[bool] = True

    at_most: Mapping[str, float] | None = None
    at_least: Mapping[str, float] | None = None
    per: Literal["sequence", "position"] = "sequence"
    gamma: float = 1.0
    slack: float = 10.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for side in ("at_most", "at_least"):
            given = getattr(self, side)
            if not (given is None or isinstance(given, Mapping)):
                raise TypeError(f"{side} is {given!r}, expected numbers by label such as {{'O': 2.0}}")
            for label, bound in (given or {}).items():
                check_number(f"{side}[{label!r}]", bound)
        check_choice("per", self.per, ("sequence", "position"))
        check_number("gamma", self.gamma)
        check_number("slack", self.slack)

    @property
    def whole(self) -> bool:
        """Whether all data must be evaluated together."""
        return self.per == "position"

    def covers(self, structure: Trainable, kinds: Sequence[str]) -> str:
        """Return why it cannot be used: it is for chains that have the labels of all bounds."""
        if not structure.is_chain:
            return why_no_chain(self.name, structure)
        labels = cast("Structure", structure).labels
        lacking = [y for y in (*(self.at_most or ()), *(self.at_least or ())) if y not in labels]
        if lacking and len(labels):
            return (
                f"the objective {self.name} has a bound on the label {lacking[0]!r}, which the data lack; "
                f"their labels are {', '.join(labels[:10])}"
            )
        return super().covers(structure, kinds)

    def loss(
        self, potentials: Any, gold: Gold, weight: Floats, *, threads: int | None = None
    ) -> tuple[float, Mapping[str, Floats]]:
        """Return the loss of the likelihood and the divergence, and both gradients."""
        value, by_score = _LIKELIHOOD.loss(potentials, gold, weight, threads=threads)
        bounds = self._bounds(potentials.structure.labels)
        if not isinstance(gold, Sets) or not len(bounds.label):
            return value, by_score
        chosen = sequences_open(gold, np.maximum(weight, 0.0))
        if not len(chosen):
            return value, by_score
        known, share = gold.clamped(potentials).select(chosen), weight[chosen]
        problem = _Projection(known, share, bounds, self.whole, self.slack, threads)
        theta = problem.solve()
        total, gradient = inference.expected(known, self.gamma * share, threads=threads)
        nearest, projected = inference.expected(problem.shifted(theta), -self.gamma * share, threads=threads)
        for part in (gradient, projected):
            add_rows(by_score, part, gold.seq_ptr, chosen)
        away = float(share @ (total - nearest)) - float(np.sum(problem.bound * theta))
        return value + self.gamma * away, by_score

    def _bounds(self, labels: Sequence[str]) -> _Bounds:
        both = [(self.at_most or {}, 1.0), (self.at_least or {}, -1.0)]
        found = [(labels.index(y), sign, sign * b) for given, sign in both for y, b in given.items()]
        label, sign, bound = (np.array(column) for column in zip(*found, strict=True)) if found else [()] * 3
        return _Bounds(np.asarray(label, dtype=np.int32), np.asarray(sign), np.asarray(bound))


class _Bounds(NamedTuple):
    """E[sign * number of label] <= bound."""

    label: Ids  # [K]
    sign: Floats  # [K]
    bound: Floats  # [K]


class _Projection:
    """The multipliers [G, K] of groups of sequences: each for itself, or all together."""

    def __init__(
        self,
        potentials: ChainPotentials,
        weight: Floats,
        bounds: _Bounds,
        together: bool,
        slack: float,
        threads: int | None,
    ) -> None:
        self.potentials, self.bounds, self.slack, self.threads = potentials, bounds, slack, threads
        T = np.diff(potentials.seq_ptr)
        N = len(T)
        group = np.zeros(N, np.int64) if together else np.arange(N)
        self.groups = 1 if together else N
        self.group: Pointers = np.repeat(group, T)  # [P]
        self.weight: Floats = np.repeat(weight, T)  # [P]
        of = weight * T if together else weight
        self.bound: Floats = np.bincount(group, weights=of)[:, None] * bounds.bound  # [G, K]
        self.scale: Floats = np.bincount(group, weights=weight * T).astype(np.float64)  # [G] positions

    def shifted(self, theta: Floats) -> ChainPotentials:
        """Return the scores minus the multipliers [G, K] of their labels."""
        less = np.zeros((self.groups, self.potentials.node.shape[1]))
        for k, label in enumerate(self.bounds.label.tolist()):
            less[:, label] += self.bounds.sign[k] * theta[:, k]
        return replace(self.potentials, node=self.potentials.node - less[self.group])

    def excess(self, theta: Floats, k: int) -> Floats:
        """Return by how much each group is above bound k, [G]."""
        ones = np.ones(len(self.potentials.seq_ptr) - 1)
        node = inference.expected(self.shifted(theta), ones, threads=self.threads)[1]["node"]
        number = np.bincount(self.group, self.weight * node[:, self.bounds.label[k]], self.groups)
        above: Floats = self.bounds.sign[k] * number - self.bound[:, k]
        return above

    def solve(self) -> Floats:
        """Return the multipliers [G, K] between 0 and slack of the projection."""
        theta = np.zeros((self.groups, len(self.bounds.label)))
        for _ in range(_CYCLES):
            before = theta.copy()
            for k in range(theta.shape[1]):
                self._solve_one(theta, k)
            if theta.shape[1] == 1 or np.max(np.abs(theta - before)) <= 1e-10:
                break
        return theta

    def _solve_one(self, theta: Floats, k: int) -> None:
        """Set multiplier k of all groups to its root, by the Illinois method; the excess falls in it."""

        def at(x: Floats) -> Floats:
            theta[:, k] = x
            return self.excess(theta, k)

        low, high = np.zeros(self.groups), np.full(self.groups, self.slack)
        near, above = 1e-11 * self.scale, at(low)
        if not (above > near).any():
            theta[:, k] = 0.0
            return
        below = at(high)
        left = (above > near) & (below < -near)
        x = np.where(above > near, high, low)  # where the root lies beyond the interval, its end
        side = np.zeros(self.groups)
        for _ in range(_STEPS):
            if not left.any():
                break
            width = np.where(left, above - below, 1.0)
            x = np.where(left, low + (high - low) * above / width, x)
            found = at(x)
            up = left & (found > 0.0)
            down = left & ~up
            below = np.where(up & (side > 0.0), below / 2.0, below)
            above = np.where(down & (side < 0.0), above / 2.0, above)
            low, above = np.where(up, x, low), np.where(up, found, above)
            high, below = np.where(down, x, high), np.where(down, found, below)
            side = np.where(up, 1.0, np.where(down, -1.0, side))
            left = left & (np.abs(found) > near) & (high - low > 1e-12)
        theta[:, k] = x
