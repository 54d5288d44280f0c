"""Edge attributes and label n-grams in the loops that visit sequence by sequence, against general ones."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from crfkit import _native
from crfkit.arrays import Floats
from crfkit.data.batch import Batch
from crfkit.linear.layout import Layout
from crfkit.linear.mistakes import DecodedSequences
from crfkit.objectives import Likelihood, MaxMargin, Perceptron
from crfkit.optimize import AROW, LBFGS, MIRA, SGD, SGDL1, AdaGrad, AveragedPerceptron, PassiveAggressive
from crfkit.optimize.margin.bcfw import NativeVisits, visits_of
from crfkit.optimize.margin.certified import ShareWeights
from crfkit.optimize.margin.view import MarginSequences
from crfkit.optimize.margin.visits import SparseVisits
from crfkit.optimize.problem import Penalty
from crfkit.optimize.sequential.mira import CrfppMIRA
from crfkit.optimize.sequential.sequences import PerceptronSequences
from crfkit.structures import Chain
from crfkit.structures.constraints import START, Forbid
from tests.cases.batches import random_batch
from tests.cases.stochastic import order_of

LENGTHS = [4, 1, 0, 6, 3, 2, 5, 7, 1, 3, 4, 2]
BARRED = [Forbid("0", "0"), Forbid(START, "2")]
KINDS: dict[str, tuple[int, Chain]] = {  # labels: a row of cells is a table's, or a short list
    "edges": (3, Chain(3)),
    "edges of many labels": (9, Chain(9)),
    "edges, observed": (9, Chain(9)),
    "edges, constraints": (3, Chain(3, constraints=BARRED)),
    "order 2": (3, Chain(3, order=2)),
    "order 2, observed": (9, Chain(9, order=2)),
    "order 2, constraints": (3, Chain(3, order=2, constraints=BARRED)),
    "order 3": (3, Chain(3, order=3)),
    "order 2 of one label": (1, Chain(1, order=2)),
}


@cache
def case(kind: str) -> tuple[Batch, Chain, Layout]:
    (labels, chain), rng = KINDS[kind], np.random.default_rng(7)
    data = random_batch(rng, LENGTHS, 6, labels, values=True, edges=kind.startswith("edges"), least=1)
    assert data.label is not None
    if "constraints" in kind:
        label = np.where(np.arange(data.positions) % 2, 1 + data.label % 2, data.label)
        label[data.seq_ptr[:-1][np.diff(data.seq_ptr) > 0]] = 1
        data = replace(data, label=label.astype(np.int32))
    if "observed" in kind:
        return data, chain, Layout.observed(data, chain, transitions="observed", stop=True)
    return data, chain, Layout.all_pairs(data, chain, start=True, stop=True)


METHODS: dict[str, Any] = {
    "perceptron": AveragedPerceptron(),
    "plain": AveragedPerceptron(averaging=False),
    "pa": PassiveAggressive(c=0.3),
    "arow": AROW(),
    "mira": MIRA(c=0.3),
    "mira, k best": MIRA(k=3, c=0.2),
    "mira of CRF++": CrfppMIRA(c=0.05),
}


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("kind", KINDS)
def test_mistakes_are_learned_from_as_the_general_loop_does(kind: str, name: str) -> None:
    data, chain, layout = case(kind)
    loss, method = Perceptron().bind(layout, chain, data), METHODS[name]
    w = np.random.default_rng(3).normal(size=loss.size)
    native, general = (method.start(loss, Penalty(), w) for _ in range(2))
    assert isinstance(native.arrays, PerceptronSequences)
    general.arrays = DecodedSequences(loss)
    general.trainer = general.arrays.trainer(method.rule)
    general.trainer.write(w)
    if general.memory is not None:
        general.trainer.write_memory(general.memory)
    for _ in range(4):
        one, other = native.step(), general.step()
        assert one.objective == pytest.approx(other.objective, rel=1e-9, abs=1e-12)
        np.testing.assert_allclose(native.w, general.w, rtol=1e-9, atol=1e-11)


class Dense:
    """The steps of stochastic methods on whole vectors, through scores and marginals by position."""

    def __init__(self, kind: str) -> None:
        data, chain, layout = case(kind)
        bound = Likelihood().bind(layout, chain, data, threads=1)
        self.parts = [bound.part(slice(n, n + 1)) for n in range(data.sequences)]

    def gradient(self, n: int, w: Floats) -> Floats:
        gradient = np.empty_like(w)
        self.parts[n].general_value_and_grad(w, gradient)
        return gradient


def soft(z: Any, l1: Any) -> Any:
    return np.sign(z) * np.maximum(np.abs(z) - l1, 0.0)


@pytest.mark.parametrize("kind", KINDS)
def test_adagrad_equals_a_dense_reference(kind: str) -> None:
    data, chain, layout = case(kind)
    problem = Likelihood().bind(layout, chain, data, threads=1)
    nodes = layout.parts["node"].stop
    l1 = np.where(np.arange(problem.size) < nodes, 0.2, 0.5)
    penalty, begin = Penalty(l1=l1, l2=1.0), np.random.default_rng(5).normal(size=problem.size)
    run = AdaGrad(max_passes=3, delta=-1.0, period=9).start(problem, penalty, begin)
    dense, w, squares = Dense(kind), begin.copy(), np.zeros(problem.size)
    for number in (1, 2, 3):
        for n in order_of(run, data, number):
            g = dense.gradient(n, w)
            squares += g * g
            a = 0.1 / (1e-8 + np.sqrt(squares))
            w = soft(w - a * g, a * l1 / run.visits) / (1.0 + a / run.visits)
        run.step()
        np.testing.assert_allclose(run.w, w, rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("other", [2.0, 5.0])
def test_sgd_equals_a_dense_reference(kind: str, other: float) -> None:
    data, chain, layout = case(kind)
    problem = Likelihood().bind(layout, chain, data, threads=1)
    nodes = layout.parts["node"].stop
    l2 = np.where(np.arange(problem.size) < nodes, 2.0, other)
    run = SGD(eta=0.3, max_passes=9).start(problem, Penalty(l2=l2), np.ones(problem.size))
    dense, w, visits, t = Dense(kind), np.ones(problem.size), run.visits, 0
    for number in (1, 2):
        for n in order_of(run, data, number):
            rate = visits / 2.0 / (visits / 2.0 / 0.3 + t)
            w[:nodes] *= 1.0 - rate * 2.0 / visits
            w[nodes:] *= 1.0 - rate * 2.0 / visits if other == 2.0 else 1.0 / (1.0 + rate * 5.0 / visits)
            w -= rate * dense.gradient(n, w)
            t += 1
        run.step()
        np.testing.assert_allclose(run.w, w, rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_cumulative_penalty_equals_a_plain_reference(kind: str) -> None:
    data, chain, layout = case(kind)
    problem = Likelihood().bind(layout, chain, data, threads=1)
    begin = np.random.default_rng(6).normal(size=problem.size)
    run = SGDL1(max_passes=9).start(problem, Penalty(l1=0.5), begin)
    dense, w, q, due, t = Dense(kind), begin.copy(), np.zeros(problem.size), 0.0, 0

    def clip(where: Any) -> None:
        z = w[where]
        w[where] = np.where(z > 0, np.maximum(0, z - (due + q[where])), np.minimum(0, z + (due - q[where])))
        w[where] = np.where(z == 0, 0.0, w[where])
        q[where] += w[where] - z

    def rows(part: str, ptr: Any, shown: Any) -> list[Any]:
        first = layout.parts[part].start
        return [np.arange(first + ptr[i], first + ptr[i + 1]) for i in {*shown.tolist()}]

    for number in (1, 2):
        for n in order_of(run, data, number):
            rate = 0.8 * 0.85 ** (t / run.visits)
            w -= rate * dense.gradient(n, w)
            due += rate * 0.5 / run.visits
            p, end = data.seq_ptr[[n, n + 1]]
            shown = rows("node", layout.node_ptr, data.attr[slice(*data.attr_ptr[[p, end]])])
            if data.edge_ptr is not None and data.edge_attr is not None:
                steps = data.edge_attr[slice(*data.edge_ptr[[p + 1, end]])]
                shown += rows("edge", layout.edge_ptr, steps)
            clip(
                np.concatenate(
                    [*shown, np.arange(layout.parts["edge"].stop or len(layout.node_label), len(w))]
                )
            )
            t += 1
        clip(np.arange(problem.size))
        run.step()
        np.testing.assert_allclose(run.w, w, rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("kind", ["edges", "edges, observed", "order 2", "order 3"])
def test_passes_come_near_the_optimum(kind: str) -> None:
    data, chain, layout = case(kind)
    problem = Likelihood().bind(layout, chain, data, threads=1)

    def reached(method: Any, penalty: Penalty) -> float:
        run = method.start(problem, penalty, np.zeros(problem.size))
        while not run.step().stopped:
            pass
        return problem.value_and_grad(run.w, np.empty(problem.size)) + penalty.value(run.w)

    best = reached(LBFGS(), Penalty(l2=1.0))
    for method in (SGD(delta=-1.0, max_passes=300), AdaGrad(delta=-1.0, max_passes=300)):
        assert reached(method, Penalty(l2=1.0)) == pytest.approx(best, rel=1e-3)


@pytest.mark.parametrize("kind", ["edges", "edges, observed", "order 2", "order 2, constraints"])
def test_margin_visits_are_the_general_ones(kind: str) -> None:
    data, chain, layout = case(kind)
    loss = MaxMargin().bind(layout, chain, data, threads=1)
    penalty = MaxMargin(l2=1.0, transition_l2=2.0).penalty(layout)
    native, count = visits_of(loss, penalty, mixture=False)
    general = SparseVisits(
        loss.view(MarginSequences), ShareWeights(penalty, loss.size, "BCFW"), mixture=False
    )
    assert isinstance(native, NativeVisits)
    for number in range(3):  # further visits part where losses are the same
        order = np.random.default_rng(number).permutation(count)
        for visits in (native, general):
            visits.run(order, number * count + 1)
    for visits, passes in ((native, 60), (general, 8)):
        for number in range(3, passes):
            visits.run(np.random.default_rng(number).permutation(count), number * count + 1)
        w = visits.weights()
        value = loss.value_and_grad(w, np.empty(loss.size)) + penalty.value(w)
        apart = value - (visits.cost() - penalty.value(w))
        assert float(visits.gaps().sum()) == pytest.approx(apart, rel=1e-9, abs=1e-9)
        assert visits is general or apart < 1e-2 * value


@pytest.mark.parametrize("kind", ["edges", "order 2"])
def test_scores_that_are_not_finite_end_a_pass(kind: str) -> None:
    data, chain, layout = case(kind)
    problem = Likelihood().bind(layout, chain, data, threads=1)
    run = AdaGrad().start(problem, Penalty(l2=1.0), np.zeros(problem.size))
    w = np.zeros(problem.size)
    w[layout.parts["edge" if kind == "edges" else "transition"]] = np.inf
    run.trainer.write(w)
    assert np.isnan(run.visit(run.sequences.plan(0, 1), lambda _, n: np.ones(n), run.strengths, run.due))


def test_large_scores_are_summed_in_logs() -> None:
    for kind in ("edges", "order 2"):
        data, chain, layout = case(kind)
        problem = Likelihood().bind(layout, chain, data, threads=1)
        w = 1e4 * np.random.default_rng(1).normal(size=problem.size)
        run = SGD(eta=1e-3).start(problem, Penalty(l2=1.0), w)
        loss = run.visit(run.sequences.plan(0, 1), lambda _, n: np.zeros(n), np.zeros(4), run.due)
        assert loss == pytest.approx(problem.general_value_and_grad(w, np.empty_like(w)), rel=1e-9)


def test_bad_arrays_are_refused() -> None:
    data, chain, layout = case("edges")
    arrays = Perceptron().bind(layout, chain, data).view(PerceptronSequences)
    assert arrays.edges is not None
    short = arrays.edges.ptr[:-1].copy()
    short[-1] = len(arrays.edges.attr)
    beyond = np.full_like(arrays.edges.cell, 9)
    for change, message in (
        ({"edges": arrays.edges._replace(ptr=short)}, "edge ptr: one more than positions"),
        ({"edges": arrays.edges._replace(cell=beyond)}, r"edge cell\[0\] is 9, expected 0 to 8"),
        ({"edges": arrays.edges._replace(value=np.zeros(1))}, "edge value and attr differ in length"),
        ({"before": 2}, "edge attributes are for chains of order 1"),
        ({"before": 9, "edges": None}, "order: expected 1 to 8"),
    ):
        with pytest.raises(ValueError, match=message):
            replace(arrays, **change).native  # noqa: B018
    plain = replace(arrays, edges=None)
    trainer = _native.StochasticTrainer(arrays.native, 0)
    with pytest.raises(ValueError, match=r"weights, expected"):
        trainer.compile(plain.native)
    for make in (_native.CoordinateTrainer, lambda data: _native.DualTrainer(data, np.ones(4), False, 1)):
        with pytest.raises(ValueError, match="this method does not take edge attributes"):
            make(arrays.native)
    data, chain, layout = case("order 2")
    arrays = Perceptron().bind(layout, chain, data).view(PerceptronSequences)
    with pytest.raises(ValueError, match="this method is for chains of order 1"):
        _native.CoordinateTrainer(arrays.native)
