"""The operators of chains of order 1, `torch.ops.crfkit.*`: one schema, one implementation for each device.

All take ``node, length, first, index, start, edge, stop``:

==========  ==================================================================================================
node        [B, T, L] with any strides but 1 for labels, or packed [P, L]; float16, bfloat16, float32, float64
length      [B] int32: positions of each chain
first       [B] int64 or None: the row of `node` where a packed sequence begins
index       [B, T] int32 or None: where the places of a chain lie (`crfkit.torch.rows`)
start, stop [L] float32 or float64
edge        [L, L] as ``edge[from, to]``; or, with any strides, [B, T, L, L] (packed: [P, L, L]) whose entry t
            is the step into row t, or [B, T - 1, L, L] whose entry t is the step from row t to row t + 1
==========  ==================================================================================================

and answer in these forms: values (log Z, losses, scores) [B] float64; gradients shaped and typed as what they
are gradients of, 0 at rows that are in no chain; labels int64 [B, T] or packed [P], -1 at such rows and where
nothing is allowed. An empty sequence has one labeling, of score 0. Where nothing is allowed log Z is -inf,
the loss +inf, and all gradients of that sequence are 0. NaN or +inf among the scores of a sequence makes its
own values NaN; on the CPU all gradients of that sequence are 0, on CUDA devices they may be NaN. Every
implementation is deterministic: sums over sequences are made in their order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from crfkit.torch import cpu, cuda
from crfkit.torch.registry import register

__all__ = ["best", "hvp", "kbest", "log_partition", "loss", "marginals", "sample"]

_CHAIN = "Tensor node, Tensor length, Tensor? first, Tensor? index, Tensor start, Tensor edge, Tensor stop"
_GRADIENT = "Tensor node, Tensor start, Tensor edge, Tensor stop"

# Name: what follows the arguments of a chain, and what is returned.
_SCHEMAS = {
    # log Z, and 1 where it was summed in log space
    "log_partition": ("", "(Tensor logz, Tensor in_logs)"),
    # sum_b scale * weight[b] * loss[b] as one number; losses; the number's gradient (empty without `grad`)
    "loss": (
        ", Tensor labels, Tensor? weight, float scale, bool grad",
        f"(Tensor total, Tensor loss, {_GRADIENT}, Tensor in_logs)",
    ),
    # the gradient of sum_b weight[b] * log Z[b], and log Z
    "marginals": (", Tensor weight", f"({_GRADIENT}, Tensor logz, Tensor in_logs)"),
    # the Hessian of that times a direction; <marginals, direction> and log Z of each sequence
    "hvp": (
        ", Tensor weight, Tensor along_node, Tensor along_start, Tensor along_edge, Tensor along_stop",
        f"({_GRADIENT}, Tensor dot, Tensor logz)",
    ),
    # the best labeling; ties go to the lowest label, from the last position to the first
    "best": ("", "(Tensor labels, Tensor score)"),
    # [B, k, T] or packed [k, P], and scores [B, k], -inf beyond those that exist
    "kbest": (", int k", "(Tensor labels, Tensor score)"),
    # [B, n, T] or packed [n, P]; seed [1] int64 on the device of node
    "sample": (", int n, Tensor seed", "Tensor labels"),
}


def _values(node: Tensor, length: Tensor) -> Tensor:
    return node.new_empty(length.shape, dtype=torch.float64)


def _flags(node: Tensor, length: Tensor) -> Tensor:
    return node.new_empty(length.shape, dtype=torch.uint8)


def _gradients(node: Tensor, start: Tensor, edge: Tensor, stop: Tensor) -> tuple[Tensor, ...]:
    return tuple(x.new_empty(x.shape) for x in (node, start, edge, stop))


def _total_dtype(node: Tensor, edge: Tensor) -> torch.dtype:
    wide = torch.float64 in (node.dtype, edge.dtype)
    return torch.float64 if wide else torch.float32


# What each operator returns, without values: for torch.compile and torch.export.
def _fake_log_partition(node: Tensor, length: Tensor, *rest: Any) -> tuple[Tensor, ...]:
    return _values(node, length), _flags(node, length)


def _fake_loss(
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
    made = _gradients(node, start, edge, stop) if grad else tuple(node.new_empty(0) for _ in range(4))
    total = node.new_empty((), dtype=_total_dtype(node, edge))
    return (total, _values(node, length), *made, _flags(node, length))


def _fake_marginals(
    node: Tensor,
    length: Tensor,
    first: Tensor | None,
    index: Tensor | None,
    start: Tensor,
    edge: Tensor,
    stop: Tensor,
    weight: Tensor,
) -> tuple[Tensor, ...]:
    return (*_gradients(node, start, edge, stop), _values(node, length), _flags(node, length))


def _fake_hvp(
    node: Tensor,
    length: Tensor,
    first: Tensor | None,
    index: Tensor | None,
    start: Tensor,
    edge: Tensor,
    stop: Tensor,
    *rest: Any,
) -> tuple[Tensor, ...]:
    return (*_gradients(node, start, edge, stop), _values(node, length), _values(node, length))


def _fake_best(node: Tensor, length: Tensor, *rest: Any) -> tuple[Tensor, ...]:
    return node.new_empty(node.shape[:-1], dtype=torch.int64), _values(node, length)


def _many(node: Tensor, first: Tensor | None, count: int) -> Tensor:
    shape = (count, node.shape[0]) if first is not None else (node.shape[0], count, node.shape[1])
    return node.new_empty(shape, dtype=torch.int64)


def _fake_kbest(node: Tensor, length: Tensor, first: Tensor | None, *rest: Any) -> tuple[Tensor, ...]:
    score = node.new_empty((length.shape[0], rest[-1]), dtype=torch.float64)
    return _many(node, first, rest[-1]), score


def _fake_sample(node: Tensor, length: Tensor, first: Tensor | None, *rest: Any) -> Tensor:
    return _many(node, first, rest[-2])


_FAKES: dict[str, Callable[..., Any]] = {
    "log_partition": _fake_log_partition,
    "loss": _fake_loss,
    "marginals": _fake_marginals,
    "hvp": _fake_hvp,
    "best": _fake_best,
    "kbest": _fake_kbest,
    "sample": _fake_sample,
}


def _register(name: str) -> Callable[..., Any]:
    more, returns = _SCHEMAS[name]
    devices = getattr(cpu, name), getattr(cuda, name)
    return register(f"chain_{name}", _CHAIN + more, returns, *devices, _FAKES[name])


log_partition = _register("log_partition")
loss = _register("loss")
marginals = _register("marginals")
hvp = _register("hvp")
best = _register("best")
kbest = _register("kbest")
sample = _register("sample")
