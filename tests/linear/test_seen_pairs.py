"""Observed pairs by bits: the same as through an index of positions."""

from __future__ import annotations

import numpy as np
import pytest

from crfkit import _native
from crfkit.data.batch import Batch
from crfkit.linear import plan as layout_plan
from crfkit.linear.layout import Layout


def make(labels: int, unlabelled: bool = False) -> Batch:
    rng = np.random.default_rng(labels)
    lengths = rng.integers(0, 6, size=40)
    seq_ptr = np.concatenate([[0], np.cumsum(lengths)])
    P = int(seq_ptr[-1])
    attr_ptr = np.concatenate([[0], np.cumsum(rng.integers(0, 5, size=P))])
    label = rng.integers(-1 if unlabelled else 0, labels, size=P).astype(np.int32)
    attr = rng.integers(0, 30, size=int(attr_ptr[-1])).astype(np.int32)
    return Batch(seq_ptr=seq_ptr, attr_ptr=attr_ptr, attr=attr, label=label)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("labels", [2, 63, 64, 65, 200])
def test_bits_and_index_agree(labels: int, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = make(labels, unlabelled=labels == 65)
    bits = Layout.observed(batch, labels, threads=threads)
    monkeypatch.setattr(layout_plan, "_MOST_BITS", -1)
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
