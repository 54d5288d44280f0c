"""Small tables, generated ones and the attributes they give, for the tests of templates."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import strategies as st

import crfkit
from crfkit.data.dataset import Dataset
from crfkit.data.formats.columns import Columns
from crfkit.features import Extractor, Recipe
from tests.cases.real_data import DATA

needs_data = pytest.mark.skipif(not (DATA / "conll2000").is_dir(), reason="no CoNLL-2000 here")

CHUNKING = "\n".join(
    [f"U{i:02}:%x[{o},0]" for i, o in enumerate(range(-2, 3))]
    + ["U05:%x[-1,0]/%x[0,0]", "U06:%x[0,0]/%x[1,0]"]
    + [f"U{i}:%x[{o},1]" for i, o in enumerate(range(-2, 3), start=10)]
    + [f"U{i}:%x[{o},1]/%x[{o + 1},1]" for i, o in enumerate(range(-2, 2), start=15)]
    + [f"U{i}:%x[{o},1]/%x[{o + 1},1]/%x[{o + 2},1]" for i, o in enumerate(range(-2, 1), start=20)]
    + ["B"]
)
Rows = list[list[tuple[str, ...]]]
ROWS: Rows = [[("The", "DT"), ("dog", "NN"), ("ran", "VB")], [("Cats", "NN")]]


def names_by_position(dataset: Dataset, edge: bool = False) -> list[list[str]]:
    batch = dataset.batch
    ptr, attr = (batch.edge_ptr, batch.edge_attr) if edge else (batch.attr_ptr, batch.attr)
    assert ptr is not None
    assert attr is not None
    names = (dataset.edge_attributes if edge else dataset.attributes).strings()
    return [[names[i] for i in attr[a:b]] for a, b in pairwise(ptr)]


def extract(recipe: Recipe, rows: Rows = ROWS, **options: object) -> Dataset:
    return Extractor(recipe, label=None)(Columns.from_rows(rows), **options)  # type: ignore[arg-type]


def read_columns(path: Path) -> Columns:
    read = crfkit.read(path, format="columns")
    assert isinstance(read, Columns)
    return read


tokens = st.text("aAb/1é", min_size=1, max_size=3)
corpora = st.lists(st.lists(st.tuples(tokens, tokens), max_size=4), min_size=1, max_size=5)
