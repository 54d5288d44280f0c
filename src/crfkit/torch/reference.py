"""Queries of chains in plain torch: in log space, on any device, differentiable any number of times.

The oracle of the kernels, and what answers where there is none (chains of higher order on a GPU, third
derivatives). Sums, their gradients and Hessian products take segments too (`crfkit.torch.segment_reference`).
A chain of order k has a list of the tables of label n-grams. The graph has O(T L^(k+1)) cells: slow and
large, never wrong.
Sums are those of Sutton & McCallum (2006) eq. 1.29, 1.34 and 1.35, with -inf for what is forbidden.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from crfkit.torch import segment_reference
from crfkit.torch.autograd import gradient, leaves_of, logsumexp, numbers, with_graphs
from crfkit.torch.batches import Batch, Chain, Segments
from crfkit.torch.rows import padded_rows, scattered

__all__ = [
    "best",
    "drawing",
    "first_best",
    "hvp",
    "kbest",
    "log_partition",
    "loss",
    "marginals",
    "sample",
    "sound",
]


class Steps:
    """Scores of the steps of chains, in the order of their places."""

    def __init__(self, chain: Chain, dtype: torch.dtype) -> None:
        one, *more = chain.tables
        self.order = len(chain.tables)
        self.by_position = one.ndim > 2
        if self.by_position:  # [B, T or T - 1, L, L], or [P, L, L]
            if chain.first is None and chain.kept is not None and one.shape[1] < chain.kept.shape[1]:
                one = torch.cat([torch.zeros_like(one[:, :1]), one], 1)
            if chain.first is not None or chain.kept is not None:
                one = padded_rows(one, chain)
        self.tables = [table.to(dtype) for table in (one, *more)]

    def into(self, t: int, width: int) -> Tensor:
        """Return scores [B or 1, L, ..., L] over the last min(t, k) + 1 labels, that of place t included."""
        if self.by_position:
            return self.tables[0][:, t if self.tables[0].shape[1] == width else t - 1]
        total = self.tables[0][None]
        for table in self.tables[1:t]:
            total = total.unsqueeze(1) + table
        return total


def _forward(chain: Chain, dtype: torch.dtype, best: bool = False) -> tuple[list[Tensor], Steps]:
    """Return forward scores of each place, [B, L, ..., L] over the last min(t + 1, k) labels."""
    x = padded_rows(chain.node, chain).to(dtype)  # [B, T, L]
    steps = Steps(chain, dtype)
    (B, T, L), alphas = x.shape, []
    for t in range(T):
        if t == 0:
            alpha = chain.start.to(dtype) + x[:, 0]
        else:
            longer = alpha.unsqueeze(-1) + steps.into(t, T)
            if t >= steps.order:
                longer = longer.amax(1) if best else logsumexp(longer, 1)
            alpha = longer + x[:, t].view(B, *(1,) * (longer.ndim - 2), L)
        alphas.append(alpha)
    return alphas, steps


def log_partition(batch: Batch, dtype: torch.dtype = torch.float64) -> Tensor:
    """Return log Z [B]: 0 for an empty sequence, -inf where nothing is allowed."""
    if isinstance(batch, Segments):
        return segment_reference.log_partition(batch)
    alphas, _ = _forward(batch, dtype)
    none = batch.start[:0].sum().to(dtype)  # 0, but in the graph where there are no positions
    value = torch.zeros(batch.length.shape, dtype=dtype, device=batch.node.device) + none
    for t, alpha in enumerate(alphas):
        ended = logsumexp((alpha + batch.stop.to(dtype)).flatten(1), 1)
        value = torch.where(batch.length == t + 1, ended, value)
    return torch.where(value == torch.inf, torch.nan, value)  # +inf is among the scores


@with_graphs
def marginals(batch: Batch, weight: Tensor, create_graph: bool = False) -> tuple[Tensor, ...]:
    """Return the gradient of sum_b weight[b] log Z[b] by all scores (empty where none is given), log Z."""
    with torch.enable_grad():
        leaves = leaves_of(batch.scores, create_graph)
        logz = log_partition(batch.with_scores(leaves))
        total = (torch.where(logz.isinf(), 0.0, logz) * weight).sum()
        made = gradient(batch, total, leaves, create_graph)
    return (*made, logz if create_graph else logz.detach())


@with_graphs
def hvp(
    batch: Batch, weight: Tensor, *direction: Tensor | None, create_graph: bool = False
) -> tuple[Tensor, ...]:
    """Return the Hessian of sum_b weight[b] log Z[b] times a direction, <marginals, direction>, and log Z.

    The direction has the order and the shapes of the gradient that `marginals` returns.
    """
    with torch.enable_grad():
        given = [*batch.scores, weight]
        wide = [None if x is None else x.double() for x in given]  # as the direction
        leaves = leaves_of(wide, create_graph)
        *scores, weights = leaves
        *grads, logz = marginals(batch.with_scores(scores), weights, create_graph=True)
        pairs = zip(grads, direction, strict=True)
        along = sum((g * v).sum() for g, v in pairs if v is not None)
        *made, dot = gradient(batch, along, leaves, create_graph)
        made = [x if of is None else x.to(of.dtype) for x, of in zip(made, batch.scores, strict=True)]
    return (*made, dot, logz if create_graph else logz.detach())


def sound(bad: Tensor, batch: Batch, weight: Tensor, along: Any, **how: Any) -> tuple[Tensor, ...]:
    """Return what `hvp` does; sequences that are `bad` (NaN or +inf among their scores) have no part in it.

    Their <marginals, direction> and log Z are NaN, without a gradient.
    """
    weight = torch.where(bad, 0.0, weight)
    *made, dot, logz = hvp(numbers(batch), weight, *numbers(along), **how)
    return (*made, torch.where(bad, torch.nan, dot), torch.where(bad, torch.nan, logz))


def loss(batch: Batch, labels: Tensor, *begins: Tensor) -> Tensor:
    """Return log Z minus log Z over what agrees with the gold [B, T] (a negative label: any)."""
    if isinstance(batch, Segments):
        return segment_reference.loss(batch, labels, *begins)
    other = torch.arange(batch.node.shape[-1], device=batch.node.device) != labels[..., None]
    clamped = batch.node.masked_fill(other & (labels >= 0)[..., None], -torch.inf)
    free, gold = log_partition(batch), log_partition(batch._replace(node=clamped))
    return torch.where(gold == -torch.inf, torch.inf, free - gold)


def _trace(
    alphas: list[Tensor], steps: Steps, length: Tensor, stop: Tensor, choose: Callable[[Tensor], Tensor]
) -> Tensor:
    """Return labels [B, T], drawn or chosen from the last place to the first; 0 behind the ends of chains."""
    B, T = length.shape[0], len(alphas)
    if not T:
        return length.new_zeros(B, 0, dtype=torch.int64)
    L = alphas[0].shape[-1]
    rows = torch.arange(B, device=length.device)
    state = length.new_zeros(B, dtype=torch.int64)  # the last labels, as one number
    out = []
    for t in reversed(range(T)):
        if t < T - 1:  # from a state of place t + 1 to one of place t
            kept = L ** (min(t + 2, steps.order) - 1)
            if t + 1 < steps.order:
                before = state // L
            else:
                step = steps.into(t + 1, T).expand(B, *(L,) * (steps.order + 1))
                longer = alphas[t].unsqueeze(-1) + step
                dropped = choose(longer.flatten(2)[rows, :, state])
                before = dropped * kept + state // L
        ended = choose((alphas[t] + stop).flatten(1))
        last = length == t + 1
        state = ended if t == T - 1 else torch.where(last, ended, before)
        out.append(torch.where(t < length, state % L, 0))
    return torch.stack(out[::-1], 1)


def first_best(candidates: Tensor) -> Tensor:
    """Return the number [B] of the highest of scores [B, n], the lowest of equals."""
    top = candidates.amax(1, keepdim=True)
    number = torch.arange(candidates.shape[1], device=candidates.device)
    return torch.where(candidates == top, number, number[-1]).amin(1)


def best(chain: Chain) -> tuple[Tensor, Tensor]:
    """Return the best labels at the rows of `node`, -1 where there are none; and scores [B].

    Ties go to the lowest label, from the last place to the first.
    """
    length, stop = chain.length, chain.stop
    alphas, steps = _forward(chain, torch.float64, best=True)
    score = torch.zeros(length.shape, dtype=torch.float64, device=chain.node.device)
    for t, alpha in enumerate(alphas):
        score = torch.where(length == t + 1, (alpha + stop).flatten(1).amax(1), score)
    labels = _trace(alphas, steps, length, stop, first_best)
    labels = torch.where(score[:, None] == -torch.inf, -1, labels)
    return scattered(labels, chain.node, chain, -1), score


def drawing(seed: Tensor, device: torch.device) -> Callable[[Tensor], Tensor]:
    """Return a function that draws a number [B] by scores [B, n]; anything where nothing is allowed."""
    generator = torch.Generator(device).manual_seed(int(seed))

    def draw(candidates: Tensor) -> Tensor:
        top = candidates.amax(1, keepdim=True)
        chance = (candidates - torch.where(top.isinf(), 0.0, top)).exp()
        chance = torch.where(torch.isfinite(top), chance, 1.0)
        return torch.multinomial(chance, 1, generator=generator)[:, 0]

    return draw


def sample(chain: Chain, n: int, seed: Tensor) -> Tensor:
    """Return n independent draws at the rows of `node`, [B, n, T] or packed [n, P]; -1 as `best` does."""
    alphas, steps = _forward(chain, torch.float64)
    draw = drawing(seed, chain.node.device)
    allowed = log_partition(chain) > -torch.inf
    draws = []
    for _ in range(n):
        drawn = _trace(alphas, steps, chain.length, chain.stop, draw)
        draws.append(scattered(torch.where(allowed[:, None], drawn, -1), chain.node, chain, -1))
    return torch.stack(draws, 0 if chain.first is not None else 1)


def kbest(chain: Chain, k: int) -> tuple[Tensor, Tensor]:
    """Return the k best labelings, [B, k, T] or packed [k, P], -1 where there are fewer; and scores [B, k].

    Whole paths are kept for each state, so that nothing has to be traced.
    """
    node, length, start, stop = chain.node, chain.length, chain.start, chain.stop
    x = padded_rows(node, chain).double()  # [B, T, L]
    steps = Steps(chain, torch.float64)
    B, T, L = x.shape
    value = x.new_full((B, k), -torch.inf)
    value[:, 0] = torch.where(length == 0, 0.0, -torch.inf)
    labels = length.new_full((B, k, T), -1, dtype=torch.int64)
    score, path = x.new_zeros(B, 1, 1), labels.new_zeros(B, 1, 1, 0)  # [B, states, paths], [..., t]
    for t in range(T):
        K, new = score.shape[-1], torch.arange(L, device=x.device)
        if t == 0:
            score = (start.double() + x[:, 0])[:, :, None]
            path = new.view(1, L, 1, 1).expand(B, L, 1, 1)
        else:
            dropped = L if t >= steps.order else 1
            step = steps.into(t, T).expand(B, *(L,) * (min(t, steps.order) + 1))
            rest = score.shape[1] // dropped
            longer = score.view(B, dropped, rest, 1, K) + step.reshape(B, dropped, rest, L, 1)
            longer = (longer + x[:, t].view(B, 1, 1, L, 1)).permute(0, 2, 3, 1, 4).flatten(3)
            score, chosen = longer.flatten(1, 2).topk(min(k, dropped * K), -1)  # [B, rest * L, paths]
            before = path.view(B, dropped, rest, K, t).transpose(1, 2).flatten(2, 3)  # [B, rest, ., t]
            before = before.repeat_interleave(L, 1)
            before = before.gather(2, chosen[..., None].expand(*chosen.shape, t))
            now = new.repeat(rest).view(1, -1, 1, 1).expand(*chosen.shape, 1)
            path = torch.cat([before, now], -1)
        ended = (score.unflatten(1, (-1, L)) + stop.double()[:, None]).flatten(1)
        top, chosen = ended.topk(min(k, ended.shape[1]), -1)
        rows = path.flatten(1, 2).gather(1, chosen[..., None].expand(*chosen.shape, t + 1))
        last = (length == t + 1)[:, None]
        found = top.shape[1]
        value[:, :found] = torch.where(last, top, value[:, :found])
        here = last[..., None] & (top > -torch.inf)[..., None]
        labels[:, :found, : t + 1] = torch.where(here, rows, labels[:, :found, : t + 1])
    each = [scattered(labels[:, i], node, chain, -1) for i in range(k)]
    return torch.stack(each, 0 if chain.first is not None else 1), value
