"""Gradients by autograd of what is written in plain torch: leaves, sums in log space, threads with graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from typing import Any, TypeVar

import torch
from torch import Tensor

from crfkit.torch.batches import Batch

__all__ = ["gradient", "leaves_of", "logsumexp", "numbers", "with_graphs"]

_Answer = TypeVar("_Answer")


def _each(x: Any, function: Callable[[Tensor], Tensor]) -> Any:
    """Return tensors in lists of lists with a function applied to them; what is not a tensor stays."""
    if isinstance(x, tuple) and hasattr(x, "_fields"):  # a batch
        return type(x)(*(_each(one, function) for one in x))
    if isinstance(x, list | tuple):
        return [_each(one, function) for one in x]
    return function(x) if isinstance(x, Tensor) else x


def numbers(x: Any) -> Any:
    """Return scores with 0 for NaN and +inf, which have no gradient then."""

    def sound(one: Tensor) -> Tensor:
        if not one.dtype.is_floating_point:
            return one
        return torch.where(one.isnan() | (one == torch.inf), 0.0, one)

    return _each(x, sound)


def leaves_of(tensors: Sequence[Any], graph: bool, wanted: Sequence[bool] | None = None) -> list[Any]:
    """Return what a gradient is taken by: aliases in the graph of the tensors, or copies outside of it.

    Never the tensors themselves: one may be made of another, or be given twice, and a gradient by each of
    them would count the way from the one to the other too.
    """

    def leaf(x: Any, needed: bool) -> Any:
        if not isinstance(x, Tensor) or not x.dtype.is_floating_point:
            return x
        if graph and x.requires_grad:
            return x.view_as(x)
        return x.detach().requires_grad_(needed)

    return [leaf(x, wanted is None or wanted[i]) for i, x in enumerate(tensors)]


def with_graphs(function: Callable[..., _Answer]) -> Callable[..., _Answer]:
    """Let a function that makes gradients by autograd answer where autograd is off, without a graph.

    It is off in `torch.inference_mode`, and within operators under a `TorchDispatchMode` such as
    `FlopCounterMode`. These are settings of a thread, so that another one answers.
    """

    @wraps(function)
    def outside(*args: Any, **how: Any) -> _Answer:
        if torch.compiler.is_compiling() or _autograd_is_on():
            return function(*args, **how)
        stream = torch.cuda.current_stream() if torch.cuda.is_initialized() else None

        def answer() -> _Answer:
            with torch.cuda.stream(stream):
                return function(*_each(args, lambda x: x.clone().detach()), **how)

        with ThreadPoolExecutor(1) as thread:
            return thread.submit(answer).result()

    return outside


def _autograd_is_on() -> bool:
    with torch.enable_grad():
        return bool((torch.zeros((), requires_grad=True) * 1).requires_grad)


def logsumexp(x: Tensor, dim: int) -> Tensor:
    """Return log sum exp, -inf where all is -inf, with gradients that are never NaN there."""
    top = x.detach().amax(dim, keepdim=True)
    top = torch.where(top.isinf(), 0.0, top)
    total = (x - top).exp().sum(dim)
    empty = total == 0
    return torch.where(empty, -torch.inf, torch.where(empty, 1.0, total).log()) + top.squeeze(dim)


def gradient(batch: Batch, total: Tensor, leaves: Sequence[Any], graph: bool = False) -> list[Tensor]:
    """Return the gradient of one number by all leaves, empty where one is None."""
    given = [x for x in leaves if x is not None]
    found = iter(torch.autograd.grad(total, given, create_graph=graph, materialize_grads=True))
    return [batch.start.new_empty(0) if x is None else next(found) for x in leaves]
