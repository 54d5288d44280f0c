"""Plans of layouts: data in blocks give the layout of the whole, and both that of counting one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crfkit.data.batch import Batch
from crfkit.linear.layout import Layout
from crfkit.structures import Chain
from tests.cases.batches import random_batch


class Blocks:
    """Batches that are gone through again and again, made anew each time as those on disk are."""

    def __init__(self, whole: Batch, ends: list[int]) -> None:
        self.whole, self.ends = (
            whole,
            [0, *sorted(min(end, whole.sequences) for end in ends), whole.sequences],
        )

    def __iter__(self) -> Iterator[Batch]:
        return (self.whole.select(slice(a, b)) for a, b in pairwise(self.ends))


@st.composite
def planned(draw: st.DrawFn) -> tuple[Chain, Batch, Blocks, dict[str, Any]]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    L, order, A = draw(st.integers(1, 5)), draw(st.sampled_from([0, 1, 1, 1, 2])), draw(st.integers(1, 8))
    lengths = draw(st.lists(st.integers(0, 6), max_size=8))
    batch = random_batch(
        rng,
        lengths,
        A,
        L,
        values=draw(st.booleans()),
        edges=order == 1 and draw(st.booleans()),
        dense=draw(st.sampled_from([0, 2])),
        unknown=draw(st.sampled_from([0.0, 0.3])),
        weights=draw(st.booleans()),
    )
    options: dict[str, Any] = {
        "all_pairs": draw(st.booleans()),
        "transitions": draw(st.sampled_from(["all", "observed", "none"])),
        "start": draw(st.booleans()),
        "stop": draw(st.booleans()),
        "min_count": draw(st.sampled_from([0, 1, 2, 3.3])),
        "count": draw(st.sampled_from(["count", "value"])),
    }
    known = draw(st.sampled_from([None, 0, A - 1, A + 2]))  # fewer than shown: the rest have no weights
    if known is not None:
        options["attributes"] = known
    if order == 1 and draw(st.booleans()):
        options["edge_attributes"] = draw(st.sampled_from([0, 2, 5]))
    shown = int(batch.attr.max(initial=-1)) + 1 if known is None else known
    if shown and draw(st.booleans()):
        n = draw(st.integers(0, 6))
        options["pairs"] = np.stack([rng.integers(0, shown, n), rng.integers(0, L, n)], axis=1)
    ends = draw(st.lists(st.integers(0, 8), max_size=4))
    return Chain(L, order=order), batch, Blocks(batch, ends), options


def same(one: Layout, other: Layout) -> None:
    assert one.slots == other.slots
    assert one.table_bytes == other.table_bytes
    assert [(block.name, block.slot, block.by) for block in one.blocks] == [
        (block.name, block.slot, block.by) for block in other.blocks
    ]
    for a, b in zip(one.blocks, other.blocks, strict=True):
        for name in ("ptr", "cell"):
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name), f"{name} of {a.name}")
            assert getattr(a, name).dtype == getattr(b, name).dtype
    for name in one.block:
        if one.block[name].by is not None and name != "dense":
            one.rows(name)  # the kernels check order and range


@given(planned())
def test_blocks_give_the_layout_of_the_whole(
    problem: tuple[Chain, Batch, Blocks, dict[str, Any]],
) -> None:
    chain, batch, blocks, options = problem
    same(Layout.plan(chain, blocks, **options), Layout.plan(chain, batch, **options))


@given(planned())
def test_plans_keep_what_counting_one_by_one_keeps(
    problem: tuple[Chain, Batch, Blocks, dict[str, Any]],
) -> None:
    chain, batch, _, options = problem
    layout = Layout.plan(chain, batch, **options)
    found = [layout.describe(i) for i in range(layout.weights)]
    assert len(set(found)) == len(found)
    for name in ("node", "edge"):
        wanted = pairs_by_counting(chain, batch, name, options)
        assert [(p.attribute, *p.ngram) for p in found if p.kind == name] == sorted(wanted), name
    L = len(chain.labels)
    ngrams = [
        ngram for h in range(2, chain.order + 2) for ngram in np.ndindex(*(L,) * h)
    ]  # shortest first, oldest label first
    if options["transitions"] == "observed":
        shown = steps_shown(batch, chain.order)
        ngrams = [ngram for ngram in ngrams if ngram in shown]
    elif options["transitions"] == "none":
        ngrams = []
    assert [p.ngram for p in found if p.kind == "transition"] == ngrams
    for name in ("start", "stop"):
        assert [p.label for p in found if p.kind == name] == (list(range(L)) if options[name] else [])
    columns = 0 if batch.dense is None else batch.dense.shape[1]
    dense = [(p.attribute, p.label) for p in found if p.kind == "dense"]
    assert dense == [(k, y) for k in range(columns) for y in range(L)]


def steps_shown(batch: Batch, order: int) -> set[tuple[int, ...]]:
    assert batch.label is not None
    shown = set()
    for a, b in pairwise(batch.seq_ptr.tolist()):
        for t in range(a, b):
            shown |= {tuple(batch.label[t - h : t + 1].tolist()) for h in range(1, min(order, t - a) + 1)}
    return {ngram for ngram in shown if min(ngram) >= 0}


def pairs_by_counting(chain: Chain, batch: Batch, name: str, options: dict[str, Any]) -> set[tuple[int, ...]]:
    """The (attribute, *labels) that have weights, from occurrences one by one."""
    items = batch.occurrences(name)
    size = options.get("attributes" if name == "node" else "edge_attributes")
    assert batch.label is not None
    begins = set(batch.seq_ptr[:-1].tolist())
    L, counted = len(chain.labels), Counter[tuple[int, ...]]()
    every = list(np.ndindex(*(L,) * (1 if name == "node" else 2)))
    for p in range(0 if items is None or (name == "edge" and chain.order != 1) else batch.positions):
        assert items is not None
        n = int(np.searchsorted(batch.seq_ptr, p, side="right")) - 1
        labels: tuple[int, ...] = (int(batch.label[p]),)
        if name == "edge":
            labels = (-1 if p in begins else int(batch.label[p - 1]), *labels)
        for i in range(items.ptr[p], items.ptr[p + 1]):
            a, each = int(items.id[i]), 1.0
            if options["count"] == "value":
                each = 1.0 if items.value is None else float(items.value[i])
                each *= 1.0 if batch.weight is None else float(batch.weight[n])
            if options["all_pairs"]:
                counted[(a,)] += each  # type: ignore[assignment]
            elif min(labels) >= 0:
                counted[(a, *labels)] += each  # type: ignore[assignment]
    least = options["min_count"]
    kept = {key for key, count in counted.items() if least <= 0 or count >= least}
    if options["all_pairs"]:
        shown = 0 if items is None else int(items.id.max(initial=-1)) + 1
        if least <= 0:
            kept = {(a,) for a in range(shown if size is None else size)}
        kept = {(*key, *cells) for key in kept for cells in every}
    if name == "node" and "pairs" in options:
        kept |= {(int(a), int(y)) for a, y in options["pairs"]}
    return {key for key in kept if size is None or key[0] < size}


def test_blocks_without_labels() -> None:
    """One that knows nothing adds nothing to what is observed."""
    batch = random_batch(np.random.default_rng(3), [4, 3, 5], 6, 3)
    parts = [batch.select(slice(0, 2)), replace(batch.select(slice(2, 3)), label=None)]
    made = Layout.plan(Chain(3), parts, transitions="observed", attributes=6)
    same(made, Layout.plan(Chain(3), parts[0], transitions="observed", attributes=6))


def test_wrong_plans_of_blocks() -> None:
    batch = random_batch(np.random.default_rng(3), [4, 3, 5], 6, 3, edges=True)
    parts = Blocks(batch, [1, 2])
    with pytest.raises(ValueError, match="max_weights = 5"):
        Layout.plan(Chain(3), parts, max_weights=5)
    with pytest.raises(ValueError, match=r"label\[.*\] is 2, expected 0 to 1"):
        Layout.plan(Chain(2), parts)
    with pytest.raises(ValueError, match="edge attributes, which a chain of order 2 does not take"):
        Layout.plan(Chain(3, order=2), parts)
    with pytest.raises(ValueError, match=r"pairs\[0\] is \[0, 3\], expected an attribute .* label below 3"):
        Layout.plan(Chain(3), parts, pairs=[[0, 3]])
    with pytest.raises(ValueError, match="attributes is -1, expected 0 or more"):
        Layout.plan(Chain(3), parts, attributes=-1)
