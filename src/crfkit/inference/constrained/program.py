"""The best labeling under constraints as a linear program over the trellis, solved by HiGHS.

Gupta (2005) section 4.3.2, after Roth & Yih (2005): a variable for each arc, flow into a node equals flow out
of it, and the rows of the constraints. Without constraints the relaxation has integral optima; with them it
often has. Where it has not, the same program is solved in integers.

Arcs cost what the best path through them loses against the best of all, so that the program sees small
numbers. Only arcs that lose at most `reach` enter it: whatever it finds within `reach` is the best of all, as
every better labeling has only such arcs. Otherwise it is solved again with a wider reach.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crfkit.arrays import Bools, Floats
from crfkit.inference.constrained.rules import Rule
from crfkit.inference.constrained.trellis import Trellis
from crfkit.inference.highs import WHOLE, Program

Way = Literal["LP", "ILP"]
Counts = NDArray[np.int64]


def solve(trellis: Trellis, rules: Sequence[Rule], reach: float) -> tuple[Bools, Way] | None:
    """Return the arcs of the best path that keeps all rules, [A], and how it was found; None without one.

    Parameters
    ----------
    trellis : Trellis
    rules : list of Rule
    reach : float
        How much the answer is expected to lose against the best path; only speed depends on it.
    """
    best = float(trellis.after[0])
    if best == -np.inf:
        return None
    loss = np.maximum(best - trellis.through, 0.0)  # [A]
    widest = float(loss[np.isfinite(loss)].max(initial=0.0))
    slack = 1e-9 * (1.0 + abs(best))
    while True:
        inside = loss <= reach + slack
        answer = _solved(trellis.kept(inside), trellis.after, rules)
        if answer is None:
            if not reach < widest:  # nor if it is nan
                return None
            reach = max(4.0 * reach, 1e-3 * widest)
            continue
        chosen = np.zeros(len(loss), np.bool_)
        chosen[np.flatnonzero(inside)[answer[0]]] = True
        lost = best - float(trellis.score[chosen].sum())
        if lost <= reach + slack or not reach < widest:
            return chosen, answer[1]
        reach = lost


def _solved(arcs: Trellis, after: Floats, rules: Sequence[Rule]) -> tuple[Counts, Way] | None:
    A = len(arcs.score)
    program = Program(A)
    _, at = np.unique(np.concatenate([[0], arcs.tail, arcs.head]), return_inverse=True)
    tail, head = at[1 : A + 1], at[A + 1 :]  # the beginning stays node 0
    inner = np.flatnonzero(arcs.end < arcs.T)
    R = int(at.max()) + 1
    flow = np.zeros(R)
    flow[0] = 1.0
    program.add(  # out minus in is 1 at the beginning and 0 elsewhere; nodes at the end have no entries
        np.concatenate([tail, head[inner]]),
        np.concatenate([np.arange(A), inner]),
        np.repeat([1.0, -1.0], [A, len(inner)]),
        flow,
        flow,
    )
    steps = arcs.steps
    for rule in rules:
        rule.enter(steps, program)
    cost = np.zeros(program.columns)
    # What an arc loses against the best way on from its tail; a path loses the sum.
    cost[:A] = np.maximum(after[arcs.tail] - arcs.score - after[arcs.head], 0.0)
    whole = np.zeros(program.columns)
    whole[:A] = 1
    way: Way = "LP"
    for integrality in (np.zeros_like(whole), whole):
        found = program.solve(cost, integrality)
        if found.status == 2:  # infeasible
            return None
        if found.x is None:
            raise RuntimeError(f"HiGHS did not solve the program of {A:,} arcs: {found.message}")
        z = found.x[:A]
        if np.abs(z - np.round(z)).max(initial=0.0) < WHOLE:
            return np.flatnonzero(z > 0.5), way
        way = "ILP"
    raise RuntimeError(f"HiGHS returned fractions of {A:,} arcs as an integral solution")
