"""The perceptron and its kin: decode a sequence, and change the weights where its best labels are wrong.

With d = features of the gold labels - features of the best labels, m wrong labels of T and the score
difference s = -d.w >= 0:

====================  ====================================================  ============================
`AveragedPerceptron`  w += d                                                loss m / T
`PassiveAggressive`   w += tau d, tau = min(c, cost / d.d)                  cost s + sqrt(m), or s + 1
`AROW`                w += cost / (gamma + d.V.d) V d, 1/V += d^2 / gamma   cost s + m
====================  ====================================================  ============================

Collins (2002), Crammer et al. (2006), Mejer & Crammer (2010); losses and steps are those of CRFsuite, and the
loss of the last two is their cost. There is no penalty: averages and variances take its place. The objective
of a step is the sum of the losses as they were met in the pass. A pass without a wrong label is the last one:
no weight would change any more, and the average is the one that all passes would give. Sequences come in an
order that (seed, pass) draws, one after the other in a native loop (cpp/kernels/learn/perceptron.hpp):
one thread does all. Structures other than chains of order 1 take a slower loop, `crfkit.linear.mistakes`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from crfkit import _native
from crfkit.arrays import Floats
from crfkit.native import kernels
from crfkit.optimise.options import check_above_zero, check_counts
from crfkit.optimise.problem import End, Penalty, Step, view_of
from crfkit.optimise.sequential.sequences import PerceptronSequences, begin_at

__all__ = ["AROW", "AveragedPerceptron", "MistakeDriven", "MistakeDrivenRun", "PassiveAggressive", "Variant"]

Variant = Literal["hard", "linear", "squared"]
_PERCEPTRON, _PASSIVE, _CONFIDENCE = range(3)  # `Remedy` of cpp/shared/mistakes.hpp


@dataclass(frozen=True, kw_only=True)
class MistakeDriven(ABC):
    """The options that the three methods share: when to stop, and the order of the sequences."""

    max_passes: int = 100
    epsilon: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        check_counts(max_passes=self.max_passes)
        if not np.isfinite(self.epsilon):
            raise ValueError(f"epsilon is {self.epsilon}, expected a finite number; below 0: make all passes")

    @property
    def needs(self) -> tuple[type, ...]:
        """Needs labelled sequences, and the loss of the perceptron."""
        return (PerceptronSequences,)

    def start(
        self, problem: Any, penalty: Penalty, w: Floats, *, state: dict[str, Any] | None = None
    ) -> MistakeDrivenRun:
        """Begin at w [F], or go on from a state."""
        return MistakeDrivenRun(self, problem, penalty, w, state)

    @property
    def averages(self) -> bool:
        """Whether the weights of the model are the average over all sequences so far."""
        return False

    @property
    def first_memory(self) -> float | None:
        """The variance of each weight before the first sequence; None where the method has none."""
        return 0.0 if self.averages else None

    @abstractmethod
    def trainer(self, data: PerceptronSequences) -> _native.MistakeTrainer:
        """Return the trainer that makes the passes."""


@dataclass(frozen=True, kw_only=True)
class AveragedPerceptron(MistakeDriven):
    """The averaged perceptron (Collins 2002).

    Parameters
    ----------
    max_passes : int
    epsilon : float
        Stop when the mean share of wrong labels is at most this; 0: when no label is wrong.
    seed : int

    Examples
    --------
    >>> AveragedPerceptron(max_passes=10).epsilon
    0.0
    """

    @property
    def averages(self) -> bool:
        """Whether the weights of the model are the average over all sequences so far."""
        return True

    def trainer(self, data: PerceptronSequences) -> _native.MistakeTrainer:
        """Return the trainer that makes the passes."""
        return data.trainer(_PERCEPTRON, True, False, np.inf, 0.0, 1.0)


@dataclass(frozen=True, kw_only=True)
class PassiveAggressive(MistakeDriven):
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
    averaging : bool
        The weights of the model are the average over all sequences so far.
    max_passes : int
    epsilon : float
        Stop when the mean cost is at most this; 0: when no label is wrong.
    seed : int

    Examples
    --------
    >>> PassiveAggressive(variant="squared", c=0.1).averaging
    True
    """

    variant: Variant = "linear"
    c: float = 1.0
    error_sensitive: bool = True
    averaging: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.variant not in get_args(Variant):
            raise ValueError(f"variant is {self.variant!r}, expected one of {', '.join(get_args(Variant))}")
        check_above_zero(c=self.c)

    @property
    def averages(self) -> bool:
        """Whether the weights of the model are the average over all sequences so far."""
        return self.averaging

    def trainer(self, data: PerceptronSequences) -> _native.MistakeTrainer:
        """Return the trainer that makes the passes."""
        most = self.c if self.variant == "linear" else np.inf
        slack = 0.5 / self.c if self.variant == "squared" else 0.0
        return data.trainer(_PASSIVE, self.averaging, self.error_sensitive, most, slack, 1.0)


