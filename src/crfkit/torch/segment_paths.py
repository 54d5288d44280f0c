"""The best segmentations, and draws, in plain torch: what `crfkit.torch.segment_reference` is for sums."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from crfkit.torch.autograd import logsumexp
from crfkit.torch.batches import Segments
from crfkit.torch.reference import drawing, first_best
from crfkit.torch.rows import scattered
from crfkit.torch.segment_reference import Rows, ended, forward, whole_scores

__all__ = ["best", "kbest", "sample"]

Choice = Callable[[Tensor], Tensor]  # [B, n] -> [B]


def _trace(made: Rows, segments: Segments, choose: Choice) -> tuple[Tensor, Tensor]:
    """Return labels and begins [B, T], drawn or chosen from the last segment to the first."""
    length, edge, stop = segments.length, segments.edge, segments.stop
    B, T = length.shape[0], len(made.leave)
    labels = length.new_full((B, T), -1, dtype=torch.int64)
    begins = torch.zeros_like(labels, dtype=torch.bool)
    rows = torch.arange(B, device=length.device)
    state = labels.new_zeros(B)
    left = labels.new_zeros(B)  # places of the segment that are still to be written
    for t in reversed(range(T)):
        ends = (length == t + 1) | ((t + 1 < length) & (left == 0))
        into = edge.double().T[state] if t + 1 < T else made.leave[t].new_zeros(B, edge.shape[0])
        after = torch.where((length == t + 1)[:, None], stop.double(), into)
        state = torch.where(ends, choose(made.leave[t] + after), state)
        lengths = choose(made.ending(t)[rows, :, state]) + 1
        left = torch.where(ends, lengths, left)
        inside = t < length
        labels[:, t] = torch.where(inside, state, -1)
        begins[:, t] = inside & (left == 1)
        left = torch.where(inside, left - 1, left)
    return labels, begins


def best(segments: Segments) -> tuple[Tensor, Tensor, Tensor]:
    """Return labels, begins and the score of the best segmentation."""
    made = forward(whole_scores(segments), segments, torch.amax)
    score = ended(made, segments, torch.amax)
    return (*_at_rows(segments, score, _trace(made, segments, first_best)), score)


def _at_rows(segments: Segments, value: Tensor, found: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    """Return labels and begins [B, T] at the rows of scores, -1 and False where there are none."""
    there = (value > -torch.inf)[:, None]
    labels = scattered(torch.where(there, found[0], -1), segments.like, segments, -1)
    return labels, scattered(found[1] & there, segments.like, segments)


def sample(segments: Segments, n: int, seed: Tensor) -> tuple[Tensor, Tensor]:
    """Return labels and begins of n independent draws, [B, n, T] or packed [n, P]."""
    made = forward(whole_scores(segments), segments, logsumexp)
    value = ended(made, segments, logsumexp)
    draw = drawing(seed, segments.like.device)
    draws = [_at_rows(segments, value, _trace(made, segments, draw)) for _ in range(max(n, 1))]
    axis = 0 if segments.first is not None else 1
    labels, begins = (torch.stack(x, axis).narrow(axis, 0, n) for x in zip(*draws, strict=True))
    return labels, begins


def kbest(segments: Segments, k: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return labels and begins of the k best, [B, k, T] or packed [k, P], and scores [B, k].

    Whole segmentations are kept for each place and label, as numbers 2 * label + begins of their places.
    """
    length, start, edge, stop = segments.length, segments.start, segments.edge, segments.stop
    scores = whole_scores(segments)
    B, T, D, L = scores.shape
    value = scores.new_full((B, k), -torch.inf)
    value[:, 0] = torch.where(length == 0, 0.0, -torch.inf)
    paths = length.new_full((B, k, T), -2, dtype=torch.int64)
    number = torch.arange(L, device=scores.device)
    leave: list[tuple[Tensor, Tensor]] = []  # scores [B, L, n] and segmentations [B, L, n, t + 1]
    enter: list[tuple[Tensor, Tensor]] = []  # [B, L, n] and [B, L, n, t]
    for t in range(T):
        if t == 0:
            origin = start.double().expand(B, L)[..., None]
            enter.append((origin, paths.new_zeros(B, L, 1, 0)))
        else:
            before, path = leave[-1]
            longer = (
                (before[:, :, None] + edge.double()[:, :, None]).transpose(1, 2).flatten(2)
            )  # [B, L, L n]
            top, chosen = longer.topk(min(k, longer.shape[-1]), -1)
            path = path.flatten(1, 2)[:, None].expand(B, L, -1, t)
            enter.append((top, path.gather(2, chosen[..., None].expand(*chosen.shape, t))))
        ending, whole = [], []
        for d in range(min(t + 1, D)):
            before, path = enter[t - d]
            ending.append(before + scores[:, t - d, d, :, None])
            inner = (2 * number + 0).view(1, L, 1, 1).expand(*before.shape, d + 1).clone()
            inner[..., 0] += 1
            whole.append(torch.cat([path, inner], -1))
        together, path = torch.cat(ending, 2), torch.cat(whole, 2)
        top, chosen = together.topk(min(k, together.shape[-1]), -1)
        leave.append((top, path.gather(2, chosen[..., None].expand(*chosen.shape, t + 1))))
        ended = (top + stop.double()[:, None]).flatten(1)
        top, chosen = ended.topk(min(k, ended.shape[1]), -1)
        found = leave[-1][1].flatten(1, 2).gather(1, chosen[..., None].expand(*chosen.shape, t + 1))
        last = (length == t + 1)[:, None]
        n = top.shape[1]
        value[:, :n] = torch.where(last, top, value[:, :n])
        here = (last & (top > -torch.inf))[..., None]
        paths[:, :n, : t + 1] = torch.where(here, found, paths[:, :n, : t + 1])
    each = [scattered(paths[:, i], segments.like, segments, -2) for i in range(k)]
    both = torch.stack(each, 0 if segments.first is not None else 1)
    return both.div(2, rounding_mode="floor"), both % 2 == 1, value
