"""Training data, in memory or in blocks on disk, behind one interface."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from crfkit._safe.cached import once
from crfkit._safe.printable import counted
from crfkit.arrays import Pointers, weights_of
from crfkit.data.batch import Batch, each
from crfkit.data.dataset import ALPHABET_OF, ALPHABETS, Dataset
from crfkit.data.formats.columns import Columns
from crfkit.errors import NotCoveredError
from crfkit.linear.layout import Layout
from crfkit.linear.likely import likely_pairs
from crfkit.linear.loss import LinearLoss
from crfkit.linear.objective import Objective
from crfkit.linear.plan import LayoutOptions
from crfkit.models.model import SequenceModel
from crfkit.models.names import Names
from crfkit.objectives.registry import OBJECTIVES
from crfkit.structures.gold import kind_of_gold
from crfkit.structures.structure import Structure
from crfkit.training.blocks.problem import BlockedProblem, SummedProblem
from crfkit.training.blocks.shard import Binding
from crfkit.training.blocks.stream import BlockedData

#: Values beyond this overflow when they are squared and added up, as gradients are.
_ENORMOUS = 1e100


def checked_dataset(data: Any, argument: str) -> Dataset:
    """Return a data set, or raise an error that says how to make one of what was given."""
    if isinstance(data, Dataset):
        return data
    remedies = {
        Columns: "make attributes of its columns with a recipe: Extractor(recipe)(columns)",
        Batch: "a batch has no names: put it into a Dataset with its alphabets",
        BlockedData: "blocks are for training only: give a Dataset",
    }
    if isinstance(data, str | os.PathLike):
        what = f"{argument} is the path {os.fspath(data)!r}: read it (crfkit.read) and make attributes"
    elif type(data) in remedies:
        what = f"{argument} is a {type(data).__name__}: {remedies[type(data)]}"
    else:
        what = (
            f"{argument} is a {type(data).__name__}, expected a Dataset: for features X and labels y as "
            "lists, ItemExtractor()(X, y), or ChainCRF().fit(X, y)"
        )
    raise TypeError(what)


def prepared(
    data: Dataset | BlockedData, sample_weight: ArrayLike | None, unlabeled: Dataset | None, goal: Objective
) -> Dataset | BlockedData:
    """Return the data with the weights of sequences and with those that have no labels."""
    if sample_weight is not None:
        if isinstance(data, BlockedData):
            raise ValueError("sample_weight is for data in memory; write the weights into the blocks")
        data = checked_dataset(data, "data")
        weight = weights_of(sample_weight, len(data))
        data = replace(data, batch=replace(data.batch, weight=weight))
    return data if unlabeled is None else _with_unlabeled(data, unlabeled, goal)


def _with_unlabeled(data: Dataset | BlockedData, more: Dataset, objective: Objective) -> Dataset:
    """Return the data and sequences without labels, for an objective that learns from them."""
    if isinstance(data, BlockedData):
        raise ValueError(
            "unlabeled is for data in memory; write its sequences into the blocks, without labels"
        )
    if not objective.open:
        able = ", ".join(name for name, one in OBJECTIVES.items() if one.open)
        raise NotCoveredError(
            f"the objective {objective.name} learns nothing from sequences without labels; leave unlabeled "
            f"out, or use one of {able}"
        )
    return checked_dataset(data, "data").with_unlabeled(checked_dataset(more, "unlabeled"))


def partial_pairs(
    batches: Iterable[Batch], L: int, least: float = 0.0, also: Pointers | None = None
) -> Pointers | None:
    """Return the (attribute, label) pairs [n, 2] that sets of labels and distributions show; None: no others.

    A position whose label is not known at all shows none, as one with a label shows only that label, which
    the layout knows by itself.

    Parameters
    ----------
    batches : iterable of Batch
    L : int
        Number of labels.
    least : float
        Pairs that are shown by fewer positions are left out.
    also : array [n, 2], optional
        Further pairs.

    Examples
    --------
    >>> batch = Batch(seq_ptr=[0, 2], attr_ptr=[0, 1, 2], attr=[4, 5], allowed=[[1, 1, 0], [1, 1, 1]])
    >>> partial_pairs([batch], 3).tolist()
    [[4, 0], [4, 1]]
    """
    found = [one for one in each(batches, partial(_partial_keys, L)) if one is not None]
    if not found:
        return also
    keys, times = np.unique(np.concatenate(found), return_counts=True)
    kept = keys[times >= least]
    pairs = np.stack([kept // L, kept % L], axis=1)
    return pairs if also is None else np.concatenate([pairs, np.asarray(also, dtype=np.int64).reshape(-1, 2)])


def _partial_keys(L: int, batch: Batch) -> Pointers | None:
    """Return attribute * L + label, once for each position that shows it; None: there are only labels."""
    if batch.soft is not None:
        shown = batch.soft > 0.0  # [P, L]
    elif batch.allowed is not None:
        shown = batch.allowed & ~batch.allowed.all(axis=1, keepdims=True)
    else:
        return None
    if batch.label is not None:
        shown = shown & (batch.label < 0)[:, None]
    counts = np.diff(batch.attr_ptr)  # [P]
    keys = [
        batch.attr[np.repeat(shown[:, y], counts)].astype(np.int64) * L + y for y in range(shown.shape[1])
    ]
    return np.concatenate([np.zeros(0, dtype=np.int64), *keys])


def check_learnable(
    positions: int, counts: Pointers, names: Sequence[str], *, sure: bool, known: bool
) -> None:
    """Raise an error if there is nothing to learn from all data; parts may have one label, or none.

    Parameters
    ----------
    positions : int
    counts : array [L]
        Positions of each label.
    names : sequence of str
        Names of the labels.
    sure : bool
        Whether every position has a label, which is all that there is to learn: of segments, also where they
        begin.
    known : bool
        Whether positions without a label may say something else of it.
    """
    if positions == 0:
        raise ValueError("the data are empty; training needs at least one position")
    if sure and np.count_nonzero(counts) == 1:
        name = names[int(np.argmax(counts))]
        told = "the only position has" if positions == 1 else f"all {positions} positions have"
        raise ValueError(f"{told} the label {name!r}: training needs two labels or more")
    if not known and not np.any(counts):
        raise ValueError("no position has a label; training needs some")


def _check_weights(batch: Batch, before: int) -> None:
    """Refuse sequences of negative weight, and of one that is no number; `before` are other sequences."""
    if batch.weight is not None:
        wrong = np.flatnonzero(~(np.isfinite(batch.weight) & (batch.weight >= 0.0)))
        if wrong.size:
            n = int(wrong[0])
            raise ValueError(f"weight[{before + n}] is {batch.weight[n]}, expected 0 or more, and finite")


class TrainingData:
    """Training data, in memory or in blocks.

    Parameters
    ----------
    data : Dataset or BlockedData
    threads : int, optional
    """

    alone: ClassVar[bool] = True  #: whether they are all that is learned from: then one label is not enough

    def __init__(self, data: Dataset | BlockedData, threads: int | None) -> None:
        self.data = data if isinstance(data, BlockedData) else checked_dataset(data, "data")
        self.names = Names(**{name: getattr(self.data, name) for name in ALPHABETS.values()})
        self.labels, self.attributes = self.names.labels, self.names.attributes
        self.extractor = self.data.extractor
        self.hashed = None if self.extractor is None else self.extractor.hashed
        self.threads = threads
        if not len(self.labels):
            raise ValueError("the data have no labels; training needs some")

    @property
    def sequences(self) -> int:
        """Number of sequences, N."""
        return len(self.data)

    @property
    def positions(self) -> int:
        """Number of positions, P."""
        return self.data.positions if isinstance(self.data, BlockedData) else self.data.batch.positions

    @property
    def kinds(self) -> set[str]:
        """What the gold is: "path", "set", "soft"."""
        if isinstance(self.data, BlockedData):
            return set(self.data.kinds)
        return {kind_of_gold(self.data.batch)}

    @property
    def batches(self) -> Iterable[Batch]:
        """The data, block by block; `crfkit.data.batch.each` calls functions of them."""
        return self.data if isinstance(self.data, BlockedData) else [self.data.batch]

    @property
    def firsts(self) -> list[int]:
        """The number of the first sequence of each block."""
        if not isinstance(self.data, BlockedData):
            return [0]
        return [0, *np.cumsum(self.data.sizes[:-1, 0]).tolist()]

    def check(self, structure: Structure) -> list[str]:
        """Raise an error if there is nothing to learn or gold is impossible; return remarks."""
        found = list(each(self.batches, partial(_looked, structure), self.firsts))
        known, cut = any(one.known for one in found), any(one.cut for one in found)
        if self.sequences and all(one.weightless for one in found):
            raise ValueError(
                f"the weights of all {self.sequences} sequences are zero: there is nothing to learn from"
            )
        counts, names = self.label_counts, structure.labels
        sure = self.alone and self.kinds == {"path"} and not (cut and structure.segmental)
        check_learnable(self.positions, counts, names, sure=sure, known=known)
        notes = []
        unknown = self.positions - int(counts.sum())
        if self.kinds == {"path"} and not counts.all():
            unseen = [names[y] for y in np.flatnonzero(counts == 0)]
            notes.append(f"labels that the data never show: {', '.join(unseen[:5])}")
        if "set" in self.kinds and unknown:
            notes.append(f"summed over: {counted(unknown, 'position')} without a label of their own")
        return notes

    @once
    def label_counts(self) -> Pointers:
        """Positions of each label, [L]; sets of labels and distributions are not counted."""
        if isinstance(self.data, BlockedData):
            return self.data.label_counts
        label = self.data.batch.label
        return np.bincount(label[label >= 0] if label is not None else [], minlength=len(self.labels))

    def layout(
        self, structure: Structure, *, all_pairs: bool, pairs: Pointers | None, options: LayoutOptions
    ) -> Layout:
        """Return the weights that there are, with further (attribute, label) pairs [n, 2]."""
        if not all_pairs and "chosen" not in options:
            pairs = partial_pairs(self.batches, len(self.labels), options.get("min_count", 0.0), pairs)
        given: Any = {**options, "threads": self.threads}
        if len(self.attributes) or self.hashed:
            given.setdefault("attributes", len(self.attributes) or self.hashed)
        for kind in ("edge_attributes", "segment_attributes"):
            if len(getattr(self.names, kind)):
                given.setdefault(kind, len(getattr(self.names, kind)))
        batches = self.batches if isinstance(self.data, BlockedData) else self.data.batch
        return Layout.plan(structure, batches, all_pairs=all_pairs, pairs=pairs, **given)

    @once
    def learned_from(self) -> Batch:
        """The data in memory, without attributes of value 0, which add nothing to any score."""
        assert isinstance(self.data, Dataset)
        return self.data.batch.nonzero()

    def bind(self, objective: Objective, layout: Layout, structure: Structure) -> LinearLoss | SummedProblem:
        """Return the loss as a function of the weights."""
        if not isinstance(self.data, BlockedData):
            return objective.bind(layout, structure, self.learned_from, threads=self.threads)
        return self.summed(self.data, layout, self.binding(objective, structure))

    def binding(self, objective: Objective, structure: Structure) -> Binding:
        """Return what makes the loss of a block."""
        settled = objective.settled(self.labels.strings(), self.label_counts)
        return Binding(settled, structure, self.threads)

    def summed(self, data: BlockedData, layout: Layout, bind: Binding) -> SummedProblem:
        """Return the loss of data in blocks."""
        return BlockedProblem(data, layout, bind, threads=self.threads)

    def likely(self, model: SequenceModel, epsilon: float) -> Pointers:
        """Return the pairs [n, 2] that the data do not show but the model finds likely."""
        found = np.zeros((0, 2), dtype=np.int64)
        for pairs in each(self.batches, partial(_likely, model, epsilon)):
            found = np.unique(np.concatenate([found, pairs]), axis=0)
        return found[found[:, 0] < model.layout.attributes]

    def cause(self) -> str:
        """Return what may make a first step not finite, an enormous value, and the remedy."""
        found = (0.0, "")
        for large, before in zip(each(self.batches, _largest), self.firsts, strict=True):
            for one in large:
                if abs(one.value) > found[0]:
                    found = abs(one.value), one.described(before, self.names)
        remedy = "scale the values of attributes to about 1"
        if found[0] < _ENORMOUS:
            return f"Raise l2, use another optimizer, or {remedy}"
        return f"The largest value is in {found[1]}; {remedy}"


class _Large(NamedTuple):
    """A value of a batch, and where it is."""

    value: float
    sequence: int
    position: int
    what: str
    number: int = -1  #: of an attribute

    @classmethod
    def at(cls, batch: Batch, position: int, value: float, what: str, number: int = -1) -> _Large:
        """Return what is at a position of a batch."""
        n = int(np.searchsorted(batch.seq_ptr, position, side="right")) - 1
        return cls(float(value), n, position - int(batch.seq_ptr[n]), what, number)

    def described(self, before: int, names: Names) -> str:
        """Return it in words; `before` sequences come before the batch."""
        what = self.what
        if self.number >= 0:
            known, number = getattr(names, self.what), self.number
            name = repr(known[number]) if number < len(known) else str(number)
            what = f"the value of attribute {name}"
        return f"sequence {before + self.sequence}, position {self.position}: {what} is {self.value:g}"


def _largest(batch: Batch) -> list[_Large]:
    """Return the largest value of each kind."""
    found = []
    for by, kind in ALPHABET_OF.items():
        items = batch.occurrences(by)
        if items is None or items.value is None or not items.value.size:
            continue
        at = int(np.argmax(np.abs(items.value)))
        place = int(np.searchsorted(items.ptr, at, side="right")) - 1
        position = place * batch.positions // batch.places(by)
        found.append(_Large.at(batch, position, items.value[at], kind, int(items.id[at])))
    if batch.dense is not None and batch.dense.size:
        position, k = divmod(int(np.argmax(np.abs(batch.dense))), batch.dense.shape[1])
        found.append(_Large.at(batch, position, batch.dense[position, k], f"dense feature {k}"))
    if batch.weight is not None and batch.weight.size:
        n = int(np.argmax(batch.weight))
        found.append(_Large.at(batch, int(batch.seq_ptr[n]), batch.weight[n], "the weight of the sequence"))
    return found


class _Looked(NamedTuple):
    """What a check of one block found."""

    known: bool  #: sets of labels or distributions
    cut: bool  #: segments of more than one position
    weightless: bool


def _looked(structure: Structure, batch: Batch, before: int) -> _Looked:
    """Look at a block, and refuse gold that is impossible; `before` are the sequences before it."""
    structure.gold(batch, before)
    _check_weights(batch, before)
    return _Looked(
        batch.allowed is not None or batch.soft is not None,
        batch.begin is not None and not batch.begin.all(),
        batch.weight is not None and not batch.weight.any(),
    )


def _likely(model: SequenceModel, epsilon: float, batch: Batch) -> Pointers:
    node = np.concatenate([np.zeros((0, len(model.labels))), *model.predict_proba(batch)])
    return likely_pairs(batch, node, epsilon)
