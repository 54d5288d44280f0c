"""One way to bring data to a model: Columns, rows, items, Datasets and Batches give the same answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from crfkit import ChainCRF, train
from crfkit.data.formats.columns import Columns
from crfkit.features import Extractor, ItemExtractor, Recipe
from crfkit.models import SequenceModel
from crfkit.models.reader import Reader

ROWS = [
    [("the", "DT", "O"), ("New", "NN", "B"), ("York", "NN", "I")],
    [("a", "DT", "O"), ("York", "NN", "B")],
]
NAMES = ["word", "pos", "tag"]
RECIPE = "word[-1..1]; suffix(word, 2)[0]; edge: pos[0]"
X = [[["the"], ["old", "dog"]], [["a"], ["dog"]]]
Y = [["D", "N"], ["D", "N"]]


def by_recipe(hashed: int | None = None, label: str | int = "tag") -> SequenceModel:
    extract = Extractor(Recipe.parse(RECIPE), label, hashed)
    return train(extract(Columns.from_rows(ROWS, names=NAMES)))


@pytest.mark.parametrize("hashed", [None, 64])
def test_columns_and_rows_of_a_model_with_a_recipe(hashed: int | None) -> None:
    model = by_recipe(hashed)
    columns = Columns.from_rows(ROWS, names=NAMES)
    slow = Extractor(Recipe.parse(RECIPE), "tag", hashed)(columns)
    dicts = [[dict(zip(NAMES, row, strict=True)) for row in rows] for rows in ROWS]
    given: list[Any] = [slow, model.batch_of(slow), columns, dicts]
    for one in given:
        assert model.predict(one) == model.predict(slow)
        for ours, theirs in zip(model.predict_proba(one), model.predict_proba(slow), strict=True):
            assert ours.tobytes() == theirs.tobytes()
        assert model.log_prob(one).tobytes() == model.log_prob(slow).tobytes()
        assert model.score(one) == 1.0
        data = model.dataset(one)
        assert data.labels.strings() == model.names.labels.strings()
        assert np.asarray(data.batch.label).tolist() == np.asarray(model.batch_of(slow).label).tolist()


def test_what_extraction_makes_has_the_alphabets_of_the_model() -> None:
    model = by_recipe()
    data = model.dataset(Columns.from_rows([[("new", "NN", "Q")]], names=NAMES))
    assert data.attributes is model.attributes
    assert data.edge_attributes is model.edge_attributes
    assert data.labels.strings() == ["O", "B", "I", "Q"]
    assert np.asarray(data.batch.label).tolist() == [3]
    with pytest.raises(ValueError, match=r"none of its labels \(Q\) is one of the model \(B, I\)"):
        model.score(data)
    assert np.asarray(model.batch_of(data).label).tolist() == [-1]


def test_the_column_of_labels() -> None:
    """It is optional, and never one that the recipe reads."""
    model = by_recipe(label=-1)
    bare = Columns.from_rows([[row[:2] for row in rows] for rows in ROWS], names=NAMES[:2])
    assert model.dataset(bare).batch.label is None
    assert model.dataset(Columns.from_rows(ROWS, names=NAMES)).batch.label is not None
    assert Reader(model)(Columns.from_rows(ROWS, names=NAMES), gold=False).batch.label is None
    with pytest.raises(ValueError, match="the data have no labels; give labeled data"):
        model.score(bare)
    assert model.score(bare, y=[["O", "B", "I"], ["O", "B"]]) == 1.0
    assert model.log_prob(bare, [["O", None, "I"], ["O", "B"]]).shape == (2,)


def test_rows_by_number_and_strings() -> None:
    extract = Extractor(Recipe.parse("0[0]; 1[0]"), 2)
    model = train(extract(Columns.from_rows(ROWS)))
    assert model.score(ROWS) == 1.0
    words = Extractor(Recipe.parse("word[0]"), "tag")
    model = train(words(Columns.from_rows(ROWS, names=NAMES)))
    assert model.predict([["the", "New"]]) == [["O", "B"]]
    arrays = [np.array(["the", "New"])]
    assert ChainCRF().fit(arrays, [["O", "B"]]).predict(arrays) == [["O", "B"]]


@pytest.mark.parametrize("hashed", [None, 32])
def test_items(hashed: int | None) -> None:
    extract = ItemExtractor(hashed)
    model = train(extract(X, Y))
    slow = ItemExtractor(hashed)(X, Y)
    assert model.predict(X) == model.predict(slow) == Y
    assert model.log_prob(X, Y).tobytes() == model.log_prob(slow).tobytes()
    assert float(model.evaluate(X, Y, metric="accuracy")) == 1.0
    data = model.dataset(X, [["D", {"N", "Q"}], ["D", None]])
    assert data.labels.strings() == ["D", "N", "Q"]
    assert data.batch.allowed is not None


def test_labels_may_be_forced() -> None:
    model = train(ItemExtractor()(X, Y))
    allowed = np.ones((4, 2), dtype=bool)
    allowed[1] = [True, False]
    assert model._path(X, allowed=allowed).label.tolist() == [0, 0, 0, 1]
    assert model.predict(X, given=[[None, "D"], [None, None]]) == [["D", "D"], ["D", "N"]]
    assert model.predict(X, given=[[None, {"D"}], ["N", None]])[0] == ["D", "D"]
    with pytest.raises(ValueError, match="given has the label 'X', which the model does not know"):
        model.predict(X, given=[[None, "X"], [None, None]])


def test_mistakes_say_what_is_needed() -> None:
    items = train(ItemExtractor()(X, Y))
    with pytest.raises(ValueError, match="X is columns of text, but the model has no recipe"):
        items.predict(Columns.from_rows(ROWS))
    with pytest.raises(ValueError, match="X is one sequence, a list of dicts, expected a list of sequences"):
        items.predict([{"w": "the"}])
    with pytest.raises(ValueError, match=r"X\[0\]\[0\] is the plain string 'the'"):
        items.predict([["the", "dog"]])
    with pytest.raises(ValueError, match=r"a file is for crfkit\.read\(path\)"):
        items.predict(__file__)
    with pytest.raises(ValueError, match="X is None"):
        items.predict(None)
    with pytest.raises(ValueError, match="reads the column 'word', but the rows of X are not dicts"):
        by_recipe().predict(ROWS)
    nameless = train(replace(ItemExtractor(32)(X, Y), extractor=None))
    with pytest.raises(ValueError, match="ids without names: give X as a Batch or a Dataset"):
        replace(nameless, extractor=None).predict(X)
