"""Gradient tree boosting: functional gradients, Newton steps, trees as attributes, files, refusals."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from crfkit import BoostedCRF, Chain, ChainCRF
from crfkit.data.batch import Batch
from crfkit.models.forest import Forest, windowed
from crfkit.structures.constraints import Forbid
from crfkit.training import Boosting
from crfkit.training.learners.boosting_round import Learning, grow_round, grown


def phases(N: int, seed: int) -> tuple[list[Any], list[list[str]]]:
    """Sequences whose labels are the exclusive or of two columns and, half the time, of the label before."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(N):
        rows = rng.random((int(rng.integers(3, 9)), 3))
        first = (rows[:, 0] > 0.5) ^ (rows[:, 1] > 0.5)
        labels, before = [], False
        for t, one in enumerate(first):
            before = bool(one ^ before) if t and rows[t, 2] > 0.5 else bool(one)
            labels.append("odd" if before else "even")
        X.append(rows)
        y.append(labels)
    return X, y


def learning(steps: bool, seed: int = 0) -> Learning:
    rng = np.random.default_rng(seed)
    ptr, L = np.array([0, 3, 3, 4, 7]), 3
    label = rng.integers(0, L, 7).astype(np.int32)
    batch = Batch(
        ptr, np.zeros(8, np.int64), np.zeros(0, np.int32), label=label, weight=np.array([1.0, 1.0, 2.0, 0.5])
    )
    made = Learning.of(Chain(L), rng.random((7, 2)).astype(np.float32), batch, steps, 1)
    for array in (*made.scores.values(), *made.tables.values()):
        array += rng.normal(size=array.shape)
    return made


@pytest.mark.parametrize("steps", [False, True])
def test_differences_are_the_functional_gradient(steps: bool) -> None:
    """Eq. 53: the differences are minus the derivatives of the loss by every score."""
    data = learning(steps)
    delta = data.compared()[2]
    for slots in (data.scores, data.tables):
        for name, array in slots.items():
            for at in np.ndindex(array.shape):
                if name == "edge" and at[0] not in data.places["edge"]:
                    continue
                before, h = array[at], 1e-5
                array[at] = before + h
                above = data.compared()[0]
                array[at] = before - h
                slope = (above - data.compared()[0]) / (2.0 * h)
                array[at] = before
                assert delta[name][at] == pytest.approx(-slope, abs=1e-7)


def test_values_of_leaves_are_newton_steps_of_their_rows() -> None:
    data = learning(steps=False)
    _, expected, delta = data.compared()
    options = Boosting(leaves=3, min_samples=1, l2=0.7, shrinkage=0.4)
    added = grow_round(data, expected, delta, options, np.random.default_rng(0))
    assert [one.cells.tolist() for one in added.trees] == [[0], [1], [2]]
    weight = np.repeat(data.weight, np.diff(data.batch.seq_ptr))
    for y, one in enumerate(added.trees):
        leaf = Forest.of([one.nodes]).leaves(data.rows)[:, 0]
        for number in range(len(one.values)):
            rows = np.flatnonzero(leaf == number)
            p = expected["node"][rows, y] / weight[rows]
            slope, curve = delta["node"][rows, y].sum(), (weight[rows] * p * (1.0 - p)).sum()
            assert one.values[number, 0] == pytest.approx(0.4 * slope / (curve + 0.7), rel=1e-12)


def test_a_tree_is_scikit_learn_s() -> None:
    rng = np.random.default_rng(4)
    rows, target = rng.random((200, 4)).astype(np.float32), rng.normal(size=(200, 2))
    forest = Forest.of([grown(rows, target, leaves=9, min_samples=3, features=0.5, seed=s) for s in (1, 2)])
    new = rng.random((50, 4)).astype(np.float32)
    new[:9, 0] = forest.threshold[0]  # on the edge itself
    number = forest.numbers()
    for column, seed in enumerate((1, 2)):
        peer = DecisionTreeRegressor(
            max_leaf_nodes=9, min_samples_leaf=3, max_features=0.5, random_state=seed
        )
        at = peer.fit(rows, target).apply(new)
        assert forest.leaves(new)[:, column].tolist() == number[at + forest.ptr[column]].tolist()


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("steps", [False, True])
def test_the_loss_falls_and_the_model_gives_it(shared: bool, steps: bool) -> None:
    X, y = phases(30, 1)
    crf = BoostedCRF(boosting=Boosting(rounds=12, shared=shared, steps=steps, subsample=0.7, trim=0.1)).fit(
        X, y
    )
    assert (np.diff(crf.losses_) < 0.0).all()
    assert -crf.log_prob(X, y).sum() == pytest.approx(crf.losses_[-1], rel=1e-10)
    assert crf.n_iter_ == 12
    alone = crf.predict_proba([X[0]])[0]
    scores = {
        labels: crf.log_prob([X[0]], [labels])[0] for labels in product(("even", "odd"), repeat=len(X[0]))
    }
    assert np.exp([*scores.values()]).sum() == pytest.approx(1.0)
    first = sum(np.exp(p) for labels, p in scores.items() if labels[0] == crf.classes_[0])
    assert alone[0, 0] == pytest.approx(first)
    assert crf.predict([X[0]])[0] == list(max(scores.items(), key=lambda one: float(one[1]))[0])


