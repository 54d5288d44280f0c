"""Values and gradients of the training objectives against enumeration and finite differences."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from crfkit.batch import Batch
from crfkit.layout import Layout, LayoutOptions
from crfkit.objectives import Likelihood
from crfkit.structures import Chain
from crfkit.structures.constraints import Forbid

L, A = 3, 7


def batch(seed: int = 0, *, edges: bool = False, dense: bool = False, values: bool = False) -> Batch:
    rng = np.random.default_rng(seed)
    lengths = [3, 1, 4, 0, 2]
    P = sum(lengths)
    counts = rng.integers(0, 4, P)
    edge_counts = rng.integers(0, 3, P)
    return Batch(
        seq_ptr=np.cumsum([0, *lengths]),
        attr_ptr=np.cumsum([0, *counts]),
        attr=rng.integers(0, A, counts.sum()),
        value=rng.normal(size=counts.sum()) if values else None,
        label=rng.integers(0, L, P),
        edge_ptr=np.cumsum([0, *edge_counts]) if edges else None,
        edge_attr=rng.integers(0, 2, edge_counts.sum()) if edges else None,
        dense=rng.normal(size=(P, 2)) if dense else None,
    )


def soft(P: int) -> Any:
    return np.random.default_rng(3).dirichlet(np.ones(L), P)


def partly(b: Batch) -> Batch:
    assert b.label is not None
    label = b.label.copy()
    label[::3] = -1
    mask = np.random.default_rng(4).random((b.positions, L)) < 0.6
    mask[:, 1] = True
    return replace(b, label=label, allowed=mask)


OPTIONS: LayoutOptions = {"start": True, "stop": True}
weights = np.array([1.0, 0.25, 2.0, 1.0, 0.0])
CASES: dict[str, tuple[Batch, Chain, Likelihood]] = {
    "plain": (batch(), Chain(L), Likelihood()),
    "values": (batch(values=True), Chain(L), Likelihood()),
    "dense": (batch(dense=True), Chain(L), Likelihood()),
    "edge attributes": (batch(edges=True), Chain(L), Likelihood()),
    "sequence weights": (replace(batch(), weight=weights), Chain(L), Likelihood()),
    "weights and edge attributes": (replace(batch(edges=True), weight=weights), Chain(L), Likelihood()),
    "label weights": (batch(), Chain(L), Likelihood(label_weights={"1": 3.0, "2": 0.5})),
    "partial labels": (partly(batch()), Chain(L), Likelihood()),
    "unknown labels": (replace(batch(), label=[-1, 0, 1, 2, -1, -1, 0, 1, 2, -1]), Chain(L), Likelihood()),
    "soft labels": (replace(batch(), soft=soft(10)), Chain(L), Likelihood()),
    "soft labels and edge attributes": (replace(batch(edges=True), soft=soft(10)), Chain(L), Likelihood()),
    "weighted partial labels": (replace(partly(batch()), weight=weights), Chain(L), Likelihood()),
    "constraints": (
        replace(batch(), label=[0, 0, 1, 2, 0, 1, 0, 0, 1, 2]),
        Chain(L, constraints=[Forbid("0", "2"), Forbid("1", "1")]),
        Likelihood(),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_gradient_equals_finite_differences(name: str) -> None:
    data, chain, objective = CASES[name]
    layout = Layout.all_pairs(data, L, attributes=A, **OPTIONS)
    problem = objective.bind(layout, chain, data)
    rng = np.random.default_rng(1)
    w = rng.normal(size=layout.weights)
    gradient, other = np.empty_like(w), np.empty_like(w)
    problem.value_and_grad(w, gradient)
    step = 1e-5
    for i in range(layout.weights):
        up, down = w.copy(), w.copy()
        up[i] += step
        down[i] -= step
        slope = (problem.value_and_grad(up, other) - problem.value_and_grad(down, other)) / (2 * step)
        assert slope == pytest.approx(gradient[i], abs=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_value_equals_enumeration(name: str) -> None:
    data, chain, objective = CASES[name]
    layout = Layout.all_pairs(data, L, attributes=A, **OPTIONS)
    problem = objective.bind(layout, chain, data)
    w = np.random.default_rng(2).normal(size=layout.weights)
    expected = sum(enumerated_loss(problem, w, n) for n in range(data.sequences))
    assert problem.value_and_grad(w, np.empty_like(w)) == pytest.approx(expected, abs=1e-9)


def enumerated_loss(problem: Any, w: Any, n: int) -> float:
    """Weight of sequence n times (log of the sum over all paths minus that of the gold)."""
    data, layout, chain = problem.batch, problem.layout, problem.chain
    a, b = int(data.seq_ptr[n]), int(data.seq_ptr[n + 1])
    if a == b:
        return 0.0
    total, gold, expected = -np.inf, -np.inf, 0.0
    for path in product(range(L), repeat=b - a):
        s = path_score(layout, chain, data, w, a, path)
        total = np.logaddexp(total, s)
        if data.soft is not None:
            q = float(np.prod([data.soft[a + t, y] for t, y in enumerate(path)]))
            expected += q * s
            continue
        inside = True
        for t, y in enumerate(path):
            if data.label is not None and data.label[a + t] >= 0:
                inside &= data.label[a + t] == y
            elif data.allowed is not None:
                inside &= bool(data.allowed[a + t, y])
        if inside:
            gold = np.logaddexp(gold, s)
    return float(problem.weight[n] * (total - (expected if data.soft is not None else gold)))


def path_score(layout: Layout, chain: Chain, data: Batch, w: Any, a: int, path: tuple[int, ...]) -> float:
    """Score of one path, weight by weight from `Layout.describe`."""
    at = {tuple(layout.describe(i)): w[i] for i in range(layout.weights)}
    if chain.resolved and not chain.resolved.accepts(path):
        return -np.inf
    s = at["start", None, None, path[0]] + at["stop", None, None, path[-1]]
    for t, y in enumerate(path):
        p = a + t
        for i in range(data.attr_ptr[p], data.attr_ptr[p + 1]):
            s += (1.0 if data.value is None else data.value[i]) * at["node", data.attr[i], None, y]
        if data.dense is not None:
            s += sum(x * at["dense", k, None, y] for k, x in enumerate(data.dense[p]))
        if t:
            s += at["transition", None, path[t - 1], y]
            if data.edge_ptr is not None and data.edge_attr is not None:
                for i in range(data.edge_ptr[p], data.edge_ptr[p + 1]):
                    s += at["edge", data.edge_attr[i], path[t - 1], y]
    return float(s)
