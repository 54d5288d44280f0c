"""Sequences that pages show: what the model reads of them, their words, and their gold labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from crfkit.data.formats.columns import Columns

__all__ = ["Material"]


@dataclass(frozen=True, eq=False)
class Material:
    """Sequences by number; none of them changes.

    Examples
    --------
    >>> one = Material("dev.txt", [["in", "York"], ["Ana"]], [["in", "York"], ["Ana"]])
    >>> len(one), one.read([1]), one.text(0)
    (2, [['Ana']], 'in York')
    """

    name: str  #: of the file
    X: Any  #: as the model reads it: lists of words or items, or columns
    words: Sequence[Sequence[str]]  #: what to call the positions of each sequence
    gold: list[list[str]] | None = None
    texts: Sequence[str] | None = None  #: where the words were cut out of
    offsets: Sequence[Sequence[tuple[int, int]]] | None = None  #: where in these, in characters
    ids: Sequence[str] = field(default_factory=tuple)

    def __len__(self) -> int:
        return len(self.words)

    def read(self, chosen: Sequence[int]) -> Any:
        """Return some of the sequences as the model reads them."""
        if isinstance(self.X, Columns):
            rows = [[tuple(row) for row in self.X.sequence(n)] for n in chosen]
            return Columns.from_rows(rows, self.X.names)
        return [self.X[n] for n in chosen]

    def text(self, n: int) -> str:
        """Return a sequence as a text: its own, or its words with blanks between them."""
        return " ".join(self.words[n]) if self.texts is None else self.texts[n]

    def places(self, n: int) -> list[tuple[int, int]]:
        """Return where the words of a sequence are in its text."""
        if self.offsets is not None:
            return list(self.offsets[n])
        made, at = [], 0
        for word in self.words[n]:
            made.append((at, at + len(word)))
            at += len(word) + 1
        return made
