"""Why a label won: the difference of scores, split into what each weight adds.

The best labeling y is compared, position by position, with the labeling y' that scores highest among those
that have the runner-up there. Both are sums of weights, so their difference is one too:

    score(y) - score(y') = sum_p sum_i value_i * (w[attr_i, y_p] - w[attr_i, y'_p])
                         + sum_p (w[y_{p-1}, y_p] - w[y'_{p-1}, y'_p]) + ...

over attributes, edge attributes, label n-grams, both ends and real-valued columns. Changing one label and
keeping its neighbors would be simpler, but is often forbidden (I after O) and then explains nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from crfkit import inference
from crfkit.arrays import Floats, Ids, Pointers
from crfkit.data.batch import Batch
from crfkit.data.dataset import ALPHABET_OF, Dataset
from crfkit.models.model import Model

__all__ = ["Contribution", "Decision", "Kind", "entry", "explain", "state_weights", "transition_weights"]

#: Kinds of attributes that have a weight for each label.
_ATTRIBUTES = ("node", "begin", "end", "segment")

Kind = Literal[
    "attribute", "edge", "transition", "start", "stop", "dense", "begin", "end", "segment", "length"
]


@dataclass(frozen=True)
class Contribution:
    """What one feature adds to the difference of two scores; above 0 it speaks for the label that won."""

    name: str  #: the attribute; of transitions, the labels that were taken and those that were not
    kind: Kind
    position: int  #: in the sequence, from 0; features of other positions count too
    amount: float


@dataclass(frozen=True)
class Decision:
    """One position, or one segment: what won, against what, and by which features."""

    label: str
    probability: float  #: marginal
    runner_up: str | None  #: the most probable other label; None where no other is possible
    runner_up_probability: float
    alternative: tuple[str, ...]  #: the best labeling of the whole sequence with the runner-up here
    contributions: tuple[Contribution, ...]  #: those that are not 0, the largest first
    positions: int = 1  #: of the segment

    @property
    def difference(self) -> float:
        """How much higher the best labeling scores than the alternative: the sum of the contributions."""
        return math.fsum(one.amount for one in self.contributions)


def explain(model: Model, data: Dataset | Batch, *, threads: int | None = None) -> list[list[Decision]]:
    """Explain for every position of every sequence, or for every segment, why its label won.

    A segment is compared with the best segmentation that does not have it (`crfkit.models.explain_segments`).

    Parameters
    ----------
    model : Model
    data : Dataset or Batch
        As for `Model.predict`; a batch has the ids of the model.
    threads : int, optional
        Default: all cores.

    Returns
    -------
    list of lists of Decision
        One list for each sequence, with one entry for each position or, of segments, for each segment.
        Contributions add up to the difference of the two scores, up to the rounding of sums.

    Examples
    --------
    >>> from crfkit import train
    >>> from crfkit.features import ItemExtractor
    >>> X = [[["the"], ["old"], ["dog"]], [["a"], ["dog"]]]
    >>> model = train(ItemExtractor()(X, [["D", "A", "N"], ["D", "N"]]))
    >>> decision = explain(model, ItemExtractor()([[["the"], ["dog"]]]))[0][1]
    >>> decision.label, decision.runner_up, decision.alternative
    ('N', 'A', ('D', 'A'))
    >>> [(one.name, one.kind) for one in decision.contributions]
    [('dog', 'attribute'), ('D → N, not D → A', 'transition')]
    >>> decision.difference > 0
    True
    """
    if model.segmental:
        from crfkit.models.explain_segments import explain_segments

        return explain_segments(model, data, threads=threads)
    if model.structure.order is None:
        raise ValueError(
            f"the model is {model.structure.describe()}; only chains and segments can be explained"
        )
    if model.structure.local:
        raise ValueError(
            "the model is normalized at each step: its decisions are not sums of weights; explain a CRF"
        )
    batch = model.batch_of(data)
    parts = _Parts(model)
    return [_sequence(parts, batch.select([n]), threads) for n in range(batch.sequences)]


def _sequence(parts: _Parts, one: Batch, threads: int | None) -> list[Decision]:
    if not one.positions:
        return []
    model = parts.model
    potentials = model.potentials(one, threads=threads)
    best: Ids = inference.decode(potentials, threads=threads)[0].labels
    node = inference.marginals(potentials, threads=threads).node  # [T, L]
    possible = inference.reachable(potentials, threads=threads).node  # [T, L]
    names = model.structure.labels
    decisions = []
    for t, y in enumerate(best.tolist()):
        others = np.where(possible[t], node[t], -1.0)  # [L]
        others[y] = -1.0
        r = int(np.argmax(others))
        if others[r] < 0.0:
            decisions.append(Decision(names[y], float(node[t, y]), None, 0.0, (), ()))
            continue
        mask = np.ones(node.shape, dtype=np.bool_)
        mask[t] = np.arange(len(names)) == r
        other: Ids = inference.decode(potentials.clamped(mask), threads=threads)[0].labels
        found = [c for c in parts.differences(one, best.tolist(), other.tolist()) if c.amount != 0.0]
        found.sort(key=lambda c: -abs(c.amount))
        alternative = tuple(names[z] for z in other.tolist())
        decisions.append(
            Decision(names[y], float(node[t, y]), names[r], float(node[t, r]), alternative, tuple(found))
        )
    return decisions


class _Parts:
    """The weights of a model, one by one."""

    def __init__(self, model: Model) -> None:
        layout, w = model.layout, model.w
        self.model = model
        self.tables = layout.transition_tables(w)  # table h has h + 1 axes
        self.start = w[layout.parts["start"]] if layout.start else None  # [L]
        self.stop = w[layout.parts["stop"]] if layout.stop else None  # [L]
        self.dense = w[layout.parts["dense"]].reshape(-1, layout.labels)  # [K, L]

    def _node(self, a: int, y: int) -> float:
        layout = self.model.layout
        return entry(layout.node_ptr, layout.node_label, self.model.w[layout.parts["node"]], a, y)

    def _edge(self, a: int, x: int, y: int) -> float:
        layout = self.model.layout
        cell = x * layout.labels + y
        return entry(layout.edge_ptr, layout.edge_cell, self.model.w[layout.parts["edge"]], a, cell)

    def differences(self, one: Batch, best: list[int], other: list[int]) -> Iterator[Contribution]:
        """Yield what every feature of a sequence adds to score(best) - score(other)."""
        names = self.model.structure.labels
        for p, (y, z) in enumerate(zip(best, other, strict=True)):
            if y != z:
                yield from self._of_position(one, p, y, z)
            for h, table in enumerate(self.tables, start=1):
                run, against = tuple(best[p - h : p + 1]), tuple(other[p - h : p + 1])
                if p >= h and run != against:
                    name = f"{' → '.join(names[i] for i in run)}, not {' → '.join(names[i] for i in against)}"
                    yield Contribution(name, "transition", p, float(table[run]) - float(table[against]))
            if p and best[p - 1 : p + 1] != other[p - 1 : p + 1]:
                yield from self._of_step(one, p, best, other)
        last = len(best) - 1
        for kind, at, ends in (("start", 0, self.start), ("stop", last, self.stop)):
            if ends is not None and best[at] != other[at]:
                name = f"{kind} {names[best[at]]}, not {names[other[at]]}"
                amount = float(ends[best[at]]) - float(ends[other[at]])
                yield Contribution(name, "start" if kind == "start" else "stop", at, amount)

    def _of_position(self, one: Batch, p: int, y: int, z: int) -> Iterator[Contribution]:
        for i in range(int(one.attr_ptr[p]), int(one.attr_ptr[p + 1])):
            a = int(one.attr[i])
            value = 1.0 if one.value is None else float(one.value[i])
            name = self.model.attributes[a] if a < len(self.model.attributes) else f"attribute {a}"
            yield Contribution(name, "attribute", p, value * (self._node(a, y) - self._node(a, z)))
        if one.dense is not None:
            for k, value in enumerate(one.dense[p].tolist()):
                amount = value * float(self.dense[k, y] - self.dense[k, z])
                yield Contribution(f"column {k}", "dense", p, amount)

    def _of_step(self, one: Batch, p: int, best: list[int], other: list[int]) -> Iterator[Contribution]:
        if one.edge_ptr is None or one.edge_attr is None:
            return
        for i in range(int(one.edge_ptr[p]), int(one.edge_ptr[p + 1])):
            a = int(one.edge_attr[i])
            value = 1.0 if one.edge_value is None else float(one.edge_value[i])
            known = self.model.edge_attributes
            name = known[a] if a < len(known) else f"edge attribute {a}"
            amount = self._edge(a, *best[p - 1 : p + 1]) - self._edge(a, *other[p - 1 : p + 1])
            yield Contribution(name, "edge", p, value * amount)


def entry(ptr: Pointers, columns: Ids, w: Floats, a: int, column: int) -> float:
    """Return the weight of a row at a column; 0 where the layout has none."""
    if a >= len(ptr) - 1:
        return 0.0
    first, last = int(ptr[a]), int(ptr[a + 1])
    at = first + int(np.searchsorted(columns[first:last], column))
    return float(w[at]) if at < last and columns[at] == column else 0.0


def state_weights(model: Model) -> dict[tuple[str, str], float]:
    """Return the weights of attributes by attribute and label, those that are not 0; also of segments.

    Attributes without names (hashed ones, ids) are called ``attribute 17``.

    Examples
    --------
    >>> from crfkit import train
    >>> from crfkit.features import ItemExtractor
    >>> model = train(ItemExtractor()([[["the"], ["dog"]]] * 9, [["D", "N"]] * 9))
    >>> [(pair, weight > 0) for pair, weight in state_weights(model).items()]
    [(('the', 'D'), True), (('dog', 'N'), True)]
    >>> list(transition_weights(model))
    [('D', 'D'), ('D', 'N'), ('N', 'D'), ('N', 'N')]
    """
    found = {}
    for block in model.layout.blocks:
        if block.by is None or block.by not in _ATTRIBUTES:
            continue
        known = getattr(model.names, ALPHABET_OF[block.by]).strings()
        rows = np.repeat(np.arange(len(block.ptr) - 1), np.diff(block.ptr)).tolist()
        weights = model.w[model.layout.parts[block.name]].tolist()
        for a, y, weight in zip(rows, block.cell.tolist(), weights, strict=True):
            if weight:
                name = known[a] if known else f"{'' if block.by == 'node' else f'{block.by} '}attribute {a}"
                found[name, model.structure.labels[y]] = weight
    return found


def transition_weights(model: Model) -> dict[tuple[str, ...], float]:
    """Return the weights of label n-grams, oldest label first, those that are not 0."""
    names, found = model.structure.labels, {}
    for table in model.layout.transition_tables(model.w):
        for run in np.argwhere(table).tolist():
            found[tuple(names[y] for y in run)] = float(table[tuple(run)])
    return found
