"""The automaton that limits the length of segments in a chain.

Such a limit is not a rule about pairs of labels. It becomes an automaton whose states are (label, length so
far), trimmed and minimised: each allowed label sequence is exactly one path through it, so that sums, counts
and k-best lists over states are those over labels.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Mask: TypeAlias = NDArray[np.bool_]
Ints: TypeAlias = NDArray[np.int64]


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
    for seen, step in ((start.copy(), transition), (stop.copy(), transition.T)):
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
    label = np.repeat(np.arange(len(count)), count)  # [S]
    length = np.concatenate([np.arange(1, n + 1) for n in count])  # [S]
    ended = length >= minimum[label]  # [S]
    unlimited = maximum[label] == 0  # [S]
    longer = np.where(unlimited, np.minimum(length + 1, count[label]), length + 1)  # [S]
    grows = continues[np.ix_(label, label)]  # [S, S]
    step = np.where(grows, longer[:, None] == length, ended[:, None] & (length == 1))  # [S, S]
    step &= transition[np.ix_(label, label)]
    first, last = start[label] & (length == 1), stop[label] & ended  # [S], [S]
    keep = np.flatnonzero(useful(step, first, last))
    return _minimise(Expansion(label[keep], step[np.ix_(keep, keep)], first[keep], last[keep]), len(count))


def _minimise(raw: Expansion, L: int) -> Expansion:
    """Merge states of one label and one future (Moore): the length of an ended segment is lost."""
    S = len(raw.state_label)
    if S == 0:
        return raw
    following = np.full((S, L), -1)  # [S, L] the state that each label leads to
    before, after = np.nonzero(raw.transition)
    following[before, raw.state_label[after]] = after
    merged = np.unique(raw.state_label * 2 + raw.stop, return_inverse=True)[1]  # [S] class of each
    settled = False
    while not settled:
        table = np.column_stack([merged, np.append(merged, -1)[following]])  # [S, 1 + L]
        finer = np.unique(table, axis=0, return_inverse=True)[1].reshape(S)  # [S]
        settled, merged = finer.max() == merged.max(), finer
    classes = merged.max() + 1
    head = np.unique(merged, return_index=True)[1]  # [C] a state of each class
    start = np.zeros(classes, dtype=np.bool_)  # [C]
    start[merged[raw.start]] = True
    transition = np.zeros((classes, classes), dtype=np.bool_)  # [C, C]
    transition[merged[before], merged[after]] = True
    return Expansion(raw.state_label[head], transition, start, raw.stop[head])
