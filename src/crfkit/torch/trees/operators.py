"""The operators of trees and alignments, `torch.ops.crfkit.trees_*`, and their derivatives.

All take ``scores, rows, columns, shape``:

==========  ==================================================================================================
scores      [B, T, T], or [B, T, T, L] with labels, or [B, N, M, 3] of alignments; float32 or float64
rows        [B] int64: how many rows of each there are
columns     [B] int64: how many of their columns; None: as many as rows
shape       one of `SHAPES`, as a number
==========  ==================================================================================================

Scores of what is not there are not read. On the CPU native charts answer, sentence by sentence on threads:
the same bits for any number of these; NaN or +inf there is a ValueError. Elsewhere
`crfkit.torch.trees.reference` answers, in plain torch, and NaN gives NaN. log Z -> marginals -> a Hessian
product, each the gradient of the one before; the product and all that follows are made by the reference.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import Function

from crfkit import _native
from crfkit.native import kernels
from crfkit.torch.autograd import with_graphs
from crfkit.torch.registry import register
from crfkit.torch.semirings import KMaxSemiring, MaxSemiring, SampledSemiring
from crfkit.torch.tensors import to_dlpack
from crfkit.torch.trees import reference

__all__ = ["SHAPES", "LogPartition", "Marginals", "Parts", "find"]

#: in the order of `TreeShape` in cpp/engine/trees/plan.hpp
SHAPES = (
    "projective",
    "projective_single_root",
    "spanning",
    "spanning_single_root",
    "binary",
    "alignment",
)
_QUERIES = ("best", "kbest", "sample")


class Parts(NamedTuple):
    """Scores of parts, and how many rows and columns of them are there."""

    scores: Tensor
    rows: Tensor
    columns: Tensor | None
    shape: int

    @property
    def sizes(self) -> tuple[Tensor, Tensor]:
        """Rows and columns of each."""
        return self.rows, self.rows if self.columns is None else self.columns


def _threads(scores: Tensor, count: int = 1) -> int:
    """Return how many threads are worth their start, about 30 microseconds each."""
    most: int = torch.get_num_threads()
    wanted: int = scores.numel() * (scores.shape[2] + 16) * count // 100_000
    return max(1, min(most, wanted))


def _sum_on_cpu(parts: Parts, grad: bool) -> tuple[Tensor, Tensor]:
    scores = parts.scores.detach().contiguous()
    value = torch.empty(scores.shape[0], dtype=torch.float64)
    made = torch.zeros_like(scores) if grad else None
    rows, columns = map(to_dlpack, parts.sizes)
    filled = None if made is None else to_dlpack(made)
    _native.sum_trees(
        kernels, parts.shape, to_dlpack(scores), rows, columns, to_dlpack(value), filled, _threads(scores)
    )
    return value, scores.new_empty(0) if made is None else made


@with_graphs
def _sum_elsewhere(parts: Parts, grad: bool) -> tuple[Tensor, Tensor]:
    with torch.enable_grad():
        leaf = parts.scores.detach().requires_grad_(grad)
        value = reference.log_partition(leaf, *parts.sizes, SHAPES[parts.shape])
        if not grad:
            return value.detach(), leaf.new_empty(0)
        total = torch.where(value.isinf(), 0.0, value).sum()
        (made,) = torch.autograd.grad(total, leaf)
    return value.detach(), made


@with_graphs
def _product(parts: Parts, weight: Tensor, along: Tensor) -> tuple[Tensor, Tensor]:
    with torch.enable_grad():
        leaf, weights = parts.scores.detach().requires_grad_(), weight.detach().requires_grad_()
        made, dot = product(parts._replace(scores=leaf), weights, along)
    return made.detach(), dot.detach()


def product(parts: Parts, weight: Tensor, along: Tensor) -> tuple[Tensor, Tensor]:
    """Return the Hessian of sum_b weight[b] log Z[b] times a direction, and <marginals, direction> [B].

    Differentiable, with a graph of everything that is given.
    """
    value = reference.log_partition(parts.scores, *parts.sizes, SHAPES[parts.shape])
    total = (torch.where(value.isinf(), 0.0, value) * weight).sum()
    (made,) = torch.autograd.grad(total, parts.scores, create_graph=True)
    dot = (made * along).sum()
    by_scores, by_weight = torch.autograd.grad(dot, (parts.scores, weight), create_graph=True)
    return by_scores, by_weight


def _find_on_cpu(parts: Parts, query: int, count: int, seed: Tensor) -> tuple[Tensor, Tensor]:
    scores = parts.scores.detach().contiguous()
    B, N, M = scores.shape[:3]
    chosen = torch.full((B, count, N, M), -1, dtype=torch.int64)
    score = torch.full((B, count), -torch.inf, dtype=torch.float64)
    rows, columns = map(to_dlpack, parts.sizes)
    _native.find_trees(
        kernels,
        parts.shape,
        query,
        to_dlpack(scores),
        rows,
        columns,
        int(seed) % 2**64,
        to_dlpack(chosen),
        to_dlpack(score),
        _threads(scores, count),
    )
    return chosen, score


@with_graphs
def _find_elsewhere(parts: Parts, query: int, count: int, seed: Tensor) -> tuple[Tensor, Tensor]:
    """By gradients in other semirings: parts that are there have the gradient 1."""
    shape = SHAPES[parts.shape]
    if shape.startswith("spanning"):
        raise NotImplementedError(
            f"trees that may cross are found on the CPU alone, and scores are on {parts.scores.device}: "
            "give scores.cpu(), or projective=True"
        )
    if _QUERIES[query] == "sample":
        with torch.random.fork_rng():
            torch.manual_seed(int(seed))
            each = [_events(parts, SampledSemiring, shape) for _ in range(count)]
        chosen = torch.cat([x for x, _ in each], 1)
        return chosen, torch.zeros_like(chosen[:, :, 0, 0], dtype=torch.float64)
    ring = KMaxSemiring(count) if _QUERIES[query] == "kbest" else MaxSemiring
    return _events(parts, ring, shape)


def _events(parts: Parts, ring: Any, shape: str) -> tuple[Tensor, Tensor]:
    """Return the parts of each number of a sum, [B, size, N, M], and the numbers [B, size]."""
    with torch.enable_grad():
        leaf = parts.scores.detach().double().requires_grad_()
        values = ring.convert(reference.within(leaf, *parts.sizes))
        if shape != "alignment" and leaf.ndim == 4:
            values = ring.sum(values, -1)  # over labels
        found = reference.inside(ring, values, *parts.sizes, shape)  # [size, B]
        chosen = []
        for value in found:
            total = torch.where(value.isinf(), 0.0, value).sum()
            (event,) = torch.autograd.grad(total, leaf, retain_graph=True)
            there = (event != 0) & torch.isfinite(value).view(-1, *(1,) * (event.ndim - 1))
            if event.ndim == 3:  # no labels
                there = there[..., None]
            chosen.append(torch.where(there.any(-1), there.to(torch.int8).argmax(-1), -1))
    return torch.stack(chosen, 1), found.detach().T


def _fake_sum(parts: Parts, grad: bool) -> tuple[Tensor, Tensor]:
    scores = parts.scores
    value = scores.new_empty(scores.shape[0], dtype=torch.float64)
    return value, scores.new_empty(scores.shape if grad else 0)


def _fake_find(parts: Parts, query: int, count: int, seed: Tensor) -> tuple[Tensor, Tensor]:
    B, N, M = parts.scores.shape[:3]
    chosen = parts.scores.new_empty((B, count, N, M), dtype=torch.int64)
    return chosen, parts.scores.new_empty((B, count), dtype=torch.float64)


def _fake_product(parts: Parts, weight: Tensor, along: Tensor) -> tuple[Tensor, Tensor]:
    return parts.scores.new_empty(parts.scores.shape), torch.empty_like(weight)


_PARTS = "Tensor scores, Tensor rows, Tensor? columns, int shape"
#: log Z [B] in float64, and marginals shaped and typed as scores (empty without `grad`)
_sum = register(
    "trees_sum",
    f"({_PARTS}, bool grad) -> (Tensor logz, Tensor marginals)",
    Parts,
    _sum_on_cpu,
    _sum_elsewhere,
    _fake_sum,
)
_hvp = register(
    "trees_hvp",
    f"({_PARTS}, Tensor weight, Tensor along) -> (Tensor product, Tensor dot)",
    Parts,
    _product,
    _product,
    _fake_product,
)
_find = register(
    "trees_find",
    f"({_PARTS}, int query, int count, Tensor seed) -> (Tensor chosen, Tensor score)",
    Parts,
    _find_on_cpu,
    _find_elsewhere,
    _fake_find,
)


def find(parts: Parts, query: str, count: int, seed: Tensor) -> tuple[Tensor, Tensor]:
    """Return parts of structures [B, count, N, M], -1 for those that are not there; scores [B, count].

    A part has the number of its kind, of an alignment, of its label, or 0. Draws ("sample") have no scores.
    """
    found: tuple[Tensor, Tensor] = _find(*parts, _QUERIES.index(query), count, seed)
    return found


class LogPartition(Function):
    """log Z [B] in float64; its gradient is made in the same call."""

    @staticmethod
    def forward(ctx: Any, *parts: Any) -> Tensor:
        """Take the fields of `Parts`."""
        logz, marginals = _sum(*parts, ctx.needs_input_grad[0])
        ctx.shape = parts[3]
        ctx.save_for_backward(*parts[:3], marginals)
        return logz

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Return weighted marginals, which can be differentiated again."""
        scores, rows, columns, marginals = ctx.saved_tensors
        if torch.is_grad_enabled():
            made: Tensor = Marginals.apply(grad, scores, rows, columns, ctx.shape)
            return made, None, None, None
        weight = grad.to(scores.dtype).view(-1, *(1,) * (scores.ndim - 1))
        return marginals * weight, None, None, None


class Marginals(Function):
    """The gradient of sum_b weight[b] log Z[b]."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, *parts: Any) -> Tensor:
        """Take weights [B] and the fields of `Parts`."""
        ctx.shape = parts[3]
        ctx.save_for_backward(weight, *parts[:3])
        made: Tensor = _sum(*parts, True)[1]
        return made * weight.to(made.dtype).view(-1, *(1,) * (made.ndim - 1))

    @staticmethod
    def backward(ctx: Any, along: Tensor) -> tuple[Tensor | None, ...]:
        """Return the Hessian product; by weight, <marginals, direction>."""
        weight, scores, rows, columns = ctx.saved_tensors
        if torch.is_grad_enabled():
            own = [x.view_as(x) if x.requires_grad else x.detach().requires_grad_() for x in (scores, weight)]
            made, dot = product(Parts(own[0], rows, columns, ctx.shape), own[1], along)
        else:
            made, dot = _hvp(scores, rows, columns, ctx.shape, weight, along)
        return dot, made, None, None, None
