"""Scores counted by hand, tests of significance against their definitions, and scikit-learn as the caller."""

import math
import pickle
import subprocess
import sys
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator

from crfkit.metrics import (
    METRICS,
    calibration,
    confusion_matrix,
    mcnemar,
    metric,
    paired_bootstrap,
    scorer,
    span_scores,
    token_scores,
)
from crfkit.metrics.counts import Score

TRUE = [["N", "V", "N", "D"], ["N"], []]
PRED = [["N", "N", "N", "D"], ["V"], []]
ROWS = st.lists(st.lists(st.tuples(*[st.sampled_from("abcd")] * 3), max_size=5), max_size=6)


def columns(rows: list[list[tuple[str, ...]]]) -> list[list[list[str]]]:
    return [[[item[k] for item in row] for row in rows] for k in range(3)]


# ---- tokens and sequences ----------------------------------------------------------------------


def test_tokens_counted_by_hand() -> None:
    scores = token_scores(TRUE, PRED, by=["x", "y", "y"])
    assert scores.by_label == {"D": Score(1, 1, 1), "N": Score(2, 3, 3), "V": Score(0, 1, 1)}
    assert scores.accuracy == 3 / 5
    assert scores.micro == Score(3, 5, 5)
    assert scores.macro.f1 == pytest.approx((1 + 2 / 3 + 0) / 3)
    assert scores.weighted.precision == pytest.approx((1 * 1 + 3 * 2 / 3 + 0) / 5)
    assert {name: part.accuracy for name, part in scores.groups.items()} == {"x": 3 / 4, "y": 0.0}
    without = token_scores(TRUE, PRED, ignore=["N"])
    assert list(without.by_label) == ["D", "V"]
    assert without.micro == Score(1, 2, 2)
    assert without.accuracy == 3 / 5
    assert token_scores([], []).macro.f1 == 0


def test_sequences_counted_by_hand() -> None:
    assert METRICS["sequence_accuracy"](TRUE, PRED) == 1 / 3
    assert METRICS["sequence_accuracy"]([], []) == 0
    # sklearn-crfsuite 0.5.0 compares item by item here and returns 1.5.
    assert METRICS["sequence_accuracy"]([["a", "b"], ["a", "b"]], [["a", "b"], ["a", "a"]]) == 0.5


def test_confusion_counted_by_hand() -> None:
    table = confusion_matrix(TRUE, PRED)
    assert table.labels == ("D", "N", "V")
    assert table.matrix.tolist() == [[1, 0, 0], [0, 2, 1], [0, 1, 0]]
    assert table.most() == [("N", "V", 1), ("V", "N", 1)]
    assert confusion_matrix(np.array([0, 1]), np.array([1, 1]), labels=["b", "a"]).matrix.tolist() == [
        [0, 1],
        [0, 1],
    ]


@given(ROWS)
def test_tokens_are_scikit_learns(rows: list[list[tuple[str, ...]]]) -> None:
    from sklearn.metrics import precision_recall_fscore_support

    y_true, y_pred, _ = columns(rows)
    flat = [[label for row in y for label in row] for y in (y_true, y_pred)]
    if not flat[0]:
        return
    for part, average in product(("precision", "recall", "f1"), ("macro", "weighted")):
        want = precision_recall_fscore_support(*flat, average=average, zero_division=0)
        got = METRICS[f"{part}_{average}"](y_true, y_pred)
        assert got == pytest.approx(want[("precision", "recall", "f1").index(part)])
        assert got == pytest.approx(getattr(getattr(token_scores(y_true, y_pred), average), part))


# ---- names -------------------------------------------------------------------------------------


