"""Draws the pictures of the pages on graphs: circles are variables, squares are factors, gray is observed.

    python docs/pictures/draw.py

writes an SVG file for each picture beside this script.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path

Point = tuple[float, float]
COLORS = {"a": "#cfe3f7", "b": "#fbe0c3", "c": "#d9f0d3", "seen": "#d0d0d0"}
INK = "#333333"
RADIUS, HALF = 15.0, 5.0


class Picture:
    """Shapes in the order in which they are drawn: lines below circles."""

    def __init__(self, width: float, height: float) -> None:
        self.size = width, height
        self.lines: list[str] = []
        self.shapes: list[str] = []

    def variable(self, at: Point, name: str = "", kind: str = "a") -> Point:
        """Draw a circle with a name in it, and return its place."""
        x, y = at
        self.shapes.append(
            f'<circle cx="{x:g}" cy="{y:g}" r="{RADIUS:g}" fill="{COLORS[kind]}" stroke="{INK}"/>'
        )
        self.text((x, y + 4), name, size=12 if len(name) < 4 else 10)
        return at

    def text(self, at: Point, words: str, *, anchor: str = "middle", size: int = 12) -> None:
        """Write words."""
        x, y = at
        if words:
            self.shapes.append(
                f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="{size}">{words}</text>'
            )

    def factor(self, *members: Point, at: Point | None = None, color: str = INK, bend: float = 0.0) -> None:
        """Draw a factor at the middle of its variables, or elsewhere; `bend` raises it and its lines."""
        middle = sum(x for x, _ in members) / len(members), sum(y for _, y in members) / len(members)
        x, y = at or (middle[0], middle[1] - bend)
        for a, b in members:
            path = f"M{a:g} {b:g} Q{a:g} {y:g} {x:g} {y:g}" if bend else f"M{a:g} {b:g} L{x:g} {y:g}"
            self.lines.append(f'<path d="{path}" fill="none" stroke="{color}" stroke-width="1.4"/>')
        self.shapes.append(
            f'<rect x="{x - HALF:g}" y="{y - HALF:g}" width="{2 * HALF:g}" height="{2 * HALF:g}" '
            f'fill="{color}"/>'
        )

    def svg(self) -> str:
        """Return the picture as a file."""
        width, height = self.size
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
            f'viewBox="0 0 {width:g} {height:g}" font-family="sans-serif" fill="{INK}">'
        )
        ground = f'<rect width="{width:g}" height="{height:g}" fill="white"/>'
        return "\n".join([head, ground, *self.lines, *self.shapes, "</svg>"]) + "\n"


def row(picture: Picture, names: Iterable[str], y: float, kind: str = "a", x: float = 40) -> list[Point]:
    """Draw variables side by side."""
    return [picture.variable((x + 80 * i, y), name, kind) for i, name in enumerate(names)]


def clique() -> Picture:
    """Draw factors of one, two and three variables of two kinds."""
    picture = Picture(370, 140)
    a = row(picture, ["a0", "a1", "a2"], 45)
    b = row(picture, ["b0", "b1"], 105, "b", x=80)
    picture.factor(a[0], a[1], b[0])
    picture.factor(a[1], a[2])
    picture.factor(b[0], b[1], color="#b5651d")
    picture.factor(a[0], at=(40, 12))
    picture.text((230, 50), "kind a, labels x, y", anchor="start")
    picture.text((230, 110), "kind b, 3 labels", anchor="start")
    return picture


def grid() -> Picture:
    """Draw pixels and their neighbors."""
    picture = Picture(280, 230)
    at = [[picture.variable((40 + 80 * c, 40 + 75 * r), str(3 * r + c)) for c in range(3)] for r in range(3)]
    for r in range(3):
        for c in range(3):
            if c < 2:
                picture.factor(at[r][c], at[r][c + 1])
            if r < 2:
                picture.factor(at[r][c], at[r + 1][c], color="#b5651d")
    return picture


def skip_chain() -> Picture:
    """Draw a chain with a long edge."""
    picture = Picture(440, 170)
    words = ["Green", "spoke", "and", "Mr.", "Green", "left"]
    at = [picture.variable((35 + 74 * i, 105), str(i)) for i in range(len(words))]
    for (x, _), word in zip(at, words, strict=True):
        picture.text((x, 150), word)
    for left, right in pairwise(at):
        picture.factor(left, right)
    picture.factor(at[0], at[4], bend=75, color="#b5651d")
    picture.text((183, 20), "skip: the same capitalized word")
    return picture


def factorial() -> Picture:
    """Draw two chains, joined word by word."""
    picture = Picture(400, 170)
    words = ["He", "reckons", "the", "deficit"]
    pos = row(picture, ["PRP", "VBZ", "DT", "NN"], 100)
    chunk = row(picture, ["B-NP", "B-VP", "B-NP", "I-NP"], 35, "b")
    for (x, _), word in zip(pos, words, strict=True):
        picture.text((x, 150), word)
    for level in (pos, chunk):
        for left, right in pairwise(level):
            picture.factor(left, right)
    for below, above in zip(pos, chunk, strict=True):
        picture.factor(below, above, color="#b5651d")
    picture.text((312, 40), "chunk", anchor="start")
    picture.text((312, 105), "pos", anchor="start")
    return picture


def collective() -> Picture:
    """Draw papers, citations and a pair with a common author."""
    picture = Picture(400, 210)
    places = [(50, 50), (140, 30), (120, 120), (220, 90), (300, 40), (310, 140), (210, 175), (50, 165)]
    seen = {1, 3, 7}
    at = [picture.variable(p, f"{i}", "seen" if i in seen else "a") for i, p in enumerate(places)]
    for i, j in ((0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (3, 5), (4, 5), (5, 6), (2, 7)):
        picture.factor(at[i], at[j])
    picture.factor(at[2], at[6], color="#b5651d")
    picture.text((330, 185), "gray: known", anchor="start", size=11)
    return picture


def multi_label() -> Picture:
    """Draw five yes-or-no variables, all joined."""
    picture = Picture(360, 240)
    names = ["beach", "sea", "sunset", "field", "urban"]
    at = [(180, 45), (290, 110), (245, 200), (115, 200), (70, 110)]
    for i, (x, y) in enumerate(at):
        for a, b in at[:i]:
            picture.factor((a, b), (x, y), at=(0.55 * a + 0.45 * x, 0.55 * b + 0.45 * y))
    for (x, y), name, kind in zip(at, names, "abcab", strict=True):
        picture.variable((x, y), "0/1", kind)
        side = 0 if x == 180 else 22 if x > 180 else -22
        picture.text((x + side, y - 22 if not side else y + 4), name, anchor=_anchor(side))
    return picture


def _anchor(side: float) -> str:
    return "middle" if not side else "start" if side > 0 else "end"


def latent() -> Picture:
    """Draw hidden states below labels."""
    picture = Picture(400, 170)
    state = row(picture, ["h0", "h1", "h2", "h3"], 100)
    label = row(picture, ["y0", "y1", "y2", "y3"], 35, "b")
    for left, right in pairwise(state):
        picture.factor(left, right)
    for below, above in zip(state, label, strict=True):
        picture.factor(below, above, color="#b5651d")
    for x, y in state:
        picture.factor((x, y), at=(x, y + 32))
    picture.text((312, 40), "label", anchor="start")
    picture.text((312, 105), "hidden state", anchor="start")
    picture.text((40, 160), "look: what is seen of each position", anchor="start", size=11)
    return picture


PICTURES: dict[str, Callable[[], Picture]] = {
    "clique": clique,
    "grid": grid,
    "skip_chain": skip_chain,
    "factorial": factorial,
    "collective": collective,
    "multi_label": multi_label,
    "latent": latent,
}

if __name__ == "__main__":
    for name, draw in PICTURES.items():
        (Path(__file__).parent / f"{name}.svg").write_text(draw().svg())
