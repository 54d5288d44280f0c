"""Opinion pools: the collapsed chain is the pool, and its weights are the best ones."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

from crfkit import FeatureSelection, Likelihood, Stop, inference
from crfkit.data.dataset import Dataset
from crfkit.features import ItemExtractor
from crfkit.models.model import SequenceModel
from crfkit.objectives import Perceptron
from crfkit.structures import Chain
from crfkit.training.choose import objective_of
from crfkit.training.classic.many import Task, train_all
from crfkit.training.classic.pool import PoolLoss, common, learn_weights, pooled
from crfkit.training.classic.subsets import Subset, SubsetData, label_subsets, random_subsets
from crfkit.training.fit import Fit


def noisy(N: int = 30, seed: int = 0) -> Dataset:
    """Return sequences over three labels that attributes show with errors."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(N):
        tags = rng.integers(0, 3, rng.integers(1, 6))
        seen = [[np.where(rng.random() < 0.6, t, rng.integers(0, 3)) for _ in range(4)] for t in tags]
        X.append([[f"{place}{int(v)}" for place, v in zip("abcd", row, strict=True)] for row in seen])
        y.append([str(t) for t in tags])
    return ItemExtractor()(X, y).freeze()


def trained(data: Dataset, subsets: list[Subset], order: int = 1, **options: Any) -> list[SequenceModel]:
    chain = Chain(data.labels.strings(), order=order)
    objective = options.pop("objective", Likelihood(l2=0.1))

    def make(subset: Subset, threads: int) -> Fit:
        view = SubsetData(data, subset, threads)
        return Fit(view, chain, objective, FeatureSelection(**options), "auto", Stop())

    tasks = [Task(s.name, lambda threads, s=s: make(s, threads)) for s in subsets]  # type: ignore[misc]
    return train_all(tasks, threads=2).models


def log_scores(model: SequenceModel, data: Dataset) -> list[dict[tuple[int, ...], float]]:
    """Return log p(y | x) of every labeling of every sequence."""
    made = []
    for n in range(len(data)):
        batch = model.batch_of(data[[n]])
        potentials = model.potentials(batch)
        log_z = float(inference.log_partition(potentials)[0])
        every = itertools.product(range(3), repeat=batch.positions)
        made.append(
            {y: float(potentials.path_score(np.array(y, dtype=np.int32), None)[0]) - log_z for y in every}
        )
    return made


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("ways", ["random", "label"])
def test_the_collapsed_model_is_the_pool_by_enumeration(order: int, ways: str) -> None:
    data = noisy()
    subsets = random_subsets(data, 3, 0.5, 0) if ways == "random" else label_subsets(data.labels.strings())
    experts = trained(data, subsets, order)
    a = np.array([0.2, 0.5, 0.7])
    few = data[:6]
    mine = log_scores(pooled(experts, a), few)
    each = [log_scores(one, few) for one in experts]
    for n in range(len(few)):
        product = {y: sum(a[k] * each[k][n][y] for k in range(3)) for y in mine[n]}  # Gupta (2005) eq. 54
        log_z = np.logaddexp.reduce(list(product.values()))
        for y, found in mine[n].items():
            assert found == pytest.approx(product[y] - log_z, abs=1e-9)


def test_experts_have_only_the_weights_of_their_subset() -> None:
    data = noisy()
    subsets = [*random_subsets(data, 2, 0.5, 3), *label_subsets(data.labels.strings(), 2)]
    for which in ("observed", "all", "likely"):
        for subset, expert in zip(subsets, trained(data, subsets, which=which), strict=True):
            block = expert.layout.block["node"]
            rows = np.repeat(np.arange(len(block.ptr) - 1), np.diff(block.ptr))
            assert len(rows)
            if subset.attributes is not None:
                assert subset.attributes[rows].all()
                assert not subset.attributes.all()
            if subset.labels is not None:
                assert subset.labels[block.cell].all()
            assert len(expert.layout.transition_cell) == 9  # all experts have transitions


