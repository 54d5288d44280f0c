"""Tagging one sequence at a time with a model of CRFsuite.

What a model needs is made once, when it is opened: hashes of the attributes, rows of weights, the table of
transitions. A call then walks the items, looks up, scores and decodes natively, on one thread. Rows are
read in place (a table budget of 0): filling the padded table that large batches profit from would cost more
than a sequence.

A sequence of usaddress's model (8 items, 29 labels) takes half the time that python-crfsuite takes: 33 us
against 67, the best of 16 rounds of both in turn on a busy machine. About 15 us are the fixed price of five
native calls, so that a sequence of one item is slower than there (15 us against 5).
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable
from math import exp
from typing import Any

import numpy as np

from crfkit import _native
from crfkit.compat.pycrfsuite._dumpparser import ParsedDump, dump_text, parsed
from crfkit.compat.pycrfsuite._items import ItemSequence
from crfkit.exchange.crfsuite import read_crfsuite
from crfkit.features.items import walk_of
from crfkit.model import Model
from crfkit.native import kernels
from crfkit.structures.labels import Floats

__all__ = ["Tagger"]


class _Opened:
    """A model, ready to tag."""

    model: Model | None  #: None: CRFsuite's model of no data, which has no labels

    def __init__(self, model: Model, head: bytes) -> None:
        layout = model.layout
        self.model, self.head, self.L = model, head, layout.labels
        self.labels = model.chain.labels
        self.ids = {name: y for y, name in enumerate(self.labels)}
        self.attributes = model.attributes
        self.rows = _native.Rows(self.L, layout.node_ptr, layout.node_label, 0)
        self.w = model.w
        self.edge = layout.transition_tables(model.w)[0]  # [L, L]

    def scores(self, xseq: Iterable[Any] | ItemSequence) -> Floats:
        """Return the score of each label at each position, [T, L]."""
        if isinstance(xseq, ItemSequence):
            ptr, attr, value = xseq.rows(self.attributes)
        else:
            walk = walk_of(self.attributes)
            walk.append(xseq, 0)
            ptr, attr, value = walk.take()
        T = len(ptr) - 1
        node = np.empty((T, self.L))
        if T and not _native.score(kernels, self.rows, self.w, 0, ptr, attr, value, None, 0, T, node, 1):
            raise ValueError("the scores of the sequence overflow")
        return node


class _Empty(_Opened):
    """CRFsuite's model of no data: it has no labels, and tags empty sequences only."""

    def __init__(self, head: bytes) -> None:
        self.model, self.head, self.L = None, head, 0
        self.labels, self.ids = (), {}

    def scores(self, xseq: Iterable[Any] | ItemSequence) -> Floats:
        """Return the scores of an empty sequence, [0, 0]."""
        if len(ItemSequence(xseq)):
            raise ValueError("the model has no labels: it was trained without data")
        return np.zeros((0, 0))


class Tagger:
    """The tagger of python-crfsuite.

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
        self._clear()

    def _clear(self) -> None:
        self._node: Floats | None = None  # [T, L] of the current sequence
        self._problem: _native.Problem | None = None
        self._marginals: list[list[float]] | None = None  # [T][L]: lists, as they are read one by one
        self._log_z: float | None = None

    def open(self, name: str | bytes) -> contextlib.closing[Tagger]:
        """Open a model file; the result closes it at the end of a with block."""
        if not isinstance(name, str | bytes):
            raise TypeError(f"expected str or bytes, {type(name).__name__} found")
        with open(name, "rb") as file:
            data = file.read()
        if data[:4] != b"lCRF":
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

    def _open(self, data: bytes, trouble: str) -> contextlib.closing[Tagger]:
        try:
            none = data[8:12] == b"FOMC" and data[20:24] == bytes(4)
            opened = _Empty(data[:48]) if none else _Opened(read_crfsuite(data), data[:48])
        except ValueError as error:
            raise ValueError(f"{trouble}: {error}") from error
        self._opened = opened
        self._clear()
        return contextlib.closing(self)

    def close(self) -> None:
        """Forget the model."""
        self._opened = None
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
        model = self._model()
        self._clear()
        node = model.scores(xseq)
        if len(node):
            length = np.array([0, len(node)], dtype=np.int64)
            self._problem = _native.Problem.chain(node, [model.edge], None, None, length)
            self._node = node

    def tag(self, xseq: Iterable[Any] | ItemSequence | None = None) -> list[str]:
        """Return the best labels of a sequence: this one, or the one that was set."""
        model = self._model()
        if xseq is not None:
            self.set(xseq)
        if self._problem is None:
            return []
        names = model.labels
        return [names[y] for y in kernels.best(self._problem, 1)[1].ravel().tolist()]

    def probability(self, yseq: Iterable[str | bytes]) -> float:
        """Return the probability of labels, given the sequence that was set."""
        model = self._model()
        if self._node is None or self._problem is None:
            return 0.0
        given = list(yseq)
        if len(given) != len(self._node):
            raise ValueError(
                f"The numbers of items and labels differ: |x| = {len(self._node)}, |y| = {len(given)}"
            )
        y = np.array([self._id(model, label) for label in given])
        if self._log_z is None:
            self._log_z = float(kernels.log_partition(self._problem, False, 1)[0])
        score = self._node[np.arange(len(y)), y].sum() + model.edge[y[:-1], y[1:]].sum()
        return min(exp(float(score) - self._log_z), 1.0)

    def marginal(self, y: str | bytes, pos: int) -> float:
        """Return the probability of a label at a position (from 0) of the sequence that was set."""
        model, table = self._model(), self._marginals
        if self._node is None:
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
            if self._problem is None:
                return []
            self._marginals = kernels.marginals(self._problem, False, False, 1)["node"].tolist()
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
