"""Alignments of two sequences, in order and with gaps: Needleman & Wunsch (1970), dynamic time warping."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from crfkit.torch.inputs import Lengths
from crfkit.torch.trees.structures import Structures, check_count, check_scores, counts

__all__ = ["Alignments", "Steps"]


class Steps(NamedTuple):
    """Alignments as the steps into the cells of their paths."""

    #: [B, N, M] int64, k best or draws [B, k, N, M]: the kind of the step into a cell, -1 off the path
    steps: Tensor
    #: [B] or [B, k] float64; -inf where there is no path, None of draws
    score: Tensor | None

    def pairs(self) -> list[list[tuple[int, int, int]]]:
        """Return (row, column, kind) of each path, from its first cell to its last.

        Examples
        --------
        >>> Steps(torch.tensor([[[1, 0], [-1, 2]]]), None).pairs()
        [[(0, 0, 1), (0, 1, 0), (1, 1, 2)]]
        """
        made = []
        for path in self.steps.flatten(0, -3).cpu():
            i, j = (path >= 0).nonzero(as_tuple=True)
            made.append(list(zip(i.tolist(), j.tolist(), path[i, j].tolist(), strict=True)))
        return made


class Alignments(Structures):
    """Distributions over the paths through a table of two sequences, from its first cell to its last.

    Parameters
    ----------
    scores : tensor [B, N, M, 3]
        ``scores[b, i, j, kind]``: of the step into cell (i, j), from (i, j - 1) by kind 0 (the column is a
        gap), from (i - 1, j - 1) by kind 1 (a match), from (i - 1, j) by kind 2 (the row is a gap). Paths
        begin with a match in cell (0, 0). -inf forbids a step.
    lengths : tensor or list [B], optional
        Rows of each pair; N where omitted.
    columns : tensor or list [B], optional
        Columns of each pair; M where omitted.

    Examples
    --------
    >>> paths = Alignments(torch.zeros(1, 3, 3, 3))
    >>> round(float(paths.log_partition().exp()), 4)
    13.0
    >>> scores = torch.zeros(1, 2, 3, 3)
    >>> scores[..., 1] = 1.0  # matches
    >>> Alignments(scores).best().pairs()
    [[(0, 0, 1), (1, 1, 1), (1, 2, 0)]]
    """

    shape = "alignment"

    def __init__(
        self, scores: Tensor, lengths: Lengths | None = None, columns: Lengths | None = None
    ) -> None:
        check_scores(scores, "[B, N, M, 3]", (4,))
        if scores.shape[3] != 3:
            raise ValueError(f"scores have shape {tuple(scores.shape)}, expected [B, N, M, 3]")
        super().__init__(scores, counts(lengths, scores, 1), counts(columns, scores, 2, "columns"))

    def log_prob(self, steps: Tensor) -> Tensor:
        """Return the log probability [B] of paths, in float64; -inf of what is not a path.

        Parameters
        ----------
        steps : tensor of whole numbers [B, N, M]
            As those of `Steps`: -1 where there is none. Steps that are too many for one path are all that
            paths may have: these are summed over.

        Examples
        --------
        >>> paths = Alignments(torch.zeros(1, 2, 2, 3))
        >>> paths.log_prob(torch.tensor([[[1, 0], [-1, 2]]])).exp()  # one of three
        tensor([0.3333], dtype=torch.float64)
        """
        if steps.shape != self.scores.shape[:3] or steps.dtype.is_floating_point:
            found = f"shape {tuple(steps.shape)} and type {steps.dtype}"
            raise ValueError(f"steps have {found}, expected {tuple(self.scores.shape[:3])} whole numbers")
        return self._log_prob(steps.unsqueeze(-1) == torch.arange(3, device=steps.device))

    def best(self) -> Steps:
        """Return the best path of each pair; of equals that whose last steps have the lowest kinds."""
        chosen, score = self._chosen("best")
        return Steps(chosen[:, 0], score[:, 0])

    def kbest(self, k: int) -> Steps:
        """Return the k best paths, best first: [B, k, N, M], scores [B, k], -inf where there are fewer."""
        check_count("k", k)
        return Steps(*self._chosen("kbest", k))

    def sample(self, n: int = 1, generator: torch.Generator | None = None) -> Steps:
        """Return n independent draws, [B, n, N, M]; -1 where no path is allowed."""
        check_count("n", n)
        return Steps(self._chosen("sample", n, generator)[0], None)
