"""The page on the feature language shows, for each view, the attributes that it really makes."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from crfkit.data.formats.columns import Columns
from crfkit.features import Extractor, Gazetteer, Recipe
from crfkit.features.views import NUMBERS, VIEWS

PAGE = Path(__file__).parents[2] / "docs/reference/features.md"
TOKEN = "Springfield-7"
RESOURCES = {
    "clusters": {TOKEN: "0110"},
    "cities": Gazetteer([TOKEN]),
    "vectors": {TOKEN: np.array([0.5, -1.0])},
}


def shown_for(template: str) -> str:
    """Return the attributes of the token as the page writes them, cut after two."""
    used = {name: resource for name, resource in RESOURCES.items() if f'"{name}"' in template}
    rows = Columns.from_rows([[("in",), (TOKEN,)]], names=["word"])
    data = Extractor(Recipe.parse(template, used), label=None)(rows)
    inside = slice(data.batch.attr_ptr[1], data.batch.attr_ptr[2])
    names = [data.attributes.strings()[a] for a in data.batch.attr[inside]]
    if data.batch.dense is not None:
        return "columns: " + ", ".join(f"{value:g}" for value in data.batch.dense[1])
    several = ", ..." if len(names) > 2 else ""
    return ", ".join(f"`{name}`" for name in names[:2]) + several


def rows_of_page() -> list[list[str]]:
    lines = PAGE.read_text(encoding="utf-8").partition("## Views")[2].partition("## Segments")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| `")]


def test_every_view_has_a_line() -> None:
    named = {re.split(r"[(\[]", row[0].strip("`"))[0] for row in rows_of_page()}
    assert named == {*VIEWS, "word"} - {*NUMBERS}


def test_samples_are_what_the_views_make() -> None:
    for template, attributes, _ in rows_of_page():
        assert attributes == shown_for(template.strip("`")), template
