"""Learning on from a model: new data, old weights as the prior.

Training on new data alone forgets the old ones, wherever it starts: a penalised likelihood has one optimum.
Here the penalty pulls towards the old weights w0 instead of 0 (Chelba & Acero, Adaptation of maximum entropy
capitalizer, EMNLP 2004):

    loss of the new data + l2/2 * |w - w0|^2 + l1 * |w where w0 is 0|_1

so that weights of attributes that the new data lack stay what they were. (Transitions are shared and move: on
toy data old accuracy fell from 1 to 0.73 at worst, against 0.27 for the new data alone.) Attributes, labels
and weights that are new are added before training, so that old weights take part in it, also those of pairs
that the new data do not show: added afterwards they would change what was learned without them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypedDict

import numpy as np

from crfkit.arrays import Floats, Ids, Pointers
from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset
from crfkit.linear.layout import Layout, LayoutOptions
from crfkit.models.model import Model
from crfkit.objectives import Perceptron
from crfkit.optimise.problem import Optimiser, Penalty, Smooth
from crfkit.structures import Chain
from crfkit.structures.constraints import Constraint
from crfkit.training.data import Objective, TrainingData
from crfkit.training.fit import Fit, Likely
from crfkit.training.loop import Rules
from crfkit.training.progress import display_for
from crfkit.training.start import warm_start

__all__ = ["Anchored", "Budget", "adapt", "united_layout", "united_names"]


class Budget(TypedDict):
    """When to stop, and what to show."""

    max_seconds: float | None
    max_iterations: int | None
    progress: bool | None


def adapt(
    before: Model,
    data: Dataset,
    constraints: Sequence[Constraint],
    objective: Objective,
    features: str | Likely,
    options: LayoutOptions,
    optimiser: Optimiser | str,
    seed: int,
    threads: int | None,
    budget: Budget,
) -> Model:
    """Return a model that goes on from another one with new data; see `crfkit.train` for the arguments."""
    begun = time.perf_counter()
    data = united_names(before, data)
    chain = Chain(data.labels.strings(), options.get("order", 1), constraints)
    if chain.order != before.chain.order:
        raise ValueError(
            f"the model before is a chain of order {before.chain.order}, this one of order {chain.order}: "
            "learning on needs the same order"
        )
    source = UnitedData(data, before.layout, threads)
    goal = objective
    if not isinstance(objective, Perceptron):  # which has no penalty, and goes on from where it was
        goal = Anchored(objective, before, chain, data.attributes, data.edge_attributes)
    fit = Fit(source, chain, goal, features, options, optimiser, before, seed)
    display = display_for(budget["progress"])
    rules = Rules(budget["max_seconds"], budget["max_iterations"])
    try:
        return fit.run(None, None, rules, None, [] if display is None else [display], begun)
    finally:
        if display is not None:
            display.close()


class UnitedData(TrainingData):
    """Training data whose layout has all weights of another one too."""

    def __init__(self, data: Dataset, before: Layout, threads: int | None) -> None:
        super().__init__(data, None, threads)
        self.before = before

    def layout(self, *, all_pairs: bool, pairs: Pointers | None, options: LayoutOptions) -> Layout:
        """Return the weights that there are and those that there were."""
        return united_layout(self.before, super().layout(all_pairs=all_pairs, pairs=pairs, options=options))


@dataclass(frozen=True, eq=False)
class Anchored:
    """An objective whose penalty pulls towards the weights of a model."""

    objective: Objective
    model: Model
    chain: Chain  #: of the new data
    attributes: Alphabet
    edge_attributes: Alphabet

    def __repr__(self) -> str:
        return f"{self.objective!r} around the weights before"

    def penalty(self, layout: Layout) -> Penalty:
        """Return the L1 part; the other one is in the loss."""
        l1 = self.objective.penalty(layout).l1
        return Penalty(l1=np.where(self._before(layout) == 0.0, l1, 0.0) if np.any(l1) else 0.0)

    def bind(self, layout: Layout, chain: Chain, batch: Batch, *, threads: int | None = None) -> Smooth:
        """Return the loss of this batch and the distance from the model as a function of the weights."""
        loss = self.objective.bind(layout, chain, batch, threads=threads)
        return AnchoredLoss(loss, Penalty(l2=self.objective.penalty(layout).l2), self._before(layout))

    def _before(self, layout: Layout) -> Floats:
        return warm_start(self.model, layout, self.chain, self.attributes, self.edge_attributes)


class AnchoredLoss:
    """A loss and l2/2 * |w - w0|^2."""

    def __init__(self, loss: Any, penalty: Penalty, w0: Floats) -> None:
        self.loss, self.penalty, self.w0 = loss, penalty, w0
        self.convex = getattr(loss, "convex", True)

    @property
    def size(self) -> int:
        """Number of weights, F."""
        return int(self.loss.size)

    def value_and_grad(self, w: Floats, gradient: Floats) -> float:
        """Return the sum at w [F]; its gradient goes to `gradient` [F]."""
        value = float(self.loss.value_and_grad(w, gradient))
        return value + self.penalty.add_smooth(w - self.w0, gradient)

    def diagonal(self, w: Floats) -> Floats:
        """Return the diagonal of the Hessian, [F], where the loss has one."""
        found: Floats = self.loss.diagonal(w) + self.penalty.l2
        return found


def united_names(model: Model, data: Dataset) -> Dataset:
    """Return labelled data with the names of a model first and new ones behind, as ids and alphabets.

    Examples
    --------
    >>> from crfkit import train
    >>> from crfkit.features import ItemExtractor
    >>> model = train(ItemExtractor()([[["a"], ["b"]]], [["A", "B"]]))
    >>> data = united_names(model, ItemExtractor()([[["c"], ["b"]]], [["C", "B"]]))
    >>> data.attributes.strings(), data.batch.attr.tolist(), data.batch.label.tolist()
    (['a', 'b', 'c'], [2, 1], [2, 1])
    """
    batch = data.batch
    named = [len(alphabet) > 0 for alphabet in (model.attributes, data.attributes)]
    if named[0] != named[1] and model.layout.attributes and batch.attr.size:
        with_names, without = ("model", "data") if named[0] else ("data", "model")
        raise ValueError(f"the attributes of the {with_names} have names, those of the {without} are ids")
    both = replace(
        data,
        labels=Alphabet(model.labels),
        attributes=Alphabet(model.attributes),
        edge_attributes=Alphabet(model.edge_attributes),
    )
    return data.renamed(both).freeze()


def united_layout(old: Layout, new: Layout) -> Layout:
    """Return the weights of both layouts; the ids of the new one go on from those of the old one.

    Examples
    --------
    >>> batch = Batch(seq_ptr=[0, 2], attr_ptr=[0, 1, 2], attr=[0, 1], label=[0, 1])
    >>> old = Layout.observed(batch, 2, transitions="none")
    >>> new = Layout.observed(replace(batch, label=[2, 1]), 3, transitions="none")
    >>> both = united_layout(old, new)
    >>> [(both.describe(i).attribute, both.describe(i).label) for i in range(both.weights)]
    [(0, 0), (0, 2), (1, 1)]
    """
    L, M = new.labels, old.labels
    A, E = max(new.attributes, old.attributes), max(new.edge_attributes, old.edge_attributes)
    cell = old.edge_cell // M * L + old.edge_cell % M
    node_ptr, node_label = _pairs([(old.node_ptr, old.node_label), (new.node_ptr, new.node_label)], A, L)
    edge_ptr, edge_cell = _pairs([(old.edge_ptr, cell), (new.edge_ptr, new.edge_cell)], E, L * L)
    ones = [np.pad(t, [(0, L - M)] * t.ndim).ravel() for t in old.transition_tables(np.ones(old.weights))]
    runs = np.flatnonzero(np.concatenate([np.zeros(0), *ones]))
    return replace(
        new,
        node_ptr=node_ptr,
        node_label=node_label,
        edge_ptr=edge_ptr,
        edge_cell=edge_cell,
        transition_cell=np.union1d(runs, new.transition_cell).astype(np.int32),
        start=old.start or new.start,
        stop=old.stop or new.stop,
    )


def _pairs(parts: list[tuple[Pointers, Ids]], rows: int, width: int) -> tuple[Pointers, Ids]:
    """Return the union of rows of columns, by rising row and column."""
    keys = [
        np.repeat(np.arange(len(ptr) - 1), np.diff(ptr)) * np.int64(width) + column for ptr, column in parts
    ]
    every = np.unique(np.concatenate(keys))
    ptr = np.concatenate([[0], np.cumsum(np.bincount(every // width, minlength=rows))]).astype(np.int64)
    return ptr, (every % width).astype(np.int32)
