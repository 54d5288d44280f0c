"""Where training starts: warm, local, or by a function."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from crfkit import Chain, FeatureSelection, Likelihood, Stop, train
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset
from crfkit.features import ItemExtractor
from crfkit.linear.layout import Layout
from crfkit.models import SequenceModel
from crfkit.objectives import Local
from crfkit.structures.constraints import Forbid
from crfkit.training.start import warm_start
from tests.cases.batches import random_batch
from tests.cases.descent import Descent
from tests.cases.sentences import dataset, sentences


def by_name(model: SequenceModel) -> dict[tuple[object, ...], float]:
    """Every weight under the names of what it belongs to."""
    found: dict[tuple[object, ...], float] = {}
    for i, value in enumerate(model.w.tolist()):
        place = model.layout.describe(i)
        attribute = None if place.attribute is None else str(place.attribute)
        if place.attribute is not None and place.kind != "dense":
            names = model.attributes if place.kind == "node" else model.edge_attributes
            attribute = names[place.attribute]
        found[(place.kind, attribute, *(model.structure.labels[y] for y in place.ngram))] = value
    return found


def edged(labels: str, seed: int) -> Dataset:
    """Data with edge attributes and real-valued columns."""
    plain = dataset(20, seed, labels)
    rng = np.random.default_rng(seed)
    names = ItemExtractor()([[[f"e{i}" for i in rng.permutation(4)]]]).attributes
    batch = replace(
        plain.batch,
        edge_ptr=np.arange(plain.batch.positions + 1),
        edge_attr=rng.integers(0, 4, plain.batch.positions, dtype=np.int32),
        dense=rng.normal(size=(plain.batch.positions, 2)),
    )
    return replace(plain, batch=batch, edge_attributes=names)


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("features", ["observed", "all"])
def test_weights_are_found_again_by_name(features: Any, order: int) -> None:
    options: Any = {
        "optimizer": Descent(),
        "selection": FeatureSelection(which=features, start=True, stop=True),
        "structure": Chain(order=order),
    }
    old = train(dataset(20, 1, "CAB"), stop=Stop(max_iterations=5), **options)
    new = train(dataset(30, 2, "ABCD"), stop=Stop(max_iterations=0), init=old, **options)
    before, after = by_name(old), by_name(new)
    assert before.keys() & after.keys()
    assert after.keys() - before.keys()
    for name, value in after.items():
        assert value == before.get(name, 0.0), name
    assert np.count_nonzero(new.w) > 20


def test_edge_attributes_and_real_valued_columns_are_found_again() -> None:
    options: Any = {"optimizer": Descent(), "selection": "all"}
    old = train(edged("CAB", 1), stop=Stop(max_iterations=3), **options)
    new = train(edged("ABCD", 2), stop=Stop(max_iterations=0), init=old, **options)
    before, after = by_name(old), by_name(new)
    for kind in ("node", "edge", "transition", "dense"):
        assert any(after[name] for name in after if name[0] == kind), kind
    assert all(value == before.get(name, 0.0) for name, value in after.items())


def test_a_warm_start_saves_time_and_ends_at_the_same_place() -> None:
    data = dataset()
    cold = train(data, optimizer="lbfgs")
    warm = train(data, optimizer="lbfgs", init=cold)
    assert cold.training is not None
    assert warm.training is not None
    assert warm.training.iterations < cold.training.iterations / 2
    assert warm.training.loss == pytest.approx(cold.training.loss, rel=1e-4)


def test_hashed_attributes_keep_their_ids() -> None:
    X, y = sentences(20, 1)
    first, second = ItemExtractor(hashed=50), ItemExtractor(hashed=50)
    old = train(first(X, y), optimizer=Descent(), stop=Stop(max_iterations=3))
    new = train(second(X, y), optimizer=Descent(), stop=Stop(max_iterations=0), init=old)
    np.testing.assert_array_equal(old.w, new.w)
    with pytest.raises(ValueError, match="attributes of the data have names, those of the model are hashed"):
        train(dataset(), init=old)


def test_models_that_do_not_fit() -> None:
    data = dataset()
    model = train(data, optimizer=Descent(), stop=Stop(max_iterations=1))
    bad = model.w.copy()
    bad[3] = np.nan
    with pytest.raises(ValueError, match="weight 3 of the model is nan; a warm start needs finite weights"):
        train(data, init=replace(model, w=bad))
    with pytest.raises(ValueError, match="a chain of order 1, this one a chain of order 2"):
        train(data, init=model, structure=Chain(order=2))
    with pytest.raises(ValueError, match="no label in common"):
        train(dataset(20, 1, "XYZ"), init=model)
    with pytest.raises(ValueError, match="0 real-valued columns, the data 2"):
        train(edged("ABC", 1), init=model)
    with pytest.raises(ValueError, match="expected a Model"):
        train(data, init="mem")  # type: ignore[call-overload]


def test_starting_at_a_function() -> None:
    data = dataset()
    seen: list[Any] = []

    def init(problem: Any, layout: Layout) -> Any:
        seen.append((problem.size, layout.weights))
        return np.full(layout.weights, 0.25)

    model = train(data, init=init, optimizer=Descent(), stop=Stop(max_iterations=0))
    assert seen == [(model.layout.weights,) * 2]
    assert (model.w == 0.25).all()


# ---- the local model --------------------------------------------------------------------------


def batch(edges: bool) -> Batch:
    rng = np.random.default_rng(0)
    return random_batch(rng, [3, 1, 4, 0, 2], 5, 3, edges=edges, dense=2, weights=True)


@pytest.mark.parametrize("edges", [False, True])
@pytest.mark.parametrize("constrained", [False, True])
def test_local_gradients(edges: bool, constrained: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crfkit.linear.loss.BLOCK_BYTES", 400)  # several blocks of edge scores
    data = batch(edges)
    shown = {tuple(pair) for pair in np.stack([data.label[:-1], data.label[1:]], 1).tolist()}  # type: ignore[index]
    absent = next((x, y) for x in range(3) for y in range(3) if (x, y) not in shown)
    rules = [Forbid(str(absent[0]), str(absent[1]))] if constrained else []
    layout = Layout.all_pairs(data, 3, start=True, stop=True)
    problem = Local().bind(layout, Chain(3, constraints=rules), data)
    rng = np.random.default_rng(1)
    w, gradient, scratch = rng.normal(size=problem.size), np.empty(problem.size), np.empty(problem.size)
    problem.value_and_grad(w, gradient)
    for _ in range(10):
        direction = rng.normal(size=problem.size)
        up = problem.value_and_grad(w + 1e-6 * direction, scratch)
        down = problem.value_and_grad(w - 1e-6 * direction, scratch)
        assert (up - down) / 2e-6 == pytest.approx(gradient @ direction, rel=1e-6, abs=1e-6)
    assert not gradient[layout.parts["stop"]].any()


def test_the_local_model_is_the_chain_where_there_are_no_steps() -> None:
    data = batch(False)
    single = replace(
        data,
        seq_ptr=np.arange(data.positions + 1),
        weight=np.repeat(data.weight, np.diff(data.seq_ptr)),  # type: ignore[arg-type]
    )
    layout = Layout.all_pairs(single, 3, start=True)
    w = np.random.default_rng(1).normal(size=layout.weights)
    local, chain = np.empty(layout.weights), np.empty(layout.weights)
    a = Local().bind(layout, Chain(3), single).value_and_grad(w, local)
    b = Likelihood().bind(layout, Chain(3), single).value_and_grad(w, chain)
    assert a == pytest.approx(b, rel=1e-12)
    np.testing.assert_allclose(local, chain, atol=1e-12)


def test_a_start_at_the_local_model() -> None:
    data = dataset()
    zero = train(data, optimizer="lbfgs", stop=Stop(max_iterations=0)).training
    local = train(data, optimizer="lbfgs", stop=Stop(max_iterations=0), init="memm").training
    best = train(data, optimizer="lbfgs", init="memm").training
    assert zero is not None
    assert local is not None
    assert best is not None
    assert best.loss < local.loss < 0.7 * zero.loss
    label = np.asarray(data.batch.label).copy()
    label[0] = -1
    with pytest.raises(
        ValueError, match=r'init="memm": the objective local takes one gold label at each position'
    ):
        train(replace(data, batch=replace(data.batch, label=label)), init="memm")
    with pytest.raises(ValueError, match="chains of order 1, not for a chain of order 2"):
        train(data, init="memm", structure=Chain(order=2))


def test_warm_start_is_a_plain_function() -> None:
    data = dataset()
    model = train(data, optimizer=Descent(), stop=Stop(max_iterations=2))
    again = warm_start(model, model.layout, model.structure, model.names)
    np.testing.assert_array_equal(again, model.w)
