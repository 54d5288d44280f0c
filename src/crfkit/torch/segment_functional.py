"""Queries of semi-Markov chains, stateless and batched, by the operators of segments.

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

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from crfkit.checks import check_choice, check_number
from crfkit.torch import derivatives, ops
from crfkit.torch.batches import Segments
from crfkit.torch.gold import known_labels
from crfkit.torch.inputs import Rows, Scores, SegmentScores, check_scores, sequences, tables, widened
from crfkit.torch.queries import REMEDY, Queries, Reduction
from crfkit.torch.registry import ask
from crfkit.torch.segment_results import Segmentations

if TYPE_CHECKING:
    from typing_extensions import Unpack

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


class _Segments(Queries):
    """Checked scores of a batch of segments."""

    structure = "segment"
    batch: Segments

    def __init__(
        self,
        node: Rows | None,
        edge: Tensor,
        *,
        segment: Rows | None = None,
        length: Tensor | None = None,
        **scores: Unpack[Scores],
    ) -> None:
        if node is None and segment is None:
            raise ValueError("node and segment are both omitted; give at least one of them")
        like: Any = node
        if node is None:
            if not isinstance(segment, Tensor) or segment.ndim not in (3, 4) or segment.shape[-2] == 0:
                found = tuple(segment.shape) if isinstance(segment, Tensor) else type(segment).__name__
                raise ValueError(f"segment is {found}, expected shape (B, T, D, L), or packed (P, D, L)")
            like = segment[..., 0, :]
        where: Any = {name: x for name, x in scores.items() if name not in ("start", "stop")}
        self.rows = rows = sequences(like, **where)
        start, table, stop = tables(rows, scores.get("start"), edge, scores.get("stop"))
        L = rows.node.shape[-1]
        if not isinstance(table, Tensor) or table.ndim != 2:
            raise ValueError(f"edge has more than two axes or tables, expected shape ({L}, {L})")
        if length is not None:
            check_scores(length, "length", rows)
            if length.ndim != 2 or length.shape[0] == 0 or length.shape[1] != L:
                raise ValueError(f"length has shape {tuple(length.shape)}, expected (D, {L})")
            duration = widened(length)
        elif isinstance(segment, Tensor):
            duration = start.new_zeros(segment.shape[-2] if segment.ndim > 1 else 0, L)
        else:
            raise ValueError("length is omitted; give scores of lengths, of shape (D, L)")
        whole = None if segment is None else rows.like_node(segment, "segment", tuple(duration.shape))
        if whole is not None:
            check_scores(whole, "segment", rows)
        own = None if node is None else rows.node
        self.batch = Segments(own, whole, rows.length, rows.first, rows.kept, start, table, stop, duration)

    def _forbidden(self, b: int, gold: tuple[Any, Any]) -> str:
        D = self.batch.duration.shape[0]
        what = f"the gold segments are forbidden, longer than {D} positions, or change their label"
        return f"sequence {b}: {what}: correct labels, begins or the constraints; {REMEDY}"

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


def segment_log_partition(node: Rows | None, edge: Tensor, **scores: Unpack[SegmentScores]) -> Tensor:
    """Return log Z [B] in float64, the log of the sum of exp(score) over all segmentations.

    Differentiable at will.

    Examples
    --------
    >>> node, edge, length = torch.zeros(1, 3, 1), torch.zeros(1, 1), torch.zeros(3, 1)
    >>> round(float(segment_log_partition(node, edge, length=length).exp()), 4)  # three positions, 2^2 cuts
    4.0
    """
    return _Segments(node, edge, **scores).log_partition()


def segment_loss(
    node: Rows | None,
    edge: Tensor,
    labels: Rows,
    begins: Rows | None = None,
    *,
    weight: Tensor | None = None,
    reduction: Reduction = "mean",
    check: bool | None = None,
    **scores: Unpack[SegmentScores],
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
    return segments.loss(segments.gold(labels, begins), weight, reduction, check)


def segment_log_prob(
    node: Rows | None, edge: Tensor, labels: Rows, begins: Rows | None = None, **scores: Unpack[SegmentScores]
) -> Tensor:
    """Return the log probability [B] of segmentations; what is unknown is summed over.

    Examples
    --------
    >>> node, edge, length = torch.zeros(1, 2, 1), torch.zeros(1, 1), torch.zeros(2, 1)
    >>> segment_log_prob(node, edge, torch.tensor([[0, 0]]), torch.tensor([[1, 0]]), length=length).exp()
    tensor([0.5000], dtype=torch.float64)
    """
    segments = _Segments(node, edge, **scores)
    return -segments.losses(*segments.gold(labels, begins))


def segment_marginals(
    node: Rows | None, edge: Tensor, *, segments: bool = False, **scores: Unpack[SegmentScores]
) -> Any:
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
    queries = _Segments(node, edge, **scores)
    batch, rows = queries.widened(), queries.rows
    leading, (D, L) = rows.node.shape[:-1], batch.duration.shape
    if batch.node is None:
        batch = batch._replace(node=batch.duration.new_zeros(*leading, L))
    if segments and batch.segment is None:
        batch = batch._replace(segment=batch.duration.new_zeros(*leading, D, L))
    ones = torch.ones_like(batch.length, dtype=torch.float64)
    cover, whole, *_ = derivatives.Marginals.apply("segment", ones, *batch)

    def marked(x: Tensor) -> Tensor:
        return rows.given_back(rows.marked(x, queries.batch.scores, queries.log_partition))

    return (marked(cover), marked(whole)) if segments else marked(cover)


def segment_entropy(node: Rows | None, edge: Tensor, **scores: Unpack[SegmentScores]) -> Tensor:
    """Return the entropy [B] of the distribution over segmentations, in nats; differentiable at will.

    By the reference in plain torch, which is slow on long sequences.

    Examples
    --------
    >>> value = segment_entropy(torch.zeros(1, 3, 1), torch.zeros(1, 1), length=torch.zeros(3, 1))
    >>> round(float(value.exp()), 4)
    4.0
    """
    return _Segments(node, edge, **scores).entropy()


def segment_best(node: Rows | None, edge: Tensor, **scores: Unpack[SegmentScores]) -> Segmentations:
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
    return segments.found(*ask(ops.segment.best, *segments.plain()))


def segment_kbest(node: Rows | None, edge: Tensor, k: int, **scores: Unpack[SegmentScores]) -> Segmentations:
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
    labels, begins, score = ask(ops.segment.kbest, *segments.plain(), k)
    return segments.found(labels, begins, score, several=1)


def segment_sample(
    node: Rows | None,
    edge: Tensor,
    n: int = 1,
    *,
    generator: torch.Generator | None = None,
    **scores: Unpack[SegmentScores],
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
    labels, begins = ask(ops.segment.sample, *segments.plain(), n, segments.seed(generator))
    return segments.found(labels, begins, None, several=1)
