"""Draws the pictures of learned models in docs/graphs.md, by the programs on that page.

    python docs/pictures/learned.py

writes PNG files beside this script; it needs the extra ``plot``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def main() -> None:
    """Run the programs that make a figure, and save it."""
    page = (HERE.parent / "graphs.md").read_text()
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        if "figure = " in block:
            names: dict[str, Any] = {}
            exec(compile(block, "graphs.md", "exec"), names)
            name = "learned_grid" if "plot_grid" in block else "learned_rung"
            names["figure"].savefig(HERE / f"{name}.png", dpi=80)


if __name__ == "__main__":
    main()
