"""Chains of order k as chains of order 1 over histories, by the kernels of `crfkit.torch.ops`.

A state is a history: the last label at the first place, the last two at the second, and so on up to k labels.
States are numbered by length, then as numbers with base L whose last digit is the last label, so that the
label of a state is its number modulo L. A step goes from a history to the one that is longer by a label, or,
at full length, to the one without its first label; all other steps are forbidden. The sums are those of the
chain of order k, and so are its derivatives, any number of times.
"""

from __future__ import annotations

import torch
from torch import Tensor

from crfkit.torch import ops
from crfkit.torch.batches import Chain
from crfkit.torch.derivatives import LogPartition

__all__ = ["MOST", "best", "kbest", "log_partition", "loss", "sample", "states", "states_of"]

MOST = 2048  # states: their table has the square of that


def states(L: int, order: int) -> int:
    """Return the number of histories of 1 to `order` labels.

    Examples
    --------
    >>> states(9, 2)
    90
    """
    return sum(L**h for h in range(1, order + 1))


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


def states_of(chain: Chain) -> Chain:
    """Return the chain of order 1 that has the sums of a chain of higher order; differentiable."""
    node, start, edges, stop = chain.node, chain.start, chain.edge, chain.stop
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
    return chain._replace(
        node=_by_history(node, order), start=first, edge=edge, stop=_by_history(stop, order)
    )


def log_partition(chain: Chain) -> Tensor:
    """Return log Z [B] in float64."""
    value: Tensor = LogPartition.apply("chain", *states_of(chain))
    return value


def loss(chain: Chain, labels: Tensor) -> Tensor:
    """Return losses [B] in float64; negative labels are unknown and summed over."""
    made = states_of(chain)
    last = torch.arange(made.node.shape[-1], device=labels.device) % chain.node.shape[-1]
    other = (last != labels[..., None]) & (labels >= 0)[..., None]
    agreeing = made._replace(node=made.node.masked_fill(other, -torch.inf))
    free, gold = LogPartition.apply("chain", *made), LogPartition.apply("chain", *agreeing)
    apart = torch.where(gold == -torch.inf, torch.inf, free - gold)
    return torch.where(free.isnan(), free, apart)


def _labels(numbers: Tensor, L: int) -> Tensor:
    return torch.where(numbers < 0, -1, numbers % L)


def best(chain: Chain) -> tuple[Tensor, Tensor]:
    """Return the best labels at the rows of `node`, and scores [B]."""
    numbers, score = ops.chain.best(*states_of(chain))
    return _labels(numbers, chain.node.shape[-1]), score


def kbest(chain: Chain, k: int) -> tuple[Tensor, Tensor]:
    """Return the k best labelings, [B, k, T] or packed [k, P], and scores [B, k]."""
    numbers, score = ops.chain.kbest(*states_of(chain), k)
    return _labels(numbers, chain.node.shape[-1]), score


def sample(chain: Chain, n: int, seed: Tensor) -> Tensor:
    """Return n draws, [B, n, T] or packed [n, P]."""
    return _labels(ops.chain.sample(*states_of(chain), n, seed), chain.node.shape[-1])
