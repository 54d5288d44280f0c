"""Operators of torch: a schema, an implementation for each device, and what is returned without values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

__all__ = ["register"]

_LIBRARY = torch.library.Library("crfkit", "FRAGMENT")


def register(
    name: str,
    arguments: str,
    returns: str,
    cpu: Callable[..., Any],
    cuda: Callable[..., Any] | None,
    fake: Callable[..., Any],
) -> Callable[..., Any]:
    """Define ``torch.ops.crfkit.NAME`` and return it; `fake` makes empty tensors, for compilers.

    Without `cuda` the operator is one of the CPU alone.
    """
    _LIBRARY.define(f"{name}({arguments}) -> {returns}")
    _LIBRARY.impl(name, cpu, "CPU")
    if cuda is not None:
        _LIBRARY.impl(name, cuda, "CUDA")
    torch.library.register_fake(f"crfkit::{name}", fake)
    made: Callable[..., Any] = getattr(torch.ops.crfkit, name).default
    return made
