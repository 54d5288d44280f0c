"""Probabilities of many segments of chains at once, from one sweep.

p(y | x) of a chain of order 1 is a Markov chain itself: p(y_t | y_{t-1}, x) is the marginal of the step over
that of the label before it. The mass of the labelings that have a segment is a walk of this chain from one
position before the segment to one position after it, which takes only the steps that spell the segment. It
costs L^2 for each position of a segment, where clamping (`span_probability`) sweeps the whole sequence again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crfkit.arrays import Bools, Floats, Pointers
from crfkit.inference.results import demand_labeling
from crfkit.native import kernels, threads_or_all
from crfkit.structures.chains.potentials import ChainPotentials

__all__ = ["Steps", "segment_probability"]


@dataclass(frozen=True, eq=False)
class Steps:
    """Which steps from label to label spell a segment; the last row and column are the ends of a sequence."""

    enter: Bools  #: [L + 1, L] one begins
    stay: Bools  #: [L, L] one goes on
    leave: Bools  #: [L, L + 1] one ends

    def of_states(self, label: Pointers) -> Steps:
        """Return the same of states, each of which has a label: [S]."""
        L = self.stay.shape[0]
        ended = np.append(label, L)
        return Steps(
            self.enter[np.ix_(ended, label)],
            self.stay[np.ix_(label, label)],
            self.leave[np.ix_(label, ended)],
        )


def segment_probability(
    potentials: ChainPotentials,
    first: Pointers,
    end: Pointers,
    among: Bools,
    steps: Steps,
    *,
    threads: int | None = None,
) -> Floats:
    """Return the probability of each of K segments: [K].

    Parameters
    ----------
    potentials : ChainPotentials
        A chain of order 0 or 1.
    first, end : arrays [K]
        First positions of the segments, and one past their last, counted over the batch.
    among : array [K, L]
        Labels that the first position may have.
    steps : Steps
    threads : int, optional
        Default: all cores.

    Examples
    --------
    >>> from crfkit import Chain
    >>> B, I, O = np.eye(3, dtype=bool)  # labels B, I, O
    >>> steps = Steps(np.tile(B, (4, 1)), np.outer(B | I, I), np.outer(B | I, np.append(~I, True)))
    >>> scores = Chain(3).potentials(np.zeros((3, 3)))
    >>> segment_probability(scores, np.array([0]), np.array([2]), B[None], steps).round(4).tolist()  # 2 / 27
    [0.0741]
    """
    raw = kernels.marginals(potentials.problem, True, False, threads_or_all(threads), None)
    demand_labeling(raw["value"])
    node: Floats = raw["node"]  # [P, S]
    edge: Floats = raw["edge"] if "edge" in raw else raw["tables"][0]  # [P, S, S]
    if potentials.expansion is not None:
        state = potentials.expansion.state_label
        steps, among = steps.of_states(state), among[:, state]
    begins, ends = (np.zeros(len(node) + 1, dtype=np.bool_) for _ in range(2))
    begins[potentials.seq_ptr[:-1]], ends[potentials.seq_ptr[1:]] = True, True

    alone = begins[first]  # [K] the segment begins its sequence
    mass = np.where(steps.enter[-1], node[first], 0.0)  # [K, S] at the first position, as if all were alone
    mass[~alone] = np.einsum("kij,ij->kj", edge[first[~alone]], steps.enter[:-1].astype(np.float64))
    mass *= among
    for offset in range(1, int((end - first).max(initial=0))):
        on = np.flatnonzero(first + offset < end)
        mass[on] = _moved(mass[on], node, edge, first[on] + offset, steps.stay)
    last = ends[end]
    found: Floats = (mass * steps.leave[:, -1]).sum(axis=1)  # [K]
    inner = ~last
    found[inner] = _moved(mass[inner], node, edge, end[inner], steps.leave[:, :-1]).sum(axis=1)
    return np.minimum(found, 1.0)


def _moved(mass: Floats, node: Floats, edge: Floats, at: Pointers, allowed: Bools) -> Floats:
    """Return mass [K, S] after the allowed steps into the positions `at` [K]."""
    before = node[at - 1]
    share = np.divide(mass, before, out=np.zeros_like(mass), where=before > 0.0)
    moved: Floats = np.matmul(share[:, None, :], edge[at] * allowed)[:, 0, :]
    return moved
