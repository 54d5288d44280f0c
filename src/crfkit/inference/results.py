"""Turning the kernels' flat answers into what queries return, and the error where no labeling exists."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crfkit.arrays import Floats, Ids
from crfkit.checks import NotFiniteError
from crfkit.errors import InfeasibleError
from crfkit.structures.potentials import Potentials
from crfkit.structures.results import Labeling

Space: TypeAlias = Literal["auto", "log"]


def in_logs(space: Space) -> bool:
    """Return whether sums are forced into logarithms; refuse anything but the two spaces."""
    if space not in ("auto", "log"):
        raise ValueError(f"space is {space!r}, expected 'auto' or 'log'")
    return space == "log"


@contextmanager
def counted_from(before: int) -> Iterator[None]:
    """Make errors count sequences from the beginning of the data; `before` come before this part."""
    try:
        yield
    except (InfeasibleError, NotFiniteError) as error:
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
    """Raise a `InfeasibleError` where the value of a sequence [N] is that of no labeling."""
    if np.isfinite(values).all():
        return
    demand_finite(values)
    impossible = np.flatnonzero(values == -np.inf)
    if impossible.size:
        raise InfeasibleError(int(impossible[0]), impossible.size - 1)


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
