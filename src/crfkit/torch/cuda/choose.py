"""Which kernels answer which operator: the first row of the table that covers the sizes.

Triton is imported when the first operator runs on a CUDA device. A crossover stands beside its row, with what
was measured (docs/speed.md).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from importlib import import_module
from typing import Any, NamedTuple

import torch
from torch import Tensor

from crfkit.torch.batches import Batch, Chain, Segments
from crfkit.torch.cpu import check_tables

__all__ = ["CELLS", "TABLE", "Sizes", "run"]


CELLS = 2**31  # of a table: kernels count them in 32 bits


class Sizes(NamedTuple):
    """What the choice may depend on: never on values, which would have to be fetched from the device."""

    B: int
    T: int  # padded: the width; packed: the mean length
    L: int
    by_position: bool  # a table of edges for each step


def sizes_of(chain: Chain) -> Sizes:
    """Return the sizes of a call."""
    node, B = chain.node, chain.length.shape[0]
    T = node.shape[1] if chain.first is None else -(-node.shape[0] // max(B, 1))
    return Sizes(B, T, node.shape[-1], chain.edge.ndim > 2)


def _few_and_long(s: Sizes) -> bool:
    """Whether a scan over chunks, which does L times the work, ends before one program for each sequence."""
    return not s.by_position and s.L <= 64 and (1024 if s.L <= 16 else 512) <= s.T and s.B * s.L <= 3072


# Module of crfkit.torch.cuda, its operators, the sizes that it is for.
_SUMS = frozenset({"log_partition", "loss", "marginals"})
TABLE: list[tuple[str, frozenset[str], Callable[[Sizes], bool]]] = [
    # ms on an H200, chunks / small: 23 labels 64 x 512 0.29 / 0.56, 256 x 512 0.76 / 0.57; 9 labels
    # 64 x 512 0.44 / 0.30, 64 x 2048 0.46 / 1.14, 256 x 2048 0.97 / 1.22; 45 labels 64 x 1024 1.9 / 5.2
    ("chunks", _SUMS, _few_and_long),
    ("small", _SUMS, lambda s: not s.by_position and s.L <= 64),
    ("by_position", _SUMS, lambda s: s.by_position and s.L <= 1024),
    ("paths", frozenset({"best", "sample"}), lambda s: True),
    # 64 x 128, 512 labels: 2.0 ms, against 3.2 by steps; 32 x 512, 1000 labels: 33 ms against 13 (H200)
    ("streamed", _SUMS, lambda s: not s.by_position and 64 < s.L <= 512),
    ("wide", _SUMS, lambda s: not s.by_position and s.L > 512),
    ("curvature", frozenset({"hvp"}), lambda s: s.L <= 64),
]


SEGMENT_KERNELS = frozenset({"best", "log_partition", "loss", "marginals", "sample"})
MOST_LABELS = 64
MOST_PLACES = 128  # of one segment


@cache
def _function(module: str, name: str) -> Callable[..., Any]:
    function: Callable[..., Any] = getattr(import_module(module), name)
    return function


@lru_cache(1024)
def _covering(name: str, sizes: Sizes) -> str:
    fits = (f"cuda.{module}" for module, names, covers in TABLE if name in names and covers(sizes))
    return next(fits, "general")


def _addressable(x: Any) -> Any:
    """Return a tensor that kernels can address.

    They read vectors with stride 1; those that autograd expands (gradients of a sum) have stride 0. Places
    within a table are counted in 32 bits, which a slice of something large may exceed.
    """
    if not isinstance(x, Tensor) or x.ndim == 0:
        return x
    if x.ndim == 1:
        return x.contiguous()
    reach = max(x.shape[-2] * x.stride(-2), x.shape[-1] * x.stride(-1))
    return x if reach < CELLS else x.contiguous()


def _of_chains(name: str, chain: Chain) -> str:
    """Return the module that answers an operator of chains."""
    if isinstance(chain.edge, list):
        histories = import_module("crfkit.torch.cuda.orders")  # which needs the operators of order 1
        check_tables(chain.edge, chain.node.shape[-1])
        return "cuda.orders" if histories.covers(name, chain) else "general"
    sizes = sizes_of(chain)
    if sizes.L**2 >= CELLS:
        raise ValueError(
            f"node has {sizes.L} labels: a table of their steps has {sizes.L**2} cells, and kernels of CUDA "
            f"devices address less than {CELLS}; take fewer labels, or the CPU"
        )
    return _covering(name, sizes)


def _of_segments(name: str, segments: Segments) -> str:
    D, L = segments.duration.shape
    return "cuda.segments" if name in SEGMENT_KERNELS and L <= MOST_LABELS and D <= MOST_PLACES else "general"


def run(name: str, batch: Batch, *more: Any) -> Any:
    """Answer an operator by the kernels for its sizes, on the device of the scores."""
    more = tuple(map(_addressable, more))
    if isinstance(batch, Segments):
        batch = Segments(*(x.contiguous() if x is not None and x.ndim == 1 else x for x in batch))
        module = _of_segments(name, batch)
    else:
        batch = Chain(*batch[:3], *map(_addressable, batch[3:]))
        module = _of_chains(name, batch)
    answer = _function(f"crfkit.torch.{module}", name)
    device = batch.start.device
    if not batch.start.is_cuda or device.index == torch.cuda.current_device():
        return answer(batch, *more)
    with torch.cuda.device(device):  # Triton launches on the current device
        return answer(batch, *more)
