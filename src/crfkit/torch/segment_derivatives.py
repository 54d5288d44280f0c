"""Derivatives of semi-Markov chains: log Z -> marginals -> a Hessian times a vector, as in `derivatives`.

The loss has one; all else can be differentiated any number of times.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from crfkit.torch import segment_ops as ops
from crfkit.torch import segment_reference
from crfkit.torch.curvature import Products, product, sound
from crfkit.torch.gold import weighted

__all__ = ["Entropy", "LogPartition", "Loss", "Losses", "Marginals"]

_Grads = tuple[Tensor | None, ...]


def _scores(args: Any) -> tuple[Any, ...]:
    return (*args[:2], *args[5:9])


def _by_argument(given: Any, made: Any, rest: int) -> _Grads:
    """Return gradients in the order of the arguments, None for scores that are not given."""
    node, segment, *shared = (None if x is None else y for x, y in zip(_scores(given), made, strict=True))
    return (node, segment, None, None, None, *shared, *(None,) * rest)


def _by_reference(*args: Any) -> tuple[Tensor, ...]:
    segments, weight, along = args[:9], args[9], args[10:]
    with torch.no_grad():
        bad = ops.log_partition(*segments)[0].isnan()
    return sound(segment_reference.hvp, bad, segments, weight, along, create_graph=True)


_PRODUCTS = Products(ops.hvp, _by_reference)


class Marginals(Function):
    """The gradient of sum_b weight[b] log Z[b] by node, segment, start, edge, stop and duration."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> tuple[Tensor, ...]:
        """Take the arguments of segments and weights [B]."""
        ctx.save_for_backward(*args)
        made = tuple(ops.marginals(*args)[:6])
        ctx.mark_non_differentiable(*(y for x, y in zip(_scores(args), made, strict=True) if x is None))
        return made

    @staticmethod
    def backward(ctx: Any, *along: Tensor) -> _Grads:
        """Return the Hessian products; by weight, <marginals, direction>."""
        args = ctx.saved_tensors
        given = (None if x is None else v for x, v in zip(_scores(args), along, strict=True))
        *made, dot, _ = product(_PRODUCTS, *args, *given)
        return (*_by_argument(args, made, 0), dot.to(args[9].dtype))


class LogPartition(Function):
    """log Z [B] in float64."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Tensor:
        """Take the arguments of segments."""
        ctx.save_for_backward(*args)
        logz: Tensor = ops.log_partition(*args)[0]
        return logz

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> _Grads:
        """Return marginals, which can be differentiated again."""
        args = ctx.saved_tensors
        return _by_argument(args, Marginals.apply(*args, grad), 0)


def _differentiated_again() -> None:
    if torch.is_grad_enabled():
        raise RuntimeError(
            "the loss of segments has one derivative, and create_graph=True asks for more: omit it, or use "
            "segment_log_partition, segment_marginals and segment_entropy, which have any number of them"
        )


class Loss(Function):
    """(scale * sum_b weight[b] loss[b], losses [B]): the value and its gradient in one call."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> tuple[Tensor, Tensor]:
        """Take the arguments of segments, labels, begins, weight [B] or None, scale."""
        total, each, *made, _ = ops.loss(*args, any(ctx.needs_input_grad))
        if args[11] is not None:  # the operator's total is NaN where a weight of 0 meets a loss of +inf
            total = (weighted(each, args[11]).sum() * args[12]).to(total.dtype)
        ctx.save_for_backward(*args[:9], *made)
        ctx.mark_non_differentiable(each)
        return total, each

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _: Any) -> _Grads:
        """Scale the gradient that the forward call made."""
        _differentiated_again()
        args, made = ctx.saved_tensors[:9], ctx.saved_tensors[9:]
        return _by_argument(args, [(x * grad.expand_as(x)).to(x.dtype) for x in made], 4)


class Losses(Function):
    """Losses [B], in float64."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Tensor:
        """Take the arguments of segments, labels and begins."""
        ctx.save_for_backward(*args)
        each: Tensor = ops.loss(*args, None, 1.0, False)[1]
        return each

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> _Grads:
        """Sweep again, with a weight for each sequence."""
        _differentiated_again()
        args = ctx.saved_tensors
        return _by_argument(args, ops.loss(*args, grad, 1.0, True)[2:8], 2)


def _finite(scores: tuple[Any, ...]) -> list[Tensor | None]:
    """Return scores, 0 for -inf: what is forbidden has probability 0, and 0 * -inf = 0."""
    return [None if x is None else torch.where(x.isinf(), 0.0, x) for x in scores]


class Entropy(Function):
    """log Z - <marginals, scores> [B] in float64; -inf where nothing is allowed."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Tensor:
        """Take the arguments of segments."""
        ctx.save_for_backward(*args)
        ones = torch.ones_like(args[2], dtype=torch.float64)
        *_, dot, logz = ops.hvp(*args, ones, *_finite(_scores(args)))
        return logz - dot

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> _Grads:
        """Return minus the Hessian times the scores."""
        args = ctx.saved_tensors
        return _by_argument(args, product(_PRODUCTS, *args, -grad, *_finite(_scores(args)))[:6], 0)
