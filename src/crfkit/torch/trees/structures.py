"""What distributions over trees and alignments have in common.

p(y) is proportional to exp of the sum of the scores of the parts of y; -inf forbids a part. Sums,
probabilities and the best structures are exact.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from crfkit.checks import check_number
from crfkit.torch.inputs import Lengths, visible, widened
from crfkit.torch.trees.operators import SHAPES, LogPartition, Marginals, Parts, find

__all__ = ["Structures"]

_FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


class Structures:
    """Distributions over structures, one for each sentence of a batch.

    Parts may have labels, in a last axis of their scores, of which a structure has one for each of its parts.
    """

    shape: str  # one of `SHAPES`

    def __init__(self, scores: Tensor, rows: Tensor, columns: Tensor | None = None) -> None:
        self.scores, self._rows, self._columns = scores, rows, columns
        self._wide = widened(scores)

    @property
    def labeled(self) -> bool:
        """Whether parts have labels."""
        return self.shape != "alignment" and self.scores.ndim == 4

    def _parts(self, scores: Tensor) -> Any:
        return Parts(scores, self._rows, self._columns, SHAPES.index(self.shape))

    def _log_partition(self, scores: Tensor) -> Tensor:
        value: Tensor = LogPartition.apply(*self._parts(scores))
        return value

    def log_partition(self) -> Tensor:
        """Return log Z [B] in float64: the log of the sum of exp(score) over all structures.

        0 of a sentence without words; -inf, without a gradient, where nothing is allowed.
        """
        return self._log_partition(self._wide)

    def marginals(self) -> Tensor:
        """Return the probability of each part, shaped as the scores; differentiable."""
        ones = torch.ones(len(self._wide), dtype=torch.float64, device=self._wide.device)
        made: Tensor = Marginals.apply(ones, *self._parts(self._wide))
        return made

    def entropy(self) -> Tensor:
        """Return the entropy [B] in nats; differentiable. -inf where nothing is allowed."""
        return self.log_partition() - self._expected(self._wide)

    def cross_entropy(self, other: Structures) -> Tensor:
        """Return minus the expected log probability [B] under another distribution over the same structures.

        +inf where that forbids what is possible here.
        """
        return other.log_partition() - self._expected(other._wide)

    def kl(self, other: Structures) -> Tensor:
        """Return KL(p || q) [B] in nats from this distribution p to another one q."""
        return self.cross_entropy(other) - self.entropy()

    def _expected(self, scores: Tensor) -> Tensor:
        """Return the expected sum of scores [B] in float64, with 0 * -inf = 0."""
        p = self.marginals().double()
        each = torch.where(p == 0, 0.0, p * torch.where(p == 0, 0.0, scores.double()))
        return each.flatten(1).sum(1)

    def _log_prob(self, allowed: Tensor) -> Tensor:
        """Return the log probability [B] of structures whose parts are all allowed."""
        clamped = self._wide.masked_fill(~allowed, -torch.inf)
        return self._log_partition(clamped) - self.log_partition()

    def _chosen(
        self, query: str, count: int = 1, generator: torch.Generator | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the label, kind or 0 of the parts of structures [B, count, N, M], -1 elsewhere; scores."""
        scores = self._wide.detach()
        seed = torch.zeros(1, dtype=torch.int64, device=scores.device)
        if query == "sample":
            seed = torch.randint(2**62, (1,), generator=generator, device=scores.device)
        return find(self._parts(scores), query, count, seed)


def check_scores(scores: Tensor, expected: str, axes: tuple[int, ...]) -> None:
    """Raise unless scores are a floating tensor with one of these numbers of axes."""
    if not isinstance(scores, Tensor) or scores.dtype not in _FLOATS:
        found = scores.dtype if isinstance(scores, Tensor) else type(scores).__name__
        raise ValueError(f"scores are {found}, expected a tensor of floats {expected}")
    if scores.ndim not in axes:
        raise ValueError(f"scores have shape {tuple(scores.shape)}, expected {expected}")


def counts(lengths: Lengths | None, scores: Tensor, axis: int, name: str = "lengths") -> Tensor:
    """Return how many rows or columns each sentence has, [B] int64: all where none are given."""
    B, most = scores.shape[0], scores.shape[axis]
    if lengths is None:
        return torch.full((B,), most, dtype=torch.int64, device=scores.device)
    made = torch.as_tensor(lengths, device=scores.device)
    if made.dtype.is_floating_point or made.shape != (B,):
        raise ValueError(
            f"{name} have shape {tuple(made.shape)}, type {made.dtype}; expected ({B},) whole numbers"
        )
    if visible(made) and B and not bool(((made >= 0) & (made <= most)).all()):
        raise ValueError(f"{name} go from {int(made.min())} to {int(made.max())}, expected 0 to {most}")
    return made.to(torch.int64)


def check_count(name: str, count: int) -> None:
    """Raise unless a number of structures is 1 or more."""
    check_number(name, count, 1, whole=True)