@dataclass(frozen=True, kw_only=True)
class AROW(MistakeDriven):
    """Adaptive regularisation of weights, with a variance for each (Mejer & Crammer 2010).

    Parameters
    ----------
    variance : float
        Of every weight, before the first sequence.
    gamma : float
        The higher, the shorter the steps and the slower the variances shrink.
    max_passes : int
    epsilon : float
        Stop when the mean cost is at most this; 0: when no label is wrong.
    seed : int

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

    def trainer(self, data: PerceptronSequences) -> _native.MistakeTrainer:
        """Return the trainer that makes the passes."""
        return data.trainer(_CONFIDENCE, False, False, np.inf, 0.0, self.gamma)


class MistakeDrivenRun:
    """Passes over the sequences in random order."""

    def __init__(
        self, method: MistakeDriven, problem: Any, penalty: Penalty, w: Floats, state: dict[str, Any] | None
    ) -> None:
        self.method, self.arrays = method, _sequences_of(problem, penalty, type(method).__name__)
        self.visits = len(self.arrays.filled)
        self.last = begin_at(w if state is None else state["last"], problem.size)  # [F] after a sequence
        self.trainer = method.trainer(self.arrays)
        self.trainer.write(self.last)
        first = method.first_memory
        self.passes = 0 if state is None else int(state["passes"])
        self.memory = None if first is None else np.full(problem.size, first)  # [F]
        if self.memory is not None:
            if state is not None:
                self.memory[:] = state["memory"]
            self.trainer.write_memory(self.memory)
        self.w = self._result()  # [F]

    def step(self) -> Step:
        """Make one pass."""
        order = self.arrays.order(self.method.seed, self.passes + 1)
        loss = self.trainer.run(kernels, order, self.seen)
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
        made, mean, most = self.passes, loss / max(self.visits, 1), self.method.max_passes
        stopped, end = "", None
        if mean <= self.method.epsilon:
            stopped, end = f"the mean loss has reached {mean:g}", End.CONVERGED
            self.passes = (
                max(made, most) if loss == 0.0 else made
            )  # further passes would change only the average
        elif made >= most:
            stopped, end = f"the limit of {most} passes is reached", End.PLANNED
        self.w = self._result()
        return Step(loss, evaluations=float(made), stopped=stopped, end=end)

    @property
    def seen(self) -> int:
        """The number of the sequence to come, from 1 on."""
        return 1 + self.passes * self.visits

    def state(self) -> dict[str, Any]:
        """Return everything that a run needs to go on from here; the seed is an option."""
        memory = None if self.memory is None else self.memory.copy()
        return {"last": self.last.copy(), "memory": memory, "passes": self.passes}

    def _result(self) -> Floats:
        if not self.method.averages or self.memory is None:
            return self.last
        average: Floats = self.last - self.memory / self.seen
        return average


def _sequences_of(problem: Any, penalty: Penalty, who: str) -> PerceptronSequences:
    if np.any(penalty.l1) or np.any(penalty.l2):
        raise ValueError(f"{who} has no penalty, and l1 or l2 is not 0; set both to 0")
    return view_of(problem, PerceptronSequences, who)
