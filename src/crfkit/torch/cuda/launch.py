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


def _kind(x: Any) -> Any:
    """Return what stands for an argument when its kernel is compiled."""
    if x.__class__ is int:
        return 1 << 40 if x > 0x7FFFFFFF else 2
    return x.dtype if isinstance(x, Tensor) else x if x is None else 0.5


@cache
def _compiled(kernel: Any, kinds: tuple[Any, ...], constants: tuple[Any, ...], warps: int, _: int) -> Any:
    return kernel.warmup(*kinds, *constants, num_warps=warps, grid=(1,))


def launch(kernel: Any, blocks: int, args: tuple[Any, ...], constants: tuple[Any, ...], warps: int) -> None:
    """Run `blocks` programs of a kernel on arguments and, behind them, constants."""
    if not _DIRECT or not isinstance(kernel, JITFunction):
        kernel[(blocks,)](*args, *constants, num_warps=warps)
        return
    device = torch.cuda.current_device()
    compiled = _compiled(kernel, tuple([_kind(x) for x in args]), constants, warps, device)
    compiled[(blocks, 1, 1)](*args, *constants)
