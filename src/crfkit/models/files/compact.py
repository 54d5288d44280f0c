"""Models without what does not matter: weights of zero, and attributes that have no other.

Scores stay the same, so do predictions; unknown attributes and attributes without weights add
nothing. Models with L1 penalties shrink to a fraction.

`without_idle` is what every file gets: it changes no bit of an answer (unless the table of weights fits
``layout.table_bytes`` only without those that are left out). `compacted` goes further, and the kernels may
add up in another order: attributes with a single weight and steps without edge attributes go their own ways.
The last digits of scores and marginals may then differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from crfkit.arrays import Bools, Pointers, pointers
from crfkit.data.alphabet import Alphabet
from crfkit.data.dataset import ALPHABET_OF
from crfkit.linear.plan import Block
from crfkit.models.model import SequenceModel

_FEW = 0.1  # of the names: a model that keeps fewer may know few attributes of any data


def without_idle(model: SequenceModel) -> SequenceModel:
    """Return a model without the attributes whose weights are all zero; no bit of an answer changes.

    Edge attributes and attributes without names (hashed ids) stay.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from crfkit import train
    >>> from crfkit.features import ItemExtractor
    >>> model = train(ItemExtractor()([[["the"], ["dog"]]], [["D", "N"]]))
    >>> w = model.w.copy()
    >>> w[0] = 0.0
    >>> without_idle(replace(model, w=w)).attributes.strings()
    ['dog']
    """
    kept = {}
    for block in model.layout.blocks:
        weights = model.busy[model.layout.parts[block.name]]
        named = block.by in ALPHABET_OF and len(getattr(model.names, ALPHABET_OF[block.by])) > 0
        idle = named and block.by != "edge"
        busy = _counts(block.ptr, weights) > 0 if idle else np.ones(len(block.ptr) - 1, np.bool_)
        kept[block.name] = np.repeat(busy, np.diff(block.ptr))
    return model if all(each.all() for each in kept.values()) and not _spare(model) else _smaller(model, kept)


def _spare(model: SequenceModel) -> bool:
    """Return whether an alphabet of segments or positions has names without any weight."""
    counts = {block.by: np.diff(block.ptr) for block in model.layout.blocks if block.by in ALPHABET_OF}
    for alphabet in ("attributes", "segment_attributes"):
        busy = _needed(model, alphabet, _busy(counts, alphabet))
        if len(getattr(model.names, alphabet)) and not busy.all():
            return True
    return False


def compacted(model: SequenceModel) -> SequenceModel:
    """Return a model with the same scores and no weight of zero.

    Attributes without names (hashed ids) keep their ids.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from crfkit import train
    >>> from crfkit.features import ItemExtractor
    >>> model = train(ItemExtractor()([[["the"], ["dog"]]], [["D", "N"]]))
    >>> w = model.w.copy()
    >>> w[0] = 0.0
    >>> compacted(replace(model, w=w)).attributes.strings()
    ['dog']
    """
    layout = model.layout
    return _smaller(model, {b.name: _kept(b, model.busy[layout.parts[b.name]]) for b in layout.blocks})


def _smaller(model: SequenceModel, kept: Mapping[str, Bools]) -> SequenceModel:
    """Return a model with some of the weights of each block, and without the names that have none left."""
    layout = model.layout
    counts = {block.name: _counts(block.ptr, kept[block.name]) for block in layout.blocks}
    names: dict[str, Alphabet] = {}
    used: dict[str, Pointers] = {}  # rows of each alphabet that stay
    for alphabet in dict.fromkeys(ALPHABET_OF.values()):
        busy = _needed(model, alphabet, _busy(counts, alphabet))
        names[alphabet], used[alphabet] = _left(busy, getattr(model.names, alphabet))
    smaller = layout
    for block in layout.blocks:
        count = counts[block.name]
        if block.by in ALPHABET_OF:
            rows = used[ALPHABET_OF[block.by]]
            count = count[rows[rows < len(count)]]
        smaller = smaller.with_block(block.name, block.cell[kept[block.name]], pointers(count))
    stay = np.concatenate([kept[name] for name in layout.parts])  # [F]
    by_weight = {name: getattr(model, name) for name in model.by_weight}
    return replace(
        model,
        names=replace(model.names, **names),
        layout=smaller,
        **{name: each[..., stay] for name, each in by_weight.items() if each is not None},
        selected=model.selected or len(names["attributes"]) < _FEW * len(model.attributes),
    )


def _busy(counts: Mapping[Any, Pointers], alphabet: str) -> Bools:
    """Return which rows have a weight in any block whose attributes an alphabet names."""
    kinds = [kind for kind, name in ALPHABET_OF.items() if name == alphabet and kind in counts]
    busy = np.zeros(max((len(counts[kind]) for kind in kinds), default=0), dtype=np.bool_)
    for kind in kinds:
        busy[: len(counts[kind])] |= counts[kind] > 0
    return busy


def _needed(model: SequenceModel, alphabet: str, busy: Bools) -> Bools:
    """Return which rows stay: those with a weight, and parts of conjunctions that have one."""
    if alphabet != "attributes" or model.conjunctions is None:
        return busy
    return model.conjunctions.needed(model.attributes, busy)


def _kept(block: Block, busy: Bools) -> Bools:
    """Return which weights of a block stay; start, stop and dense columns stay or go as a whole."""
    if block.by == "dense" or block.slot in ("start", "stop"):
        return np.full(len(busy), block.by == "dense" or bool(busy.any()))
    return busy


def _left(busy: Bools, names: Alphabet) -> tuple[Alphabet, Pointers]:
    """Return the names and the numbers of the rows that are left; without names all rows stay."""
    if not len(names) or (len(names) == len(busy) and busy.all()):
        return names, np.arange(len(busy))
    if busy[len(names) :].any():
        raise ValueError("the layout has weights of attributes that have no name")
    used = np.flatnonzero(busy)
    strings = names.strings()
    return Alphabet(strings[i] for i in used.tolist()).freeze(), used


def _counts(ptr: Pointers, kept: Bools) -> Pointers:
    """Return how many weights of each row are kept."""
    before = pointers(kept)  # [weights + 1]
    counts: Pointers = np.diff(before[ptr])
    return counts