def test_trees_learn_what_a_linear_chain_cannot_and_steps_what_labels_alone_cannot() -> None:
    X, y = phases(250, 2)
    X_test, y_test = phases(150, 3)
    linear = ChainCRF().fit(X, y).score(X_test, y_test)
    labels = BoostedCRF(boosting=Boosting(rounds=40)).fit(X, y).score(X_test, y_test)
    steps = BoostedCRF(boosting=Boosting(rounds=40, steps=True)).fit(X, y).score(X_test, y_test)
    assert linear < 0.6
    assert linear + 0.1 < labels < steps - 0.1
    assert steps > 0.88


def test_dev_set_ends_training_and_the_best_rounds_are_kept() -> None:
    X, y = phases(40, 5)
    noise = np.random.default_rng(6)
    y = [[str(noise.choice(["odd", "even"])) for _ in one] for one in y]  # nothing can be learned
    X_dev, y_dev = phases(40, 7)
    crf = BoostedCRF(boosting=Boosting(rounds=80, patience=4, shrinkage=0.5)).fit(X, y, dev=(X_dev, y_dev))
    best = int(np.argmin(crf.dev_losses_))
    assert crf.n_iter_ == best < 80
    assert len(crf.dev_losses_) == best + 5
    assert -crf.log_prob(X_dev, y_dev).sum() == pytest.approx(crf.dev_losses_[best], rel=1e-10)


def test_window_threads_seed_and_constraints() -> None:
    dense, ptr = np.arange(10.0).reshape(5, 2), np.array([0, 2, 2, 5])
    made = windowed(dense, ptr, 2)
    assert made.shape == (5, 10)
    assert made[1].tolist() == [0, 0, 0, 1, 2, 3, 0, 0, 0, 0]
    X, y = phases(20, 8)
    options = Boosting(rounds=4, subsample=0.5, features=0.5)
    fits = [BoostedCRF(boosting=options, window=1, n_jobs=n, random_state=3).fit(X, y) for n in (1, 3)]
    assert (fits[0].model_.w == fits[1].model_.w).all()
    other = BoostedCRF(boosting=options, window=1, random_state=4).fit(X, y)
    assert other.losses_[-1] != fits[0].losses_[-1]
    never = Chain(constraints=[Forbid("odd", "odd")])
    kept = [(rows, ["even"] * len(rows)) for rows in X]
    ruled = BoostedCRF(boosting=options, structure=never).fit(
        [a for a, _ in kept], [b for _, b in kept[:-1]] + [["odd", *kept[-1][1][1:]]]
    )
    assert all(pair != ("odd", "odd") for one in ruled.predict(X) for pair in pairwise(one))


def test_leaves_have_names_that_explain_shows() -> None:
    X, y = phases(60, 9)
    crf = BoostedCRF(boosting=Boosting(rounds=5, leaves=4), window=1).fit(X, y)
    names = crf.model_.attributes.strings()
    assert any(" & " in name and "x0[0]" in name and "x1[0]" in name for name in names)
    assert {name for name, _ in crf.state_features_} <= set(names)


def test_hostile_trees_are_refused() -> None:
    one = {"feature": [0, -1, -1], "threshold": [0.5, 0.0, 0.0], "left": [1, 0, 0], "right": [2, 0, 0]}
    for change in (
        {"left": [0, 0, 0]},
        {"right": [3, 0, 0]},
        {"threshold": [np.nan, 0, 0]},
        {"left": [1, 0]},
    ):
        with pytest.raises(ValueError, match="tree"):
            Forest.of([{**one, **change}])


def test_refusals() -> None:
    X, y = phases(5, 11)
    with pytest.raises(ValueError, match=r"real-valued features.*DictVectorizer"):
        BoostedCRF().fit([[{"w": "a"}]], [["x"]])
    with pytest.raises(ValueError, match="one gold label at each position"):
        BoostedCRF().fit(X, [[None, *one[1:]] for one in y])
    with pytest.raises(ValueError, match="order 1"):
        BoostedCRF(structure=Chain(order=2)).fit(X, y)
    with pytest.raises(ValueError, match="requires y"):
        BoostedCRF().fit(X)
    with pytest.raises(ValueError, match="dev is a list, expected a pair"):
        BoostedCRF().fit(X, y, dev=X)
    with pytest.raises(ValueError, match="'new', which y does not have"):
        BoostedCRF().fit(X, y, dev=(X, [["new", *one[1:]] for one in y]))
    with pytest.raises(ValueError, match="fitted with 3"):
        BoostedCRF(boosting=Boosting(rounds=2)).fit(X, y).predict([np.zeros((2, 4))])
    with pytest.raises(TypeError, match="expected Boosting"):
        BoostedCRF(boosting=100).fit(X, y)  # type: ignore[arg-type]
    for options in ({"leaves": 1}, {"subsample": 0.0}, {"trim": 1.0}, {"rounds": 0}):
        with pytest.raises(ValueError, match=next(iter(options))):
            Boosting(**options)
