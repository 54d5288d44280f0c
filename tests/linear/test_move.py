"""Weights that move to another layout, and layouts that are united, against dictionaries by meaning."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crfkit.arrays import Ids
from crfkit.data.batch import Batch
from crfkit.linear.layout import Layout, Place
from crfkit.linear.move import moved, united
from crfkit.structures import Chain
from tests.cases.batches import random_batch
from tests.cases.likelihood import made

ROWS = ("node", "edge")


def meaning(layout: Layout) -> list[tuple[Any, ...]]:
    """Kind, attribute and labels of each weight."""
    places = [layout.describe(i) for i in range(layout.weights)]
    return [(place.kind, place.attribute, place.ngram) for place in places]


def batch_of(rng: np.random.Generator, L: int, A: int, *, edges: bool, dense: int) -> Batch:
    lengths = rng.integers(0, 6, int(rng.integers(1, 6)))
    return random_batch(rng, lengths, A, L, edges=edges, dense=dense)


def drawn(draw: st.DrawFn, batch: Batch, chain: Chain, A: int) -> Layout:
    options: Any = {
        "transitions": draw(st.sampled_from(["all", "observed", "none"])),
        "start": draw(st.booleans()),
        "stop": draw(st.booleans()),
        "attributes": A,
    }
    if chain.order == 1:
        options["edge_attributes"] = draw(st.sampled_from([0, 2, 4]))
    return Layout.plan(chain, batch, all_pairs=draw(st.booleans()), **options)


@st.composite
def moves(draw: st.DrawFn) -> tuple[Layout, Layout, Ids, dict[str, Ids], np.random.Generator]:
    """Two layouts, perhaps of different orders; labels and rows of the second by their ids in the first."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dense = draw(st.sampled_from([0, 2]))
    layouts: list[Layout] = []
    for _ in range(2):
        L, order, A = draw(st.integers(1, 4)), draw(st.integers(0, 3)), draw(st.integers(0, 6))
        batch = batch_of(rng, L, max(A, 1), edges=order == 1, dense=dense)
        layouts.append(drawn(draw, batch, Chain(L, order=order), A))
    old, new = layouts

    def ids(there: int, here: int) -> Ids:
        """Each of the old ones at most once, in any order; -1 for those that are new."""
        pool = np.concatenate([np.arange(there), np.full(here, -1)])
        return rng.permutation(pool)[:here].astype(np.int32)

    rows = {name: ids(old.rows_of(name), new.rows_of(name)) for name in ROWS if draw(st.booleans())}
    return old, new, ids(old.labels, new.labels), rows, rng


@given(moves())
def test_weights_are_found_again_by_what_they_mean(
    problem: tuple[Layout, Layout, Ids, dict[str, Ids], np.random.Generator],
) -> None:
    old, new, labels, rows, rng = problem
    w = rng.normal(size=old.weights)
    values = dict(zip(meaning(old), w.tolist(), strict=True))
    wanted = []
    for kind, attribute, ngram in meaning(new):
        there = int(rows[kind][attribute]) if kind in rows else attribute
        wanted.append(values.get((kind, there, tuple(labels[list(ngram)].tolist())), 0.0))
    found = moved(old, w, new, labels, rows)
    assert found.tolist() == wanted


def test_a_move_by_hand() -> None:
    """Labels change places, one is new; of two attributes one is gone; steps of a longer chain stay."""
    batch = made(seq_ptr=[0, 2], attr_ptr=[0, 1, 2], attr=[0, 1], label=[0, 1])
    old = Layout.all_pairs(batch, 2, start=True)
    new = Layout.all_pairs(batch, Chain(3, order=2), start=True, attributes=1)
    w = np.arange(1.0, old.weights + 1)
    assert [tuple(p) for p in map(old.describe, (2, 5, 9))] == [
        ("node", 1, None, 0),
        ("transition", None, 0, 1),
        ("start", None, None, 1),
    ]
    labels, rows = np.array([1, -1, 0], np.int32), {"node": np.array([1], np.int32)}
    found = dict(zip(meaning(new), moved(old, w, new, labels, rows).tolist(), strict=True))
    known = {key: value for key, value in found.items() if value}
    assert known == {
        ("node", 0, (0,)): 4.0,
        ("node", 0, (2,)): 3.0,
        ("transition", None, (0, 0)): 8.0,
        ("transition", None, (0, 2)): 7.0,
        ("transition", None, (2, 0)): 6.0,
        ("transition", None, (2, 2)): 5.0,
        ("start", None, (0,)): 10.0,
        ("start", None, (2,)): 9.0,
    }


@st.composite
def unions(draw: st.DrawFn) -> tuple[Layout, Layout, np.random.Generator]:
    """Layouts of one order; labels and rows of the second go on from those of the first."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    order, dense = draw(st.integers(0, 2)), draw(st.sampled_from([0, 2]))
    L, A = draw(st.integers(1, 3)), draw(st.integers(0, 5))
    layouts = []
    for more in (0, draw(st.integers(0, 2))):
        size = max(A + draw(st.integers(-2, 2)), 0)
        batch = batch_of(rng, L + more, max(size, 1), edges=order == 1, dense=dense)
        layouts.append(drawn(draw, batch, Chain(L + more, order=order), size))
    return layouts[0], layouts[1], rng


@given(unions())
def test_unions_have_the_weights_of_both(problem: tuple[Layout, Layout, np.random.Generator]) -> None:
    old, new, rng = problem
    both = united(old, new)
    assert both.slots == new.slots
    found = meaning(both)
    assert len(set(found)) == len(found)
    assert set(found) == {*meaning(old), *meaning(new)}
    for block in both.blocks:
        name = block.name
        assert both.rows_of(name) == max(old.rows_of(name), new.rows_of(name))
        owner = np.repeat(np.arange(both.rows_of(name)), np.diff(block.ptr))
        keys = owner * both.slots[block.slot].cells + block.cell
        assert (np.diff(keys) > 0).all()
        assert block.cell.dtype == np.dtype(np.int32)
        assert block.ptr.dtype == np.dtype(np.int64)
    # nothing is lost on the way into the union
    labels = np.where(np.arange(new.labels) < old.labels, np.arange(new.labels), -1).astype(np.int32)
    w = rng.normal(size=old.weights)
    kept = dict(zip(found, moved(old, w, both, labels, {}).tolist(), strict=True))
    assert {key: value for key, value in kept.items() if value} == dict(
        zip(meaning(old), w.tolist(), strict=True)
    )


def test_unions_of_different_structures_are_refused() -> None:
    batch = random_batch(np.random.default_rng(0), [4, 3], 5, 2)
    layouts = [Layout.observed(batch, Chain(2, order=order)) for order in (0, 1, 2)]
    for i, old in enumerate(layouts):
        for j, new in enumerate(layouts):
            if i != j:
                with pytest.raises(ValueError, match="of different structures"):
                    united(old, new)
    with pytest.raises(ValueError, match="the old layout has 3 labels, the new one 2"):
        united(Layout.observed(batch, 3), Layout.observed(batch, 2))


def test_a_place_by_itself() -> None:
    assert Place("node", 3, None, 1).ngram == (1,)
    assert Place("transition", None, 0, 1).ngram == (0, 1)
    assert Place("transition", None, (2, 0), 1).ngram == (2, 0, 1)
