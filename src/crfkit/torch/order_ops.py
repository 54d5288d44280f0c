"""The operators of chains of order k, `torch.ops.crfkit.order_*`: those of `crfkit.torch.ops` with tables.

Table h of ``edges`` has h + 1 axes, ``[L, ..., L]``, over the last h + 1 labels; at place t the tables 1 to
min(t, k) add up. Gradients are lists: by node, start, each table and stop. On CUDA devices chains over
histories answer (`crfkit.torch.cuda.orders`), or the reference where their table would be too large; sums
there are made of other operators (`crfkit.torch.orders`), so that they have none of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from crfkit.torch import order_cpu, reference
from crfkit.torch.cuda import orders as histories
from crfkit.torch.curvature import sound
from crfkit.torch.registry import register

__all__ = ["best", "elsewhere", "hvp", "kbest", "log_partition", "loss", "marginals", "sample"]

_CHAIN = "Tensor node, Tensor length, Tensor? first, Tensor? index, Tensor start, Tensor[] edges, Tensor stop"


def elsewhere(node: Tensor, edges: Sequence[Tensor]) -> Any:
    """Return the module that answers for tensors of other devices than the CPU."""
    L = node.shape[-1]
    order_cpu.check_tables(edges, L)
    few = histories.states(L, len(edges)) <= histories.MOST
    return histories if node.device.type == "cuda" and few else reference


def _on_cuda(name: str, *args: Any) -> Any:
    return getattr(elsewhere(args[0], args[5]), name)(*args)


def _hvp(*args: Any) -> tuple[list[Tensor], Tensor, Tensor]:
    *chain, weight, along = args
    where = order_cpu if args[0].device.type == "cpu" else elsewhere(args[0], args[5])
    bad = where.log_partition(*chain).isnan()
    *made, dot, logz = sound(reference.hvp, bad, chain, weight, along)
    return made, dot, logz


def _values(args: tuple[Any, ...]) -> Tensor:
    return args[0].new_empty(args[1].shape, dtype=torch.float64)


def _gradients(args: tuple[Any, ...]) -> list[Tensor]:
    return [x.new_empty(x.shape) for x in (args[0], args[4], *args[5], args[6])]


def _many(args: tuple[Any, ...], count: int) -> Tensor:
    node, packed = args[0], args[2] is not None
    shape = (count, node.shape[0]) if packed else (node.shape[0], count, node.shape[1])
    return node.new_empty(shape, dtype=torch.int64)


# What each operator returns, without values: for torch.compile and torch.export.
def _fake_loss(*args: Any) -> tuple[Tensor, list[Tensor]]:
    return _values(args), _gradients(args) if args[-1] else []


def _fake_hvp(*args: Any) -> tuple[list[Tensor], Tensor, Tensor]:
    return _gradients(args), _values(args), _values(args)


def _fake_best(*args: Any) -> tuple[Tensor, Tensor]:
    return args[0].new_empty(args[0].shape[:-1], dtype=torch.int64), _values(args)


def _fake_kbest(*args: Any) -> tuple[Tensor, Tensor]:
    return _many(args, args[-1]), args[0].new_empty((args[1].shape[0], args[-1]), dtype=torch.float64)


def _register(
    name: str, more: str, returns: str, fake: Callable[..., Any], cuda: bool = True
) -> Callable[..., Any]:
    by = partial(_on_cuda, name) if cuda else None
    return register(f"order_{name}", _CHAIN + more, returns, getattr(order_cpu, name), by, fake)


log_partition = _register("log_partition", "", "Tensor logz", lambda *args: _values(args), cuda=False)
# losses, and the gradient of their weighted sum (empty without `grad`)
loss = _register(
    "loss",
    ", Tensor labels, Tensor? weight, bool grad",
    "(Tensor loss, Tensor[] gradient)",
    _fake_loss,
    cuda=False,
)
marginals = _register(
    "marginals", ", Tensor weight", "Tensor[] gradient", lambda *args: _gradients(args), cuda=False
)
# by the reference; a sequence with NaN or +inf among its scores has NaN, and no part in the products
hvp = register(
    "order_hvp",
    _CHAIN + ", Tensor weight, Tensor[] along",
    "(Tensor[] products, Tensor dot, Tensor logz)",
    _hvp,
    _hvp,
    _fake_hvp,
)
best = _register("best", "", "(Tensor labels, Tensor score)", _fake_best)
kbest = _register("kbest", ", int k", "(Tensor labels, Tensor score)", _fake_kbest)
sample = _register("sample", ", int n, Tensor seed", "Tensor labels", lambda *args: _many(args, args[-2]))
