"""Layouts over random batches, and their weights by name: in a dictionary, along a path."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
from hypothesis import strategies as st

from crfkit.arrays import Floats
from crfkit.data.batch import Batch
from crfkit.linear.layout import Layout
from crfkit.structures import Chain
from tests.cases.batches import random_batch


def close(a: float, b: float) -> bool:
    return bool(abs(a - b) <= 1e-12 * (1.0 + abs(b)))


@st.composite
def problems(draw: st.DrawFn) -> tuple[Layout, Floats, Batch, np.random.Generator]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    L = draw(st.sampled_from([1, 2, 3, 7, 8, 9, 17, 33, 70]))
    A = draw(st.integers(1, 12))
    batch = random_batch(
        rng,
        draw(st.lists(st.integers(0, 6), max_size=5)),
        A,
        L,
        values=draw(st.booleans()),
        edges=L < 10 and draw(st.booleans()),
        dense=draw(st.sampled_from([0, 0, 3])),
        unknown=draw(st.sampled_from([0.0, 0.3])),
        weights=True,
    )
    shown = draw(st.integers(0, A + 2))  # fewer than A: the rest are unknown
    make = draw(st.sampled_from([Layout.observed, Layout.all_pairs]))
    layout = make(
        batch,
        L,
        transitions=draw(st.sampled_from(["all", "observed", "none"])),
        start=draw(st.booleans()),
        stop=draw(st.booleans()),
        min_count=draw(st.sampled_from([0, 0, 2])),
        attributes=shown,
        table_bytes=draw(st.sampled_from([0, 1 << 29])),
    )
    return layout, rng.normal(size=layout.weights), batch, rng


def as_dict(layout: Layout, w: Floats) -> defaultdict[Any, float]:
    weights: defaultdict[Any, float] = defaultdict(float)
    weights.update({tuple(layout.describe(i)): float(x) for i, x in enumerate(w)})
    return weights


def path_score(layout: Layout, chain: Chain, data: Batch, w: Any, a: int, path: tuple[int, ...]) -> float:
    """Score of one path, weight by weight from `Layout.describe`."""
    at = {tuple(layout.describe(i)): w[i] for i in range(layout.weights)}
    if chain.resolved and not chain.resolved.accepts(path):
        return -np.inf
    s = at["start", None, None, path[0]] + at["stop", None, None, path[-1]]
    for t, y in enumerate(path):
        p = a + t
        for i in range(data.attr_ptr[p], data.attr_ptr[p + 1]):
            s += (1.0 if data.value is None else data.value[i]) * at["node", data.attr[i], None, y]
        if data.dense is not None:
            s += sum(x * at["dense", k, None, y] for k, x in enumerate(data.dense[p]))
        for h in range(1, min(t, layout.order) + 1):
            s += at["transition", None, path[t - 1] if h == 1 else path[t - h : t], y]
        if t and data.edge_ptr is not None and data.edge_attr is not None:
            for i in range(data.edge_ptr[p], data.edge_ptr[p + 1]):
                s += at["edge", data.edge_attr[i], path[t - 1], y]
    return float(s)


def expected_shapes(layout: Layout, batch: Batch) -> dict[str, tuple[int, ...]]:
    """The shapes of the scores of a batch: steps with attributes have scores of their own."""
    L, P = layout.labels, batch.positions
    shapes: dict[str, tuple[int, ...]] = {"node": (P, L)}
    if layout.edge_attributes and batch.edge_attr is not None and batch.edge_attr.size:
        shapes["edge"] = (P, L * L)
    elif layout.parts["transition"].stop > layout.parts["transition"].start:
        shapes["transition"] = (sum(L ** (h + 1) for h in range(1, layout.order + 1)),)
    return {**shapes, **{name: (L,) for name in ("start", "stop") if getattr(layout, name)}}


def edge_range(batch: Batch, p: int) -> range:
    return range(0) if batch.edge_ptr is None else range(batch.edge_ptr[p], batch.edge_ptr[p + 1])


def small() -> Batch:
    return Batch(
        seq_ptr=np.array([0, 2, 3]),
        attr_ptr=np.array([0, 3, 4, 6]),
        attr=np.array([0, 0, 1, 1, 0, 2], dtype=np.int32),
        value=np.array([1.0, 1.0, -3.0, 1.0, 0.5, 1.0]),
        label=np.array([0, 1, 1], dtype=np.int32),
        weight=np.array([1.0, 4.0]),
    )
