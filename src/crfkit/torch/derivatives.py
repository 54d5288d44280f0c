"""Derivatives: log Z, its gradient (marginals), and the gradient of that (a Hessian times a vector).

`LogPartition` -> `Marginals` -> `hvp`, each the gradient of the one before; `Loss` makes its value and its
gradient in one call and only scales the latter when asked for it. `Entropy` and `Divergence` are functions of
their own whose first derivative is the Hessian product, so that they compile. All can be differentiated any
number of times: from the third derivatives of log Z on by the reference (`crfkit.torch.curvature`).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from crfkit.torch import ops, reference
from crfkit.torch.curvature import Products, product, sound
from crfkit.torch.gold import weighted
from crfkit.torch.inputs import visible, widened

__all__ = ["Divergence", "Entropy", "LogPartition", "Loss", "Losses", "Marginals"]

# Each takes (node, length, first, index, start, edge, stop, ...): gradients go to four of these.
_Grads = tuple[Tensor | None, ...]


def _by_chain(made: tuple[Tensor, ...] | list[Tensor], rest: int) -> _Grads:
    node, start, edge, stop = made
    return (node, None, None, None, start, edge, stop, *(None,) * rest)


def _scores(chain: tuple[Any, ...]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    return chain[0], chain[4], chain[5], chain[6]


def _by_reference(*args: Any) -> tuple[Tensor, ...]:
    chain, weight, along = args[:7], args[7], args[8:]
    with torch.no_grad():
        bad = ops.log_partition(*chain)[0].isnan()
    return sound(reference.hvp, bad, chain, weight, along, create_graph=True)


_PRODUCTS = Products(ops.hvp, _by_reference)


class Marginals(Function):
    """The gradient of sum_b weight[b] log Z[b] by node, start, edge and stop."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> tuple[Tensor, ...]:
        """Take the arguments of a chain and weights [B]."""
        ctx.save_for_backward(*args)
        return tuple(ops.marginals(*args)[:4])

    @staticmethod
    def backward(ctx: Any, *along: Tensor) -> _Grads:
        """Return the Hessian products; by weight, <marginals, direction>."""
        *made, dot, _ = product(_PRODUCTS, *ctx.saved_tensors, *along)
        return (*_by_chain(made, 0), dot.to(ctx.saved_tensors[7].dtype))


class LogPartition(Function):
    """log Z [B] in float64."""

    @staticmethod
    def forward(ctx: Any, *chain: Any) -> Tensor:
        """Take the arguments of a chain."""
        ctx.save_for_backward(*chain)
        logz: Tensor = ops.log_partition(*chain)[0]
        return logz

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> _Grads:
        """Return marginals, which can be differentiated again."""
        return _by_chain(Marginals.apply(*ctx.saved_tensors, grad), 0)


def _loss_gradient(chain: tuple[Any, ...], labels: Tensor, weight: Tensor) -> list[Tensor]:
    """Return marginals minus those of the labelings that agree with `labels`: differentiable."""
    node = widened(chain[0])  # two gradients are added up: not in half precision
    other = torch.arange(node.shape[-1], device=node.device) != labels[..., None]
    clamped = node.masked_fill(other & (labels >= 0)[..., None], -torch.inf)
    gold_exists = ops.log_partition(clamped, *chain[1:])[0] > -torch.inf
    weight = torch.where(gold_exists, weight, 0.0)
    free = Marginals.apply(node, *chain[1:], weight)
    gold = Marginals.apply(clamped, *chain[1:], weight)
    made = [a - b for a, b in zip(free, gold, strict=True)]
    return [made[0].to(chain[0].dtype), *made[1:]]


