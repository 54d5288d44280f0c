"""Launches of Triton kernels without what Triton does for each call: to bind, classify and hash arguments.

A kernel must not be specialized on the values of its arguments (`do_not_specialize`: all of them): then their
types alone say which compiled kernel it is. What a compiled kernel takes is not documented by Triton. It is
looked at before one is used: where it is not what it has been since Triton 3.3 (3.9 is the latest that was
read), all arguments in order with constants among them, kernels are launched in the documented way,
``kernel[grid](...)``, which costs more time.
"""

from __future__ import annotations

from ctypes import c_float
from functools import cache
from typing import Any

import torch
import triton
from torch import Tensor

__all__ = ["halves", "launch", "takes_all"]

_JITTED = getattr(triton, "JITFunction", None)  # a kernel that is compiled, not interpreted
_documented: set[Any] = set()  # kernels whose compiled form has refused its arguments


def halves(number: float) -> tuple[float, float]:
    """Return two numbers of float32 that add up to one of float64: Triton passes all numbers as float32."""
    high = c_float(number).value
    return high, number - high


def takes_all(kernel: Any, compiled: Any) -> bool:
    """Tell whether a compiled kernel can be launched with all arguments of the kernel, in their order."""
    signature = getattr(getattr(compiled, "src", None), "signature", None)
    names = getattr(kernel, "arg_names", None)
    known = isinstance(signature, dict) and names is not None and list(signature) == list(names)
    return known and hasattr(type(compiled), "__getitem__")


@cache
def _compiled(kernel: Any, kinds: tuple[Any, ...], constants: tuple[Any, ...], warps: int, _: int) -> Any:
    """Return the compiled kernel, or None if it cannot be launched directly."""
    try:
        made = kernel.warmup(*kinds, *constants, num_warps=warps, grid=(1,))
    except (AttributeError, TypeError):  # another Triton's; if it is the kernel's, the launch will say so
        return None
    return made if takes_all(kernel, made) else None


def launch(kernel: Any, blocks: int, args: tuple[Any, ...], constants: tuple[Any, ...], warps: int) -> None:
    """Run `blocks` programs of a kernel on arguments and, behind them, constants."""
    if _JITTED is not None and isinstance(kernel, _JITTED) and kernel not in _documented:
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
        if compiled is not None:
            try:
                compiled[(blocks, 1, 1)](*values, *constants)
            except TypeError:  # refused before it ran: the launch below works, or says what is wrong
                _documented.add(kernel)
            else:
                return
    kernel[(blocks,)](*args, *constants, num_warps=warps)
