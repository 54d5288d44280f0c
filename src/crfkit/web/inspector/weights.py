"""The weights of attributes of a model: the largest, those that are searched for, and by template."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from crfkit.arrays import Floats
from crfkit.data.dataset import ALPHABET_OF
from crfkit.models.model import SequenceModel
from crfkit.view.text import split

__all__ = ["Weights"]

_KINDS = ("node", "begin", "end", "segment")


class Weights:
    """All weights of attributes by label, read once.

    Examples
    --------
    >>> from crfkit import ChainCRF
    >>> found = Weights(ChainCRF().fit([[["the"], ["dog"]]] * 9, [["D", "N"]] * 9).model_)
    >>> [name for name, weight in found.strongest(0, 1)[0]], found.find("DOG", 5)[0]
    (['the'], ['dog'])
    """

    def __init__(self, model: SequenceModel) -> None:
        self.labels = list(model.structure.labels)
        self.names: list[str] = []
        rows: list[Any] = [np.zeros(0, np.int64)]
        cells: list[Any] = [np.zeros(0, np.int64)]
        w: list[Floats] = [np.zeros(0)]
        for block in model.layout.blocks:
            if block.by not in _KINDS:
                continue
            known = getattr(model.names, ALPHABET_OF[block.by]).strings()
            count = len(block.ptr) - 1
            kind = "" if block.by == "node" else f"{block.by} "
            rows.append(np.repeat(np.arange(count), np.diff(block.ptr)) + len(self.names))
            self.names += known[:count] if known else [f"{kind}attribute {a}" for a in range(count)]
            cells.append(block.cell)
            w.append(model.w[model.layout.parts[block.name]])
        self.row, self.label, self.w = np.concatenate(rows), np.concatenate(cells), np.concatenate(w)
        self.largest = np.zeros(len(self.names))  # of each attribute
        np.maximum.at(self.largest, self.row, np.abs(self.w))

    def strongest(self, label: int, most: int) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
        """Return the attributes that speak most for a label, and those that speak most against it."""
        mine = np.flatnonzero(self.label == label)
        order = mine[np.argsort(-self.w[mine], kind="stable")].tolist()

        def told(chosen: Sequence[int]) -> list[tuple[str, float]]:
            return [(self.names[self.row[i]], float(self.w[i])) for i in chosen]

        high = [i for i in order[:most] if self.w[i] > 0.0]
        low = [i for i in order[::-1][:most] if self.w[i] < 0.0]
        return told(high), told(low)

    def find(self, text: str, most: int) -> tuple[list[str], list[list[float]], int]:
        """Return attributes with a text in their name, their weights by label, and how many there are."""
        wanted = text.casefold()
        found = np.array([i for i, name in enumerate(self.names) if wanted in name.casefold()], np.int64)
        chosen = found[np.argsort(-self.largest[found], kind="stable")[:most]]
        table = np.zeros((len(chosen), len(self.labels)))
        place = {int(a): i for i, a in enumerate(chosen)}
        for i in np.flatnonzero(np.isin(self.row, chosen)).tolist():
            table[place[int(self.row[i])], self.label[i]] = self.w[i]
        return [self.names[a] for a in chosen], table.tolist(), len(found)

    def templates(self, most: int) -> list[tuple[str, int, float]]:
        """Return the templates of attributes: how many weights they have, and their share of the squares."""
        squares = np.bincount(self.row, self.w**2, minlength=len(self.names))
        count = np.bincount(self.row, self.w != 0.0, minlength=len(self.names)).astype(np.int64)
        made: dict[str, list[float]] = defaultdict(lambda: [0, 0.0])
        for name, many, square in zip(self.names, count.tolist(), squares.tolist(), strict=True):
            one = made[split(name)[1] or name]
            one[0] += many
            one[1] += square
        total = sum(square for _, square in made.values()) or 1.0
        order = sorted(made.items(), key=lambda item: -item[1][1])[:most]
        return [(template, int(many), square / total) for template, (many, square) in order]
