"""Reports against counts by hand and scikit-learn; weights and groups against chosen sequences."""

from __future__ import annotations

import json
import pickle
import sys
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import classification_report, confusion_matrix

from crfkit import Graph, GraphCRF
from crfkit.metrics import METRICS, metric, span_scores
from crfkit.metrics.comparison import Columns, Joined, log_prob
from crfkit.metrics.counts import Score
from tests.cases.every_estimator import CASES

DRAW = np.random.default_rng(5)
NAMES = ["B-A", "I-A", "B-B", "O"]
GOLD = [[str(y) for y in DRAW.choice(NAMES, n)] for n in DRAW.integers(0, 6, 40)]
FOUND = [[y if DRAW.random() < 0.7 else str(DRAW.choice(NAMES)) for y in row] for row in GOLD]
GROUPS = [f"page {n // 15}" for n in range(40)]


def test_rows_of_labels_are_scikit_learns() -> None:
    report = Columns.of(GOLD, FOUND, METRICS["f1_macro"]).report()
    flat = [[y for row in rows for y in row] for rows in (GOLD, FOUND)]
    expected = classification_report(*flat, output_dict=True, zero_division=0)
    for name in NAMES:
        row = report.rows[name]
        assert [row.precision, row.recall, row.f1, row.support] == pytest.approx([*expected[name].values()])
    assert report.macro.f1 == report.score == pytest.approx(expected["macro avg"]["f1-score"])
    assert report.weighted.recall == pytest.approx(expected["weighted avg"]["recall"])
    assert report.accuracy == report.micro.f1 == pytest.approx(expected["accuracy"])
    assert report.confusion.matrix.tolist() == confusion_matrix(*flat).tolist()
    assert (report.kind, report.n, report.labels) == ("labels", 40, len(flat[0]))


def test_rows_of_spans_are_those_of_span_scores() -> None:
    report = Columns.of(GOLD, FOUND, METRICS["span_f1"], scheme="lenient").report(GROUPS)
    expected = span_scores(GOLD, FOUND, by=GROUPS)
    assert report.rows == expected.by_type
    assert (report.micro, report.macro, report.weighted) == (
        expected.overall,
        expected.macro,
        expected.weighted,
    )
    assert (report.score, report.accuracy) == (expected.f1, expected.accuracy)
    assert list(report.groups) == ["page 0", "page 1", "page 2"]
    for name, group in report.groups.items():
        one = expected.groups[name]
        assert (group.micro, group.score, group.accuracy) == (one.overall, one.f1, one.accuracy)
        assert group.n == GROUPS.count(str(name))
    assert pickle.loads(pickle.dumps(report)).errors(3) == report.errors(3)


@pytest.mark.parametrize("name", METRICS)
def test_weights_and_groups_are_repeated_and_chosen_sequences(name: str) -> None:
    compared = Columns.of(GOLD, FOUND, METRICS[name])
    weight = DRAW.integers(0, 3, 40)
    often = [n for n in range(40) for _ in range(weight[n])]
    assert compared.score(weight) == pytest.approx(
        METRICS[name](*([rows[n] for n in often] for rows in (GOLD, FOUND)))
    )
    assert compared.score() == METRICS[name](GOLD, FOUND)
    groups = {name: group.score for name, group in compared.report(GROUPS).groups.items()}
    assert groups == pytest.approx(METRICS[name].by_group(GOLD, FOUND, GROUPS))


def test_functions_are_asked_for_each_group_and_cannot_be_weighted() -> None:
    def equal(gold: list[list[str]], found: list[list[str]]) -> float:
        return sum(y == z for y, z in zip(gold, found, strict=True))

    compared = Columns.of(GOLD, FOUND, equal)
    right = [y == z for y, z in zip(GOLD, FOUND, strict=True)]
    report = compared.report(GROUPS)
    assert (report.metric, report.score) == ("equal", sum(right))
    assert [group.score for group in report.groups.values()] == [
        sum(right[:15]),
        sum(right[15:30]),
        sum(right[30:]),
    ]
    assert report.sequence_accuracy == sum(right) / 40
    with pytest.raises(ValueError, match="sample_weight: the metric is a function"):
        compared.score(np.ones(40))
    with pytest.raises(ValueError, match="sample_weight has shape"):
        compared.score(np.ones(39))
    with pytest.raises(
        ValueError, match="groups must name the group of each of the 40 sequences; it has 2 g"
    ):
        compared.report(["a", "b"])


def test_errors_are_counted_from_1_the_worst_first() -> None:
    gold: list[list[str | None]] = [["a", "b"], ["a"], ["a", "b", None, "a"], ["b"]]
    report = Columns.of(gold, [["a", "b"], ["b"], ["b", "a", "a", "a"], ["b"]], METRICS["accuracy"]).report()
    assert [(error.sequence, error.wrong) for error in report.errors()] == [(3, 2), (2, 1)]
    worst = report.errors(1)[0]
    assert (worst.gold, worst.predicted) == (gold[2], ["b", "a", "a", "a"])
    assert str(worst).splitlines() == [
        "sequence 3: 2 of 3 labels wrong",
        "    wrong label   1: a, predicted b",
        "    wrong label   2: b, predicted a",
    ]
    assert report.accuracy == 4 / 7
    with pytest.raises(
        ValueError, match="y: sequence 2 has positions without a label, which the metric span_f1"
    ):
        Columns.of(gold, gold, METRICS["span_f1"])  # type: ignore[arg-type]
    long = Columns.of([["a", "b"] * 15], [["b", "a"] * 15], METRICS["accuracy"]).report().errors()[0]
    assert str(long).endswith("\n    and 10 more")


