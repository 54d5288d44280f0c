"""The perceptron and its variants: decode a sequence, and change the weights where its best labels are wrong.

With d = features of the gold labels - features of the best labels, m wrong labels of T and the score
difference s = -d.w >= 0:

====================  ====================================================  ============================
`AveragedPerceptron`  w += d                                                loss m / T
`PassiveAggressive`   w += tau d, tau = min(c, cost / d.d)                  cost s + sqrt(m), or s + 1
`AROW`                w += cost / (gamma + d.V.d) V d, 1/V += d^2 / gamma   cost s + m
====================  ====================================================  ============================

Collins (2002), Crammer et al. (2006), Mejer & Crammer (2010); MIRA is in `crfkit.optimize.sequential.mira`.
Losses and steps are those of CRFsuite, and the loss of the last two is their cost. There is no penalty:
averages and variances take its place. The objective of a step is the sum of the losses as they were met in
the pass. A pass without a wrong label is the last one: no weight would change any more, and the average is
the one that all passes would give. Sequences come in an order that (seed, pass) draws, one after the other in
a native loop (cpp/kernels/learn/perceptron.hpp): one thread does all. Structures other than chains take a
slower loop, `crfkit.linear.mistakes`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from crfkit._safe.documented import Documented
from crfkit._safe.fields import Fields
from crfkit.arrays import Floats
from crfkit.checks import check_choice
from crfkit.native import kernels
from crfkit.optimize.options import check_above_zero, check_counts
from crfkit.optimize.problem import End, Penalty, State, Step, view_of
from crfkit.optimize.sequential.rules import CONFIDENCE, ONE, PASSIVE, PERCEPTRON, ROOT, Rule
from crfkit.optimize.sequential.sequences import PerceptronSequences, begin_at

Variant = Literal["hard", "linear", "squared"]


@dataclass(frozen=True, kw_only=True)
class MistakeRule(Documented, ABC):
    """Methods that learn from mistakes.

    Parameters
    ----------
    max_passes : int
        The most passes over the sequences.
    """

    needs: ClassVar[tuple[type, ...]] = (PerceptronSequences,)

    max_passes: int = 100

    def __post_init__(self) -> None:
        check_counts(max_passes=self.max_passes)

    @property
    def first_memory(self) -> float | None:
        """The variance of each weight before the first sequence; None where the method has none."""
        return 0.0 if self.rule.averaged else None

    @property
    @abstractmethod
    def rule(self) -> Rule:
        """How weights change after a mistake."""

    @abstractmethod
    def start(self, problem: Any, penalty: Penalty, w: Floats, *, state: State = None) -> MistakeDrivenRun:
        """Begin at w [F], or go on from a state."""


@dataclass(frozen=True, kw_only=True)
class MistakeDriven(MistakeRule):
    """Methods that visit sequences in random order.

    Parameters
    ----------
    epsilon : float
        Stop when the mean cost is at most this; 0: when no label is wrong.
    seed : int
        Seed of the order of visits.
    """

    epsilon: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not np.isfinite(self.epsilon):
            raise ValueError(f"epsilon is {self.epsilon}, expected a finite number; below 0: make all passes")

    def start(self, problem: Any, penalty: Penalty, w: Floats, *, state: State = None) -> MistakeDrivenRun:
        """Begin at w [F], or go on from a state."""
        return MistakeDrivenRun(self, problem, penalty, w, state)


@dataclass(frozen=True, kw_only=True)
class Averaging(MistakeDriven):
    """Those that can average the weights.

    Parameters
    ----------
    averaging : bool
        The weights of the model are the average over all sequences so far; False: the last ones, which jump
        with every mistake.
    """

    averaging: bool = True


@dataclass(frozen=True, kw_only=True)
class AveragedPerceptron(Averaging):
    """The averaged perceptron (Collins 2002), or the plain one; its cost is the fraction of wrong labels.

    Examples
    --------
    >>> AveragedPerceptron(max_passes=10).epsilon
    0.0
    """

    @property
    def rule(self) -> Rule:
        """How weights change after a mistake."""
        return Rule(PERCEPTRON, self.averaging)


@dataclass(frozen=True, kw_only=True)
class PassiveAggressive(Averaging):
    """The smallest update that gives the gold labels their margin (Crammer et al. 2006).

    Parameters
    ----------
    variant : {"hard", "linear", "squared"}
        How the margin may be missed: PA (never), PA-I (steps of at most `c`), PA-II (1 / 2c more in the
        squared length of d).
    c : float
        Aggressiveness.
    error_sensitive : bool
        The margin is the root of the number of wrong labels; otherwise 1.

    Examples
    --------
    >>> PassiveAggressive(variant="squared", c=0.1).averaging
    True
    """

    variant: Variant = "linear"
    c: float = 1.0
    error_sensitive: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("variant", self.variant, get_args(Variant))
        check_above_zero(c=self.c)

    @property
    def rule(self) -> Rule:
        """How weights change after a mistake."""
        most = self.c if self.variant == "linear" else np.inf
        slack = 0.5 / self.c if self.variant == "squared" else 0.0
        margin = ROOT if self.error_sensitive else ONE
        return Rule(PASSIVE, self.averaging, margin, most=most, slack=slack)


@dataclass(frozen=True, kw_only=True)
class AROW(MistakeDriven):
    """Adaptive regularization of weights, with a variance for each weight (Mejer & Crammer 2010).

    Parameters
    ----------
    variance : float
        Variance of every weight, before the first sequence.
    gamma : float
        The higher, the shorter the steps and the slower the variances shrink.

    Examples
    --------
    >>> AROW(gamma=10.0).variance
    1.0
    """

    variance: float = 1.0
    gamma: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_above_zero(variance=self.variance, gamma=self.gamma)

    @property
    def first_memory(self) -> float | None:
        """The variances before the first sequence."""
        return self.variance

    @property
    def rule(self) -> Rule:
        """How weights change after a mistake."""
        return Rule(CONFIDENCE, gamma=self.gamma)


class MistakeDrivenRun:
    """Passes over the sequences in random order."""

    def __init__(self, method: MistakeRule, problem: Any, penalty: Penalty, w: Floats, state: State) -> None:
        self.method, self.arrays = method, _sequences_of(problem, penalty, type(method).__name__)
        self.visits = len(self.arrays.filled)
        kept, F = None if state is None else Fields.of(state), problem.size
        self.last = begin_at(w if kept is None else kept.floats("last", F), F)  # [F] after a sequence
        self.trainer = self.arrays.trainer(method.rule)
        self.trainer.write(self.last)
        first = method.first_memory
        self.passes = 0 if kept is None else kept.count("passes")
        self.memory = None if first is None else np.full(F, first)  # [F]
        if self.memory is not None:
            if kept is not None:
                self.memory = kept.floats("memory", F)
            self.trainer.write_memory(self.memory)
        self.spent = self.right = np.zeros(0)  # [N], where the rule is BOUNDED
        self.w = self._result()  # [F]

    def step(self) -> Step:
        """Make one pass."""
        loss = self._pass()
        after = np.empty_like(self.last)
        self.trainer.read(after)
        self.passes += 1
        if not (np.isfinite(loss) and np.isfinite(after).all()):
            stopped = (
                f"diverged: weights are not finite in pass {self.passes}; scale the values of attributes"
            )
            return Step(float("inf"), evaluations=float(self.passes), stopped=stopped, end=End.DIVERGED)
        self.last = after
        if self.memory is not None:
            self.trainer.read_memory(self.memory)
        made = self.passes
        stopped, end = self._ended(loss)
        if not stopped and made >= self.method.max_passes:
            stopped, end = f"the limit of {made} passes is reached", End.PLANNED
        self.w = self._result()
        return Step(loss, evaluations=float(made), stopped=stopped, end=end)

    def _pass(self) -> float:
        """Visit all sequences in the order of this pass; return the sum of their losses."""
        assert isinstance(self.method, MistakeDriven)
        order = self.arrays.order(self.method.seed, self.passes + 1)
        return self.trainer.run(kernels, order, self.seen, self.spent, self.right)

    def _ended(self, loss: float) -> tuple[str, End | None]:
        """Return why the passes end after one with this loss; empty where they go on."""
        assert isinstance(self.method, MistakeDriven)
        mean = loss / max(self.visits, 1)
        if mean > self.method.epsilon:
            return "", None
        if loss == 0.0:  # further passes would change only the average
            self.passes = max(self.passes, self.method.max_passes)
        return f"the mean loss has reached {mean:g}", End.CONVERGED

    @property
    def seen(self) -> int:
        """The number of the sequence to come, from 1 on."""
        return 1 + self.passes * self.visits

    def state(self) -> dict[str, Any]:
        """Return everything that a run needs to go on from here; the seed is an option."""
        memory = None if self.memory is None else self.memory.copy()
        return {"last": self.last.copy(), "memory": memory, "passes": self.passes}

    def _result(self) -> Floats:
        if not self.method.rule.averaged or self.memory is None:
            return self.last
        average: Floats = self.last - self.memory / self.seen
        return average


def _sequences_of(problem: Any, penalty: Penalty, who: str) -> PerceptronSequences:
    if np.any(penalty.l1) or np.any(penalty.l2):
        raise ValueError(f"{who} has no penalty, and l1 or l2 is not 0; set both to 0")
    return view_of(problem, PerceptronSequences, who)
