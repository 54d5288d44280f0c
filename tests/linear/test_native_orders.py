"""Native sums and likelihoods of chains of order 2 and more, against logarithms and enumeration."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from crfkit import inference
from crfkit.data.batch import Batch
from crfkit.linear.fast.likelihood import NativeLikelihood
from crfkit.linear.layout import Layout
from crfkit.objectives import Likelihood
from crfkit.structures import Chain
from crfkit.structures.constraints import Forbid
from tests.cases.likelihood import agree, batch, made, partly, same_bits_for_threads, soft, weighted

DATA = {
    "path": lambda L: batch(L),
    "values and weights": lambda L: weighted(batch(L, values=True)),
    "weighted partial": lambda L: weighted(partly(batch(L), L)),
    "weighted soft": lambda L: weighted(soft(batch(L), L)),
}


@pytest.mark.parametrize(("order", "L"), [(2, 1), (2, 2), (2, 5), (2, 9), (2, 22), (3, 2), (3, 4), (4, 3)])
@pytest.mark.parametrize("name", DATA)
def test_equals_the_general_path(name: str, L: int, order: int) -> None:
    data, chain = DATA[name](L), Chain(L, order=order)
    rng = np.random.default_rng(1)
    layouts = [Layout.all_pairs(data, chain, attributes=1950, start=True, stop=True)]
    if data.label is not None:
        layouts.append(Layout.observed(data, chain, transitions="observed"))
    for layout in layouts:
        problem = Likelihood().bind(layout, chain, data, threads=2)
        assert NativeLikelihood.covers(problem) == ""
        agree(problem, rng.normal(size=layout.weights))


@pytest.mark.parametrize("order", [2, 3])
def test_equals_enumeration(order: int) -> None:
    """Lengths 0 to 5 with weights: the value, and the gradient by differences of it."""
    L, chain = 3, Chain(3, order=order)
    lengths = [1, 0, 2, 5, 3, 4, 1, 5]
    P, rng = sum(lengths), np.random.default_rng(0)
    data = made(
        seq_ptr=np.cumsum([0, *lengths]),
        attr_ptr=np.arange(P + 1),
        attr=rng.integers(0, 4, P),
        label=rng.integers(0, L, P),
        weight=rng.random(len(lengths)) + 0.5,
    )
    layout = Layout.all_pairs(data, chain, start=True, stop=True)
    problem = Likelihood().bind(layout, chain, data)
    w, gradient = rng.normal(size=layout.weights), np.empty(layout.weights)
    assert problem.value_and_grad(w, gradient) == pytest.approx(enumerated(layout, chain, data, w), rel=1e-12)
    moved = [w + step * e for e in np.eye(layout.weights) for step in (1e-5, -1e-5)]
    values = np.array([problem.value_and_grad(x, np.empty_like(x)) for x in moved]).reshape(-1, 2)
    np.testing.assert_allclose(gradient, (values[:, 0] - values[:, 1]) / 2e-5, atol=1e-6)


def enumerated(layout: Layout, chain: Chain, data: Batch, w: Any) -> float:
    """Return the loss by the scores of all labelings of each sequence."""
    assert data.weight is not None
    assert data.label is not None
    node = w[layout.parts["node"]].reshape(-1, layout.labels)[data.attr]  # [P, L]
    tables, start, stop = layout.transition_tables(w), w[layout.parts["start"]], w[layout.parts["stop"]]

    def score(y: Any, p: int) -> float:
        grams = (
            tables[h - 1][tuple(y[t - h : t + 1])]
            for t in range(len(y))
            for h in range(1, chain.order + 1)
            if h <= t
        )
        return float(sum(node[p + t, y[t]] for t in range(len(y))) + sum(grams) + start[y[0]] + stop[y[-1]])

    total = 0.0
    for n in range(data.sequences):
        p, q = int(data.seq_ptr[n]), int(data.seq_ptr[n + 1])
        if q > p:
            every = [score(y, p) for y in product(range(layout.labels), repeat=q - p)]
            total += data.weight[n] * (np.logaddexp.reduce(every) - score(data.label[p:q], p))
    return float(total)


@pytest.mark.parametrize("order", [2, 3])
def test_constraints_forbid_tuples(order: int) -> None:
    L = 4
    chain = Chain([str(y) for y in range(L)], order=order, constraints=[Forbid("0", "2"), Forbid("1", "1")])
    data = soft(batch(L), L)
    layout = Layout.all_pairs(data, chain, start=True, stop=True)
    agree(Likelihood().bind(layout, chain, data), np.random.default_rng(2).normal(size=layout.weights))


@pytest.mark.parametrize("name", ["values and weights", "weighted partial"])
def test_same_bits_for_any_number_of_threads(name: str) -> None:
    same_bits_for_threads(DATA[name](6), Chain(6, order=2))


def test_what_is_packed_gives_the_same_bits() -> None:
    data, chain = batch(4), Chain(4, order=3)
    layout = Layout.all_pairs(data, chain, start=True)
    w = np.random.default_rng(2).normal(size=layout.weights)
    first, other = np.empty_like(w), np.empty_like(w)
    loss, again = (Likelihood().bind(layout, chain, data) for _ in range(2))
    value = loss.value_and_grad(w, first)
    again.unpack(loss.packed())
    assert again.value_and_grad(w, other) == value
    assert first.tobytes() == other.tobytes()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_weight_that_is_not_finite_is_named(bad: float) -> None:
    data, chain = batch(3), Chain(3, order=2)
    layout = Layout.all_pairs(data, chain)
    problem = Likelihood().bind(layout, chain, data)
    for index in (0, layout.parts["transition"].start, layout.weights - 1):
        w = np.zeros(layout.weights)
        w[index] = bad
        with pytest.raises(ValueError, match=rf"w\[{index}\] is"):
            problem.value_and_grad(w, np.empty_like(w))


def test_a_sequence_without_labeling_is_named() -> None:
    data = made(seq_ptr=[0, 1, 4], attr_ptr=[0, 1, 2, 3, 4], attr=[0, 0, 0, 0], label=[-1, 0, 0, 1])
    chain = Chain(2, order=2, constraints=[Forbid("0", "0")])
    layout = Layout.all_pairs(data, chain)
    problem = Likelihood().bind(layout, chain, data)
    with pytest.raises(ValueError, match="sequence 1 has no labeling"):
        problem.value_and_grad(np.zeros(layout.weights), np.empty(layout.weights))


@pytest.mark.parametrize("scale", [1.0, 40.0, 150.0, 1e4])
@pytest.mark.parametrize("holes", [0.0, 0.15])
@pytest.mark.parametrize(("order", "L"), [(2, 3), (2, 23), (3, 5), (5, 2)])
def test_sums_equal_those_of_logarithms(order: int, L: int, holes: float, scale: float) -> None:
    """Lanes of all lengths, some of them shorter than the order; tuples forbidden at random."""
    rng = np.random.default_rng(order * L)
    lengths = np.append(rng.integers(0, 9, 40), [30, 31])
    tables = [scale * rng.normal(size=(L,) * (h + 1)) for h in range(1, order + 1)]
    for table in tables:
        table[rng.random(table.shape) < holes] = -np.inf
    ends = [scale * rng.normal(size=L) for _ in range(2)]
    node = scale * rng.normal(size=(int(lengths.sum()), L))
    scores = Chain(L, order=order).potentials(
        node, tables, start=ends[0], stop=ends[1], seq_ptr=np.cumsum([0, *lengths])
    )
    found, wanted = inference.marginals(scores), inference.marginals(scores, space="log")
    np.testing.assert_allclose(found.log_partition, wanted.log_partition, rtol=1e-12, atol=1e-10)
    np.testing.assert_array_equal(inference.log_partition(scores), found.log_partition)
    for name in ("node", "start", "stop"):
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), rtol=1e-9, atol=1e-9)
    for one, other in zip(found.edge, wanted.edge, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
