"""Labels that a query found."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

from torch import Tensor

__all__ = ["Paths"]


class Paths(NamedTuple):
    """Labels by position and scores of whole labellings, on the device where they were found.

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
    #: and where no labelling is allowed.
    labels: Tensor
    #: [B] or [B, k] float64; -inf where no labelling is allowed.
    score: Tensor
    offsets: Tensor | None = None  # [B + 1] of packed sequences
    alphabet: tuple[str, ...] = ()  # label names

    def lists(self) -> Any:
        """Return the labels of each sequence as a list of ints, without masked positions; k best: k lists."""
        labels = self.labels
        several = self.score.ndim == 2
        if labels.is_nested:  # [B, *] or [B, *, k]
            rows = [x.T if several else x for x in labels.unbind()]
        elif self.offsets is not None:  # [P] or [k, P]
            ends = self.offsets.tolist()
            rows = [labels[..., a:b] for a, b in pairwise(ends)]
        else:
            rows = list(labels.unbind(0))
        return [_known(x.tolist()) for x in rows]

    def names(self) -> Any:
        """Return what `lists` does, with names in place of numbers."""
        if not self.alphabet:
            raise ValueError("these labels have no names: ask a ChainCRF, or give alphabet=")
        return _named(self.lists(), self.alphabet)


def _known(labels: list[Any]) -> list[Any]:
    if labels and isinstance(labels[0], list):
        return [_known(row) for row in labels]
    return [y for y in labels if y >= 0]


def _named(labels: list[Any], names: tuple[str, ...]) -> list[Any]:
    return [_named(y, names) if isinstance(y, list) else names[y] for y in labels]
