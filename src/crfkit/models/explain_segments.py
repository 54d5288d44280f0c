"""Why a segment was found: the difference of scores, split into what each weight adds.

The best segmentation is compared, segment by segment, with the best one that does not have this segment:
another label, another begin or end, or several segments in its place. Both scores are sums of weights,

    score = sum_j [sum_{p in j} node_p + begin_j + end_j + segment_j + length_j] + sum_j transition + ends

(Sarawagi & Cohen (2004) eq. 1-3), so their difference is one too; what both have cancels.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from crfkit import inference
from crfkit.data.batch import Batch
from crfkit.data.dataset import ALPHABET_OF
from crfkit.errors import InfeasibleError
from crfkit.models.explain import entry
from crfkit.models.explanation import Contribution, Decision
from crfkit.models.model import SequenceModel
from crfkit.structures.gold import Path

Segment = tuple[int, int, int]
#: What a weight belongs to: its kind, its name and a position.
Key = tuple[str, str, int]


def explain_segments(
    model: SequenceModel, one: Batch, at: int | None, threads: int | None
) -> Iterator[Decision]:
    """Explain each segment of the best segmentation of a sequence, or the one at a position.

    ``runner_up`` says which segments the best segmentation without this one has in its place;
    ``runner_up_probability`` is the probability of the first of them.

    Examples
    --------
    >>> from crfkit import SemiCRF
    >>> X, y = [["in", "New", "York"], ["York", "is", "old"]], [["O", "B-C", "I-C"], ["B-C", "O", "O"]]
    >>> model = SemiCRF(features="w[0]; segment: w[..]").fit(X, y).model_
    >>> decision = model.explain(["New", "York"])[0]
    >>> decision.label, decision.positions, decision.runner_up
    ('C', 2, 'O C')
    >>> [one.name for one in decision.contributions if one.kind == "segment"]
    ['segment:w[..]=New York', 'segment:w[..]=York']
    """
    if not one.positions:
        return
    weights = _Weights(model)
    potentials = model.potentials(one, threads=threads)
    best = inference.decode(potentials, threads=threads)[0]
    shares: Any = inference.marginals(potentials, threads=threads).segment  # [T, D, L]
    mine = weights.terms(one, best.segments)
    names = model.structure.labels
    for a, b, y in best.segments:
        if at is not None and not a <= at < b:
            continue
        share, d = min(float(shares[a, b - a - 1, y]), 1.0), b - a
        without = potentials.segment.copy()
        without[a, d - 1, y] = -np.inf
        try:
            other = inference.decode(replace(potentials, segment=without), threads=threads)[0]
        except InfeasibleError:
            yield Decision(a, names[y], share, None, 0.0, positions=d)
            continue
        terms = defaultdict(float, mine)
        for key, amount in weights.terms(one, other.segments).items():
            terms[key] -= amount
        found = [Contribution(name, kind, p, amount) for (kind, name, p), amount in terms.items() if amount]
        found.sort(key=lambda c: -abs(c.amount))
        instead = [s for s in other.segments if s[0] < b and s[1] > a]
        first, end, z = instead[0]
        yield Decision(
            a,
            names[y],
            share,
            _in_words(instead, (a, b), names),
            min(float(shares[first, end - first - 1, z]), 1.0),
            tuple(found),
            tuple(model.spelling.tags(Path(one.seq_ptr, other.labels, other.begin))[0]),
            d,
        )


def _in_words(segments: list[Segment], place: tuple[int, int], names: tuple[str, ...]) -> str:
    """Return the labels of segments, with where they lie if they reach beyond a place.

    Examples
    --------
    >>> _in_words([(0, 2, 1), (2, 3, 0)], (1, 3), ("O", "PER"))
    'PER[0:2] O'
    """
    alone = {1, place[1] - place[0]}  # lengths that need no words
    return " ".join(
        names[y] if place[0] <= a and b <= place[1] and b - a in alone else f"{names[y]}[{a}:{b}]"
        for a, b, y in segments
    )


class _Weights:
    """The weights of a model, as terms of the score of a segmentation."""

    def __init__(self, model: SequenceModel) -> None:
        layout, w = model.layout, model.w
        self.model = model
        self._w = {block.name: w[layout.parts[block.name]] for block in layout.blocks}
        tables = layout.transition_tables(w)
        self._transition = tables[0] if tables else None  # [L, L]

    def terms(self, one: Batch, segments: list[Segment]) -> dict[Key, float]:
        """Return what each weight adds to the score of a segmentation of one sequence."""
        found: dict[Key, float] = defaultdict(float)
        for key, amount in self._terms(one, segments):
            found[key] += amount
        return found

    def _terms(self, one: Batch, segments: list[Segment]) -> Iterator[tuple[Key, float]]:
        names, D = self.model.structure.labels, one.longest
        for j, (a, b, y) in enumerate(segments):
            for p in range(a, b):
                yield from self._attributes(one, "node", p, p, y)
                yield from self._dense(one, p, y)
            yield from self._attributes(one, "begin", a, a, y)
            yield from self._attributes(one, "end", b - 1, b - 1, y)
            if D:
                yield from self._attributes(one, "segment", a * D + b - a - 1, a, y)
            cell = (b - a - 1) * len(names) + y
            yield ("length", f"{names[y]} of length {b - a}", a), self._shared("length", cell)
            if j:
                x = segments[j - 1][2]
                step = 0.0 if self._transition is None else float(self._transition[x, y])
                yield ("transition", f"{names[x]} → {names[y]}", a), step
                yield from self._edge(one, a, x, y)
        yield ("start", f"start {names[segments[0][2]]}", 0), self._shared("start", segments[0][2])
        last = segments[-1]
        yield ("stop", f"stop {names[last[2]]}", last[1] - 1), self._shared("stop", last[2])

    def _attributes(self, one: Batch, by: str, place: int, p: int, y: int) -> Iterator[tuple[Key, float]]:
        """Yield the terms of the attributes of one kind at a place, which belongs to position p."""
        occurrences = one.occurrences(by)
        if occurrences is None or by not in self.model.layout.block:
            return
        block, known = self.model.layout.block[by], getattr(self.model.names, ALPHABET_OF[by])
        kind: Any = "attribute" if by == "node" else by
        for i in range(int(occurrences.ptr[place]), int(occurrences.ptr[place + 1])):
            a = int(occurrences.id[i])
            value = 1.0 if occurrences.value is None else float(occurrences.value[i])
            name = known[a] if a < len(known) else f"attribute {a}"
            yield (kind, name, p), value * entry(block.ptr, block.cell, self._w[by], a, y)

    def _edge(self, one: Batch, p: int, x: int, y: int) -> Iterator[tuple[Key, float]]:
        occurrences = one.occurrences("edge")
        if occurrences is None or "edge" not in self.model.layout.block:
            return
        block, known, cell = (
            self.model.layout.block["edge"],
            self.model.edge_attributes,
            x * len(self.model.names.labels) + y,
        )
        for i in range(int(occurrences.ptr[p]), int(occurrences.ptr[p + 1])):
            a = int(occurrences.id[i])
            value = 1.0 if occurrences.value is None else float(occurrences.value[i])
            name = known[a] if a < len(known) else f"edge attribute {a}"
            yield ("edge", name, p), value * entry(block.ptr, block.cell, self._w["edge"], a, cell)

    def _dense(self, one: Batch, p: int, y: int) -> Iterator[tuple[Key, float]]:
        if one.dense is None:
            return
        table = self._w["dense"].reshape(-1, len(self.model.names.labels))  # [K, L]
        for k, value in enumerate(one.dense[p].tolist()):
            yield ("dense", f"column {k}", p), value * float(table[k, y])

    def _shared(self, name: str, cell: int) -> float:
        block = self.model.layout.block.get(name)
        if block is None:
            return 0.0
        return entry(np.array([0, len(block.cell)]), block.cell, self._w[name], 0, cell)
