"""Features of factors: what a clique knows about each of its factors, dense or as rows of attribute ids."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crfkit._safe.pickling import Restored
from crfkit.arrays import Floats, Pointers, Ragged, as_scores, pointers, ranges
from crfkit.data.alphabet import Alphabet
from crfkit.data.dataset import Dataset


@dataclass(frozen=True, eq=False)
class CliqueFeatures(Restored):
    """Features of the factors of a clique: dense columns, or attribute ids with values."""

    columns: int  #: K, features or attributes
    dense: Floats | None = None  #: [M, K]
    rows: Ragged | None = None  #: M rows of ids
    names: Alphabet | None = None  #: of attributes, where they have names

    def __len__(self) -> int:
        """Return the number of factors, M."""
        if self.dense is not None:
            return len(self.dense)
        assert self.rows is not None
        return len(self.rows.ptr) - 1

    def take(self, factors: Pointers) -> CliqueFeatures:
        """Return the features of some factors."""
        if self.dense is not None:
            return CliqueFeatures(self.columns, dense=self.dense[factors])
        assert self.rows is not None
        count = np.diff(self.rows.ptr)[factors]
        at = ranges(self.rows.ptr[factors], count)
        value = None if self.rows.value is None else self.rows.value[at]
        return CliqueFeatures(
            self.columns, rows=Ragged(pointers(count), self.rows.id[at], value), names=self.names
        )


def as_features(name: str, given: Any, factors: int, *, positive: bool = False) -> CliqueFeatures:
    """Return the features of a clique, checked: see `Graph.batch`; none is negative where `positive`."""
    made = _read(f"features of clique {name!r}", given)
    if len(made) != factors:
        raise ValueError(
            f"features of clique {name!r} has {len(made)} rows for {factors} factors; give one row a factor"
        )
    if positive:
        _check_positive(name, made)
    return made


def _check_positive(name: str, made: CliqueFeatures) -> None:
    rows = made.rows
    if rows is not None:
        wrong = np.zeros(0, np.int64) if rows.value is None else np.flatnonzero(rows.value < 0.0)
        at = [int(np.searchsorted(rows.ptr, i, side="right")) - 1 for i in wrong[:1].tolist()]
    else:
        assert made.dense is not None
        at = np.flatnonzero((made.dense < 0.0).any(axis=1))[:1].tolist()
    if at:
        raise ValueError(
            f"features of clique {name!r}: factor {at[0]} has a negative one, and an attractive clique needs "
            "numbers of 0 or more: weights of 0 or more would repel"
        )


def _read(what: str, given: Any) -> CliqueFeatures:
    if isinstance(given, CliqueFeatures):
        return given
    if isinstance(given, Dataset):
        batch = given.batch
        return CliqueFeatures(
            len(given.attributes),
            rows=Ragged(batch.attr_ptr, batch.attr, batch.value),
            names=given.attributes,
        )
    scipy_sparse = sys.modules.get("scipy.sparse")  # whoever has a sparse matrix has imported SciPy
    if scipy_sparse is not None and scipy_sparse.issparse(given):
        if given.ndim != 2:
            raise ValueError(f"{what}: the sparse array has {given.ndim} axes, expected [factors, columns]")
        matrix = given.tocsr()
        return _rows(what, (matrix.indptr, matrix.indices, matrix.data), matrix.shape[1])
    if isinstance(given, tuple) and len(given) == 3:
        return _rows(what, given, None)
    if isinstance(given, list) and given and isinstance(given[0], dict | str | list) and _texts(given[0]):
        raise ValueError(f"{what} are texts; give numbers [factors, columns], a sparse matrix, or a Dataset")
    dense = as_scores(given, what)
    if dense.ndim != 2:
        raise ValueError(f"{what} has shape {dense.shape}, expected [factors, columns]")
    if not np.isfinite(dense).all():
        m, k = np.argwhere(~np.isfinite(dense))[0].tolist()
        raise ValueError(f"{what}: row {m}, column {k} is {dense[m, k]}; features must be finite")
    return CliqueFeatures(dense.shape[1], dense=dense)


def _texts(row: Any) -> bool:
    """Return whether the features of a factor are names."""
    return isinstance(row, dict | str) or any(isinstance(each, str) for each in row)


def _rows(what: str, given: tuple[Any, Any, Any], columns: int | None) -> CliqueFeatures:
    ptr, ids = _integers(f"{what}: indptr", given[0]), _integers(f"{what}: indices", given[1])
    if not len(ptr) or ptr[0] != 0 or ptr[-1] != len(ids) or (np.diff(ptr) < 0).any():
        raise ValueError(f"{what}: indptr must rise from 0 to {len(ids)}, the number of indices")
    top = int(ids.max(initial=-1)) + 1
    if len(ids) and (int(ids.min()) < 0 or (columns is not None and top > columns)):
        raise ValueError(f"{what}: indices must be 0 to {'K' if columns is None else columns} - 1")
    value = None
    if given[2] is not None:
        value = as_scores(given[2], f"{what}: data")
        if value.shape != ids.shape or not np.isfinite(value).all():
            raise ValueError(f"{what}: data must be {len(ids)} finite numbers, one for each index")
        value = None if (value == 1.0).all() else value
    rows = Ragged(ptr.astype(np.int64), ids.astype(np.int32), value)
    return CliqueFeatures(top if columns is None else columns, rows=rows)


def _integers(what: str, given: Any) -> NDArray[np.integer[Any]]:
    array = np.asarray(given)
    array = array.astype(np.int64) if array.size == 0 else array
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(
            f"{what} has type {array.dtype} and {array.ndim} axes, expected integers in one axis"
        )
    return array