def test_columns_of_one_sequence_together() -> None:
    parts = {
        "tag": Columns.of(GOLD, FOUND, METRICS["span_f1"], scheme="lenient"),
        "letter": Columns.of(
            [[y[-1] for y in s] for s in GOLD], [[y[-1] for y in s] for s in FOUND], METRICS["accuracy"]
        ),
    }
    each = {name: part.report() for name, part in parts.items()}
    mean = Joined.mean(parts).report(GROUPS)
    assert mean.score == pytest.approx((each["tag"].score + each["letter"].score) / 2)
    assert mean.metric == "mean of span_f1, accuracy"
    assert {*mean.rows} == {"tag A", "tag B", "letter A", "letter B", "letter O"}
    assert mean.rows["tag A"] == each["tag"].rows["A"]
    assert mean.micro.correct == each["tag"].micro.correct + each["letter"].micro.correct
    assert mean.wrong.tolist() == (each["tag"].wrong + each["letter"].wrong).tolist()
    assert mean.confusion.matrix.sum() == mean.labels == 2 * each["tag"].labels
    assert "\n\nletter:\n" in str(mean)
    pooled = Joined.pooled(parts, METRICS["accuracy"])
    assert pooled.score() == pooled.report().accuracy == (each["tag"].accuracy + each["letter"].accuracy) / 2
    assert json.loads(json.dumps(mean.to_dict()))["parts"]["tag"]["score"] == each["tag"].score


def test_log_prob_is_the_mean_by_label() -> None:
    found, labels = np.array([-1.0, -3.0]), np.array([2, 1])
    compared = Columns.of([["a", "b"], ["a"]], [["a", "b"], ["b"]], log_prob(found, labels))
    assert compared.score() == pytest.approx(-4 / 3)
    assert compared.score([0.0, 2.0]) == -3.0
    for name in ("ChainCRF", "GraphCRF", "HiddenSequenceCRF"):
        one, labels_of = CASES[name], () if CASES[name].y is None else (CASES[name].y,)
        crf = one.fitted()
        size = (
            (one.X.label >= 0).sum()
            if name == "GraphCRF"
            else len(one.y)
            if name[0] == "H"
            else sum(map(len, one.y))
        )
        report = crf.evaluate(one.X, *labels_of, metric="log_prob")
        assert float(report) == pytest.approx(np.sum(crf.log_prob(one.X, *labels_of)) / size)


def test_labels_that_are_absent_have_no_row() -> None:
    one = CASES["MultiLabelCRF"]
    crf = one.fitted()
    report, found = crf.evaluate(one.X, one.y, metric="f1_macro"), crf.predict(one.X)
    expected = classification_report(one.y, found, output_dict=True, zero_division=0)
    assert report.score == report.macro.f1 == pytest.approx(expected["macro avg"]["f1-score"])
    assert report.rows.keys() == {"0", "1"}
    assert report.accuracy == (one.y == found).mean()
    assert crf.score(one.X, one.y) == report.sequence_accuracy == (one.y == found).all(axis=1).mean()


def test_kinds_and_labels_that_are_given() -> None:
    one = CASES["GraphCRF"]
    crf = one.fitted()
    whole = crf.evaluate(one.X)
    for kind, part in whole.parts.items():
        assert crf.evaluate(one.X, kind=kind).accuracy == part.accuracy == crf.score(one.X, kind=kind)
    assert crf.evaluate(one.X, given="labels").score == 1.0
    with pytest.raises(ValueError, match="the labels of graphs are in X"):
        crf.evaluate(one.X, [])
    tags = Graph({"token": ["B-A", "I-A", "O"]}, word=["token"])
    batch = tags.batch(labels={"token": ["B-A", "I-A", "O"]}, features={"word": np.eye(3)})
    report = GraphCRF(tags).fit(batch).evaluate(batch)
    assert (report.metric, report.kind, report.rows) == ("accuracy", "spans", {"A": Score(1, 1, 1)})


def test_tables_of_pandas_and_without(monkeypatch: pytest.MonkeyPatch) -> None:
    report = Columns.of(GOLD, FOUND, metric("span_f1"), scheme="lenient").report()
    table = report.to_frame()
    assert table.loc["A", "f1"] == report.rows["A"].f1
    assert table.loc["macro", "recall"] == report.macro.recall
    assert report.confusion.to_frame().loc["O", "B-A"] == report.confusion.matrix[3, 0]
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(
        ImportError, match=r"to_frame needs pandas; install it with: pip install 'crfkit\[tables\]'"
    ):
        report.to_frame()


def test_matrices_are_printed_and_wide_ones_listed() -> None:
    report = Columns.of([["a", "b", "b"]], [["a", "a", "b"]], METRICS["accuracy"]).report()
    assert str(report.confusion) == "      predicted\ntrue  a  b\na     1  0\nb     1  1"
    names = [[f"{i:02}" for i in range(30)]]
    wide: Any = Columns.of(names, [[*names[0][1:], "00"]], METRICS["accuracy"]).report().confusion
    assert str(wide).splitlines()[:2] == ["the most frequent errors", "1  00, predicted 01"]


def test_nothing_to_judge() -> None:
    report = Columns.of([], [], METRICS["accuracy"]).report()
    assert (report.score, report.accuracy, report.sequence_accuracy, report.errors()) == (0.0, 0.0, 0.0, [])
    assert "0 of 0 sequences" in str(report)
