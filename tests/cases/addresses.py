"""Addresses in words, with the features of a parser of addresses: real ones, and generated ones like them."""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

Lines: TypeAlias = list[list[str]]
_TOWARDS = {"n", "s", "e", "w", "north", "south", "east", "west", "ne", "nw", "se", "sw"}
_WAYS = {"st", "street", "ave", "avenue", "rd", "road", "dr", "drive", "blvd", "ln", "lane", "ct", "way"}
_CORRECTION = (["12", "Old", "Quay", "Lane"], ["Number", "Modifier", "Name", "Way"])
_REAL = {"Number": "AddressNumber", "Modifier": "StreetNamePreModifier"}
_REAL |= {"Name": "StreetName", "Way": "StreetNamePostType"}


@dataclass(frozen=True)
class Addresses:
    """Items and labels of lines to begin with, one that is labeled wrongly then, and new lines."""

    X: list[Lines]
    y: Lines
    correction: tuple[Lines, list[str]]
    X_new: list[Lines]
    y_new: Lines


def items(words: list[str]) -> Lines:
    """Return the attributes of the words of a line: of each word, the one before and the one behind."""
    own = [_attributes(word) for word in words]
    return [
        [
            *own[n],
            *(f"before {a}" for a in (own[n - 1] if n else ["nothing"])),
            *(f"behind {a}" for a in (own[n + 1] if n + 1 < len(own) else ["nothing"])),
        ]
        for n in range(len(words))
    ]


def _attributes(word: str) -> list[str]:
    bare = re.sub(r"\W", "", word.lower())
    kind = "digits" if bare.isdigit() else "mixed" if any(c.isdigit() for c in bare) else "letters"
    ends = word[-1] if word[-1:] in ".,;:" else ""
    name = "" if bare.isdigit() else bare
    known = (
        f"towards={bare in _TOWARDS}",
        f"way={bare in _WAYS}",
        f"vowel={bool(set(bare[1:]) & set('aeiou'))}",
    )
    return [kind, f"word={name}", f"{kind} length={len(bare)}", f"ends={ends}", *known]


def real(folder: Path) -> Addresses:
    """Return the labeled addresses of a folder, and its synthetic ones as new lines."""
    words, y = _read((folder / "labeled_train.txt").read_text())
    others, tags = _read(gzip.decompress((folder / "synthetic_osm_train.txt.gz").read_bytes()).decode())
    chosen = np.random.default_rng(0).permutation(len(others))[:1000].tolist()
    return _made(words, y, [others[n] for n in chosen], [tags[n] for n in chosen], _REAL)


def _read(text: str) -> tuple[Lines, Lines]:
    blocks = [[line.rsplit(" ", 1) for line in block.splitlines()] for block in text.strip().split("\n\n")]
    return [[row[0] for row in block] for block in blocks], [[row[1] for row in block] for block in blocks]


def generated() -> Addresses:
    """Return 1,200 generated addresses, and 1,000 new ones of other streets and towns."""
    random = np.random.default_rng(0)
    one, two = (["".join(random.choice(list("abdeiklmnorstu"), 6)) for _ in range(150)] for _ in range(2))
    words, y = _lines(1200, one, random)
    others, tags = _lines(1000, two, random)
    return _made(words, y, others, tags, {})


def _lines(count: int, names: list[str], random: np.random.Generator) -> tuple[Lines, Lines]:
    words, labels = [], []
    for _ in range(count):
        line = [(str(random.integers(1, 9999)), "Number")]
        if random.random() < 0.3:
            line.append((str(random.choice(["N", "South", "E", "W"])), "Towards"))
        line += [(str(random.choice(names)).title(), "Name") for _ in range(random.integers(1, 4))]
        line.append((str(random.choice(sorted(_WAYS))).title() + ",", "Way"))
        line += [(str(random.choice(names)).title() + ",", "Town") for _ in range(random.integers(1, 3))]
        line += [("IL", "State"), (str(random.integers(10000, 99999)), "Code")][: random.integers(0, 3)]
        words.append([word for word, _ in line])
        labels.append([label for _, label in line])
    return words, labels


def _made(words: Lines, y: Lines, others: Lines, tags: Lines, names: dict[str, str]) -> Addresses:
    line, labels = _CORRECTION
    correction = items(line), [names.get(label, label) for label in labels]
    return Addresses([items(w) for w in words], y, correction, [items(w) for w in others], tags)
