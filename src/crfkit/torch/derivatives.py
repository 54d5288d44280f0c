"""Derivatives: log Z, its gradient (marginals), and the gradient of that (a Hessian times a vector).

`LogPartition` -> `Marginals` -> `product`, each the gradient of the one before; `Loss` makes its value and
its gradient in one call and only scales the latter when asked for it. `Entropy` and `Divergence` are
functions of their own whose first derivative is the Hessian product, so that they compile. All can be
differentiated any number of times, from the third derivatives of log Z on by the reference;
but the loss of segments has one derivative.

Functions take the name of a structure ("chain", "order", "segment"), what is theirs, and the flat fields of a
batch (`crfkit.torch.structures`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from crfkit.torch import reference
from crfkit.torch.autograd import leaves_of
from crfkit.torch.gold import clamped, weighted
from crfkit.torch.inputs import visible, widened
from crfkit.torch.rows import traced
from crfkit.torch.structures import STRUCTURES, Fields, Grads

__all__ = ["Divergence", "Entropy", "LogPartition", "Loss", "Losses", "Marginals", "difference", "loss"]


def _halves(args: Fields) -> tuple[Fields, Fields]:
    """Return fields, and as many scores behind them: three less."""
    size = (len(args) + 3) // 2
    return args[:size], args[size:]


def _by_reference(structure: str, weight: Tensor, *args: Any) -> tuple[Tensor, ...]:
    form = STRUCTURES[structure]
    fields, along = _halves(args)
    with torch.no_grad():
        bad = form.ask("log_partition", fields)[0].isnan()
    return reference.sound(bad, form.batch(fields), weight, along, create_graph=True)


class _Product(Function):
    """A Hessian product that can be differentiated.

    The operators end with second derivatives. Those of a product, third derivatives of log Z, are rare: they
    are made by autograd of the same product in plain torch, and so are all further ones.
    """

    @staticmethod
    def forward(ctx: Any, structure: str, weight: Tensor, *args: Any) -> tuple[Tensor, ...]:
        fields, along = _halves(args)
        ctx.structure = structure
        ctx.save_for_backward(weight, *args)
        ctx.set_materialize_grads(False)
        return STRUCTURES[structure].ask("hvp", fields, weight, *along)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> Grads:
        again, wanted = torch.is_grad_enabled(), ctx.needs_input_grad[1:]
        with torch.enable_grad():
            args = leaves_of(ctx.saved_tensors, again, wanted)
            made = _by_reference(ctx.structure, *args)
            asked = [(x, g) for x, g in zip(made, grads, strict=True) if g is not None and x.requires_grad]
            inputs = [x for x, needed in zip(args, wanted, strict=True) if needed]
            if not asked:
                return (None,) * (len(args) + 1)
            outputs, directions = zip(*asked, strict=True)
            found = iter(
                torch.autograd.grad(outputs, inputs, directions, create_graph=again, allow_unused=True)
            )
        return (None, *(next(found) if needed else None for needed in wanted))


def product(structure: str, weight: Tensor, fields: Fields, along: Iterable[Any]) -> tuple[Tensor, ...]:
    """Return the Hessian of sum_b weight[b] log Z[b] times a direction, <marginals, direction>, log Z.

    In a graph only while one is made, so that compiled graphs hold the operator.
    """
    if torch.is_grad_enabled():
        made: tuple[Tensor, ...] = _Product.apply(structure, weight, *fields, *along)
        return made
    return STRUCTURES[structure].ask("hvp", fields, weight, *along)


class Marginals(Function):
    """The gradient of sum_b weight[b] log Z[b] by all scores; empty for those that are not given."""

    @staticmethod
    def forward(ctx: Any, structure: str, weight: Tensor, *fields: Any) -> tuple[Tensor, ...]:
        """Take weights [B] and the fields of a batch."""
        form = STRUCTURES[structure]
        ctx.structure = structure
        ctx.save_for_backward(weight, *fields)
        made = form.ask("marginals", fields, weight)[:-2]
        if form.rows > 1:
            absent = [y for x, y in zip(form.scores(fields), made, strict=True) if x is None]
            ctx.mark_non_differentiable(*absent)
        return made

    @staticmethod
    def backward(ctx: Any, *along: Tensor) -> Grads:
        """Return the Hessian products; by weight, <marginals, direction>."""
        form = STRUCTURES[ctx.structure]
        weight, *fields = ctx.saved_tensors
        given = [None if x is None else v for x, v in zip(form.scores(fields), along, strict=True)]
        *made, dot, _ = product(ctx.structure, weight, fields, given)
        return (None, dot.to(weight.dtype), *form.grads(fields, made))


def _marginals(structure: str, weight: Tensor, fields: Fields) -> tuple[Tensor, ...]:
    if torch.is_grad_enabled():
        made: tuple[Tensor, ...] = Marginals.apply(structure, weight, *fields)
        return made
    return STRUCTURES[structure].ask("marginals", fields, weight)[:-2]


class LogPartition(Function):
    """log Z [B] in float64."""

    @staticmethod
    def forward(ctx: Any, structure: str, *fields: Any) -> Tensor:
        """Take the fields of a batch."""
        ctx.structure = structure
        ctx.save_for_backward(*fields)
        logz: Tensor = STRUCTURES[structure].ask("log_partition", fields)[0]
        return logz

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Grads:
        """Return marginals, which can be differentiated again."""
        fields = ctx.saved_tensors
        made = _marginals(ctx.structure, grad, fields)
        return (None, *STRUCTURES[ctx.structure].grads(fields, made))


def _loss_gradient(structure: str, fields: Fields, labels: Tensor, weight: Tensor) -> list[Tensor]:
    """Return marginals minus those of the labelings that agree with `labels`: differentiable."""
    if structure == "segment":
        raise RuntimeError(
            "the loss of segments has one derivative, and create_graph=True asks for more: omit it, or use "
            "segment_log_partition, segment_marginals and segment_entropy, which have any number of them"
        )
    node = widened(fields[0])  # two gradients are added up: not in half precision
    gold = clamped(node, labels, None)
    gold_exists = STRUCTURES[structure].ask("log_partition", (gold, *fields[1:]))[0] > -torch.inf
    weight = torch.where(gold_exists, weight, 0.0)
    of_all = Marginals.apply(structure, weight, node, *fields[1:])
    of_gold = Marginals.apply(structure, weight, gold, *fields[1:])
    made = [a - b for a, b in zip(of_all, of_gold, strict=True)]
    return [made[0].to(fields[0].dtype), *made[1:]]


def _gold(labels: Tensor, begins: Tensor | None) -> tuple[Tensor, ...]:
    return (labels,) if begins is None else (labels, begins)


def loss(
    structure: str,
    labels: Tensor,
    begins: Tensor | None,
    weight: Tensor | None,
    scale: float,
    *fields: Any,
) -> tuple[Tensor, Tensor]:
    """Return (scale * sum_b weight[b] loss[b], losses [B]), the first of which can be differentiated.

    Takes gold (begins: of segments), weights [B] or None, a scale, and the fields of a batch.
    """
    if torch.is_grad_enabled():
        made: tuple[Tensor, Tensor] = Loss.apply(structure, labels, begins, weight, scale, *fields)
        return made
    total, each, _ = _made(structure, fields, _gold(labels, begins), weight, scale, False)
    return total, each


def _made(
    structure: str, fields: Fields, gold: tuple[Tensor, ...], weight: Tensor | None, scale: float, grad: bool
) -> tuple[Tensor, Tensor, list[Tensor]]:
    """Return the value of a loss, losses [B], and the gradient of the value by all scores."""
    total, each, *made, _ = STRUCTURES[structure].ask("loss", fields, *gold, weight, scale, grad)
    if weight is not None:  # the operator's total is NaN where a weight of 0 meets a loss of +inf
        total = (weighted(each, weight).sum() * scale).to(total.dtype)
    return total, each, made


class Loss(Function):
    """The value of a loss and its gradient in one call; see `loss`."""

    @staticmethod
    def forward(
        ctx: Any,
        structure: str,
        labels: Tensor,
        begins: Tensor | None,
        weight: Tensor | None,
        scale: float,
        *fields: Any,
    ) -> tuple[Tensor, Tensor]:
        """Take what `loss` takes; the gradient stays on `ctx` until it is asked for."""
        ctx.structure, ctx.scale = structure, scale
        ctx.save_for_backward(labels, begins, weight, *fields)
        grad = any(ctx.needs_input_grad)
        total, each, made = _made(structure, fields, _gold(labels, begins), weight, scale, grad)
        ctx.made = STRUCTURES[structure].grads(fields, made)
        ctx.mark_non_differentiable(each)
        ctx.set_materialize_grads(False)  # no zeros for the gradient of `each`
        return total, each

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None, _: Any) -> Grads:
        """Scale the gradient that the forward call made; make it anew where it is asked for again."""
        # Given away, and to one thread: who gets it may write to it.
        made = ctx.made if traced() else vars(ctx).pop("made", None)
        if grad is None:
            return (None,) * len(ctx.needs_input_grad)
        again = torch.is_grad_enabled()
        if again or made is None:
            labels, begins, weight, *fields = ctx.saved_tensors
            form = STRUCTURES[ctx.structure]
            if again:
                ones = torch.ones_like(form.length(fields), dtype=torch.float64)
                factor = (ones if weight is None else weight.double()) * (grad * ctx.scale)
                found = _loss_gradient(ctx.structure, fields, labels, factor)
                return (None, None, None, None, None, *form.grads(fields, found))
            found = _made(ctx.structure, fields, _gold(labels, begins), weight, ctx.scale, True)[2]
            made = form.grads(fields, found)
        if visible(grad) and grad.item() == 1:
            return (None, None, None, None, None, *made)
        given = [x for x in made if x is not None]
        if all(x.dtype == grad.dtype for x in given):
            torch._foreach_mul_(given, grad)  # one launch
        else:
            # In the type of `grad`: a loss scaled by 65536 would be infinite in float16.
            for x in given:
                x.copy_(x * grad.expand_as(x))
        return (None, None, None, None, None, *made)


class Losses(Function):
    """Losses [B], in float64."""

    @staticmethod
    def forward(ctx: Any, structure: str, labels: Tensor, begins: Tensor | None, *fields: Any) -> Tensor:
        """Take gold (begins: of segments) and the fields of a batch."""
        ctx.structure = structure
        ctx.save_for_backward(labels, begins, *fields)
        gold = _gold(labels, begins)
        each: Tensor = STRUCTURES[structure].ask("loss", fields, *gold, None, 1.0, False)[1]
        return each

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Grads:
        """Sweep again, with a weight for each sequence."""
        form = STRUCTURES[ctx.structure]
        labels, begins, *fields = ctx.saved_tensors
        if torch.is_grad_enabled():
            made = _loss_gradient(ctx.structure, fields, labels, grad)
        else:
            _, _, *made, _ = form.ask("loss", fields, *_gold(labels, begins), grad, 1.0, True)
        return (None, None, None, *form.grads(fields, made))


def _finite(scores: Iterable[Any]) -> list[Any]:
    """Return scores, 0 for -inf: what is forbidden has probability 0, and 0 * -inf = 0."""
    return [None if x is None else torch.where(x.isinf(), 0.0, x) for x in scores]


class Entropy(Function):
    """log Z - <marginals, scores> [B] in float64; -inf where nothing is allowed."""

    @staticmethod
    def forward(ctx: Any, structure: str, *fields: Any) -> Tensor:
        """Take the fields of a batch."""
        form = STRUCTURES[structure]
        ctx.structure = structure
        ctx.save_for_backward(*fields)
        ones = torch.ones_like(form.length(fields), dtype=torch.float64)
        *_, dot, logz = form.ask("hvp", fields, ones, *_finite(form.scores(fields)))
        value: Tensor = logz - dot
        return value

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Grads:
        """Return minus the Hessian times the scores."""
        form, fields = STRUCTURES[ctx.structure], ctx.saved_tensors
        *made, _, _ = product(ctx.structure, -grad, fields, _finite(form.scores(fields)))
        return (None, *form.grads(fields, made))


class Divergence(Function):
    """KL(p || q) = <marginals of p, scores of p - scores of q> - log Z_p + log Z_q, [B] in float64."""

    @staticmethod
    def forward(ctx: Any, structure: str, *args: Any) -> Tensor:
        """Take the fields of the chains p, then the scores of the chains q."""
        form = STRUCTURES[structure]
        fields, others = _halves(args)
        scores = form.scores(fields)
        ones = torch.ones_like(form.length(fields), dtype=torch.float64)
        *_, dot, logz = form.ask("hvp", fields, ones, *map(difference, scores, others))
        other = form.ask("log_partition", form.with_scores(fields, others))[0]
        infinite = (logz == -torch.inf) | (other == -torch.inf)
        outside = [(p > -torch.inf) & (q == -torch.inf) for p, q in zip(scores, others, strict=True)]
        if not visible(fields[0]) or any(bool(x.any()) for x in outside):
            indicators = (x.to(p.dtype) for x, p in zip(outside, scores, strict=True))
            infinite |= form.ask("hvp", fields, ones, *indicators)[-2] > 0  # p expects what q forbids
        value = dot - logz + other
        value = torch.where(infinite & ~logz.isnan() & ~other.isnan(), torch.inf, value)
        ctx.structure = structure
        ctx.save_for_backward(*args, value)
        return value

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Grads:
        """Return the Hessian of p times the difference; by q, the difference of marginals."""
        form = STRUCTURES[ctx.structure]
        *args, value = ctx.saved_tensors
        fields, others = _halves(args)
        grad = torch.where(value.isfinite(), grad, 0.0)
        *of_p, _, _ = product(ctx.structure, grad, fields, map(difference, form.scores(fields), others))
        mine = _marginals(ctx.structure, grad, fields)
        theirs = _marginals(ctx.structure, grad, form.with_scores(fields, others))
        return (None, *form.grads(fields, of_p), *(b - a for a, b in zip(mine, theirs, strict=True)))


def difference(p: Tensor, q: Tensor) -> Tensor:
    """Return p - q in float64, 0 where one of them is -inf."""
    return torch.where((p == -torch.inf) | (q == -torch.inf), 0.0, p.double() - q.double())
