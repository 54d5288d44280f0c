"""MALLET's CRFs as `CRF.print` writes them: states, their transitions, and sets of weights.

A step from state x to state y at a token scores the sum of its weight sets, each a default and a weight for
every feature of the token; a path begins in a state before the first token. With one such state s:

    start[y]         = initial(s) + default(s, y)        node(f, y)    = w(s, y, f)
    transition[x, y] = default(x, y)                     edge(f, x, y) = w(x, y, f) - w(s, y, f)

where the sets depend on the state before (SimpleTagger's order 1), features are edge attributes as well:
`doubled` gives them to data. Steps that do not exist are forbidden. States must be labels: order 1 or 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from crfkit._safe.printable import quoted
from crfkit.arrays import Floats, pointers
from crfkit.data.dataset import Dataset
from crfkit.models.files.assembly import Triples, assemble
from crfkit.models.files.inspect import check_labels
from crfkit.models.model import SequenceModel
from crfkit.structures.constraints import START, STOP, Constraint, Forbid

_STATE = re.compile(r'STATE NAME="(.*)" \(([0-9]{1,9}) outgoing transitions\)')
_NAMED = re.compile(r'\s+WEIGHTS = "(.*)"')
_DEFAULT = ": <DEFAULT_FEATURE> = "
_MOST_STATES = 1000
_MOST_WORK = 100_000_000  # names of steps that do not exist, times states that they are compared with


@dataclass
class _State:
    name: str
    initial: float = 0.0
    final: float = 0.0
    leaving: int = 0  # number of steps that the file claims
    steps: dict[str, list[str]] = field(default_factory=dict)  # to: weight sets

    def __post_init__(self) -> None:
        self.arrow = f"    {self.name} -> "  # before the state that a step leads to


@dataclass
class _Set:
    default: float = 0.0
    features: list[int] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)


_Used = dict[tuple[int, int], list[_Set]]


def read_mallet(data: bytes | memoryview, *, encoding: str = "utf-8") -> SequenceModel:
    """Return the model of a printed CRF; a ValueError says what cannot be read or expressed."""
    try:
        lines = bytes(data).decode(encoding).replace("\r\n", "\n").split("\n")
    except UnicodeDecodeError:
        raise ValueError(f'it is not valid {encoding}: say which, as in encoding="latin-1"') from None
    rows = iter(lines)
    if next(rows).strip() != "*** CRF STATES ***":
        raise ValueError("it does not begin with *** CRF STATES ***")
    states = _states(rows)
    names: dict[str, int] = {}
    sets = _sets(rows, names)
    labels = list(states)
    L, known = len(labels), {name: i for i, name in enumerate(labels)}
    check_labels(L, most=_MOST_STATES)
    default = np.full((L, L), -np.inf)
    used: _Used = {}
    for x, state in enumerate(states.values()):
        if len(state.steps) != state.leaving:
            raise ValueError(f"{quoted(state.name)} has {len(state.steps)} steps, but claims {state.leaving}")
        for to, wanted in state.steps.items():
            if to not in known or not all(name in sets for name in wanted):
                raise ValueError(
                    f"the step from {quoted(state.name)} to {quoted(to)} has no such state or weights"
                )
            used[x, known[to]] = [sets[name] for name in wanted]
            default[x, known[to]] = sum(sets[name].default for name in wanted)
    first = [x for x, state in enumerate(states.values()) if state.initial > -np.inf]
    if not first:
        raise ValueError("no state can come before the first token")
    s = first[0]
    same = {step: _ids(sets) for step, sets in used.items()}
    alike = all(same.get((x, y), []) == same.get((s, y), []) for x in first for y in range(L))
    if not alike or (default[first] != default[s]).any():
        raise ValueError("the states that can come before the first token differ; crfkit has no such start")
    initial = np.array([states[labels[x]].initial for x in first])
    begin = default[s] + np.logaddexp.reduce(initial)
    final = np.array([state.final for state in states.values()])
    node, edge = _features(used, s, L, most=len(data))
    return assemble(
        labels,
        list(names),
        node,
        np.where(np.isfinite(default), default, 0.0),
        edge_attributes=list(names) if edge.row.size else [],
        edge=edge,
        start=np.where(np.isfinite(begin), begin, 0.0),
        stop=np.where(np.isfinite(final), final, 0.0) if final.any() else None,
        constraints=_constraints(labels, default, begin, final),
    )


def _number(text: str) -> float:
    value = float(text.replace("Infinity", "inf"))
    if np.isnan(value) or value == np.inf:
        raise ValueError(f"a weight is {text}")
    return value


def _states(rows: Iterator[str]) -> dict[str, _State]:
    states: dict[str, _State] = {}
    state, to = _State(""), ""
    for row in rows:
        text = row.strip()
        if text == "*** CRF WEIGHTS ***":
            return states
        if matched := _STATE.fullmatch(row):
            state = states.setdefault(matched[1], _State(matched[1]))
            state.leaving = int(matched[2])
        elif matched := _NAMED.fullmatch(row):
            if to not in state.steps:
                raise ValueError(f"weights stand before the step that they belong to: {quoted(row)}")
            state.steps[to].append(matched[1])
        elif text.startswith("initialWeight = "):
            state.initial = _number(text.removeprefix("initialWeight = "))
        elif text.startswith("finalWeight = "):
            state.final = _number(text.removeprefix("finalWeight = "))
        elif text and row.startswith(state.arrow):
            to = row.removeprefix(state.arrow)
            state.steps[to] = []
        elif text not in ("", "transitions:"):
            raise ValueError(f"the line {quoted(row)} does not belong to a state")
    raise ValueError("there is no *** CRF WEIGHTS *** line: the file is cut off, or the model untrained")


def _sets(rows: Iterator[str], names: dict[str, int]) -> dict[str, _Set]:
    """Return the weight sets; features get ids in order of appearance."""
    sets: dict[str, _Set] = {}
    current = _Set()
    for row in rows:
        if row.startswith("WEIGHTS NAME = "):
            current = sets[row.removeprefix("WEIGHTS NAME = ")] = _Set()
        elif row.startswith(_DEFAULT):
            current.default = _number(row.removeprefix(_DEFAULT))
        elif row.startswith(": "):
            name, sign, value = row[2:].rpartition(" = ")
            if not sign:
                raise ValueError(f"the line {quoted(row)} is not a feature and weight")
            current.features.append(names.setdefault(name, len(names)))
            current.weights.append(_number(value))
        elif row.strip():
            raise ValueError(f"the line {quoted(row)} does not belong to a weight set")
    return sets


def _features(used: _Used, first: int, L: int, most: int) -> tuple[Triples, Triples]:
    """Return weights of (feature, label) and, where they differ by the state before, (feature, step).

    Sets may be shared by many steps, each of which gets all their weights: `most` of them in all.
    """
    node, edge = _Collected(most), _Collected(most)
    same = {step: _ids(sets) for step, sets in used.items()}
    for (x, y), sets in used.items():
        if x == first:
            node.add(sets, y, 1.0)
        if same[x, y] != same.get((first, y), []):
            edge.add(sets, x * L + y, 1.0)
            edge.add(used.get((first, y), []), x * L + y, -1.0)
    return node.triples(), edge.triples()


def _ids(sets: list[_Set]) -> list[int]:
    """Identify the sets of a step that have features."""
    return [id(one) for one in sets if one.features]


class _Collected:
    """Weights of features by column."""

    def __init__(self, most: int) -> None:
        self.left = most
        self.parts: list[tuple[_Set, int, float]] = []

    def add(self, sets: list[_Set], column: int, sign: float) -> None:
        for one in sets:
            self.left -= 1 + len(one.features)
            if self.left < 0:
                raise ValueError("its weight sets are shared by too many steps for the size of the file")
            self.parts.append((one, column, sign))

    def triples(self) -> Triples:
        return Triples(
            np.concatenate([[], *(one.features for one, _, _ in self.parts)]).astype(np.int64),
            np.repeat(
                np.array([column for _, column, _ in self.parts], dtype=np.int64),
                [len(one.features) for one, _, _ in self.parts],
            ),
            np.concatenate([[], *(sign * np.asarray(one.weights) for one, _, sign in self.parts)]),
        )


def _constraints(labels: list[str], default: Floats, begin: Floats, final: Floats) -> list[Constraint]:
    """Forbid the steps that do not exist, and ends that cannot be."""
    rules: list[Constraint] = []
    forbidden = int((default == -np.inf).sum())
    if forbidden and len(labels) * max(forbidden, sum(map(len, labels))) > _MOST_WORK:
        raise ValueError(f"it lacks {forbidden:,} steps between {len(labels):,} states, which are too many")
    for x, label in enumerate(labels):
        missing = [labels[y] for y in np.flatnonzero(default[x] == -np.inf)]
        if missing:
            rules.append(Forbid(label, re.compile("|".join(map(re.escape, missing)))))
        if begin[x] == -np.inf:
            rules.append(Forbid(START, label))
        if final[x] == -np.inf:
            rules.append(Forbid(label, STOP))
    return rules


def doubled(data: Dataset) -> Dataset:
    """Return data whose attributes are edge attributes as well, from the second position of a sequence on.

    Examples
    --------
    >>> from crfkit.features import ItemExtractor
    >>> data = doubled(ItemExtractor()([[["a"], ["b", "c"]]]))
    >>> data.batch.edge_attr.tolist(), data.batch.edge_ptr.tolist()
    ([1, 2], [0, 0, 2])
    """
    batch = data.batch
    first = np.zeros(batch.positions, dtype=np.bool_)
    first[batch.seq_ptr[:-1][batch.seq_ptr[1:] > batch.seq_ptr[:-1]]] = True
    counts = np.diff(batch.attr_ptr)
    kept = ~np.repeat(first, counts)
    ptr = pointers(np.where(first, 0, counts))
    value = None if batch.value is None else batch.value[kept]
    edged = replace(batch, edge_ptr=ptr, edge_attr=batch.attr[kept], edge_value=value)
    return replace(data, batch=edged, edge_attributes=data.attributes)
