"""Types and checks of the flat arrays that all of crfkit shares, and pointers to where ranges begin."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crfkit import _native

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
Pointers: TypeAlias = NDArray[np.int64]
Ids: TypeAlias = NDArray[np.int32]
Entry = TypeVar("Entry", bound=np.generic)

#: Scores above this are refused, so that sums over sequences do not overflow; `kLargestScore` of the kernels.
LARGEST_SCORE = 2.0**997
_FEW = 1 << 13  # numbers that BLAS adds up on one thread


class Ragged(NamedTuple):
    """Rows of ids, of any lengths: row r is ``id[ptr[r] : ptr[r + 1]]``.

    Examples
    --------
    >>> rows = Ragged(np.array([0, 2, 2]), np.array([7, 9], dtype=np.int32), None)
    >>> np.split(rows.id, rows.ptr[1:-1])
    [array([7, 9], dtype=int32), array([], dtype=int32)]
    """

    ptr: Pointers  #: [rows + 1]
    id: Ids  #: [nnz]
    value: Floats | None  #: [nnz]; absent when all are 1


def sealed(array: NDArray[Entry]) -> NDArray[Entry]:
    """Return an array that nobody can write to: the given one where that is so, else a copy.

    What says where in memory to look is checked once, and must stay as it was.

    Examples
    --------
    >>> numbers = np.arange(3)
    >>> kept = sealed(numbers)
    >>> numbers[0] = 9
    >>> kept.tolist(), sealed(kept) is kept, kept.flags.writeable
    ([0, 1, 2], True, False)
    """
    return array if _native.settled(array) else handed_over(array.copy())


def handed_over(array: NDArray[Entry]) -> NDArray[Entry]:
    """Return an array that was made just now, and that nobody else holds, as one that nobody can write to.

    Examples
    --------
    >>> handed_over(np.zeros(2)).flags.writeable
    False
    """
    array.setflags(write=False)
    return array


def as_scores(scores: ArrayLike, argument: str) -> Floats:
    """Return a contiguous array of doubles; refuse complex numbers, text and objects."""
    try:
        array = np.asarray(scores)
    except ValueError as error:
        raise ValueError(f"{argument} is ragged: {error}") from None
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{argument} has dtype {array.dtype}, expected real numbers")
    return np.asarray(array, dtype=np.float64, order="C")


def as_finite_scores(scores: ArrayLike, argument: str) -> Floats:
    """Return scores, or refuse nan and too large ones; for arrays that the kernels do not check."""
    array = as_scores(scores, argument)
    if not np.all(array <= LARGEST_SCORE):
        at = np.argwhere(~(array <= LARGEST_SCORE))[0]
        place, found = ", ".join(map(str, at.tolist())), array[tuple(at)]
        if np.isfinite(found):
            why = ", too large to be added up: scale scores to 1e300 or less"
        else:
            why = "; scores must be finite, or -inf for what is forbidden"
        raise ValueError(f"{argument}[{place}] is {found:g}{why}")
    return array


def dot(x: Floats, y: Floats) -> float:
    """Return the sum of x * y.

    BLAS gets 8192 numbers at a time. For more it may use threads of its own, whose number would change the
    last bits, and for which it waits for ever where there is no memory for them.

    Examples
    --------
    >>> dot(np.arange(3.0), np.ones(3))
    3.0
    """
    return sum((float(x[at : at + _FEW] @ y[at : at + _FEW]) for at in range(0, len(x), _FEW)), 0.0)


def norm(x: Floats) -> float:
    """Return the length of a vector.

    Examples
    --------
    >>> norm(np.array([3.0, 4.0]))
    5.0
    """
    return sqrt(dot(x, x))


def solved(matrix: Floats, right: Floats) -> Floats:
    """Return x of matrix x = right, for some ten unknowns; pivots are chosen by rows.

    LAPACK wakes the threads of BLAS for ever so small a system, and they spin for a while: called in every
    iteration of a training on one thread they took a second core.

    Examples
    --------
    >>> solved(np.array([[0.0, 2.0], [1.0, 1.0]]), np.array([4.0, 3.0])).tolist()
    [1.0, 2.0]
    """
    k = len(right)
    rows = np.column_stack([matrix, right]).astype(np.float64)
    for i in range(k - 1):
        best = i + int(np.argmax(np.abs(rows[i:, i])))
        if best != i:
            rows[[i, best]] = rows[[best, i]]
        rows[i + 1 :, i + 1 :] -= (rows[i + 1 :, i] / rows[i, i])[:, None] * rows[i, i + 1 :]
    return solved_upper(rows[:, :k], rows[:, k])


def solved_upper(matrix: Floats, right: Floats, *, transposed: bool = False) -> Floats:
    """Return x of R x = right, or of R' x = right, where R is the upper triangle of a matrix.

    Examples
    --------
    >>> matrix = np.array([[2.0, 1.0], [9.0, 4.0]])
    >>> solved_upper(matrix, np.array([4.0, 8.0])).tolist()
    [1.0, 2.0]
    >>> solved_upper(matrix, np.array([2.0, 9.0]), transposed=True).tolist()
    [1.0, 2.0]
    """
    return _native.solve_upper(np.ravel(matrix), right, transposed)


def pointers(counts: Sequence[int] | NDArray[np.integer[Any] | np.bool_]) -> Pointers:
    """Return where each range begins, and where the last one ends."""
    made: Pointers = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=made[1:])
    return made


def union(*rows: Ragged) -> Ragged:
    """Return the entries of all, row by row; they have the same number of rows.

    Examples
    --------
    >>> one = Ragged(np.array([0, 2, 2]), np.array([7, 9], dtype=np.int32), None)
    >>> two = Ragged(np.array([0, 1, 2]), np.array([5, 6], dtype=np.int32), np.array([0.5, 2.0]))
    >>> both = union(one, two)
    >>> both.ptr.tolist(), both.id.tolist(), both.value.tolist()
    ([0, 3, 4], [7, 9, 5, 6], [1.0, 1.0, 0.5, 2.0])
    """
    if len(rows) == 1:
        return rows[0]
    count = [np.diff(one.ptr) for one in rows]
    order = np.argsort(
        np.concatenate([np.repeat(np.arange(len(times)), times) for times in count]), kind="stable"
    )
    value = None
    if any(one.value is not None for one in rows):
        given = [np.ones(len(one.id)) if one.value is None else one.value for one in rows]
        value = np.concatenate(given)[order]
    return Ragged(pointers(np.sum(count, axis=0)), np.concatenate([one.id for one in rows])[order], value)


def ranges(begins: Pointers, lengths: Pointers) -> Pointers:
    """Return the ranges ``begin .. begin + length - 1``, one after the other."""
    total = int(lengths.sum())
    shift = np.repeat(begins - pointers(lengths)[:-1], lengths)
    laid: Pointers = np.arange(total, dtype=np.int64) + shift
    return laid


def as_seq_ptr(seq_ptr: ArrayLike | None, positions: int, name: str = "seq_ptr") -> Pointers:
    """Return sequence pointers [N + 1]; None makes one sequence of everything. Errors call them `name`."""
    if seq_ptr is None:
        return np.array([0, positions], dtype=np.int64)
    array = np.asarray(seq_ptr)
    if not array.size:
        raise ValueError(f"{name} is empty, expected N + 1 integers that begin with 0")
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(f"{name} has dtype {array.dtype} and {array.ndim} axes, expected N + 1 integers")
    if array[0] != 0:
        raise ValueError(f"{name}[0] is {array[0]}, expected 0")
    if array[-1] != positions:
        raise ValueError(f"{name} ends at {array[-1]}, expected {positions}")
    falls = np.flatnonzero(array[1:] < array[:-1])
    if falls.size:
        n = int(falls[0]) + 1
        raise ValueError(f"{name}[{n}] is {array[n]}, below {name}[{n - 1}] = {array[n - 1]}")
    return sealed(np.ascontiguousarray(array, dtype=np.int64))


def sum_by_sequence(terms: Floats, seq_ptr: Pointers) -> Floats:
    """Add up one number per position over each sequence."""
    total = np.zeros(len(seq_ptr) - 1)  # [N]
    filled = seq_ptr[1:] > seq_ptr[:-1]
    if filled.any():
        total[filled] = np.add.reduceat(terms, seq_ptr[:-1][filled])
    return total


def weights_of(sample_weight: ArrayLike | None, N: int, what: str = "sequences") -> Floats | None:
    """Return weights of sequences or other samples, checked: [N]."""
    if sample_weight is None:
        return None
    expected = f"expected one number for each of {N} {what}"
    try:
        weight = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"sample_weight is {sample_weight!r:.60}, {expected}") from None
    if weight.shape != (N,):
        raise ValueError(f"sample_weight has shape {weight.shape}, {expected}")
    wrong = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0.0)))
    if wrong.size:
        raise ValueError(f"sample_weight[{wrong[0]}] is {weight[wrong[0]]}, expected 0 or more, and finite")
    if N and not weight.any():
        raise ValueError(
            f"sample_weight is zero for all {N} {what}, so that none counts; give one of them more"
        )
    return weight


def checked_later() -> np.errstate:
    """Return a context without NumPy's warnings of numbers too large: who opens it looks at the results.

    Examples
    --------
    >>> with checked_later():
    ...     print(np.float64(1e300) ** 2)
    inf
    """
    return np.errstate(over="ignore", invalid="ignore", divide="ignore")
