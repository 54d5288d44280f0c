"""MultiLabelCRF: several labels of one sample."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, hamming_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from crfkit import MultiLabelCRF, Stop
from crfkit.inference.methods import Enumeration

TIGHT = Stop(tolerance=1e-12, max_iterations=2000)


def samples(seed: int, N: int = 60) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return features and four labels: the second is nearly the first, the others follow the features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 3))
    first = X[:, 0] + rng.normal(scale=1.0, size=N) > 0
    second = first ^ (rng.random(N) < 0.05)
    others = X[:, 1:] + rng.normal(scale=0.5, size=(N, 2)) > 0
    return X, np.column_stack([first, second, others]).astype(int)


def test_without_pairs_it_is_a_logistic_regression_for_each_label() -> None:
    X, Y = samples(0)
    crf = MultiLabelCRF(pairs="none", stop=TIGHT).fit(X, Y)
    with_one = np.column_stack([X, np.ones(len(X))])
    for a in range(4):
        alone = LogisticRegression(fit_intercept=False, tol=1e-10, max_iter=1000).fit(with_one, Y[:, a])
        np.testing.assert_allclose(crf.coef_[a], alone.coef_[0, :-1], atol=1e-5)
        assert crf.intercept_[a] == pytest.approx(alone.coef_[0, -1], abs=1e-5)
        np.testing.assert_allclose(crf.predict_proba(X)[:, a], alone.predict_proba(with_one)[:, 1], atol=1e-5)


@pytest.mark.parametrize("pairs", ["tree", "all", [(0, 1), (3, 2)]])
def test_probabilities_are_those_of_enumeration(pairs: Any) -> None:
    X, Y = samples(1)
    crf = MultiLabelCRF(pairs=pairs).fit(X, Y)
    found, best = crf.predict_proba(X), crf.predict(X)
    crf.method = Enumeration()
    np.testing.assert_allclose(found, crf.predict_proba(X), atol=1e-9)
    assert (best == crf.predict(X)).all()
    assert (crf.interaction_ == crf.interaction_.T).all()
    assert crf.interaction_[0, 1] > 1.0
    assert np.count_nonzero(crf.interaction_) <= 2 * len(crf.pairs_)


def test_labels_that_exclude_each_other_are_predicted_better_together() -> None:
    rng = np.random.default_rng(2)
    label = rng.integers(0, 3, 300)
    X, Y = np.eye(3)[label] + rng.normal(scale=0.7, size=(300, 3)), np.eye(3, dtype=int)[label]
    apart, joint = (MultiLabelCRF().set_params(pairs=p).fit(X[:150], Y[:150]) for p in ("none", "all"))
    assert joint.score(X[150:], Y[150:]) > apart.score(X[150:], Y[150:]) + 0.05


def test_sparse_data_give_what_dense_ones_give() -> None:
    X, Y = samples(3)
    dense = MultiLabelCRF(stop=TIGHT).fit(X, Y)
    sparse = MultiLabelCRF(stop=TIGHT).fit(csr_matrix(X), csr_matrix(Y))
    np.testing.assert_allclose(dense.coef_, sparse.coef_, atol=1e-5)
    assert (dense.predict(X) == sparse.predict(csr_matrix(X))).all()


def test_it_works_with_the_tools_of_scikit_learn() -> None:
    X, Y = samples(4)
    pipe = make_pipeline(StandardScaler(), MultiLabelCRF())
    assert cross_val_score(pipe, X, Y, cv=3, scoring="f1_micro").min() > 0.6
    search = GridSearchCV(MultiLabelCRF(), {"pairs": ["none", "tree"], "objective__l2": [0.1, 1.0]}, cv=2)
    found = search.fit(X, Y).predict(X)
    assert found.shape == Y.shape
    assert f1_score(Y, found, average="macro") > 0.7
    assert hamming_loss(Y, found) < 0.3


def test_weights() -> None:
    X, Y = samples(5)
    doubled = MultiLabelCRF(stop=TIGHT).fit(X, Y, sample_weight=np.full(len(X), 2.0))
    twice = MultiLabelCRF(stop=TIGHT).fit(np.tile(X, (2, 1)), np.tile(Y, (2, 1)))
    np.testing.assert_allclose(doubled.coef_, twice.coef_, atol=1e-5)


#: Checks of scikit-learn that give one column of labels other than 0 and 1, and one of default arguments.
OTHER_LABELS = """
    check_estimators_dtypes check_sample_weights_not_an_array check_sample_weights_shape
    check_sample_weights_not_overwritten check_estimator_sparse_array check_estimator_sparse_matrix
    check_classifier_data_not_an_array check_classifiers_one_label check_classifiers_classes
    check_classifiers_train check_classifier_not_supporting_multiclass check_fit2d_1feature
"""
NOT_FOR_IT = {
    **dict.fromkeys(OTHER_LABELS.split(), "one column of labels other than 0 and 1"),
    "check_parameters_default_constructible": "defaults are frozen dataclasses",
}


@pytest.mark.filterwarnings("ignore")
def test_checks_of_scikit_learn() -> None:
    found = check_estimator(
        MultiLabelCRF(stop=Stop(max_iterations=5)),
        expected_failed_checks=NOT_FOR_IT,
        on_fail=None,
        on_skip=None,
    )
    failed = [one["check_name"] for one in found if one["status"] == "failed"]
    assert failed == []
    assert sum(one["status"] == "passed" for one in found) > 45


@pytest.mark.parametrize(
    ("options", "Y", "said"),
    [
        ({}, [[0, 2], [1, 0]], r"y\[0, 1\] is 2, not a label of 0 or 1"),
        ({}, [[0, 1]], "inconsistent numbers of samples"),
        ({"pairs": [(0, 5)]}, [[0, 1], [1, 0]], "pairs of labels from 0 to 1"),
        ({"pairs": [(0, 1), (1, 0)]}, [[0, 1], [1, 0]], "different pairs"),
        ({"pairs": "some"}, [[0, 1], [1, 0]], "pairs"),
    ],
)
def test_wrong_input_is_refused(options: dict[str, Any], Y: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        MultiLabelCRF().set_params(**options).fit([[0.0], [1.0]], Y)
    with pytest.raises(ValueError, match="features"):
        MultiLabelCRF().fit([[0.0], [1.0]], [[0], [1]]).predict([[0.0, 1.0]])


def test_one_column_may_have_two_other_integers() -> None:
    """As scikit-learn's check of weights in a pandas Series has it."""
    X = np.array([[i, j] for i in (1, 2, 3) for j in (1, 2, 3, 4)])
    y = np.array([1, 1, 1, 1, 2, 2, 2, 2, 1, 1, 2, 2])[:, None]
    crf = MultiLabelCRF().fit(X, y, sample_weight=np.ones(12))
    plain = MultiLabelCRF().fit(X, y - 1)
    np.testing.assert_array_equal(crf.predict(X), plain.predict(X) + 1)
    assert {*crf.values_.tolist()} == {1, 2}
    np.testing.assert_array_equal(crf.predict_proba(X), plain.predict_proba(X))