def test_metrics_by_name_agree_with_the_tables() -> None:
    y_true = [["B-A", "I-A", "O"], ["B-B"], ["B-A", "O"]]
    y_pred = [["B-A", "O", "O"], ["B-B"], ["B-A", "B-B"]]
    spans = span_scores(y_true, y_pred)
    assert spans.overall == Score(2, 4, 3)
    want = {"accuracy": 4 / 6, "sequence_accuracy": 1 / 3}
    for part in ("precision", "recall", "f1"):
        want[f"span_{part}"] = getattr(spans, part)
        for average in ("macro", "weighted"):
            want[f"span_{part}_{average}"] = getattr(getattr(spans, average), part)
            tokens = token_scores(y_true, y_pred)
            want[f"{part}_{average}"] = getattr(getattr(tokens, average), part)
    assert {name: one(y_true, y_pred) for name, one in METRICS.items()} == pytest.approx(want)
    groups = METRICS["span_f1"].by_group(y_true, y_pred, ["x", "y", "x"])
    assert groups == pytest.approx({"x": 2 / 5, "y": 1.0})


def test_names_that_do_not_exist() -> None:
    with pytest.raises(
        ValueError, match=r"metric 'span_F1' is not known; expected one of accuracy, .*mean 'span_f1'"
    ):
        metric("span_F1")
    with pytest.raises(ValueError, match="'accuracy' has no scheme"):
        metric("accuracy", scheme="BIO")


class Echo(BaseEstimator):
    """An estimator whose items are the labels that it predicts."""

    def __init__(self, keep: bool = True) -> None:
        self.keep = keep

    def fit(self, X: Any, y: Any) -> "Echo":
        return self

    def predict(self, X: list[list[str]]) -> list[list[str]]:
        return [list(x) if self.keep else ["O"] * len(x) for x in X]


def test_scikit_learn_takes_the_scorers() -> None:
    from sklearn.model_selection import GridSearchCV, cross_validate

    y = [["B-A", "O"], ["B-A"], ["O", "B-B", "I-B"], ["B-A"]]
    scoring = {"f1": scorer("span_f1"), "accuracy": scorer(METRICS["accuracy"])}
    made = cross_validate(Echo(), y, y, cv=2, scoring=scoring)
    assert made["test_f1"].tolist() == made["test_accuracy"].tolist() == [1.0, 1.0]
    search = GridSearchCV(Echo(), {"keep": [False, True]}, cv=2, scoring=scorer("span_f1", scheme="BIO"))
    assert search.fit(y, y).best_params_ == {"keep": True}
    copied = pickle.loads(pickle.dumps(scorer("span_f1_macro")))
    assert copied(Echo(), y, y) == 1.0


def test_metrics_load_nothing_heavy() -> None:
    code = "import sys, crfkit.metrics; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(run.stdout.split()) & {"sklearn", "scipy", "pandas", "torch"}


# ---- calibration -------------------------------------------------------------------------------


def test_calibration_counted_by_hand() -> None:
    made = calibration([[0.0, 0.25], [0.5, 1.0]], [[False, True], [False, True]], bins=4)
    assert made.count.tolist() == [2, 1, 0, 1]
    assert made.confidence[[0, 1, 3]].tolist() == [0.125, 0.5, 1.0]
    assert made.accuracy[[0, 1, 3]].tolist() == [0.5, 0.0, 1.0]
    assert np.isnan(made.accuracy[2])
    assert made.expected_error == pytest.approx((2 * 0.375 + 0.5) / 4)
    assert made.maximum_error == 0.5
    assert made.brier == pytest.approx((0.75**2 + 0.5**2) / 4)
    assert calibration(np.linspace(0, 1, 12), np.ones(12), 3, spacing="count").count.tolist() == [4, 4, 4]


def test_probabilities_that_are_none() -> None:
    with pytest.raises(ValueError, match=r"probabilities has 1.5 at place 1"):
        calibration([0.5, 1.5], [True, True])
    with pytest.raises(ValueError, match="has nan at place 0"):
        calibration([np.nan], [True])
    with pytest.raises(ValueError, match=r"shape \(1,\) and correct \(2,\)"):
        calibration([0.5], [True, True])
    with pytest.raises(ValueError, match="correct must be true or false"):
        calibration([0.5], [0.5])
    assert calibration([1 + 1e-9], [1]).brier == 0


