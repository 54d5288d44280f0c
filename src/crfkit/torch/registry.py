"""Operators of torch: a schema, an implementation for each device, and what is returned without values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

__all__ = ["register"]

_LIBRARY = torch.library.Library("crfkit", "FRAGMENT")


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

    _LIBRARY.define(name + schema)
    _LIBRARY.impl(name, together(cpu), "CPU")
    _LIBRARY.impl(name, together(cuda), "CUDA")
    torch.library.register_fake(f"crfkit::{name}", together(fake))
    made: Callable[..., Any] = getattr(torch.ops.crfkit, name).default
    return made
