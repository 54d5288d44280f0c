"""Labels that a query found."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

from torch import Tensor

__all__ = ["Paths"]


class Paths(NamedTuple):
    """Labels by position and scores of whole labelings, on the device where they were found.

    Examples
    --------
    >>> import torch
    >>> found = Paths(torch.tensor([[0, 1], [1, -1]]), torch.tensor([2.0, 1.5]), alphabet=("A", "B"))
    >>> found.lists()
    [[0, 1], [1]]
    >>> found.names()
    [['A', 'B'], ['B']]
    """

    #: [B, T], k best [B, k, T]; packed [P], [k, P]; nested where node was. -1 where a row is not in a chain,
    #: and where no labeling is allowed.
    labels: Tensor
    #: [B] or [B, k] float64; -inf where no labeling is allowed.
    score: Tensor
    offsets: Tensor | None = None  # [B + 1] of packed sequences
    alphabet: tuple[str, ...] = ()  # label names

    def lists(self) -> Any:
        """Return the labels of each sequence as a list of ints, without masked positions; k best: k lists."""
        labels, several = self.labels, self.score.ndim == 2
        if not labels.is_nested and self.offsets is None:  # [B, T] or [B, k, T]
            return _known(labels.cpu())
        if labels.is_nested:  # values [P] or [P, k]
            ends, rows = labels.offsets().tolist(), labels.values().cpu()
            rows = rows.T if several else rows
        else:
            assert self.offsets is not None
            ends, rows = self.offsets.tolist(), labels.cpu()
        return [_known(rows[..., a:b]) for a, b in pairwise(ends)]  # rows [P] or [k, P]

    def names(self) -> Any:
        """Return what `lists` does, with names in place of numbers."""
        if not self.alphabet:
            raise ValueError("these labels have no names: ask a CRF, or give alphabet=")
        return _named(self.lists(), self.alphabet)


def _known(labels: Tensor) -> Any:
    """Return the labels of the last axis as lists without what is negative."""
    if labels.ndim == 3:
        return [_known(row) for row in labels]
    known = labels >= 0
    flat = labels[known].tolist()
    if labels.ndim == 1:
        return flat
    ends = known.sum(1).cumsum(0).tolist()
    return [flat[a:b] for a, b in pairwise([0, *ends])]


def _named(labels: list[Any], names: tuple[str, ...]) -> list[Any]:
    return [_named(y, names) if isinstance(y, list) else names[y] for y in labels]