def test_calibration_of_marginals_and_labels() -> None:
    marginals = [[{"N": 0.9, "V": 0.1}, {"N": 0.4, "V": 0.6}], [], [{"N": 0.3, "V": 0.7}]]
    y: list[list[str | None]] = [["N", "N"], [], ["V"]]
    made = calibration(marginals, y, bins=5)
    plain = calibration([0.9, 0.6, 0.7], [True, False, True], bins=5)
    np.testing.assert_array_equal(made.count, plain.count)
    assert (made.brier, made.expected_error) == (plain.brier, plain.expected_error)
    arrays = [np.array([[0.9, 0.1], [0.4, 0.6]]), np.zeros((0, 2)), np.array([[0.3, 0.7]])]
    assert calibration(arrays, y, bins=5, labels=["N", "V"]).brier == plain.brier
    assert calibration(marginals, [["N", None], [], ["V"]]).count.sum() == 2
    with pytest.raises(ValueError, match="sequence 0: there are marginals of 2 positions and labels"):
        calibration(marginals, [["N"], [], ["V"]])
    with pytest.raises(ValueError, match="marginals of 3 sequences and labels of 1"):
        calibration(marginals, [["N"]])
    with pytest.raises(TypeError, match=r"give calibration\(marginals, y\), in this order"):
        calibration(y, marginals)


# ---- significance ------------------------------------------------------------------------------


def test_mcnemar_by_its_definition() -> None:
    def systems(only_a: int, only_b: int, both: int = 5) -> tuple[list[list[str]], ...]:
        a = ["x"] * (only_a + both) + ["y"] * only_b
        b = ["x"] * both + ["y"] * only_a + ["x"] * only_b
        return [["x"] * len(a)], [a], [b]

    few = mcnemar(*systems(2, 8))
    assert (few.only_a, few.only_b, few.exact) == (2, 8, True)
    assert few.p_value == pytest.approx(2 * sum(math.comb(10, k) for k in range(3)) / 2**10)
    many = mcnemar(*systems(40, 20))
    assert not many.exact
    assert many.statistic == pytest.approx(19**2 / 60)
    assert many.p_value == pytest.approx(math.erfc(math.sqrt(19**2 / 60 / 2)))
    assert mcnemar(*systems(40, 20), exact=True).p_value == pytest.approx(many.p_value, abs=0.005)
    assert mcnemar(*systems(3, 3)).p_value == 1
    assert mcnemar(*systems(20, 20)).p_value == 1
    assert mcnemar(*systems(0, 0)).p_value == 1


@pytest.mark.parametrize("name", METRICS)
def test_bootstrap_is_that_of_the_metric_on_drawn_sequences(name: str) -> None:
    random = np.random.default_rng(3)
    labels = ["O", "B-A", "I-A", "B-B"]
    y_true = [[labels[i] for i in random.integers(4, size=random.integers(1, 7))] for _ in range(15)]
    y_a, y_b = systems = [
        [[x if random.random() < keep else labels[random.integers(4)] for x in row] for row in y_true]
        for keep in (0.5, 0.8)
    ]
    made = paired_bootstrap(y_true, y_a, y_b, name, samples=40, random_state=7)
    draws = np.random.default_rng(7).integers(15, size=(40, 15))
    values = [
        [METRICS[name]([y_true[n] for n in draw], [system[n] for n in draw]) for system in systems]
        for draw in draws
    ]
    difference = np.diff(values, axis=1)[:, 0]
    assert made.interval == pytest.approx(tuple(np.quantile(difference, [0.025, 0.975])))
    assert made.interval_a == pytest.approx(tuple(np.quantile([a for a, _ in values], [0.025, 0.975])))
    assert (made.a, made.b) == pytest.approx(tuple(METRICS[name](y_true, system) for system in systems))
    assert made.difference == pytest.approx(made.b - made.a)
    assert made == paired_bootstrap(y_true, y_a, y_b, metric(name), samples=40, random_state=7)


