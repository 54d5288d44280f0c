"""Which weights a layout has, in which order, and what it refuses."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crfkit import _native
from crfkit.arrays import Floats
from crfkit.data.batch import Batch
from crfkit.linear.layout import Layout
from crfkit.linear.likely import likely_pairs
from crfkit.linear.score import scatter, score, transpose
from crfkit.native import kernels
from tests.cases.batches import random_batch
from tests.cases.layouts import problems, small


@given(problems())
def test_estimate_equals_what_is_made(problem: tuple[Layout, Floats, Batch, np.random.Generator]) -> None:
    _, _, batch, rng = problem
    L = 70
    for make, all_pairs in ((Layout.observed, False), (Layout.all_pairs, True)):
        layout = make(batch, L, start=True, min_count=1)
        estimate = Layout.estimate(batch, L, all_pairs=all_pairs, start=True, min_count=1)
        assert estimate.parts == {name: part.stop - part.start for name, part in layout.parts.items()}
        assert estimate.weights == layout.weights
        assert estimate.weight_bytes == rng.normal(size=layout.weights).nbytes
        assert estimate.table_bytes == layout.rows().table_bytes


def pairs(layout: Layout) -> set[tuple[int | None, int | None]]:
    places = [layout.describe(i) for i in range(layout.parts["node"].stop)]
    return {(place.attribute, place.label) for place in places}


@pytest.mark.parametrize(
    ("count", "min_count", "kept"),
    [
        ("count", 0, {(0, 0), (0, 1), (1, 0), (1, 1), (2, 1)}),
        ("count", 2, {(0, 0)}),
        ("value", 0, {(0, 0), (0, 1), (1, 0), (1, 1), (2, 1)}),  # the sum of (1, 0) is -3
        ("value", 1.5, {(0, 0), (0, 1), (2, 1)}),
        ("value", 3, {(2, 1)}),
    ],
)
def test_min_count_of_observed_pairs(
    count: Any, min_count: float, kept: set[tuple[int | None, int | None]]
) -> None:
    assert pairs(Layout.observed(small(), 2, count=count, min_count=min_count)) == kept


@pytest.mark.parametrize(
    ("count", "min_count", "kept"),
    [("count", 0, {0, 1, 2, 3}), ("count", 3, {0}), ("value", 3, {0, 2}), ("value", 4.5, set())],
)
def test_min_count_of_attributes(count: Any, min_count: float, kept: set[int]) -> None:
    layout = Layout.all_pairs(small(), 2, count=count, min_count=min_count, attributes=4)
    assert pairs(layout) == {(a, y) for a in kept for y in range(2)}


def test_transitions_are_within_sequences() -> None:
    batch = small()
    assert Layout.observed(batch, 2, transitions="observed").transition_cell.tolist() == [1]
    assert Layout.observed(batch, 2, transitions="none").transition_cell.tolist() == []
    partly = dataclasses.replace(batch, label=np.array([-1, 1, 1], dtype=np.int32))
    assert Layout.observed(partly, 2, transitions="observed").transition_cell.tolist() == []


def test_parts_lie_in_the_documented_order() -> None:
    batch = random_batch(np.random.default_rng(0), [4, 3], 5, 2, edges=True, dense=2)
    layout = Layout.all_pairs(batch, 2, start=True, stop=True)
    assert list(layout.parts) == ["node", "edge", "transition", "start", "stop", "dense"]
    assert [part.start for part in layout.parts.values()][1:] == [
        part.stop for part in layout.parts.values()
    ][:-1]
    kinds = [layout.describe(i).kind for i in range(layout.weights)]
    assert all(set(kinds[part]) == {name} for name, part in layout.parts.items())
    with pytest.raises(IndexError, match="does not exist"):
        layout.describe(layout.weights)


def test_observed_plus() -> None:
    layout = Layout.observed_plus(small(), 2, [[2, 0], [0, 0], [2, 0]], transitions="none")
    assert pairs(layout) == {(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)}
    assert layout.node_label.tolist() == [0, 1] * 3
    with pytest.raises(ValueError, match=r"pairs\[1\] is \[3, 0\], expected an attribute below 3"):
        Layout.observed_plus(small(), 2, [[2, 0], [3, 0]])


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.1, 0.4]))
def test_likely_pairs(seed: int, epsilon: float) -> None:
    rng = np.random.default_rng(seed)
    batch = random_batch(rng, [4, 0, 3], 6, 3, unknown=0.2)
    p = rng.dirichlet([0.5] * 3, size=batch.positions)
    likely, shown = set(), set()
    assert batch.label is not None
    for t in range(batch.positions):
        for a in batch.attr[batch.attr_ptr[t] : batch.attr_ptr[t + 1]].tolist():
            shown.add((a, int(batch.label[t])))
            likely |= {(a, y) for y in range(3) if p[t, y] > epsilon}
    found = likely_pairs(batch, p, epsilon).tolist()
    assert found == [list(pair) for pair in sorted(likely - shown)]
    made = Layout.observed_plus(batch, 3, found)
    assert pairs(made) == (likely | shown) - {(a, -1) for a in range(6)}


def test_too_many_weights() -> None:
    batch = small()
    with pytest.raises(ValueError, match=r"30,000,004 weights \(240,000,032 bytes\).*30,000,000 are node"):
        Layout.all_pairs(batch, 2, attributes=15_000_000, max_weights=10**7)
    with pytest.raises(ValueError, match="40,000 are transition weights"):
        Layout.observed(batch, 200, max_weights=1000)
    assert Layout.estimate(batch, 2, all_pairs=True, attributes=10**9).parts["node"] == 2 * 10**9


def test_errors() -> None:
    batch = small()
    layout = Layout.observed(batch, 2)
    w = np.zeros(layout.weights)
    with pytest.raises(ValueError, match=r"w has shape \(8,\), expected \(9,\)"):
        score(layout, w[1:], batch)
    for i, kind in ((2, "'node', attribute=1"), (6, "'transition'")):
        bad = w.copy()
        bad[i] = np.nan
        with pytest.raises(ValueError, match=rf"w\[{i}\] is nan, Place\(kind={kind}"):
            score(layout, bad, batch)
    with pytest.raises(ValueError, match="overflow"):
        score(layout, np.full(9, 1e308), dataclasses.replace(batch, value=np.full(6, 9.0)))
    other, index = Layout.observed(batch, 2, attributes=2), transpose(layout, batch)
    with pytest.raises(ValueError, match="index is of 2 attributes, the layout has 3"):
        scatter(layout, batch, {"node": np.zeros((3, 2))}, index=transpose(other, batch))
    with pytest.raises(ValueError, match="credit has 2 entries, expected 3"):
        _native.scatter(kernels, layout.rows(), index["node"], np.zeros((2, 2)), w, 0, False, 1)
    with pytest.raises(ValueError, match=r"slot 'node' has shape \(2, 2\), expected \(3, 2\)"):
        scatter(layout, batch, {"node": np.zeros((2, 2))})
    with pytest.raises(ValueError, match="out is not given"):
        scatter(layout, batch, {"node": np.zeros((3, 2))}, add=True)
    with pytest.raises(ValueError, match="out is float32"):
        score(layout, w, batch, out=np.zeros((3, 2), dtype=np.float32))
    with pytest.raises(ValueError, match=r"batch\.dense has 1 columns, the layout expects 0"):
        score(layout, w, dataclasses.replace(batch, dense=np.zeros((3, 1))))
    for wrong in (np.zeros((2, 2)), np.zeros((2, 4)), np.zeros((3, 2, 2)), np.zeros((3, 3))):
        with pytest.raises(ValueError, match=r"slot 'edge' has shape .*, expected \(3, 4\)"):
            scatter(layout, batch, {"edge": wrong})
    for name, size in (("transition", 4), ("start", 2), ("stop", 2)):
        with pytest.raises(ValueError, match=rf"slot '{name}' has shape \(3,\), expected \({size},\)"):
            scatter(Layout.observed(batch, 2, start=True, stop=True), batch, {name: np.zeros(3)})


def test_errors_when_a_layout_is_made() -> None:
    batch = small()
    with pytest.raises(ValueError, match=r"label\[1\] is 1, expected 0 to 0"):
        Layout.observed(batch, 1)
    with pytest.raises(ValueError, match="give a labeled batch"):
        Layout.observed(dataclasses.replace(batch, label=None), 2)
    with pytest.raises(ValueError, match="min_count is -1"):
        Layout.observed(batch, 2, min_count=-1)
    with pytest.raises(ValueError, match="transitions is 'some', expected one of all"):
        Layout.observed(batch, 2, transitions="some")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="stops is not an option"):
        Layout.observed(batch, 2, stops=True)  # type: ignore[call-arg]
    made = Layout.observed(batch, 2)
    falling = made.with_block("node", np.zeros(5, np.int32), made.node_ptr)
    with pytest.raises(ValueError, match="is in column 0; columns rise"):
        falling.rows()
    unlabeled = Layout.all_pairs(dataclasses.replace(batch, label=None), 2)
    assert unlabeled.parts["node"].stop == 6
