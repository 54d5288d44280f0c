"""Chains of order k: the operators of `crfkit.torch.ops` with a list of tables in the place of `edge`.

Table h of ``edges`` has h + 1 axes, ``[L, ..., L]``, over the last h + 1 labels; at place t the tables
1 to min(t, k) add up. On the CPU the native kernels answer; first derivatives are native too, second ones
are the reference's. On CUDA devices chains over histories do (`crfkit.torch.cuda.orders`), and the reference
where their table would be too large.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from crfkit import _native
from crfkit.torch import cpu, reference
from crfkit.torch.cuda import orders as histories
from crfkit.torch.tensors import Chains, chains_of

__all__ = ["best", "hvp", "kbest", "log_partition", "loss", "marginals", "sample"]


def hvp(
    node: Tensor,
    length: Tensor,
    first: Tensor | None,
    index: Tensor | None,
    start: Tensor,
    edges: Sequence[Tensor],
    stop: Tensor,
    weight: Tensor,
    *along: Tensor,
) -> tuple[Tensor, ...]:
    """Return the Hessian times a direction by the reference, and <marginals, direction> and log Z.

    A sequence with NaN or +inf among its scores has NaN for both, and no part in the products.
    """
    args = (node, length, first, index, start, edges, stop)
    with torch.no_grad():
        bad = log_partition(*args).isnan()
    weights = torch.where(bad, 0.0, weight)
    *made, dot, logz = reference.hvp(*reference.numbers(args), weights, *reference.numbers(along))
    return (*made, torch.where(bad, torch.nan, dot), torch.where(bad, torch.nan, logz))


def _check_tables(edges: Sequence[Tensor], L: int) -> None:
    if not edges:
        raise ValueError("edges is empty, expected a table for each order")
    for h, table in enumerate(edges, 1):
        if tuple(table.shape) != (L,) * (h + 1):
            raise ValueError(f"edges[{h - 1}] has shape {tuple(table.shape)}, expected {(L,) * (h + 1)}")


def _elsewhere(node: Tensor, edges: Sequence[Tensor]) -> Any:
    """Return the module that answers for tensors of other devices."""
    L = node.shape[-1]
    _check_tables(edges, L)
    few = histories.states(L, len(edges)) <= histories.MOST
    return histories if node.device.type == "cuda" and few else reference


def _native_chains(
    node: Tensor,
    length: Tensor,
    first: Tensor | None,
    index: Tensor | None,
    start: Tensor,
    edges: Sequence[Tensor],
    stop: Tensor,
) -> Chains:
    """Return chains whose table h is the sum of tables 1 to h, which is what a step of the sweep reads."""
    _check_tables(edges, node.shape[-1])
    totals: list[Tensor] = []
    for table in edges:
        wide = table.detach().double()
        totals.append(totals[-1] + wide if totals else wide)
    return chains_of(node, length, first, index, start, totals, stop)


def _by_table(made: Sequence[Tensor], edges: Sequence[Tensor]) -> list[Tensor]:
    """Return gradients by the tables from those by their sums: a sum of h tables counts for all of them."""
    grads: list[Tensor] = []
    for of_sum in reversed(made):
        grads.append(of_sum + grads[-1].sum(0) if grads else of_sum)
    return [g.to(table.dtype) for g, table in zip(reversed(grads), edges, strict=True)]


# Functions take (node, length, first, index, start, stop, weight or labels, *edges).
_Grads = tuple[Tensor | None, ...]


def _in_order(args: Sequence[Any]) -> tuple[Any, Any, Any, Any, Any, Any, Any]:
    node, length, first, index, start, stop, _, *edges = args
    return node, length, first, index, start, edges, stop


def _grads(made: Sequence[Tensor], of_seventh: Tensor | None = None) -> _Grads:
    node, start, *edges, stop = made
    return (node, None, None, None, start, stop, of_seventh, *edges)


def _native_gradient(args: Sequence[Any], labels: Tensor | None, weight: Tensor) -> list[Tensor]:
    edges = args[7:]
    _, made, _ = cpu.sums(_native_chains(*_in_order(args)), labels, weight)
    return [made[0], made[1], *_by_table(made[2:-1], edges), made[-1]]


class _Marginals(Function):
    @staticmethod
    def forward(ctx: Any, *args: Any) -> tuple[Tensor, ...]:
        ctx.save_for_backward(*args)
        return tuple(_native_gradient(args, None, args[6]))

    @staticmethod
    def backward(ctx: Any, *along: Tensor) -> _Grads:
        *made, dot, _ = hvp(*_in_order(ctx.saved_tensors), ctx.saved_tensors[6], *along)
        return _grads(made, dot.to(ctx.saved_tensors[6].dtype))


class _LogPartition(Function):
    @staticmethod
    def forward(ctx: Any, *args: Any) -> Tensor:
        ctx.save_for_backward(*args)
        return cpu.sums(_native_chains(*_in_order(args)), grad=False)[0]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> _Grads:
        args = ctx.saved_tensors
        return _grads(_Marginals.apply(*args[:6], grad, *args[7:]))


class _Losses(Function):
    @staticmethod
    def forward(ctx: Any, *args: Any) -> Tensor:
        ctx.save_for_backward(*args)
        return cpu.sums(_native_chains(*_in_order(args)), args[6], grad=False)[0]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> _Grads:
        args = ctx.saved_tensors
        if not torch.is_grad_enabled():
            return _grads(_native_gradient(args, args[6], grad))
        each = reference.loss(*_in_order(args), args[6])
        scores = [args[0], args[4], *args[7:], args[5]]
        wanted = [x for x in scores if x.requires_grad]
        total = (torch.where(each.isinf(), 0.0, each) * grad).sum()
        found = iter(torch.autograd.grad(total, wanted, create_graph=True, materialize_grads=True))
        return _grads([next(found) if x.requires_grad else torch.zeros_like(x) for x in scores])


def log_partition(
    node: Tensor,
    length: Tensor,
    first: Tensor | None,
    index: Tensor | None,
    start: Tensor,
    edges: Sequence[Tensor],
    stop: Tensor,
) -> Tensor:
    """Return log Z [B] in float64.

    Examples
    --------
    >>> node, zeros, length = torch.zeros(1, 3, 2), torch.zeros(2), torch.tensor([3], dtype=torch.int32)
    >>> tables = [torch.zeros(2, 2), torch.zeros(2, 2, 2)]
    >>> float(log_partition(node, length, None, None, zeros, tables, zeros).exp().round())
    8.0
    """
    if node.device.type != "cpu":
        elsewhere: Tensor = _elsewhere(node, edges).log_partition(
            node, length, first, index, start, edges, stop
        )
        return elsewhere
    value: Tensor = _LogPartition.apply(node, length, first, index, start, stop, None, *edges)
    return value


def _by_autograd(
    node: Tensor,
    length: Tensor,
    first: Tensor | None,
    index: Tensor | None,
    start: Tensor,
    edges: Sequence[Tensor],
    stop: Tensor,
    weight: Tensor,
) -> tuple[Tensor, ...]:
    scores = [node, start, *edges, stop]
    graph = torch.is_grad_enabled() and any(x.requires_grad for x in scores)
    leaves = [x if graph and x.requires_grad else x.detach().requires_grad_() for x in scores]
    with torch.enable_grad():
        logz = log_partition(leaves[0], length, first, index, leaves[1], leaves[2:-1], leaves[-1])
        total = (torch.where(logz.isinf(), 0.0, logz) * weight).sum()
        made: tuple[Tensor, ...] = torch.autograd.grad(
            total, leaves, create_graph=graph, materialize_grads=True
        )
    return made


def marginals(
    node: Tensor,
    length: Tensor,
    first: Tensor | None,
    index: Tensor | None,
    start: Tensor,
    edges: Sequence[Tensor],
    stop: Tensor,
    weight: Tensor,
) -> tuple[Tensor, ...]:
    """Return the gradient of sum_b weight[b] log Z[b] by node, start, each table and stop; differentiable."""
    if node.device.type != "cpu":
        return _by_autograd(node, length, first, index, start, edges, stop, weight)
    made: tuple[Tensor, ...] = _Marginals.apply(node, length, first, index, start, stop, weight, *edges)
    return made


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
    if node.device.type != "cpu":
        elsewhere: Tensor = _elsewhere(node, edges).loss(
            node, length, first, index, start, edges, stop, labels
        )
        return elsewhere
    each: Tensor = _Losses.apply(node, length, first, index, start, stop, labels, *edges)
    return each


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
    if node.device.type != "cpu":
        elsewhere: tuple[Tensor, Tensor] = _elsewhere(node, edges).best(
            node, length, first, index, start, edges, stop
        )
        return elsewhere
    chains = _native_chains(node, length, first, index, start, edges, stop)
    labels, score = cpu.labellings(chains, _native.best_of_tensors)
    return labels.view(node.shape[:-1]), score[:, 0]


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
    """Return the k best labellings, [B, k, T] or packed [k, P], and scores [B, k]."""
    cpu.check_count("k", k)
    if node.device.type != "cpu":
        elsewhere: tuple[Tensor, Tensor] = _elsewhere(node, edges).kbest(
            node, length, first, index, start, edges, stop, k
        )
        return elsewhere
    chains = _native_chains(node, length, first, index, start, edges, stop)
    return cpu.labellings(chains, _native.kbest_of_tensors, k)


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
    cpu.check_count("n", n)
    if node.device.type != "cpu":
        elsewhere: Tensor = _elsewhere(node, edges).sample(
            node, length, first, index, start, edges, stop, n, seed
        )
        return elsewhere
    chains = _native_chains(node, length, first, index, start, edges, stop)
    return cpu.labellings(chains, _native.sample_tensors, n, int(seed))[0]
