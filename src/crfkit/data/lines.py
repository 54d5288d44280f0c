"""Where the sequences of a file stand in it, so that errors can name a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from crfkit.arrays import Pointers


@dataclass(frozen=True, eq=False)
class Lines:
    """The lines of sequences.

    Examples
    --------
    >>> lines = Lines(np.array([1, 4]))
    >>> lines.of(1), lines.of(1, 2), lines.after(10).of(0)
    (4, 6, 11)
    """

    begin: Pointers  #: [N] the first line of each sequence, from 1
    #: From one position to the next: 1, or 0 where a sequence is a line. None: lines between positions are
    #: skipped (comments), so that only the first is known.
    step: int | None = 1

    def of(self, sequence: int, position: int = 0) -> int:
        """Return the line of a position, of the sequence where that is all that is known."""
        return int(self.begin[sequence]) + position * (self.step or 0)

    def after(self, lines: int) -> Lines:
        """Return the same where that many lines come before."""
        return replace(self, begin=self.begin + lines)

    def slice(self, begin: int, end: int) -> Lines:
        """Return those of some neighboring sequences."""
        return replace(self, begin=self.begin[begin:end])

    @staticmethod
    def of_rows(rows: Pointers, begins: Pointers) -> Lines:
        """Return those of sequences that begin at some of the rows, each of which has a line [P].

        Examples
        --------
        >>> Lines.of_rows(np.array([2, 3, 5]), np.array([0, 2])).of(1)
        5
        """
        inner = np.delete(np.diff(rows), begins[1:] - 1)
        return Lines(rows[begins], 1 if (inner == 1).all() else None)

    @staticmethod
    def concat(parts: Sequence[Lines | None]) -> Lines | None:
        """Join those of parts of one file; None where a part does not know them."""
        known = [part for part in parts if part is not None]
        if not known or len(known) < len(parts):
            return None
        return replace(known[0], begin=np.concatenate([part.begin for part in known]))