@pytest.mark.parametrize("kind", ["sum-to-one", "positive", "free"])
def test_gradient_by_differences(kind: str) -> None:
    data = noisy()
    experts = trained(data, random_subsets(data, 3, 0.5, 1))
    layout, each = common(experts)
    loss = PoolLoss(Likelihood(l2=0.0).bind(layout, experts[0].structure, data.batch), each, kind)
    t = loss.start() + np.array([0.1, -0.3, 0.2])
    gradient, other = np.zeros(3), np.zeros(3)
    value = loss.value_and_grad(t, gradient)
    direct = -pooled(experts, loss.weights(t)).log_prob(data).sum()
    assert value == pytest.approx(direct, rel=1e-10)
    for k in range(3):
        step = np.eye(3)[k] * 1e-5
        ahead, back = (loss.value_and_grad(t + s, other) for s in (step, -step))
        assert gradient[k] == pytest.approx((ahead - back) / 2e-5, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("kind", ["sum-to-one", "positive", "free"])
def test_weights_are_the_optimum_of_scipy(kind: Any) -> None:
    data = noisy(60)
    experts = trained(data[:40], random_subsets(data, 3, 0.6, 2))
    noise = np.random.default_rng(5).normal(size=experts[0].layout.weights)
    experts.append(
        SequenceModel(experts[0].structure, experts[0].layout, experts[0].names, noise)
    )  # harms the pool
    held = data[40:].batch
    found = learn_weights(experts, held, kind)
    layout, each = common(experts)
    loss = PoolLoss(Likelihood(l2=0.0).bind(layout, experts[0].structure, held), each, "free")

    def function(a: Any) -> tuple[float, Any]:
        gradient = np.zeros(4)
        return loss.value_and_grad(np.asarray(a), gradient), gradient

    start = np.full(4, 0.25)
    bounds = None if kind == "free" else [(0.0, None)] * 4
    only = [LinearConstraint(np.ones((1, 4)), 1.0, 1.0)] if kind == "sum-to-one" else []
    method = "SLSQP" if only else "L-BFGS-B"
    best = minimize(
        function, start, jac=True, bounds=bounds, constraints=only, method=method, options={"ftol": 1e-13}
    )
    assert found.loss == pytest.approx(best.fun, rel=1e-7)
    np.testing.assert_allclose(found.weights, best.x, atol=2e-3)
    assert function(found.weights)[0] == pytest.approx(found.loss, rel=1e-12)
    if kind == "sum-to-one":
        assert found.weights.sum() == pytest.approx(1.0, abs=1e-12)
    if kind != "free":
        assert (found.weights >= 0.0).all()
    equal = learn_weights(experts, held, "equal")
    assert equal.weights.tolist() == start.tolist()
    assert found.loss < equal.loss


def test_same_bits_for_any_number_of_threads() -> None:
    data = noisy()
    subsets = random_subsets(data, 3, 0.5, 1)
    chain = Chain(data.labels.strings())

    def all_by(threads: int) -> list[SequenceModel]:
        def task(s: Subset) -> Task:
            return Task(
                s.name,
                lambda t: Fit(
                    SubsetData(data, s, t),
                    chain,
                    objective_of("likelihood"),
                    FeatureSelection(),
                    "auto",
                    Stop(),
                ),
            )

        return train_all([task(s) for s in subsets], threads=threads).models

    one, many = all_by(1), all_by(3)
    for a, b in zip(one, many, strict=True):
        np.testing.assert_array_equal(a.w, b.w)
    np.testing.assert_array_equal(
        learn_weights(one, data.batch, threads=1).weights, learn_weights(many, data.batch, threads=3).weights
    )


def test_one_warning_for_all_that_did_not_converge() -> None:
    data = noisy()
    chain = Chain(data.labels.strings())

    def make(threads: int) -> Fit:
        view = SubsetData(data, Subset("all"), threads)
        return Fit(view, chain, Likelihood(l2=0.0), FeatureSelection(), "lbfgs", Stop(max_iterations=2))

    with pytest.warns(UserWarning, match="2 of 2 experts, as first: the limit of 2 iterations") as found:
        train_all([Task("first", make), Task("second", make)], threads=2, what="experts")
    assert len(found) == 1


def test_a_failure_ends_all_and_reaches_the_caller() -> None:
    def make(threads: int) -> Fit:
        raise ValueError("there is nothing to learn")

    with pytest.raises(ValueError, match="there is nothing to learn"):
        train_all([Task(str(n), make) for n in range(5)], threads=2)


def test_experts_of_other_objectives() -> None:
    data = noisy()
    experts = trained(data, random_subsets(data, 2, 0.5, 0), objective=Perceptron())
    assert learn_weights(experts, data.batch, "positive").loss < 30.0 * 3
