"""The automaton that limits the length of segments in a chain.

Such a limit is not a rule about pairs of labels. It becomes an automaton whose states are (label, length so
far), trimmed and minimized: each allowed label sequence is exactly one path through it, so that sums, counts
and k-best lists over states are those over labels.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Mask: TypeAlias = NDArray[np.bool_]
Ints: TypeAlias = NDArray[np.int64]

MOST_STATES = 1 << 14  #: before they are merged; a query holds tables of their squares


@dataclass(frozen=True, eq=False)
class Expansion:
    """A deterministic automaton over labels that knows the length of the current segment."""

    state_label: Ints  # [S] the label that each state emits, ascending
    transition: Mask  # [S, S] allowed from row to column
    start: Mask  # [S]
    stop: Mask  # [S]


def useful(transition: Mask, start: Mask, stop: Mask) -> Mask:
    """Mark the states that lie on a path from a first to a last one, [S]."""
    sides = []
    for seen, step in ((start.copy(), transition), (stop.copy(), np.ascontiguousarray(transition.T))):
        fresh = seen  # [S]
        while fresh.any():
            fresh = step[fresh].any(axis=0) & ~seen
            seen |= fresh
        sides.append(seen)
    return sides[0] & sides[1]


def expand(
    transition: Mask, start: Mask, stop: Mask, continues: Mask, minimum: Ints, maximum: Ints
) -> Expansion:
    """Return the automaton of segments with ``minimum`` to ``maximum`` (0: unlimited) positions, [L] each."""
    count = np.maximum(minimum, maximum)  # [L] longer segments of unlimited types share a state
    if sum(count.tolist()) > MOST_STATES:
        raise ValueError(
            f"the limits on lengths need {sum(count.tolist()):,} states, more than {MOST_STATES:,}; use "
            "smaller limits, or SemiMarkov"
        )
    label = np.repeat(np.arange(len(count)), count)  # [S]
    length = np.concatenate([np.arange(1, n + 1) for n in count])  # [S]
    ended = length >= minimum[label]  # [S]
    unlimited = maximum[label] == 0  # [S]
    longer = np.where(unlimited, np.minimum(length + 1, count[label]), length + 1)  # [S]
    begins = continues.repeat(count, 0).repeat(count, 1)  # [S, S] first: a segment goes on
    step = longer[:, None] == length  # [S, S]
    step &= begins
    np.logical_not(begins, out=begins)
    begins &= ended[:, None]
    begins &= length == 1
    step |= begins
    step &= transition.repeat(count, 0).repeat(count, 1)
    first, last = start[label] & (length == 1), stop[label] & ended  # [S], [S]
    raw = Expansion(label, step, first, last)
    kept = useful(step, first, last)
    return _merged(raw, _classes(raw, kept, longer, ended, transition, continues))


def _classes(
    raw: Expansion, kept: Mask, longer: Ints, ended: Mask, transition: Mask, continues: Mask
) -> Ints:
    """Return a number for each state, the same for states of one label and one future (Moore), [S].

    A state is followed by the next longer state of the labels that go on with its segment, one or two, and,
    where its segment has ended, by what its label lets begin. So few keys tell the states of a label apart,
    here in the order of the labels that they lead to. -1: the state is not kept.
    """
    S, L, label = len(raw.state_label), len(transition), raw.state_label
    offset = np.searchsorted(label, np.arange(L + 1))  # [L + 1] of the first state of each label
    going = [np.flatnonzero(row).tolist() for row in continues]
    most = max(map(len, going))
    borders = np.array([[-1, *labels, *[L] * (1 + most - len(labels))] for labels in going])  # [L, K + 2]
    begins = transition & ~continues & kept[offset[:-1]]  # [L, L]
    keys, following = [], []
    for low, high in pairwise(borders.T):
        inside = (np.arange(L) > low[:, None]) & (np.arange(L) < high[:, None])  # [L, L]
        keys.append(ended & (begins & inside).any(axis=1)[label])  # [S]
        last = np.minimum(high, L - 1)[label]  # [S]
        at = offset[last] + longer - 1
        there = (high[label] < L) & (at < offset[last + 1]) & transition[label, last]
        following.append(np.where(there & kept[np.minimum(at, S - 1)], at, S))  # [S]
        keys.append(following[-1])
    number = np.append(np.where(kept, 0, -1), -1)  # [S + 1] how many states lower classes have
    left = _split(number, np.flatnonzero(kept), [label * 2 + raw.stop])
    left = _split(number, left, [key if key.dtype == np.bool_ else number[key] for key in keys])
    split = True
    while split:
        before = number.copy()
        left = _split(number, left, [number[state] for state in following])
        split = bool((number != before).any())
    return number[:S]


def _split(number: Ints, states: Ints, keys: list[NDArray[Any]]) -> Ints:
    """Split classes by what tells their states apart, in its order; return states that are not alone."""
    if not len(states):
        return states
    told = [number[states], *(key[states] for key in keys)]
    order = np.lexsort(told[::-1])
    states = states[order]
    changes = [np.append(True, key[order][1:] != key[order][:-1]) for key in told]
    old, new = changes[0], np.logical_or.reduce(changes)  # where a class begins
    places = np.arange(len(states))
    number[states] += np.maximum.accumulate(places * new) - np.maximum.accumulate(places * old)
    left: Ints = states[~(new & np.append(new[1:], True))]
    return left


def _merged(raw: Expansion, number: Ints) -> Expansion:
    """Return the automaton with a state for each class, in their order."""
    head = np.unique(number, return_index=True)[1]  # a state of each class
    head = head[number[head] >= 0]  # [C]
    states = np.argsort(number, kind="stable")[np.count_nonzero(number < 0) :]  # class by class
    begins = np.searchsorted(number[states], number[head])  # [C]
    start: Mask = np.logical_or.reduceat(raw.start[states], begins) if len(head) else raw.start[head]
    rows = raw.transition[np.ix_(head, states)]
    transition: Mask = np.logical_or.reduceat(rows, begins, axis=1) if len(head) else rows
    return Expansion(raw.state_label[head], transition, start, raw.stop[head])
