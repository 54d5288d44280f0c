"""Tagging one sequence at a time with a model of CRFsuite.

A file is read and checked when it is opened; attributes are looked up in its own hash tables. Rows of
weights and the table of transitions are made ready once, for the first sequence. A call then walks the
items, looks up, scores and decodes natively, on one thread. Measured by `bench.tag`.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterable
from math import exp
from typing import Any

from crfkit import _native
from crfkit.compat.pycrfsuite._dumpparser import ParsedDump, dump_text, parsed
from crfkit.compat.pycrfsuite._items import ItemSequence
from crfkit.models.files.crfsuite import read_crfsuite
from crfkit.models.model import SequenceModel
from crfkit.models.store import file_bytes

__all__ = ["Tagger"]


class _Opened:
    """A model, ready to tag."""

    model: SequenceModel | None  #: None: CRFsuite's model of no data, which has no labels

    def __init__(self, model: SequenceModel, head: bytes) -> None:
        self.model, self.head = model, head
        self.labels = model.structure.labels
        self.ids = {name: y for y, name in enumerate(self.labels)}
        self.attributes = model.attributes

    @property
    def decoder(self) -> _native.Decoder:
        """What reads and tags; the model makes it when it is first needed."""
        decoder = None if self.model is None else self.model.decoder
        assert decoder is not None, "models of CRFsuite have neither real-valued columns nor limits"
        return decoder

    def read(self, xseq: Iterable[Any] | ItemSequence) -> _native.Reading | None:
        """Return the sequence with its scores; None where it is empty."""
        if isinstance(xseq, ItemSequence):
            reading = self.decoder.read_rows(*xseq.rows(self.attributes))
        else:
            reading = self.decoder.read(xseq)
        return reading if len(reading) else None


class _Empty(_Opened):
    """CRFsuite's model of no data: it has no labels, and tags empty sequences only."""

    def __init__(self, head: bytes) -> None:
        self.model, self.head = None, head
        self.labels, self.ids = (), {}

    def read(self, xseq: Iterable[Any] | ItemSequence) -> None:
        """Take an empty sequence."""
        if len(ItemSequence(xseq)):
            raise ValueError("the model has no labels: it was trained without data")


