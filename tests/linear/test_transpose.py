"""Score and scatter are transposes of each other, block by block: <by, score(w)> = <scatter(by), w>."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crfkit.arrays import Floats
from crfkit.data.batch import Batch
from crfkit.linear.layout import Layout
from crfkit.linear.score import scatter, score, transpose, zero_scores
from crfkit.structures import Chain
from tests.cases.batches import random_batch


def check(layout: Layout, batch: Batch, rng: np.random.Generator) -> None:
    """Every block by itself, with an index made once and made anew."""
    shapes = {slot: array.shape for slot, array in zero_scores(layout, batch).items()}
    by = {slot: rng.normal(size=shape) for slot, shape in shapes.items()}
    gradient = scatter(layout, batch, by)
    index = transpose(layout, batch)
    np.testing.assert_array_equal(scatter(layout, batch, by, index=index), gradient)
    w = rng.normal(size=layout.weights)
    whole = score(layout, w, batch)
    assert {slot: array.shape for slot, array in whole.items()} == shapes
    summed: dict[str, Floats] = {slot: np.zeros(shape) for slot, shape in shapes.items()}
    for name, part in layout.parts.items():
        alone = np.zeros(layout.weights)
        alone[part] = w[part]
        scores = score(layout, alone, batch)
        terms = np.concatenate([(by[slot] * array).ravel() for slot, array in scores.items()])
        bound = 1e-12 * (np.abs(terms).sum() + 1.0)
        assert abs(np.vdot(gradient[part], w[part]) - terms.sum()) <= bound, name
        for slot, array in scores.items():
            summed[slot] += array
    for slot, array in whole.items():
        np.testing.assert_allclose(summed[slot], array, rtol=1e-11, atol=1e-11)


@given(st.data(), st.sampled_from([0, 1, 2]))
def test_blocks_of_chains(data: st.DataObject, order: int) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    L, A = data.draw(st.sampled_from([1, 2, 3, 8, 9])), data.draw(st.integers(1, 9))
    batch = random_batch(
        rng,
        data.draw(st.lists(st.integers(0, 6), max_size=5)),
        A,
        L,
        values=data.draw(st.booleans()),
        edges=order == 1 and data.draw(st.booleans()),
        dense=data.draw(st.sampled_from([0, 1, 3])),
        unknown=data.draw(st.sampled_from([0.0, 0.3])),
    )
    make = data.draw(st.sampled_from([Layout.observed, Layout.all_pairs]))
    layout = make(
        batch,
        Chain(L, order=order),
        transitions=data.draw(st.sampled_from(["all", "observed", "none"])),
        start=data.draw(st.booleans()),
        stop=data.draw(st.booleans()),
        attributes=data.draw(st.integers(0, A + 2)),
        table_bytes=data.draw(st.sampled_from([0, 1 << 29])),
    )
    check(layout, batch, rng)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_a_layout_with_all_blocks(order: int) -> None:
    """Nothing left to chance: every block has weights, and every weight gets a gradient."""
    rng = np.random.default_rng(order)
    batch = random_batch(rng, [5, 0, 4, 9], 6, 3, values=True, edges=order == 1, dense=2)
    layout = Layout.all_pairs(batch, Chain(3, order=order), start=True, stop=True)
    empty = [name for name in layout.parts if not layout.has(name)]
    assert empty == (["transition"] if order == 0 else [])
    assert set(layout.parts) == {"node", "transition", "start", "stop", "dense"} | (
        {"edge"} if order == 1 else set()
    )
    check(layout, batch, rng)
    by = {slot: rng.normal(size=array.shape) for slot, array in zero_scores(layout, batch).items()}
    assert np.count_nonzero(scatter(layout, batch, by)) == layout.weights
