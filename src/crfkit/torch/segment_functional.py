"""Queries of semi-Markov chains, stateless and batched, by the operators of `crfkit.torch.segment_ops`.

score = start[y_1] + sum_j (node of its positions + length[d_j - 1, y_j] + segment[b_j, d_j - 1, y_j])
        + sum_{j>1} edge[y_{j-1}, y_j] + stop[y_J]

for segments j of label y_j that begin at b_j and have d_j positions, at most D. All take ``node, edge``
first, and by name:

=======================  =====================================================================================
node                     [B, T, L] or packed, in the forms of `crfkit.torch.functional`; or None
segment                  [B, T, D, L] or packed [P, D, L]: scores of whole segments where they begin; those
                         that run past the end of their sequence are not read. May be omitted if node is given
edge                     [L, L] as ``edge[from, to]``
length                   [D, L]: scores of lengths; zeros where omitted (D is then that of `segment`)
start, stop              [L]; zeros where omitted
mask, lengths, offsets   as in `crfkit.torch.functional`; a segment goes on over masked positions
=======================  =====================================================================================

The whole of [B, T, D, L] is never in memory on a GPU unless `segment` is given. On the CPU blocks of it are.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from crfkit.checks import check_choice, check_number
from crfkit.torch import segment_derivatives as derivatives
from crfkit.torch import segment_ops as ops
from crfkit.torch.functional import Reduction, _weights
from crfkit.torch.gold import has_infinity, known_labels, left_in, weighted
from crfkit.torch.inputs import Lengths, Rows, sequences, tables, visible
from crfkit.torch.rows import traced
from crfkit.torch.segment_reference import total_dtype
from crfkit.torch.segment_results import Segmentations

__all__ = [
    "segment_best",
    "segment_entropy",
    "segment_kbest",
    "segment_log_partition",
    "segment_log_prob",
    "segment_loss",
    "segment_marginals",
    "segment_sample",
]

_FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


class _Segments:
    """Checked scores of a batch."""

    def __init__(
        self,
        node: Rows | None,
        edge: Tensor,
        segment: Rows | None = None,
        length: Tensor | None = None,
        start: Tensor | None = None,
        stop: Tensor | None = None,
        mask: Tensor | None = None,
        lengths: Lengths | None = None,
        offsets: Lengths | None = None,
    ) -> None:
        if node is None and segment is None:
            raise ValueError("node and segment are both omitted: one of them scores positions or segments")
        like: Any = node
        if node is None:
            if not isinstance(segment, Tensor) or segment.ndim not in (3, 4) or segment.shape[-2] == 0:
                found = tuple(segment.shape) if isinstance(segment, Tensor) else type(segment).__name__
                raise ValueError(f"segment is {found}, expected shape (B, T, D, L), or packed (P, D, L)")
            like = segment[..., 0, :]
        self.rows = sequences(like, mask, lengths, offsets)
        self.start, table, self.stop = tables(self.rows, start, edge, stop)
        L = self.rows.node.shape[-1]
        if not isinstance(table, Tensor) or table.ndim != 2:
            raise ValueError(f"edge has more than two axes or tables, expected shape ({L}, {L})")
        self.edge = table
        if length is not None:
            self._check(length, "length")
            if length.ndim != 2 or length.shape[0] == 0 or length.shape[1] != L:
                raise ValueError(f"length has shape {tuple(length.shape)}, expected (D, {L})")
            D = length.shape[0]
        elif isinstance(segment, Tensor):
            D = segment.shape[-2] if segment.ndim > 1 else 0
        else:
            raise ValueError("length is omitted: it says how long segments may be, shape (D, L)")
        self.node = None if node is None else self.rows.node
        self.segment = None if segment is None else self.rows.like_node(segment, "segment", (D, L))
        if self.segment is not None:
            self._check(self.segment, "segment")
        zeros = self.start.new_zeros(D, L)
        self.duration = (
            zeros if length is None else length.to(torch.promote_types(length.dtype, torch.float32))
        )

    def _check(self, x: Any, name: str) -> None:
        if not isinstance(x, Tensor):
            raise ValueError(f"{name} is {type(x).__name__}, expected a tensor")
        if x.dtype not in _FLOATS:
            raise ValueError(f"{name} has type {x.dtype}, expected float16, bfloat16, float32 or float64")
        self.rows.check_device(x, name)

    @property
    def args(self) -> tuple[Any, ...]:
        """The first nine arguments of every operator."""
        tables = (self.start, self.edge, self.stop, self.duration)
        return (self.node, self.segment, *self.rows.chain[1:], *tables)

    def plain(self) -> tuple[Any, ...]:
        """Return the same without derivatives."""
        return tuple(x if x is None else x.detach() for x in self.args)

    def gold(self, labels: Rows, begins: Rows | None) -> tuple[Tensor, Tensor]:
        """Return labels int64 and begins bool, checked."""
        if begins is None:
            raise ValueError(
                "begins is omitted: give a tensor shaped as labels that is True where a segment begins "
                "(SegmentCRF.gold makes labels and begins of tags)"
            )
        known = known_labels(self.rows.like_node(labels, "labels"), self.rows)
        cuts = self.rows.like_node(begins, "begins")
        if cuts.dtype.is_floating_point or cuts.dtype.is_complex:
            raise ValueError(f"begins has type {cuts.dtype}, expected torch.bool or whole numbers")
        return known, cuts if cuts.dtype == torch.bool else cuts != 0

    def found(self, labels: Tensor, begins: Tensor, score: Tensor | None, several: int = 0) -> Segmentations:
        """Return segmentations in the form of the scores."""
        rows = self.rows
        return Segmentations(
            rows.given_back(labels, several), rows.given_back(begins, several), score, rows.offsets
        )


def segment_log_partition(node: Rows | None, edge: Tensor, **scores: Any) -> Tensor:
    """Return log Z [B] in float64, the log of the sum of exp(score) over all segmentations.

    Differentiable at will.

    Examples
    --------
    >>> node, edge, length = torch.zeros(1, 3, 1), torch.zeros(1, 1), torch.zeros(3, 1)
    >>> round(float(segment_log_partition(node, edge, length=length).exp()), 4)  # three positions, 2^2 cuts
    4.0
    """
    value: Tensor = derivatives.LogPartition.apply(*_Segments(node, edge, **scores).args)
    return value


def segment_loss(
    node: Rows | None,
    edge: Tensor,
    labels: Rows,
    begins: Rows | None = None,
    *,
    weight: Tensor | None = None,
    reduction: Reduction = "mean",
    check: bool | None = None,
    **scores: Any,
) -> Tensor:
    """Return minus the log probability of what is known of the segments: 0 or more.

    Parameters
    ----------
    node, edge, **scores
        See `crfkit.torch.segment_functional`.
    labels : tensor of whole numbers, shaped as `node` without its last axis
        The label of the segment that each position lies in; -1 and -100 are unknown.
    begins : tensor of bool or whole numbers, shaped as `labels`
        Where segments begin. Where the label is unknown and this is False, that is unknown too. The first
        position always begins one.
    weight, reduction, check
        As in `crfkit.torch.functional.chain_loss`. Gold that cannot be, such as a segment of more than D
        positions or one whose label changes within it, is a ValueError on the CPU; on other devices, and
        with ``check=False``, it has the loss +inf and no gradient.

    Examples
    --------
    >>> node, edge, length = torch.zeros(1, 3, 1), torch.zeros(1, 1), torch.zeros(3, 1)
    >>> labels, begins = torch.tensor([[0, 0, 0]]), torch.tensor([[1, 0, 1]])
    >>> round(float(segment_loss(node, edge, labels, begins, length=length).exp()), 4)
    4.0
    """
    check_choice("reduction", reduction, ("mean", "sum", "token", "none"))
    segments = _Segments(node, edge, **scores)
    gold = segments.gold(labels, begins)
    factor = _weights(weight, segments.rows)
    length = segments.rows.length
    divisor = max(length.shape[0], 1) if reduction == "mean" else 1
    each: Tensor
    if reduction == "none" or (factor is not None and factor.requires_grad):
        each = derivatives.Losses.apply(*segments.args, *gold)
        total = each if factor is None else weighted(each, factor)
        if reduction != "none":
            total = (total.sum() / divisor).to(total_dtype(segments.node, segments.segment, segments.edge))
    else:
        # A compiled graph would hold 1 / B as a constant: there B divides the answer.
        scale = 1.0 if traced() else 1.0 / divisor
        total, each = derivatives.Loss.apply(*segments.args, *gold, factor, scale)
        if traced():
            total = total / divisor
    if reduction == "token":
        total = total / length.sum().clamp(min=1)
    if check or (check is None and visible(each) and has_infinity(total)):
        _raise_for(left_in(each, factor), segments, bool(check))
    return total


def _raise_for(each: Tensor, segments: _Segments, numbers: bool) -> None:
    wrong = (~each.isfinite() if numbers else each.isinf()).nonzero()
    if not wrong.numel():
        return
    b = int(wrong[0])
    if each[b].isnan():
        raise ValueError(f"sequence {b}: the scores hold NaN or +inf")
    remedy = "check=False lets the other sequences train on"
    if ops.log_partition(*segments.plain())[0][b] == -torch.inf:
        raise ValueError(f"sequence {b}: the scores and constraints allow no segmentation; {remedy}")
    D = segments.duration.shape[0]
    raise ValueError(
        f"sequence {b}: the gold segments are forbidden, longer than {D} positions, or change their label: "
        f"correct labels, begins or the constraints; {remedy}"
    )


def segment_log_prob(
    node: Rows | None, edge: Tensor, labels: Rows, begins: Rows | None = None, **scores: Any
) -> Tensor:
    """Return the log probability [B] of segmentations; what is unknown is summed over.

    Examples
    --------
    >>> node, edge, length = torch.zeros(1, 2, 1), torch.zeros(1, 1), torch.zeros(2, 1)
    >>> segment_log_prob(node, edge, torch.tensor([[0, 0]]), torch.tensor([[1, 0]]), length=length).exp()
    tensor([0.5000], dtype=torch.float64)
    """
    segments = _Segments(node, edge, **scores)
    each: Tensor = derivatives.Losses.apply(*segments.args, *segments.gold(labels, begins))
    return -each


def segment_marginals(node: Rows | None, edge: Tensor, *, segments: bool = False, **scores: Any) -> Any:
    """Return the probability that each position lies in a segment of each label, [B, T, L]; 0 where masked.

    With ``segments=True`` return also the probability of each segment, [B, T, D, L], where it begins.
    Differentiable; in float32 for half precision.

    Examples
    --------
    >>> node, edge = torch.zeros(1, 2, 1), torch.zeros(1, 1)
    >>> _, each = segment_marginals(node, edge, length=torch.zeros(2, 1), segments=True)
    >>> each[0, :, :, 0]  # one position, two positions
    tensor([[0.5000, 0.5000],
            [0.5000, 0.0000]])
    """
    batch = _Segments(node, edge, **scores)
    given = batch.plain()
    leading, (D, L) = batch.rows.node.shape[:-1], batch.duration.shape
    if batch.node is None:
        batch.node = batch.duration.new_zeros(*leading, L)
    if segments and batch.segment is None:
        batch.segment = batch.duration.new_zeros(*leading, D, L)
    args = list(batch.args)
    for i in (0, 1):
        if args[i] is not None:
            args[i] = args[i].to(torch.promote_types(args[i].dtype, torch.float32))
    ones = torch.ones_like(batch.rows.length, dtype=torch.float64)
    cover, whole, *_ = derivatives.Marginals.apply(*args, ones)
    made = []
    for x in (cover, whole) if segments else (cover,):
        marked = batch.rows.marked(x, batch.args[:2] + batch.args[5:], lambda: ops.log_partition(*given)[0])
        made.append(batch.rows.given_back(marked))
    return (made[0], made[1]) if segments else made[0]


def segment_entropy(node: Rows | None, edge: Tensor, **scores: Any) -> Tensor:
    """Return the entropy [B] of the distribution over segmentations, in nats; differentiable at will.

    By the reference in plain torch, which is slow on long sequences.

    Examples
    --------
    >>> value = segment_entropy(torch.zeros(1, 3, 1), torch.zeros(1, 1), length=torch.zeros(3, 1))
    >>> round(float(value.exp()), 4)
    4.0
    """
    value: Tensor = derivatives.Entropy.apply(*_Segments(node, edge, **scores).args)
    return value


def segment_best(node: Rows | None, edge: Tensor, **scores: Any) -> Segmentations:
    """Return the best segmentation of each sequence and its score.

    Ties go to the lowest label and then to the shorter segment, from the end to the beginning.

    Examples
    --------
    >>> node = torch.tensor([[[2.0, 0.0], [2.0, 0.0], [0.0, 1.0]]])
    >>> edge = torch.tensor([[-1.0, 0.0], [0.0, 0.0]])
    >>> segment_best(node, edge, length=torch.zeros(2, 2)).segments()
    [[(0, 2, 0), (2, 3, 1)]]
    """
    segments = _Segments(node, edge, **scores)
    return segments.found(*ops.best(*segments.plain()))


def segment_kbest(node: Rows | None, edge: Tensor, k: int, **scores: Any) -> Segmentations:
    """Return the k best segmentations, best first.

    Labels and begins are [B, k, T] (packed [k, P]), scores [B, k]. Where there are fewer than k, labels are
    -1 and scores -inf.

    Examples
    --------
    >>> found = segment_kbest(torch.zeros(1, 2, 1), torch.tensor([[-1.0]]), 3, length=torch.zeros(2, 1))
    >>> found.segments(), found.score.tolist()
    ([[[(0, 2, 0)], [(0, 1, 0), (1, 2, 0)], []]], [[0.0, -1.0, -inf]])
    """
    check_number("k", k, 1, whole=True)
    segments = _Segments(node, edge, **scores)
    labels, begins, score = ops.kbest(*segments.plain(), k)
    return segments.found(labels, begins, score, several=1)


def segment_sample(
    node: Rows | None,
    edge: Tensor,
    n: int = 1,
    *,
    generator: torch.Generator | None = None,
    **scores: Any,
) -> Segmentations:
    """Return n independent draws, labels and begins [B, n, T] (packed [n, P]), without scores.

    The generator, or `torch.manual_seed`, decides all of them.

    Examples
    --------
    >>> never = torch.tensor([[-torch.inf], [0.0]])
    >>> segment_sample(torch.zeros(1, 4, 1), torch.zeros(1, 1), 2, length=never).segments()
    [[[(0, 2, 0), (2, 4, 0)], [(0, 2, 0), (2, 4, 0)]]]
    """
    check_number("n", n, 1, whole=True)
    segments = _Segments(node, edge, **scores)
    device = segments.rows.node.device
    seed = torch.randint(2**63 - 1, (1,), dtype=torch.int64, device=device, generator=generator)
    labels, begins = ops.sample(*segments.plain(), n, seed)
    return segments.found(labels, begins, None, several=1)
