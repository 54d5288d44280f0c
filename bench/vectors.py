"""Vector work of one L-BFGS iteration: native passes over memory against the two-loop recursion in NumPy.

    python -m bench.vectors [--quick]

Both do what an iteration does beside the evaluation of the loss: direction, trial weights, L2 penalty and
its gradient, norms and slope, the new pair. F is that of CoNLL-2000 with observed and with all pairs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from bench.measure import interleaved, plain, write
from crfkit.arrays import Floats
from crfkit.native import kernels, threads_or_all
from crfkit.optimize.batch.vectors import Pairs, Vectors

MEMORY = 6


class Native:
    """Buffers change places as in a run."""

    def __init__(self, F: int, threads: int) -> None:
        rng = np.random.default_rng(0)
        self.vectors, self.l2 = Vectors(F, threads), np.array([2.0])
        self.pairs = Pairs(MEMORY, self.vectors)
        self.w, self.trial, self.d, self.gradient, self.spare = (rng.normal(size=F) for _ in range(5))
        for _ in range(MEMORY):
            s = rng.normal(size=F)
            self.pairs.add(s, 1.0, s + 0.1 * rng.normal(size=F), self.gradient)

    def iteration(self) -> None:
        vectors, pairs = self.vectors, self.pairs
        pairs.downhill(self.gradient, 1.0, self.d)
        vectors.combine([1.0, 1e-9], [self.w, self.d], self.trial)
        vectors.add_l2(self.l2, self.trial, self.spare, self.d)
        self.w, self.trial, self.gradient, self.spare = self.trial, self.w, self.spare, self.gradient
        vectors.combine([1.0, -1.0], [self.gradient, self.spare], self.spare)
        vectors.combine([1.0, 1.0], [self.d, self.spare], self.spare)  # curved upwards; counts against us
        pairs.add(self.d, 1.0, self.spare, self.gradient)


class Naive:
    """Nocedal & Wright (2006), algorithm 7.4, as one writes it in NumPy."""

    def __init__(self, F: int) -> None:
        rng = np.random.default_rng(0)
        self.w, self.gradient = rng.normal(size=F), rng.normal(size=F)
        self.evaluated = rng.normal(size=F)
        self.s: list[Floats] = []
        self.y: list[Floats] = []
        for _ in range(MEMORY):
            s = rng.normal(size=F)
            self.s.append(s)
            self.y.append(s + 0.1 * rng.normal(size=F))

    def iteration(self) -> None:
        q, alphas = self.gradient.copy(), []
        for s, y in zip(reversed(self.s), reversed(self.y), strict=True):
            alphas.append((s @ q) / (s @ y))
            q -= alphas[-1] * y
        q *= (self.s[-1] @ self.y[-1]) / (self.y[-1] @ self.y[-1])
        for s, y, alpha in zip(self.s, self.y, reversed(alphas), strict=True):
            q += (alpha - (y @ q) / (s @ y)) * s
        d = -q
        trial = self.w + 1e-9 * d
        gradient = self.evaluated + 2.0 * trial
        _ = trial @ trial, gradient @ gradient, gradient @ d
        self.s, self.y = [*self.s[1:], trial - self.w], [*self.y[1:], gradient - self.gradient]
        self.y[-1] = self.s[-1] + 0.1 * self.y[-1]
        self.w, self.gradient = trial, gradient


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="three repetitions instead of nine")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for F in (456_807, 7_448_606):
        calls: dict[str, Callable[[], object]] = {"NumPy, two loops": Naive(F).iteration}
        for threads in sorted({1, threads_or_all(None)}):
            calls[f"native, {threads} threads"] = Native(F, threads).iteration
        with threadpool_limits(1):  # two threads of BLAS wait for each other when the machine is busy
            timings = interleaved(calls, 3 if options.quick else 9)
        for name, timing in timings.items():
            rows.append(
                {
                    "weights": F,
                    "call": name,
                    "seconds": timing.median,
                    "spread": timing.spread,
                    "timing": plain(timing),
                }
            )
    table = Table(title=f"one iteration of L-BFGS without its evaluation, memory {MEMORY}, {kernels.name}")
    for column in ("weights", "call", "ms", "spread"):
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(
            f"{row['weights']:,}",
            row["call"],
            f"{row['seconds'] * 1e3:.1f}",
            f"{row['spread']:.0%}",
        )
    console = Console()
    console.print(table)
    console.print(f"written to {write('vectors', rows)}")


if __name__ == "__main__":
    main()
