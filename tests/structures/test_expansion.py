"""The automaton of limits on lengths: merged as Moore merges, at a cost that grows as its tables do."""

from __future__ import annotations

import random
from contextlib import suppress

import numpy as np
import pytest

from crfkit.structures import constraints
from crfkit.structures.chains import expansion
from crfkit.structures.chains.expansion import Expansion, Ints, Mask, useful
from crfkit.structures.constraints import (
    START,
    STOP,
    Constraint,
    Forbid,
    Require,
    Scheme,
    SegmentLength,
    resolve,
)
from tests.cases.growth import check_growth, seconds_of


def plain_expand(
    transition: Mask, start: Mask, stop: Mask, continues: Mask, minimum: Ints, maximum: Ints
) -> Expansion:
    """Return the same automaton by the book: all labels that follow a state tell it apart."""
    L, count = len(start), np.maximum(minimum, maximum)
    states = [(y, n) for y in range(L) for n in range(1, count[y] + 1)]
    S = len(states)
    step = np.zeros((S, S), dtype=np.bool_)
    for i, (y, n) in enumerate(states):
        longer = min(n + 1, count[y]) if maximum[y] == 0 else n + 1
        for j, (z, m) in enumerate(states):
            follows = m == longer if continues[y, z] else n >= minimum[y] and m == 1
            step[i, j] = transition[y, z] and follows
    first = np.array([start[y] and n == 1 for y, n in states])
    last = np.array([stop[y] and n >= minimum[y] for y, n in states])
    keep = np.flatnonzero(useful(step, first, last)).tolist()
    merged = {s: (states[s][0], bool(last[s])) for s in keep}
    numbers = {key: i for i, key in enumerate(sorted(set(merged.values())))}
    number = {s: numbers[merged[s]] for s in keep}
    for _ in keep:
        rows = {}
        for s in keep:
            leads = {states[t][0]: number[t] for t in keep if step[s, t]}
            rows[s] = (number[s], *(leads.get(z, -1) for z in range(L)))
        order = {row: i for i, row in enumerate(sorted(set(rows.values())))}
        number = {s: order[rows[s]] for s in keep}
    classes = [[s for s in keep if number[s] == c] for c in range(len(set(number.values())))]
    made = np.array([[any(step[a[0], t] for t in b) for b in classes] for a in classes], dtype=np.bool_)
    return Expansion(
        np.array([states[c[0]][0] for c in classes], dtype=np.int64),
        made.reshape(len(classes), len(classes)),
        np.array([any(first[s] for s in c) for c in classes], dtype=np.bool_),
        np.array([last[c[0]] for c in classes], dtype=np.bool_),
    )


def chosen(chance: random.Random) -> tuple[list[Constraint], list[str]]:
    scheme = chance.choice([None, "BIO", "IOB1", "BIOES"])
    types = ["PER", "LOC"][: chance.randint(1, 2)]
    if scheme is None:
        labels = ["a", "b", "c"][: chance.randint(1, 3)]
    else:
        parts = "BIES" if scheme == "BIOES" else "BI"
        labels = ["O", *(f"{part}-{kind}" for kind in types for part in parts if chance.random() < 0.9)]
    chance.shuffle(labels)
    rules: list[Constraint] = [] if scheme is None else [Scheme(scheme)]
    for _ in range(chance.randint(0, 2)):
        before, after = chance.choice(labels), chance.choice(labels)
        some: list[Constraint] = [Forbid(before, after), Require(before, after), Forbid(before, STOP)]
        rules.append(chance.choice([*some, Forbid(START, after)]))
    for _ in range(chance.randint(1, 2)):
        least = chance.randint(1, 3)
        kind = chance.choice([None, *(labels if scheme is None else types)])
        rules.append(SegmentLength(kind, least, chance.choice([None, least + chance.randint(0, 3)])))
    return rules, labels


def test_states_are_merged_and_ordered_as_moore_does(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[Expansion, Expansion]] = []

    def both(
        transition: Mask, start: Mask, stop: Mask, continues: Mask, least: Ints, most: Ints
    ) -> Expansion:
        parts = (transition, start, stop, continues, least, most)
        made.append((expansion.expand(*parts), plain_expand(*parts)))
        return made[-1][0]

    monkeypatch.setattr(constraints, "expand", both)
    chance = random.Random(1)
    for _ in range(150):
        rules, labels = chosen(chance)
        with suppress(ValueError):  # no labeling is left, or a type has no label
            resolve(rules, labels)
    assert sum(len(found.state_label) > 1 for found, _ in made) > 50
    for found, expected in made:
        for name in ("state_label", "transition", "start", "stop"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def names(n: int) -> list[str]:
    return [str(i) for i in range(n)]


def test_lengths_and_labels_cost_what_their_tables_do() -> None:
    """Twice the labels and lengths are four times the cells; Moore by the book was above seven."""
    check_growth(lambda n: n, lambda n: resolve([SegmentLength("1", 1, n)], names(2 * n)), 250, most=5.5)


def test_many_labels_and_a_long_segment() -> None:
    """Moore by the book takes minutes."""
    assert seconds_of(lambda: resolve([SegmentLength("1", 1, 1200)], names(2000)), 1) < 10.0


def test_many_rules_take_one_pass_over_the_pairs_of_labels() -> None:
    """A rule costs a look at each label, not at each pair: twice the labels, twice the time."""
    rules = [Forbid(str(i), str(i + 1)) for i in range(200)]
    check_growth(names, lambda labels: resolve(rules, labels), 1000, most=3.2)


@pytest.mark.parametrize("maximum", [1 << 14, 10**9, 1 << 62])
def test_too_many_states_are_refused(maximum: int) -> None:
    with pytest.raises(ValueError, match=r"need .* states, more than 16,384; use smaller limits"):
        resolve([SegmentLength(None, 1, maximum)], ["a", "b"])
