"""Chains of order k as chains of order 1 over histories, by the kernels of `crfkit.torch.ops`.

A state is a history: the last label at the first place, the last two at the second, and so on up to k labels.
States are numbered by length, then as numbers with base L whose last digit is the last label, so that the
label of a state is its number modulo L. A step goes from a history to the one that is longer by a label, or,
at full length, to the one without its first label; all other steps are forbidden. The sums are those of the
chain of order k, and so are its derivatives, any number of times.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from crfkit.torch import ops
from crfkit.torch.derivatives import LogPartition

__all__ = ["MOST", "States", "best", "kbest", "log_partition", "loss", "sample", "states", "states_of"]

MOST = 2048  # states: their table has the square of that


def states(L: int, order: int) -> int:
    """Return the number of histories of 1 to `order` labels.

    Examples
    --------
    >>> states(9, 2)
    90
    """
    return sum(L**h for h in range(1, order + 1))


class States(NamedTuple):
    """The scores of a chain of order 1 over histories."""

    node: Tensor  # [..., S]
    start: Tensor  # [S]
    edge: Tensor  # [S, S]
    stop: Tensor  # [S]


def _by_history(scores: Tensor, order: int) -> Tensor:
    """Return scores [..., S] of histories from those of their last labels [..., L]."""
    L, leading = scores.shape[-1], scores.shape[:-1]
    blocks = [scores.unsqueeze(-2).expand(*leading, L**h, L).flatten(-2) for h in range(order)]
    return torch.cat(blocks, -1)


def _steps(L: int, order: int, device: torch.device) -> Tensor:
    """Return the place in a table [S, S], flattened, of each step, in the order of the tables of labels."""
    S, places, begin = states(L, order), [], 0
    for h in range(1, order + 1):
        step = torch.arange(L ** (h + 1), device=device)  # of h labels and one more, as one number
        source, target = begin + step // L, begin + L**h + step
        if h == order:
            target = begin + step % L**h
        places.append(source * S + target)
        begin += L**h
    return torch.cat(places)


def states_of(node: Tensor, start: Tensor, edges: Sequence[Tensor], stop: Tensor) -> States:
    """Return the chain of order 1 that has the sums of a chain of order ``len(edges)``; differentiable."""
    L, order = node.shape[-1], len(edges)
    S = states(L, order)
    total, tables = edges[0], [edges[0].flatten()]
    for table in edges[1:]:
        total = total + table  # broadcast over the first label
        tables.append(total.flatten())
    values = torch.cat(tables)
    nothing = values.new_full((S * S,), -torch.inf)
    edge = nothing.scatter(0, _steps(L, order, node.device), values).view(S, S)
    first = torch.cat([start, start.new_full((S - L,), -torch.inf)])
    return States(_by_history(node, order), first, edge, _by_history(stop, order))


def log_partition(
    node: Tensor,
    length: Tensor,
    first: Tensor | None,
    index: Tensor | None,
    start: Tensor,
    edges: Sequence[Tensor],
    stop: Tensor,
) -> Tensor:
    """Return log Z [B] in float64."""
    x, s, e, p = states_of(node, start, edges, stop)
    value: Tensor = LogPartition.apply(x, length, first, index, s, e, p)
    return value


def loss(
    node: Tensor,
    length: Tensor,
    first: Tensor | None,
    index: Tensor | None,
    start: Tensor,
    edges: Sequence[Tensor],
    stop: Tensor,
    labels: Tensor,
) -> Tensor:
    """Return losses [B] in float64; negative labels are unknown and summed over."""
    x, s, e, p = states_of(node, start, edges, stop)
    last = torch.arange(x.shape[-1], device=node.device) % node.shape[-1]
    other = (last != labels[..., None]) & (labels >= 0)[..., None]
    free = LogPartition.apply(x, length, first, index, s, e, p)
    gold = LogPartition.apply(x.masked_fill(other, -torch.inf), length, first, index, s, e, p)
    apart = torch.where(gold == -torch.inf, torch.inf, free - gold)
    return torch.where(free.isnan(), free, apart)


def _labels(numbers: Tensor, L: int) -> Tensor:
    return torch.where(numbers < 0, -1, numbers % L)


def best(
    node: Tensor,
    length: Tensor,
    first: Tensor | None,
    index: Tensor | None,
    start: Tensor,
    edges: Sequence[Tensor],
    stop: Tensor,
) -> tuple[Tensor, Tensor]:
    """Return the best labels at the rows of `node`, and scores [B]."""
    x, s, e, p = states_of(node, start, edges, stop)
    numbers, score = ops.best(x, length, first, index, s, e, p)
    return _labels(numbers, node.shape[-1]), score


def kbest(
    node: Tensor,
    length: Tensor,
    first: Tensor | None,
    index: Tensor | None,
    start: Tensor,
    edges: Sequence[Tensor],
    stop: Tensor,
    k: int,
) -> tuple[Tensor, Tensor]:
    """Return the k best labelings, [B, k, T] or packed [k, P], and scores [B, k]."""
    x, s, e, p = states_of(node, start, edges, stop)
    numbers, score = ops.kbest(x, length, first, index, s, e, p, k)
    return _labels(numbers, node.shape[-1]), score


def sample(
    node: Tensor,
    length: Tensor,
    first: Tensor | None,
    index: Tensor | None,
    start: Tensor,
    edges: Sequence[Tensor],
    stop: Tensor,
    n: int,
    seed: Tensor,
) -> Tensor:
    """Return n draws, [B, n, T] or packed [n, P]."""
    x, s, e, p = states_of(node, start, edges, stop)
    return _labels(ops.sample(x, length, first, index, s, e, p, n, seed), node.shape[-1])
