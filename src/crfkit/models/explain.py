"""Why a label won: the difference of scores, split into what each weight adds.

The best labeling y is compared, position by position, with the labeling y' that scores highest among those
that have the runner-up there. Both are sums of weights, so their difference is one too:

    score(y) - score(y') = sum_p sum_i value_i * (w[attr_i, y_p] - w[attr_i, y'_p])
                         + sum_p (w[y_{p-1}, y_p] - w[y'_{p-1}, y'_p]) + ...

over attributes, edge attributes, label n-grams, both ends and real-valued columns. Changing one label and
keeping its neighbors would be simpler, but is often forbidden (I after O) and then explains nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from crfkit import inference
from crfkit._safe.printable import counted
from crfkit.arrays import Floats, Ids, Pointers
from crfkit.data.batch import Batch
from crfkit.data.dataset import ALPHABET_OF, Dataset
from crfkit.data.formats.columns import Columns
from crfkit.models.explanation import Contribution, Decision, Explanation
from crfkit.models.model import SequenceModel
from crfkit.structures.gold import Sets

#: Kinds of attributes that have a weight for each label.
_ATTRIBUTES = ("node", "begin", "end", "segment")


def explain_sequence(
    model: SequenceModel,
    x: Any,
    at: int | None = None,
    *,
    allowed: Sets | None = None,
    threads: int | None = None,
) -> Explanation:
    """Explain the labels of one sequence, or of one position; see `Model.explain`.

    Labels that `allowed` forbids are out of the question; for chains only.
    """
    batch = _one(model, x)
    if at is not None:
        if not isinstance(at, int | np.integer):
            raise TypeError(f"at is {at!r}, expected a position: a whole number")
        if not 0 <= at < batch.positions:
            raise ValueError(f"at is {at}, and the sequence has {counted(batch.positions, 'position')}")
    if model.segmental:
        if allowed is not None:
            raise ValueError("allowed is for chains, and the model is one of segments; leave it out")
        from crfkit.models.explain_segments import explain_segments

        return Explanation(tuple(explain_segments(model, batch, at, threads)), tokens=tokens_of(x))
    if model.structure.order is None:
        raise ValueError(
            f"the model is {model.structure.describe()}; only chains and segments can be explained"
        )
    if model.structure.local:
        raise ValueError(
            "the model is normalized at each step: its decisions are not sums of weights; explain a CRF"
        )
    return Explanation(tuple(_positions(_Parts(model), batch, at, allowed, threads)), tokens=tokens_of(x))


def tokens_of(x: Any) -> tuple[str, ...]:
    """Return the words of a sequence of them, or of rows that begin with them; none where there are none.

    Examples
    --------
    >>> tokens_of([("the", "DT"), ("dog", "NN")]), tokens_of(["the"]), tokens_of([{"w": "the"}])
    (('the', 'dog'), ('the',), ())
    """
    rows = x.sequence(0) if isinstance(x, Columns) else x if isinstance(x, list | tuple) else []
    firsts = [row[0] if isinstance(row, tuple) and row else row for row in rows]
    return tuple(firsts) if all(isinstance(one, str) for one in firsts) else ()


def _one(model: SequenceModel, x: Any) -> Batch:
    """Return one sequence as the model reads it; refuse several."""
    if not isinstance(x, Dataset | Batch):
        x = model.dataset(x if isinstance(x, Columns) else [x])
    batch = model.batch_of(x)
    if batch.sequences != 1:
        raise ValueError(f"x has {batch.sequences} sequences; explain one at a time, as in explain(X[0])")
    return batch


def _positions(
    parts: _Parts, one: Batch, at: int | None, allowed: Sets | None, threads: int | None
) -> Iterator[Decision]:
    if not one.positions:
        return
    model = parts.model
    potentials = model.potentials(one, threads=threads)
    if allowed is not None:
        potentials = allowed.clamped(potentials)
    best: Ids = inference.decode(potentials, threads=threads)[0].labels
    node = inference.marginals(potentials, threads=threads).node  # [T, L]
    possible = inference.reachable(potentials, threads=threads).node  # [T, L]
    names = model.structure.labels
    for t, y in enumerate(best.tolist()):
        if at is not None and t != at:
            continue
        others = np.where(possible[t], node[t], -1.0)  # [L]
        others[y] = -1.0
        r = int(np.argmax(others))
        if others[r] < 0.0:
            yield Decision(t, names[y], float(node[t, y]), None, 0.0)
            continue
        mask = np.ones(node.shape, dtype=np.bool_)
        mask[t] = np.arange(len(names)) == r
        other: Ids = inference.decode(potentials.clamped(mask), threads=threads)[0].labels
        found = [c for c in parts.differences(one, best.tolist(), other.tolist()) if c.amount != 0.0]
        found.sort(key=lambda c: -abs(c.amount))
        alternative = tuple(names[z] for z in other.tolist())
        yield Decision(t, names[y], float(node[t, y]), names[r], float(node[t, r]), tuple(found), alternative)


class _Parts:
    """The weights of a model, one by one."""

    def __init__(self, model: SequenceModel) -> None:
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


def state_weights(model: SequenceModel) -> dict[tuple[str, str], float]:
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


def transition_weights(model: SequenceModel) -> dict[tuple[str, ...], float]:
    """Return the weights of label n-grams, oldest label first, those that are not 0."""
    names, found = model.structure.labels, {}
    for table in model.layout.transition_tables(model.w):
        for run in np.argwhere(table).tolist():
            found[tuple(names[y] for y in run)] = float(table[tuple(run)])
    return found
