"""Stochastic optimizers: one step for each sequence, in random order.

============ ======================================= ============================ ==========================
optimizer    rate of step t                          penalty                      as in
============ ======================================= ============================ ==========================
`SGD`        1 / (lambda (t0 + t)), lambda = l2 / N  L2, by one global scale      CRFsuite's l2sgd
`SGDL1`      eta0 * alpha^(t / N)                    L1, cumulative and clipped   Wapiti's sgd-l1
`AdaGrad`    eta / (offset + sqrt(sum of squares))   L1 and L2, proximal          Duchi et al. (2011)
============ ======================================= ============================ ==========================

N is the number of sequences that are not empty; each step carries 1 / N of the penalty. The objective of a
step is an estimate, the losses as they were met on the way plus the exact penalty of the weights at the end
of the pass, until the run ends by itself: then it is exact, at the weights that are kept, and costs one more
evaluation. A loss that is not finite ends the run as "diverged", with the weights of the pass before.

Data may lie in blocks on disk, one of them in memory at a time; `passes.py` says in which order they are
visited. What a method remembers of weights is kept from block to block, as if the data were one block.

Formulas: cpp/kernels/learn/sgd.hpp. One thread; the same seed gives the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crfkit.arrays import Floats
from crfkit.optimize.options import check_above_zero, check_counts
from crfkit.optimize.sequential.passes import ByPasses, PassRun, Strengths


@dataclass(frozen=True, kw_only=True)
class SGD(ByPasses):
    """Stochastic gradient for L2: Pegasos without projection (Shalev-Shwartz et al. 2007).

    Parameters
    ----------
    eta : float, optional
        The first rate. None: calibrated, by passes over a sample with rates that rise and fall from
        `calibration_eta` by factors of `calibration_rate`; the one with the lowest objective is taken.
    calibration_eta, calibration_rate, calibration_samples, calibration_candidates, calibration_max_trials
        CRFsuite's ``calibration.*``: first rate, factor, sequences in the sample, how many rates that lower
        the objective are tried in each direction, how many in all.

    Notes
    -----
    Where transitions have an l2 of their own, lambda is that of the attributes. When the run ends by itself
    its weights are those of the best pass, by the estimate of the objective, as in CRFsuite.

    Examples
    --------
    >>> SGD(max_passes=50).eta is None
    True
    """

    eta: float | None = None
    calibration_eta: float = 0.1
    calibration_rate: float = 2.0
    calibration_samples: int = 1000
    calibration_candidates: int = 10
    calibration_max_trials: int = 20

    rule: ClassVar[int] = 0
    keeps_best: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.eta is not None:
            check_above_zero(eta=self.eta)
        check_above_zero(calibration_eta=self.calibration_eta)
        if not self.calibration_rate > 1.0:
            raise ValueError(f"calibration_rate is {self.calibration_rate}, expected more than 1")
        check_counts(
            calibration_samples=self.calibration_samples,
            calibration_candidates=self.calibration_candidates,
            calibration_max_trials=self.calibration_max_trials,
        )

    def check(self, strengths: Strengths) -> None:
        """Raise unless the penalty is L2."""
        l1, l2, small_l1, _ = strengths
        if l1 or small_l1:
            raise ValueError("SGD minimizes L2 penalties and l1 is not 0; use SGDL1, AdaGrad or LBFGS")
        if not l2 > 0.0:
            raise ValueError("l2 is 0, and the rates of SGD are 1 / (l2 / N (t0 + t)); use AdaGrad or LBFGS")

    def origin(self, run: PassRun) -> float:
        """Return t0."""
        lam = float(run.strengths[1])
        eta = self._calibrated(run, lam) if self.eta is None else self.eta
        if eta * lam >= 1.0:
            raise ValueError(f"eta is {eta:g}, expected less than N / l2 = {1.0 / lam:g}")
        return 1.0 / (lam * eta)

    def rates(self, origin: float, steps: Floats, visits: int, lam: float) -> Floats:
        """Return 1 / (lambda (t0 + t))."""
        rates: Floats = 1.0 / (lam * (origin + steps))
        return rates

    def _calibrated(self, run: PassRun, lam: float) -> float:
        """Return the rate with which one pass over a sample reaches the lowest objective there.

        CRFsuite adds up the losses met during the pass; the objective after it, as in Bottou's original, does
        not punish a rate for what a step does to the next sequence.
        """
        sample = run.sequences.sample(self.seed, self.calibration_samples)
        part, after = sum(len(places) for _, places in sample) / run.visits, np.empty_like(run.w)

        def objective() -> float:
            run.trainer.read(after)
            run.evaluations += part
            loss = run.visit(sample, lambda _, count: np.zeros(count), np.zeros(4), run.due)
            return loss + part * run.penalty.value(after)

        def trial(eta: float) -> float:
            if eta * lam >= 1.0:
                return float("nan")
            run.trainer.write(run.w)
            run.evaluations += part

            def rates(first: int, count: int) -> Floats:
                steps = np.arange(first, first + count, dtype=np.float64)
                return self.rates(1.0 / (lam * eta), steps, run.visits, lam)

            loss = run.visit(sample, rates, run.strengths, run.due)
            return objective() if np.isfinite(loss) else loss

        before, best = objective(), float("inf")
        eta = best_eta = self.calibration_eta
        left, falling = self.calibration_candidates, False
        for _ in range(self.calibration_max_trials):
            with np.errstate(all="ignore"):
                reached = trial(eta)
            lower = bool(reached < before)
            left -= lower
            if reached < best:
                best, best_eta = reached, eta
            if falling:
                eta /= self.calibration_rate
            elif lower and left > 0:
                eta *= self.calibration_rate
            else:
                falling, left = True, self.calibration_candidates
                eta = self.calibration_eta / self.calibration_rate
            if falling and left <= 0:
                break
        return best_eta if best < float("inf") else eta


@dataclass(frozen=True, kw_only=True)
class SGDL1(ByPasses):
    """Stochastic gradient for L1 with cumulative penalty (Tsuruoka et al. 2009).

    Parameters
    ----------
    eta0, alpha : float
        Rates: eta0 * alpha^(passes done). The sum of all rates is finite: with a low `alpha` the run ends
        before the optimum is reached.

    Notes
    -----
    Weights are clipped when a sequence touches them, and all of them at the end of a pass. An L2 part is
    refused: it would shrink weights without the sums that clipping keeps.

    Examples
    --------
    >>> SGDL1().rates(0.0, np.array([10.0, 11.0]), 2, 0.0).round(4).tolist()  # N = 2, after 5 passes
    [0.355, 0.3273]
    """

    eta0: float = 0.8
    alpha: float = 0.85
    max_passes: int = 200
    period: int = 5

    rule: ClassVar[int] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_above_zero(eta0=self.eta0)
        if not 0.0 < self.alpha <= 1.0:
            raise ValueError(f"alpha is {self.alpha}, expected more than 0, at most 1")

    def check(self, strengths: Strengths) -> None:
        """Raise where there is an L2 part."""
        if strengths[1] or strengths[3]:
            raise ValueError(
                "SGDL1 minimizes L1 penalties and l2 is not 0; set it to 0, or use AdaGrad or LBFGS"
            )

    def rates(self, origin: float, steps: Floats, visits: int, lam: float) -> Floats:
        """Return eta0 * alpha^(t / N)."""
        rates: Floats = self.eta0 * self.alpha ** (steps / visits)
        return rates


@dataclass(frozen=True, kw_only=True)
class AdaGrad(ByPasses):
    """Adaptive subgradients (Duchi et al. 2011): a rate for each weight, L1 and L2 by proximal steps.

    Parameters
    ----------
    eta : float
        Length of the first step of each weight.
    offset : float
        Added to the root of the sum of squared gradients.

    Notes
    -----
    The composite mirror descent form: w <- soft(w - a g, a l1/N) / (1 + a l2/N), a = eta / (offset +
    sqrt(sum of g^2)). The steps of weights that a sequence does not touch have a closed form
    (cpp/kernels/learn/sgd.hpp), which is applied when they are needed: exact, no approximation. Each step
    takes off little, so that under L1 weights hover near 0 more often than they are 0; for exact zeros use
    SGDL1, BlockCoordinate or LBFGS.

    Examples
    --------
    >>> AdaGrad().eta
    0.1
    """

    eta: float = 0.1
    offset: float = 1e-8

    rule: ClassVar[int] = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        check_above_zero(eta=self.eta, offset=self.offset)

    def check(self, strengths: Strengths) -> None:
        """Accept every penalty."""

    def rates(self, origin: float, steps: Floats, visits: int, lam: float) -> Floats:
        """Return eta, for every step."""
        return np.full(len(steps), self.eta)
