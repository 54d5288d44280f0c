"""Probabilities of many segments of chains at once, from one sweep.

p(y | x) of a chain of order 1 is a Markov chain itself: p(y_t | y_{t-1}, x) is the marginal of the step over
that of the label before it. The mass of the labelings that have a segment is a walk of this chain from one
position before the segment to one position after it, which takes only the steps that spell the segment. It
costs L^2 for each position of a segment, where clamping (`span_probability`) sweeps the whole sequence again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crfkit import _native
from crfkit.arrays import Bools, Floats, Pointers
from crfkit.inference.results import demand_labeling
from crfkit.native import kernels, threads_or_all
from crfkit.structures.chains.potentials import ChainPotentials


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
    return _native.span_shares(
        node,
        edge,
        potentials.seq_ptr,
        np.asarray(first, dtype=np.int64),
        np.asarray(end, dtype=np.int64),
        *(np.ascontiguousarray(one) for one in (among, steps.enter, steps.stay, steps.leave)),
    )
