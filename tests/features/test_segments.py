"""Attributes of segments: what functions say of every segment, with names of their own or of a model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crfkit import SemiMarkov, train
from crfkit.features import ItemExtractor, segment_features
from crfkit.features.segments import first_word, last_word, length, phrase
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
        ({"X": [["a", "b", "c"]]}, ValueError, "X has 1 sequences, the data have 3"),
        ({"X": [["a", "b", 3], [], ["b"]]}, TypeError, "the word of a position is 3, expected a string"),
    ],
)
def test_mistakes_are_named(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as found:
        segment_features(X, **{"max_length": 2, "functions": [phrase], **options})
    assert "\n" not in str(found.value)


def test_attributes_without_names_cannot_be_seen() -> None:
    with pytest.raises(ValueError, match="have no names that functions could see: give X"):
        segment_features(ItemExtractor(hashed=8)(X), 2, [phrase])