class Tagger:
    """The tagger of python-crfsuite.

    Threads may share a tagger for ``tag(xseq)``. The sequence that `set` took is shared:
    `probability` and `marginal` from several threads need a tagger in each.

    Examples
    --------
    >>> from crfkit.compat.pycrfsuite import Trainer
    >>> import os, tempfile
    >>> trainer = Trainer(verbose=False)
    >>> trainer.append([["the"], ["dog"]], ["D", "N"])
    >>> tagger = Tagger()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     trainer.train(os.path.join(folder, "m.crfsuite"))
    ...     closing = tagger.open(os.path.join(folder, "m.crfsuite"))
    >>> tagger.tag([["dog"], ["the"]]), round(tagger.marginal("N", 0), 2)
    (['N', 'D'], 0.51)
    """

    def __init__(self) -> None:
        self._opened: _Opened | None = None
        #: Labels and reading of a sequence in one native call; None before the first.
        self._answer: Callable[[Iterable[Any]], tuple[list[str], _native.Reading]] | None = None
        self._clear()

    def _clear(self) -> None:
        self._reading: _native.Reading | None = (
            None  # the current sequence; None: there is none, or it is empty
        )
        self._marginals: list[list[float]] | None = None  # [T][L]: lists, as they are read one by one
        self._log_z: float | None = None

    def open(self, name: str | bytes) -> contextlib.closing[Tagger]:
        """Open a model file; the result closes it at the end of a with block."""
        if not isinstance(name, str | bytes):
            raise TypeError(f"expected str or bytes, {type(name).__name__} found")
        data = file_bytes(os.fsdecode(name)) if os.path.getsize(name) else b""
        if bytes(data[:4]) != b"lCRF":
            raise ValueError(f"Invalid model file {name!r}")
        if len(data) <= 48:
            raise ValueError(f"Model file {name!r} doesn't have a complete header")
        return self._open(data, f"Error opening model file {name!r}")

    def open_inmemory(self, value: bytes) -> contextlib.closing[Tagger]:
        """Open a model from the bytes of its file."""
        if not isinstance(value, bytes):
            raise TypeError(
                f"Argument 'value' has incorrect type (expected bytes, got {type(value).__name__})"
            )
        if value[:4] != b"lCRF":
            raise ValueError("Invalid model")
        if len(value) < 48:
            raise ValueError("Invalid model: incomplete header")
        return self._open(value, "Error opening model")

    def _open(self, data: bytes | memoryview, trouble: str) -> contextlib.closing[Tagger]:
        try:
            head = bytes(data[:48])
            none = head[8:12] == b"FOMC" and head[20:24] == bytes(4)
            opened = _Empty(head) if none else _Opened(read_crfsuite(data), head)
        except ValueError as error:
            raise ValueError(f"{trouble}: {error}") from error
        self._opened = opened
        self._answer = None
        self._clear()
        return contextlib.closing(self)

    def close(self) -> None:
        """Forget the model."""
        self._opened = self._answer = None
        self._clear()

    def _model(self) -> _Opened:
        if self._opened is None:
            raise ValueError("The tagger is not opened")
        return self._opened

    def labels(self) -> list[str]:
        """Return the labels, by id."""
        return list(self._model().labels)

    def set(self, xseq: Iterable[Any] | ItemSequence) -> None:
        """Take a sequence, for `tag`, `probability` and `marginal`."""
        self._take(self._model(), xseq)

    def _take(self, model: _Opened, xseq: Iterable[Any] | ItemSequence) -> _native.Reading | None:
        self._clear()
        reading = self._reading = model.read(xseq)
        return reading

    def _first(self) -> Callable[[Iterable[Any]], tuple[list[str], _native.Reading]] | None:
        """Return what answers sequences, made now; None where the model has no labels."""
        model = self._model()
        self._answer = None if model.model is None else model.decoder.answer
        return self._answer

    def tag(self, xseq: Iterable[Any] | ItemSequence | None = None) -> list[str]:
        """Return the best labels of a sequence: this one, or the one that was set."""
        if xseq is None or isinstance(xseq, ItemSequence) or not (answer := self._answer or self._first()):
            model = self._model()
            reading = self._reading if xseq is None else self._take(model, xseq)
            return [] if reading is None else reading.tag()
        labels, given = answer(xseq)
        self._reading = given if labels else None
        self._marginals = self._log_z = None
        return labels

    def probability(self, yseq: Iterable[str | bytes]) -> float:
        """Return the probability of labels, given the sequence that was set."""
        model, reading = self._model(), self._reading
        if reading is None:
            return 0.0
        given = list(yseq)
        if len(given) != len(reading):
            raise ValueError(
                f"The numbers of items and labels differ: |x| = {len(reading)}, |y| = {len(given)}"
            )
        score = reading.path_score([self._id(model, label) for label in given])
        if self._log_z is None:
            self._log_z = reading.log_partition()
        return exp(min(score - self._log_z, 0.0))

    def marginal(self, y: str | bytes, pos: int) -> float:
        """Return the probability of a label at a position (from 0) of the sequence that was set."""
        model, table = self._model(), self._marginals
        if self._reading is None:
            return 0.0
        if table is None:
            table = self._all_marginals()
        label = model.ids.get(y)  # type: ignore[arg-type]
        if label is None:
            label = self._id(model, y)
        pos = int(pos)
        if not 0 <= pos < len(table):
            raise ValueError(f"The position, {pos}is out of range of {len(table)}")
        return table[pos][label]

    def _all_marginals(self) -> list[list[float]]:
        """Marginals of the sequence that was set, by position and label; made once."""
        if self._marginals is None:
            if self._reading is None:
                return []
            self._marginals = self._reading.marginals().tolist()
        return self._marginals

    @staticmethod
    def _id(model: _Opened, label: str | bytes) -> int:
        if isinstance(label, bytes):
            label = label.decode()
        elif not isinstance(label, str):
            raise TypeError(f"expected str or bytes, {type(label).__name__} found")
        found = model.ids.get(label, -1)
        if found < 0:
            raise RuntimeError(f"Failed to convert into label identifier: {label}")
        return found

    def dump(self, filename: str | bytes | os.PathLike[str] | None = None) -> None:
        """Write all that is in the model as text, to a file or to standard output."""
        if self._opened is None:
            raise RuntimeError("Tagger is closed")
        lines = dump_text(self._opened.model, self._opened.head)
        if filename is None:
            sys.stdout.writelines(lines)
            return
        with open(filename, "w", encoding="utf-8", newline="") as file:
            file.writelines(lines)

    def info(self) -> ParsedDump:
        """Return all that is in the model, in dicts."""
        if self._opened is None:
            raise RuntimeError("Tagger is closed")
        return parsed(self._opened.model, self._opened.head)
