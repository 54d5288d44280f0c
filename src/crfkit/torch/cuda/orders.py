"""Chains of order k as chains of order 1 over histories, by the kernels of `crfkit.torch.ops`.

A state is a history: the last label at the first place, the last two at the second, and so on up to k labels.
States are numbered by length, then as numbers with base L whose last digit is the last label, so that the
label of a state is its number modulo L. A step goes from a history to the one that is longer by a label, or,
at full length, to the one without its first label; all other steps are forbidden. The scores of states are
linear in those of labels: gradients come back by the transpose.
"""

from __future__ import annotations

import torch
from torch import Tensor

from crfkit.torch import ops
from crfkit.torch.batches import Chain
from crfkit.torch.cpu import by_table
from crfkit.torch.inputs import widened

__all__ = ["best", "covers", "hvp", "kbest", "log_partition", "loss", "marginals", "sample", "states"]

MOST = 2048  # states: their table has the square of that
MOST_CURVED = 64  # states of the kernel for Hessian products


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


def covers(name: str, chain: Chain) -> bool:
    """Whether the table of histories is small enough for an operator."""
    most = MOST_CURVED if name == "hvp" else MOST
    return states(chain.node.shape[-1], len(chain.edge)) <= most


def states_of(chain: Chain, never: float = -torch.inf) -> Chain:
    """Return the chain of order 1 that has the sums of a chain of higher order.

    `never` is the score of steps that do not exist: 0 for directions instead of scores.
    """
    node, start, edges, stop = chain.node, chain.start, chain.edge, chain.stop
    L, order = node.shape[-1], len(edges)
    S = states(L, order)
    total, tables = edges[0], [edges[0].flatten()]
    for table in edges[1:]:
        total = total + table  # broadcast over the first label
        tables.append(total.flatten())
    values = torch.cat(tables)
    nothing = values.new_full((S * S,), never)
    edge = nothing.scatter(0, _steps(L, order, node.device), values).view(S, S)
    first = torch.cat([start, start.new_full((S - L,), never)])
    # Probabilities of histories add up to those of labels: not in half precision.
    node = _by_history(widened(node), order)
    return chain._replace(node=node, start=first, edge=edge, stop=_by_history(stop, order))


def _last(scores: Tensor, L: int, order: int) -> Tensor:
    """Return sums [..., L] over the histories with the same last label: the transpose of `_by_history`."""
    blocks = scores.split([L**h for h in range(1, order + 1)], -1)
    total = blocks[0]
    for block in blocks[1:]:
        total = total + block.unflatten(-1, (-1, L)).sum(-2)
    return total


def _gradients(chain: Chain, node: Tensor, start: Tensor, edge: Tensor, stop: Tensor) -> list[Tensor]:
    """Return the gradients of a chain from those of its states."""
    L, order = chain.node.shape[-1], len(chain.edge)
    steps = edge.flatten()[_steps(L, order, edge.device)].split([L**h for h in range(2, order + 2)])
    sums = [x.view((L,) * (h + 2)).clone() for h, x in enumerate(steps)]  # answers are not views
    made = by_table([_last(node, L, order), start[:L], *sums, _last(stop, L, order)], chain)
    return [x.to(of.dtype) for x, of in zip(made, chain.scores, strict=True)]


def log_partition(chain: Chain) -> tuple[Tensor, Tensor]:
    """Return log Z and flags."""
    logz, in_logs = ops.chain.log_partition(*states_of(chain))
    return logz, in_logs


def marginals(chain: Chain, weight: Tensor) -> tuple[Tensor, ...]:
    """Return gradients, log Z and flags."""
    *made, logz, in_logs = ops.chain.marginals(*states_of(chain), weight)
    return (*_gradients(chain, *made), logz, in_logs)


def loss(chain: Chain, labels: Tensor, weight: Tensor | None, scale: float, grad: bool) -> tuple[Tensor, ...]:
    """Return the total, losses, gradients and flags."""
    free = states_of(chain)
    last = torch.arange(free.node.shape[-1], device=labels.device) % chain.node.shape[-1]
    other = (last != labels[..., None]) & (labels >= 0)[..., None]
    gold = free._replace(node=free.node.masked_fill(other, -torch.inf))
    of_gold, _ = ops.chain.log_partition(*gold)
    logz, in_logs = ops.chain.log_partition(*free)
    apart = torch.where(of_gold == -torch.inf, torch.inf, logz - of_gold)
    each = torch.where(logz.isnan(), logz, apart)
    factor = torch.full_like(each, scale) if weight is None else weight.double() * scale
    made = chain.nothing()
    if grad:
        possible = torch.where(of_gold == -torch.inf, 0.0, factor)  # others have no gradient
        pairs = zip(*(ops.chain.marginals(*x, possible)[:4] for x in (free, gold)), strict=True)
        made = _gradients(chain, *(a - b for a, b in pairs))
    return ((each * factor).sum().to(chain.total_dtype), each, *made, in_logs)


def hvp(chain: Chain, weight: Tensor, *along: Tensor) -> tuple[Tensor, ...]:
    """Return the Hessian of sum_b weight[b] log Z[b] times a direction, <marginals, direction>, and log Z."""
    direction = states_of(chain.with_scores(along), never=0.0).scores
    *made, dot, logz = ops.chain.hvp(*states_of(chain), weight, *direction)
    return (*_gradients(chain, *made), dot, logz)


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
