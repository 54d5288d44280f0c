"""Events of torch-struct, arrays of 0 and 1 over all parts, and the sequences that they stand for."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from crfkit.torch.semirings import LogSemiring, Semiring

__all__ = ["LinearChain", "SemiMarkov", "Struct"]


class Struct:
    """Sums over structures by the step of a subclass, in any semiring."""

    axes: ClassVar[str]

    def __init__(self, semiring: type[Semiring] = LogSemiring) -> None:
        self.semiring = semiring

    def score(self, potentials: Tensor, parts: Tensor, batch_dims: range | list[int] | None = None) -> Tensor:
        """Return the sum of the scores of the parts that are there; a forbidden part counts only if it is."""
        picked = torch.where(parts != 0, potentials * parts, torch.zeros((), dtype=potentials.dtype))
        return picked.flatten(1 if batch_dims is None else len(batch_dims)).sum(-1)

    def sum(
        self, edge: Any, lengths: Tensor | None = None, _autograd: bool = True, _raw: bool = False
    ) -> Tensor:
        """Return the sum over all structures [batch]; with ``_raw`` all numbers of its values, [size, batch].

        Examples
        --------
        >>> from crfkit.compat.torch_struct import StdSemiring
        >>> LinearChain(StdSemiring).sum(torch.ones(1, 2, 3, 3))
        tensor([27.])
        """
        values = self._values(edge, lengths)
        return values if _raw else self.semiring.unconvert(values)

    def marginals(
        self, edge: Any, lengths: Tensor | None = None, _autograd: bool = True, _raw: bool = False
    ) -> Any:
        """Return the gradient of the sum by the scores; with ``_raw`` of each of its numbers."""
        with torch.enable_grad():
            leaves = [x if x.requires_grad else x.detach().requires_grad_() for x in listed(edge)]
            given = leaves if isinstance(edge, list | tuple) else leaves[0]
            values = self._values(given, lengths)
            values = values if _raw else self.semiring.unconvert(values)[None]
            graph = any(x.requires_grad for x in listed(edge))
            found = []
            for value in values:
                finite = torch.where(value.isinf(), 0.0, value).sum()
                each = torch.autograd.grad(finite, leaves, create_graph=graph, retain_graph=True)
                found.append(each[0] if len(each) == 1 else each)
        return torch.stack(found) if _raw else found[0]

    def _check_potentials(self, edge: Any, lengths: Tensor | None = None) -> tuple[Any, ...]:
        """Return values of scores, the sizes of their axes, and lengths; the original's tests ask for it."""
        shape = listed(edge)[0].shape
        if len(shape) != self.axes.count(",") + 1 or shape[-1] != shape[-2]:
            raise ValueError(f"scores have shape {tuple(shape)}, expected {self.axes}")
        N = shape[1] + 1
        if lengths is None:
            lengths = torch.full(shape[:1], N, dtype=torch.long)
        if lengths.shape != shape[:1] or not ((lengths >= 1) & (lengths <= N)).all():
            raise ValueError(f"lengths are {lengths.tolist()}, expected {shape[0]} of 1 to {N}")
        return self.semiring.convert(edge), shape[0], N, *shape[2:-1], lengths

    def _values(self, edge: Any, lengths: Tensor | None) -> Tensor:
        values, batch, N, *_, lengths = self._check_potentials(edge, lengths)
        C = values.shape[-1]
        rows = [self.semiring.filled(values, (batch, C), self.semiring.one)]  # [size, batch, C]
        for m in range(1, N):
            if self.semiring.recomputed:
                rows.append(checkpoint(self._step, values, rows, m, use_reentrant=False))
            else:
                rows.append(self._step(values, rows, m))
        last = lengths.to(values.device).long() - 1
        ends = torch.stack(rows, 2)[:, torch.arange(batch, device=values.device), last]
        return self.semiring.sum(ends)

    def _step(self, values: Tensor, rows: list[Tensor], m: int) -> Tensor:
        """Return sums [size, batch, to] over what leads to boundary m."""
        raise NotImplementedError


def listed(edge: Any) -> list[Tensor]:
    """Return scores, or those of each of several distributions."""
    return list(edge) if isinstance(edge, list | tuple) else [edge]


class LinearChain(Struct):
    """Sequences of N labels as events [batch, N - 1, C, C]: [to, from]."""

    axes = "[batch, N - 1, C, C]"

    def _step(self, values: Tensor, rows: list[Tensor], m: int) -> Tensor:
        return self.semiring.sum(self.semiring.mul(rows[m - 1].unsqueeze(-2), values[:, :, m - 1]))

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


class SemiMarkov(Struct):
    """Segments as events [batch, N - 1, K, C, C]: (begin, length, to, from).

    A sequence [batch, N] has a label where a segment begins and -1 inside; the last position has a label.
    """

    axes = "[batch, N - 1, K, C, C]"

    def _step(self, values: Tensor, rows: list[Tensor], m: int) -> Tensor:
        parts = [
            self.semiring.mul(rows[m - k].unsqueeze(-2), values[:, :, m - k, k])
            for k in range(1, min(values.shape[3] - 1, m) + 1)
        ]  # [size, batch, to, from]
        if not parts:
            return self.semiring.filled(values, tuple(rows[0].shape[1:]), self.semiring.zero)
        return self.semiring.sum(torch.cat(parts, -1))

    @staticmethod
    def hsmm(
        init_z_1: Tensor, transition_z_to_z: Tensor, transition_z_to_l: Tensor, emission_n_l_z: Tensor
    ) -> Tensor:
        """Return the scores [batch, N - 1, K, C, C] of a hidden semi-Markov model's log probabilities.

        init_z_1 [C] or [batch, C], of the label before the first segment; transition_z_to_z [C, C] as
        [from, to]; transition_z_to_l [C, K], of lengths; emission_n_l_z [batch, N - 1, K, C], of what a
        segment at n with l positions shows.
        """
        segment = emission_n_l_z + transition_z_to_l.T  # [batch, N - 1, K, C]
        scores = segment[..., None] + transition_z_to_z.T
        init = torch.zeros_like(scores[:, :1])
        init = init + init_z_1.expand(len(scores), -1)[:, None, None, None, :]
        return torch.cat([scores[:, :1] + init, scores[:, 1:]], 1)

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
