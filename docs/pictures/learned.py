"""Draws the pictures of learned models, by the programs of the pages that show them.

    python docs/pictures/learned.py

writes PNG files beside this script; it needs the extra ``plot``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import crfkit
import crfkit.models.plots

HERE = Path(__file__).parent


# A program, and the expression behind it that makes the figure.
DRAWN = re.compile(
    r"```python\n([^`]*)```\n\n```output\n[^`]*```\n\nWith matplotlib(?: \([^)]*\))?, `([^`]+)`"
)


def main() -> None:
    """Run the programs that make a figure, and save it."""
    pages = (HERE.parent / "how-to").glob("graphs-*.md")
    for block, figure in DRAWN.findall("".join(page.read_text() for page in pages)):
        names: dict[str, Any] = {"crfkit": crfkit}
        exec(compile(block, "page", "exec"), names)
        name = "learned_grid" if "plot_grid" in figure else "learned_link"
        eval(figure, names).savefig(HERE / f"{name}.png", dpi=80)


if __name__ == "__main__":
    main()
