"""Constituency trees: binary trees of the words, every span with a label."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from crfkit.torch.inputs import Lengths
from crfkit.torch.trees.structures import Structures, check_count, check_scores, counts

__all__ = ["ConstituencyTrees", "Spans"]


class Spans(NamedTuple):
    """Trees as the labels of their spans."""

    #: [B, T, T] int64, k best or draws [B, k, T, T]: ``labels[b, i, j]`` is of the words i to j, -1 of what
    #: is no span of the tree; 0 where scores have no labels
    labels: Tensor
    #: [B] or [B, k] float64; -inf where there is no tree, None of draws
    score: Tensor | None

    def spans(self) -> list[list[tuple[int, int, int]]]:
        """Return (start, end, label) of each tree, end excluded, wider spans first.

        Examples
        --------
        >>> Spans(torch.tensor([[[0, 1], [-1, 0]]]), None).spans()
        [[(0, 2, 1), (0, 1, 0), (1, 2, 0)]]
        """
        made = []
        for tree in self.labels.flatten(0, -3).cpu():
            i, j = (tree >= 0).nonzero(as_tuple=True)
            each = zip(i.tolist(), (j + 1).tolist(), tree[i, j].tolist(), strict=True)
            made.append(sorted(each, key=lambda s: (s[0], -s[1])))
        return made


class ConstituencyTrees(Structures):
    """Distributions over the binary trees of sentences, by scores of spans: CKY, O(T^3).

    Parameters
    ----------
    scores : tensor [B, T, T] or, with labels, [B, T, T, L]
        ``scores[b, i, j]``: of a span from word i to word j, both included; those with i > j are not read.
        All spans count, those of one word and of all words too. -inf forbids one.
    lengths : tensor or list [B], optional
        Words of each sentence; T where omitted.

    Examples
    --------
    >>> trees = ConstituencyTrees(torch.zeros(1, 4, 4))
    >>> round(float(trees.log_partition().exp()), 4)  # four words have 5 binary trees
    5.0
    >>> scores = torch.zeros(1, 3, 3, 2)
    >>> scores[0, 1, 2, 1] = 1.0
    >>> ConstituencyTrees(scores).best().spans()
    [[(0, 3, 0), (0, 1, 0), (1, 3, 1), (1, 2, 0), (2, 3, 0)]]
    """

    shape = "binary"

    def __init__(self, scores: Tensor, lengths: Lengths | None = None) -> None:
        check_scores(scores, "[B, T, T] or [B, T, T, L]", (3, 4))
        if scores.shape[1] != scores.shape[2] or scores.shape[-1] == 0 < scores.shape[1]:
            raise ValueError(f"scores have shape {tuple(scores.shape)}, expected [B, T, T] or [B, T, T, L]")
        super().__init__(scores, counts(lengths, scores, 1))

    def log_prob(self, labels: Tensor) -> Tensor:
        """Return the log probability [B] of trees, in float64; -inf of what is not a binary tree.

        Parameters
        ----------
        labels : tensor of whole numbers [B, T, T]
            As those of `Spans`: -1 where there is no span. Spans that are too many for one tree are all that
            trees may have: these are summed over.

        Examples
        --------
        >>> trees = ConstituencyTrees(torch.zeros(1, 4, 4))
        >>> trees.log_prob(trees.best().labels).exp()
        tensor([0.2000], dtype=torch.float64)
        """
        if labels.shape != self.scores.shape[:3] or labels.dtype.is_floating_point:
            found = f"shape {tuple(labels.shape)} and type {labels.dtype}"
            raise ValueError(f"labels have {found}, expected {tuple(self.scores.shape[:3])} whole numbers")
        if not self.labeled:
            return self._log_prob(labels >= 0)
        number = torch.arange(self.scores.shape[3], device=labels.device)
        return self._log_prob(labels.unsqueeze(-1) == number)

    def best(self) -> Spans:
        """Return the best tree of each sentence; of equals, that whose spans split first."""
        chosen, score = self._chosen("best")
        return Spans(chosen[:, 0], score[:, 0])

    def kbest(self, k: int) -> Spans:
        """Return the k best trees, best first: [B, k, T, T], scores [B, k], -inf where there are fewer."""
        check_count("k", k)
        return Spans(*self._chosen("kbest", k))

    def sample(self, n: int = 1, generator: torch.Generator | None = None) -> Spans:
        """Return n independent draws, [B, n, T, T]; -1 where no tree is allowed."""
        check_count("n", n)
        return Spans(self._chosen("sample", n, generator)[0], None)
