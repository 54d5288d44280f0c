"""Trees and alignments in plain torch: any semiring, any device, differentiable at will.

The oracle of the native charts (`crfkit.torch.trees.operators`), what answers on other devices, and what
makes second derivatives. Best structures, the k best and draws are gradients in other semirings: Goodman
(1999), Li & Eisner (2009). Values are [size, batch, ...] as those of `crfkit.torch.semirings`. Slow: a graph
of O(T^3) numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from crfkit.torch.autograd import logsumexp
from crfkit.torch.semirings import LogSemiring, Semiring

__all__ = ["alignment", "binary", "inside", "log_partition", "projective", "spanning"]

Ring = type[Semiring] | Semiring


def _joined(ring: Any, left: list[Tensor], right: list[Tensor]) -> Tensor:
    """Return the sum over i of left[i] * right[i]."""
    return ring.sum(ring.mul(torch.stack(left, -1), torch.stack(right, -1)), -1)


def _at(rows: list[Tensor], length: Tensor) -> Tensor:
    """Return row length[b] of each batch element: rows [size, batch] by length."""
    stacked = torch.stack(rows, -1)
    return stacked.gather(-1, length.long().expand(stacked.shape[:-1]).unsqueeze(-1)).squeeze(-1)


def projective(ring: Any, arcs: Tensor, length: Tensor, single_root: bool) -> Tensor:
    """Return sums [size, batch] over projective trees: Eisner (1996).

    arcs are values [size, batch, T, T] of (head, dependent), roots on the diagonal. Complete spans by the
    difference of their ends: right[w][..., i] has its head at i and ends at i + w, left[w][..., i] its head
    at i + w. The root stands at 0, words at 1 to T.
    """
    T, shape = arcs.shape[-1], arcs.shape[:-2]
    one = ring.filled(arcs, (*shape[1:], T + 1), ring.one)
    zero = ring.filled(arcs, (*shape[1:], 1), ring.zero)
    first = 1 if single_root else 0
    roots = arcs.diagonal(dim1=-2, dim2=-1)  # [size, batch, T]
    right, left = [one], [one]
    open_right: list[Tensor] = [one]  # with an arc between the ends
    open_left: list[Tensor] = [one]
    for w in range(1, T + 1):
        count = T + 1 - w
        joined = _joined(
            ring,
            [right[k][..., :count] for k in range(w)],
            [left[w - 1 - k][..., k + 1 : k + 1 + count] for k in range(w)],
        )
        to_right = torch.cat([roots[..., w - 1 : w], arcs.diagonal(w, -2, -1)], -1)
        to_left = torch.cat([zero, arcs.diagonal(-w, -2, -1)], -1)
        if first:
            to_right = torch.cat([zero, to_right[..., 1:]], -1)
        open_right.append(ring.mul(joined, to_right))
        open_left.append(ring.mul(joined, to_left))
        right.append(
            _joined(
                ring,
                [open_right[k][..., :count] for k in range(1, w + 1)],
                [right[w - k][..., k : k + count] for k in range(1, w + 1)],
            )
        )
        left.append(
            _joined(
                ring,
                [left[k][..., :count] for k in range(w)],
                [open_left[w - k][..., k : k + count] for k in range(w)],
            )
        )
    whole = [x[..., 0] for x in right]
    if single_root:
        for n in range(1, T + 1):
            of_root = [ring.mul(left[k - 1][..., 1], roots[..., k - 1]) for k in range(1, n + 1)]
            whole[n] = _joined(ring, of_root, [right[n - k][..., k] for k in range(1, n + 1)])
    return _at(whole, length)


def binary(ring: Any, spans: Tensor, length: Tensor) -> Tensor:
    """Return sums [size, batch] over binary trees: values [size, batch, T, T] of (first, last) words."""
    T = spans.shape[-1]
    made: list[Tensor] = []  # by width, of each beginning
    for w in range(T):
        score = spans.diagonal(w, -2, -1)
        if w:
            count = T - w
            inside = _joined(
                ring,
                [made[k][..., :count] for k in range(w)],
                [made[w - 1 - k][..., k + 1 : k + 1 + count] for k in range(w)],
            )
            score = ring.mul(inside, score)
        made.append(score)
    none = ring.filled(spans, tuple(spans.shape[1:-2]), ring.one)
    return _at([none, *(x[..., 0] for x in made)], length)


def alignment(ring: Any, steps: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Return sums [size, batch] over paths from cell (0, 0) to (rows - 1, columns - 1).

    steps are values [size, batch, N, M, 3] of steps into a cell: 0 from the column before, 1 from both, 2
    from the row before. The first cell is entered by 1. Cells are swept by row + column.
    """
    N, M = steps.shape[-3:-1]
    lead = steps.shape[:-3]
    one = ring.filled(steps, tuple(lead[1:]), ring.one)
    if N == 0 or M == 0:
        return one.clone()
    zero = ring.filled(steps, (*lead[1:], 1), ring.zero)
    row = torch.arange(N, device=steps.device)
    made: list[Tensor] = []  # [size, batch, N] of each diagonal
    for d in range(N + M - 1):
        column = d - row
        inside = (column >= 0) & (column < M)
        score = steps[..., row, column.clamp(0, M - 1), :]  # [size, batch, N, 3]
        score = torch.where(inside[:, None], score, zero[..., None])
        if d == 0:
            only = score[..., :1, 1]
            made.append(torch.cat([only, zero.expand(*lead, N - 1)], -1))
            continue

        def shifted(x: Tensor) -> Tensor:
            return torch.cat([zero, x[..., :-1]], -1)

        before = [made[-1], zero.expand(*lead, N), shifted(made[-1])]
        if d > 1:
            before[1] = shifted(made[-2])
        made.append(ring.sum(ring.mul(torch.stack(before, -1), score), -1))
    last = (rows + columns - 2).long().clamp(min=0)
    each = torch.stack(made, -1)  # [size, batch, N, diagonals]
    each = each.gather(-1, last[:, None, None].expand(*lead, N, 1)).squeeze(-1)
    value = each.gather(-1, (rows.long() - 1).clamp(min=0)[:, None].expand(*lead, 1)).squeeze(-1)
    return torch.where((rows > 0) & (columns > 0), value, one)


