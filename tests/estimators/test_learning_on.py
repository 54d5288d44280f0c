"""Learning on: what `partial_fit` keeps of what was learned before, with the data of before and without."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import crfkit
from crfkit import HMM, MEMM, Chain, ChainCRF, FeatureSelection, Likelihood, SemiCRF, Stop
from crfkit.errors import DataWarning
from crfkit.estimators import HiddenChainCRF, HiddenSequenceCRF
from crfkit.estimators.classic import CodeCRF, OpinionPool, VotedPerceptron
from crfkit.features import ItemExtractor
from crfkit.training.curvature import with_curvature
from tests.cases import addresses
from tests.cases.estimators import NEAR, W_TEST, X_TEST, Y_TEST, W, X, Y, crf, fitted
from tests.cases.real_data import DATA

ADDRESSES = DATA / "usaddress"


def freed(**options: Any) -> ChainCRF:
    """Return a fitted estimator without the data."""
    made = fitted(**options)
    del made.data_
    return made


def test_partial_fit_begins_as_fit_does() -> None:
    np.testing.assert_array_equal(crf().partial_fit(X, Y).model_.w, fitted().model_.w)
    made = crf().partial_fit(X, Y, classes=["D", "N", "V", "unseen"])
    assert made.classes_.tolist() == ["D", "N", "V", "unseen"]


@pytest.mark.parametrize("tags", [["Z", "N"], ["D", "N", "Z"]])
@pytest.mark.parametrize("l2", [0.1, 1.0])
@pytest.mark.parametrize(
    "options", [{}, {"selection": FeatureSelection(start=True)}, {"features": "w[0]; edge: w[0]"}]
)
def test_without_data_what_was_learned_stays(options: dict[str, Any], l2: float, tags: list[str]) -> None:
    def given(words: list[list[str]]) -> Any:
        return words if "features" in options else [[[w] for w in s] for s in words]

    new = given([[{"Z": "zap", "N": "dog", "D": "the"}[y] for y in tags]] * 5)
    made = crf(objective=Likelihood(l2=l2), **options).fit(given(W), Y)
    alone = clone(made).fit(new, [tags] * 5)
    del made.data_
    first = made.model_
    assert made.partial_fit(new, [tags] * 5) is made
    assert made.classes_.tolist() == [*first.labels, "Z"]
    assert made.model_.attributes.strings()[: len(first.attributes)] == first.attributes.strings()
    assert made.predict(new[:1]) == [tags]
    with pytest.warns(DataWarning, match="does not know"):
        worse = alone.score(given(W_TEST), Y_TEST)
    assert made.score(given(W_TEST), Y_TEST) > max(0.9, worse)
    shown = set(made.model_.dataset(new).batch.attr.tolist())
    layout, weights = made.model_.layout, made.model_.w
    now = {layout.describe(i): weights[i] for i in range(layout.weights)}
    places = [first.layout.describe(i) for i in range(first.layout.weights)]
    kept = [i for i, p in enumerate(places) if p.kind == "node" and p.attribute not in shown]
    assert len(kept) > 3
    assert [now[places[i]] for i in kept] == [first.w[i] for i in kept]
    assert pickle.loads(pickle.dumps(made)).predict(new) == [tags] * 5


def test_partial_fit_leaves_what_l1_made_sparse_and_what_it_kept() -> None:
    made = freed(objective=Likelihood(l1=0.5, l2=0.1))
    places = [made.model_.layout.describe(i) for i in range(made.model_.layout.weights)]
    before = dict(zip(places, made.model_.w.tolist(), strict=True))
    made.partial_fit([[{"w": "zap"}, {"w": "zip"}]], [["N", "V"]])
    now = {made.model_.layout.describe(i): made.model_.w[i] for i in range(made.model_.layout.weights)}
    assert all(now[p] == w for p, w in before.items() if p.kind == "node")


def test_partial_fit_without_data_by_other_optimizers() -> None:
    found = freed().partial_fit(X_TEST, Y_TEST).log_prob(X, Y)
    for name in ("lbfgs", "plbfgs", "cg", "newton"):
        made = freed().set_params(optimizer=name).partial_fit(X_TEST, Y_TEST)
        np.testing.assert_allclose(made.log_prob(X, Y), found, atol=1e-2)
    with pytest.raises(ValueError, match="a chain of order 1, this one a chain of order 2"):
        fitted().set_params(structure__order=2).partial_fit(X, Y)
    with pytest.raises(ValueError, match="use LBFGS"):
        freed(optimizer="sgd").partial_fit(X_TEST, Y_TEST)
    hashed = ItemExtractor(hashed=64)
    made = crf().fit(hashed(X, Y)).partial_fit(hashed(X_TEST, Y_TEST))
    assert made.score(hashed(X_TEST, Y_TEST)) == 1.0
    with pytest.raises(ValueError, match="of the data have names"):
        made.partial_fit(X, Y)
    with pytest.raises(ValueError, match="of the model have names"):
        fitted().partial_fit(hashed(X, Y))


def test_partial_fit_learns_on_from_mistakes_with_its_data() -> None:
    made = crf(objective="perceptron", stop=Stop(max_iterations=9)).fit(X, Y)
    new = [[{"w": "zap"}, {"w": "the"}]] * 5
    made.partial_fit(new, [["N", "D"]] * 5)
    assert made.score(X, Y) == made.score(new, [["N", "D"]] * 5) == 1.0
    del made.data_
    with pytest.raises(ValueError, match="new data would make it forget them; call fit with all data"):
        made.partial_fit(X, Y)
    with pytest.raises(ValueError, match="LBFGS minimizes"):
        crf(objective="perceptron", optimizer="lbfgs").fit(X, Y)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"structure": Chain(order=2), "selection": FeatureSelection(stop=True)},
        {"selection": FeatureSelection(transitions="observed", start=True)},
        {"features": "w[0]; edge: suffix(w, 1)[0]"},
        {"dense": True},
    ],
)
def test_partial_fit_moves_to_where_its_objective_is_least(options: dict[str, Any]) -> None:
    given: Any = W if "features" in options else X
    if options == {"dense": True}:
        given = [np.array([[float(len(w)), float("a" in w)] for w in s]) for s in W]
    kept = {k: v for k, v in options.items() if k != "dense"}
    made = crf(optimizer=NEAR, **kept).fit(given[:12], Y[:12])
    del made.data_
    before = made.model_
    assert before.curvature is not None
    new = [["W" if y == "V" else y for y in s] for s in Y[12:]]  # one label is new
    made.partial_fit(given[12:], new)
    layout, w = made.model_.layout, made.model_.w
    places = {layout.describe(i): i for i in range(layout.weights)}
    w0, held = np.zeros(layout.weights), np.ones(layout.weights)
    for i in range(before.layout.weights):
        at = places[before.layout.describe(i)]  # no weight is lost
        w0[at], held[at] = before.w[i], 1.0 + before.curvature[i]
    gradient = np.empty(layout.weights)
    batch = made.model_.batch_of(made.model_.dataset(given[12:], new))
    Likelihood().bind(layout, made.model_.structure, batch, threads=1).value_and_grad(w, gradient)
    moved = w != w0
    assert moved.any()
    assert abs(gradient + held * (w - w0))[moved].max() < 1e-4


# ---- with and without the data of before ----------------------------------------------------------


@pytest.mark.parametrize("model", ["chain", "second order", "memm", "segments"])
def test_with_its_data_it_ends_where_fit_on_both_does(model: str) -> None:
    made: Any = {
        "chain": crf(optimizer=NEAR),
        "second order": crf(optimizer=NEAR, structure=Chain(order=2)),
        "memm": MEMM(optimizer=NEAR, n_jobs=1),
        "segments": SemiCRF(optimizer=NEAR, n_jobs=1),
    }[model]
    weight = np.linspace(0.5, 2.0, 10)
    both = clone(made).fit(X[:14] + X_TEST, Y[:14] + Y_TEST, sample_weight=[1.0] * 14 + weight.tolist()[:8])
    made.fit(X[:14], Y[:14])
    held = made.data_
    made.partial_fit(X_TEST[:5], Y_TEST[:5], sample_weight=weight[:5])
    made.partial_fit(X_TEST[5:], Y_TEST[5:], sample_weight=weight[5:8])
    assert len(held) == 14
    assert len(made.data_) == 22
    np.testing.assert_allclose(made.log_prob(X, Y), both.log_prob(X, Y), atol=1e-5)


def test_data_are_held_until_they_are_freed_and_never_pickled() -> None:
    extract = ItemExtractor()
    given = extract(X, Y).freeze()
    made = crf().fit(given)
    assert made.data_.batch is given.batch  # no copy
    again = pickle.loads(pickle.dumps(made))
    assert not hasattr(again, "data_")
    assert hasattr(made, "data_")
    assert again.model_.curvature is not None
    del made.data_
    assert not hasattr(made, "data_")
    np.testing.assert_array_equal(made.model_.curvature, again.model_.curvature)
    np.testing.assert_array_equal(made.model_.w, again.model_.w)
    with pytest.raises(AttributeError, match="does not hold the data"):
        _ = made.data_
    with pytest.raises(AttributeError, match="does not hold the data"):
        _ = crf().data_
    with pytest.raises(AttributeError):
        del crf().data_


def test_a_file_keeps_what_learning_on_needs_where_the_model_has_it(tmp_path: Path) -> None:
    made = fitted()
    made.model_.save(tmp_path / "plain.crf")
    with_curvature(made.model_, made.data_, Likelihood()).save(tmp_path / "curved.crf")
    opened = crf()
    opened.model_ = crfkit.load(tmp_path / "plain.crf")
    assert opened.model_.curvature is None
    with pytest.raises(ValueError, match="call fit with all data, or keep the curvature"):
        opened.partial_fit(X_TEST, Y_TEST)
    opened.model_ = crfkit.load(tmp_path / "curved.crf")
    del made.data_
    new = [[{"w": "zap"}, {"w": "dog"}]], [["Z", "N"]]
    np.testing.assert_array_equal(opened.partial_fit(*new).model_.w, made.partial_fit(*new).model_.w)
    damaged = np.full(len(made.model_.w), -1.0)
    with pytest.raises(ValueError, match="curvature is expected to be"):
        replace(made.model_, curvature=damaged)


def test_one_label_is_enough_to_learn_on_from() -> None:
    for made in (fitted(), freed()):
        made.partial_fit([[{"w": "zap"}]] * 3, [["N"]] * 3)
        assert made.predict([[{"w": "zap"}]]) == [["N"]]


@pytest.mark.parametrize(
    "made", [CodeCRF(), HiddenChainCRF(), HiddenSequenceCRF(), OpinionPool(), VotedPerceptron()], ids=repr
)
def test_what_cannot_learn_on_has_no_partial_fit(made: Any) -> None:
    assert not hasattr(made, "partial_fit")
    with pytest.raises(AttributeError, match=r"has no partial_fit: .*call fit"):
        made.partial_fit(X, Y)


def test_without_old_data_those_since_are_held_and_learned_together() -> None:
    step, once = (freed(optimizer=NEAR) for _ in range(2))
    new = [[{"w": "zap"}, {"w": "dog"}]], [["Z", "N"]]  # a label that is new
    for n in range(0, 8, 2):
        step.partial_fit(X_TEST[n : n + 2], Y_TEST[n : n + 2])
    step.partial_fit(*new)
    once.partial_fit([*X_TEST[:8], *new[0]], [*Y_TEST[:8], *new[1]])
    np.testing.assert_allclose(step.log_prob(X, Y), once.log_prob(X, Y), atol=1e-5)
    again = pickle.loads(pickle.dumps(step))
    del step.data_
    for made in (again, step):  # both know those since by their curvature alone
        made.partial_fit(X[:2], Y[:2])
    np.testing.assert_array_equal(again.model_.w, step.model_.w)
    assert not hasattr(step, "data_")
    assert not np.array_equal(once.partial_fit(X[:2], Y[:2]).model_.w, step.model_.w)
    assert step.fit(X, Y).data_.batch.positions == fitted().data_.batch.positions


# ---- nothing is forgotten -------------------------------------------------------------------------


def right(made: Any, given: Any, labels: list[list[str]]) -> float:
    found, gold = (np.concatenate(lists) for lists in (made.predict(given), labels))
    return float(np.mean(found == gold))


@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize("source", ["generated", "usaddress"])
def test_a_correction_and_new_lines_leave_the_rest_as_it_was(source: str, held: bool) -> None:
    if source == "usaddress" and not ADDRESSES.exists():
        pytest.skip("CRFKIT_DATA has no usaddress")
    data = addresses.generated() if source == "generated" else addresses.real(ADDRESSES)
    first = ChainCRF(objective=Likelihood(l2=0.1), n_jobs=1).fit(data.X, data.y)
    made = first if held else pickle.loads(pickle.dumps(first))
    x, y = data.correction
    assert right(made, data.X, data.y) > 0.997
    assert made.predict([x]) != [y]
    made.partial_fit([x], [y])
    assert made.predict([x]) == [y]
    assert right(made, data.X, data.y) >= 0.995
    for n in range(0, 1000, 50):
        made.partial_fit(data.X_new[n : n + 50], data.y_new[n : n + 50])
    everything = [*data.X, x, *data.X_new], [*data.y, y, *data.y_new]
    whole = clone(first).fit(*everything)
    assert abs(right(made, *everything) - right(whole, *everything)) <= 0.002


@pytest.mark.slow
def test_what_was_learned_from_few_lines_stays_as_others_like_them_come() -> None:
    if not ADDRESSES.exists():
        pytest.skip("CRFKIT_DATA has no usaddress")
    data = addresses.real(ADDRESSES)
    order = np.random.default_rng(0).permutation(1513).tolist()
    X, y = [data.X[n] for n in order], [data.y[n] for n in order]
    made = ChainCRF(objective=Likelihood(l2=0.1), n_jobs=1).fit(X[:513], y[:513])
    del made.data_
    for n in range(513, 1513, 50):
        made.partial_fit(X[n : n + 50], y[n : n + 50])
    assert right(made, X, y) >= clone(made).fit(X, y).score(X, y) - 0.002


def test_what_comes_next_is_of_the_kind_that_came_before() -> None:
    numbers: Any = [[["D", "N", "V"].index(y) for y in tags] for tags in Y]
    for made, given in ((crf(), X), (HMM(), W)):
        made.partial_fit(given, numbers)
        with pytest.raises(
            TypeError, match="y has labels that are strings, and those of the model are whole"
        ):
            made.partial_fit(given, Y)
        assert made.partial_fit(given, numbers).predict(given[:1]) == numbers[:1]
    made = crf().partial_fit(X, numbers).partial_fit(X[:1], [[None] * len(Y[0])])
    assert made.predict(X[:1]) == numbers[:1]
    with pytest.raises(ValueError, match="X is tokens, and the model was trained on features of positions"):
        ChainCRF(max_iterations=3).partial_fit(X, Y).partial_fit(W, Y)
    with pytest.raises(ValueError, match="has no 'word', which the template reads"):
        ChainCRF(max_iterations=3).partial_fit(W, Y).partial_fit(X, Y)
