"""The operators of `crfkit.torch.segment_ops` by the reference in plain torch, on any device."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from crfkit.torch import segment_paths, segment_reference
from crfkit.torch.segment_reference import total_dtype

__all__ = ["best", "hvp", "kbest", "log_partition", "loss", "marginals", "sample"]

best = segment_paths.best
kbest = segment_paths.kbest
sample = segment_paths.sample
hvp = segment_reference.hvp


def _in_logs(length: Tensor) -> Tensor:
    return torch.ones_like(length, dtype=torch.uint8)


def log_partition(*args: Any) -> tuple[Tensor, Tensor]:
    """Return log Z and flags."""
    return segment_reference.log_partition(*args), _in_logs(args[2])


def marginals(*args: Any) -> tuple[Tensor, ...]:
    """Return gradients, log Z and flags."""
    return (*segment_reference.marginals(*args), _in_logs(args[2]))


def loss(*args: Any) -> tuple[Tensor, ...]:
    """Return the total, losses, gradients and flags."""
    *all_scores, labels, begins, weight, scale, grad = args
    given = (*all_scores[:2], *all_scores[5:])
    leaves: list[Any] = [None if x is None else x.detach().requires_grad_() for x in given]
    with torch.enable_grad():
        scores: tuple[Any, ...] = (*leaves[:2], *all_scores[2:5], *leaves[2:], labels, begins)
        each = segment_reference.loss(*scores)
        weights = torch.full_like(each, scale) if weight is None else weight.double() * scale
        total = (torch.where(torch.isfinite(each), each, 0.0) * weights).sum()
        made = [all_scores[5].new_empty(0) for _ in leaves]
        if grad:
            wanted = [x for x in leaves if x is not None]
            found = iter(torch.autograd.grad(total, wanted, materialize_grads=True))
            made = [y if x is None else next(found) for x, y in zip(leaves, made, strict=True)]
    each = each.detach()
    number = (each * weights).sum().to(total_dtype(given[0], given[1], given[3]))
    return (number, each, *made, _in_logs(args[2]))
