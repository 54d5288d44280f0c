"""The pictures of docs are what their script draws."""

from __future__ import annotations

import runpy
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "docs/pictures"


def test_pictures_are_drawn_by_the_script() -> None:
    pictures = runpy.run_path(str(FOLDER / "draw.py"))["PICTURES"]
    assert {path.stem for path in FOLDER.glob("*.svg")} == set(pictures)
    for name, draw in pictures.items():
        assert (FOLDER / f"{name}.svg").read_text() == draw().svg(), f"run docs/pictures/draw.py: {name}"
