"""Recipes of a stranger's model file that are small and would cost much."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from crfkit import Model
from crfkit._safe.expressions.expression import expression_of
from crfkit.data.formats.columns import Columns
from crfkit.errors import ModelFileError
from crfkit.features import Extractor, Recipe
from crfkit.models.files import read_model_bytes
from crfkit.models.store import Array, pack, unpack
from tests.cases.growth import check_growth, peak_of, seconds_of
from tests.cases.models import native_model


@pytest.fixture(scope="module")
def sound() -> tuple[dict[str, Array], dict[str, Any]]:
    return unpack(native_model().to_bytes(), "sound")


def packed(arrays: dict[str, Array], about: dict[str, Any], text: str, resources: dict[str, str]) -> bytes:
    changed = copy.deepcopy(about)
    changed["recipe"] = {"dialect": "crfkit", "text": text, "resources": resources}
    return b"".join(pack(arrays, changed))


def with_tables(sound: tuple[dict[str, Array], dict[str, Any]], n: int) -> bytes:
    arrays, about = {**sound[0]}, sound[1]
    kinds = {f"t{i}": "lookup" for i in range(n)}
    for i in range(n):
        for part in ("keys", "values", "several"):
            arrays[f"resource.{i}.{part}"] = np.zeros(0, np.uint8)
        for part in ("keys_begin", "values_begin", "ptr"):
            arrays[f"resource.{i}.{part}"] = np.zeros(1, np.int64)
    return packed(arrays, about, "word[0]", kinds)


def test_resources_cost_what_they_are(sound: tuple[dict[str, Array], dict[str, Any]]) -> None:
    check_growth(lambda n: with_tables(sound, n), read_model_bytes, 400)


def test_vectors_need_weights(sound: tuple[dict[str, Array], dict[str, Any]]) -> None:
    arrays = {
        **sound[0],
        "resource.0.words": np.frombuffer(b"The", np.uint8),
        "resource.0.words_begin": np.array([0, 3]),
        "resource.0.matrix": np.ones((1, 50_000)),
    }
    text = "\n".join(f'embedding(word, "v")[{i}]' for i in range(500))

    def read() -> None:
        with pytest.raises(ModelFileError, match="have 25,000,000 numbers at a position, weights are for"):
            read_model_bytes(packed(arrays, sound[1], text, {"v": "embedding"}))

    assert peak_of(read) < 64 << 20


def test_many_regular_expressions_are_refused_soon(sound: tuple[dict[str, Array], dict[str, Any]]) -> None:
    text = "\n".join(f'is(word, "a{i}")[0]' for i in range(20_000))
    data = packed(*sound, text, {})

    def read() -> None:
        with pytest.raises(ModelFileError, match="there are more than 1,000 regular expressions"):
            read_model_bytes(data)

    assert seconds_of(read, 1) < 5


def test_many_regular_expressions_kept_one_by_one(sound: tuple[dict[str, Array], dict[str, Any]]) -> None:
    arrays, about = sound[0], copy.deepcopy(sound[1])
    fields = [["word", 0, "is", [f"a{i}"], False, False] for i in range(1001)]
    templates = [{"kind": "node", "fields": [f], "literals": ["", ""]} for f in fields]
    about["recipe"] = {"dialect": "crfkit", "text": "", "resources": {}, "templates": templates}
    with pytest.raises(ModelFileError, match="there are more than 1,000 regular expressions"):
        read_model_bytes(b"".join(pack(arrays, about)))


def test_regular_expressions_are_made_once() -> None:
    expression_of.cache_clear()
    recipe = Recipe.parse("\n".join(f'is(word, "a{i}")[0]' for i in range(600)))
    made = expression_of.cache_info().misses
    for _ in range(2):
        Extractor(recipe, label=None)(Columns.from_rows([[("a1",), ("b",)]], names=["word"]))
    assert expression_of.cache_info().misses == made == 600


def test_many_fields_take_little_memory() -> None:
    text = "\n".join(" & ".join(f"word[{i - 50}]" for i in range(99)) for _ in range(300))
    recipe = Recipe.parse(text)
    rows = Columns.from_rows([[("a",), ("b",)]], names=["word"])

    assert peak_of(lambda: Extractor(recipe, label=None)(rows)) < 64 << 20


def test_honest_vectors_are_read_back() -> None:
    again = read_model_bytes(native_model().to_bytes())
    assert isinstance(again, Model)
    assert again.layout.dense == 2
