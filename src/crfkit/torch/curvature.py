"""A Hessian of log Z times a vector that can be differentiated: by an operator, then by the reference.

The operators end with second derivatives. Those of a product, third derivatives of log Z, are rare: they are
made by autograd of the same product in plain torch, and so are all further ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import Function

from crfkit.torch.autograd import leaves_of, numbers
from crfkit.torch.batches import Batch
from crfkit.torch.reference import hvp

__all__ = ["Curvature", "Products", "sound"]


class Products(NamedTuple):
    """Two ways from the same tensors to Hessian products, <marginals, direction> and log Z."""

    operator: Callable[..., Any]
    reference: Callable[..., Any]  # in a graph


class Curvature(Function):
    """Products of some `Products` and what belongs to them."""

    @staticmethod
    def forward(ctx: Any, ways: Products, *args: Any) -> tuple[Tensor, ...]:
        """Take the arguments of the operator, of which some may be None."""
        ctx.ways = ways
        ctx.save_for_backward(*args)
        ctx.set_materialize_grads(False)
        return tuple(ways.operator(*args))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        """Differentiate the reference, in a graph where this is differentiated again."""
        again = torch.is_grad_enabled()
        wanted = ctx.needs_input_grad[1:]
        with torch.enable_grad():
            args = leaves_of(ctx.saved_tensors, again, wanted)
            made = ctx.ways.reference(*args)
            asked = [(x, g) for x, g in zip(made, grads, strict=True) if g is not None and x.requires_grad]
            inputs = [x for x, needed in zip(args, wanted, strict=True) if needed]
            if not asked:
                return (None,) * (len(args) + 1)
            outputs, directions = zip(*asked, strict=True)
            found = iter(
                torch.autograd.grad(outputs, inputs, directions, create_graph=again, allow_unused=True)
            )
        return (None, *(next(found) if needed else None for needed in wanted))


def sound(bad: Tensor, batch: Batch, weight: Tensor, along: Any, **how: Any) -> tuple[Tensor, ...]:
    """Ask the reference; sequences that are `bad` (NaN or +inf among their scores) have no part in products.

    Their <marginals, direction> and log Z are NaN, without a gradient.
    """
    weight = torch.where(bad, 0.0, weight)
    *made, dot, logz = hvp(numbers(batch), weight, *numbers(along), **how)
    return (*made, torch.where(bad, torch.nan, dot), torch.where(bad, torch.nan, logz))
