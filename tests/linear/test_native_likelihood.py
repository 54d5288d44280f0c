"""The native evaluation of the likelihood against the general path, where attributes imply each other."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from crfkit.data.batch import Batch
from crfkit.linear.fast.likelihood import NativeLikelihood
from crfkit.linear.layout import Layout
from crfkit.linear.loss import LinearLoss
from crfkit.objectives import Likelihood, Local, MaxMargin, Perceptron
from crfkit.structures import Chain
from crfkit.structures.chains.local import LocalChain
from crfkit.structures.constraints import Forbid, SegmentLength
from tests.cases.layouts import path_score
from tests.cases.likelihood import agree, batch, made, partly, same_bits_for_threads, soft, weighted

DATA = {
    "path": lambda L: batch(L),
    "shuffled": lambda L: batch(L, shuffled=True),
    "values": lambda L: batch(L, values=True),
    "weights": lambda L: weighted(batch(L)),
    "partial": lambda L: partly(batch(L), L),
    "weighted partial": lambda L: weighted(partly(batch(L), L)),
    "soft": lambda L: soft(batch(L), L),
    "weighted soft values": lambda L: weighted(soft(batch(L, values=True), L)),
}


@pytest.mark.parametrize("L", [2, 3, 8, 9, 22, 40, 70])
@pytest.mark.parametrize("name", DATA)
def test_equals_the_general_path(name: str, L: int) -> None:
    data = DATA[name](L)
    rng = np.random.default_rng(1)
    layouts = [Layout.all_pairs(data, L, attributes=1950, start=True, stop=True, transitions="all")]
    if data.label is not None:
        layouts += [
            Layout.observed(data, L, start=True),
            Layout.observed(data, L, stop=True, transitions="none", min_count=2),
            Layout.observed(data, L, transitions="observed", table_bytes=0),
        ]
    for layout in layouts:
        problem = Likelihood().bind(layout, Chain(L), data, threads=2)
        agree(problem, rng.normal(size=layout.weights))


def test_constraints_forbid_steps_and_ends() -> None:
    L = 4
    names = [str(y) for y in range(L)]
    chain = Chain(names, constraints=[Forbid("0", "2"), Forbid("1", "1")])
    for data in (soft(batch(L), L), partly(replace(batch(L), label=np.full(batch(L).positions, 3)), L)):
        layout = Layout.all_pairs(data, L, start=True, stop=True)
        agree(Likelihood().bind(layout, chain, data), np.random.default_rng(2).normal(size=layout.weights))


@pytest.mark.parametrize("scale", [30.0, 300.0])
@pytest.mark.parametrize("name", ["weights", "weighted partial", "soft"])
def test_scores_too_wide_for_scaled_sums(name: str, scale: float) -> None:
    L = 5
    data = DATA[name](L)
    layout = Layout.all_pairs(data, L, start=True)
    w = scale * np.random.default_rng(6).normal(size=layout.weights)
    agree(Likelihood().bind(layout, Chain(L), data), w, atol=1e-8)


@pytest.mark.parametrize("name", DATA)
def test_same_bits_for_any_number_of_threads(name: str) -> None:
    same_bits_for_threads(DATA[name](6), Chain(6))


def test_sums_are_shared() -> None:
    data = batch(3, sequences=300)
    loss = Likelihood().bind(Layout.all_pairs(data, 3), Chain(3), data)
    assert NativeLikelihood(loss).rows_left < 0.7 * len(data.attr)


def test_what_it_covers() -> None:
    """Each reason by itself; where there is one, the general path is taken."""
    data, L = batch(3), 3
    dense = replace(data, dense=np.ones((data.positions, 2)))
    names = ["x", "y", "z"]
    limits = Chain(names, constraints=[SegmentLength("x", maximum=50)])
    cases: list[tuple[Any, Any, Batch, str]] = [
        (Likelihood(), Chain(L), data, ""),
        (Likelihood(), Chain(L, constraints=[Forbid("0", "0")]), soft(data, L), ""),
        (Likelihood(), Chain(L), partly(data, L), ""),
        (Likelihood(), Chain(L, order=0), data, "a chain of order 0"),
        (Likelihood(), Chain(L, order=2), data, ""),
        (Likelihood(), limits, data, "limits on segment lengths"),
        (Likelihood(), Chain(L), dense, "real-valued columns"),
        (MaxMargin(), Chain(L), data, "the objective max-margin"),
        (Perceptron(), Chain(L), data, "the objective perceptron"),
        (Local(), LocalChain(L), data, "the objective local"),
    ]
    for objective, structure, given, reason in cases:
        loss = objective.bind(Layout.all_pairs(given, structure), structure, given)
        assert NativeLikelihood.covers(loss) == reason
        assert isinstance(loss.fast, NativeLikelihood) == (not reason)
        w = np.random.default_rng(1).normal(size=loss.size)
        found, expected = np.empty_like(w), np.empty_like(w)
        assert loss.value_and_grad(w, found) == pytest.approx(loss.general_value_and_grad(w, expected))
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-10)


@pytest.mark.parametrize("name", DATA)
def test_what_is_packed_gives_the_same_bits(name: str) -> None:
    data = DATA[name](4)
    layout = Layout.all_pairs(data, 4, start=True, stop=True)
    w = np.random.default_rng(2).normal(size=layout.weights)
    first, other = np.empty_like(w), np.empty_like(w)
    loss, again = (Likelihood().bind(layout, Chain(4), data) for _ in range(2))
    value = loss.value_and_grad(w, first)
    again.unpack(loss.packed())
    assert again.value_and_grad(w, other) == value
    assert first.tobytes() == other.tobytes()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_weight_that_is_not_finite_is_named(bad: float) -> None:
    L = 3
    data = batch(L)
    for make in (Layout.observed, Layout.all_pairs):
        layout = make(data, L, start=True)
        problem = Likelihood().bind(layout, Chain(L), data)
        used = [int(layout.node_ptr[data.attr[i]]) for i in (0, 1, 4, len(data.attr) // 2, -1)]
        for index in (*used, layout.parts["transition"].start, layout.weights - 1):
            w = np.zeros(layout.weights)
            w[index] = bad
            with pytest.raises(ValueError, match=rf"w\[{index}\] is"):
                problem.value_and_grad(w, np.empty_like(w))


def test_overflow_is_an_error() -> None:
    data = batch(3)
    layout = Layout.all_pairs(data, 3)
    problem = Likelihood().bind(layout, Chain(3), data)
    w = np.full(layout.weights, 1e308)
    with pytest.raises(ValueError, match="too large to be added up"):
        problem.value_and_grad(w, np.empty_like(w))


def test_a_sequence_without_labeling_is_named() -> None:
    data = made(seq_ptr=[0, 1, 4], attr_ptr=[0, 1, 2, 3, 4], attr=[0, 0, 0, 0], label=[-1, 0, 0, 1])
    chain = Chain(2, constraints=[Forbid("0", "0")])
    layout = Layout.all_pairs(data, 2)
    problem = Likelihood().bind(layout, chain, data)
    with pytest.raises(ValueError, match="sequence 1 has no labeling"):
        problem.value_and_grad(np.zeros(layout.weights), np.empty(layout.weights))


def test_wrong_arrays_are_refused() -> None:
    data = batch(3)
    layout = Layout.all_pairs(data, 3)
    problem = Likelihood().bind(layout, Chain(3), data)
    w = np.zeros(layout.weights)
    with pytest.raises(ValueError, match="w has shape"):
        problem.value_and_grad(w[1:], w.copy())
    with pytest.raises(ValueError, match="out is"):
        problem.value_and_grad(w, w[1:].copy())


def test_diagonal_equals_enumeration() -> None:
    L = 3
    rng = np.random.default_rng(9)
    data = made(
        seq_ptr=[0, 3, 3, 5],
        attr_ptr=[0, 2, 4, 5, 7, 8],
        attr=[0, 0, 1, 2, 0, 2, 1, 3],
        value=rng.normal(size=8),
        label=[0, 1, 2, 0, 1],
        weight=[2.0, 1.0, 0.5],
        edge_ptr=[0, 0, 1, 2, 2, 3],
        edge_attr=[0, 1, 0],
        dense=rng.normal(size=(5, 2)),
    )
    for one in (data, replace(data, edge_ptr=None, edge_attr=None, dense=None, value=None)):
        layout = Layout.all_pairs(one, L, start=True, stop=True)
        chain = Chain(L)
        w = rng.normal(size=layout.weights)
        problem = Likelihood().bind(layout, chain, one)
        np.testing.assert_allclose(problem.diagonal(w), enumerated_diagonal(problem, w), atol=1e-10)


def enumerated_diagonal(loss: LinearLoss, w: Any) -> Any:
    """Weight times the variance of each local feature, by probabilities of whole paths."""
    data, layout, chain = loss.batch, loss.layout, loss.structure
    assert isinstance(chain, Chain)
    assert data.weight is not None
    total = np.zeros(layout.weights)
    for n in range(data.sequences):
        a, b = int(data.seq_ptr[n]), int(data.seq_ptr[n + 1])
        paths = list(product(range(layout.labels), repeat=b - a)) if b > a else []
        scores = np.array([path_score(layout, chain, data, w, a, path) for path in paths])
        probability = np.exp(scores - np.logaddexp.reduce(scores)) if paths else scores
        for t in range(b - a):
            local = np.array([local_features(layout, data, a, t, b - a, path) for path in paths])
            mean = probability @ local
            total += data.weight[n] * (probability @ local**2 - mean**2)
    return total


def local_features(layout: Layout, data: Batch, a: int, t: int, T: int, path: tuple[int, ...]) -> Any:
    """Return the features of position t of a path, [F]."""
    found, y, p = np.zeros(layout.weights), path[t], a + t
    for i in range(layout.weights):
        kind, attribute, before, label = layout.describe(i)
        if label != y or (before is not None and (t == 0 or before != path[t - 1])):
            continue
        if kind == "node":
            for j in range(data.attr_ptr[p], data.attr_ptr[p + 1]):
                if data.attr[j] == attribute:
                    found[i] += 1.0 if data.value is None else data.value[j]
        elif kind == "edge" and data.edge_ptr is not None and data.edge_attr is not None:
            found[i] = np.count_nonzero(data.edge_attr[data.edge_ptr[p] : data.edge_ptr[p + 1]] == attribute)
        elif kind == "dense" and data.dense is not None:
            found[i] = data.dense[p, attribute]
        elif kind == "transition" or (kind == "start" and t == 0) or (kind == "stop" and t == T - 1):
            found[i] = 1.0
    return found
