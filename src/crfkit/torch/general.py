"""The operators of `crfkit.torch.ops` by the reference in plain torch, on any device.

What answers where no kernel does, in the exact forms that the operators promise.
"""

from __future__ import annotations

import torch
from torch import Tensor

from crfkit.torch import reference

__all__ = ["best", "hvp", "kbest", "log_partition", "loss", "marginals", "sample"]

best = reference.best
kbest = reference.kbest
sample = reference.sample
hvp = reference.hvp


def _in_logs(length: Tensor) -> Tensor:
    return torch.ones_like(length, dtype=torch.uint8)


def log_partition(
    node: Tensor,
    length: Tensor,
    first: Tensor | None,
    index: Tensor | None,
    start: Tensor,
    edge: Tensor,
    stop: Tensor,
) -> tuple[Tensor, Tensor]:
    """Return log Z and flags."""
    return reference.log_partition(node, length, first, index, start, edge, stop), _in_logs(length)


def marginals(
    node: Tensor,
    length: Tensor,
    first: Tensor | None,
    index: Tensor | None,
    start: Tensor,
    edge: Tensor,
    stop: Tensor,
    weight: Tensor,
) -> tuple[Tensor, ...]:
    """Return gradients, log Z and flags."""
    made = reference.marginals(node, length, first, index, start, edge, stop, weight)
    return (*made, _in_logs(length))


def loss(
    node: Tensor,
    length: Tensor,
    first: Tensor | None,
    index: Tensor | None,
    start: Tensor,
    edge: Tensor,
    stop: Tensor,
    labels: Tensor,
    weight: Tensor | None,
    scale: float,
    grad: bool,
) -> tuple[Tensor, ...]:
    """Return the total, losses, gradients and flags."""
    scores = [x.detach().requires_grad_() for x in (node, start, edge, stop)]
    with torch.enable_grad():
        each = reference.loss(scores[0], length, first, index, scores[1], scores[2], scores[3], labels)
        weights = torch.full_like(each, scale) if weight is None else weight.double() * scale
        finite = torch.where(each.isinf(), 0.0, each)
        total = (finite * weights).sum()
        if grad:
            made = torch.autograd.grad(total, scores, materialize_grads=True)
        else:
            made = tuple(node.new_empty(0) for _ in scores)
    wide = torch.float64 in (node.dtype, edge.dtype)
    number = (each.detach() * weights).sum().to(torch.float64 if wide else torch.float32)
    return (number, each.detach(), *made, _in_logs(length))
