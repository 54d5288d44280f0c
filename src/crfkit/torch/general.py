"""The operators of chains and segments by the references in plain torch, on any device.

What answers where no kernel does, in the exact forms that the operators promise.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from crfkit.torch import reference, segment_paths
from crfkit.torch.autograd import gradient, leaves_of
from crfkit.torch.batches import Batch, Segments

__all__ = ["best", "hvp", "kbest", "log_partition", "loss", "marginals", "sample"]

hvp = reference.hvp


def _paths(batch: Batch) -> Any:
    return segment_paths if isinstance(batch, Segments) else reference


def best(batch: Batch) -> Any:
    """Return the best labels and scores; of segments, begins between them."""
    return _paths(batch).best(batch)


def kbest(batch: Batch, k: int) -> Any:
    """Return the k best labels and scores; of segments, begins between them."""
    return _paths(batch).kbest(batch, k)


def sample(batch: Batch, n: int, seed: Tensor) -> Any:
    """Return n draws; of segments, labels and begins."""
    return _paths(batch).sample(batch, n, seed)


def _in_logs(length: Tensor) -> Tensor:
    return torch.ones_like(length, dtype=torch.uint8)


def log_partition(batch: Batch) -> tuple[Tensor, Tensor]:
    """Return log Z and flags."""
    return reference.log_partition(batch), _in_logs(batch.length)


def marginals(batch: Batch, weight: Tensor) -> tuple[Tensor, ...]:
    """Return gradients, log Z and flags."""
    return (*reference.marginals(batch, weight), _in_logs(batch.length))


def loss(batch: Batch, *more: Any) -> tuple[Tensor, ...]:
    """Return the total, losses, gradients and flags; takes what the operators take."""
    *gold, weight, scale, grad = more
    leaves = leaves_of(batch.scores, False)
    with torch.enable_grad():
        each = reference.loss(batch.with_scores(leaves), *gold)
        weights = torch.full_like(each, scale) if weight is None else weight.double() * scale
        total = (torch.where(each.isfinite(), each, 0.0) * weights).sum()
        made = gradient(batch, total, leaves) if grad else batch.nothing()
    number = (each.detach() * weights).sum().to(batch.total_dtype)
    return (number, each.detach(), *made, _in_logs(batch.length))
