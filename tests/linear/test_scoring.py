"""Scores against a dictionary of weights, and score against its transpose."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from crfkit import _native
from crfkit.arrays import Floats
from crfkit.data.batch import Batch
from crfkit.linear.layout import Layout
from crfkit.linear.score import scatter, scatter_edges, score, score_edges, transpose
from tests.cases.batches import random_batch
from tests.cases.layouts import as_dict, close, edge_range, problems


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


def large(edges: bool = False, values: bool = False) -> tuple[Layout, Floats, Batch]:
    """Enough for many tasks, with a few attributes that are very frequent."""
    rng = np.random.default_rng(7)
    lengths = [int(T) for T in rng.integers(0, 50, 2400)]
    batch = random_batch(rng, lengths, 20, 11, most=20, values=values, edges=edges, weights=True)
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
    import crfkit.linear.score as module

    layout, w, batch = large(values=True)
    credit = np.random.default_rng(1).normal(size=(batch.positions, layout.labels))
    wanted = score(layout, w, batch).node, scatter(layout, batch, credit)
    monkeypatch.setattr(module, "kernels", _native.Kernels.named(level))
    np.testing.assert_allclose(score(layout, w, batch).node, wanted[0], rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(scatter(layout, batch, credit), wanted[1], rtol=1e-10, atol=1e-9)


def test_finite_differences() -> None:
    rng = np.random.default_rng(3)
    batch = random_batch(rng, [3, 0, 4], 5, 3, values=True, edges=True, dense=2, weights=True)
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


def test_edge_credits_by_position_are_needed_with_edge_attributes() -> None:
    batch = random_batch(np.random.default_rng(0), [4, 3], 5, 2, edges=True)
    layout = Layout.all_pairs(batch, labels=2)
    assert score(layout, np.zeros(layout.weights), batch).per_position
    with pytest.raises(ValueError, match="edge_credit has 2 axes"):
        scatter(layout, batch, np.zeros((7, 2)), np.zeros((2, 2)))
