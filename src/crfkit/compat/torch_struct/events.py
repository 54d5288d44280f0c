"""Events of torch-struct, arrays of 0 and 1 over all parts, and the sequences that they stand for."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor

__all__ = ["LinearChain", "SemiMarkov"]


class _Struct:
    def score(self, potentials: Tensor, parts: Tensor, batch_dims: range | list[int] | None = None) -> Tensor:
        """Return the sum of the scores of the parts that are there; a forbidden part counts only if it is."""
        picked = torch.where(parts != 0, potentials * parts, torch.zeros((), dtype=potentials.dtype))
        return picked.flatten(1 if batch_dims is None else len(batch_dims)).sum(-1)


class LinearChain(_Struct):
    """Sequences of N labels as events [batch, N - 1, C, C]: [to, from]."""

    @staticmethod
    def to_parts(sequence: Tensor, extra: int, lengths: Tensor | None = None) -> Tensor:
        """Return the event of labels [batch, N].

        Examples
        --------
        >>> LinearChain.to_parts(torch.tensor([[0, 1]]), 2).tolist()
        [[[[0, 0], [1, 0]]]]
        """
        batch, N = sequence.shape
        parts = torch.zeros(batch, max(N - 1, 0), extra, extra, dtype=torch.long, device=sequence.device)
        length = sequence.new_full((batch,), N) if lengths is None else lengths.to(sequence.device)
        b, n = (torch.arange(1, N, device=sequence.device) < length[:, None]).nonzero(as_tuple=True)
        parts[b, n, sequence[b, n + 1], sequence[b, n]] = 1
        return parts

    @staticmethod
    def from_parts(edge: Tensor) -> tuple[Tensor, int]:
        """Return labels [batch, N], 0 behind the end of a sequence, and C."""
        batch, steps, C, _ = edge.shape
        labels = torch.zeros(batch, steps + 1, dtype=torch.long, device=edge.device)
        b, n, to, begin = edge.nonzero(as_tuple=True)
        labels[b, n + 1] = to
        first = n == 0
        labels[b[first], 0] = begin[first]
        return labels, C

    @staticmethod
    def hmm(transition: Tensor, emission: Tensor, init: Tensor, observations: Tensor) -> Tensor:
        """Return the scores [batch, N - 1, C, C] of a hidden Markov model's log probabilities.

        transition [C, C] is [to, from], emission [V, C], init [C], observations [batch, N].
        """
        seen = emission[observations]  # [batch, N, C]
        scores = transition + seen[:, 1:, :, None]
        first = scores[:, :1] + (init + seen[:, 0])[:, None, None, :]
        return torch.cat([first, scores[:, 1:]], 1)

    @staticmethod
    def _rand(min_n: int = 2) -> tuple[Tensor, tuple[int, int]]:
        b, n, c = (int(torch.randint(low, 4, (1,))) for low in (2, min_n, 2))
        return torch.rand(b, n, c, c), (b, n + 1)


class SemiMarkov(_Struct):
    """Segments as events [batch, N - 1, K, C, C]: (begin, length, to, from).

    A sequence [batch, N] has a label where a segment begins and -1 inside; the last position has a label.
    """

    @staticmethod
    def to_parts(sequence: Tensor, extra: tuple[int, int], lengths: Tensor | None = None) -> Tensor:
        """Return the event of a sequence with `extra` = (C, K)."""
        C, K = extra
        batch, N = sequence.shape
        parts = torch.zeros(batch, N - 1, K, C, C, dtype=torch.long, device=sequence.device)
        for b in range(batch):
            length = N if lengths is None else int(lengths[b])
            marks = (sequence[b, :length] != -1).nonzero()[:, 0].tolist()
            for begin, end in pairwise(marks):
                parts[b, begin, end - begin, sequence[b, end], sequence[b, begin]] = 1
        return parts

    @staticmethod
    def from_parts(edge: Tensor) -> tuple[Tensor, tuple[int, int]]:
        """Return the sequence [batch, N] and (C, K)."""
        batch, steps, K, C, _ = edge.shape
        labels = torch.full((batch, steps + 1), -1, dtype=torch.long, device=edge.device)
        b, n, k, to, begin = edge.nonzero(as_tuple=True)
        labels[b, n + k] = to
        first = n == 0
        labels[b[first], 0] = begin[first]
        return labels, (C, K)

    @staticmethod
    def _rand(min_n: int = 2) -> tuple[Tensor, tuple[int, int]]:
        b, n, k, c = (int(torch.randint(low, 4, (1,))) for low in (2, min_n, 2, 2))
        return torch.rand(b, n, k, c, c), (b, n + 1)
