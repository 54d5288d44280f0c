"""MIRA against a solver of quadratic programs, the native loop against the general one, and CRF++'s own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from crfkit.arrays import Floats
from crfkit.data.batch import Batch
from crfkit.features import Extractor
from crfkit.features.crfpp import parse_crfpp
from crfkit.linear.feature_counts import feature_counts
from crfkit.linear.layout import Layout
from crfkit.linear.mistakes import DecodedSequences
from crfkit.objectives import Perceptron
from crfkit.optimize import MIRA
from crfkit.optimize.classic import CrfppMIRA
from crfkit.optimize.problem import End, Penalty
from crfkit.optimize.sequential.rules import hildreth
from crfkit.structures import Chain, SemiMarkov
from crfkit.training.choose import by_name
from tests.cases.batches import random_batch
from tests.cases.real_data import GOLDEN, needs_golden
from tests.cases.stochastic import L, batch, layout_of
from tests.cases.templates import read_columns


def test_hildreth_solves_the_quadratic_program() -> None:
    rng = np.random.default_rng(0)
    for k, most in ((1, np.inf), (4, np.inf), (6, 0.3), (9, 2.0)):
        d, cost = rng.normal(size=(k, 12)), rng.normal(size=k) + 1.0
        found = hildreth(d @ d.T, cost, most)
        best = minimize(
            lambda a: 0.5 * np.sum((a @ d) ** 2) - a @ cost,  # noqa: B023
            np.zeros(k),
            jac=lambda a: d @ (a @ d) - cost,  # noqa: B023
            bounds=[(0.0, None if np.isinf(most) else most)] * k,
            method="L-BFGS-B",
            options={"ftol": 1e-15, "gtol": 1e-12, "maxiter": 10_000},
        )
        np.testing.assert_allclose(found, best.x, atol=1e-6)
        if np.isinf(most):
            assert (d @ (found @ d) >= cost - 1e-10).all()
    assert hildreth(np.zeros((2, 2)), np.ones(2), 1.0).tolist() == [0.0, 0.0]


def features_of(layout: Layout, part: Batch, label: Any) -> Floats:
    given = replace(part, label=np.array(label, dtype=np.int32))
    return feature_counts(Perceptron().bind(layout, Chain(layout.labels), given, threads=1))


@pytest.mark.parametrize("k", [2, 5, 50])
def test_one_visit_sets_the_gold_apart_from_the_k_best(k: int) -> None:
    """All labelings are scored one by one; there are fewer than 50 of the shortest sequence."""
    rng = np.random.default_rng(4)
    for T in (1, 3):
        data = random_batch(rng, [T], 6, 3, values=True, least=2)
        layout, chain = Layout.all_pairs(data, 3, start=True), Chain(3)
        w = rng.normal(size=layout.weights)
        run = MIRA(k=k, c=100.0, averaging=False).start(Perceptron().bind(layout, chain, data), Penalty(), w)
        assert data.label is not None
        gold = features_of(layout, data, data.label)
        every = np.stack(
            [gold - features_of(layout, data, y) for y in np.ndindex(*[3] * T)]  # [3^T, F]
        )
        wrong = np.array([np.count_nonzero(data.label != y) for y in np.ndindex(*[3] * T)])
        kept = np.argsort(every @ w, kind="stable")[:k]
        d, m = every[kept][wrong[kept] > 0], wrong[kept][wrong[kept] > 0]
        step = run.step()
        cost = m - d @ w
        assert step.objective == pytest.approx(max(cost.max(), 0.0), rel=1e-9)
        np.testing.assert_allclose(run.w, w + hildreth(d @ d.T, cost, 100.0) @ d, atol=1e-8)
        assert (d @ run.w >= m - 1e-8).all()


METHODS: dict[str, Any] = {
    "k-best": MIRA(k=3, c=0.2),
    "k-best, last": MIRA(k=6, averaging=False),
    "crfpp": CrfppMIRA(c=0.05, shrinking=2),
}


def both(method: Any, loss: Any, w: Floats) -> list[Any]:
    native, general = (method.start(loss, Penalty(), w) for _ in range(2))
    general.arrays = DecodedSequences(loss)
    general.trainer = general.arrays.trainer(method.rule)
    general.trainer.write(w)
    if general.memory is not None:
        general.trainer.write_memory(general.memory)
    return [native, general]


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("observed", [False, True])
def test_the_native_loop_learns_what_the_general_one_does(name: str, observed: bool) -> None:
    data = batch(values=True)
    loss = Perceptron().bind(layout_of(data, observed=observed), Chain(L), data)
    w = np.random.default_rng(3).normal(size=loss.size)
    native, general = both(METHODS[name], loss, w)
    for _ in range(4):
        one, other = native.step(), general.step()
        assert one.objective == pytest.approx(other.objective, rel=1e-9)
        np.testing.assert_allclose(native.w, general.w, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(native.spent, general.spent, rtol=1e-9)
    assert (native.right == general.right).all()


def test_ends_where_all_margins_are_kept() -> None:
    label = np.array([0, 1, 2, 2, 1, 0, 0], dtype=np.int32)
    data = Batch(seq_ptr=np.array([0, 3, 5, 7]), attr_ptr=np.arange(8), attr=label, label=label)
    layout = Layout.all_pairs(data, 3)
    loss = Perceptron().bind(layout, Chain(3), data)
    for method in (MIRA(k=5), CrfppMIRA()):
        run = method.start(loss, Penalty(), np.zeros(loss.size))
        step = run.step()
        while not step.stopped:
            step = run.step()
        assert (step.end, step.objective) == (End.CONVERGED, 0.0)
        assert step.evaluations < 60
    assert loss.value_and_grad(run.w, np.empty(loss.size)) == 0.0


def test_shrinking_leaves_out_what_is_right() -> None:
    data = batch(values=True)
    loss = Perceptron().bind(layout_of(data), Chain(L), data)
    run = CrfppMIRA(c=0.5, shrinking=1).start(loss, Penalty(), np.zeros(loss.size))
    run.step()
    out = run.right >= 1
    assert 0 < out.sum() < len(out)
    spent = run.spent.copy()
    run.step()
    assert (run.spent[out] == spent[out]).all()
    assert (run.right[out] == 1.0).all()
    assert run.spent.max() <= 0.5


def test_segments_take_the_general_loop() -> None:
    rng = np.random.default_rng(8)
    plain = random_batch(rng, [4, 3, 5, 2], 5, 3, values=True, least=1)
    semi = SemiMarkov(3, max_length=2)
    plain = replace(plain, begin=np.ones(plain.positions, np.bool_))
    loss = Perceptron().bind(Layout.all_pairs(plain, semi), semi, plain)
    methods: list[Any] = [by_name("perceptron"), by_name("mira-crfpp"), MIRA(k=4)]
    for method in methods:
        run = method.start(loss, Penalty(), np.zeros(loss.size))
        assert isinstance(run.arrays, DecodedSequences)
        losses = [run.step().objective for _ in range(10)]
        assert losses[-1] < losses[0]
    assert losses[-1] < losses[0] / 2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MIRA(k=0), "k is 0, expected 1 or more"),
        (lambda: MIRA(c=0.0), "c is 0.0, expected a number above 0"),
        (lambda: CrfppMIRA(c=float("inf")), "c is inf"),
        (lambda: CrfppMIRA(shrinking=0), "shrinking is 0, expected 1 or more"),
    ],
)
def test_bad_options(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


class Crfpp:
    """The loop of CRF++ as it is there: scores are added up in its order, so that ties are its ties."""

    def __init__(self, data: Batch, label: Any, labels: int, c: float) -> None:
        self.data, self.label, self.L, self.c = data, label, labels, c
        self.node = np.zeros((int(data.attr.max()) + 1, labels))
        edges = 0 if data.edge_attr is None else int(data.edge_attr.max()) + 1
        self.edge = np.zeros((edges + 1, labels, labels))  # the last is that of all steps
        self.spent = np.zeros(data.sequences)

    def of(self, p: int) -> Any:
        return self.data.attr[self.data.attr_ptr[p] : self.data.attr_ptr[p + 1]].tolist()

    def of_step(self, p: int) -> Any:
        data = self.data
        if data.edge_attr is None or data.edge_ptr is None:
            return [-1]
        return [-1, *data.edge_attr[data.edge_ptr[p] : data.edge_ptr[p + 1]].tolist()]

    def best(self, first: int, last: int) -> list[int]:
        def total(table: Floats, which: Any) -> Floats:
            made = np.zeros(table.shape[1:])
            for a in which:
                made = made + table[a]
            return made

        best, back = total(self.node, self.of(first)), []
        for p in range(first + 1, last):
            into = (best[:, None] + total(self.edge, self.of_step(p))) + total(self.node, self.of(p))
            back.append(into.argmax(axis=0))
            best = into.max(axis=0)
        path = [int(best.argmax())]
        for pointers in reversed(back):
            path.insert(0, int(pointers[path[0]]))
        return path

    def one_pass(self) -> tuple[int, float, float]:
        """Return wrong labels, the sum of the squares of the weights, and the largest violation."""
        errors, violation = 0, 0.0
        for n, (first, last) in enumerate(zip(self.data.seq_ptr[:-1], self.data.seq_ptr[1:], strict=True)):
            if first == last:
                continue
            gold, found = self.label[first:last].tolist(), self.best(first, last)
            m = sum(a != b for a, b in zip(gold, found, strict=True))
            if not m:
                continue
            d: Counter[Any] = Counter()
            for i, p in enumerate(range(first, last)):
                for y, sign in ((gold, 1), (found, -1)):
                    for a in self.of(p):
                        d["node", a, y[i]] += sign
                    for a in self.of_step(p) if i else []:
                        d["edge", a, y[i - 1], y[i]] += sign
            ahead = -sum(v * getattr(self, k[0])[k[1:]] for k, v in d.items())
            step = max(0.0, (m - ahead) / sum(v * v for v in d.values()))
            errors += m
            if self.spent[n] + step > self.c:
                step = self.c - self.spent[n]
            else:
                violation = max(violation, m - ahead)
            self.spent[n] += step
            for k, v in d.items():
                getattr(self, k[0])[k[1:]] += step * v
        return errors, float((self.node**2).sum() + (self.edge**2).sum()), violation


@needs_golden
def test_the_log_of_crfpp() -> None:
    folder = GOLDEN / "crfpp"
    made = Extractor(parse_crfpp((folder / "template").read_text()))(read_columns(folder / "train.txt"))
    assert made.batch.label is not None
    rank = np.argsort(np.argsort(list(made.labels)))  # CRF++ sorts labels
    theirs = Crfpp(made.batch, rank[made.batch.label], len(rank), 1.0)
    log = [line for line in (folder / "learn_mira.log").read_text().splitlines() if line.startswith("iter=")]
    for line in log[:4]:
        numbers = dict(part.split("=") for part in line.split())
        errors, squares, violation = theirs.one_pass()
        assert errors / made.batch.positions == pytest.approx(float(numbers["terr"]), abs=1e-5)
        assert squares == pytest.approx(float(numbers["obj"]), abs=1e-5)
        assert violation == pytest.approx(float(numbers["kkt"]), abs=1e-5)


@pytest.mark.parametrize("edges", [False, True])
def test_is_what_crfpp_does(edges: bool) -> None:
    """Weights begin at random, so that there are no ties."""
    rng = np.random.default_rng(6)
    data = random_batch(rng, [6, 0, 3, 7, 5, 4], 9, 3, edges=edges, least=2)
    data = replace(data, value=None, edge_value=None)
    layout = Layout.all_pairs(data, 3)
    loss = Perceptron().bind(layout, Chain(3), data)
    w = 0.1 * rng.normal(size=loss.size)
    theirs = Crfpp(data, data.label, 3, 0.1)
    run = CrfppMIRA(c=0.1).start(loss, Penalty(), w)
    theirs.node[:] = w[layout.parts["node"]].reshape(-1, 3)[: len(theirs.node)]
    theirs.edge[-1] = w[layout.parts["transition"]].reshape(3, 3)
    if edges:
        theirs.edge[:-1] = w[layout.parts["edge"]].reshape(-1, 3, 3)
    for _ in range(4):
        run.step()
        theirs.one_pass()
        np.testing.assert_allclose(run.spent, theirs.spent, atol=1e-12)
        here = run.w[layout.parts["node"]].reshape(-1, 3)[: len(theirs.node)]
        np.testing.assert_allclose(here, theirs.node, atol=1e-12)
    assert run.spent.max() == 0.1
