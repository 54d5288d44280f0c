"""Attributes of segments: what functions say of every segment, with names of their own or of a model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crfkit import SemiMarkov, train
from crfkit.data.alphabet import Alphabet
from crfkit.data.dataset import Dataset
from crfkit.data.formats.columns import Columns
from crfkit.features import Extractor, ItemExtractor, Recipe, segment_features
from crfkit.features.segments import first_word, last_word, length, of_words, phrase, segment_recipe
from crfkit.models.tags import segmented

X = [[["the"], ["old"], ["dog"]], [], [["dogs"]]]


def told(data: Any, place: int) -> dict[str, float]:
    items = data.batch.occurrences("segment")
    here = range(int(items.ptr[place]), int(items.ptr[place + 1]))
    value = np.ones(len(items.id)) if items.value is None else items.value
    return {data.segment_attributes[int(items.id[i])]: float(value[i]) for i in here}


def test_every_segment_that_fits_has_attributes() -> None:
    data = segment_features(X, 2, [phrase, first_word, last_word, length])
    assert data.batch.longest == 2
    assert told(data, 0) == {"phrase=the": 1, "first=the": 1, "last=the": 1, "length=1": 1}
    assert told(data, 1) == {"phrase=the old": 1, "first=the": 1, "last=old": 1, "length=2": 1}
    assert told(data, 5) == {}  # two positions from the last one
    assert told(data, 6)["phrase=dogs"] == 1
    assert told(data, 7) == {}


def test_values_and_texts_of_dicts_are_taken_together() -> None:
    def sizes(x: Any, start: int, end: int) -> dict[str, float | str]:
        return {"letters": sum(len(item[0]) for item in x[start:end]), "kind": "word", "length=2": 0.5}

    data = segment_features(X, 2, [sizes, length])
    assert told(data, 1) == {"letters": 6, "kind:word": 1, "length=2": 1.5}


def test_a_data_set_keeps_what_it_has_and_is_seen_by_its_names() -> None:
    data = ItemExtractor()([[{"w": "a"}, {"w": "b"}]], [["x", "y"]])
    made = segment_features(data, 2, [phrase])
    assert told(made, 1) == {"phrase=w:a w:b": 1}
    assert made.attributes is data.attributes
    np.testing.assert_array_equal(made.batch.label, data.batch.label)
    seen = segment_features(data, 2, [phrase], X=[["A", "B"]])
    assert told(seen, 1) == {"phrase=A B": 1}


def test_names_of_a_model_do_not_grow() -> None:
    data = segmented(segment_features(X, 2, [phrase]), [["D", "N", "N"], [], ["N"]])
    model = train(data, structure=SemiMarkov(max_length=2))
    new = segment_features([[["the"], ["old"], ["cat"]]], 2, [phrase], like=model)
    assert new.segment_attributes is model.names.segment_attributes
    assert told(new, 1) == {"phrase=the old": 1}
    assert told(new, 3) == {}  # "old cat"
    assert model.predict(new) == [["D", "N", "N"]]
    assert model.predict(segment_features([[["the"], ["old"], ["cat"]]], 2, [phrase])) == [["D", "N", "N"]]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"max_length": 0}, ValueError, "max_length is 0, expected 1 or more"),
        ({"max_length": 1.5}, TypeError, r"max_length is 1.5, expected a whole number"),
        (
            {"functions": ["phrase"]},
            TypeError,
            r"functions has 'phrase', expected functions g\(x, start, end\)",
        ),
        (
            {"functions": [lambda x, start, end: "text"]},
            TypeError,
            "sequence 0, segment 0 to 1: <lambda> returned 'text', expected a list of strings, or a dict",
        ),
        ({"functions": [lambda x, start, end: {"a": np.nan}]}, TypeError, "names and finite numbers"),
        ({"X": [["a"], [], ["b"]]}, ValueError, "X: sequence 0 has 1 positions, the data have 3 positions"),
        ({"X": [["a", "b", "c"]]}, ValueError, "X has 1 sequence, the data have 3"),
        ({"X": [["a", "b", 3], [], ["b"]]}, TypeError, "the word of a position is 3, expected a string"),
    ],
)
def test_mistakes_are_named(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as found:
        segment_features(X, **{"max_length": 2, "functions": [phrase], **options})
    assert "\n" not in str(found.value)


def test_a_failing_function_is_named_and_its_error_kept() -> None:
    def divide(x: Any, start: int, end: int) -> dict[str, float]:
        return {"share": 1 / (2 - end)}

    with pytest.raises(
        ValueError, match="sequence 0, segment 0 to 2: divide raised ZeroDivisionError"
    ) as found:
        segment_features(X, 2, [phrase, divide])
    assert isinstance(found.value.__cause__, ZeroDivisionError)


def test_functions_of_words_are_asked_once_for_each_phrase() -> None:
    asked = []

    def letters(words: tuple[str, ...]) -> dict[str, float]:
        asked.append(words)
        return {"letters": sum(map(len, words))}

    data = segment_features([[["a"], ["b"], ["a"], ["b"]], [["a"], ["b"]]], 2, [of_words(letters)])
    assert told(data, 1) == told(data, 9) == {"letters": 2}
    assert sorted(asked) == [("a",), ("a", "b"), ("b",), ("b", "a")]
    bounded = of_words(letters, most=1)
    asked.clear()
    assert [bounded("aba", i, i + 1) for i in (0, 1, 0)] == [{"letters": 1}] * 3
    assert len(asked) == 3


def test_functions_and_a_recipe_are_taken_together() -> None:
    rows = Columns.from_rows([[("new",), ("york",)], [("york",)]], names=["word"])
    recipe = Recipe.parse("begin: word[0]; segment: word[..]; segment: value(length)")
    extract = Extractor(recipe, label=None, longest=2)
    data = segment_features(extract(rows), 2, [length], X=[["new", "york"], ["york"]])
    assert told(data, 1) == {"segment:word[..]=new york": 1, "segment:value(length)": 2, "length=2": 1}
    assert told(data, 3) == told(data, 5) == {}
    other = segment_features(extract(rows), 2, [length], X=[["new", "york"], ["york"]], like=data)
    assert [told(other, place) for place in range(6)] == [told(data, place) for place in range(6)]
    known = Dataset(
        data.batch, Alphabet(), Alphabet(), Alphabet(), Alphabet(["length=2", "begin:word[0]=york"])
    )
    few = segment_features(extract(rows), 2, [length], X=[["new", "york"], ["york"]], like=known.freeze())
    assert [told(few, place) for place in range(6)] == [{}, {"length=2": 1}, {}, {}, {}, {}]
    begins = few.batch.occurrences("begin")
    assert begins is not None
    assert begins.id.tolist() == [1, 1]
    with pytest.raises(ValueError, match="segments of up to 2 positions; give max_length=2"):
        segment_features(extract(rows), 3, [length], X=[["new", "york"], ["york"]])


def test_the_recipe_of_the_paper() -> None:
    rows = Columns.from_rows([[("in", "IN"), ("New", "N"), ("York", "N")]], names=["word", "pos"])
    data = Extractor(segment_recipe("word", ["pos"]), label=None, longest=2)(rows)
    assert told(data, 3) == {
        "segment:word[..8]=New York": 1,
        "segment:shape(word)[..8]=Aa+ Aa+": 1,
        "segment:pos[..8]=N N": 1,
    }
    begins = data.batch.occurrences("begin")
    assert begins is not None
    here = [data.segment_attributes[i] for i in begins.id[begins.ptr[1] : begins.ptr[2]]]
    assert {"begin:word[-1]=in", "begin:shape(word)[1]=Aa+", "begin:pos[-3]=_B-2"} <= set(here)


def test_attributes_without_names_cannot_be_seen() -> None:
    with pytest.raises(ValueError, match="have no names that functions could see: give X"):
        segment_features(ItemExtractor(hashed=8)(X), 2, [phrase])
