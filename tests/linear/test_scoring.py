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
from crfkit.linear.score import scatter, score, transpose, zero_scores
from tests.cases.batches import random_batch
from tests.cases.layouts import as_dict, close, edge_range, expected_shapes, problems


@given(problems())
def test_scores_are_sums_of_the_weights_in_a_dictionary(
    problem: tuple[Layout, Floats, Batch, np.random.Generator],
) -> None:
    layout, w, batch, _ = problem
    L, weights = layout.labels, as_dict(layout, w)
    assert len(weights) == layout.weights
    scores = score(layout, w, batch)
    assert {slot: array.shape for slot, array in scores.items()} == expected_shapes(layout, batch)
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
            assert close(scores["node"][p, y], wanted)
            for x in range(L if L < 10 else 1):
                step = weights["transition", None, x, y]
                if "transition" in scores:
                    assert scores["transition"][x * L + y] == step
                for j in edge_range(batch, p):
                    assert batch.edge_attr is not None
                    value = 1.0 if batch.edge_value is None else batch.edge_value[j]
                    step += value * weights["edge", int(batch.edge_attr[j]), x, y]
                if "edge" in scores:
                    assert close(scores["edge"][p, x * L + y], step)
    for name in ("start", "stop"):
        if name in scores:
            assert scores[name].tolist() == [weights[name, None, None, y] for y in range(L)]


@given(problems())
def test_scatter_adds_to_what_is_there(
    problem: tuple[Layout, Floats, Batch, np.random.Generator],
) -> None:
    """All at once, or slot by slot: slots that are missing count as 0."""
    layout, _, batch, rng = problem
    zero = zero_scores(layout, batch)
    assert {slot: array.shape for slot, array in zero.items()} == expected_shapes(layout, batch)
    assert not any(array.any() for array in zero.values())
    by_score = {slot: rng.normal(size=array.shape) for slot, array in zero.items()}
    gradient = scatter(layout, batch, by_score)
    there = rng.normal(size=layout.weights)
    summed = there.copy()
    for slot, array in by_score.items():
        assert scatter(layout, batch, {slot: array}, out=summed, add=True) is summed
    np.testing.assert_allclose(summed, there + gradient, rtol=1e-11, atol=1e-11)
    written = np.full(layout.weights, np.nan)
    np.testing.assert_array_equal(scatter(layout, batch, by_score, out=written), gradient)
    np.testing.assert_array_equal(scatter(layout, batch, {}, out=written), np.zeros(layout.weights))


@given(problems())
def test_sequences_by_themselves_score_and_scatter_the_same(
    problem: tuple[Layout, Floats, Batch, np.random.Generator],
) -> None:
    layout, w, batch, rng = problem
    scores = score(layout, w, batch)
    by_score = {slot: rng.normal(size=array.shape) for slot, array in scores.items()}
    half = batch.sequences // 2
    summed, begin = np.zeros(layout.weights), 0
    for chosen in (slice(0, half), slice(half, batch.sequences)):
        part = batch.select(chosen)
        rows = slice(begin, begin + part.positions)
        begin = rows.stop
        found, own = score(layout, w, part), {}
        for slot, array in scores.items():
            if array.ndim == 2 and slot in found:
                if slot == "edge" or not layout.dense:  # products of matrices round by their shapes
                    np.testing.assert_array_equal(found[slot], array[rows])
                np.testing.assert_allclose(found[slot], array[rows], rtol=1e-12, atol=1e-12)
            if array.ndim == 2:
                own[slot] = by_score[slot][rows]
        scatter(layout, part, own, out=summed, add=True)
    shared = {slot: array for slot, array in by_score.items() if array.ndim == 1}
    scatter(layout, batch, shared, out=summed, add=True)
    np.testing.assert_allclose(summed, scatter(layout, batch, by_score), rtol=1e-11, atol=1e-11)


