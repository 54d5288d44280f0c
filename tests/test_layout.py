"""Layouts against a dictionary of weights, and score against its transpose."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crfkit import _native, inference
from crfkit.batch import Batch
from crfkit.layout import Layout, likely_pairs
from crfkit.native import kernels
from crfkit.scoring import scatter, scatter_edges, score, score_edges, transpose
from crfkit.structures import Chain
from crfkit.structures.labels import Floats


def close(a: float, b: float) -> bool:
    return bool(abs(a - b) <= 1e-12 * (1.0 + abs(b)))


def random_batch(
    rng: np.random.Generator,
    lengths: list[int],
    A: int,
    L: int,
    *,
    most: int = 4,
    values: bool = False,
    edges: bool = False,
    dense: int = 0,
    unknown: float = 0.0,
) -> Batch:
    """A batch with repeated attributes, empty positions and, on demand, values and edge attributes."""
    P = sum(lengths)
    seq_ptr = np.cumsum([0, *lengths])
    counts, edge_counts = rng.integers(0, most + 1, P), rng.integers(0, 3, P)
    edge_counts[seq_ptr[:-1][seq_ptr[:-1] < P]] = 0
    nnz, edge_nnz = int(counts.sum()), int(edge_counts.sum())
    label = rng.integers(0, L, P)
    label[rng.random(P) < unknown] = -1
    return Batch(
        seq_ptr=seq_ptr,
        attr_ptr=np.concatenate([[0], np.cumsum(counts)]),
        attr=rng.integers(0, A, nnz).astype(np.int32),
        value=rng.normal(size=nnz) if values else None,
        label=label.astype(np.int32),
        edge_ptr=np.concatenate([[0], np.cumsum(edge_counts)]) if edges else None,
        edge_attr=rng.integers(0, 3, edge_nnz).astype(np.int32) if edges else None,
        edge_value=rng.normal(size=edge_nnz) if edges and values else None,
        dense=rng.normal(size=(P, dense)) if dense else None,
        weight=rng.uniform(0.5, 2.0, len(lengths)),
    )


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
    )
    shown = draw(st.integers(0, A + 2))  # fewer than A: the rest are unknown
    make = draw(st.sampled_from([Layout.observed, Layout.all_pairs]))
    layout = make(
        batch,
        labels=L,
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


def edge_range(batch: Batch, p: int) -> range:
    return range(0) if batch.edge_ptr is None else range(batch.edge_ptr[p], batch.edge_ptr[p + 1])


@given(problems())
def test_scores_are_sums_of_the_weights_in_a_dictionary(
    problem: tuple[Layout, Floats, Batch, np.random.Generator],
) -> None:
    layout, w, batch, _ = problem
    L, weights = layout.labels, as_dict(layout, w)
    assert len(weights) == layout.weights
    scores, edges = score(layout, w, batch), score_edges(layout, w, batch, 0, batch.positions)
    for p in range(batch.positions):
        inside = range(batch.attr_ptr[p], batch.attr_ptr[p + 1])
        for y in range(L):
            wanted = sum(
                (1.0 if batch.value is None else batch.value[i])
                * weights["node", int(batch.attr[i]), None, y]
                for i in inside
            )
            if batch.dense is not None:
                wanted += sum(x * weights["dense", k, None, y] for k, x in enumerate(batch.dense[p]))
            assert close(scores.node[p, y], wanted)
            for x in range(L if L < 10 else 1):
                step = weights["transition", None, x, y]
                if scores.edge is not None:
                    assert np.asarray(scores.edge)[x, y] == step
                for j in edge_range(batch, p):
                    assert batch.edge_attr is not None
                    value = 1.0 if batch.edge_value is None else batch.edge_value[j]
                    step += value * weights["edge", int(batch.edge_attr[j]), x, y]
                assert close(edges[p, x, y], step)
    for name, part in (("start", scores.start), ("stop", scores.stop)):
        if part is not None:
            assert part.tolist() == [weights[name, None, None, y] for y in range(L)]


@given(problems())
def test_scatter_is_the_transpose_of_score(
    problem: tuple[Layout, Floats, Batch, np.random.Generator],
) -> None:
    layout, w, batch, rng = problem
    L, P = layout.labels, batch.positions
    scores, edges = score(layout, w, batch), score_edges(layout, w, batch, 0, P)
    node, edge = rng.normal(size=(P, L)), rng.normal(size=(P, L, L))
    ends = rng.normal(size=(2, L))
    gradient = scatter(layout, batch, node, edge, ends[0], ends[1])
    forward = [np.abs(node * scores.node).sum(), np.vdot(node, scores.node)]
    for credit, part in ((edge, edges), (ends[0], scores.start), (ends[1], scores.stop)):
        if part is not None:
            forward = [forward[0] + np.abs(credit * part).sum(), forward[1] + np.vdot(credit, part)]
    assert abs(np.vdot(gradient, w) - forward[1]) <= 1e-12 * (forward[0] + 1.0)
    # in two blocks, added to what is there
    there = rng.normal(size=layout.weights)
    blocks = there.copy()
    half = P // 2
    scatter(layout, batch, node, None, ends[0], ends[1], out=blocks, add=True)
    scatter_edges(layout, batch, edge[:half], 0, half, out=blocks)
    scatter_edges(layout, batch, edge[half:], half, P, out=blocks)
    np.testing.assert_allclose(blocks, there + gradient, rtol=1e-11, atol=1e-11)
    np.testing.assert_array_equal(edges[half:], score_edges(layout, w, batch, half, P))


@given(problems())
def test_estimate_equals_what_is_made(problem: tuple[Layout, Floats, Batch, np.random.Generator]) -> None:
    _, _, batch, rng = problem
    L = 70
    for make, all_pairs in ((Layout.observed, False), (Layout.all_pairs, True)):
        layout = make(batch, labels=L, start=True, min_count=1)
        estimate = Layout.estimate(batch, labels=L, all_pairs=all_pairs, start=True, min_count=1)
        assert estimate.parts == {name: part.stop - part.start for name, part in layout.parts.items()}
        assert estimate.weights == layout.weights
        assert estimate.weight_bytes == rng.normal(size=layout.weights).nbytes
        assert estimate.table_bytes == layout.rows.table_bytes


def large(edges: bool = False, values: bool = False) -> tuple[Layout, Floats, Batch]:
    """Enough for many tasks, with a few attributes that are very frequent."""
    rng = np.random.default_rng(7)
    lengths = [int(T) for T in rng.integers(0, 50, 2400)]
    batch = random_batch(rng, lengths, 20, 11, most=20, values=values, edges=edges)
    rare = rng.integers(0, 4000, len(batch.attr)).astype(np.int32)
    attr = np.where(rng.random(len(rare)) < 0.5, rare, batch.attr)
    batch = dataclasses.replace(batch, attr=attr)
    layout = Layout.observed(batch, labels=11, min_count=2, start=True)
    return layout, rng.normal(size=layout.weights), batch


@pytest.mark.parametrize("values", [False, True])
def test_any_number_of_threads_gives_the_same_bits(values: bool) -> None:
    layout, w, batch = large(edges=True, values=values)
    P, L = batch.positions, layout.labels
    rng = np.random.default_rng(1)
    node, edge = rng.normal(size=(P, L)), rng.normal(size=(P, L, L))
    index = transpose(layout, batch)

    def everything(threads: int | None) -> list[Any]:
        scores = score(layout, w, batch, threads=threads)
        edges = score_edges(layout, w, batch, 0, P, threads=threads)
        return [scores.node, edges, scatter(layout, batch, node, edge, index=index, threads=threads)]

    one = everything(1)
    for threads in (2, 16, None):
        for a, b in zip(one, everything(threads), strict=True):
            np.testing.assert_array_equal(a, b)
    made = Layout.observed(batch, labels=11, min_count=2, start=True, threads=16)
    np.testing.assert_array_equal(made.node_label, layout.node_label)


@pytest.mark.parametrize("values", [False, True])
def test_a_large_batch_against_numpy(values: bool) -> None:
    """Frequent attributes go another way through scatter than rare ones."""
    layout, w, batch = large(values=values)
    A, L, P = layout.attributes, layout.labels, batch.positions
    table = np.zeros((A, L))
    owner = np.repeat(np.arange(A), np.diff(layout.node_ptr))
    table[owner, layout.node_label] = w[layout.parts["node"]]
    value = np.ones(len(batch.attr)) if batch.value is None else batch.value
    position = np.repeat(np.arange(P), np.diff(batch.attr_ptr))
    wanted = np.zeros((P, L))
    np.add.at(wanted, position, value[:, None] * table[batch.attr])
    np.testing.assert_allclose(score(layout, w, batch).node, wanted, rtol=1e-12, atol=1e-11)
    sparse = dataclasses.replace(layout, table_bytes=0)
    assert layout.rows.table_bytes > 0 == sparse.rows.table_bytes
    np.testing.assert_allclose(score(sparse, w, batch).node, wanted, rtol=1e-12, atol=1e-11)
    credit = np.random.default_rng(1).normal(size=(P, L))
    pulled = np.zeros((A, L))
    np.add.at(pulled, batch.attr, value[:, None] * credit[position])
    gradient = scatter(layout, batch, credit)
    np.testing.assert_allclose(
        gradient[: len(owner)], pulled[owner, layout.node_label], rtol=1e-10, atol=1e-9
    )


@pytest.mark.parametrize("level", _native.simd_levels())
def test_every_instruction_set(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import crfkit.scoring as module

    layout, w, batch = large(values=True)
    credit = np.random.default_rng(1).normal(size=(batch.positions, layout.labels))
    wanted = score(layout, w, batch).node, scatter(layout, batch, credit)
    monkeypatch.setattr(module, "kernels", _native.Kernels.named(level))
    np.testing.assert_allclose(score(layout, w, batch).node, wanted[0], rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(scatter(layout, batch, credit), wanted[1], rtol=1e-10, atol=1e-9)


def test_finite_differences() -> None:
    rng = np.random.default_rng(3)
    batch = random_batch(rng, [3, 0, 4], 5, 3, values=True, edges=True, dense=2)
    layout = Layout.all_pairs(batch, labels=3, start=True, stop=True)
    w = rng.normal(size=layout.weights)

    def parts(w: Floats) -> list[Floats]:
        s = score(layout, w, batch)
        assert s.start is not None
        assert s.stop is not None
        return [s.node, score_edges(layout, w, batch, 0, batch.positions), s.start, s.stop]

    def value(w: Floats) -> float:
        return float(sum(np.square(part).sum() for part in parts(w)) / 2)

    node, edge, start, stop = parts(w)
    gradient = scatter(layout, batch, node, edge, start, stop)
    for i in range(layout.weights):
        step = np.zeros_like(w)
        step[i] = 1e-5
        np.testing.assert_allclose(
            gradient[i], (value(w + step) - value(w - step)) / 2e-5, rtol=1e-7, atol=1e-7
        )


# ---- runs of several labels


@st.composite
def runs(draw: st.DrawFn) -> tuple[Layout, Floats, Batch, np.random.Generator]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    L, order = draw(st.integers(1, 4)), draw(st.integers(0, 4))
    lengths = draw(st.lists(st.integers(0, 7), max_size=5))
    batch = random_batch(rng, lengths, 5, L, unknown=draw(st.sampled_from([0.0, 0.2])))
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


# ---- which weights exist


def small() -> Batch:
    return Batch(
        seq_ptr=np.array([0, 2, 3]),
        attr_ptr=np.array([0, 3, 4, 6]),
        attr=np.array([0, 0, 1, 1, 0, 2], dtype=np.int32),
        value=np.array([1.0, 1.0, -3.0, 1.0, 0.5, 1.0]),
        label=np.array([0, 1, 1], dtype=np.int32),
        weight=np.array([1.0, 4.0]),
    )


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
    assert pairs(Layout.observed(small(), labels=2, count=count, min_count=min_count)) == kept


@pytest.mark.parametrize(
    ("count", "min_count", "kept"),
    [("count", 0, {0, 1, 2, 3}), ("count", 3, {0}), ("value", 3, {0, 2}), ("value", 4.5, set())],
)
def test_min_count_of_attributes(count: Any, min_count: float, kept: set[int]) -> None:
    layout = Layout.all_pairs(small(), labels=2, count=count, min_count=min_count, attributes=4)
    assert pairs(layout) == {(a, y) for a in kept for y in range(2)}


def test_transitions_are_within_sequences() -> None:
    batch = small()
    assert Layout.observed(batch, labels=2, transitions="observed").transition_cell.tolist() == [1]
    assert Layout.observed(batch, labels=2, transitions="none").transition_cell.tolist() == []
    partly = dataclasses.replace(batch, label=np.array([-1, 1, 1], dtype=np.int32))
    assert Layout.observed(partly, labels=2, transitions="observed").transition_cell.tolist() == []


def test_parts_lie_in_the_documented_order() -> None:
    batch = random_batch(np.random.default_rng(0), [4, 3], 5, 2, edges=True, dense=2)
    layout = Layout.all_pairs(batch, labels=2, start=True, stop=True)
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
        Layout.all_pairs(batch, labels=2, attributes=15_000_000, max_weights=10**7)
    with pytest.raises(ValueError, match="40,000 are transition weights"):
        Layout.observed(batch, labels=200, max_weights=1000)
    assert Layout.estimate(batch, labels=2, all_pairs=True, attributes=10**9).parts["node"] == 2 * 10**9


def test_errors() -> None:
    batch = small()
    layout = Layout.observed(batch, labels=2)
    w = np.zeros(layout.weights)
    with pytest.raises(ValueError, match=r"w has shape \(8,\), expected \(9,\)"):
        score(layout, w[1:], batch)
    for i, kind in ((2, "'node', attribute=1"), (6, "'transition'")):
        bad = w.copy()
        bad[i] = np.nan
        with pytest.raises(ValueError, match=rf"w\[{i}\] is nan, Place\(kind={kind}"):
            score(layout, bad, batch)
    with pytest.raises(ValueError, match=r"positions? 0 .*overflow"):
        score(layout, np.full(9, 1e308), dataclasses.replace(batch, value=np.full(6, 9.0)))
    other, index = Layout.observed(batch, labels=2, attributes=2), transpose(layout, batch)
    with pytest.raises(ValueError, match="index is of 2 attributes, the layout has 3"):
        scatter(layout, batch, np.zeros((3, 2)), index=transpose(other, batch))
    with pytest.raises(ValueError, match="credit has 2 entries, expected 3"):
        _native.scatter(kernels, layout.rows, index, np.zeros((2, 2)), w, 0, False, 1)
    with pytest.raises(ValueError, match=r"node_credit has shape \(2, 2\), expected \(3, 2\)"):
        scatter(layout, batch, np.zeros((2, 2)))
    with pytest.raises(ValueError, match="add needs"):
        scatter(layout, batch, np.zeros((3, 2)), add=True)
    with pytest.raises(ValueError, match="out is float32"):
        score(layout, w, batch, out=np.zeros((3, 2), dtype=np.float32))
    with pytest.raises(ValueError, match=r"batch\.dense has 1 columns, the layout expects 0"):
        score(layout, w, dataclasses.replace(batch, dense=np.zeros((3, 1))))
    with pytest.raises(ValueError, match="positions 1 to 4 are not in the batch"):
        score_edges(layout, w, batch, 1, 4)


def test_errors_when_a_layout_is_made() -> None:
    batch = small()
    with pytest.raises(ValueError, match=r"label\[1\] is 1, expected 0 to 0"):
        Layout.observed(batch, labels=1)
    with pytest.raises(ValueError, match="observed pairs need a labelled batch"):
        Layout.observed(dataclasses.replace(batch, label=None), labels=2)
    with pytest.raises(ValueError, match="min_count is -1"):
        Layout.observed(batch, labels=2, min_count=-1)
    with pytest.raises(ValueError, match="transitions is 'some', expected one of all"):
        Layout.observed(batch, labels=2, transitions="some")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="stops is not an option"):
        Layout.observed(batch, labels=2, stops=True)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="is in column 0; columns rise"):
        _ = dataclasses.replace(Layout.observed(batch, labels=2), node_label=np.zeros(5, np.int32)).rows
    unlabelled = Layout.all_pairs(dataclasses.replace(batch, label=None), labels=2)
    assert unlabelled.parts["node"].stop == 6


def test_edge_credits_by_position_are_needed_with_edge_attributes() -> None:
    batch = random_batch(np.random.default_rng(0), [4, 3], 5, 2, edges=True)
    layout = Layout.all_pairs(batch, labels=2)
    assert score(layout, np.zeros(layout.weights), batch).per_position
    with pytest.raises(ValueError, match="edge_credit has 2 axes"):
        scatter(layout, batch, np.zeros((7, 2)), np.zeros((2, 2)))
