"""What ChainCRF learns, how it goes on learning, and what it answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.linear_model import LogisticRegression

from crfkit import Chain, FeatureSelection, Likelihood, Stop
from crfkit.features import ItemExtractor
from crfkit.structures.constraints import Forbid, Scheme
from tests.cases.estimators import A_WORD, NEAR, W_TEST, X_TEST, Y_TEST, W, X, Y, crf, fitted

# ---- what it learns -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["dense", "sparse", "items"])
def test_single_positions_are_logistic_regression(kind: str) -> None:
    random = np.random.default_rng(0)
    rows, weight = random.normal(size=(60, 4)), random.uniform(0.5, 2.0, size=60)
    y = np.array(["a", "b", "c"])[(rows @ random.normal(size=(4, 3)) + random.normal(size=(60, 3))).argmax(1)]
    given: dict[str, Any] = {
        "dense": [row[None] for row in rows],
        "sparse": [scipy.sparse.csr_matrix(row[None]) for row in rows],
        "items": [[dict(zip("pqrs", map(float, row), strict=True))] for row in rows],
    }
    logistic = LogisticRegression(C=1 / 0.7, fit_intercept=False, tol=1e-10, max_iter=10_000)
    logistic.fit(rows, y, sample_weight=weight)
    made = crf(objective=Likelihood(l2=0.7), optimizer=NEAR, selection="all")
    made.fit(given[kind], [[label] for label in y.tolist()], sample_weight=weight)
    found = np.concatenate(made.predict_proba(given[kind]))
    order = [made.classes_.tolist().index(label) for label in logistic.classes_]
    np.testing.assert_allclose(found[:, order], logistic.predict_proba(rows), atol=1e-4)


@pytest.mark.parametrize(
    "options", [{}, {"optimizer": NEAR}, {"optimizer": NEAR, "structure": Chain(order=2)}]
)
def test_sample_weight_is_repetition(options: dict[str, Any]) -> None:
    weight = [1 + n % 3 for n in range(len(X))]
    repeated = [n for n, times in enumerate(weight) for _ in range(times)]
    one = crf(**options).fit(X, Y, sample_weight=weight)
    two = crf(**options).fit([X[n] for n in repeated], [Y[n] for n in repeated])
    near = 1e-3  # "auto" ends at a certified gap
    np.testing.assert_allclose(one.log_prob(X, Y), two.log_prob(X, Y), atol=near)
    assert abs(one.log_prob(X, Y) - fitted(**options).log_prob(X, Y)).max() > 2 * near
    noisy = [["D"] * len(y) for y in Y]
    for metric in ("accuracy", "sequence_accuracy", "f1_macro", "log_prob"):
        one.set_params(metric=metric)
        plain = one.score([X[n] for n in repeated], [noisy[n] for n in repeated])
        assert one.score(X, noisy, sample_weight=weight) == pytest.approx(plain)


def test_dev_set_constraints_and_scheme() -> None:
    segments = [[{"D": "B-X", "N": "I-X", "V": "O"}[y] for y in s] for s in Y]
    made = crf(structure=Chain(constraints=[Scheme("BIO")]), stop=Stop(max_iterations=30)).fit(
        X, segments, dev=(X_TEST, [["O"] * len(y) for y in Y_TEST])
    )
    assert made.model_.training is not None
    assert made.model_.training.metric == "span_f1"
    assert all(s[0] != "I-X" for s in made.predict([[{"w": "dog"}]]))
    strict = crf(structure=Chain(constraints=[Scheme("BIO")]), metric="span_f1").fit(X, segments)
    assert strict.score(X, segments) == strict.score(X, segments, sample_weight=np.arange(24)) == 1.0
    ruled = crf(structure=Chain(constraints=[Forbid("N", "V")]))
    assert ruled.get_params()["structure__constraints"] == (Forbid("N", "V"),)
    with pytest.raises(ValueError, match=r"dev is a list, expected a pair, as in fit\(X, y, dev="):
        crf().fit(X, Y, dev=X_TEST)
    dev = ItemExtractor()(X_TEST, Y_TEST)
    assert crf(metric="sequence_accuracy").fit(X, Y, dev=dev).score(X_TEST, Y_TEST) == 1.0


def test_unknown_labels_are_summed_over() -> None:
    hidden: list[list[str | None]] = [[y if n % 2 else None for n, y in enumerate(s)] for s in Y]
    made = crf(stop=Stop(max_iterations=20)).fit(X, hidden)
    assert np.all(made.log_prob(X, hidden) >= made.log_prob(X, made.predict(X)) - 1e-9)


# ---- queries --------------------------------------------------------------------------------------


def test_queries_agree() -> None:
    made = fitted(structure=Chain(order=1))
    found = made.predict(X_TEST)
    assert isinstance(found, list)
    assert {*map(type, found)} == {list}
    assert {type(y) for s in found for y in s} == {str}
    assert made.predict([X_TEST[0]] * 2) == [found[0]] * 2  # equal lengths make no array
    assert made.predict([]) == []
    assert made.predict([[]]) == [[]]
    arrays = made.predict_proba(X_TEST)
    dicts = arrays.to_dicts()
    for array, rows in zip(arrays, dicts, strict=True):
        np.testing.assert_allclose(array.sum(axis=1), 1.0)
        assert [[row[y] for y in made.classes_] for row in rows] == array.tolist()
    best = made.kbest(X_TEST, 3)
    assert [one[0][0] for one in best] == found
    for one, x in zip(best, X_TEST, strict=True):
        again = made.log_prob([x] * len(one), [each.labels for each in one])
        np.testing.assert_allclose([each.log_prob for each in one], again, atol=1e-9)
    draws = made.sample(X_TEST, 400, random_state=1)
    assert draws == made.sample(X_TEST, 400, random_state=1)
    assert made.sample(X_TEST, 3) == made.sample(X_TEST, 3, random_state=0)
    share = np.mean([[y[0] == "D" for y in draws[n]] for n in range(len(draws))], axis=1)
    assert abs(share - [rows[0]["D"] for rows in dicts]).max() < 0.1
    assert made.log_prob(A_WORD, [["unheard"]]) == [-np.inf]
    assert made.log_prob(A_WORD, [[None]]) == pytest.approx([0.0])
    with pytest.raises(ValueError, match=r"none of its labels \(unheard\) is one of the model \(D, N, V\)"):
        made.score(X_TEST, [["unheard"] * len(y) for y in Y_TEST])
    with pytest.raises(ValueError, match="k is 0"):
        made.kbest(X, 0)
    with pytest.raises(ValueError, match="n_samples is 0"):
        made.sample(X, 0)


def test_single_sequences() -> None:
    made = fitted()
    for x, labels, rows in zip(
        X_TEST, made.predict(X_TEST), made.predict_proba(X_TEST).to_dicts(), strict=True
    ):
        assert made.tag(x) == labels
        single = made.predict_proba([x]).to_dicts()[0]
        assert [pytest.approx(row, abs=1e-12) for row in rows] == single
    with_template = crf(features="w[0]").fit(W, Y)
    assert with_template.tag(W_TEST[0]) == Y_TEST[0]


def test_weights_by_name() -> None:
    made = fitted(selection=FeatureSelection(transitions="observed"), objective=Likelihood(l1=0.5, l2=0.1))
    model, layout = made.model_, made.model_.layout
    places = {layout.describe(i): w for i, w in enumerate(model.w.tolist()) if w}
    names = model.structure.labels
    nodes = {
        (model.attributes[p.attribute], names[p.label]): w
        for p, w in places.items()
        if p.kind == "node" and p.attribute is not None
    }
    assert made.state_features_ == nodes
    runs = {tuple(names[y] for y in p.ngram): w for p, w in places.items() if p.kind == "transition"}
    assert made.transition_features_ == runs
    assert fitted().state_features_["w:the", "D"] > 0.0
    third = fitted(structure=Chain(order=2)).transition_features_
    assert {len(run) for run in third} == {2, 3}
    hashed = ItemExtractor(hashed=32)
    assert all(name.startswith("attribute ") for name, _ in crf().fit(hashed(X, Y)).state_features_)
    assert not hasattr(crf(), "state_features_")
    assert not hasattr(crf(), "transition_features_")
