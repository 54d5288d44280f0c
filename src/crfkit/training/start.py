"""Where training starts: at zero, at the weights of a model or of a local one, at drawn or given weights.

Weights of a model are matched by the names of attributes and labels; new ones start at zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from crfkit.arrays import Floats, Ids
from crfkit.data.alphabet import Alphabet
from crfkit.data.dataset import ALPHABET_OF
from crfkit.linear.layout import Layout
from crfkit.linear.move import moved
from crfkit.models.model import SequenceModel
from crfkit.models.names import Names
from crfkit.structures.structure import Structure

if TYPE_CHECKING:  # training on sequences must not load the models of graphs
    from crfkit.models.graph_model import GraphModel
    from crfkit.structures.graphs.batch import GraphBatch

_SPREAD = 0.5  # standard deviation of first weights that are drawn


def warm_start(model: SequenceModel, layout: Layout, structure: Structure, names: Names) -> Floats:
    """Return the weights [F] of a model in another layout, over these names.

    Raises
    ------
    ValueError
        The model has another structure, or weights that are not finite.
    """
    if not np.isfinite(model.w).all():
        i = int(np.argmin(np.isfinite(model.w)))
        raise ValueError(
            f"init: weight {i} of the model is {model.w[i]}; a warm start needs finite weights. "
            "Train it again, or leave init out"
        )
    if _shape(model.layout) != _shape(layout):
        raise ValueError(
            f"init: the model is {model.structure.describe()}, this one {structure.describe()}; train with "
            "the same structure, or leave init out"
        )
    if model.layout.dense != layout.dense:
        raise ValueError(
            f"init: the model has {model.layout.dense} real-valued columns, the data {layout.dense}; "
            "use the same embeddings, or leave init out"
        )
    labels = model.names.labels.ids(structure.labels)  # [L] the model's ids of ours
    if (labels < 0).all():
        raise ValueError(
            f"init: the model and the data have no label in common (the model has "
            f"{', '.join(model.structure.labels[:5])}, ...); leave init out"
        )
    rows = {}
    for by, kind in ALPHABET_OF.items():
        theirs, ours = getattr(model.names, kind), getattr(names, kind)
        sizes = (model.layout.rows_of(by), layout.rows_of(by))
        rows[by] = _same_names(theirs, ours, *sizes, kind.replace("_", " "))
    return moved(model.layout, model.w, layout, labels, rows)


def warm_graph_start(model: GraphModel, layout: Layout, batch: GraphBatch) -> Floats:
    """Return the weights [F] of a model of the same graph in the layout of a batch; new ones are 0."""
    if model.graph != batch.graph:
        raise ValueError(
            f"init: the model is of {model.graph!r}, the data are of {batch.graph!r}; a warm start needs the "
            "same graph"
        )
    rows = {}
    for name, given in batch.features.items():
        if model.layout.block[name].by is None:
            raise ValueError(
                f"init: clique {name!r} has features in the data and none in the model; give both the same"
            )
        theirs = model.attributes.get(name, Alphabet())
        ours = Alphabet() if given.names is None else given.names
        sizes = (model.layout.rows_of(name), layout.rows_of(name))
        rows[name] = _same_names(theirs, ours, *sizes, f"attributes of clique {name!r}")
    columns = max(slot.cells for slot in layout.slots.values())
    return moved(model.layout, model.w, layout, np.arange(columns, dtype=np.int32), rows)


def _shape(layout: Layout) -> dict[str, list[int]]:
    """Return which slots there are, and how many labels the cells of their tables have."""
    return {name: [len(table) for table in slot.tables] for name, slot in layout.slots.items()}


def _same_names(theirs: Alphabet, ours: Alphabet, A_theirs: int, A: int, what: str) -> Ids:
    """Return the model's id of each of our attributes, -1 where it has none: [A]."""
    if not A_theirs or not A:
        return np.full(A, -1, dtype=np.int32)
    if not len(theirs) and not len(ours):  # hashed ids mean the same in both
        return np.where(np.arange(A) < A_theirs, np.arange(A), -1).astype(np.int32)
    if not len(theirs) or not len(ours):
        with_names, without = ("the data", "the model") if len(ours) else ("the model", "the data")
        raise ValueError(
            f"init: the {what} of {with_names} have names, those of {without} are hashed ids; "
            "extract both in the same way, or leave init out"
        )
    return theirs.ids(ours.strings())[:A]


def checked_start(w: Any, layout: Layout) -> Floats:
    """Return weights that a function of the user gave, checked: [F]."""
    given = np.array(w, dtype=np.float64)
    if given.shape != (layout.weights,):
        raise ValueError(f"init gave weights of shape {given.shape}, expected ({layout.weights},)")
    if not np.isfinite(given).all():
        i = int(np.argmin(np.isfinite(given)))
        raise ValueError(
            f"init gave the weight {given[i]} at {i}, {layout.describe(i)}; expected finite ones"
        )
    return given


@dataclass(frozen=True)
class RandomStart:
    """First weights that are drawn: hidden labels that are alike at the start would stay alike.

    Examples
    --------
    >>> RandomStart(seed=0, restart=2)
    RandomStart(seed=0, restart=2)
    """

    seed: int
    restart: int

    def __call__(self, problem: Any, layout: Layout) -> Floats:
        """Return weights [F]."""
        return np.random.default_rng([self.seed, self.restart]).normal(scale=_SPREAD, size=layout.weights)
