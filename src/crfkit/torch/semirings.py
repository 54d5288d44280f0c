"""Semirings of torch-struct: what a sum over structures adds up, and what its gradient is then.

====================================  ========================  ==============================================
semiring                              sum over structures       gradient
====================================  ========================  ==============================================
`LogSemiring`                         log Z                     probabilities of parts
`StdSemiring`                         sum of products
`MaxSemiring`                         best score                its event
`KMaxSemiring` (k)                    k best scores             their events
`SparseMaxSemiring`                   best score, smoothed      sparse shares of parts
`EntropySemiring`                     entropy
`CrossEntropySemiring`                of two lists of scores
`KLDivergenceSemiring`                of two lists of scores
`SampledSemiring`                     log Z                     an event that is drawn
`MultiSampledSemiring`                log Z                     16 of them, `to_discrete` takes them apart
`CheckpointSemiring` (semiring)       the same, steps are computed again for the gradient: less memory
====================================  ========================  ==============================================

Values are tensors [size, ...]. Semirings of one's own have ``size``, ``convert``, ``unconvert``, ``sum`` and
``mul``, and their ``zero`` and ``one`` [size]. -inf is -inf: what is forbidden counts nowhere, and is no NaN.
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor

from crfkit.torch.autograd import logsumexp

__all__ = [
    "CheckpointSemiring",
    "CheckpointShardSemiring",
    "CrossEntropySemiring",
    "EntropySemiring",
    "KLDivergenceSemiring",
    "KMaxSemiring",
    "LogSemiring",
    "MaxSemiring",
    "MultiSampledSemiring",
    "SampledSemiring",
    "Semiring",
    "SparseMaxSemiring",
    "StdSemiring",
]

_DRAWS = 16  # of one gradient: a bit for each, 1 to 16


class Semiring:
    """Values with sums and products; addition of logarithms unless a subclass says otherwise.

    Examples
    --------
    >>> MaxSemiring.sum(MaxSemiring.times(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 1.0]])))
    tensor([4.])
    """

    zero: ClassVar[Tensor] = torch.tensor([-torch.inf])  #: [size] what sums begin with
    one: ClassVar[Tensor] = torch.tensor([0.0])  #: [size] what products begin with
    recomputed: ClassVar[bool] = False  #: steps are computed again for the gradient

    @classmethod
    def size(cls) -> int:
        """Return how many numbers a value has."""
        return len(cls.zero)

    @classmethod
    def convert(cls, potentials: Any) -> Tensor:
        """Return scores as values, [size, ...]."""
        made: Tensor = potentials.unsqueeze(0)
        return made

    @classmethod
    def unconvert(cls, values: Tensor) -> Tensor:
        """Return the number that values [size, ...] stand for."""
        return values[0]

    @classmethod
    def sum(cls, xs: Tensor, dim: int = -1) -> Tensor:
        """Return sums of values over one axis."""
        raise NotImplementedError

    @classmethod
    def mul(cls, a: Tensor, b: Tensor) -> Tensor:
        """Return products of values."""
        return a + b

    @classmethod
    def prod(cls, xs: Tensor, dim: int = -1) -> Tensor:
        """Return products of values over one axis."""
        return xs.sum(dim)

    @classmethod
    def times(cls, *each: Tensor) -> Tensor:
        """Return the product of several values."""
        found, *more = each
        for one in more:
            found = cls.mul(found, one)
        return found

    @classmethod
    def plus(cls, a: Tensor, b: Tensor) -> Tensor:
        """Return the sum of two values."""
        return cls.sum(torch.stack(torch.broadcast_tensors(a, b), -1))

    @classmethod
    def dot(cls, a: Tensor, b: Tensor) -> Tensor:
        """Return sums of products over the last axis."""
        return cls.sum(cls.mul(a, b))

    @classmethod
    def matmul(cls, a: Tensor, b: Tensor) -> Tensor:
        """Return products of matrices in the last two axes."""
        return cls.dot(a.unsqueeze(-2), b.transpose(-2, -1).unsqueeze(-3))

    @classmethod
    def filled(cls, like: Tensor, shape: tuple[int, ...], value: Tensor) -> Tensor:
        """Return a tensor [size, *shape] of one value."""
        return value.to(like).view(-1, *(1,) * len(shape)).expand(-1, *shape)

    @classmethod
    def fill(cls, xs: Tensor, mask: Tensor, value: Tensor) -> Tensor:
        """Return values with one value where a mask is True."""
        return torch.where(mask, cls.filled(xs, tuple(xs.shape[1:]), value), xs)

    @classmethod
    def zero_(cls, xs: Tensor) -> Tensor:
        """Fill values with zero."""
        return xs.copy_(cls.filled(xs, tuple(xs.shape[1:]), cls.zero))

    @classmethod
    def one_(cls, xs: Tensor) -> Tensor:
        """Fill values with one."""
        return xs.copy_(cls.filled(xs, tuple(xs.shape[1:]), cls.one))

    @classmethod
    def zero_mask_(cls, xs: Tensor, mask: Tensor) -> None:
        """Fill values with zero where a mask is True."""
        xs.copy_(cls.fill(xs, mask, cls.zero))


class LogSemiring(Semiring):
    """Sums are log sum exp."""

    @classmethod
    def sum(cls, xs: Tensor, dim: int = -1) -> Tensor:
        """Return log sum exp."""
        return logsumexp(xs, dim)


class StdSemiring(Semiring):
    """Numbers themselves."""

    zero, one = torch.tensor([0.0]), torch.tensor([1.0])

    @classmethod
    def sum(cls, xs: Tensor, dim: int = -1) -> Tensor:
        """Return sums."""
        return xs.sum(dim)

    @classmethod
    def mul(cls, a: Tensor, b: Tensor) -> Tensor:
        """Return products."""
        return a * b

    @classmethod
    def prod(cls, xs: Tensor, dim: int = -1) -> Tensor:
        """Return products over an axis."""
        return xs.prod(dim)

    @classmethod
    def matmul(cls, a: Tensor, b: Tensor) -> Tensor:
        """Return products of matrices."""
        return torch.matmul(a, b)


class MaxSemiring(Semiring):
    """Sums are maxima."""

    @classmethod
    def sum(cls, xs: Tensor, dim: int = -1) -> Tensor:
        """Return maxima; the gradient goes to one of them."""
        return xs.max(dim).values

    @classmethod
    def sparse_sum(cls, xs: Tensor, dim: int = -1) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Return maxima, and where they are."""
        found = xs.max(dim)
        return found.values, (torch.zeros_like(found.indices), found.indices)


