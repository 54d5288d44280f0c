"""Draws the pictures of learned models in docs/graphs.md, by the programs on that page.

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
DRAWN = re.compile(r"```python\n((?:(?!```).)*)```\n\nWith matplotlib(?: \([^)]*\))?, `([^`]+)`", re.DOTALL)


def main() -> None:
    """Run the programs that make a figure, and save it."""
    page = (HERE.parent / "graphs.md").read_text()
    for block, figure in DRAWN.findall(page):
        names: dict[str, Any] = {"crfkit": crfkit}
        exec(compile(block, "graphs.md", "exec"), names)
        name = "learned_grid" if "plot_grid" in figure else "learned_link"
        eval(figure, names).savefig(HERE / f"{name}.png", dpi=80)


if __name__ == "__main__":
    main()