def large(edges: bool = False, values: bool = False) -> tuple[Layout, Floats, Batch]:
    """Enough for many tasks, with a few attributes that are very frequent."""
    rng = np.random.default_rng(7)
    lengths = [int(T) for T in rng.integers(0, 50, 2400)]
    batch = random_batch(rng, lengths, 20, 11, most=20, values=values, edges=edges, weights=True)
    rare = rng.integers(0, 4000, len(batch.attr)).astype(np.int32)
    attr = np.where(rng.random(len(rare)) < 0.5, rare, batch.attr)
    batch = dataclasses.replace(batch, attr=attr)
    layout = Layout.observed(batch, 11, min_count=2, start=True)
    return layout, rng.normal(size=layout.weights), batch


@pytest.mark.parametrize("values", [False, True])
def test_any_number_of_threads_gives_the_same_bits(values: bool) -> None:
    layout, w, batch = large(edges=True, values=values)
    P, L = batch.positions, layout.labels
    rng = np.random.default_rng(1)
    by_score = {"node": rng.normal(size=(P, L)), "edge": rng.normal(size=(P, L * L))}
    index = transpose(layout, batch)

    def everything(threads: int | None) -> list[Any]:
        scores = score(layout, w, batch, threads=threads)
        gradient = scatter(layout, batch, by_score, index=index, threads=threads)
        return [scores["node"], scores["edge"], scores["start"], gradient]

    one = everything(1)
    for threads in (2, 16, None):
        for a, b in zip(one, everything(threads), strict=True):
            np.testing.assert_array_equal(a, b)
    made = Layout.observed(batch, 11, min_count=2, start=True, threads=16)
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
    np.testing.assert_allclose(score(layout, w, batch)["node"], wanted, rtol=1e-12, atol=1e-11)
    sparse = dataclasses.replace(layout, table_bytes=0)
    assert layout.rows().table_bytes > 0 == sparse.rows().table_bytes
    np.testing.assert_allclose(score(sparse, w, batch)["node"], wanted, rtol=1e-12, atol=1e-11)
    credit = np.random.default_rng(1).normal(size=(P, L))
    pulled = np.zeros((A, L))
    np.add.at(pulled, batch.attr, value[:, None] * credit[position])
    gradient = scatter(layout, batch, {"node": credit})
    np.testing.assert_allclose(
        gradient[: len(owner)], pulled[owner, layout.node_label], rtol=1e-10, atol=1e-9
    )


@pytest.mark.parametrize("level", _native.simd_levels())
def test_every_instruction_set(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import crfkit.linear.score as module

    layout, w, batch = large(values=True)
    credit = np.random.default_rng(1).normal(size=(batch.positions, layout.labels))
    wanted = score(layout, w, batch)["node"], scatter(layout, batch, {"node": credit})
    monkeypatch.setattr(module, "kernels", _native.Kernels.named(level))
    np.testing.assert_allclose(score(layout, w, batch)["node"], wanted[0], rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(scatter(layout, batch, {"node": credit}), wanted[1], rtol=1e-10, atol=1e-9)


def test_finite_differences() -> None:
    rng = np.random.default_rng(3)
    batch = random_batch(rng, [3, 0, 4], 5, 3, values=True, edges=True, dense=2, weights=True)
    layout = Layout.all_pairs(batch, 3, start=True, stop=True)
    w = rng.normal(size=layout.weights)

    def value(w: Floats) -> float:
        return float(sum(np.square(part).sum() for part in score(layout, w, batch).values()) / 2)

    scores = score(layout, w, batch)
    assert set(scores) == {"node", "edge", "start", "stop"}
    gradient = scatter(layout, batch, scores)
    for i in range(layout.weights):
        step = np.zeros_like(w)
        step[i] = 1e-5
        np.testing.assert_allclose(
            gradient[i], (value(w + step) - value(w - step)) / 2e-5, rtol=1e-7, atol=1e-7
        )


def test_gradients_by_step_are_needed_with_edge_attributes() -> None:
    batch = random_batch(np.random.default_rng(0), [4, 3], 5, 2, edges=True)
    layout = Layout.all_pairs(batch, 2)
    scores = score(layout, np.zeros(layout.weights), batch)
    assert set(scores) == {"node", "edge"}
    for shape in ((2, 2), (4,), (7, 2, 2)):
        with pytest.raises(ValueError, match=r"slot 'edge' has shape .*, expected \(7, 4\)"):
            scatter(layout, batch, {"node": np.zeros((7, 2)), "edge": np.zeros(shape)})
