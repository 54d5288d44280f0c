"""Text with rows of attributes, read natively on threads; each format has its reader in cpp/text."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from crfkit import _native
from crfkit._safe.printable import quoted
from crfkit.arrays import handed_over
from crfkit.data.alphabet import Alphabet
from crfkit.data.assemble import plain
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset
from crfkit.data.source import Input
from crfkit.native import threads_or_all

_LEAST = 1 << 19  # bytes that are worth a thread: a thread has alphabets of its own, joined to those of all


class RowReader:
    r"""Reads one input in a format of rows.

    Parameters
    ----------
    source
        What to read.
    format
        "crfsuite", "jsonl", "mallet" or "mallet-without-labels".
    threads
        How many may read at the same time, by default one for each core; the result is the same.
    least
        How many bytes a thread gets at least.

    Examples
    --------
    >>> import io
    >>> from crfkit.data.source import open_input
    >>> with open_input(io.BytesIO(b"N\tw=dog\tlen:3\n\nV\tw=bark\n")) as source:
    ...     [len(part) for part in RowReader(source, "crfsuite").parts()]
    [1, 1]
    """

    def __init__(
        self, source: Input, format: str, *, threads: int | None = None, least: int = _LEAST
    ) -> None:
        self.source = source
        self.native = _native.RowReader(format)
        self.threads = threads_or_all(threads)
        self.least = least
        self._alphabets = (
            Alphabet.of_native(self.native.labels),
            Alphabet.of_native(self.native.attributes),
            Alphabet(),
        )

    def parts(self) -> Iterator[Dataset]:
        """Yield finished sequences as soon as there are any."""
        for chunk in self.source.chunks(wide=True):
            at = 0
            while (wrong := self.native.read(chunk, at, self.threads, self.least)) is not None:
                at = self._pass(wrong)
            yield from self._take()
        while (wrong := self.native.finish()) is not None:
            self._pass(wrong)
        yield from self._take()

    def refused(self, line: int, text: str) -> None:
        """Take a line that the native reader does not take, or raise an error."""
        raise self.source.error(line, "could not be read; see the format")

    def _pass(self, wrong: tuple[int, bytes, int, str, tuple[str, str]]) -> int:
        line, written, behind, what, names = wrong
        if what:
            raise self.source.error(line, what.format(*names))
        self.refused(line, self.source.decode(written, line))
        return behind

    def _take(self) -> Iterator[Dataset]:
        seq_ptr, label, attr_ptr, attr, value, weight = self.native.take()
        if len(seq_ptr) == 1:
            return
        labels, attributes, edges = self._alphabets
        if value is not None and not np.isfinite(value).all():
            name = attributes[int(attr[np.argmin(np.isfinite(value))])]
            what = f"the values of attribute {quoted(name)} at one position add up to infinity; scale them"
            raise self.source.error(None, what)
        ptr, ids = handed_over(attr_ptr), handed_over(attr)
        batch = Batch(seq_ptr, ptr, ids, value=value, label=label, weight=weight)
        yield Dataset(plain(batch), labels, attributes, edges)
