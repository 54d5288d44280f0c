"""Chains of order k: queries of chains with a list of tables in the place of `edge`.

On the CPU the native kernels answer (`crfkit.torch.ops.order`). On CUDA devices chains over histories do
(`crfkit.torch.cuda.orders`), and the reference where their table would be too large: they are made of other
operators, and so are their derivatives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from crfkit.torch import ops
from crfkit.torch.autograd import gradient, leaves_of
from crfkit.torch.batches import Chain
from crfkit.torch.derivatives import LogPartition, Losses, Marginals, product
from crfkit.torch.structures import STRUCTURES, flat

__all__ = ["expected", "log_partition", "loss", "marginals"]


def _on_cpu(chain: Chain) -> bool:
    on_cpu: bool = chain.node.device.type == "cpu"
    return on_cpu


def log_partition(chain: Chain) -> Tensor:
    """Return log Z [B] in float64.

    Examples
    --------
    >>> node, zeros, length = torch.zeros(1, 3, 2), torch.zeros(2), torch.tensor([3], dtype=torch.int32)
    >>> tables = [torch.zeros(2, 2), torch.zeros(2, 2, 2)]
    >>> float(log_partition(Chain(node, length, None, None, zeros, tables, zeros)).exp().round())
    8.0
    """
    if _on_cpu(chain):
        value: Tensor = LogPartition.apply("order", *flat(chain))
    else:
        value = ops.elsewhere(chain).log_partition(chain)
    return value


def marginals(chain: Chain, weight: Tensor) -> tuple[Tensor, ...]:
    """Return the gradient of sum_b weight[b] log Z[b] by node, start, each table and stop; differentiable."""
    if _on_cpu(chain):
        made: tuple[Tensor, ...] = Marginals.apply("order", weight, *flat(chain))
        return made
    graph = torch.is_grad_enabled() and any(x.requires_grad for x in chain.scores)
    with torch.enable_grad():
        leaves = leaves_of(chain.scores, graph)
        logz = log_partition(chain.with_scores(leaves))
        total = (torch.where(logz.isinf(), 0.0, logz) * weight).sum()
        return tuple(gradient(chain, total, leaves, graph))


def loss(chain: Chain, labels: Tensor) -> Tensor:
    """Return losses [B] in float64; negative labels are unknown and summed over."""
    if _on_cpu(chain):
        each: Tensor = Losses.apply("order", labels, None, *flat(chain))
    else:
        each = ops.elsewhere(chain).loss(chain, labels)
    return each


class _Expected(Function):
    """<marginals, direction> and log Z, [B] each."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> tuple[Tensor, Tensor]:
        ctx.save_for_backward(*args)
        size = (len(args) + 3) // 2  # of fields; a direction has three less
        ones = torch.ones_like(args[1], dtype=torch.float64)
        *_, dot, logz = STRUCTURES["order"].ask("hvp", args[:size], ones, *args[size:])
        return dot, logz

    @staticmethod
    def backward(ctx: Any, grad: Tensor, of_logz: Tensor) -> tuple[Tensor | None, ...]:
        form, args = STRUCTURES["order"], ctx.saved_tensors
        size = (len(args) + 3) // 2
        fields, along = args[:size], args[size:]
        chain: Any = form.batch(fields)
        *made, _, _ = product("order", grad, fields, along)
        both = [a + b for a, b in zip(made, marginals(chain, of_logz), strict=True)]
        return (*form.grads(fields, both), *marginals(chain, grad))


def expected(chain: Chain, along: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Return the expectation of other scores (of node, start, each table and stop) and log Z; differentiable.

    Both are NaN where the scores of a sequence hold NaN or +inf.
    """
    found: tuple[Tensor, Tensor] = _Expected.apply(*flat(chain), *along)
    return found
