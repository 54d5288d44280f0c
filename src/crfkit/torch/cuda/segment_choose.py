"""The operators of `crfkit.torch.segment_ops` on CUDA devices: Triton kernels where they cover the sizes."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any

from torch import Tensor

__all__ = ["best", "hvp", "kbest", "log_partition", "loss", "marginals", "sample"]

KERNELS = frozenset({"best", "log_partition", "loss", "marginals", "sample"})
MOST_LABELS = 64
MOST_PLACES = 128  # of one segment


def covers(name: str, duration: Tensor) -> bool:
    """Return whether the kernels answer an operator for tables [D, L] of this size."""
    D, L = duration.shape
    return name in KERNELS and L <= MOST_LABELS and D <= MOST_PLACES


def run(name: str, *args: Any) -> Any:
    """Answer an operator."""
    # Kernels read vectors with stride 1; those that autograd expands (gradients of a sum) have stride 0.
    args = tuple(x.contiguous() if isinstance(x, Tensor) and x.ndim == 1 else x for x in args)
    module = "crfkit.torch.cuda.segments" if covers(name, args[8]) else "crfkit.torch.segment_general"
    return getattr(import_module(module), name)(*args)


best = partial(run, "best")
hvp = partial(run, "hvp")
kbest = partial(run, "kbest")
log_partition = partial(run, "log_partition")
loss = partial(run, "loss")
marginals = partial(run, "marginals")
sample = partial(run, "sample")
