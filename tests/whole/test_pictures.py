"""The pictures of docs are what their script draws."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

FOLDER = Path(__file__).parents[2] / "docs/pictures"


def test_pictures_are_drawn_by_the_script() -> None:
    pictures = runpy.run_path(str(FOLDER / "draw.py"))["PICTURES"]
    assert {path.stem for path in FOLDER.glob("*.svg")} == {*pictures, "hero", "speed"}
    for name, draw in pictures.items():
        assert (FOLDER / f"{name}.svg").read_text() == draw().svg(), f"run docs/pictures/draw.py: {name}"


def test_the_chart_of_speed_is_drawn_from_its_table() -> None:
    program = runpy.run_path(str(FOLDER / "speed.py"))
    assert len(program["rows"]()) == 7
    assert (FOLDER / "speed.svg").read_text() == program["draw"](), "run docs/pictures/speed.py"


def hero() -> dict[str, Any]:
    return runpy.run_path(str(FOLDER / "hero.py"))


def test_the_picture_of_the_readme_is_drawn_from_what_was_measured() -> None:
    found = json.loads((FOLDER / "measured.json").read_text())
    assert (FOLDER / "hero.svg").read_text() == hero()["draw"](found), "run docs/pictures/hero.py"
    words = " ".join(ElementTree.parse(FOLDER / "hero.svg").getroot().itertext())
    assert all(label in words for label in ("street type", "city", "90 s"))


def test_its_address_is_labeled_by_the_model_as_it_says() -> None:
    told = json.loads((FOLDER / "measured.json").read_text())["spans"]
    found = hero()["measured"]()["spans"]
    assert [one[:2] for one in found] == [one[:2] for one in told]
    assert [one[2] for one in found] == pytest.approx([one[2] for one in told], abs=0.005)


def test_its_times_are_those_of_the_table() -> None:
    program = hero()
    training = json.loads((FOLDER / "measured.json").read_text())["training"]
    cells = " | ".join(map(program["told"], training["seconds"].values()))
    (row,) = [line for line in (FOLDER.parents[1] / "README.md").read_text().splitlines() if cells in line]
    assert training["measure"] in row
