"""Learning from mistakes: native passes against the textbook's loop, the loss, state, bad input."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from crfkit import _native
from crfkit.arrays import Floats
from crfkit.data.batch import Batch
from crfkit.linear.feature_counts import feature_counts
from crfkit.linear.layout import Layout
from crfkit.linear.mistakes import DecodedSequences
from crfkit.linear.score import score
from crfkit.native import kernels
from crfkit.objectives import Likelihood, Perceptron
from crfkit.optimize import AROW, MIRA, SGD, AveragedPerceptron, PassiveAggressive
from crfkit.optimize.problem import End, Penalty, Step
from crfkit.optimize.sequential.perceptron import MistakeDriven
from crfkit.optimize.sequential.sequences import PerceptronSequences, Sequences
from crfkit.structures import Chain
from crfkit.structures.constraints import START, Forbid
from tests.cases.stochastic import L, batch, layout_of, relabeled

METHODS: dict[str, MistakeDriven] = {
    "perceptron": AveragedPerceptron(),
    "pa": PassiveAggressive(variant="hard"),
    "pa1": PassiveAggressive(c=0.3),
    "pa2": PassiveAggressive(variant="squared", c=0.3),
    "pa-of-1": PassiveAggressive(error_sensitive=False),
    "pa-last": PassiveAggressive(averaging=False),
    "plain": AveragedPerceptron(averaging=False),
    "mira": MIRA(c=0.3),
    "arow": AROW(),
    "arow-other": AROW(variance=0.5, gamma=3.0),
}


def viterbi(node: Floats, edge: Floats, start: Floats, stop: Floats) -> list[int]:
    """The best labels; of equal ones the lowest, from the end."""
    best, back = node[0] + start, []
    for row in node[1:]:
        into = best[:, None] + edge
        back.append(into.argmax(axis=0))
        best = into.max(axis=0) + row
    path = [int((best + stop).argmax())]
    for pointers in reversed(back):
        path.insert(0, int(pointers[path[0]]))
    return path


class Textbook:
    """One sequence after the other on whole vectors; the average is that of all weights met."""

    def __init__(self, method: MistakeDriven, layout: Layout, chain: Chain, data: Batch, w: Floats) -> None:
        self.method, self.layout, self.chain, self.data = method, layout, chain, data
        self.w, self.sum, self.count = w.copy(), w.copy(), 1
        self.variance = np.full(len(w), method.variance if isinstance(method, AROW) else np.nan)
        arrays = Perceptron().bind(layout, chain, data).view(PerceptronSequences)
        size = len(chain.labels)
        barred = np.zeros((size + 2) * size) if arrays.forbidden is None else arrays.forbidden
        self.barred = barred.reshape(size + 2, size)

    def features(self, part: Batch, label: Any) -> Floats:
        given = replace(part, label=np.array(label, dtype=np.int32))
        return feature_counts(Perceptron().bind(self.layout, Chain(self.layout.labels), given, threads=1))

    def best(self, part: Batch) -> list[int]:
        scores = score(self.layout, self.w, part, threads=1)
        size = len(self.chain.labels)
        edge = scores.get("transition", np.zeros(size * size)).reshape(size, size) + self.barred[:-2]
        start, stop = (scores.get(name, np.zeros(size)) for name in ("start", "stop"))
        return viterbi(scores["node"], edge, start + self.barred[-2], stop + self.barred[-1])

    def visit(self, n: int) -> float:
        part, loss = self.data.select(slice(int(n), int(n) + 1)), 0.0
        assert part.label is not None
        found = self.best(part)
        wrong = int(np.count_nonzero(part.label != found))
        if wrong:
            d = self.features(part, part.label) - self.features(part, found)
            loss = self.update(d, wrong, len(found))
        self.sum += self.w
        self.count += 1
        return loss

    def update(self, d: Floats, wrong: int, length: int) -> float:
        method = self.method
        if isinstance(method, AROW):
            cost = wrong - d @ self.w
            self.w += cost / (method.gamma + d @ (self.variance * d)) * self.variance * d
            self.variance = 1.0 / (1.0 / self.variance + d * d / method.gamma)
            return float(cost)
        if isinstance(method, PassiveAggressive):
            cost = (np.sqrt(wrong) if method.error_sensitive else 1.0) - d @ self.w
            tau = cost / (d @ d + (1.0 / (2.0 * method.c) if method.variant == "squared" else 0.0))
            self.w += (min(tau, method.c) if method.variant == "linear" else tau) * d
            return float(cost)
        if isinstance(method, MIRA):
            cost = wrong - d @ self.w
            self.w += min(float(cost / (d @ d)), method.c) * d
            return float(cost)
        self.w += d
        return wrong / length

    @property
    def result(self) -> Floats:
        return self.sum / self.count if self.method.rule.averaged else self.w


def compare(
    method: MistakeDriven, layout: Layout, chain: Chain, data: Batch, w: Floats, passes: int = 2
) -> None:
    run = method.start(Perceptron().bind(layout, chain, data), Penalty(), w)
    textbook = Textbook(method, layout, chain, data, w)
    losses = []
    for number in range(1, passes + 1):
        loss = sum(textbook.visit(n) for n in run.arrays.order(method.seed, number))
        losses.append(loss)
        step = run.step()
        assert step.objective == pytest.approx(loss, rel=1e-12, abs=1e-12)
        np.testing.assert_allclose(run.w, textbook.result, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(run.last, textbook.w, rtol=1e-12, atol=1e-12)
    assert losses[0] > 0.0


@pytest.mark.parametrize("values", [False, True])
@pytest.mark.parametrize("observed", [False, True])
@pytest.mark.parametrize("name", METHODS)
def test_equals_the_textbook(name: str, observed: bool, values: bool) -> None:
    data = batch(values=values)
    if data.value is not None:  # sums of eighths are exact, so that ties are ties in any order of adding up
        data = replace(data, value=np.round(8.0 * data.value) / 8.0)
    layout = layout_of(data, observed=observed)
    compare(METHODS[name], layout, Chain(L), data, np.zeros(layout.weights))


@pytest.mark.parametrize("name", METHODS)
def test_other_beginnings(name: str) -> None:
    data = batch(values=True)
    layout = layout_of(data, observed=True)
    w = np.random.default_rng(3).normal(size=layout.weights)
    compare(METHODS[name], layout, Chain(L), data, w)


@pytest.mark.parametrize("labels", [2, 9, 70])
@pytest.mark.parametrize("observed", [False, True])
def test_rows_of_every_width(labels: int, observed: bool) -> None:
    data, layout = relabeled(labels, np.random.default_rng(labels), observed=observed)
    for name in ("perceptron", "pa1", "arow"):
        compare(METHODS[name], layout, Chain(labels), data, np.zeros(layout.weights))


@pytest.mark.parametrize("name", ["perceptron", "pa1", "arow"])
def test_what_is_forbidden_is_no_mistake(name: str) -> None:
    names = [f"y{y}" for y in range(L)]
    chain = Chain(names, constraints=[Forbid("y0", "y1"), Forbid("y2", "y2"), Forbid(START, "y3")])
    data = batch()
    assert data.label is not None
    assert chain.resolved is not None
    label = data.label.copy()
    for first, last in zip(data.seq_ptr[:-1].tolist(), data.seq_ptr[1:].tolist(), strict=True):
        if first < last and label[first] == 3:
            label[first] = 2
        for p in range(first + 1, last):
            if not chain.resolved.transition[label[p - 1], label[p]]:
                label[p] = 3
    data = replace(data, label=label)
    layout = layout_of(data)
    compare(METHODS[name], layout, chain, data, np.zeros(layout.weights))


@pytest.mark.parametrize("name", METHODS)
def test_another_seed_is_another_order(name: str) -> None:
    data = batch(values=True)
    problem = Perceptron().bind(layout_of(data, observed=True), Chain(L), data)
    found = []
    for seed in (0, 1):
        run = replace(METHODS[name], seed=seed).start(problem, Penalty(), np.zeros(problem.size))
        for _ in range(4):
            run.step()
        found.append(run.w)
    assert (found[0] != found[1]).any()


def test_signs_of_zero_are_no_weights() -> None:
    data = batch()
    layout = layout_of(data, observed=True)
    runs = [
        AveragedPerceptron().start(Perceptron().bind(layout, Chain(L), data), Penalty(), w)
        for w in (np.zeros(layout.weights), np.full(layout.weights, -0.0))
    ]
    for run in runs:
        run.step()
    assert (runs[0].w == runs[1].w).all()


def separable() -> tuple[Layout, Batch]:
    label = np.array([0, 1, 2, 2, 1, 0, 0], dtype=np.int32)
    data = Batch(seq_ptr=np.array([0, 3, 5, 7]), attr_ptr=np.arange(8), attr=label, label=label)
    return Layout.all_pairs(data, 3), data


def test_stopping_rules() -> None:
    layout, data = separable()
    problem, zero = Perceptron().bind(layout, Chain(3), data), np.zeros(layout.weights)

    def ended(method: MistakeDriven) -> tuple[int, Step, Floats]:
        run, number = method.start(problem, Penalty(), zero), 0
        while True:
            step, number = run.step(), number + 1
            assert step.evaluations == number
            if step.stopped:
                assert (method.start(problem, Penalty(), zero, state=run.state()).w == run.w).all()
                return number, step, run.w

    methods: tuple[MistakeDriven, ...] = (AveragedPerceptron(), PassiveAggressive(), AROW())
    for method in methods:
        number, step, w = ended(method)
        assert number < 7  # a pass without a mistake is the last one
        assert (step.objective, step.stopped, step.end) == (0.0, "the mean loss has reached 0", End.CONVERGED)
        number, step, whole = ended(replace(method, epsilon=-1.0))
        assert (number, step.objective, step.end) == (100, 0.0, End.PLANNED)
        assert step.stopped == "the limit of 100 passes is reached"
        assert (w == whole).all()  # the average is that of all passes


def test_huge_values_end_as_diverged() -> None:
    layout, data = separable()
    data = replace(data, value=np.full(7, 1e200))
    run = AveragedPerceptron().start(
        Perceptron().bind(layout, Chain(3), data), Penalty(), np.zeros(layout.weights)
    )
    step = run.step()
    assert step.stopped.startswith("diverged: weights are not finite in pass 1")
    assert not run.w.any()


def test_loss_and_subgradient() -> None:
    data = batch(values=True, weights=True)
    layout = layout_of(data, observed=True)
    problem = Perceptron().bind(layout, Chain(L), data)
    textbook = Textbook(
        AveragedPerceptron(), layout, Chain(L), replace(data, weight=None), np.zeros(problem.size)
    )
    textbook.w = w = np.random.default_rng(2).normal(size=problem.size)
    assert data.weight is not None
    expected = np.zeros(problem.size)
    for n, share in enumerate(data.weight):
        part = replace(data, weight=None).select(slice(n, n + 1))
        assert part.label is not None
        if len(part.label):
            d = textbook.features(part, textbook.best(part)) - textbook.features(part, part.label)
            expected += share * d
    gradient = np.empty_like(w)
    value = problem.value_and_grad(w, gradient)
    np.testing.assert_allclose(gradient, expected, rtol=0.0, atol=1e-12)
    assert value == pytest.approx(expected @ w, rel=1e-12)
    assert value > 0.0
    assert problem.value_and_grad(np.zeros_like(w), gradient) == 0.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AveragedPerceptron(max_passes=0), "max_passes is 0, expected 1 or more"),
        (lambda: AROW(epsilon=float("nan")), "epsilon is nan, expected a finite number"),
        (lambda: AROW(variance=0.0), "variance is 0.0, expected a number above 0"),
        (lambda: AROW(gamma=float("inf")), "gamma is inf"),
        (lambda: PassiveAggressive(c=-1.0), "c is -1.0"),
        (
            lambda: PassiveAggressive(variant="soft"),  # type: ignore[arg-type]
            'variant is .soft., expected "hard", "linear" or "squared"',
        ),
    ],
)
def test_bad_options(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_bad_problems() -> None:
    data = batch()
    layout, chain, zero = layout_of(data), Chain(L), np.zeros(layout_of(data).weights)
    good, method = Perceptron().bind(layout, chain, data), AveragedPerceptron()
    with pytest.raises(ValueError, match="has no penalty, and l1 or l2 is not 0"):
        method.start(good, Penalty(l2=1.0), zero)
    with pytest.raises(
        ValueError, match=r"does not take the objective likelihood.* use the objective Perceptron"
    ):
        method.start(Likelihood().bind(layout, chain, data), Penalty(), zero)
    with pytest.raises(ValueError, match="SGD does not take the objective perceptron; use LBFGS"):
        SGD().start(good, Penalty(l2=1.0), zero)
    with pytest.raises(ValueError, match="does not take weights of sequences other than 1"):
        method.start(Perceptron().bind(layout, chain, batch(weights=True)), Penalty(), zero)
    with pytest.raises(ValueError, match=r"w has shape \(3,\)"):
        method.start(good, Penalty(), zero[:3])
    hidden = replace(data, label=np.full(data.positions, -1, dtype=np.int32))
    with pytest.raises(
        ValueError, match="perceptron takes one gold label at each position, and the data have partial"
    ):
        Perceptron().bind(layout, chain, hidden)


def test_the_native_trainer_checks_what_it_is_given() -> None:
    data = batch()
    layout = layout_of(data)
    arrays = Perceptron().bind(layout, Chain(L), data).view(PerceptronSequences)
    weighted = Likelihood().bind(layout, Chain(L), batch(weights=True)).view(Sequences).native
    usual: tuple[Any, ...] = (0, True, 0, 1, 1.0, 0.0, 1.0)
    for given, message in (
        ((arrays.native, 4, *usual[1:]), "remedy: expected 0"),
        ((arrays.native, 0, True, 3, *usual[3:]), "margin: expected 0"),
        ((arrays.native, 0, True, 0, 2, *usual[4:]), "kbest must be 1 or more, and 1 unless"),
        ((arrays.native, 1, True, 0, 0, *usual[4:]), "kbest must be 1 or more"),
        ((arrays.native, 1, True, 0, 1, 0.0, 0.0, 1.0), "most and gamma must be above 0"),
        ((weighted, *usual), "weights of sequences"),
    ):
        with pytest.raises(ValueError, match=message):
            _native.MistakeTrainer(*given)
    none = np.zeros(0)
    trainer = _native.MistakeTrainer(arrays.native, 3, False, 0, 1, 1.0, 0.0, 1.0)
    for spent, right in ((none, np.zeros(60)), (np.zeros(60), np.zeros(59))):
        with pytest.raises(ValueError, match="spent and right: expected a number for each sequence"):
            trainer.run(kernels, np.zeros(1, np.int64), 1, spent, right)
    trainer = _native.MistakeTrainer(arrays.native, 1, False, 1, 1, 1.0, 0.0, 1.0)
    for order in ([0, 7], [60], [-1]):  # sequence 7 is empty
        with pytest.raises(ValueError, match=f"sequence {order[-1]} does not exist or is empty"):
            trainer.run(kernels, np.array(order, dtype=np.int64), 1, none, none)
    with pytest.raises(ValueError, match="this rule remembers nothing"):
        trainer.read_memory(np.zeros(layout.weights))


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("values", [False, True])
def test_the_loop_for_all_structures_learns_what_the_native_one_does(name: str, values: bool) -> None:
    data = batch(values=values)
    loss = Perceptron().bind(layout_of(data), Chain(L), data)
    method, zero = METHODS[name], np.zeros(loss.size)
    native, general = (method.start(loss, Penalty(), zero) for _ in range(2))
    general.arrays = DecodedSequences(loss)  # type: ignore[assignment]
    general.trainer = general.arrays.trainer(method.rule)
    if general.memory is not None:
        general.trainer.write_memory(general.memory)
    for _ in range(4):
        one, other = native.step(), general.step()
        assert one.objective == pytest.approx(other.objective, rel=1e-9)
        np.testing.assert_allclose(native.w, general.w, rtol=1e-9, atol=1e-12)
