"""Batches where attributes imply each other, and the two evaluations of their likelihood compared."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from crfkit.data.batch import Batch
from crfkit.linear.layout import Layout
from crfkit.linear.loss import LinearLoss
from crfkit.objectives import Likelihood
from crfkit.structures.structure import Structure


def batch(
    L: int, seed: int = 0, *, sequences: int = 60, shuffled: bool = False, values: bool = False
) -> Batch:
    """Words that imply tags, n-grams of both, a few attributes twice, and some beyond the layout."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 12, sequences)
    P = int(lengths.sum())
    word = np.minimum(rng.zipf(1.3, P) - 1, 40)
    tag = word % 7
    before = np.roll(word, 1)
    columns = [word, 50 + tag, 60 + np.roll(tag, 1), 70 + 7 * tag + np.roll(tag, 1), 200 + 41 * word + before]
    lists = [[int(column[p]) for column in columns] for p in range(P)]
    for p in range(0, P, 9):
        lists[p].append(lists[p][0])
    for p in range(P):
        lists[p] += [2000 + int(p)] * int(rng.random() < 0.3)
        if shuffled:
            rng.shuffle(lists[p])
    attr = np.array([a for one in lists for a in one])
    each = np.where(rng.random(len(attr)) < 0.3, rng.normal(size=len(attr)), 1.0)
    return made(
        seq_ptr=np.cumsum([0, *lengths]),
        attr_ptr=np.cumsum([0, *[len(one) for one in lists]]),
        attr=attr,
        value=each if values else None,
        label=rng.integers(0, L, P),
    )


def made(**parts: Any) -> Batch:
    return Batch(**parts)


def partly(b: Batch, L: int) -> Batch:
    assert b.label is not None
    mask = np.random.default_rng(4).random((b.positions, L)) < 0.6
    mask[np.arange(b.positions), b.label] = True
    return replace(b, label=np.where(np.arange(b.positions) % 3, -1, b.label), allowed=mask)


def soft(b: Batch, L: int) -> Batch:
    return replace(b, soft=np.random.default_rng(3).dirichlet(np.ones(L), b.positions))


def weighted(b: Batch) -> Batch:
    return replace(b, weight=np.random.default_rng(5).random(b.sequences) * 3.0)


def both(loss: LinearLoss, w: Any) -> tuple[float, Any, float, Any]:
    assert loss.fast is not None
    found, expected = np.empty_like(w), np.empty_like(w)
    value = loss.value_and_grad(w, found)
    return value, found, loss.general_value_and_grad(w, expected), expected


def agree(loss: LinearLoss, w: Any, *, rtol: float = 1e-11, atol: float = 1e-10) -> None:
    value, found, general, expected = both(loss, w)
    assert value == pytest.approx(general, rel=rtol)
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)


def same_bits_for_threads(b: Batch, structure: Structure) -> None:
    """Value and gradient of many sequences drawn from a batch are the same on 1, 2, 3 and 5 threads."""
    rng = np.random.default_rng(8)
    data = b.select(rng.integers(0, 60, 1500).tolist())
    layout = Layout.all_pairs(data, structure)
    w = rng.normal(size=layout.weights)
    first, other = np.empty_like(w), np.empty_like(w)
    value = Likelihood().bind(layout, structure, data, threads=1).value_and_grad(w, first)
    for threads in (2, 3, 5):
        problem = Likelihood().bind(layout, structure, data, threads=threads)
        for _ in range(2):
            assert problem.value_and_grad(w, other) == value
            assert (other == first).all()


EDGES = 30


def edged(b: Batch, *, values: bool = False) -> Batch:
    """None, one or several edge attributes at a position, also at first ones; some twice, some unknown."""
    rng = np.random.default_rng(11)
    counts = rng.integers(0, 4, b.positions)
    attr = np.minimum(rng.zipf(1.4, counts.sum()) - 1, EDGES + 5).astype(np.int32)
    attr[1::7] = attr[:-1:7]
    return replace(
        b,
        edge_ptr=np.cumsum([0, *counts]),
        edge_attr=attr,
        edge_value=rng.normal(size=len(attr)) if values else None,
    )
