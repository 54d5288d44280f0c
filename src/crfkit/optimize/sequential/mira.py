"""MIRA: the smallest change of the weights that sets the gold labels apart from wrong ones by their number.

With y_1 .. y_k the best labelings of a sequence, m_j wrong labels in y_j, and d_j = features of the gold -
features of y_j, the weights move to the nearest w' with d_j.w' >= m_j for all j: w' = w + sum_j a_j d_j,
0 <= a_j <= c, by Hildreth's procedure (Crammer & Singer 2003; McDonald, Crammer & Pereira 2005). The loss of
a sequence is the largest m_j - d_j.w, where that is above 0. With k = 1 this is `PassiveAggressive` with a
margin of m instead of its root, and a sequence whose best labels are right teaches nothing; with more, second
bests that are too near teach too.

`CrfppMIRA` is what CRF++ calls MIRA (`crf_learn -a MIRA`): the best labeling only, sequences in their order,
w += a d with a = (m - s) / d.d, s = -d.w >= 0. The sum of the steps of one sequence is at most c; a sequence
whose labels were right `shrinking` times in a row is not visited again. It differs from MIRA, whose step is
(m + s) / d.d: here a labeling that is far ahead of the gold moves the weights less, and not at all where s
is above m. There is no average.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from crfkit._safe.fields import Fields
from crfkit.arrays import Floats
from crfkit.native import kernels
from crfkit.optimize.options import check_above_zero, check_counts
from crfkit.optimize.problem import End, Penalty, State
from crfkit.optimize.sequential.perceptron import Averaging, MistakeDrivenRun, MistakeRule
from crfkit.optimize.sequential.rules import BOUNDED, PASSIVE, Rule


@dataclass(frozen=True, kw_only=True)
class MIRA(Averaging):
    """The margin-infused relaxed algorithm, on the k best labelings.

    Parameters
    ----------
    k : int
        How many of the best labelings the gold is set apart from.
    c : float
        The longest step for each of them.
    epsilon : float
        Stop when the mean loss is at most this; 0: when all margins are kept.

    Examples
    --------
    >>> MIRA(k=5).c
    1.0
    """

    k: int = 1
    c: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_counts(k=self.k)
        check_above_zero(c=self.c)

    @property
    def rule(self) -> Rule:
        """How weights change after a mistake."""
        return Rule(PASSIVE, self.averaging, kbest=self.k, most=self.c)


@dataclass(frozen=True, kw_only=True)
class CrfppMIRA(MistakeRule):
    """The MIRA of CRF++, which ends after two passes in which no sequence could move the weights.

    Parameters
    ----------
    c : float
        The sum of the steps that one sequence can make (crf_learn -c).
    shrinking : int
        A sequence is left out once its labels were right this many times in a row (crf_learn -H).

    Examples
    --------
    >>> CrfppMIRA(c=0.5).shrinking
    20
    """

    max_passes: int = 100_000
    c: float = 1.0
    shrinking: int = 20

    def __post_init__(self) -> None:
        super().__post_init__()
        check_counts(shrinking=self.shrinking)
        check_above_zero(c=self.c)

    @property
    def rule(self) -> Rule:
        """How weights change after a mistake."""
        return Rule(BOUNDED, most=self.c)

    def start(self, problem: Any, penalty: Penalty, w: Floats, *, state: State = None) -> CrfppRun:
        """Begin at w [F], or go on from a state."""
        return CrfppRun(self, problem, penalty, w, state)


class CrfppRun(MistakeDrivenRun):
    """Passes over the sequences that are still worth a visit, in their order."""

    def __init__(self, method: CrfppMIRA, problem: Any, penalty: Penalty, w: Floats, state: State) -> None:
        super().__init__(method, problem, penalty, w, state)
        self.shrinking, self.still = method.shrinking, 0  # passes in a row that moved nothing
        N = int(self.arrays.filled.max(initial=-1)) + 1
        self.spent, self.right = np.zeros(N), np.zeros(N)
        if state is not None:
            kept = Fields.of(state)
            self.spent, self.right = (kept.floats(name, N, least=0.0) for name in ("spent", "right"))
            self.still = kept.count("still")

    def state(self) -> dict[str, Any]:
        """Return everything that a run needs to go on from here."""
        kept = {"spent": self.spent.copy(), "right": self.right.copy(), "still": self.still}
        return {**super().state(), **kept}

    def _pass(self) -> float:
        """Visit the sequences that were not right often enough; return what they lack, as far as they can."""
        filled = self.arrays.filled
        order = filled[self.right[filled] < self.shrinking]
        return self.trainer.run(kernels, order, self.seen, self.spent, self.right)

    def _ended(self, loss: float) -> tuple[str, End | None]:
        """Return why the passes end after one with this loss; empty where they go on."""
        self.still = self.still + 1 if loss == 0.0 else 0
        return ("two passes moved no weight", End.CONVERGED) if self.still == 2 else ("", None)
