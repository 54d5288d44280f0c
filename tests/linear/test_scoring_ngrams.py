"""Weights of label n-grams: scores, their transpose, and which n-grams there are."""

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
from crfkit.linear.score import scatter, score
from crfkit.structures import Chain
from crfkit.structures.chains.gold import ngram_cells
from tests.cases.batches import random_batch
from tests.cases.layouts import close, small


@st.composite
def ngrams(draw: st.DrawFn) -> tuple[Layout, Floats, Batch, np.random.Generator]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    L, order = draw(st.integers(1, 4)), draw(st.integers(0, 4))
    lengths = draw(st.lists(st.integers(0, 7), max_size=5))
    batch = random_batch(rng, lengths, 5, L, unknown=draw(st.sampled_from([0.0, 0.2])), weights=True)
    layout = Layout.observed(
        batch,
        Chain(L, order=order),
        transitions=draw(st.sampled_from(["all", "observed", "none"])),
        start=draw(st.booleans()),
    )
    return layout, rng.normal(size=layout.weights), batch, rng


@given(ngrams())
def test_ngrams_score_paths_as_the_weights_in_a_dictionary_do(
    problem: tuple[Layout, Floats, Batch, np.random.Generator],
) -> None:
    layout, w, batch, rng = problem
    L, k = layout.labels, layout.order
    weights: defaultdict[Any, float] = defaultdict(float)
    for i in range(layout.parts["transition"].start, layout.parts["transition"].stop):
        place = layout.describe(i)
        assert isinstance(place.before, tuple) == (len(place.ngram) > 2)
        weights[place.ngram] = w[i]
    assert len(weights) == len(layout.transition_cell)
    scores = score(layout, w, batch)
    path = rng.integers(0, L, batch.positions).astype(np.int32)
    only = {slot: array if slot == "transition" else np.zeros_like(array) for slot, array in scores.items()}
    found = Chain(L, order=k).potentials_of(only, batch).path_score(path)
    for n, (a, b) in enumerate(pairwise(batch.seq_ptr.tolist())):
        parts = [
            tuple(path[t - h : t + 1].tolist()) for t in range(a, b) for h in range(1, min(k, t - a) + 1)
        ]
        assert close(found[n], sum(weights[ngram] for ngram in parts))


@given(ngrams())
def test_scatter_of_marginals_is_the_transpose_of_score(
    problem: tuple[Layout, Floats, Batch, np.random.Generator],
) -> None:
    layout, w, batch, _ = problem
    L, k = layout.labels, layout.order
    scores = score(layout, w, batch)
    potentials = Chain(L, order=k).potentials_of(scores, batch)
    by_score = potentials.in_slots(inference.marginals(potentials))
    gradient = scatter(layout, batch, by_score)
    forward = sum(np.vdot(by_score[slot], array) for slot, array in scores.items())
    np.testing.assert_allclose(np.vdot(gradient, w), forward, rtol=1e-11, atol=1e-11)
    tables = layout.transition_tables(w)
    assert [table.shape for table in tables] == [(L,) * (h + 1) for h in range(1, k + 1)]
    if "transition" in scores:
        np.testing.assert_array_equal(
            np.concatenate([table.ravel() for table in tables]), scores["transition"]
        )
    np.testing.assert_array_equal(layout.transition_weights(tables), w[layout.parts["transition"]])


@given(ngrams())
def test_observed_ngrams_are_those_of_known_labels_within_sequences(
    problem: tuple[Layout, Floats, Batch, np.random.Generator],
) -> None:
    layout, _, batch, _ = problem
    assert batch.label is not None
    k = layout.order
    chain = Chain(layout.labels, order=k)
    shown = set()
    for a, b in pairwise(batch.seq_ptr.tolist()):
        for t in range(a, b):
            shown |= {tuple(batch.label[t - h : t + 1].tolist()) for h in range(1, min(k, t - a) + 1)}
    made = Layout.observed(batch, chain, transitions="observed")
    part = made.parts["transition"]
    found = [made.describe(i).ngram for i in range(part.start, part.stop)]
    assert found == sorted(
        (ngram for ngram in shown if min(ngram) >= 0), key=lambda ngram: (len(ngram), ngram)
    )
    ways: list[Literal["all", "observed", "none"]] = ["all", "observed", "none"]
    for transitions in ways:
        made = Layout.all_pairs(batch, chain, transitions=transitions)
        estimate = Layout.estimate(batch, chain, all_pairs=True, transitions=transitions)
        assert estimate.parts == {name: part.stop - part.start for name, part in made.parts.items()}


def test_how_many_ngrams() -> None:
    batch = small()
    for order, weights in ((0, 0), (1, 4), (2, 12), (3, 28), (8, 1020)):
        layout = Layout.observed(batch, Chain(2, order=order))
        assert (layout.order, len(layout.transition_cell)) == (order, weights)
    last = layout.describe(layout.weights - 1)
    assert last == ("transition", None, (1,) * 8, 1)
    plus = Layout.observed_plus(batch, Chain(2, order=2), [[2, 0]])
    assert (plus.order, len(plus.transition_cell)) == (2, 12)


def test_errors_of_orders() -> None:
    batch = small()
    for order in (-1, 9):
        with pytest.raises(ValueError, match=f"order is {order}, expected 0 to 8"):
            Chain(2, order=order)
    with pytest.raises(TypeError, match=r"order is 1\.5, expected a whole number"):
        Chain(2, order=1.5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="order is not an option of a layout"):
        Layout.observed(batch, 2, order=2)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="8,040,000 are transition weights"):
        Layout.observed(batch, Chain(200, order=2), max_weights=1000)
    with pytest.raises(
        ValueError, match=r"200 labels make 1,608,040,000 n-grams of up to 4 labels.*lower order"
    ):
        Layout.observed(batch, Chain(200, order=3), transitions="observed")
    edges = random_batch(np.random.default_rng(0), [4, 3], 5, 2, edges=True)
    for order in (0, 2):
        with pytest.raises(
            ValueError,
            match=f"3 edge attributes, which a chain of order {order} does not take; edge_attr.*=0",
        ):
            Layout.observed(edges, Chain(2, order=order))
    layout = Layout.observed(edges, Chain(2, order=2), edge_attributes=0)
    assert set(score(layout, np.zeros(layout.weights), edges)) == {"node", "transition"}
    for shape in ((4,), (2, 2), (2, 2, 2), (7, 12)):
        with pytest.raises(ValueError, match=r"slot 'transition' has shape .*, expected \(12,\)"):
            scatter(layout, edges, {"transition": np.zeros(shape)})


@given(ngrams())
def test_ngrams_of_labels_by_counting(problem: tuple[Layout, Floats, Batch, np.random.Generator]) -> None:
    layout, _, batch, _ = problem
    assert batch.label is not None
    L, k = layout.labels, layout.order
    tables = ngram_cells(batch.seq_ptr, batch.label, L, k)
    assert len(tables) == k
    for h, cells in enumerate(tables, start=1):
        wanted = np.full(batch.positions, -1)
        for a, b in pairwise(batch.seq_ptr.tolist()):
            for t in range(a + h, b):
                labels = batch.label[t - h : t + 1]
                if (labels >= 0).all():
                    wanted[t] = np.ravel_multi_index(tuple(labels), (L,) * (h + 1))
        np.testing.assert_array_equal(cells, wanted)
