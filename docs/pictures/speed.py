"""Draws the chart of docs/understand/speed.md from the table of that page.

    python docs/pictures/speed.py

Bars are on a logarithmic scale, because the ratios go from 6 to 200.
"""

from __future__ import annotations

import math
import re
import runpy
from pathlib import Path

from crfkit.view.markup import Markup, join, tag

HERE = Path(__file__).parent
PAGE = HERE.parent / "understand/speed.md"
LEFT, WIDE, STEP = 330.0, 380.0, 46.0


def rows() -> list[tuple[str, str, float]]:
    """Return what was measured, beside which program, and how many times as fast crfkit is."""
    table = re.findall(
        r"^\| ([^|]+) \| ([^|]+) \| ([\d.]+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE
    )
    return [(what.replace("`", ""), beside, float(ratio)) for what, beside, ratio in table]


def draw() -> str:
    """Return the chart."""
    found = rows()
    most = math.log(max(ratio for *_, ratio in found))
    parts: list[Markup] = []
    for n, (what, beside, ratio) in enumerate(found):
        y = 62 + STEP * n
        wide = WIDE * math.log(ratio) / most
        parts += [
            tag("text", what, class_="ink", x=LEFT - 14, y=y + 9, text_anchor="end"),
            tag("text", f"beside {beside}", class_="soft small", x=LEFT - 14, y=y + 25, text_anchor="end"),
            tag("rect", class_="bar", x=LEFT, y=y, width=wide, height=26, rx=3),
            tag("text", f"{ratio:g} ×", class_="go big", x=LEFT + wide + 10, y=y + 20),
        ]
    high = 80 + STEP * len(found)
    style = runpy.run_path(str(HERE / "hero.py"))["STYLE"]
    card = tag("rect", class_="card", x=1, y=1, width=838, height=high - 2, rx=14)
    head = tag("text", "Times as fast", class_="ink head", x=LEFT, y=38)
    drawn = tag(
        "svg",
        Markup(f"<style>{style}</style>"),
        card,
        head,
        join(parts),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 840 {high:.0f}",
        role="img",
        aria_label="How many times as fast crfkit is as other programs",
    )
    return drawn + "\n"


def main() -> None:
    """Write the chart."""
    (HERE / "speed.svg").write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    main()