def spanning(arcs: Tensor, length: Tensor, single_root: bool) -> Tensor:
    """Return log Z [batch] over trees that may cross: arcs [batch, T, T], roots on the diagonal.

    Words are eliminated as `cpp/engine/trees/matrix_tree.cpp` says, in logarithms.
    """
    B, T, _ = arcs.shape
    if T == 0:
        return arcs.new_zeros(B)
    outside = torch.arange(T, device=arcs.device) >= length[:, None]  # [B, T]: they count as leaves
    eye = torch.eye(T, dtype=torch.bool, device=arcs.device)
    arcs = arcs.masked_fill(outside[:, :, None] | outside[:, None], -torch.inf)
    roots = arcs.diagonal(dim1=-2, dim2=-1)
    arcs = arcs.masked_fill(eye, -torch.inf)
    if single_root:  # of the first word
        leaf = outside[:, None, :] & (torch.arange(T, device=arcs.device) == 0)[:, None]
        arcs = torch.where(leaf, 0.0, arcs)
    else:
        roots = torch.where(outside, 0.0, roots)
    weight = torch.cat([arcs, roots[:, None]], 1)  # [B, heads and the root, words]
    value = arcs.new_zeros(B)
    for k in reversed(range(T)):
        if single_root and k:
            weight = _last_with_heads(weight, k)
        heads = weight[:, :, k] if k == 0 or not single_root else weight[:, :-1, k]
        pivot = logsumexp(heads, 1)  # [B]
        value = value + pivot
        rest = [*range(k), k + 1]
        share = weight[:, rest, k] - torch.where(pivot == -torch.inf, 0.0, pivot)[:, None]
        through = share[:, :, None] + weight[:, k, None, :k]
        weight = logsumexp(torch.stack([weight[:, rest, :k], through], -1), -1)
        weight = torch.cat([weight[:, :k].masked_fill(eye[:k, :k], -torch.inf), weight[:, k:]], 1)
    return torch.where(length > 0, value, 0.0)


def _last_with_heads(weight: Tensor, k: int) -> Tensor:
    """Return weights [B, k + 2, k + 1] in another order: the last word has the heaviest heads."""
    j = weight[:, :-1].detach().logsumexp(1).argmax(1)  # [B]
    order = torch.arange(k + 1, device=weight.device).repeat(len(weight), 1)
    order = order.scatter(1, j[:, None], k)
    order[:, k] = j
    with_root = torch.cat([order, torch.full_like(order[:, :1], k + 1)], 1)
    weight = weight.gather(1, with_root[:, :, None].expand(-1, -1, k + 1))
    return weight.gather(2, order[:, None].expand(-1, k + 2, -1))


def _sums(shape: str) -> Callable[..., Tensor]:
    if shape == "binary":
        return lambda ring, x, rows, columns: binary(ring, x, rows)
    if shape == "alignment":
        return alignment
    return lambda ring, x, rows, columns: projective(ring, x, rows, shape.endswith("single_root"))


def inside(ring: Any, values: Tensor, rows: Tensor, columns: Tensor, shape: str) -> Tensor:
    """Return sums [size, batch] of the structures of a shape, from values of their parts."""
    return _sums(shape)(ring, values, rows, columns)


def within(scores: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Return scores with 0 for what is not read: it may be NaN."""
    N, M = scores.shape[1:3]
    one = torch.arange(N, device=scores.device) < rows[:, None]
    two = torch.arange(M, device=scores.device) < columns[:, None]
    both = one[:, :, None] & two[:, None]
    return torch.where(both.view(*both.shape, *(1,) * (scores.ndim - 3)), scores, 0.0)


def log_partition(scores: Tensor, rows: Tensor, columns: Tensor, shape: str) -> Tensor:
    """Return log Z [batch] in float64: -inf where nothing is allowed, NaN where scores are NaN or +inf."""
    wide = within(scores.double(), rows, columns)
    if shape != "alignment" and wide.ndim == 4:
        wide = logsumexp(wide, -1)  # over labels
    if shape.startswith("spanning"):
        value = spanning(wide, rows, shape.endswith("single_root"))
    else:
        value = inside(LogSemiring, wide.unsqueeze(0), rows, columns, shape)[0]
    return torch.where(value == torch.inf, torch.nan, value)
