"""What ChainCRF takes for data, and what it says when they are wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from crfkit import MEMM, ChainCRF, HiddenChainCRF, SemiCRF, SkipChainCRF
from crfkit.data.formats.columns import Columns
from crfkit.features import ItemExtractor, Recipe
from tests.cases.estimators import A_WORD, W_TEST, X_TEST, Y_TEST, W, X, Y, crf, fitted

# ---- what X may be --------------------------------------------------------------------------------


def test_kinds_of_x_without_a_template() -> None:
    names = [[[f"w:{w}", f"end:{w[-1]}"] for w in s] for s in W]
    assert crf().fit(names, Y).predict([[[f"w:{w}"] for w in s] for s in W_TEST]) == Y_TEST
    assert crf().fit(iter(X), iter(Y)).predict(iter(X_TEST)) == Y_TEST
    known = sorted({w for s in W for w in s})
    dense = [np.array([[float(w == k) for k in known] for w in s]) for s in W]
    dense_test = [np.array([[float(w == k) for k in known] for w in s]) for s in W_TEST]
    one = crf().fit(dense, Y)
    assert one.predict(dense_test) == Y_TEST
    sparse = [scipy.sparse.csr_matrix(rows) for rows in dense]
    two = crf(selection="all").fit(sparse, Y)
    assert two.predict([scipy.sparse.csr_matrix(rows) for rows in dense_test]) == Y_TEST
    assert abs(one.log_prob(dense, Y) - two.log_prob(sparse, Y)).max() < 0.02
    both = crf().fit(list(zip(X, dense, strict=True)), Y)
    assert both.predict(list(zip(X_TEST, dense_test, strict=True))) == Y_TEST
    with pytest.raises(ValueError, match="X has 0 real-valued columns, the model was fitted with"):
        one.predict(X_TEST)


def test_data_sets_and_batches() -> None:
    data, test = ItemExtractor()(X, Y), ItemExtractor()(X_TEST, Y_TEST)
    made = crf().fit(data)
    assert made.predict(test) == made.predict(X_TEST) == Y_TEST
    assert made.score(test) == 1.0
    np.testing.assert_array_equal(made.model_.w, fitted().model_.w)
    shuffled = [["N" if y == "D" else "D" for y in s] for s in Y]
    assert set(crf().fit(data, shuffled).classes_) == {"D", "N"}  # y takes the place of the data's labels
    ids = crf().fit(data.batch)
    assert ids.classes_.tolist() == ["0", "1", "2"]
    assert ids.score(data.batch) == 1.0
    assert crf().fit(data.batch, Y).predict(data.batch) == Y
    with pytest.raises(ValueError, match="ids without names"):
        ids.predict(X_TEST)


def test_kinds_of_x_with_a_template() -> None:
    rows = [[(w, w[-1]) for w in s] for s in W]
    test = [[(w, w[-1]) for w in s] for s in W_TEST]
    crfpp = crf(features="U0:%x[0,0]\nU1:%x[-1,1]/%x[0,1]\nB\n").fit(rows, Y)
    assert crfpp.predict(test) == Y_TEST
    assert crfpp.model_.recipe is not None
    assert crfpp.model_.recipe.dialect == "crfpp"
    by_name = crf(features=Recipe.parse("word[0]; suffix(word, 1)[-1]"))
    assert by_name.fit([[{"word": w} for w in s] for s in W], Y).predict(W_TEST) == Y_TEST
    columns = Columns.from_rows([[(w,) for w in s] for s in W], names=["word"])
    assert clone(by_name).fit(columns, Y).predict(W_TEST) == Y_TEST


def test_template_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "template"
    path.write_text("U0:%x[0,0]\n")
    assert crf(features=path).fit(W, Y).predict(W_TEST) == Y_TEST


# ---- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (X, None, "requires y to be passed, but the target y is None"),
        (X, Y[:-1], "X has 24 sequences, y has 23: sequence 23 has no labels"),
        (X[:-1], Y, "X has 23 sequences, y has more: sequence 23 has labels only"),
        (A_WORD * 2, [["D"], ["D", "N"]], "sequence 1: X has 1 position, y has 2 labels"),
        (A_WORD, ["D"], "sequence 0 is 'D', expected a list of labels"),
        (A_WORD, "D", "y is a plain string"),
        ("the dog", [["D"]], "expected a list of sequences"),
        (None, [["D"]], "expected a list of sequences"),
        ([], [], "no sequences"),
        (np.zeros((3, 2)), [["D"]] * 3, r"for a single sequence: \[X\]"),
        (Columns.from_rows([[("a",)]]), None, "one column, expected tokens and labels: give y"),
    ],
)
def test_wrong_data(x: Any, y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        crf().fit(x, y)


def test_wrong_labels_and_weights() -> None:
    with pytest.raises(TypeError, match="sequence 1, position 0: the label is 3, of type int"):
        crf().fit(A_WORD * 2, [["D"], [3]])
    with pytest.raises(
        ValueError, match=r"sample_weight has shape \(3,\), expected one number for each of 24"
    ):
        crf().fit(X, Y, sample_weight=[1, 2, 3])
    with pytest.raises(ValueError, match=r"sample_weight\[0\] is -1"):
        crf().fit(A_WORD, [["D"]], sample_weight=[-1])
    with pytest.raises(ValueError, match="cannot be weighted"):
        fitted(metric=lambda gold, found: 1.0).score(X, Y, sample_weight=np.ones(24))


@pytest.mark.parametrize("method", ["predict", "predict_proba", "sample", "score", "log_prob"])
def test_nothing_before_fit(method: str) -> None:
    with pytest.raises(NotFittedError, match="ChainCRF"):
        getattr(ChainCRF(), method)(X)
    with pytest.raises(NotFittedError):
        ChainCRF().kbest(X, 2)


def test_queries_that_need_labels() -> None:
    for method in ("score", "log_prob"):
        with pytest.raises(ValueError, match="labels"):
            getattr(fitted(), method)(X)


@pytest.mark.parametrize(
    ("template", "x", "error", "message"),
    [
        ("word[", W, ValueError, "template, line 1: 'word\\['"),
        ("", W, ValueError, "no template"),
        (3, W, TypeError, "features is 3, expected text"),
        ("word[0]", [[("the", "x")]], ValueError, "reads the column 'word', but the rows of X are not dicts"),
        ("word[0]", [[{"w": "the"}]], ValueError, "sequence 0, token 0 has no 'word'"),
        ("a[0]; b[0]", [["the"]], ValueError, "reads the columns a, b, but the tokens"),
        ("U:%x[0,5]", [[("the", "x")]], ValueError, "no column 5"),
        ("w[0]", ["the"], ValueError, "sequence 0 is a plain string"),
        ("w[0]", [["the"], [("the",)]], ValueError, "sequence 1, token 0 is a tuple"),
        ("w[0]", [[{"w": 3.0}]], ValueError, "expected a tuple of strings"),
    ],
)
def test_wrong_template(template: Any, x: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        crf(features=template).fit(x, [["D"]])


def test_one_sentence_of_rows_is_not_taken_for_sentences() -> None:
    rows = [[(w, w[-1]) for w in s] for s in W]
    made = crf(features="U0:%x[0,0]\nU1:%x[0,1]\n").fit(rows, Y)
    sentence = [("the", "e"), ("dog", "g")]
    assert made.predict([sentence]) == [["D", "N"]]
    calls: list[Callable[[Any], Any]] = [
        lambda x: made.predict(x),
        lambda x: made.predict_proba(x),
        lambda x: made.model_.predict(x),
        lambda x: made.model_.dataset(x, [["D"], ["N"]]),
        lambda x: crf(features="U0:%x[0,0]\n").fit(x, ["D", "N"]),
        lambda x: SemiCRF(features="U0:%x[0,0]\n").fit(x, ["D", "N"]),
        lambda x: SkipChainCRF(features="U0:%x[0,0]\n").fit(x, ["D", "N"]),
    ]
    for call in calls:
        for x in (sentence, tuple(sentence), iter(sentence), [rows[0], *sentence]):
            with pytest.raises(
                ValueError, match=r"X\[\d\] is the tuple \('the', 'e'\).*predict\(\[sentence\]\)"
            ):
                call(x)
    with pytest.raises(ValueError, match=r"predict\(\[sequence\]\)"):
        fitted().predict([("w:the", "end:e"), ("w:dog", "end:g")])


@pytest.mark.parametrize("estimator", [ChainCRF, MEMM, SemiCRF, HiddenChainCRF])
def test_labels_may_be_in_columns(estimator: Any) -> None:
    rows = [[(w, w[-1], y) for w, y in zip(*s, strict=True)] for s in zip(W, Y, strict=True)]
    last = Columns.from_rows(rows, names=["w", "end", "tag"])
    bare = Columns.from_rows([[row[:2] for row in s] for s in rows], names=["w", "end"])
    made = estimator(features="w[0]; end[-1]", n_jobs=1).fit(last)
    given = estimator(features="w[0]; end[-1]", n_jobs=1).fit(bare, Y)
    np.testing.assert_array_equal(made.model_.w, given.model_.w)
    assert made.score(last) == given.score(bare, Y)  # the model knows where labels are
    assert made.predict(bare) == given.predict(bare)
    called = Columns.from_rows([[(y, w) for w, _, y in s] for s in rows], names=["label", "w"])
    assert set(estimator(features="w[0]").fit(called).predict(called)[0]) <= {"D", "N", "V"}
    with pytest.raises(ValueError, match="y is missing"):
        estimator(features="w[0]; end[0]").fit(bare)  # the last column is input


def test_a_dev_set_may_be_columns_with_labels() -> None:
    rows = [[(w, y) for w, y in zip(*s, strict=True)] for s in zip(W, Y, strict=True)]
    columns = Columns.from_rows(rows, names=["w", "tag"])
    made = crf(features="w[0]").fit(columns, dev=columns)
    assert made.model_.training is not None
    assert made.model_.training.score == pytest.approx(made.score(columns))
