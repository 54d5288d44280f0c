"""Rows of tokens, and what learners are given of them."""

from __future__ import annotations

from collections.abc import Sequence

from crfkit.data.dataset import Dataset
from crfkit.data.formats.columns import Columns
from crfkit.features import Extractor, Recipe

Rows = list[list[tuple[str, ...]]]  # the tokens of each sequence; the label is the last column


def dataset(
    rows: Sequence[Sequence[tuple[str, ...]]], names: Sequence[str], template: str, threads: int | None = None
) -> Dataset:
    """Return the features of rows by a template; the last column is the label."""
    extract = Extractor(Recipe.parse(template), label=names[-1])
    return extract(Columns.from_rows(rows, names=list(names)), threads)
