"""The gold side of an objective: a path, a set of labels or a distribution at each position.

==============  ====================  ======================================================
gold            given as              its score, and its credits
==============  ====================  ======================================================
path            ``batch.label``       score of the path; one-hot
set of labels   ``batch.allowed``,    log of the sum over the paths in the set (the clamped
                or labels of -1       sweep); marginals of that sum
distribution    ``batch.soft``        expected score when positions are drawn on their own;
                                      q_t for nodes, q_{t-h} (x) ... (x) q_t for runs
==============  ====================  ======================================================
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from numbers import Real
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from crfkit.arrays import Bools, Floats, Ids, Pointers, sum_by_sequence
from crfkit.data.batch import Batch
from crfkit.linear.plan import run_cells
from crfkit.structures import Chain

__all__ = [
    "allowed_labels",
    "balanced",
    "before",
    "by_label",
    "check_gold",
    "check_gold_of_batch",
    "check_labels",
    "check_learnable",
    "kind_of_gold",
    "label_counts",
    "label_weighted",
    "run_counts",
]

GoldKind = Literal["path", "set", "soft"]


def kind_of_gold(batch: Batch) -> GoldKind:
    """Tell what the batch knows about its labels."""
    if batch.soft is not None:
        return "soft"
    if batch.allowed is not None or batch.label is None or (batch.label < 0).any():
        return "set"
    return "path"


def allowed_labels(batch: Batch, L: int) -> Bools:
    """Return which labels each position may have, [P, L]: all where nothing is known."""
    mask = np.ones((batch.positions, L), dtype=np.bool_) if batch.allowed is None else batch.allowed.copy()
    if batch.label is not None:
        known = np.flatnonzero(batch.label >= 0)
        one = np.zeros((len(known), L), dtype=np.bool_)
        one[np.arange(len(known)), batch.label[known]] = True
        mask[known] = one
    return mask


def before(soft: Floats, batch: Batch) -> Floats:
    """Return q_{t-1} for each position, [P, L]; 0 at the beginnings of sequences."""
    shifted = np.zeros_like(soft)
    shifted[1:] = soft[:-1]
    begins = batch.seq_ptr[:-1]
    shifted[begins[begins < len(soft)]] = 0.0
    return shifted


def run_counts(batch: Batch, L: int, order: int, each: Floats) -> tuple[Floats, ...]:
    """Return the gold's counts of runs, table h with h + 1 axes; a run counts by `each` [P] where it ends.

    Examples
    --------
    >>> batch = Batch(seq_ptr=[0, 3], attr_ptr=[0, 0, 0, 0], attr=[], label=[1, 0, 1])
    >>> [table.tolist() for table in run_counts(batch, 2, 2, np.ones(3))]
    [[[0.0, 1.0], [1.0, 0.0]], [[[0.0, 0.0], [0.0, 0.0]], [[0.0, 1.0], [0.0, 0.0]]]]
    """
    if batch.soft is not None:
        return tuple(_soft_runs(batch, batch.soft, h, each) for h in range(1, order + 1))
    tables = []
    for h, cells in enumerate(run_cells(batch, L, order), start=1):
        known = cells >= 0
        counts = np.bincount(cells[known], each[known], minlength=L ** (h + 1))
        tables.append(counts.astype(np.float64).reshape((L,) * (h + 1)))
    return tuple(tables)


def _soft_runs(batch: Batch, soft: Floats, h: int, each: Floats) -> Floats:
    P, L = soft.shape
    within = np.arange(P) - np.repeat(batch.seq_ptr[:-1], np.diff(batch.seq_ptr))  # [P]
    ends = np.flatnonzero(within >= h)
    total = np.zeros((L**h, L))
    block = max(1, (1 << 22) // L**h)  # positions whose histories take 32 MB
    for i in range(0, len(ends), block):
        p = ends[i : i + block]
        history = soft[p - h]  # [p, L**1], then up to [p, L**h]
        for back in range(h - 1, 0, -1):
            history = np.einsum("pi,pj->pij", history, soft[p - back]).reshape(len(p), -1)
        total += history.T @ (soft[p] * each[p, None])
    return total.reshape((L,) * (h + 1))


def label_counts(batch: Batch, L: int) -> Floats:
    """Return the positions of each label, [L]: shares of distributions; sets of labels are not counted."""
    if batch.soft is not None:
        shares: Floats = batch.soft.sum(axis=0)
        return shares
    label = np.zeros(0, dtype=np.int32) if batch.label is None else batch.label
    return np.bincount(label[label >= 0], minlength=L).astype(np.float64)


def balanced(names: Sequence[str], counts: ArrayLike) -> dict[str, float]:
    """Return a weight for each label that occurs: positions / (labels * positions of the label)."""
    shown = [(name, float(n)) for name, n in zip(names, np.asarray(counts).tolist(), strict=True) if n]
    if not shown:
        raise ValueError('label_weights="balanced" counts plain labels, and the data have none')
    total = sum(n for _, n in shown)
    return {name: total / (len(shown) * n) for name, n in shown}


def by_label(weights: Mapping[str, object], names: Sequence[str]) -> Floats:
    """Return the weights of labels as an array [L], 1 where they are not named; checked."""
    each = np.ones(len(names))
    for name, weight in weights.items():
        if name not in names:
            raise ValueError(
                f"label_weights names {name!r}, which is not a label of the data; the labels are "
                f"{', '.join(names[:20])}"
            )
        if not isinstance(weight, Real):
            raise TypeError(f"label_weights has {weight!r} for the label {name!r}, expected a number")
        each[names.index(name)] = float(weight)
    if not (np.isfinite(each).all() and (each >= 0.0).all()):
        raise ValueError("label_weights must be finite and 0 or more")
    return each


def label_weighted(batch: Batch, label_weights: Floats) -> Floats:
    """Return sequence weights [N] times the mean weight of the gold labels of each sequence.

    A chain's likelihood does not fall apart into positions: credits scaled position by position would be the
    gradient of no function. With one position per sequence this is scikit-learn's ``class_weight``.
    """
    if batch.soft is not None:
        each = batch.soft @ label_weights  # [P]
    elif kind_of_gold(batch) == "path" and batch.label is not None:
        each = label_weights[batch.label]
    else:
        mask = allowed_labels(batch, len(label_weights))
        each = (mask @ label_weights) / mask.sum(axis=1)
    lengths = np.diff(batch.seq_ptr)
    mean = sum_by_sequence(each, batch.seq_ptr) / np.maximum(lengths, 1)  # [N]
    return mean if batch.weight is None else mean * batch.weight


def check_gold(batch: Batch, chain: Chain) -> None:
    """Raise where there is nothing to learn from, or where the gold is impossible under the chain."""
    check_labels(batch, chain)
    label = np.zeros(0, dtype=np.int32) if batch.label is None else batch.label
    counts = np.bincount(label[label >= 0], minlength=len(chain.labels))
    known = batch.allowed is not None or batch.soft is not None
    check_learnable(batch.positions, counts, chain.labels, sure=kind_of_gold(batch) == "path", known=known)


def check_learnable(
    positions: int, counts: Pointers, names: Sequence[str], *, sure: bool, known: bool
) -> None:
    """Raise where data as a whole teach nothing; a part of them may have one label, or none.

    Parameters
    ----------
    positions : int
    counts : array [L]
        Positions of each label.
    names : sequence of str
        Of the labels.
    sure : bool
        Whether every position has a label.
    known : bool
        Whether positions without a label may say something else of it.
    """
    if positions == 0:
        raise ValueError("there is no position to learn from: the data are empty")
    if sure and np.count_nonzero(counts) == 1:
        name = names[int(np.argmax(counts))]
        raise ValueError(f"all {positions} positions have the label {name!r}: nothing to learn")
    if not known and not np.any(counts):
        raise ValueError("no position has a label: training needs some")


def check_gold_of_batch(batch: Batch, chain: Chain) -> None:
    """Raise where a batch, which may be a part of the data, has no position or impossible gold."""
    if batch.positions == 0:
        raise ValueError("there is no position to learn from: the batch is empty")
    check_labels(batch, chain)


def check_labels(batch: Batch, chain: Chain, before: int = 0) -> None:
    """Raise where the gold of a sequence is impossible; `before` counts the sequences before the batch."""
    L = len(chain.labels)
    if batch.label is not None:
        wrong = np.flatnonzero((batch.label < -1) | (batch.label >= L))
        if wrong.size:
            p = int(wrong[0])
            raise ValueError(f"label[{p}] is {batch.label[p]}, expected 0 to {L - 1}, or -1 where unknown")
    if batch.label is not None and kind_of_gold(batch) == "path":
        _check_paths(batch, batch.label, chain, before)


def _check_paths(batch: Batch, label: Ids, chain: Chain, sequences: int) -> None:
    """Name the first gold path that the constraints forbid, and where."""
    rules = chain.resolved
    if rules is None:
        return
    names = chain.labels
    first = np.zeros(batch.positions, dtype=np.bool_)
    filled = batch.seq_ptr[1:] > batch.seq_ptr[:-1]
    begins, ends = batch.seq_ptr[:-1][filled], batch.seq_ptr[1:][filled] - 1
    first[begins] = True
    remedy = "mend the label, or leave the constraint out"
    step = np.flatnonzero(~first[1:] & ~rules.transition[label[:-1], label[1:]]) + 1
    for at, what in (
        (step, "may not follow"),
        (begins[~rules.start[label[begins]]], "may not be first"),
        (ends[~rules.stop[label[ends]]], "may not be last"),
    ):
        if at.size:
            p = int(at[0])
            n = int(np.searchsorted(batch.seq_ptr, p, side="right")) - 1
            before = f" {names[label[p - 1]]!r}" if what == "may not follow" else ""
            raise ValueError(
                f"sequence {sequences + n}, position {p - int(batch.seq_ptr[n])}: label {names[label[p]]!r} "
                f"{what}{before} under the constraints, so no weights can produce the gold labels; {remedy}"
            )
    if rules.expansion:
        for n, (a, b) in enumerate(pairwise(batch.seq_ptr)):
            if not rules.accepts(label[a:b].tolist()):
                raise ValueError(
                    f"sequence {sequences + n}: its gold labels break a limit on segment lengths; {remedy}"
                )
