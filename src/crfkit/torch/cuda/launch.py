"""Launches of Triton kernels without what Triton does for each call: to bind, classify and hash arguments.

A kernel must not be specialised on the values of its arguments (`do_not_specialize`: all of them): then their
types alone say which compiled kernel it is.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
import triton
from torch import Tensor
from triton.runtime.jit import JITFunction

__all__ = ["launch"]

# Since Triton 3.3 compiled kernels take all arguments, constants included.
_DIRECT = tuple(int(x) for x in triton.__version__.split(".")[:2]) >= (3, 3)


@cache
def _compiled(kernel: Any, kinds: tuple[Any, ...], constants: tuple[Any, ...], warps: int, _: int) -> Any:
    return kernel.warmup(*kinds, *constants, num_warps=warps, grid=(1,))


def launch(kernel: Any, blocks: int, args: tuple[Any, ...], constants: tuple[Any, ...], warps: int) -> None:
    """Run `blocks` programs of a kernel on arguments and, behind them, constants."""
    if not _DIRECT or not isinstance(kernel, JITFunction):
        kernel[(blocks,)](*args, *constants, num_warps=warps)
        return
    kinds: list[Any] = []  # what stands for an argument when its kernel is compiled
    values: list[Any] = []  # tensors as addresses, which are passed on without questions
    for x in args:
        if isinstance(x, Tensor):
            kinds.append(x.dtype)
            values.append(x.data_ptr())
        else:
            large = x.__class__ is int and x > 0x7FFFFFFF
            kinds.append(1 << 40 if large else 2 if x.__class__ is int else None if x is None else 0.5)
            values.append(x)
    compiled = _compiled(kernel, tuple(kinds), constants, warps, torch.cuda.current_device())
    compiled[(blocks, 1, 1)](*values, *constants)