class SparseMaxSemiring(Semiring):
    """Sums are maxima that are smoothed: max_w <w, x> - (|w|^2 - 1) / 2 over distributions w.

    Mensch & Blondel (2018) section 3, with a constant that makes the sum of one value this value. The best w,
    sparsemax, is found by Martins & Astudillo (2016) algorithm 1; it is the gradient.

    Examples
    --------
    >>> x = torch.tensor([[2.0, 1.5, -1.0]], requires_grad=True)
    >>> torch.autograd.grad(SparseMaxSemiring.sum(x), x)
    (tensor([[0.7500, 0.2500, 0.0000]]),)
    """

    @classmethod
    def sum(cls, xs: Tensor, dim: int = -1) -> Tensor:
        """Return smoothed maxima."""
        found: Tensor = _Smoothed.apply(xs, dim)
        return found


class _Smoothed(torch.autograd.Function):
    """The smoothed maximum over an axis, whose gradient is exactly the best w."""

    @staticmethod
    def forward(ctx: Any, xs: Tensor, dim: int) -> Tensor:
        ctx.save_for_backward(xs)
        ctx.dim = dim
        w = _sparse_shares(xs, dim)
        value = torch.where(w > 0, w * (xs - 0.5 * w), 0.0).sum(dim) + 0.5
        return torch.where((w > 0).any(dim), value, -torch.inf)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Tensor, None]:
        (xs,), (grad,) = ctx.saved_tensors, grads
        return grad.unsqueeze(ctx.dim) * _sparse_shares(xs, ctx.dim), None


