"""Where sequences came from, so that errors of commands name the file, its line, and numbers from 1.

In Python sequences and positions are indices; people count from 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from crfkit.checks import NotFiniteError
from crfkit.data.formats.columns import Columns
from crfkit.data.lines import Lines
from crfkit.errors import DataError, InfeasibleError
from crfkit.structures.gold import GoldError

if TYPE_CHECKING:
    from crfkit.data.dataset import Dataset

#: Errors that name a sequence by its index.
COUNTED = (GoldError, InfeasibleError, NotFiniteError)


@dataclass
class Origins:
    """The files of some data, in their order.

    Examples
    --------
    >>> import numpy as np
    >>> origins = Origins()
    >>> origins.add("a.txt", Lines(np.array([1, 4])), 2)
    >>> print(origins.error(GoldError("label 'I' may not be first", sequence=1, position=0)))
    a.txt, line 4: sequence 2: label 'I' may not be first
    """

    parts: list[tuple[str, Lines | None, int]] = field(default_factory=list)

    def add(self, source: str, lines: Lines | None, sequences: int) -> None:
        """Add data of a file: the lines of its sequences, where they are known."""
        self.parts.append((source, lines, sequences))

    def add_data(self, source: str, data: Columns | Dataset) -> None:
        """Add what was read of a file."""
        self.add(source, data.lines if isinstance(data, Columns) else None, len(data))

    def error(self, error: GoldError | InfeasibleError | NotFiniteError) -> ValueError:
        """Return the error with the file and the line, as far as they are known."""
        n, seen = error.sequence, Counter[str]()
        if n is None:
            return error
        for source, lines, sequences in self.parts:
            if n < sequences:
                return _placed(error, source, lines, n, seen[source] + n + 1)
            n -= sequences
            seen[source] += sequences
        return error.after(1)

    @contextmanager
    def located(self, which: Sequence[int] | None = None) -> Iterator[None]:
        """Make errors within name files and lines; `which` of the sequences are used, by default all."""
        try:
            yield
        except COUNTED as error:
            if which is not None and error.sequence is not None:
                raise self.error(error.after(which[error.sequence] - error.sequence)) from None
            raise self.error(error) from None


@contextmanager
def located(block: Columns | Dataset, before: int, name: str = "") -> Iterator[None]:
    """Make errors in a block of data name its file and line; `before` counts the sequences before it."""
    try:
        yield
    except COUNTED as error:
        n = error.sequence
        if n is None:
            raise
        source = block.source if isinstance(block, Columns) else name
        lines = block.lines if isinstance(block, Columns) else None
        raise _placed(error, source, lines, n, before + n + 1) from None


def place_in(part: Columns, path: str, n: int, number: int) -> Callable[[int], str]:
    """Return what names a position of a sequence of a part of a file: its line, or its number from 0."""
    lines = part.lines
    if lines is None:
        return lambda t: f"{path}, sequence {number + 1}"
    return lambda t: f"{path}, line {lines.of(n, t)}"


def _placed(
    error: GoldError | InfeasibleError | NotFiniteError, source: str, lines: Lines | None, n: int, number: int
) -> ValueError:
    """Return the error of sequence n of a file, which is its sequence `number` from 1."""
    assert error.sequence is not None
    position = getattr(error, "position", None)
    if position is None:
        what = str(error.after(number - error.sequence))
    else:
        exact = lines is not None and lines.step == 1
        what = f"sequence {number}{'' if exact else f', token {position + 1}'}: {error.reason}"  # type: ignore[union-attr]
    return DataError(source, None if lines is None else lines.of(n, position or 0), what)
