"""Hidden states: a chain over several states of each label, of which the data show only the label.

Morency, Quattoni & Darrell (2007): the states of the labels are disjoint, h is a path of states, and

    p(y | x) = sum over h in H(y_1) x ... x H(y_T) of p(h | x)

so that the gold is a set of states at each position, which the clamped sweep sums over
(`crfkit.structures.gold.Sets`). The states of a label are called label/0, label/1, ... and lie side by side.
A label that has one state is the state.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np

from crfkit._safe.cached import once
from crfkit.arrays import Bools, Floats, Ids
from crfkit.checks import check_number
from crfkit.data.alphabet import Alphabet
from crfkit.data.dataset import Dataset, ExtractorSpec
from crfkit.models.tags import Spelling
from crfkit.structures.constraints import START, STOP, Forbid
from crfkit.structures.gold import Path, allowed_labels

#: The encoding (`ExtractorSpec.encoding`) of data and models whose labels are hidden states.
HIDDEN: Final = "states"


def state_names(labels: Sequence[str], states: int | Mapping[str, int]) -> tuple[str, ...]:
    """Return the names of the states of labels; `states` says how many, of labels not named: 1.

    Examples
    --------
    >>> state_names(["A", "B"], {"A": 2})
    ('A/0', 'A/1', 'B/0')
    """
    numbers = dict(states) if isinstance(states, Mapping) else dict.fromkeys(labels, states)
    unknown = [name for name in numbers if name not in labels]
    if unknown:
        raise ValueError(
            f"states names {unknown[0]!r}, which is not a label of y; the labels are {', '.join(labels[:20])}"
        )
    for name, number in numbers.items():
        check_number(f"states[{name!r}]" if isinstance(states, Mapping) else "states", number, whole=True)
        if number < 1:
            raise ValueError(f"states is {number} for the label {name!r}, expected 1 or more")
    made = [f"{label}/{k}" for label in labels for k in range(numbers.get(label, 1))]
    clash = sorted(set(made) & set(labels))
    if clash:
        raise ValueError(
            f"the label {clash[0]!r} has the name of a state of {clash[0].rpartition('/')[0]!r}; rename it"
        )
    return tuple(made)


@dataclass(frozen=True)
class States(Spelling):
    """The labels of states: `labels` are the names of the states, [S].

    Examples
    --------
    >>> states = States(("A/0", "A/1", "B/0"), None)
    >>> states.group.tolist(), states.tags(Path(np.array([0, 2]), np.array([1, 2]), None))
    ([0, 0, 1], [['A', 'B']])
    >>> states.summed(np.array([[0.3, 0.3, 0.4]])).round(3).tolist()
    [[0.6, 0.4]]
    """

    def __post_init__(self) -> None:
        names = [name.rpartition("/")[0] for name in self.labels]
        if any(re.fullmatch(r".*/\d+", name, re.DOTALL) is None for name in self.labels):
            raise ValueError("the states of a hidden chain are called label/0, label/1, ...")
        if sum(a != b for a, b in pairwise(names)) + 1 != len(set(names)):
            raise ValueError("the states of a label do not lie side by side")

    @once
    def alphabet(self) -> Alphabet:
        """The labels by id, frozen."""
        return Alphabet(name.rpartition("/")[0] for name in self.labels).freeze()

    @once
    def group(self) -> Ids:
        """The label of each state, [S]."""
        return self.alphabet.ids([name.rpartition("/")[0] for name in self.labels])

    def ids(self, path: Path) -> Ids:
        """Return the label of each position, [P]."""
        return self.group[path.label]

    def summed(self, node: Floats) -> Floats:
        """Return the sums [P, L] over the states of each label of an array [P, S]."""
        first = np.flatnonzero(np.diff(self.group, prepend=-1))
        return np.add.reduceat(node, first, axis=1)

    def likely(self, node: Floats) -> Ids:
        """Return, of the label with the highest sum, the state with the highest share: [P]."""
        best = self.summed(node).argmax(axis=1)
        state: Ids = np.where(self.group == best[:, None], node, -1.0).argmax(axis=1).astype(np.int32)
        return state

    def sets(self, data: Dataset) -> Dataset:
        """Return data with states for labels; a name that is a state stays one, others are not known.

        Examples
        --------
        >>> from crfkit.features import ItemExtractor
        >>> from crfkit.data.dataset import labeled
        >>> data = labeled(ItemExtractor()([[["x"], ["y"], ["z"]]]), [["B", "A", None]], Alphabet())
        >>> made = States(("A/0", "A/1", "B/0"), None).sets(data).batch
        >>> made.label.tolist(), made.allowed.tolist()[1:]
        ([2, -1, -1], [[True, True, False], [True, True, True]])
        """
        batch, names = data.batch, data.labels.strings()
        if batch.soft is not None:
            raise ValueError("hidden states take labels or sets of labels, not soft labels")
        if batch.label is None and batch.allowed is None:
            return data
        kind, itself = Alphabet(self.alphabet.strings()).freeze().ids(names), Alphabet(self.labels).freeze()
        rows = (self.group == kind[:, None]) | (np.arange(len(self.labels)) == itself.ids(names)[:, None])
        mask: Bools = allowed_labels(batch, len(names)) @ rows  # [P, S]
        mask[~mask.any(axis=1)] = True
        alone = mask.sum(axis=1) == 1
        label = np.where(alone, mask.argmax(axis=1), -1).astype(np.int32)
        made = replace(batch, label=label, allowed=None if alone.all() else mask)
        made_by = replace(data.extractor or ExtractorSpec(), encoding=HIDDEN)
        return replace(data, batch=made, labels=Alphabet(self.labels), extractor=made_by)


def barred(states: States, step: Bools, start: Bools, stop: Bools) -> list[Forbid]:
    """Return what forbids states where labels are forbidden: steps [L, L], first and last ones [L].

    Examples
    --------
    >>> alone = np.eye(2, dtype=bool), np.ones(2, bool), np.ones(2, bool)
    >>> [rule.after.pattern for rule in barred(States(("A/0", "A/1", "B/0"), None), *alone)]
    ['B/0', 'A/0|A/1']
    """

    def pattern(which: Bools) -> re.Pattern[str]:
        chosen = [name for name, y in zip(states.labels, states.group, strict=True) if which[y]]
        return re.compile("|".join(re.escape(name) for name in chosen))

    def rules() -> Iterator[Forbid]:
        for before, after in enumerate(step):
            if not after.all():
                yield Forbid(pattern(np.arange(len(step)) == before), pattern(~after))
        if not start.all():
            yield Forbid(START, pattern(~start))
        if not stop.all():
            yield Forbid(pattern(~stop), STOP)

    return list(rules())
