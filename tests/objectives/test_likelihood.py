"""Values and gradients of the training objectives against enumeration and finite differences."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from crfkit.data.batch import Batch
from crfkit.linear.layout import Layout
from crfkit.objectives import Likelihood
from crfkit.structures import Chain
from crfkit.structures.chains.gold import add_chain_counts
from crfkit.structures.constraints import Forbid
from crfkit.structures.gold import Path, Soft
from tests.cases.batches import random_batch
from tests.cases.layouts import path_score

L, A = 3, 7


def batch(*, edges: bool = False, dense: bool = False, values: bool = False) -> Batch:
    rng = np.random.default_rng(0)
    return random_batch(rng, [3, 1, 4, 0, 2], A, L, values=values, edges=edges, dense=2 * dense)


def soft(P: int) -> Any:
    return np.random.default_rng(3).dirichlet(np.ones(L), P)


def partly(b: Batch) -> Batch:
    assert b.label is not None
    label = b.label.copy()
    label[::3] = -1
    mask = np.random.default_rng(4).random((b.positions, L)) < 0.6
    mask[:, 1] = True
    return replace(b, label=label, allowed=mask)


def labeled(*label: int) -> Batch:
    return replace(batch(), label=np.array(label, dtype=np.int32))


def layout_of(data: Batch, chain: Chain) -> Layout:
    return Layout.all_pairs(data, chain, attributes=A, start=True, stop=True)


weights = np.array([1.0, 0.25, 2.0, 1.0, 0.0])
CASES: dict[str, tuple[Batch, Chain, Likelihood]] = {
    "plain": (batch(), Chain(L), Likelihood()),
    "values": (batch(values=True), Chain(L), Likelihood()),
    "dense": (batch(dense=True), Chain(L), Likelihood()),
    "edge attributes": (batch(edges=True), Chain(L), Likelihood()),
    "sequence weights": (replace(batch(), weight=weights), Chain(L), Likelihood()),
    "equal sequence weights": (replace(batch(), weight=np.full(5, 0.5)), Chain(L), Likelihood()),
    "weights and edge attributes": (replace(batch(edges=True), weight=weights), Chain(L), Likelihood()),
    "label weights": (batch(), Chain(L), Likelihood(label_weights={"1": 3.0, "2": 0.5})),
    "partial labels": (partly(batch()), Chain(L), Likelihood()),
    "unknown labels": (labeled(-1, 0, 1, 2, -1, -1, 0, 1, 2, -1), Chain(L), Likelihood()),
    "soft labels": (replace(batch(), soft=soft(10)), Chain(L), Likelihood()),
    "soft labels and edge attributes": (replace(batch(edges=True), soft=soft(10)), Chain(L), Likelihood()),
    "partial labels and edge attributes": (partly(batch(edges=True)), Chain(L), Likelihood()),
    "dense and edge attributes": (batch(edges=True, dense=True), Chain(L), Likelihood()),
    "weighted partial labels": (replace(partly(batch()), weight=weights), Chain(L), Likelihood()),
    "constraints": (
        labeled(0, 0, 1, 2, 0, 1, 0, 0, 1, 2),
        Chain(L, constraints=[Forbid("0", "2"), Forbid("1", "1")]),
        Likelihood(),
    ),
    "order 0": (batch(), Chain(L, order=0), Likelihood()),
    "order 0 with weights": (replace(batch(), weight=weights), Chain(L, order=0), Likelihood()),
    "order 0 partial labels": (partly(batch()), Chain(L, order=0), Likelihood()),
    "order 2": (batch(), Chain(L, order=2), Likelihood()),
    "order 2 with weights": (replace(batch(), weight=weights), Chain(L, order=2), Likelihood()),
    "order 2 with equal weights": (
        replace(batch(), weight=np.full(5, 0.5)),
        Chain(L, order=2),
        Likelihood(),
    ),
    "order 2 label weights": (batch(), Chain(L, order=2), Likelihood(label_weights={"1": 3.0})),
    "order 2 soft labels": (replace(batch(), soft=soft(10)), Chain(L, order=2), Likelihood()),
    "order 2 weighted soft labels": (
        replace(batch(), soft=soft(10), weight=weights),
        Chain(L, order=2),
        Likelihood(),
    ),
    "order 2 partial labels": (partly(batch()), Chain(L, order=2), Likelihood()),
    "order 2 weighted partial labels": (
        replace(partly(batch()), weight=weights),
        Chain(L, order=2),
        Likelihood(),
    ),
    "order 2 constraints": (
        labeled(0, 0, 1, 2, 0, 1, 0, 0, 1, 2),
        Chain(L, order=2, constraints=[Forbid("0", "2"), Forbid("1", "1")]),
        Likelihood(),
    ),
    "order 3": (batch(values=True, dense=True), Chain(L, order=3), Likelihood()),
    "order 3 soft labels": (replace(batch(), soft=soft(10)), Chain(L, order=3), Likelihood()),
}


@pytest.mark.parametrize("name", CASES)
def test_gradient_equals_finite_differences(name: str) -> None:
    data, chain, objective = CASES[name]
    layout = layout_of(data, chain)
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
    layout = layout_of(data, chain)
    problem = objective.bind(layout, chain, data)
    w = np.random.default_rng(2).normal(size=layout.weights)
    expected = sum(enumerated_loss(problem, w, n) for n in range(data.sequences))
    assert problem.value_and_grad(w, np.empty_like(w)) == pytest.approx(expected, abs=1e-9)


def enumerated_loss(problem: Any, w: Any, n: int) -> float:
    """Weight of sequence n times (log of the sum over all paths minus that of the gold)."""
    data, layout, chain = problem.batch, problem.layout, problem.structure
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


def test_soft_counts_of_runs_do_not_depend_on_the_block() -> None:
    """More positions than fit into one block, of weights that differ."""
    rng = np.random.default_rng(5)
    P, k, wide = 1500, 3, 20
    data = Batch(
        seq_ptr=np.array([0, 700, 701, P]),
        attr_ptr=np.zeros(P + 1, dtype=np.int64),
        attr=np.zeros(0, dtype=np.int32),
        soft=rng.dirichlet(np.ones(wide), P),
    )
    assert data.soft is not None
    weight = rng.uniform(size=3)
    each = np.repeat(weight, np.diff(data.seq_ptr))
    slot = Chain(wide, order=k).slots()["transition"]
    counts = {"transition": np.zeros(slot.cells)}
    add_chain_counts(Soft(data.seq_ptr, data.soft), weight, wide, k, counts)
    tables = slot.split(counts["transition"])
    inside = [p for p in range(P) if p >= 3 and not {p - 2, p - 1, p} & {0, 700, 701}]
    q = [data.soft[np.array(inside) - back] for back in (3, 2, 1, 0)]
    expected = np.einsum("p,pa,pb,pc,pd->abcd", each[inside], *q, optimize=True)
    np.testing.assert_allclose(tables[2], expected, rtol=1e-10, atol=1e-13)


def test_soft_labels_that_are_certain_count_like_a_path() -> None:
    data = batch()
    assert data.label is not None
    weight = np.random.default_rng(6).uniform(size=data.sequences)
    shapes = {"node": (data.positions, L), "transition": (L**2 + L**3 + L**4,), "start": (L,), "stop": (L,)}
    found = []
    for gold in (Path(data.seq_ptr, data.label), Soft(data.seq_ptr, np.eye(L)[data.label])):
        found.append({slot: np.zeros(shape) for slot, shape in shapes.items()})
        add_chain_counts(gold, weight, L, 3, found[-1])
    for slot in shapes:
        assert found[0][slot].sum() > 0.0
        np.testing.assert_allclose(found[0][slot], found[1][slot], atol=1e-14)


def test_the_orders_of_layout_and_chain_must_agree() -> None:
    with pytest.raises(
        ValueError, match="does not fit a chain of order 2: its slots edge, transition differ"
    ):
        Likelihood().bind(layout_of(batch(), Chain(L)), Chain(L, order=2), batch())


def test_a_sequence_without_a_labeling_is_named_whatever_its_weight() -> None:
    chain = Chain(L, order=2, constraints=[Forbid("0", "0")])
    mask = np.ones((10, L), dtype=np.bool_)
    mask[4:8, 1:] = False  # sequence 2 may only have the label 0
    data = replace(batch(), label=None, allowed=mask, weight=weights)
    problem = Likelihood().bind(layout_of(data, chain), chain, data)
    with pytest.raises(ValueError, match="sequence 2 has no labeling"):
        problem.value_and_grad(np.zeros(problem.size), np.empty(problem.size))