def test_bootstrap_tells_a_difference_from_none() -> None:
    random = np.random.default_rng(0)
    true = np.ones(3000, np.int64)
    ptr = np.arange(0, 3001, 10)
    a, b, c = (np.where(random.random(3000) < right, 1, 0) for right in (0.80, 0.80, 0.86))

    def compare(x: Any, y: Any, **options: Any) -> Any:
        return paired_bootstrap(true, x, y, "accuracy", labels=["O", "B"], seq_ptr=ptr, **options)

    assert compare(a, c).p_value < 0.01 < compare(a, b).p_value
    assert compare(a, a).p_value == 1
    assert compare(a, a).interval == (0, 0)
    low, high = compare(a, c).interval
    assert low > 0
    assert high - low == pytest.approx(2 * 1.96 * math.sqrt((0.16 + 0.12) / 3000), rel=0.15)
    grouped = compare(a, c, by=[n // 100 for n in range(300)], level=0.9)
    assert grouped.level == 0.9
    assert grouped.difference == compare(a, c).difference


# ---- what is given -----------------------------------------------------------------------------


def test_lengths_that_differ() -> None:
    with pytest.raises(ValueError, match="y_true has 2 sequences and y_pred 1"):
        span_scores([["O"], ["O"]], [["O"]])
    with pytest.raises(ValueError, match="sequence 1: y_true has 2 labels and y_b 1"):
        mcnemar([["O"], ["O", "O"]], [["O"], ["O", "O"]], [["O"], ["O"]])
    with pytest.raises(ValueError, match="y_true has 2 labels and y_pred 1"):
        token_scores(np.array([0, 0]), np.array([0]), labels=["O"])
    with pytest.raises(
        ValueError, match="by must name the group of each of the 1 sequences; it has 2 groups"
    ):
        span_scores([["O"]], [["O"]], by=["a", "b"])


def test_labelings_of_a_wrong_kind() -> None:
    wrong: Any = ["B-A", "O"]
    with pytest.raises(TypeError, match=r"y_true\[0\] is B-A, not a list of labels: give one"):
        span_scores(wrong, wrong)
    wrong = [[1, 2]]
    with pytest.raises(TypeError, match=r"y_true has the label [12], of type int: labels are strings"):
        span_scores(wrong, wrong)
    with pytest.raises(TypeError, match=r"y_true\[0\] is 3, not a list .*labels= and seq_ptr="):
        span_scores(np.array([3]), np.array([3]))
    with pytest.raises(TypeError, match=r"y_true\[0\] is \['O'\], not an id"):
        span_scores([["O"]], [["O"]], labels=["O"])
    with pytest.raises(ValueError, match=r"y_pred\[1\] is -1, not an id of the 1 labels"):
        span_scores(np.array([0, 0]), np.array([0, -1]), labels=["O"])
    with pytest.raises(ValueError, match="seq_ptr must rise from 0 to the number of labels, 2"):
        span_scores(np.array([0, 0]), np.array([0, 0]), labels=["O"], seq_ptr=np.array([0, 1]))
    with pytest.raises(ValueError, match="seq_ptr belongs to flat arrays"):
        span_scores([["O"]], [["O"]], seq_ptr=np.array([0, 1]))
    with pytest.raises(TypeError, match="ignore is the string 'O'"):
        token_scores(TRUE, PRED, ignore="O")
    with pytest.raises(ValueError, match="y_true is empty"):
        paired_bootstrap([], [], [])


@given(ROWS)
def test_tuples_and_arrays_count_like_lists(rows: list[list[tuple[str, ...]]]) -> None:
    y_true, y_pred, _ = columns(rows)
    tuples: Any = [tuple(row) for row in y_true]
    arrays: Any = [np.array(row, dtype=object) for row in y_pred]
    assert token_scores(tuples, arrays).by_label == token_scores(y_true, y_pred).by_label
