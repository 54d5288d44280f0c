"""Queries of linear chains, stateless and batched, by the operators of `crfkit.torch.ops`.

score(y) = start[y_1] + sum_t node[t, y_t] + sum_t edge[y_{t-1}, y_t] + stop[y_T]

All take ``node, edge`` first, and by name ``start``, ``stop`` (zeros where omitted) and what the chains are:

=======================  =====================================================================================
node                     [B, T, L], or packed [P, L], a `PackedSequence`, a jagged nested tensor
                         (`crfkit.torch.inputs`); float16, bfloat16, float32 or float64
edge                     [L, L] as ``edge[from, to]``; by position [B, T, L, L] (entry t: the step into row t)
                         or [B, T - 1, L, L] (entry t: from row t to row t + 1); packed [P, L, L]; a list of
                         tables [L, L], [L, L, L], ... of a chain of order k
mask                     [B, T]: rows that are 0 are not in the chain, whatever the pattern
lengths, offsets         [B]: each sequence is a prefix; [B + 1]: ends of packed sequences
allowed                  [B, T, L] or packed, bool: labels that positions may have, and answers are about
                         these labelings alone; of the loss it is what is known of the gold
=======================  =====================================================================================

-inf forbids. Values of single sequences (log Z, scores, entropies) are float64. Where nothing is allowed
log Z is -inf, the loss +inf, and the gradient of that sequence 0; NaN or +inf among the scores of a sequence
makes its own values NaN. Sums are deterministic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from crfkit.checks import check_choice, check_number
from crfkit.torch.gold import check_sets, check_shares, known_labels
from crfkit.torch.inputs import Conditions, Edges, Rows, Scores, tables, visible
from crfkit.torch.queries import Chains, Reduction
from crfkit.torch.results import Paths
from crfkit.torch.weighting import by_position, check_smoothing, smoothed

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = [
    "Reduction",
    "chain_best",
    "chain_entropy",
    "chain_kbest",
    "chain_kl",
    "chain_log_partition",
    "chain_log_prob",
    "chain_loss",
    "chain_marginals",
    "chain_sample",
]


def chain_log_partition(
    node: Rows,
    edge: Edges,
    **scores: Unpack[Conditions],
) -> Tensor:
    """Return log Z [B], the log of the sum of exp(score) over all labelings.

    Examples
    --------
    >>> chain_log_partition(torch.zeros(1, 3, 2), torch.zeros(2, 2)).exp()
    tensor([8.0000], dtype=torch.float64)
    """
    return Chains(node, edge, **scores).log_partition()


def chain_loss(
    node: Rows,
    edge: Edges,
    labels: Rows | None = None,
    *,
    allowed: Rows | None = None,
    weight: Tensor | None = None,
    reduction: Reduction = "mean",
    check: bool | None = None,
    label_smoothing: float = 0,
    label_weight: Tensor | None = None,
    position_weight: Rows | None = None,
    **scores: Unpack[Scores],
) -> Tensor:
    """Return minus the log probability of what is known of the labels: 0 or more.

    Parameters
    ----------
    node, edge, start, stop, mask, lengths, offsets
        See `crfkit.torch.functional`.
    labels : tensor of whole numbers, shaped as `node` without its last axis
        -1 and -100 in a chain are unknown: the loss sums over them. Rows that the mask leaves out may hold
        anything. Labels out of range: a ValueError on the CPU; on other devices, where they are not looked
        at, the loss of the sequence is not finite.
    allowed : tensor shaped as `node`, optional
        bool: the labels that each position may have, in place of `labels` or beside them; an empty set in a
        chain is a ValueError on the CPU, and elsewhere the loss +inf. A floating type:
        a distribution over the labels of each position, and the loss is log Z minus the expected score if
        positions are drawn from it independently (steps that are forbidden do not count).
    weight : tensor [B], optional
        Factors of the losses. 0 leaves a sequence out, whatever its loss is.
    reduction : {"mean", "sum", "token", "none"}
        Divide the sum of the weighted losses by B, not at all, by the number of positions; or return [B].
    check : bool, optional
        Whether to raise a ValueError that names the sequence and, where labels are given, the position. By
        default on the CPU where the gold is forbidden (the loss would be +inf), and not on other devices,
        which it would wait for. True: on all, for NaN too. False: nowhere. Weights of 0 are left out.
    label_smoothing : float from 0 to 1
        How much of the gold is the uniform distribution over all labelings that are allowed.
    label_weight : tensor [L], optional
    position_weight : tensor shaped as `labels`, optional
        The loss is the sum of -log p(y_t | labels before it) over positions; these are factors of its terms,
        by label and by position (`crfkit.torch.weighting`). All labels must be known. "token" divides by the
        sum of the weights.

    Returns
    -------
    Tensor
        One number in float32 (float64 for scores in float64), or with "none" [B] in float64. Gold that is
        forbidden has the loss +inf and the gradient 0, a sequence without positions the loss 0.

    Examples
    --------
    >>> node, edge = torch.zeros(2, 3, 4), torch.zeros(4, 4)
    >>> labels = torch.tensor([[0, 1, 2], [3, -100, 0]])
    >>> chain_loss(node, edge, labels, reduction="none").exp()
    tensor([64.0000, 16.0000], dtype=torch.float64)
    """
    check_choice("reduction", reduction, ("mean", "sum", "token", "none"))
    chains = Chains(node, edge, **scores)
    rows, L = chains.rows, chains.rows.node.shape[-1]
    if labels is None and allowed is None:
        raise ValueError("labels and allowed are both omitted; one of them must give the gold labels")
    plain = allowed is None and label_weight is None and position_weight is None
    look = not plain and visible(rows.node)  # the native code checks labels itself
    gold = None if labels is None else known_labels(rows.like_node(labels, "labels"), rows, look)
    sets = None if allowed is None else rows.like_node(allowed, "allowed", (L,))
    if sets is not None and sets.dtype == torch.bool:
        check_sets(sets, rows)
    elif sets is not None:
        if not sets.dtype.is_floating_point:
            raise ValueError(f"allowed has type {sets.dtype}, expected torch.bool or a floating type")
        if gold is not None:
            raise ValueError("labels and distributions are both given; give one of them")
        check_shares(sets, rows)
    made = share = None
    if label_weight is not None or position_weight is not None:
        if gold is None or sets is not None:
            raise ValueError("label_weight and position_weight need labels, not allowed")
        made, share = by_position(chains, gold, label_weight, position_weight)
    if label_smoothing:
        check_smoothing(label_smoothing)
        made = smoothed(chains, chains.losses(gold, sets) if made is None else made, label_smoothing)
    return chains.loss((gold, sets), weight, reduction, check, sets is None, made, share)


def chain_log_prob(
    node: Rows,
    edge: Edges,
    labels: Rows,
    **scores: Unpack[Scores],
) -> Tensor:
    """Return the log probability [B] of labelings; labels of -1 and -100 are summed over.

    Examples
    --------
    >>> chain_log_prob(torch.zeros(1, 2, 2), torch.zeros(2, 2), torch.tensor([[0, 1]])).exp()
    tensor([0.2500], dtype=torch.float64)
    """
    chains = Chains(node, edge, **scores)
    return -chains.losses(known_labels(chains.rows.like_node(labels, "labels"), chains.rows, False), None)


def chain_marginals(
    node: Rows,
    edge: Edges,
    *,
    edges: bool = False,
    **scores: Unpack[Conditions],
) -> Any:
    """Return the probability of each label at each position, shaped as `node`, 0 at rows that are masked.

    With ``edges=True`` return also those of steps, [B, T, L, L] or packed [P, L, L]: entry t is for the step
    into row t, from the position of the chain before it; shaped as `edge` where that lies by position. NaN
    where the scores of a sequence hold NaN or +inf, 0 where they allow nothing. Differentiable; in float32
    for half precision.

    Examples
    --------
    >>> chain_marginals(torch.tensor([[[0.0, 3.0]]]).log(), torch.zeros(2, 2))
    tensor([[[0., 1.]]])
    """
    chains = Chains(node, edge, **scores)
    single, steps = chains.marginals(edges)
    if steps is None:
        return chains.rows.given_back(single)
    return chains.rows.given_back(single), chains.rows.given_back(steps)


def chain_entropy(
    node: Rows,
    edge: Edges,
    **scores: Unpack[Conditions],
) -> Tensor:
    """Return the entropy [B] of the distribution over labelings, in nats; differentiable at will.

    Examples
    --------
    >>> chain_entropy(torch.zeros(1, 3, 2), torch.zeros(2, 2)).exp()
    tensor([8.0000], dtype=torch.float64)
    """
    chains = Chains(node, edge, **scores)
    return chains.entropy()


def chain_kl(
    node: Rows,
    edge: Edges,
    other_node: Rows,
    other_edge: Edges,
    *,
    other_start: Tensor | None = None,
    other_stop: Tensor | None = None,
    **scores: Unpack[Scores],
) -> Tensor:
    """Return KL(p || q) [B] of two distributions over the labelings of the same chains.

    +inf, with the gradient 0, where q forbids what p allows and where one of them allows nothing. In float64,
    from scores of half precision too; differentiable at will.

    Examples
    --------
    >>> node, edge = torch.tensor([[[0.0, 0.0]]]), torch.zeros(2, 2)
    >>> chain_kl(node, edge, torch.tensor([[[1.0, 3.0]]]).log(), edge)  # log(1/2 / 1/4)/2 + log(1/2 / 3/4)/2
    tensor([0.1438], dtype=torch.float64)
    """
    p = Chains(node, edge, **scores)
    other = p.rows.like_node(other_node, "other_node", (p.rows.node.shape[-1],))
    q_start, q_edge, q_stop = tables(p.rows, other_start, other_edge, other_stop)
    return p.divergence(other, q_start, q_edge, q_stop)


def chain_best(
    node: Rows,
    edge: Edges,
    **scores: Unpack[Conditions],
) -> Paths:
    """Return the best labeling of each sequence and its score; ties go to the lowest label, from the end.

    Examples
    --------
    >>> chain_best(torch.tensor([[[0.0, 1.0], [2.0, 0.0]]]), torch.zeros(2, 2)).lists()
    [[1, 0]]
    """
    chains = Chains(node, edge, **scores)
    labels, score = chains.labels("best")
    return Paths(chains.rows.given_back(labels), score, chains.rows.offsets)


def chain_kbest(
    node: Rows,
    edge: Edges,
    k: int,
    **scores: Unpack[Conditions],
) -> Paths:
    """Return the k best labelings, best first: labels [B, k, T] (packed [k, P]), scores [B, k].

    Where there are fewer than k, labels are -1 and scores -inf.

    Examples
    --------
    >>> chain_kbest(torch.tensor([[[0.0, 1.0], [2.5, 0.0]]]), torch.zeros(2, 2), 2).lists()
    [[[1, 0], [0, 0]]]
    """
    check_number("k", k, 1, whole=True)
    chains = Chains(node, edge, **scores)
    labels, score = chains.labels("kbest", k)
    return Paths(chains.rows.given_back(labels, leading=1), score, chains.rows.offsets)


def chain_sample(
    node: Rows,
    edge: Edges,
    n: int = 1,
    *,
    generator: torch.Generator | None = None,
    **scores: Unpack[Conditions],
) -> Tensor:
    """Return n independent draws from the distribution over labelings, [B, n, T] (packed [n, P]).

    The generator, or `torch.manual_seed`, decides all of them.

    Examples
    --------
    >>> chain_sample(torch.tensor([[[0.0, 1.0]]]).log(), torch.zeros(2, 2), 3)
    tensor([[[1], [1], [1]]])
    """
    check_number("n", n, 1, whole=True)
    chains = Chains(node, edge, **scores)
    return chains.rows.given_back(chains.labels("sample", n, chains.seed(generator)), leading=1)
