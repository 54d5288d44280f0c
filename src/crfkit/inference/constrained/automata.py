"""The best labeling under rules that small automata keep: states are pairs of a label and a memory.

A rule that a free answer does not break needs no memory. So only the broken ones become an automaton, the
sweep runs over (label, memory), and where its answer breaks another rule, that one is added. The score of
each answer bounds those of all labelings that keep the rules: the first which keeps them all is the best.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from crfkit.arrays import Floats
from crfkit.inference.constrained.rules import Machine
from crfkit.native import kernels, threads_or_all
from crfkit.structures.chains.potentials import ChainPotentials, States
from crfkit.structures.gold import Path
from crfkit.structures.segments.potentials import SemiMarkovPotentials

Ordered: TypeAlias = ChainPotentials | SemiMarkovPotentials
_MOST_CELLS = 1 << 24  # of scores of steps, which take 128 MB: 4096 states, where all steps share them


def joined(machines: Sequence[Machine]) -> Machine:
    """Return the automaton that keeps what all of them keep, of one or more.

    Examples
    --------
    >>> once = Machine(np.array([[[1]] * 2, [[-1]] * 2]), np.ones(2, bool))  # of one label: one step at most
    >>> joined([once, once]).next[:, 0, 0].tolist()
    [3, -1, -1, -1]
    """
    whole = machines[0]
    for one in machines[1:]:
        first, second = whole.next[:, None], one.next[None]  # [M, 1, ...], [1, K, ...]
        both = np.where((first < 0) | (second < 0), -1, first * len(one.accept) + second)
        whole = Machine(both.reshape(-1, *both.shape[2:]), (whole.accept[:, None] & one.accept).reshape(-1))
    return whole


def fits(potentials: Ordered, memories: int) -> bool:
    """Return whether scores with that many memories are small enough to be made."""
    if potentials.structure.order > 1:
        return False  # the states of their sweep are label n-grams
    positions = int(potentials.seq_ptr[-1]) if potentials.steps_by_position else 1
    return (potentials.structure.states() * memories) ** 2 * positions <= _MOST_CELLS


def remembered(potentials: Ordered, machine: Machine, threads: int | None) -> tuple[Floats, Path]:
    """Return the best labelings that an automaton accepts, and their scores, -inf where there is none."""
    M = len(machine.accept)
    label, node, tables, start, stop = potentials.states
    edge, L = tables[0], len(potentials.structure.labels)
    S = len(label)
    after = machine.next[:, label][:, :, label].transpose(1, 0, 2)  # [S, M, S]
    allowed = after[..., None] == np.arange(M)  # [S, M, S, M]
    wide = np.where(allowed, edge[..., :, None, :, None], -np.inf)
    steps = np.ascontiguousarray(wide.reshape(*edge.shape[:-2], S * M, S * M))
    first = machine.next[0, L, label][:, None] == np.arange(M)  # [S, M]
    begin = np.where(first, 0.0 if start is None else start[:, None], -np.inf).ravel()
    end = np.where(machine.accept, 0.0 if stop is None else stop[:, None], -np.inf)
    end = np.ascontiguousarray(np.broadcast_to(end, (S, M))).ravel()
    wide_states = States(np.repeat(label, M), np.repeat(node, M, axis=-1), [steps], begin, end)
    problem = potentials.problem_of(wide_states)
    values, paths, begins = kernels.best(problem, threads_or_all(threads))
    if not machine.accept[0]:
        values[np.diff(potentials.seq_ptr) == 0] = -np.inf  # the kernels give nothing the score 0
    found = np.where(paths[0] < 0, 0, paths[0]) // M  # without a path there is no labeling to look at
    segments = None if begins is None else begins[0].astype(np.bool_)
    return values, Path(potentials.seq_ptr, label[found].astype(np.int32), segments)
