"""Stock recipes: what they read, what they are told, and that estimators know them by name."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from crfkit import ChainCRF, SemiCRF, load
from crfkit.data.formats.columns import Columns
from crfkit.datasets import load_addresses
from crfkit.features import Gazetteer, stock
from crfkit.features.stock_recipes import STOCK

ROWS = [
    [("Ana", "N", "B-PER"), ("in", "P", "O"), ("New", "N", "B-LOC"), ("York", "N", "I-LOC")],
    [("Bo", "N", "B-PER"), ("ran", "V", "O")],
]
TOKENS = [[word for word, *_ in row] for row in ROWS]
TAGS = [[tag for *_, tag in row] for row in ROWS]


@pytest.mark.parametrize("kind", STOCK)
def test_a_kind_by_its_name_or_as_a_recipe(kind: str, tmp_path: Any) -> None:
    by_name = ChainCRF(features=kind).fit(TOKENS, TAGS)
    by_recipe = ChainCRF(features=stock(kind)).fit(TOKENS, TAGS)
    assert np.array_equal(by_name.model_.w, by_recipe.model_.w)
    assert by_name.predict(TOKENS) == TAGS
    by_name.save(tmp_path / "m.crf")
    assert load(tmp_path / "m.crf").predict(TOKENS) == TAGS
    assert ChainCRF.load(tmp_path / "m.crf").features == kind


@pytest.mark.parametrize("kind", STOCK)
def test_columns_and_tuples_bring_their_tags(kind: str) -> None:
    columns = Columns.from_rows(ROWS, ["form", "pos", "entity"])
    crf = ChainCRF(features=kind).fit(columns)
    assert crf.model_.recipe is not None
    assert crf.model_.recipe.columns == ("form", "pos")
    assert crf.predict(columns) == TAGS
    pairs = [[row[:2] for row in rows] for rows in ROWS]
    assert ChainCRF(features=kind).fit(pairs, TAGS).model_.recipe == stock(kind, ["0", "1"])


def test_tables() -> None:
    vectors = {"Ana": np.array([1.0, 0.0]), "Bo": np.array([1.0, 0.5])}
    recipe = stock(
        "ner",
        gazetteer={"cities": ["new york"], "exact": Gazetteer(["Bo"])},
        clusters={"Ana": "0110101", "Bo": "0110111"},
        embeddings=vectors,
    )
    told = str(recipe).splitlines()
    assert 'gazetteer(word, "cities")[0]' in told
    assert recipe.resources["clusters 4"] == {"Ana": "0110", "Bo": "0110"}
    assert set(recipe.resources) == {
        "cities",
        "exact",
        "clusters 4",
        "clusters 6",
        "clusters 10",
        "embeddings",
    }
    crf = ChainCRF(features=recipe).fit(TOKENS, TAGS)
    names = {name for name, _ in crf.state_features_}
    assert any(name.startswith("gazetteer(word,") and name.endswith("=I") for name in names)
    assert crf.predict([["Eve", "in", "New", "York"]])[0][2:] == ["B-LOC", "I-LOC"]
    assert set(stock("ner", gazetteer=["New York"]).resources) == {"names"}


def test_segments_take_a_stock_recipe_too() -> None:
    found = SemiCRF(features="ner").fit(TOKENS, TAGS).predict_spans(TOKENS)
    assert [[span[:3] for span in spans] for spans in found] == [
        [(0, 1, "PER"), (2, 4, "LOC")],
        [(0, 1, "PER")],
    ]


def test_what_is_no_kind() -> None:
    with pytest.raises(
        ValueError, match=r"no stock recipe 'nre'; the kinds are ner, pos, chunk, address, segment"
    ):
        stock("nre")
    with pytest.raises(ValueError, match="columns is 'word', expected names"):
        stock("ner", "word")
    with pytest.raises(ValueError, match="the column 'a b' has no name"):
        stock("ner", ["a b"])


def test_words_of_characters_by_what_ends_and_begins_beside_them() -> None:
    """Three and four characters before and behind a border say whether it is one; 96.2 % without them."""
    draw = random.Random(1)
    words = ["".join(draw.choices("abcde", k=draw.randint(2, 5))) for _ in range(60)]

    def cut(n: int) -> tuple[list[list[str]], list[list[str]]]:
        some = [draw.choices(words, k=8) for _ in range(n)]
        labels = [["B" if i == 0 else "I" for word in one for i in range(len(word))] for one in some]
        return [[*"".join(one)] for one in some], labels

    crf = ChainCRF(features="segment").fit(*cut(150))
    assert crf.evaluate(*cut(100)).accuracy > 0.97


def test_addresses_by_the_stock_recipe() -> None:
    """97.5 % by the recipe of "auto", 99.0 % by that of addresses, on lines that nothing was chosen on."""
    sample = load_addresses()
    crf = ChainCRF(features="address").fit(sample.columns("train"))
    assert crf.evaluate(sample.columns("test")).accuracy > 0.985
