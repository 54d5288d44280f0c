"""Dependency trees: every word has a head, and one word, or any number, depends on the root."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from crfkit.torch.inputs import Lengths
from crfkit.torch.trees.structures import Structures, check_count, check_scores, counts

__all__ = ["DependencyTrees", "Heads"]


class Heads(NamedTuple):
    """Heads of words, as CoNLL-U counts them: 0 is the root, 1 the first word."""

    #: [B, T]; k best or draws [B, k, T]. -1 behind the end of a sentence, and where there is no tree
    heads: Tensor
    #: of arcs, shaped as `heads`; None where scores have no labels
    labels: Tensor | None
    #: [B] or [B, k] float64; -inf where there is no tree, None of draws
    score: Tensor | None

    def lists(self) -> list[list[int]]:
        """Return the heads of each sentence; of several trees, one list after the other.

        Examples
        --------
        >>> Heads(torch.tensor([[2, 0, -1]]), None, None).lists()
        [[2, 0]]
        """
        return [[h for h in row if h >= 0] for row in self.heads.flatten(0, -2).tolist()]


class DependencyTrees(Structures):
    """Distributions over the dependency trees of sentences.

    Parameters
    ----------
    scores : tensor [B, T, T] or, with labels, [B, T, T, L]
        ``scores[b, h, d]``: of word h as the head of word d, both counted from 0. The diagonal is the root:
        ``scores[b, d, d]`` is of d as a root. -inf forbids an arc.
    lengths : tensor or list [B], optional
        Words of each sentence; T where omitted.
    projective : bool
        Arcs may not cross: Eisner (1996), O(T^3). Else all trees: the matrix-tree theorem (Koo et al. 2007),
        and Chu-Liu/Edmonds for the best.
    multiroot : bool
        Any number of words may depend on the root; else exactly one.

    Examples
    --------
    >>> trees = DependencyTrees(torch.zeros(1, 3, 3))
    >>> round(float(trees.log_partition().exp()), 4)  # three words have 7 projective trees with one root
    7.0
    >>> round(float(DependencyTrees(torch.zeros(1, 3, 3), projective=False).log_partition().exp()), 4)
    9.0
    >>> scores = torch.zeros(1, 3, 3)
    >>> scores[0, 1, 1] = scores[0, 1, 0] = scores[0, 1, 2] = (
    ...     2.0  # word 1 is the root, and head of the others
    ... )
    >>> DependencyTrees(scores).best().lists()
    [[2, 0, 2]]
    """

    def __init__(
        self,
        scores: Tensor,
        lengths: Lengths | None = None,
        *,
        projective: bool = True,
        multiroot: bool = False,
    ) -> None:
        check_scores(scores, "[B, T, T] or [B, T, T, L]", (3, 4))
        if scores.shape[1] != scores.shape[2] or scores.shape[-1] == 0 < scores.shape[1]:
            raise ValueError(f"scores have shape {tuple(scores.shape)}, expected [B, T, T] or [B, T, T, L]")
        self.shape = ("projective" if projective else "spanning") + ("" if multiroot else "_single_root")
        super().__init__(scores, counts(lengths, scores, 1))

    def log_prob(self, heads: Tensor, labels: Tensor | None = None) -> Tensor:
        """Return the log probability [B] of trees, in float64; -inf of what is not a tree.

        Parameters
        ----------
        heads : tensor of whole numbers [B, T]
            0 is the root, 1 the first word. A negative head is unknown: all are summed over.
        labels : tensor of whole numbers [B, T], optional
            Those of the arcs. Negative or omitted: unknown.

        Examples
        --------
        >>> trees = DependencyTrees(torch.zeros(3, 3, 3))
        >>> trees.log_prob(torch.tensor([[2, 0, 2], [2, -1, -1], [0, 1, 0]])).exp()  # the last has two roots
        tensor([0.1429, 0.2857, 0.0000], dtype=torch.float64)
        """
        T = self.scores.shape[1]
        self._check("heads", heads)
        word = torch.arange(T, device=heads.device)
        head = torch.where(heads == 0, word, heads - 1)  # roots lie on the diagonal
        allowed = (heads < 0)[:, None] | (head[:, None] == word[:, None])  # [B, head, word]
        if labels is None:
            return self._log_prob(allowed.unsqueeze(-1) if self.labeled else allowed)
        if not self.labeled:
            raise ValueError("labels are given, but scores have no labels: they have shape [B, T, T]")
        self._check("labels", labels)
        number = torch.arange(self.scores.shape[3], device=labels.device)
        fits = (labels < 0)[..., None] | (labels[..., None] == number)  # [B, word, L]
        return self._log_prob(allowed.unsqueeze(-1) & fits[:, None])

    def _check(self, name: str, x: Tensor) -> None:
        expected = tuple(self.scores.shape[:2])
        if tuple(x.shape) != expected or x.dtype.is_floating_point:
            found = f"shape {tuple(x.shape)} and type {x.dtype}"
            raise ValueError(f"{name} have {found}, expected {expected} whole numbers")

    def best(self) -> Heads:
        """Return the best tree of each sentence; equals are told apart in the same way every time."""
        return self._heads(*self._chosen("best"), one=True)

    def kbest(self, k: int) -> Heads:
        """Return the k best trees, best first: heads [B, k, T], scores [B, k], -inf where there are fewer.

        Trees that may cross take k * T searches: Lawler (1972).

        Examples
        --------
        >>> scores = torch.tensor([[[2.0, 0.5], [1.5, 1.0]]])
        >>> found = DependencyTrees(scores, multiroot=True).kbest(4)
        >>> found.lists(), found.score.tolist()
        ([[0, 0], [0, 1], [2, 0], []], [[3.0, 2.5, 2.5, -inf]])
        """
        check_count("k", k)
        return self._heads(*self._chosen("kbest", k))

    def sample(self, n: int = 1, generator: torch.Generator | None = None) -> Heads:
        """Return n independent draws, heads [B, n, T]; -1 where no tree is allowed.

        Trees that may cross are drawn by Wilson (1996).
        """
        check_count("n", n)
        return self._heads(self._chosen("sample", n, generator)[0], None)

    def _heads(self, chosen: Tensor, score: Tensor | None, one: bool = False) -> Heads:
        there = chosen >= 0  # [B, k, head, word]
        head = there.to(torch.int8).argmax(2)  # [B, k, word]
        labels = chosen.gather(2, head.unsqueeze(2)).squeeze(2)
        word = torch.arange(head.shape[-1], device=head.device)
        heads = torch.where(labels < 0, -1, torch.where(head == word, 0, head + 1))
        if one:
            heads, labels, score = heads[:, 0], labels[:, 0], None if score is None else score[:, 0]
        return Heads(heads, labels if self.labeled else None, score)
