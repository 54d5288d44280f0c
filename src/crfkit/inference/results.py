"""Turning the kernels' flat answers into what queries return, and the error where no labeling exists."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crfkit.arrays import Floats, Ids
from crfkit.checks import NotFiniteError
from crfkit.structures.potentials import Potentials
from crfkit.structures.results import Labeling

__all__ = [
    "NoLabelingError",
    "Space",
    "counted_from",
    "cut_labelings",
    "demand_finite",
    "demand_labeling",
    "in_logs",
]

Space: TypeAlias = Literal["auto", "log"]


def in_logs(space: Space) -> bool:
    """Return whether sums are forced into logarithms; refuse anything but the two spaces."""
    if space not in ("auto", "log"):
        raise ValueError(f"space is {space!r}, expected 'auto' or 'log'")
    return space == "log"


class NoLabelingError(ValueError):
    """A sequence, or a graph, has no allowed labeling; `sequence` says which one.

    Examples
    --------
    >>> NoLabelingError(3).after(10).sequence
    13
    """

    def __init__(self, sequence: int, more: int = 0, what: str = "sequence") -> None:
        others = f" (and {more} more)" if more else ""
        super().__init__(
            f"{what} {sequence} has no labeling above -inf{others}: "
            "relax the constraints, the allowed labels or the -inf scores"
        )
        self.sequence = sequence
        self.more = more
        self.what = what

    def __reduce__(self) -> tuple[type[NoLabelingError], tuple[int, int, str]]:
        return type(self), (
            self.sequence,
            self.more,
            self.what,
        )  # as it is pickled, by processes of a grid search

    def after(self, sequences: int) -> NoLabelingError:
        """Return the same error, counted from the beginning of data with that many sequences before."""
        return NoLabelingError(self.sequence + sequences, self.more, self.what)


@contextmanager
def counted_from(before: int) -> Iterator[None]:
    """Make errors count sequences from the beginning of the data; `before` come before this part."""
    try:
        yield
    except (NoLabelingError, NotFiniteError) as error:
        raise error.after(before) from None


def demand_finite(values: Floats) -> None:
    """Raise an error where the scores of a sequence added up to nan or infinity [N]; -inf: no labeling.

    Examples
    --------
    >>> demand_finite(np.array([1.0, np.inf]))
    Traceback (most recent call last):
    crfkit.checks.NotFiniteError: sequence 1: its scores overflow when they are added up; scale them
    """
    if np.isfinite(values).all():
        return
    wrong = np.flatnonzero(~(values < np.inf))
    if wrong.size:
        raise NotFiniteError("its scores overflow when they are added up; scale them", sequence=int(wrong[0]))


def demand_labeling(values: Floats) -> None:
    """Raise a `NoLabelingError` where the value of a sequence [N] is that of no labeling."""
    if np.isfinite(values).all():
        return
    demand_finite(values)
    impossible = np.flatnonzero(values == -np.inf)
    if impossible.size:
        raise NoLabelingError(int(impossible[0]), impossible.size - 1)


def cut_labelings(
    potentials: Potentials, paths: Ids, begins: NDArray[np.uint8] | None, scores: Floats
) -> list[list[Labeling]]:
    """Cut k paths of the kernels [k, P] with scores [N, k] into labelings of each sequence."""
    labels = potentials.as_labels(paths)
    ptr = potentials.seq_ptr.tolist()
    cut = []
    for n in range(len(ptr) - 1):
        here = slice(ptr[n], ptr[n + 1])
        cut.append(
            [
                Labeling(
                    labels[i, here],
                    float(scores[n, i]),
                    None if begins is None else begins[i, here].astype(np.bool_),
                )
                for i in range(len(labels))
                if scores[n, i] > -np.inf
            ]
        )
    return cut
