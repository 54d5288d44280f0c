"""How pictures look: one style sheet, and which label has which color.

The colors are those of Okabe and Ito, which color-blind readers tell apart, lighter on dark pages; where
there are more than seven labels, five of Tol's follow. A label has the color that the checksum of its name
points to, or the next free one: with the list of all labels of a model it is the same in all its pictures.
Labels beyond twelve share colors, and have a pattern of their own: one of four, so that 60 labels differ.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from importlib.resources import files
from zlib import crc32

from crfkit.tags.schemes import OUTSIDE, PART_OF
from crfkit.view.markup import Markup

__all__ = ["FIRST", "PATTERNS", "SLOTS", "color_classes", "kind_of", "style"]

FIRST = 7  #: colors of Okabe and Ito; the classes k0 to k6 of the style sheet
PATTERNS = 4  #: of labels whose color another one has; the classes w1 to w4 of the style sheet
SLOTS = 12  #: all colors besides the gray of what lies outside


@lru_cache(maxsize=1)
def style() -> Markup:
    """Return the style sheet as an element."""
    sheet = (files("crfkit.view") / "style.css").read_text("utf-8")
    return Markup(f"<style>{sheet}</style>")


def kind_of(label: str) -> str:
    """Return the type of a tag, or the label itself.

    Examples
    --------
    >>> kind_of("B-PER"), kind_of("street"), kind_of("O")
    ('PER', 'street', 'O')
    """
    return label[2:] if label[1:2] == "-" and label[0] in PART_OF and label[2:] else label


def color_classes(labels: Iterable[str]) -> dict[str, str]:
    """Return the classes of each label and of its type, color and pattern: tags of one type have one color.

    Examples
    --------
    >>> found = color_classes(["O", "B-PER", "I-PER", "B-LOC"])
    >>> found["B-PER"] == found["I-PER"] == found["PER"] != found["B-LOC"], found["O"]
    (True, 'o')
    """
    given = list(labels)
    kinds = sorted({kind_of(one) for one in given} - {OUTSIDE, ""})
    uses = [0] * (FIRST if len(kinds) <= FIRST else SLOTS)
    found = {}
    for kind in kinds:
        first = crc32(kind.encode("utf-8", "surrogatepass")) % len(uses)
        slot = min(range(len(uses)), key=lambda i: (uses[i], (i - first) % len(uses)))
        found[kind] = f"k{slot} w{(uses[slot] - 1) % PATTERNS + 1}" if uses[slot] else f"k{slot}"
        uses[slot] += 1
    return {**found, **{one: found.get(kind_of(one), "o") for one in given}}
