"""Turning features that are Python objects into a batch of attribute ids, natively.

An item (what is known about one position) is a list of strings or a dict; names are made as python-crfsuite
makes them, so that a model means the same in both:

==========================================  ==============================================================
item                                        attributes
==========================================  ==============================================================
``["a", "b", "a"]`` (any iterable)          ``a``, ``b``, ``a``, each of value 1; scores of repeats add up
``{"k": 0.5}`` (any number or bool)         ``k`` of that value; zeros and negative values are kept
``{"k": "v"}``                              ``k:v`` of value 1
``{"k": {"a": 2, "b": "v"}}``               ``k:a`` of value 2, ``k:b:v`` of value 1; any depth
``{"k": ["v", "w"]}`` (tuples, sets too)    ``k:v``, ``k:w`` of value 1
==========================================  ==============================================================

Strings of a set are taken in alphabetical order (that of their UTF-8), since its own varies between runs.

Strings are str or bytes (UTF-8). Unlike there, a plain string is not an item and not a sequence (its
characters were taken by accident), mappings of any kind are read as dicts, and nan and infinity are refused.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from collections.abc import Set as AnySet
from itertools import repeat, zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crfkit import _native
from crfkit._safe.printable import counted
from crfkit.arrays import handed_over, pointers
from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset, ExtractorSpec

_MISSING = object()


class ItemExtractor:
    """Makes data sets from Python features: dicts, lists of strings, arrays.

    A sequence is one of

    - an iterable of items: dicts, or iterables of strings (see the table above);
    - a NumPy array of floats [T, K], real-valued features without names (`Batch.dense`); all sequences of
      a call agree on K;
    - a SciPy sparse matrix [T, K]: column k is attribute k, named by its decimal number in the alphabet,
      which holds these K names and no others. Stored zeros and repeated entries are kept;
    - a pair ``(items or sparse matrix, dense array)``.

    Parameters
    ----------
    hashed : int, optional
        Take this many attributes without names: strings are hashed to ids, the alphabet of attributes
        stays empty. Integers are taken as ids: in an item that is an iterable of them, in an integer
        array [T, K] as a sequence, and as columns of a sparse matrix.
    attributes, labels : Alphabet, optional
        Alphabets to begin with, such as those of a model; frozen ones do not grow.

    Notes
    -----
    Ids are given in order of first appearance; sets are sorted. A call that fails may leave names in the
    growing alphabets; ids given before keep their meaning. Python keeps the UTF-8 form of a str that is not
    ASCII inside the str once it was asked for.

    Examples
    --------
    >>> extract = ItemExtractor()
    >>> X = [[["w=the", "first"], {"w": "dog", "length": 3, "shape": {"upper": False}}]]
    >>> dataset = extract(X, y=[["D", "N"]])
    >>> dataset.attributes.strings()
    ['w=the', 'first', 'w:dog', 'length', 'shape:upper']
    >>> dataset.batch.value.tolist(), dataset.labels.strings()
    ([1.0, 1.0, 1.0, 3.0, 0.0], ['D', 'N'])
    >>> extract.freeze()([[["first", "unknown"]]]).batch.attr.tolist()
    [1]
    """

    def __init__(
        self, hashed: int | None = None, attributes: Alphabet | None = None, labels: Alphabet | None = None
    ) -> None:
        if hashed is not None and attributes is not None:
            raise ValueError("hashed attributes have no names: give hashed or attributes, not both")
        self.hashed = hashed
        self._hasher = None if hashed is None else _native.Hasher(hashed)
        self.attributes = Alphabet() if attributes is None else attributes
        self.labels = Alphabet() if labels is None else labels
        self.edge_attributes = Alphabet().freeze()
        self.frozen = self.labels.frozen and self.attributes.frozen
        self._columns: int | None = None  # of sparse matrices, once there was one
        #: Names that a frozen alphabet was asked for in the last call: in all, and those of positions that
        #: are neither the first nor the last of their sequence.
        self.seen: tuple[int, int] = (0, 0)

    @property
    def size(self) -> int:
        """Number of attributes: ids lie below it."""
        return len(self.attributes) if self.hashed is None else self.hashed

    @property
    def collisions(self) -> int:
        """How many strings seen while growing share the id of an earlier one; 0 unless hashed.

        Examples
        --------
        >>> extract = ItemExtractor(hashed=2)
        >>> ids = extract([[["a", "b", "c", "a"]]]).batch.attr
        >>> extract.collisions == 3 - len(set(ids.tolist()))
        True
        """
        return 0 if self._hasher is None else self._hasher.collisions

    def freeze(self) -> ItemExtractor:
        """Stop growing: from now on unknown attributes are dropped and unknown labels are -1."""
        if not self.frozen:
            self.attributes, self.labels = self.attributes.freeze(), self.labels.freeze()
            if self._hasher is not None:
                self._hasher.freeze()
            self.frozen = True
        return self

    def __call__(
        self,
        X: Iterable[Any],
        y: Iterable[Iterable[str | bytes]] | None = None,
        weight: Iterable[float] | None = None,
    ) -> Dataset:
        """Return the data set of these sequences.

        Parameters
        ----------
        X : iterable of sequences
            What is known about each sequence, as the class describes.
        y : iterable of label sequences, optional
            One string for each item.
        weight : iterable of float, optional
            One number for each sequence.

        Raises
        ------
        ValueError, TypeError
            Something is wrong in X, y or weight; the message says where, counted from 0. Exceptions that
            your own iterators and numbers raise come through unchanged.
        """
        if isinstance(X, str | bytes | bytearray):
            raise ValueError("X is a plain string, expected a list of sequences")
        if isinstance(X, AnySet):
            raise TypeError("X is a set, whose order varies between runs; expected a list of sequences")
        if _is_sparse(X) or (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "fiub"):
            raise ValueError("X is one matrix, expected a list of sequences; for a single sequence: [X]")
        attributes, labels = self.attributes, self.labels
        walk = walk_of(attributes) if self._hasher is None else _native.ItemWalk.hashing(self._hasher)
        tags_walk = None if y is None else walk_of(labels)
        lengths: list[int] = []
        dense: list[NDArray[Any]] = []
        for n, (sequence, tags) in enumerate(_pairs(X, y)):
            rows = None
            if isinstance(sequence, np.ndarray):
                if sequence.ndim == 2 and sequence.dtype.kind == "f":
                    rows = sequence
            elif isinstance(sequence, tuple) and len(sequence) == 2 and _is_matrix(sequence[1]):
                sequence, rows = sequence
            if rows is not None and rows is sequence:
                T = len(rows)
                walk.append_rows(np.zeros(T + 1, np.int64), np.zeros(0, np.int32), None)
            elif _is_sparse(sequence):
                T = self._append_sparse(walk, n, sequence)
            elif isinstance(sequence, np.ndarray) and sequence.dtype.kind in "iufb":
                T = self._append_ids(walk, n, sequence)
            elif self._columns is not None:
                raise ValueError(f"sequence {n} has items, but those before it are sparse matrices")
            else:
                T = walk.append(sequence, n)
            if (rows is not None) != (len(dense) > 0) and n > 0:
                raise ValueError(
                    f"sequence {n} has {'no ' if rows is None else ''}dense features, unlike those before it"
                )
            if rows is not None:
                dense.append(_checked_dense(n, rows, T, dense))
            if tags_walk is not None:
                given = tags_walk.append_labels(tags, n)
                if given != T:
                    raise ValueError(f"sequence {n}: {T} items and {given} labels")
            lengths.append(T)
        self.seen = walk.seen
        attr_ptr, attr, value = walk.take()
        batch = Batch(
            pointers(lengths),
            handed_over(attr_ptr),
            handed_over(attr),
            None if value is None else handed_over(value),
            label=None if tags_walk is None else tags_walk.take()[1],
            dense=np.concatenate(dense, dtype=np.float64) if dense else None,
            weight=None if weight is None else _weights(weight, len(lengths)),
        )
        made_by = None if self.hashed is None else ExtractorSpec(hashed=self.hashed)
        return Dataset(batch, labels, attributes, self.edge_attributes, extractor=made_by)

    def _append_ids(self, walk: _native.ItemWalk, n: int, ids: NDArray[Any]) -> int:
        """Take an integer array [T, K] as K attribute ids for each position."""
        if self.hashed is None or ids.ndim != 2 or ids.dtype.kind not in "iu":
            raise TypeError(
                f"sequence {n} is an array of {ids.dtype} of shape {ids.shape}; expected floats of shape "
                "[T, K] (real-valued features)"
                + (", or integers of shape [T, K] (attribute ids)" if self.hashed is not None else "")
            )
        bad = np.argwhere((ids < 0) | (ids >= self.hashed))
        if bad.size:
            t, k = bad[0]
            raise ValueError(
                f"sequence {n}, position {t}: the attribute id {ids[t, k]} is outside 0..{self.hashed - 1}"
            )
        T, K = ids.shape
        walk.append_rows(np.arange(T + 1, dtype=np.int64) * K, ids.astype(np.int32).ravel(), None)
        return int(T)

    def _append_sparse(self, walk: _native.ItemWalk, n: int, matrix: Any) -> int:
        """Take the columns of a sparse matrix [T, K] as attributes."""
        if matrix.ndim != 2:
            raise ValueError(f"sequence {n} is a sparse array of {matrix.ndim} dimension, expected 2")
        rows = matrix.tocsr()
        T, K = rows.shape
        self._check_columns(n, K)
        ids, values = np.asarray(rows.indices), np.asarray(rows.data)
        if values.dtype.kind not in "fiub":
            raise TypeError(f"sequence {n} is a sparse matrix of {values.dtype}, expected real numbers")
        values = values.astype(np.float64, copy=False)
        if ids.size and (ids.min() < 0 or ids.max() >= K):
            raise ValueError(f"sequence {n}: the sparse matrix has column numbers outside 0..{K - 1}")
        if not np.isfinite(values).all():
            at = int(np.flatnonzero(~np.isfinite(values))[0])
            t = int(np.searchsorted(rows.indptr, at, side="right")) - 1
            raise ValueError(
                f"sequence {n}, position {t}, attribute '{ids[at]}': the value is {values[at]}; "
                "values must be finite"
            )
        walk.append_rows(
            np.ascontiguousarray(rows.indptr, np.int64),
            np.ascontiguousarray(ids, np.int32),
            np.ascontiguousarray(values),
        )
        return int(T)

    def _check_columns(self, n: int, K: int) -> None:
        """Fill the alphabet with the names of K columns, or check that it holds them."""
        if self.hashed is not None:
            if self.hashed < K:
                raise ValueError(f"sequence {n}: {K} columns, but hashed={self.hashed}")
            return
        if self._columns is None:
            numbers = [str(k) for k in range(K)]
            if not len(self.attributes) and not self.attributes.frozen:
                self.attributes.ids(numbers)
            if self.attributes.strings() != numbers:
                raise ValueError(
                    f"sequence {n} is a sparse matrix of {K} columns, but the attributes are names "
                    f"({len(self.attributes)} of them)"
                )
            self._columns = K
        if self._columns != K:
            raise ValueError(f"sequence {n}: {K} columns, expected {self._columns}")


def walk_of(alphabet: Alphabet) -> _native.ItemWalk:
    """Return a walk over Python features that gives ids of this alphabet."""
    native = alphabet._native
    if isinstance(native, _native.Alphabet):
        return _native.ItemWalk.growing(native)
    return _native.ItemWalk.frozen(native)


def _pairs(X: Iterable[Any], y: Iterable[Any] | None) -> Iterator[tuple[Any, Any]]:
    """Go through sequences and label sequences together."""
    if y is None:
        yield from zip(X, repeat(None), strict=False)
        return
    if isinstance(y, str | bytes | bytearray):
        raise ValueError("y is a plain string, expected a list of label sequences")
    for n, (sequence, tags) in enumerate(zip_longest(X, y, fillvalue=_MISSING)):
        if sequence is _MISSING or tags is _MISSING:
            fewer, more = ("y", "X") if tags is _MISSING else ("X", "y")
            raise ValueError(f"{fewer} has {counted(n, 'sequence')}, {more} has more")
        yield sequence, tags


def _is_sparse(x: object) -> bool:
    scipy_sparse = sys.modules.get("scipy.sparse")  # whoever has a sparse matrix has imported SciPy
    return scipy_sparse is not None and bool(scipy_sparse.issparse(x))


def _is_matrix(x: object) -> bool:
    return isinstance(x, np.ndarray) and x.ndim == 2


def _checked_dense(n: int, rows: NDArray[Any], T: int, before: list[NDArray[Any]]) -> NDArray[Any]:
    if rows.dtype.kind != "f":
        raise TypeError(f"sequence {n}: the dense features are {rows.dtype}, expected floats")
    if len(rows) != T:
        raise ValueError(f"sequence {n}: {T} items and {len(rows)} rows of dense features")
    if before and rows.shape[1] != before[0].shape[1]:
        raise ValueError(f"sequence {n}: {rows.shape[1]} dense features, expected {before[0].shape[1]}")
    if not np.isfinite(rows).all():
        t, k = np.argwhere(~np.isfinite(rows))[0]
        raise ValueError(
            f"sequence {n}, position {t}: dense feature {k} is {rows[t, k]}; values must be finite"
        )
    return rows


def _weights(weight: Iterable[float], N: int) -> NDArray[np.float64]:
    made = np.asarray(weight if isinstance(weight, np.ndarray) else list(weight), dtype=np.float64)
    if made.shape != (N,):
        raise ValueError(
            f"weight has shape {list(made.shape)}, expected one number for each of {N} sequences"
        )
    return made