def _sparse_shares(xs: Tensor, dim: int) -> Tensor:
    """Return the distribution over an axis that is nearest to values; 0 where nothing is allowed."""
    none = xs == -torch.inf
    top = xs.detach().amax(dim, keepdim=True)
    below = torch.where(none, 0.0, xs - torch.where(none.all(dim, keepdim=True), 0.0, top))  # 0 or less
    far = torch.where(none, -2.0, below).clamp(min=-2.0)  # what is 1 below the top has no share
    order = far.movedim(dim, -1).sort(-1, descending=True).values
    count = torch.arange(1, order.shape[-1] + 1, device=xs.device)
    inside = 1.0 + count * order > order.cumsum(-1)
    least = (torch.where(inside, order, 0.0).sum(-1, True) - 1.0) / inside.sum(-1, True)
    least = least.movedim(-1, dim)
    return torch.where(none | (below <= least), 0.0, below - least)


def KMaxSemiring(k: int) -> type[Semiring]:  # noqa: N802 the name of the original
    """Return the semiring of the k greatest values.

    Examples
    --------
    >>> KMaxSemiring(2).sum(torch.tensor([[1.0, 3.0, 2.0], [-9.0, -9.0, -9.0]]))
    tensor([3., 2.])
    """

    class KMax(Semiring):
        zero = torch.full((k,), -torch.inf)
        one = torch.tensor([0.0] + [-torch.inf] * (k - 1))

        @classmethod
        def convert(cls, potentials: Any) -> Tensor:
            none = torch.full_like(potentials, -torch.inf)
            return torch.stack([potentials] + [none] * (k - 1))

        @classmethod
        def sum(cls, xs: Tensor, dim: int = -1) -> Tensor:
            return xs.movedim(dim, -1).movedim(0, -1).flatten(-2).topk(k, -1).values.movedim(-1, 0)

        @classmethod
        def mul(cls, a: Tensor, b: Tensor) -> Tensor:
            return (a.unsqueeze(1) + b.unsqueeze(0)).flatten(0, 1).topk(k, 0).values

        @classmethod
        def sparse_sum(cls, xs: Tensor, dim: int = -1) -> tuple[Tensor, tuple[Tensor, Tensor]]:
            found = xs.movedim(dim, -1).movedim(0, -1).flatten(-2).topk(k, -1)
            at = found.indices.movedim(-1, 0)
            return found.values.movedim(-1, 0), (at % k, at // k)

    return KMax


def _shares(xs: Tensor, dim: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return log sums, and shares of them with their logs; 0 and 0 for what is forbidden."""
    total = logsumexp(xs, dim)
    none = xs == -torch.inf
    logs = torch.where(none, 0.0, xs - torch.where(total == -torch.inf, 0.0, total).unsqueeze(dim))
    return total, torch.where(none, 0.0, logs.exp()), logs


class _Expectation(Semiring):
    """The last number is an expectation; products add everything up."""

    @classmethod
    def unconvert(cls, values: Tensor) -> Tensor:
        return values[-1]


class EntropySemiring(_Expectation):
    """(log Z, entropy): Li & Eisner (2009)."""

    zero, one = torch.tensor([-torch.inf, 0.0]), torch.tensor([0.0, 0.0])

    @classmethod
    def convert(cls, potentials: Any) -> Tensor:
        """Return scores with an entropy of 0."""
        return torch.stack([potentials, torch.zeros_like(potentials)])

    @classmethod
    def sum(cls, xs: Tensor, dim: int = -1) -> Tensor:
        """Return log sums, and entropies of the choice and of what is chosen."""
        dim = dim - 1 if dim > 0 else dim
        total, share, logs = _shares(xs[0], dim)
        return torch.stack([total, (share * (xs[1] - logs)).sum(dim)])


class CrossEntropySemiring(_Expectation):
    """(log Z of p, log Z of q, -E_p[log q]): scores are a pair of tensors."""

    zero, one = torch.tensor([-torch.inf, -torch.inf, 0.0]), torch.tensor([0.0, 0.0, 0.0])

    @classmethod
    def convert(cls, potentials: Any) -> Tensor:
        """Return scores of p and q with an expectation of 0."""
        p, q = potentials
        return torch.stack([p, q, torch.zeros_like(p)])

    @classmethod
    def sum(cls, xs: Tensor, dim: int = -1) -> Tensor:
        """Return log sums and expectations; +inf where q forbids what p allows."""
        dim = dim - 1 if dim > 0 else dim
        p, share, logs = _shares(xs[0], dim)
        q, _, others = _shares(xs[1], dim)
        others = torch.where((share > 0) & (xs[1] == -torch.inf), -torch.inf, others)
        return torch.stack([p, q, (cls._each(share, logs, others) + share * xs[2]).sum(dim)])

    @classmethod
    def _each(cls, share: Tensor, logs: Tensor, others: Tensor) -> Tensor:
        return torch.where(share > 0, -share * others, 0.0)


class KLDivergenceSemiring(CrossEntropySemiring):
    """(log Z of p, log Z of q, KL(p || q)): scores are a pair of tensors."""

    @classmethod
    def _each(cls, share: Tensor, logs: Tensor, others: Tensor) -> Tensor:
        return torch.where(share > 0, share * (logs - others), 0.0)


class _Drawn(torch.autograd.Function):
    """Log sum exp over the last axis, whose gradient goes to draws from the softmax: backward sampling."""

    @staticmethod
    def forward(ctx: Any, xs: Tensor, several: bool) -> Tensor:
        ctx.save_for_backward(xs)
        ctx.several = several
        return logsumexp(xs, -1)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Tensor, None]:
        (xs,), (grad,) = ctx.saved_tensors, grads
        width, count = xs.shape[-1], _DRAWS if ctx.several else 1
        chance = (xs - torch.where(xs.isfinite(), xs, -torch.inf).amax(-1, keepdim=True)).exp()
        chance = torch.where(chance.isfinite(), chance, 1.0).flatten(0, -2)  # where nothing is allowed
        drawn = torch.multinomial(chance, count, True).view(*xs.shape[:-1], count)
        chosen = torch.nn.functional.one_hot(drawn, width)  # [..., count, width]
        if not ctx.several:
            return grad.unsqueeze(-1) * chosen[..., 0, :].to(xs), None
        return (_bits(grad).unsqueeze(-1) * chosen).sum(-2).to(xs), None


def _bits(grad: Tensor) -> Tensor:
    """Return 2^i [..., draws] for the draws i that come through here: all, where a gradient is odd."""
    power = 2 ** torch.arange(1, _DRAWS + 1, device=grad.device)
    whole = grad.long().unsqueeze(-1)
    return torch.where(whole % 2 == 1, power, whole & power)


class SampledSemiring(Semiring):
    """Log sums, whose gradient is the event of one structure that is drawn."""

    several: ClassVar[bool] = False

    @classmethod
    def sum(cls, xs: Tensor, dim: int = -1) -> Tensor:
        """Return log sum exp."""
        found: Tensor = _Drawn.apply(xs.movedim(dim, -1), cls.several)
        return found


class MultiSampledSemiring(SampledSemiring):
    """Log sums, whose gradient holds the events of 16 structures that are drawn, in bits."""

    several = True

    @staticmethod
    def to_discrete(xs: Tensor, j: int) -> Tensor:
        """Return the event of draw j, 1 to 16, of what `marginals` returned."""
        whole = xs.long()
        return ((whole % 2 == 1) | (whole >> j & 1 == 1)).type_as(xs)


def CheckpointSemiring(cls: type[Semiring], min_size: int = 0) -> type[Semiring]:  # noqa: N802
    """Return a semiring whose steps are computed again for the gradient."""
    return type(f"Checkpoint{cls.__name__}", (cls,), {"recomputed": True})


CheckpointShardSemiring = CheckpointSemiring
