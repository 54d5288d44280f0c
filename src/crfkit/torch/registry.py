"""Operators of torch: a schema, an implementation for each device, and what is returned without values.

`ask` calls the implementation itself where nobody watches operators: the dispatcher costs as much as the sums
of a few sequences.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter

from crfkit.torch.rows import traced

__all__ = ["ask", "register"]

_LIBRARY = torch.library.Library("crfkit", "FRAGMENT")
_direct: dict[Any, tuple[Callable[..., Any], Callable[..., Any]]] = {}  # of operators: on the CPU, on CUDA


def register(
    name: str,
    schema: str,
    batch: type[Any],
    cpu: Callable[..., Any],
    cuda: Callable[..., Any],
    fake: Callable[..., Any],
) -> Callable[..., Any]:
    """Define ``torch.ops.crfkit.NAME`` and return it; `fake` makes empty tensors, for compilers.

    The first arguments are the fields of a batch, of which the implementations get one value.
    """
    fields = len(batch._fields)

    def together(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args: function(batch(*args[:fields]), *args[fields:])

    by_device = together(cpu), together(cuda)
    _LIBRARY.define(name + schema)
    _LIBRARY.impl(name, by_device[0], "CPU")
    _LIBRARY.impl(name, by_device[1], "CUDA")
    torch.library.register_fake(f"crfkit::{name}", together(fake))
    made: Callable[..., Any] = getattr(torch.ops.crfkit, name).default
    _direct[made] = by_device
    return made


def ask(operator: Callable[..., Any], *args: Any) -> Any:
    """Return what an operator answers, of plain tensors without the dispatcher.

    Graphs, modes (`FakeTensorMode`, `FlopCounterMode`, ...) and subclasses of tensors see the operator.
    """
    like = args[1] if args[0] is None else args[0]
    plain = like.__class__ is Tensor or like.__class__ is Parameter
    if plain and not traced() and not torch._C._len_torch_dispatch_stack():
        if like.is_cpu:
            return _direct[operator][0](*args)
        if like.is_cuda:
            return _direct[operator][1](*args)
    return operator(*args)
