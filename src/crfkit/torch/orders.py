"""Chains of order k: the queries of `crfkit.torch.ops` with a list of tables in the place of `edge`.

On the CPU the native kernels answer (`crfkit.torch.order_ops`); first derivatives are native too, further
ones are the reference's. On CUDA devices chains over histories do (`crfkit.torch.cuda.orders`), and the
reference where their table would be too large.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from crfkit.torch import order_ops as ops
from crfkit.torch import reference
from crfkit.torch.curvature import Products, product, sound

__all__ = ["best", "expected", "kbest", "log_partition", "loss", "marginals", "sample"]

best = ops.best
kbest = ops.kbest
sample = ops.sample

# Functions take (node, length, first, index, start, stop, weight or labels, *edges, and what else there is).
_Grads = tuple[Tensor | None, ...]


def _in_order(args: Sequence[Any]) -> tuple[Any, Any, Any, Any, Any, Any, Any]:
    node, length, first, index, start, stop, _, *edges = args
    return node, length, first, index, start, edges, stop


def _grads(made: Sequence[Tensor], of_seventh: Tensor | None = None) -> _Grads:
    node, start, *edges, stop = made
    return (node, None, None, None, start, stop, of_seventh, *edges)


def _split(args: Sequence[Any]) -> tuple[tuple[Any, ...], list[Any]]:
    """Return the arguments of a chain, and the direction behind them: node, start, each table, stop."""
    order = (len(args) - 10) // 2
    return tuple(args[: 7 + order]), list(args[7 + order :])


def _by_operator(*args: Any) -> tuple[Tensor, ...]:
    chain, along = _split(args)
    made, dot, logz = ops.hvp(*_in_order(chain), chain[6], along)
    return (*made, dot, logz)


def _by_reference(*args: Any) -> tuple[Tensor, ...]:
    chain, along = _split(args)
    with torch.no_grad():
        bad = log_partition(*_in_order(chain)).isnan()
    return sound(reference.hvp, bad, _in_order(chain), chain[6], along, create_graph=True)


_PRODUCTS = Products(_by_operator, _by_reference)


class _Marginals(Function):
    @staticmethod
    def forward(ctx: Any, *args: Any) -> tuple[Tensor, ...]:
        ctx.save_for_backward(*args)
        return tuple(ops.marginals(*_in_order(args), args[6]))

    @staticmethod
    def backward(ctx: Any, *along: Tensor) -> _Grads:
        args = ctx.saved_tensors
        *made, dot, _ = product(_PRODUCTS, *args, *along)
        return _grads(made, dot.to(args[6].dtype))


class _LogPartition(Function):
    @staticmethod
    def forward(ctx: Any, *args: Any) -> Tensor:
        ctx.save_for_backward(*args)
        logz: Tensor = ops.log_partition(*_in_order(args))
        return logz

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> _Grads:
        return _grads(marginals(*_in_order(ctx.saved_tensors), grad))


class _Losses(Function):
    @staticmethod
    def forward(ctx: Any, *args: Any) -> Tensor:
        ctx.save_for_backward(*args)
        each: Tensor = ops.loss(*_in_order(args), args[6], None, False)[0]
        return each

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> _Grads:
        args = ctx.saved_tensors
        if not torch.is_grad_enabled():
            return _grads(ops.loss(*_in_order(args), args[6], grad, True)[1])
        with torch.no_grad():
            bad = ops.log_partition(*_in_order(args)).isnan()
        leaves = reference.leaves_of(args, True)
        each = reference.loss(*_in_order(reference.numbers(leaves)), args[6])
        total = (torch.where(bad | each.isinf(), 0.0, each) * grad).sum()
        scores = [leaves[0], leaves[4], *leaves[7:], leaves[5]]
        return _grads(torch.autograd.grad(total, scores, create_graph=True, materialize_grads=True))


class _Expected(Function):
    """<marginals, direction> and log Z, [B] each."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> tuple[Tensor, Tensor]:
        ctx.save_for_backward(*args)
        chain, along = _split(args)
        ones = torch.ones_like(args[1], dtype=torch.float64)
        _, dot, logz = ops.hvp(*_in_order(chain), ones, along)
        return dot, logz

    @staticmethod
    def backward(ctx: Any, grad: Tensor, of_logz: Tensor) -> _Grads:
        chain, along = _split(ctx.saved_tensors)
        made = product(_PRODUCTS, *chain[:6], grad, *chain[7:], *along)[:-2]
        plain = marginals(*_in_order(chain), of_logz)
        by_along = marginals(*_in_order(chain), grad)
        return (*_grads([a + b for a, b in zip(made, plain, strict=True)]), *by_along)


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
        elsewhere: Tensor = ops.elsewhere(node, edges).log_partition(
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
    with torch.enable_grad():
        leaves = reference.leaves_of(scores, graph)
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
    if not torch.is_grad_enabled():
        return tuple(ops.marginals(node, length, first, index, start, edges, stop, weight))
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
        elsewhere: Tensor = ops.elsewhere(node, edges).loss(
            node, length, first, index, start, edges, stop, labels
        )
        return elsewhere
    each: Tensor = _Losses.apply(node, length, first, index, start, stop, labels, *edges)
    return each


def expected(args: Sequence[Any], along: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Return the expectation of other scores (of node, start, each table and stop) and log Z; differentiable.

    `args` are those of `log_partition`. Both are NaN where the scores of a sequence hold NaN or +inf.
    """
    node, length, first, index, start, edges, stop = args
    found: tuple[Tensor, Tensor] = _Expected.apply(
        node, length, first, index, start, stop, None, *edges, *along
    )
    return found
