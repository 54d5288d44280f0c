"""Weights of runs of several labels: scores, their transpose, and which runs there are."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crfkit import inference
from crfkit.arrays import Floats
from crfkit.data.batch import Batch
from crfkit.linear.layout import Layout
from crfkit.linear.score import scatter, scatter_edges, score, score_edges
from crfkit.structures import Chain
from tests.cases.batches import random_batch
from tests.cases.layouts import close, small


@st.composite
def runs(draw: st.DrawFn) -> tuple[Layout, Floats, Batch, np.random.Generator]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    L, order = draw(st.integers(1, 4)), draw(st.integers(0, 4))
    lengths = draw(st.lists(st.integers(0, 7), max_size=5))
    batch = random_batch(rng, lengths, 5, L, unknown=draw(st.sampled_from([0.0, 0.2])), weights=True)
    layout = Layout.observed(
        batch,
        labels=L,
        order=order,
        transitions=draw(st.sampled_from(["all", "observed", "none"])),
        start=draw(st.booleans()),
    )
    return layout, rng.normal(size=layout.weights), batch, rng


@given(runs())
def test_runs_score_paths_as_the_weights_in_a_dictionary_do(
    problem: tuple[Layout, Floats, Batch, np.random.Generator],
) -> None:
    layout, w, batch, rng = problem
    L, k = layout.labels, layout.order
    weights: defaultdict[Any, float] = defaultdict(float)
    for i in range(layout.parts["transition"].start, layout.parts["transition"].stop):
        place = layout.describe(i)
        assert isinstance(place.before, tuple) == (len(place.run) > 2)
        weights[place.run] = w[i]
    assert len(weights) == len(layout.transition_cell)
    scores = score(layout, w, batch)
    chain = Chain(L, order=k)
    path = rng.integers(0, L, batch.positions).astype(np.int32)
    found = chain.potentials(np.zeros_like(scores.node), scores.edge, seq_ptr=batch.seq_ptr).path_score(path)
    for n, (a, b) in enumerate(pairwise(batch.seq_ptr.tolist())):
        parts = [
            tuple(path[t - h : t + 1].tolist()) for t in range(a, b) for h in range(1, min(k, t - a) + 1)
        ]
        assert close(found[n], sum(weights[run] for run in parts))


@given(runs())
def test_scatter_of_runs_is_the_transpose_of_score(
    problem: tuple[Layout, Floats, Batch, np.random.Generator],
) -> None:
    layout, w, batch, _ = problem
    L, k = layout.labels, layout.order
    scores = score(layout, w, batch)
    potentials = Chain(L, order=k).potentials(
        scores.node, scores.edge, start=scores.start, seq_ptr=batch.seq_ptr
    )
    found = inference.marginals(potentials)
    credits = found.edge if k > 1 else (found.edge,)
    gradient = scatter(layout, batch, found.node, found.edge, found.start)
    forward = np.vdot(found.node, scores.node)
    if scores.start is not None and found.start is not None:
        forward += np.vdot(found.start, scores.start)
    if scores.edge is not None:
        tables = scores.edge if isinstance(scores.edge, tuple) else (scores.edge,)
        assert [table.shape for table in tables] == [(L,) * (h + 1) for h in range(1, k + 1)]
        forward += sum(np.vdot(a, b) for a, b in zip(credits, tables, strict=True))
    np.testing.assert_allclose(np.vdot(gradient, w), forward, rtol=1e-11, atol=1e-11)


@given(runs())
def test_observed_runs_are_those_of_known_labels_within_sequences(
    problem: tuple[Layout, Floats, Batch, np.random.Generator],
) -> None:
    layout, _, batch, _ = problem
    assert batch.label is not None
    k, L = layout.order, layout.labels
    shown = set()
    for a, b in pairwise(batch.seq_ptr.tolist()):
        for t in range(a, b):
            shown |= {tuple(batch.label[t - h : t + 1].tolist()) for h in range(1, min(k, t - a) + 1)}
    made = Layout.observed(batch, labels=L, order=k, transitions="observed")
    part = made.parts["transition"]
    found = [made.describe(i).run for i in range(part.start, part.stop)]
    assert found == sorted((run for run in shown if min(run) >= 0), key=lambda run: (len(run), run))
    ways: list[Literal["all", "observed", "none"]] = ["all", "observed", "none"]
    for transitions in ways:
        made = Layout.all_pairs(batch, labels=L, order=k, transitions=transitions)
        estimate = Layout.estimate(batch, labels=L, all_pairs=True, order=k, transitions=transitions)
        assert estimate.parts == {name: part.stop - part.start for name, part in made.parts.items()}


def test_how_many_runs() -> None:
    batch = small()
    for order, weights in ((0, 0), (1, 4), (2, 12), (3, 28), (8, 1020)):
        layout = Layout.observed(batch, labels=2, order=order)
        assert (layout.order, len(layout.transition_cell)) == (order, weights)
    last = layout.describe(layout.weights - 1)
    assert last == ("transition", None, (1,) * 8, 1)
    plus = Layout.observed_plus(batch, 2, [[2, 0]], order=2)
    assert (plus.order, len(plus.transition_cell)) == (2, 12)


def test_errors_of_orders() -> None:
    batch = small()
    for order in (-1, 9, 1.5):
        with pytest.raises(ValueError, match=f"order is {order}, expected 0 to 8"):
            Layout.observed(batch, labels=2, order=order)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="8,040,000 are transition weights"):
        Layout.observed(batch, labels=200, order=2, max_weights=1000)
    with pytest.raises(
        ValueError, match=r"200 labels make 1,608,040,000 runs of up to 4 labels.*lower order"
    ):
        Layout.observed(batch, labels=200, order=3, transitions="observed")
    edges = random_batch(np.random.default_rng(0), [4, 3], 5, 2, edges=True)
    for order in (0, 2):
        with pytest.raises(ValueError, match=f"3 edge attributes, which need order 1, not {order}"):
            Layout.observed(edges, labels=2, order=order)
    layout = Layout.observed(edges, labels=2, order=2, edge_attributes=0)
    w = np.zeros(layout.weights)
    assert not score(layout, w, edges).per_position
    with pytest.raises(ValueError, match="edges by position need a layout of order 1, not 2"):
        score_edges(layout, w, edges, 0, 7)
    with pytest.raises(ValueError, match="edges by position need a layout of order 1, not 2"):
        scatter_edges(layout, edges, np.zeros((7, 2, 2)), 0, 7, out=w)
    for credit in (np.zeros((2, 2)), np.zeros((7, 2, 2)), (np.zeros((2, 2)),)):
        with pytest.raises(ValueError, match="order 2: edge_credit must be a tuple of 2 tables"):
            scatter(layout, edges, np.zeros((7, 2)), credit)
    with pytest.raises(ValueError, match=r"edge_credit\[1\] has shape \(2, 2\), expected \(2, 2, 2\)"):
        scatter(layout, edges, np.zeros((7, 2)), (np.zeros((2, 2)), np.zeros((2, 2))))
