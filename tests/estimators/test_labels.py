"""Labels of ChainCRF that are not plain: unknown ones, sets and distributions."""

from __future__ import annotations

import warnings
from itertools import product
from typing import Any

import numpy as np
import pytest

import crfkit
from crfkit import FeatureSelection, Likelihood, Stop
from crfkit.data.dataset import labeled
from crfkit.errors import DataWarning
from crfkit.features import ItemExtractor
from crfkit.training.blocks.stream import BlockedData
from tests.cases.estimators import A_WORD, NEAR, X_TEST, Y_TEST, X, Y, crf


def some(change: Any, every: int = 2) -> list[list[Any]]:
    """Return the gold of the toy grammar with other entries at every so many positions."""
    return [[change(y) if t % every else y for t, y in enumerate(s)] for s in Y]


@pytest.mark.parametrize(
    "change",
    [
        lambda y: {y, "V"},
        lambda y: [y, "D"],
        lambda y: (y,),
        lambda y: None if y == "V" else frozenset({y, "V"}),
        lambda y: {y: 0.9, "V": 0.1} if y != "V" else {"V": 1.0},
    ],
)
def test_sets_and_distributions_are_learned_from(change: Any) -> None:
    made = crf(stop=Stop(max_iterations=60)).fit(X, some(change))
    assert made.score(X_TEST, Y_TEST) > 0.9


def test_sure_sets_and_distributions_are_plain_labels() -> None:
    plain = crf(optimizer=NEAR, selection="all").fit(X, Y)
    for change in (lambda y: [y], lambda y: {y: 1.0}):
        made = crf(optimizer=NEAR, selection="all").fit(X, some(change, 3))
        np.testing.assert_allclose(made.model_.w, plain.model_.w, atol=1e-4)


def test_the_loss_of_a_set_is_that_of_its_labelings() -> None:
    made = crf().fit(X, Y)
    sets: list[Any] = [["D", {"N", "V"}, None], [{"D", "unheard"}]]
    x = [X_TEST[0][:1] * 3, X_TEST[0][:1]]
    every = [[a, b, c] for a, b, c in product("D", "NV", "DNV")]
    each = np.exp(made.log_prob([x[0]] * len(every), every)).sum()
    found = made.log_prob(x, sets)
    assert np.exp(found[0]) == pytest.approx(each, rel=1e-9)
    assert found[1] == pytest.approx(made.log_prob(x[1:], [["D"]])[0])
    assert made.log_prob(A_WORD, [[{"unheard"}]]) == [-np.inf]


def test_attributes_of_sets_have_weights_for_their_labels() -> None:
    x = [[["a"], ["b"]], [["c"], ["d"]]]
    y: list[list[Any]] = [["A", "B"], [{"A", "C"}, None]]
    layout = crf(stop=Stop(max_iterations=3)).fit(x, y).model_.layout
    of = {a: layout.node_label[layout.node_ptr[a] : layout.node_ptr[a + 1]].tolist() for a in range(4)}
    assert of == {0: [0], 1: [1], 2: [0, 2], 3: []}
    counted = (
        crf(selection=FeatureSelection(min_count=2), stop=Stop(max_iterations=3))
        .fit([*x, *x[1:]], [*y, *y[1:]])
        .model_.layout
    )
    assert np.diff(counted.node_ptr).tolist() == [0, 0, 2, 0]


def test_blocks_give_the_same_weights_to_sets(tmp_path: Any) -> None:
    plain = ItemExtractor()(X)
    data = labeled(plain, some(lambda y: {y, "V"}), crfkit.data.alphabet.Alphabet())
    whole = crfkit.train(data, optimizer="lbfgs", stop=Stop(max_iterations=3))
    blocks = BlockedData.write(tmp_path / "b", [data[:9], data[9:]])
    parts = crfkit.train(blocks, optimizer="lbfgs", stop=Stop(max_iterations=3))
    np.testing.assert_array_equal(whole.layout.node_label, parts.layout.node_label)
    np.testing.assert_allclose(whole.w, parts.w, atol=1e-9)


def test_partial_fit_with_unknown_labels_allows_the_old_ones() -> None:
    made = crf(objective=Likelihood(l2=0.1)).fit(X, Y)
    made.partial_fit([[{"w": "zap"}, {"w": "the"}]] * 3, [[{"Z", "Q"}, None]] * 3)
    assert made.classes_.tolist() == ["D", "N", "V", "Q", "Z"]
    assert made.predict(A_WORD) == [["D"]]  # "the" may still be what it was


@pytest.mark.parametrize(
    ("entry", "error", "message"),
    [
        (set(), ValueError, r"sequence 1, position 0: set\(\) allows no label; None stands for"),
        ({"D", 3}, TypeError, "has the label 3, of type int"),
        ({"D": 0.5}, ValueError, "is not a distribution; give probabilities"),
        ({"D": -1.0, "N": 2.0}, ValueError, "is not a distribution"),
        (3, TypeError, "the label is 3, of type int, and others are strings, as 'D': give labels"),
        (2.5, TypeError, "the label is 2.5, of type float; labels are strings or whole numbers, None where"),
        (b"D", TypeError, "of type bytes"),
    ],
)
def test_wrong_entries(entry: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        crf().fit(A_WORD * 2, [["D"], [entry]])


def test_distributions_go_with_plain_labels_only() -> None:
    with pytest.raises(ValueError, match="sequence 0, position 1 is None, but y has distributions"):
        crf().fit([A_WORD[0] * 3], [[{"D": 1.0}, None, "D"]])
    with pytest.raises(ValueError, match=r"sequence 0 is \{'D'.*expected a list of labels"):
        crf().fit(A_WORD, [{"D"}])
    with pytest.raises(TypeError, match="y is 3, expected a list of label sequences"):
        crf().fit(A_WORD, 3)
    with pytest.raises(ValueError, match="sequence 0, position 0 has no label"):
        crf().fit(X, Y).score(A_WORD, [[{"D", "N"}]])


def test_a_tuple_at_every_position_is_doubted() -> None:
    with pytest.warns(DataWarning, match="taken for a set of labels, .* use FactorialCRF"):
        crf().fit(A_WORD * 2, [[("D", "B")], [("N", "I")]])
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        crf().fit(A_WORD * 2, [[("D", "B")], ["N"]])
        crf().fit(A_WORD * 2, [[{"D", "B"}], [{"N", "I"}]])


def test_weights_of_labels_that_are_numbers() -> None:
    y = [[["D", "N", "V"].index(y) for y in tags] for tags in Y]
    given: list[Any] = [{1: 3.0}, {"1": 3.0}, {7: 3.0}]
    one, two = (crf(objective=Likelihood(label_weights=each)).fit(X, y).model_.w for each in given[:2])
    np.testing.assert_array_equal(one, two)
    with pytest.raises(ValueError, match="label_weights names 7, which is not a label of the data"):
        crf(objective=Likelihood(label_weights=given[2])).fit(X, y)
