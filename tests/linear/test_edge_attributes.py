"""Training with edge attributes: the native evaluation against the general path, and its memory."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from crfkit.arrays import Floats
from crfkit.data.alphabet import Alphabet
from crfkit.linear.fast.steps import gold_edges
from crfkit.linear.group_counts import GroupCounts
from crfkit.linear.layout import Layout
from crfkit.models.model import Model, Names
from crfkit.objectives import Likelihood
from crfkit.structures import Chain
from crfkit.structures.constraints import Forbid
from crfkit.structures.gold import Sets, gold_of
from tests.cases.likelihood import (
    EDGES,
    agree,
    batch,
    edged,
    made,
    partly,
    same_bits_for_threads,
    soft,
    weighted,
)

DATA = {
    "path": lambda L: edged(batch(L)),
    "values": lambda L: edged(batch(L, values=True), values=True),
    "weights": lambda L: weighted(edged(batch(L))),
    "partial": lambda L: edged(partly(batch(L), L)),
    "weighted partial values": lambda L: weighted(edged(partly(batch(L), L), values=True)),
    "soft": lambda L: edged(soft(batch(L), L)),
    "weighted soft values": lambda L: weighted(edged(soft(batch(L), L), values=True)),
}


@pytest.mark.parametrize("L", [2, 5, 8, 9, 22, 40])
@pytest.mark.parametrize("name", DATA)
def test_equals_the_general_path(name: str, L: int) -> None:
    data = DATA[name](L)
    rng = np.random.default_rng(1)
    layouts = [Layout.all_pairs(data, L, edge_attributes=EDGES, start=True, stop=True)]
    if data.label is not None:
        layouts += [
            Layout.observed(data, L, edge_attributes=EDGES, start=True),
            Layout.observed(data, L, edge_attributes=EDGES, transitions="none", min_count=2),
            Layout.observed(data, L, edge_attributes=0, transitions="observed"),
        ]
    for layout in layouts:
        problem = Likelihood().bind(layout, Chain(L), data, threads=2)
        agree(problem, rng.normal(size=layout.weights))


def test_constraints_forbid_steps_whatever_the_attributes() -> None:
    L = 4
    chain = Chain([str(y) for y in range(L)], constraints=[Forbid("0", "2"), Forbid("1", "1")])
    plain = batch(L)
    for data in (soft(plain, L), partly(replace(plain, label=np.full(plain.positions, 3)), L)):
        data = edged(data)
        layout = Layout.all_pairs(data, L, start=True, stop=True)
        agree(Likelihood().bind(layout, chain, data), np.random.default_rng(2).normal(size=layout.weights))


@pytest.mark.parametrize("scale", [40.0, 300.0, 2000.0])
@pytest.mark.parametrize("name", ["weights", "weighted partial values", "soft"])
def test_weights_too_wide_for_scaled_sums(name: str, scale: float) -> None:
    L = 5
    data = DATA[name](L)
    layout = Layout.all_pairs(data, L, edge_attributes=EDGES)
    w = np.random.default_rng(6).normal(size=layout.weights)
    w[layout.parts["edge"]] *= scale
    agree(Likelihood().bind(layout, Chain(L), data), w, atol=1e-8)


def test_strong_weights_lose_no_digits() -> None:
    """A step that a weight of -30 takes away from the shared table, and one that +30 adds."""
    data = made(
        seq_ptr=[0, 3],
        attr_ptr=[0, 0, 0, 0],
        attr=[],
        label=[0, 1, 0],
        edge_ptr=[0, 0, 1, 2],
        edge_attr=[0, 1],
    )
    layout = Layout.observed(data, 2)
    w = np.zeros(layout.weights)
    w[layout.parts["edge"]] = [-30.0, 30.0]
    agree(Likelihood().bind(layout, Chain(2), data), w, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", DATA)
def test_same_bits_for_any_number_of_threads(name: str) -> None:
    same_bits_for_threads(DATA[name](6), Chain(6))


def test_rounds_add_up() -> None:
    """Blocks whose partial sums do not fit together: 12 blocks with 2.2 M of 8.4 M numbers each."""
    L, E, N = 70, 450, 600
    rng = np.random.default_rng(12)
    P = 20 * N
    data = made(
        seq_ptr=np.arange(0, P + 1, 20),
        attr_ptr=np.zeros(P + 1, dtype=np.int64),
        attr=[],
        label=rng.integers(0, L, P),
        edge_ptr=np.arange(P + 1),
        edge_attr=rng.integers(0, E, P),
    )
    layout = Layout.all_pairs(data, L, edge_attributes=E)
    w = 0.1 * rng.normal(size=layout.weights)
    whole, part, total, value = np.empty_like(w), np.empty_like(w), np.zeros_like(w), 0.0
    found = Likelihood().bind(layout, Chain(L), data, threads=2).value_and_grad(w, whole)
    for first in range(0, N, 100):
        one = data.select(slice(first, first + 100))
        value += Likelihood().bind(layout, Chain(L), one, threads=2).value_and_grad(w, part)
        total += part
    assert found == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(whole, total, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_weight_that_is_not_finite_is_named(bad: float) -> None:
    data = edged(batch(3))
    layout = Layout.all_pairs(data, 3, edge_attributes=EDGES)
    problem = Likelihood().bind(layout, Chain(3), data)
    for index in (layout.parts["edge"].start, layout.parts["edge"].start + 100):
        w = np.zeros(layout.weights)
        w[index] = bad
        with pytest.raises(ValueError, match=rf"w\[{index}\] is"):
            problem.value_and_grad(w, np.empty_like(w))


def test_overflow_is_an_error() -> None:
    data = edged(batch(3))
    layout = Layout.all_pairs(data, 3, edge_attributes=EDGES)
    w = np.zeros(layout.weights)
    w[layout.parts["edge"]] = 1e308
    with pytest.raises(ValueError, match="overflow"):
        Likelihood().bind(layout, Chain(3), data).value_and_grad(w, np.empty_like(w))


def test_attributes_of_first_positions_only() -> None:
    """They enter no step: the gradient of their weights is 0, whatever was there before."""
    data = made(
        seq_ptr=[0, 2, 4],
        attr_ptr=[0, 1, 2, 3, 4],
        attr=[0, 1, 1, 0],
        label=[0, 1, 1, 0],
        edge_ptr=[0, 1, 1, 2, 2],
        edge_attr=[0, 0],
    )
    layout = Layout.all_pairs(data, 2)
    w = np.random.default_rng(0).normal(size=layout.weights)
    gradient = np.full_like(w, 7.0)
    problem = Likelihood().bind(layout, Chain(2), data)
    problem.value_and_grad(w, gradient)
    assert (gradient[layout.parts["edge"]] == 0.0).all()
    agree(problem, w)


@pytest.mark.parametrize("name", ["path", "values", "soft", "weighted soft values"])
def test_counts_of_the_gold(name: str) -> None:
    L = 4
    data = DATA[name](L)
    assert data.edge_ptr is not None
    assert data.edge_attr is not None
    weight = np.random.default_rng(3).uniform(size=data.sequences)
    each = np.repeat(weight, np.diff(data.seq_ptr))  # [P]
    gold = gold_of(data, L)
    assert not isinstance(gold, Sets)
    for layout in (Layout.all_pairs(data, L), Layout.observed(data, L, min_count=3)):
        where = {
            layout.describe(i)[1:]: i for i in range(layout.parts["edge"].start, layout.parts["edge"].stop)
        }
        expected = np.zeros(layout.weights)
        begins = set(data.seq_ptr.tolist())
        for p in range(data.positions):
            for i in range(data.edge_ptr[p], data.edge_ptr[p + 1]):
                for x, y in np.ndindex(L, L):
                    k = where.get((int(data.edge_attr[i]), x, y))
                    if p in begins or k is None:
                        continue
                    if data.soft is None:
                        assert data.label is not None
                        share = float(data.label[p - 1] == x and data.label[p] == y)
                    else:
                        share = data.soft[p - 1, x] * data.soft[p, y]
                    expected[k] += share * each[p] * (1.0 if data.edge_value is None else data.edge_value[i])
        index, counts = gold_edges(Chain(layout.labels), layout, data, gold, weight)
        found = np.zeros(layout.weights)
        found[index + layout.parts["edge"].start] = counts
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_runs_of_sequences_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """The general path and the counts of iterative scaling, cut into runs of at most 20 positions."""
    L = 3
    data = weighted(edged(batch(L)))
    layout = Layout.observed(data, L, edge_attributes=EDGES, start=True, stop=True)
    w = np.random.default_rng(7).normal(size=layout.weights)

    def results() -> list[Floats]:
        problem = Likelihood().bind(layout, Chain(L), data)
        counts = GroupCounts(problem, groups=5)
        gradient, expected = np.empty_like(w), np.empty((len(counts.totals), len(w)))
        value = problem.general_value_and_grad(w, gradient)
        loss = counts.expect(w, expected)
        return [np.array([value, loss]), gradient, expected, counts.totals]

    whole = results()
    monkeypatch.setattr("crfkit.linear.loss.BLOCK_BYTES", 20 * 8 * (L + L * L))
    assert len(list(Likelihood().bind(layout, Chain(L), data).parts())) > 10
    for one, other in zip(whole, results(), strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-12, atol=1e-12)


def test_a_run_without_labeling_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    data = made(
        seq_ptr=[0, 2, 4, 6],
        attr_ptr=[0] * 7,
        attr=[],
        label=[0, 1, 0, 1, -1, 0],
        allowed=[[True, True]] * 4 + [[True, False]] * 2,
        edge_ptr=range(7),
        edge_attr=[0] * 6,
    )
    layout = Layout.all_pairs(data, 2)
    problem = Likelihood().bind(layout, Chain(2, constraints=[Forbid("0", "0")]), data)
    w = np.zeros(layout.weights)
    with pytest.raises(ValueError, match="sequence 2 has no labeling"):
        problem.value_and_grad(w, w.copy())
    monkeypatch.setattr("crfkit.linear.loss.BLOCK_BYTES", 2 * 8 * 6)
    problem = Likelihood().bind(layout, Chain(2, constraints=[Forbid("0", "0")]), data)
    with pytest.raises(ValueError, match="counted from sequence 2: sequence 0 has no labeling"):
        problem.general_value_and_grad(w, w.copy())


def test_predictions_do_not_depend_on_the_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    L = 3
    data = edged(batch(L))
    layout = Layout.observed(data, L, edge_attributes=EDGES)
    labels, attributes, edges = (Alphabet(map(str, range(n))).freeze() for n in (L, layout.attributes, EDGES))
    w = np.random.default_rng(7).normal(size=layout.weights)
    model = Model(Chain(labels.strings()), layout, Names(labels, attributes, edges), w)
    predicted, marginals = model.predict(data), model.predict_proba(data)
    monkeypatch.setattr("crfkit.models.scoring._CELLS", 20 * (L + L * L))
    sizes = [part.positions for part, _ in model.parts(data)]
    assert len(sizes) > 1
    assert max(sizes) <= 20
    assert model.predict(data) == predicted
    for one, other in zip(marginals, model.predict_proba(data), strict=True):
        np.testing.assert_array_equal(one, other)


MEMORY = """
import numpy as np
from pathlib import Path
from crfkit.data.batch import Batch
from crfkit.linear.layout import Layout
from crfkit.objectives import Likelihood
from crfkit.structures import Chain

def high_water():
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024

L, P, rng = 40, 30000, np.random.default_rng(0)
data = Batch(
    seq_ptr=np.arange(0, P + 1, 10), attr_ptr=np.zeros(P + 1, np.int64), attr=np.zeros(0, np.int32),
    label=rng.integers(0, L, P), edge_ptr=np.arange(P + 1), edge_attr=rng.integers(0, 5000, P),
)
layout = Layout.observed(data, L)
w = rng.normal(size=layout.weights)
before = high_water()
Likelihood().bind(layout, Chain(L), data, threads=2).value_and_grad(w, np.empty_like(w))
print(high_water() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_is_far_below_that_of_all_steps() -> None:
    """Scores of 40 x 40 steps at 30,000 positions would take 366 MB, their credits as much again."""
    run = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    assert float(run.stdout) < 100.0
