"""Queries of chains in plain torch: in log space, on any device, differentiable any number of times.

The oracle of the kernels, and what answers where there is none (chains of higher order on a GPU, third
derivatives). Every function takes the arguments of `crfkit.torch.ops`; `edge` may also be a list of the
tables of label n-grams of a chain of order k. The graph has O(T L^(k+1)) cells: slow and large, never wrong.
Sums are those of Sutton & McCallum (2006) eq. 1.29, 1.34 and 1.35, with -inf for what is forbidden.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from typing import Any, TypeAlias, TypeVar

import torch
from torch import Tensor

from crfkit.torch.rows import padded_rows, scattered

__all__ = [
    "best",
    "hvp",
    "kbest",
    "leaves_of",
    "log_partition",
    "loss",
    "marginals",
    "numbers",
    "sample",
    "with_graphs",
]

_Answer = TypeVar("_Answer")

Edges: TypeAlias = "Tensor | Sequence[Tensor]"  # [L, L], by position, or a table for each order


def _each(x: Any, function: Callable[[Tensor], Tensor]) -> Any:
    """Return tensors in lists of lists with a function applied to them; what is not a tensor stays."""
    if isinstance(x, list | tuple):
        return [_each(one, function) for one in x]
    return function(x) if isinstance(x, Tensor) else x


def numbers(x: Any) -> Any:
    """Return scores with 0 for NaN and +inf, which have no gradient then."""

    def sound(one: Tensor) -> Tensor:
        if not one.dtype.is_floating_point:
            return one
        return torch.where(one.isnan() | (one == torch.inf), 0.0, one)

    return _each(x, sound)


def leaves_of(tensors: Sequence[Any], graph: bool, wanted: Sequence[bool] | None = None) -> list[Any]:
    """Return what a gradient is taken by: aliases in the graph of the tensors, or copies outside of it.

    Never the tensors themselves: one may be made of another, or be given twice, and a gradient by each of
    them would count the way from the one to the other too.
    """

    def leaf(x: Any, needed: bool) -> Any:
        if not isinstance(x, Tensor) or not x.dtype.is_floating_point:
            return x
        if graph and x.requires_grad:
            return x.view_as(x)
        return x.detach().requires_grad_(needed)

    return [leaf(x, wanted is None or wanted[i]) for i, x in enumerate(tensors)]


def with_graphs(function: Callable[..., _Answer]) -> Callable[..., _Answer]:
    """Let a function that makes gradients by autograd answer where autograd is off, without a graph.

    It is off in `torch.inference_mode`, and within operators under a `TorchDispatchMode` such as
    `FlopCounterMode`. These are settings of a thread, so that another one answers.
    """

    @wraps(function)
    def outside(*args: Any, **how: Any) -> _Answer:
        if torch.compiler.is_compiling() or _autograd_is_on():
            return function(*args, **how)
        stream = torch.cuda.current_stream() if torch.cuda.is_initialized() else None

        def answer() -> _Answer:
            with torch.cuda.stream(stream):
                return function(*_each(args, lambda x: x.clone().detach()), **how)

        with ThreadPoolExecutor(1) as thread:
            return thread.submit(answer).result()

    return outside


def _autograd_is_on() -> bool:
    with torch.enable_grad():
        return bool((torch.zeros((), requires_grad=True) * 1).requires_grad)


def logsumexp(x: Tensor, dim: int) -> Tensor:
    """Return log sum exp, -inf where all is -inf, with gradients that are never NaN there."""
    top = x.detach().amax(dim, keepdim=True)
    top = torch.where(top.isinf(), 0.0, top)
    total = (x - top).exp().sum(dim)
    empty = total == 0
    return torch.where(empty, -torch.inf, torch.where(empty, 1.0, total).log()) + top.squeeze(dim)


class Steps:
    """Scores of the steps of chains, in the order of their places."""

    def __init__(
        self, edge: Edges, length: Tensor, first: Tensor | None, index: Tensor | None, dtype: torch.dtype
    ) -> None:
        self.tables = [edge] if isinstance(edge, Tensor) else list(edge)
        self.order = len(self.tables)
        one = self.tables[0]
        self.by_position = one.ndim > 2
        if self.by_position:  # [B, T or T - 1, L, L], or [P, L, L]
            if first is None and index is not None and one.shape[1] < index.shape[1]:
                one = torch.cat([torch.zeros_like(one[:, :1]), one], 1)
            if first is not None or index is not None:
                one = padded_rows(one, length, first, index)
            self.tables[0] = one
        self.tables = [table.to(dtype) for table in self.tables]

    def into(self, t: int, width: int) -> Tensor:
        """Return scores [B or 1, L, ..., L] over the last min(t, k) + 1 labels, that of place t included."""
        if self.by_position:
            return self.tables[0][:, t if self.tables[0].shape[1] == width else t - 1]
        total = self.tables[0][None]
        for table in self.tables[1:t]:
            total = total.unsqueeze(1) + table
        return total


def _forward(
    node: Tensor,
    length: Tensor,
    first: Tensor | None,
    index: Tensor | None,
    start: Tensor,
    edge: Edges,
    dtype: torch.dtype,
    best: bool = False,
) -> tuple[list[Tensor], Steps]:
    """Return forward scores of each place, [B, L, ..., L] over the last min(t + 1, k) labels."""
    x = padded_rows(node, length, first, index).to(dtype)  # [B, T, L]
    steps = Steps(edge, length, first, index, dtype)
    (B, T, L), alphas = x.shape, []
    for t in range(T):
        if t == 0:
            alpha = start.to(dtype) + x[:, 0]
        else:
            longer = alpha.unsqueeze(-1) + steps.into(t, T)
            if t >= steps.order:
                longer = longer.amax(1) if best else logsumexp(longer, 1)
            alpha = longer + x[:, t].view(B, *(1,) * (longer.ndim - 2), L)
        alphas.append(alpha)
    return alphas, steps


def log_partition(
    node: Tensor,
    length: Tensor,
    first: Tensor | None,
    index: Tensor | None,
    start: Tensor,
    edge: Edges,
    stop: Tensor,
    dtype: torch.dtype = torch.float64,
) -> Tensor:
    """Return log Z [B]: 0 for an empty sequence, -inf where nothing is allowed."""
    alphas, _ = _forward(node, length, first, index, start, edge, dtype)
    none = start[:0].sum().to(dtype)  # 0, but in the graph where there are no positions
    value = torch.zeros(length.shape, dtype=dtype, device=node.device) + none
    for t, alpha in enumerate(alphas):
        ended = logsumexp((alpha + stop.to(dtype)).flatten(1), 1)
        value = torch.where(length == t + 1, ended, value)
    return torch.where(value == torch.inf, torch.nan, value)  # +inf is among the scores


@with_graphs
def marginals(
    node: Tensor,
    length: Tensor,
    first: Tensor | None,
    index: Tensor | None,
    start: Tensor,
    edge: Edges,
    stop: Tensor,
    weight: Tensor,
    create_graph: bool = False,
) -> tuple[Tensor, ...]:
    """Return the gradient of sum_b weight[b] log Z[b] by node, start, each table of edge, stop; and log Z."""
    with torch.enable_grad():
        edges = (edge,) if isinstance(edge, Tensor) else edge
        leaves = leaves_of([node, start, *edges, stop], create_graph)
        tables = leaves[2] if isinstance(edge, Tensor) else leaves[2:-1]
        logz = log_partition(leaves[0], length, first, index, leaves[1], tables, leaves[-1])
        total = (torch.where(logz.isinf(), 0.0, logz) * weight).sum()
        grads = torch.autograd.grad(total, leaves, create_graph=create_graph, materialize_grads=True)
    return (*grads, logz if create_graph else logz.detach())


@with_graphs
def hvp(
    node: Tensor,
    length: Tensor,
    first: Tensor | None,
    index: Tensor | None,
    start: Tensor,
    edge: Edges,
    stop: Tensor,
    weight: Tensor,
    *direction: Tensor,
    create_graph: bool = False,
) -> tuple[Tensor, ...]:
    """Return the Hessian of sum_b weight[b] log Z[b] times a direction, <marginals, direction>, and log Z.

    The direction has the order and the shapes of the gradient that `marginals` returns.
    """
    edges = (edge,) if isinstance(edge, Tensor) else tuple(edge)
    with torch.enable_grad():
        given = [node, start, *edges, stop, weight]
        leaves = leaves_of([x.double() for x in given], create_graph)  # as the direction
        *scores, weights = leaves
        tables = scores[2] if isinstance(edge, Tensor) else scores[2:-1]
        *grads, logz = marginals(
            scores[0], length, first, index, scores[1], tables, scores[-1], weights, create_graph=True
        )
        along = sum((g * v).sum() for g, v in zip(grads, direction, strict=True))
        products = torch.autograd.grad(along, leaves, create_graph=create_graph, materialize_grads=True)
        made = [x.to(of.dtype) for x, of in zip(products[:-1], given[:-1], strict=True)]
    return (*made, products[-1], logz if create_graph else logz.detach())


def loss(
    node: Tensor,
    length: Tensor,
    first: Tensor | None,
    index: Tensor | None,
    start: Tensor,
    edge: Edges,
    stop: Tensor,
    labels: Tensor,
) -> Tensor:
    """Return log Z minus log Z over the labelings that agree with `labels` [B, T] (negative: any label)."""
    other = torch.arange(node.shape[-1], device=node.device) != labels[..., None]
    clamped = node.masked_fill(other & (labels >= 0)[..., None], -torch.inf)
    free = log_partition(node, length, first, index, start, edge, stop)
    gold = log_partition(clamped, length, first, index, start, edge, stop)
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


def _first_best(candidates: Tensor) -> Tensor:
    top = candidates.amax(1, keepdim=True)
    number = torch.arange(candidates.shape[1], device=candidates.device)
    return torch.where(candidates == top, number, number[-1]).amin(1)


def best(
    node: Tensor,
    length: Tensor,
    first: Tensor | None,
    index: Tensor | None,
    start: Tensor,
    edge: Edges,
    stop: Tensor,
) -> tuple[Tensor, Tensor]:
    """Return the best labels at the rows of `node`, -1 where there are none; and scores [B].

    Ties go to the lowest label, from the last place to the first.
    """
    alphas, steps = _forward(node, length, first, index, start, edge, torch.float64, best=True)
    score = torch.zeros(length.shape, dtype=torch.float64, device=node.device)
    for t, alpha in enumerate(alphas):
        score = torch.where(length == t + 1, (alpha + stop).flatten(1).amax(1), score)
    labels = _trace(alphas, steps, length, stop, _first_best)
    labels = torch.where(score[:, None] == -torch.inf, -1, labels)
    return scattered(labels, node, length, first, index, -1), score


def sample(
    node: Tensor,
    length: Tensor,
    first: Tensor | None,
    index: Tensor | None,
    start: Tensor,
    edge: Edges,
    stop: Tensor,
    n: int,
    seed: Tensor,
) -> Tensor:
    """Return n independent draws at the rows of `node`, [B, n, T] or packed [n, P]; -1 as `best` does."""
    alphas, steps = _forward(node, length, first, index, start, edge, torch.float64)
    generator = torch.Generator(node.device).manual_seed(int(seed))

    def draw(candidates: Tensor) -> Tensor:
        top = candidates.amax(1, keepdim=True)
        chance = (candidates - torch.where(top.isinf(), 0.0, top)).exp()
        chance = torch.where(top.isinf(), 1.0, chance)  # nothing is allowed: see below
        return torch.multinomial(chance, 1, generator=generator)[:, 0]

    allowed = log_partition(node, length, first, index, start, edge, stop) > -torch.inf
    draws = []
    for _ in range(n):
        labels = torch.where(allowed[:, None], _trace(alphas, steps, length, stop, draw), -1)
        draws.append(scattered(labels, node, length, first, index, -1))
    return torch.stack(draws, 0 if first is not None else 1)


def kbest(
    node: Tensor,
    length: Tensor,
    first: Tensor | None,
    index: Tensor | None,
    start: Tensor,
    edge: Edges,
    stop: Tensor,
    k: int,
) -> tuple[Tensor, Tensor]:
    """Return the k best labelings, [B, k, T] or packed [k, P], -1 where there are fewer; and scores [B, k].

    Whole paths are kept for each state, so that nothing has to be traced.
    """
    x = padded_rows(node, length, first, index).double()  # [B, T, L]
    steps = Steps(edge, length, first, index, torch.float64)
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
    each = [scattered(labels[:, i], node, length, first, index, -1) for i in range(k)]
    return torch.stack(each, 0 if first is not None else 1), value
