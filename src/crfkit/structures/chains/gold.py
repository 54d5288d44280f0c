"""The gold of a chain: which label n-grams it takes, how often, and whether the constraints allow it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from crfkit._safe.printable import quoted
from crfkit.arrays import Floats, Ids, Pointers
from crfkit.structures.constraints import Resolved
from crfkit.structures.gold import Gold, GoldError, Path, Sets, Soft
from crfkit.structures.structure import Scores


def ngram_cells(seq_ptr: Pointers, label: Ids, L: int, order: int) -> list[Pointers]:
    """Return the n-grams of 2, 3, ..., order + 1 labels that end at each position, each [P].

    An n-gram is the cell of its table, flat; -1 where a label is unknown or the sequence is too short.

    Examples
    --------
    >>> label = np.array([1, 0, 2], dtype=np.int32)
    >>> [cells.tolist() for cells in ngram_cells(np.array([0, 3]), label, 3, 2)]
    [[-1, 3, 2], [-1, -1, 11]]
    """
    last = label.astype(np.int64)  # [P]
    first = seq_ptr[:-1]
    cells = [last]
    for _ in range(order):
        longer = np.full(len(last), -1)  # [P]
        known = (cells[-1][:-1] >= 0) & (last[1:] >= 0)
        longer[1:] = np.where(known, cells[-1][:-1] * L + last[1:], -1)
        longer[first[first < len(last)]] = -1
        cells.append(longer)
    return cells[1:]


def add_chain_counts(gold: Gold, weight: Floats, L: int, order: int, counts: Scores) -> None:
    """Add to `counts` how often the gold of chains takes each cell; see `Structure.add_counts`.

    Examples
    --------
    >>> counts = {"node": np.zeros((3, 2)), "transition": np.zeros(4)}
    >>> add_chain_counts(Path(np.array([0, 3]), np.array([1, 0, 0])), np.array([2.0]), 2, 1, counts)
    >>> counts["node"].tolist(), counts["transition"].tolist()
    ([[0.0, 2.0], [2.0, 0.0], [2.0, 0.0]], [2.0, 0.0, 2.0, 0.0])
    """
    if isinstance(gold, Sets):
        raise ValueError("sets of labels cannot be counted: their counts depend on the weights")
    seq_ptr = gold.seq_ptr
    each = np.repeat(weight, np.diff(seq_ptr))  # [P]
    filled = np.diff(seq_ptr) > 0
    ends = {"start": seq_ptr[:-1][filled], "stop": seq_ptr[1:][filled] - 1}
    if isinstance(gold, Path):
        _add_path(gold, each, L, order, ends, counts)
    else:
        _add_shares(gold, each, order, ends, counts)


def _add_path(
    gold: Path, each: Floats, L: int, order: int, ends: dict[str, Pointers], counts: Scores
) -> None:
    if "node" in counts:
        counts["node"][np.arange(len(gold.label)), gold.label] += each
    if "edge" in counts:
        (step,) = ngram_cells(gold.seq_ptr, gold.label, L, 1)
        inner = np.flatnonzero(step >= 0)
        counts["edge"][inner, step[inner]] += each[inner]
    if "transition" in counts:
        begin = 0
        for h, cells in enumerate(ngram_cells(gold.seq_ptr, gold.label, L, order), start=1):
            known, size = cells >= 0, L ** (h + 1)
            counts["transition"][begin : begin + size] += np.bincount(
                cells[known], each[known], minlength=size
            )
            begin += size
    for name, at in ends.items():
        if name in counts:
            counts[name][:] += np.bincount(gold.label[at], each[at], minlength=L)


def _add_shares(gold: Soft, each: Floats, order: int, ends: dict[str, Pointers], counts: Scores) -> None:
    weighted = gold.share * each[:, None]  # [P, L]
    if "node" in counts:
        counts["node"][:] += weighted
    if "edge" in counts:
        steps = np.einsum("pi,pj->pij", before(gold.share, gold.seq_ptr), weighted)  # [P, L, L]
        counts["edge"][:] += steps.reshape(len(steps), -1)
    if "transition" in counts:
        tables = [_soft_ngrams(gold, h, each).ravel() for h in range(1, order + 1)]
        counts["transition"][:] += np.concatenate([np.zeros(0), *tables])
    for name, at in ends.items():
        if name in counts:
            counts[name][:] += weighted[at].sum(axis=0)


def before(share: Floats, seq_ptr: Pointers) -> Floats:
    """Return q_{t-1} for each position, [P, L]; 0 at the beginnings of sequences."""
    shifted = np.zeros_like(share)
    shifted[1:] = share[:-1]
    begins = seq_ptr[:-1]
    shifted[begins[begins < len(share)]] = 0.0
    return shifted


def _soft_ngrams(gold: Soft, h: int, each: Floats) -> Floats:
    """Return expected counts of n-grams of h + 1 labels, positions drawn independently: [L**h, L]."""
    P, L = gold.share.shape
    if h == 1:
        return before(gold.share, gold.seq_ptr).T @ (gold.share * each[:, None])
    within = np.arange(P) - np.repeat(gold.seq_ptr[:-1], np.diff(gold.seq_ptr))  # [P]
    ends = np.flatnonzero(within >= h)
    total = np.zeros((L**h, L))
    block = max(1, (1 << 22) // L**h)  # positions whose histories take 32 MB
    for i in range(0, len(ends), block):
        p = ends[i : i + block]
        history = gold.share[p - h]  # [p, L**1], then up to [p, L**h]
        for back in range(h - 1, 0, -1):
            history = np.einsum("pi,pj->pij", history, gold.share[p - back]).reshape(len(p), -1)
        total += history.T @ (gold.share[p] * each[p, None])
    return total


def check_path(gold: Path, names: tuple[str, ...], rules: Resolved, sequences: int) -> None:
    """Name the first gold path that the constraints forbid, and where; `sequences` come before these."""
    label, seq_ptr = gold.label, gold.seq_ptr
    first = np.zeros(len(label), dtype=np.bool_)
    filled = seq_ptr[1:] > seq_ptr[:-1]
    begins, ends = seq_ptr[:-1][filled], seq_ptr[1:][filled] - 1
    first[begins] = True
    remedy = "correct the label, or leave the constraint out"
    step = np.flatnonzero(~first[1:] & ~rules.transition[label[:-1], label[1:]]) + 1
    for at, what in (
        (step, "may not follow"),
        (begins[~rules.start[label[begins]]], "may not be first"),
        (ends[~rules.stop[label[ends]]], "may not be last"),
    ):
        if at.size:
            p = int(at[0])
            n = int(np.searchsorted(seq_ptr, p, side="right")) - 1
            previous = f" {quoted(names[label[p - 1]])}" if what == "may not follow" else ""
            raise GoldError(
                f"label {quoted(names[label[p]])} {what}{previous} under the constraints, so no weights can "
                f"give the gold labels; {remedy}",
                sequence=sequences + n,
                position=p - int(seq_ptr[n]),
            )
    if rules.expansion:
        for n, (a, b) in enumerate(pairwise(seq_ptr)):
            if not rules.accepts(label[a:b].tolist()):
                raise GoldError(
                    f"its gold labels break a limit on segment lengths; {remedy}", sequence=sequences + n
                )
