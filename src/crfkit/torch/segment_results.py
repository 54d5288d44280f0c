"""Segmentations that a query found."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from crfkit.arrays import pointers
from crfkit.models.tags import Spelling
from crfkit.structures.gold import Path
from crfkit.tags.schemes import canonical
from crfkit.torch.results import Paths

__all__ = ["Segmentations"]


class Segmentations(NamedTuple):
    """Labels by position, where segments begin, and scores, on the device where they were found.

    Examples
    --------
    >>> import torch
    >>> labels, begins = torch.tensor([[1, 1, 0], [1, -1, -1]]), torch.tensor([[1, 0, 1], [1, 0, 0]]).bool()
    >>> found = Segmentations(labels, begins, torch.tensor([2.0, 1.5]), alphabet=("O", "NAME"))
    >>> found.segments()
    [[(0, 2, 1), (2, 3, 0)], [(0, 1, 1)]]
    >>> found.names()
    [[(0, 2, 'NAME'), (2, 3, 'O')], [(0, 1, 'NAME')]]
    >>> found.tags("BIOES")
    [['B-NAME', 'E-NAME', 'O'], ['S-NAME']]
    """

    #: [B, T], k best [B, k, T]; packed [P], [k, P]; nested where node was. -1 where a row is not in a chain,
    #: and where no segmentation is allowed.
    labels: Tensor
    #: bool, shaped as `labels`: where segments begin
    begins: Tensor
    #: [B] or [B, k] float64; -inf where no segmentation is allowed. None of draws.
    score: Tensor | None
    offsets: Tensor | None = None  # [B + 1] of packed sequences
    alphabet: tuple[str, ...] = ()  # label names

    def _lists(self) -> list[Any]:
        """Return numbers 2 * label + begin by place, of each sequence, or of each of its segmentations."""
        both = self.labels * 2 + self.begins.to(self.labels.dtype)  # below 0 where there is none
        if self.score is None:  # of draws: a list for each
            shaped = Paths(both, both.new_zeros(1, 1), self.offsets)
        else:
            shaped = Paths(both, self.score, self.offsets)
        lists: list[Any] = shaped.lists()
        return lists

    def segments(self) -> Any:
        """Return (start, end, label) of each sequence; of several segmentations, a list for each.

        Places are counted within the chain: positions that a mask leaves out do not count.
        """
        return [_several(x, _triples) for x in self._lists()]

    def names(self) -> Any:
        """Return what `segments` does, with names of labels."""
        names = self._names()

        def named(coded: list[int]) -> list[tuple[int, int, str]]:
            return [(a, b, names[y]) for a, b, y in _triples(coded)]

        return [_several(x, named) for x in self._lists()]

    def tags(self, scheme: str = "BIO") -> Any:
        """Return a tag for each place, by a scheme of `crfkit.tags.SCHEMES`."""
        spelling = Spelling(self._names(), canonical(scheme))

        def spelled(coded: list[int]) -> list[str]:
            both = np.array(coded, dtype=np.int64)
            path = Path(pointers(np.array([len(both)])), (both // 2).astype(np.int32), both % 2 == 1)
            return spelling.tags(path)[0]

        return [_several(x, spelled) for x in self._lists()]

    def _names(self) -> tuple[str, ...]:
        if not self.alphabet:
            raise ValueError("these labels have no names: ask a SegmentCRF, or give alphabet=")
        return self.alphabet


def _several(x: list[Any], make: Any) -> list[Any]:
    return [make(row) for row in x] if x and isinstance(x[0], list) else make(x)


def _triples(coded: list[int]) -> list[tuple[int, int, int]]:
    first = [t for t, x in enumerate(coded) if x % 2]
    return [(a, b, coded[a] // 2) for a, b in pairwise([*first, len(coded)])]
