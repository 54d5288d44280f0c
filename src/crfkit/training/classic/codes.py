"""Codes of labels for binary chains: Gupta (2005) section 4.1; Cohn, Smith & Osborne (2005).

A code has a word of bits for each label. Each column splits the labels into two sets, and a binary chain
learns to tell them apart: n chains of 2 labels cost O(4 n) for each position and not O(L^2). Labels are found
again by

1. the nearest code word to the bits of the best labelings of the columns, position by position;
2. the nearest code word, by the sum of differences, to the probabilities of the bits;
3. the labeling that maximizes the product of what the columns say of its bits (a pool with all weights 1):
   log p_i is a sum of scores of bits, so that the product is the chain whose weight of a label, or of a
   label n-gram, is the sum of the columns' weights of its bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import ceil, log2
from typing import Any

import numpy as np

from crfkit.arrays import Floats, pointers
from crfkit.linear.layout import Layout
from crfkit.linear.move import add_moved
from crfkit.models.classic.codes import Bits
from crfkit.models.model import SequenceModel
from crfkit.structures.structure import Structure

CODES = ("random", "one-vs-rest", "minimal")
_SMALL = 12  # labels whose columns can be listed
_TRIES = 32


def code_of(given: Any, labels: Sequence[str], columns: int | None = None, seed: int = 0) -> Bits:
    """Return the code of labels, [L, n], checked.

    Parameters
    ----------
    given : {"random", "one-vs-rest", "minimal"}, mapping or array
        "random": drawn columns that differ, those of several draws whose words are farthest apart.
        "minimal": the numbers of the labels in binary. A mapping has the bits of each label by its name, as
        [0, 1] or "01"; an array [L, n] has those of labels in this order.
    labels : sequence of str
    columns : int, optional
        Columns of a random code; by default ten times the logarithm of L to base 2, or all that there are.
    seed : int

    Examples
    --------
    >>> code_of("minimal", ["a", "b", "c"]).tolist()
    [[0, 0], [0, 1], [1, 0]]
    >>> code_of({"a": [0, 0], "b": [1, 1], "c": [1, 1]}, ["a", "b", "c"])
    Traceback (most recent call last):
    ...
    ValueError: code: the labels 'b' and 'c' have the same bits; give each label bits of its own
    """
    L = len(labels)
    if L < 2:
        raise ValueError(f"codes are for 2 labels or more, and the data have {L}; use ChainCRF")
    if isinstance(given, str):
        if given != "random" and columns is not None:
            raise ValueError(f"columns is {columns}, which only a random code takes; leave it out")
        if given == "one-vs-rest":
            made = np.eye(L, dtype=np.int8)[:, : L if L > 2 else 1]
        elif given == "minimal":
            made = _binary(L)
        else:
            made = _random(L, _checked_columns(L, columns), np.random.default_rng(seed))
    else:
        if columns is not None:
            raise ValueError(f"columns is {columns}, but code has columns of its own; leave columns out")
        made = _own(given, labels)
    _check(made, labels)
    return made


def _binary(L: int) -> Bits:
    n = ceil(log2(L))
    return ((np.arange(L)[:, None] >> np.arange(n)[::-1]) & 1).astype(np.int8)


def _checked_columns(L: int, columns: int | None) -> int:
    most = (1 << (L - 1)) - 1
    if columns is None:
        return min(ceil(10.0 * log2(L)), most)
    least = ceil(log2(L))
    if columns < least:
        raise ValueError(f"columns is {columns}, too few to tell {L} labels apart; give {least} or more")
    if columns > most:
        raise ValueError(
            f"columns is {columns}, but {L} labels can be split in {most} ways; give {most} or fewer"
        )
    return columns


def _random(L: int, n: int, rng: np.random.Generator) -> Bits:
    """Return the draw whose nearest words are farthest apart; one draw begins with distinct words."""
    tries = max(1, min(_TRIES, 2**24 // L**2))
    sure = _binary(L)[rng.permutation(L)]
    best, distance = _drawn(L, n, rng, sure), -1
    for made in [best, *(_drawn(L, n, rng) for _ in range(tries))]:
        found = distance_of(made)
        if found > distance:
            best, distance = made, found
    return best


def _drawn(L: int, n: int, rng: np.random.Generator, first: Bits | None = None) -> Bits:
    """Return n columns that differ, from each other and from their complements; some may be given."""
    kept: dict[bytes, Bits] = {}

    def keep(column: Bits) -> None:
        column = column ^ column[0]  # the complement says the same
        if column.any():
            kept.setdefault(column.tobytes(), column)

    for column in () if first is None else first.T:
        keep(column)
    for column in _columns(L, rng):
        if len(kept) >= n:
            break
        keep(column)
    return np.stack([*kept.values()][:n], axis=1)


def _columns(L: int, rng: np.random.Generator) -> Iterator[Bits]:
    if L <= _SMALL:
        for number in rng.permutation((1 << (L - 1)) - 1) + 1:
            yield ((int(number) >> np.arange(L)) & 1).astype(np.int8)[::-1]
    while True:
        yield rng.integers(0, 2, L, dtype=np.int8)


def distance_of(code: Bits) -> int:
    """Return the least number of bits in which two labels differ.

    Examples
    --------
    >>> distance_of(np.array([[0, 0, 0], [1, 1, 0], [0, 1, 1]]))
    2
    """
    signs = 1.0 - 2.0 * code  # [L, n]
    same = signs @ signs.T  # bits that agree minus bits that differ
    np.fill_diagonal(same, -np.inf)
    return int(code.shape[1] - same.max()) // 2


def _own(given: Any, labels: Sequence[str]) -> Bits:
    """Return a code that the user gave."""
    rows = given
    if isinstance(given, Mapping):
        missing = [name for name in labels if name not in given]
        if missing:
            raise ValueError(f"code has no bits for the label {missing[0]!r}; give bits for every label")
        rows = [given[name] for name in labels]
    try:
        made = np.asarray([[*word] for word in rows], dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"code is of type {type(given).__name__}, expected one of {', '.join(CODES)}, or as many bits "
            "for each label"
        ) from None
    if made.ndim != 2 or len(made) != len(labels) or not np.isin(made, (0.0, 1.0)).all():
        raise ValueError(
            f"code has shape {made.shape}, expected a row of 0s and 1s for each of {len(labels)} labels: "
            f"{', '.join(labels[:5])}{', ...' if len(labels) > 5 else ''}"
        )
    return made.astype(np.int8)


def _check(code: Bits, labels: Sequence[str]) -> None:
    """Refuse columns that say nothing, and labels with the same code."""
    least = ceil(log2(len(labels)))
    if code.shape[1] < least:
        raise ValueError(
            f"code has {code.shape[1]} columns, too few to tell {len(labels)} labels apart; give {least} or "
            "more"
        )
    constant = np.flatnonzero((code == code[0]).all(axis=0))
    if constant.size:
        raise ValueError(
            f"code: column {constant[0]} has the same bit for all labels, so that there is nothing to learn; "
            "leave it out"
        )
    seen: dict[bytes, int] = {}
    for y, word in enumerate(code):
        other = seen.setdefault(word.tobytes(), y)
        if other != y:
            raise ValueError(
                f"code: the labels {labels[other]!r} and {labels[y]!r} have the same bits; give each label "
                "bits of its own"
            )


def product_of(columns: Sequence[SequenceModel], code: Bits, structure: Structure) -> tuple[Layout, Floats]:
    """Return the chain over all labels that is the product of binary chains: its layout and weights [F].

    An attribute that has a weight in any column has one for every label.

    Examples
    --------
    >>> from crfkit import Chain, train
    >>> from crfkit.features import ItemExtractor
    >>> column = train(ItemExtractor()([[["a"], ["b"]]], [["0", "1"]]))
    >>> layout, w = product_of([column], np.array([[0], [1], [1]]), Chain(["x", "y", "z"]))
    >>> layout.weights, bool(w[1] == w[2])
    (15, True)
    """
    slots = structure.slots()
    blocks = []
    for block in columns[0].layout.blocks:
        each = [np.diff(column.layout.block[block.name].ptr) > 0 for column in columns]
        kept = np.logical_or.reduce([np.pad(one, (0, max(map(len, each)) - len(one))) for one in each])
        cells = slots[block.slot].cells
        cell = np.tile(np.arange(cells, dtype=np.int32), int(kept.sum()))
        blocks.append(replace(block, ptr=pointers(kept * cells), cell=cell))
    layout = Layout(slots, tuple(blocks), columns[0].layout.table_bytes)
    total = np.zeros(layout.weights)
    for column, bits in zip(columns, code.T, strict=True):
        add_moved(column.layout, column.w, layout, bits.astype(np.int32), total)
    return layout, total
