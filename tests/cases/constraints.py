"""Label sequences, and whether what constraints resolve to accepts them."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, product

import numpy as np

from crfkit.structures.chains.expansion import Expansion
from crfkit.structures.constraints import Resolved


def sequences(labels: Sequence[str], longest: int) -> Iterator[tuple[str, ...]]:
    for T in range(1, longest + 1):
        yield from product(labels, repeat=T)


def by_tables(found: Resolved, ids: Sequence[int]) -> bool:
    steps = all(found.transition[a, b] for a, b in pairwise(ids))
    return bool(found.start[ids[0]] and found.stop[ids[-1]] and steps)


def count_paths(automaton: Expansion, ids: Sequence[int]) -> int:
    step = automaton.transition.astype(np.int64)  # [S, S]
    paths = automaton.start * (automaton.state_label == ids[0])  # [S]
    for label in ids[1:]:
        paths = (paths @ step) * (automaton.state_label == label)
    return int(paths @ automaton.stop)


def check_expansion(
    found: Resolved, labels: Sequence[str], expected: Callable[[tuple[str, ...]], bool], longest: int
) -> None:
    automaton = found.expansion
    assert automaton is not None
    assert automaton.transition.shape == (len(automaton.state_label),) * 2
    totals = np.zeros(longest + 1, dtype=np.int64)  # [longest + 1] accepted sequences by length
    for sequence in sequences(labels, longest):
        ids = [labels.index(label) for label in sequence]
        wanted = expected(sequence)
        assert count_paths(automaton, ids) == wanted, sequence
        assert found.accepts(ids) == wanted, sequence
        totals[len(ids)] += wanted
    paths = automaton.start.astype(np.int64)  # [S]
    for total in totals[1:]:
        assert paths @ automaton.stop == total
        paths = paths @ automaton.transition.astype(np.int64)