class Loss(Function):
    """(scale * sum_b weight[b] loss[b], losses [B]): the value and its gradient in one call."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> tuple[Tensor, Tensor]:
        """Take the arguments of a chain, labels, weight [B] or None, scale."""
        *chain, labels, weight, scale = args
        grad = any(ctx.needs_input_grad)
        total, each, *made, _ = ops.loss(*chain, labels, weight, scale, grad)
        if weight is not None:  # the operator's total is NaN where a weight of 0 meets a loss of +inf
            total = (weighted(each, weight).sum() * scale).to(total.dtype)
        ctx.save_for_backward(*chain, labels, weight, *made)
        ctx.scale = scale
        ctx.mark_non_differentiable(each)
        ctx.set_materialize_grads(False)  # no zeros for the gradient of `each`
        return total, each

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None, _: Any) -> _Grads:
        """Scale the gradient that the forward call made; make it anew where it is differentiated again."""
        if grad is None:
            return (None,) * 10
        *chain, labels, weight, node, start, edge, stop = ctx.saved_tensors
        if torch.is_grad_enabled():
            ones = torch.ones_like(chain[1], dtype=torch.float64) if weight is None else weight.double()
            return _by_chain(_loss_gradient(tuple(chain), labels, ones * (grad * ctx.scale)), 3)
        if node.dtype == start.dtype == edge.dtype == stop.dtype == grad.dtype:
            made = torch._foreach_mul([node, start, edge, stop], grad)  # one launch
        else:
            # In the type of `grad`: a loss scaled by 65536 would be infinite in float16.
            made = [(x * grad.expand_as(x)).to(x.dtype) for x in (node, start, edge, stop)]
        return _by_chain(made, 3)


class Losses(Function):
    """Losses [B], in float64."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Tensor:
        """Take the arguments of a chain and labels."""
        ctx.save_for_backward(*args)
        each: Tensor = ops.loss(*args, None, 1.0, False)[1]
        return each

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> _Grads:
        """Sweep again, with a weight for each sequence."""
        *chain, labels = ctx.saved_tensors
        if torch.is_grad_enabled():
            return _by_chain(_loss_gradient(tuple(chain), labels, grad), 1)
        made = ops.loss(*chain, labels, grad, 1.0, True)[2:6]
        return _by_chain(made, 1)


def _finite(x: Tensor) -> Tensor:
    return torch.where(x.isinf(), 0.0, x)  # what is forbidden has probability 0, and 0 * -inf = 0


class Entropy(Function):
    """log Z - <marginals, scores> [B] in float64; -inf where nothing is allowed."""

    @staticmethod
    def forward(ctx: Any, *chain: Any) -> Tensor:
        """Take the arguments of a chain."""
        ctx.save_for_backward(*chain)
        ones = torch.ones_like(chain[1], dtype=torch.float64)
        *_, dot, logz = ops.hvp(*chain, ones, *(_finite(x) for x in _scores(chain)))
        return logz - dot

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> _Grads:
        """Return minus the Hessian times the scores."""
        chain = ctx.saved_tensors
        return _by_chain(product(_PRODUCTS, *chain, -grad, *(_finite(x) for x in _scores(chain)))[:4], 0)


class Divergence(Function):
    """KL(p || q) = <marginals of p, scores of p - scores of q> - log Z_p + log Z_q, [B] in float64."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Tensor:
        """Take the arguments of the chains p, then (node, start, edge, stop) of the chains q."""
        chain, others = args[:7], args[7:]
        ones = torch.ones_like(chain[1], dtype=torch.float64)
        *_, dot, logz = ops.hvp(*chain, ones, *_differences(chain, others))
        other, _ = ops.log_partition(others[0], *chain[1:4], *others[1:])
        infinite = (logz == -torch.inf) | (other == -torch.inf)
        outside = [(p > -torch.inf) & (q == -torch.inf) for p, q in zip(_scores(chain), others, strict=True)]
        if not visible(chain[0]) or any(bool(x.any()) for x in outside):
            indicators = (x.to(p.dtype) for x, p in zip(outside, _scores(chain), strict=True))
            infinite |= ops.hvp(*chain, ones, *indicators)[4] > 0  # p expects something that q forbids
        value = dot - logz + other
        value = torch.where(infinite & ~logz.isnan() & ~other.isnan(), torch.inf, value)
        ctx.save_for_backward(*args, value)
        return value

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> _Grads:
        """Return the Hessian of p times the difference; by q, the difference of marginals."""
        chain, others = ctx.saved_tensors[:7], ctx.saved_tensors[7:11]
        grad = torch.where(ctx.saved_tensors[11].isfinite(), grad, 0.0)
        of_p = product(_PRODUCTS, *chain, grad, *_differences(chain, others))[:4]
        marginals = Marginals.apply if torch.is_grad_enabled() else ops.marginals
        mine = marginals(*chain, grad)[:4]
        theirs = marginals(others[0], *chain[1:4], *others[1:], grad)[:4]
        return (*_by_chain(of_p, 0), *(b - a for a, b in zip(mine, theirs, strict=True)))


def _differences(chain: tuple[Any, ...], others: tuple[Tensor, ...]) -> list[Tensor]:
    """Return scores of p minus those of q, 0 where one of them forbids."""
    return [difference(p, q) for p, q in zip(_scores(chain), others, strict=True)]


def difference(p: Tensor, q: Tensor) -> Tensor:
    """Return p - q in float64, 0 where one of them is -inf."""
    return torch.where((p == -torch.inf) | (q == -torch.inf), 0.0, p.double() - q.double())
