"""Observed pairs by bits: the same as through an index of positions."""

from __future__ import annotations

import numpy as np
import pytest

from crfkit import _native
from crfkit.linear import pairs
from crfkit.linear.layout import Layout
from tests.cases.batches import random_batch


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("labels", [2, 63, 64, 65, 200])
def test_bits_and_index_agree(labels: int, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(labels)
    batch = random_batch(rng, rng.integers(0, 6, 40), 30, labels, unknown=0.1 if labels == 65 else 0.0)
    bits = Layout.observed(batch, labels, threads=threads)
    monkeypatch.setattr(pairs, "_MOST_BITS", -1)
    index = Layout.observed(batch, labels, threads=threads)
    assert bits.weights > 0
    for name in ("node_ptr", "node_label", "transition_cell"):
        np.testing.assert_array_equal(getattr(bits, name), getattr(index, name))
        assert getattr(bits, name).dtype == getattr(index, name).dtype


def test_bad_arrays_are_refused() -> None:
    ptr, attr, cell = np.array([0, 1]), np.zeros(1, dtype=np.int32), np.zeros(1, dtype=np.int32)
    with pytest.raises(ValueError, match="label"):
        _native.seen_pairs(ptr, attr, cell + 2, 1, 2, 1)
    with pytest.raises(ValueError, match="ptr"):
        _native.seen_pairs(np.array([0, 5]), attr, cell, 1, 2, 1)
    with pytest.raises(ValueError, match="width"):
        _native.seen_pairs(ptr, attr, cell, 1, 0, 1)
    first, column = _native.seen_pairs(ptr, attr + 9, cell, 1, 2, 1)  # an attribute that is not known
    assert first.tolist() == [0, 0]
    assert column.size == 0
