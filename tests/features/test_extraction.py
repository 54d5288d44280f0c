"""Extraction on threads and in streams, with frozen or hashed attributes and dense columns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crfkit import data
from crfkit.data.dataset import Dataset
from crfkit.data.formats.columns import Columns
from crfkit.features import Extractor, Recipe
from crfkit.features.crfpp import parse_crfpp
from tests.cases.real_data import DATA
from tests.cases.templates import CHUNKING, ROWS, Rows, corpora, names_by_position, needs_data, read_columns


@needs_data
def test_threads_and_streams_give_the_same_bits() -> None:
    path = DATA / "conll2000" / "test.txt.gz"
    recipe = parse_crfpp(CHUNKING + "\nB1:%x[0,1]")
    whole = Extractor(recipe)(read_columns(path), threads=1)
    for threads in (2, 7):
        assert_same(whole, Extractor(recipe)(read_columns(path), threads=threads))
    extractor = Extractor(recipe)
    chunks = data.stream(path, format="columns", chunk_positions=9000)
    parts = [extractor(part, threads=2) for part in chunks if isinstance(part, Columns)]
    assert len(parts) > 3
    assert parts[-1].attributes.strings() == whole.attributes.strings()
    joined = np.concatenate([part.batch.attr for part in parts])
    np.testing.assert_array_equal(joined, whole.batch.attr)


def assert_same(a: Dataset, b: Dataset) -> None:
    for name in ("seq_ptr", "attr_ptr", "attr", "label", "edge_ptr", "edge_attr"):
        np.testing.assert_array_equal(getattr(a.batch, name), getattr(b.batch, name))
    for name in ("labels", "attributes", "edge_attributes"):
        assert getattr(a, name).strings() == getattr(b, name).strings()


@given(corpora, st.integers(2, 5))
def test_threads_on_generated_data(corpus: Rows, threads: int) -> None:
    recipe = Recipe.parse("w[-1..1]; w[0] & p[1]; ngrams(w, 2, 2)[0]; both: p[0]")
    columns = Columns.from_rows(corpus * 6, names=["w", "p"])
    assert_same(Extractor(recipe, "p")(columns, threads=1), Extractor(recipe, "p")(columns, threads=threads))


@pytest.mark.parametrize("threads", [1, 3])
def test_frozen_drops_what_is_unknown(threads: int) -> None:
    extractor = Extractor(Recipe.parse("w[0]; p[0]; both: p[-1] & w[0]"), label="p")
    first = extractor(Columns.from_rows(ROWS, names=["w", "p"]))
    extractor.freeze()
    again = extractor(Columns.from_rows(ROWS * 4, names=["w", "p"]), threads=threads)
    assert names_by_position(again) == names_by_position(first) * 4
    other = extractor(Columns.from_rows([[("dog", "XX"), ("emu", "NN")]], names=["w", "p"]))
    assert names_by_position(other) == [["w[0]=dog"], ["p[0]=NN"]]
    assert other.batch.label is not None
    assert other.batch.label.tolist() == [-1, first.labels.find("NN")]


@given(corpora, st.integers(1, 3), st.sampled_from([1, 7, 40]))
def test_frozen_extraction_is_the_growing_one_without_what_is_unknown(
    corpus: Rows, threads: int, times: int
) -> None:
    text = "w[-1..1]; w[0] & p[1]; w[0] & p[0] & w[1]; ngrams(w, 2, 2)[0]; both: p[0] & w[-1]; edge: w[0]"
    text += "; begin: w[-1] & w[0]; end: w[1]"
    recipe = Recipe.parse(text)
    new = [[row for sequence in corpus for row in sequence] * times] * 4  # long ones, with known words
    columns = Columns.from_rows([*corpus, *new], names=["w", "p"])
    frozen = Extractor(recipe, None, longest=2)
    known = frozen(Columns.from_rows(corpus[::2], names=["w", "p"]))
    grown = Extractor(recipe, None, longest=2)(columns, threads=1)
    frozen.freeze()
    for _ in range(2):  # with nothing remembered, and with everything
        found = frozen(columns, threads=threads)
        for kind, names, mine in (
            ("attr", known.attributes, grown.attributes),
            ("edge_attr", known.edge_attributes, grown.edge_attributes),
            ("begin_attr", known.segment_attributes, grown.segment_attributes),
            ("end_attr", known.segment_attributes, grown.segment_attributes),
        ):
            ids = names.freeze().ids(mine.strings())[getattr(grown.batch, kind)]
            np.testing.assert_array_equal(getattr(found.batch, kind), ids[ids >= 0])
            ptr = kind.replace("attr", "ptr") if kind != "attr" else "attr_ptr"
            before = np.concatenate([[0], np.cumsum(ids >= 0)])[getattr(grown.batch, ptr)]
            np.testing.assert_array_equal(getattr(found.batch, ptr), before)


def test_hashed_attributes() -> None:
    recipe = Recipe.parse("w[-1..1]; both: p[0]")
    columns = Columns.from_rows(ROWS * 3, names=["w", "p"])
    named = Extractor(recipe, label="p")(columns)
    extractor = Extractor(recipe, label="p", hashed=5)
    hashed = extractor(columns)
    assert hashed.batch.attr.max() < 5
    assert len(hashed.attributes) == 0
    place = dict(zip(named.batch.attr.tolist(), hashed.batch.attr.tolist(), strict=True))
    assert [place[i] for i in named.batch.attr.tolist()] == hashed.batch.attr.tolist()
    assert hashed.batch.edge_attr is not None
    edges = len(named.edge_attributes) - len(np.unique(hashed.batch.edge_attr))
    assert extractor.collisions == len(place) - len(set(place.values())) + edges > 0
    extractor.freeze()
    np.testing.assert_array_equal(extractor(columns, threads=3).batch.attr, hashed.batch.attr)
    other = extractor(Columns.from_rows([[("emu", "XX")]], names=["w", "p"]))
    assert len(other.batch.attr) == 4
    assert other.batch.label is not None
    assert other.batch.label.tolist() == [-1]
    assert Extractor(recipe).collisions == 0
    with pytest.raises(ValueError, match="hashed is 0"):
        Extractor(recipe, hashed=0)


def test_embeddings_become_dense_columns() -> None:
    vectors = {"The": [1.0, 2.0], "dog": [3.0, 4.0], "Cats": [5.0, 6.0]}
    recipe = Recipe.parse('p[0]; embedding(w, "v")[0]; embedding(w, "v")[-1]', {"v": vectors})
    made = Extractor(recipe, label=None)(Columns.from_rows(ROWS, names=["w", "p"]))
    assert made.batch.dense is not None
    assert made.batch.dense.tolist() == [
        [1.0, 2.0, 0.0, 0.0],
        [3.0, 4.0, 1.0, 2.0],
        [0.0, 0.0, 3.0, 4.0],
        [5.0, 6.0, 0.0, 0.0],
    ]
    assert names_by_position(made)[0] == ["p[0]=DT"]
    with pytest.raises(ValueError, match="a vector, which scores labels only"):
        Recipe.parse('w[0] & embedding(w, "v")[0]', {"v": vectors})
