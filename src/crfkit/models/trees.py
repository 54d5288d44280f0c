"""A feature map of trees: positions become the leaves that they reach, as attributes of a chain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

import numpy as np

from crfkit._safe.cached import once
from crfkit._safe.fields import Fields
from crfkit._safe.pickling import Restored
from crfkit._safe.printable import quoted
from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset
from crfkit.linear.layout import Layout
from crfkit.models.forest import Forest, Rows, windowed
from crfkit.models.names import Names
from crfkit.models.parts import FeatureMap, Plain
from crfkit.models.reading import read

_ARRAYS: Final = {
    "ptr": np.int64,
    "feature": np.int32,
    "threshold": np.float64,
    "left": np.int32,
    "right": np.int32,
}
_MOST_COLUMNS: Final = 1 << 22  #: of windows in a file


@dataclass(frozen=True, eq=False)
class Trees(Restored, FeatureMap):
    """The trees of a boosted chain.

    Examples
    --------
    >>> forest = Forest.of([{"feature": [0, -1, -1], "threshold": [0.5, 0, 0], "left": [1, 0, 0], \
"right": [2, 0, 0]}])
    >>> data = Trees({"node": forest}, 1)([np.array([[0.0], [1.0]])])
    >>> [data.attributes[i] for i in data.batch.attr.tolist()]
    ['0: x0<=0.5', '0: x0>0.5']
    """

    kind: ClassVar[str] = "trees"
    takes: ClassVar[str] = "arrays of real numbers"

    forests: Mapping[str, Forest]  #: of "node", and of "edge" where steps have trees
    columns: int  #: of X
    window: int = 0  #: trees see the columns of so many positions before and after

    def __post_init__(self) -> None:
        width = self.columns * (2 * self.window + 1)
        if any(one.feature.size and int(one.feature.max()) >= width for one in self.forests.values()):
            raise ValueError(f"the trees test more than the {width} columns that there are")

    @once
    def names(self) -> Mapping[str, Alphabet]:
        """What each leaf tests, by slot."""
        offsets = range(-self.window, self.window + 1)
        tested = [f"x{k}[{at}]" if self.window else f"x{k}" for at in offsets for k in range(self.columns)]
        return {slot: Alphabet(forest.names(tested)).freeze() for slot, forest in self.forests.items()}

    def rows(self, batch: Batch) -> Rows:
        """Return what the trees test at each position."""
        given = columns_of(batch)
        if given != self.columns:
            raise ValueError(f"X has {given} real-valued columns, the model was fitted with {self.columns}")
        assert batch.dense is not None
        return windowed(batch.dense, batch.seq_ptr, self.window)

    def __call__(self, X: Any, threads: int | None = None) -> Dataset:
        """Return data with leaves for attributes."""
        given = read(X, None, threads)
        batch = given.batch
        rows, P = self.rows(batch), batch.positions
        leaf = self.forests["node"].leaves(rows)  # [P, trees]
        made = Batch(
            batch.seq_ptr,
            np.arange(P + 1, dtype=np.int64) * leaf.shape[1],
            leaf.ravel(),
            label=batch.label,
            allowed=batch.allowed,
            weight=batch.weight,
        )
        edge_names = Alphabet()
        if "edge" in self.forests:
            inside = np.ones(P, dtype=np.int64)
            inside[batch.seq_ptr[:-1][np.diff(batch.seq_ptr) > 0]] = 0
            step = self.forests["edge"].leaves(rows[inside > 0])
            ptr = np.append(0, np.cumsum(inside * step.shape[1]))
            made = replace(made, edge_ptr=ptr, edge_attr=step.ravel())
            edge_names = self.names["edge"]
        return Dataset(made, given.labels, self.names["node"], edge_names)

    def plain(self) -> Plain:
        """Return the trees as arrays by slot."""
        each = self.forests.items()
        arrays = {f"{slot}.{name}": getattr(forest, name) for slot, forest in each for name in _ARRAYS}
        return {"columns": self.columns, "window": self.window}, arrays

    @classmethod
    def of_plain(cls, fields: Fields) -> Trees:
        """Return the trees of a file; `Forest` checks what they say."""
        window, columns = fields.count("window"), fields.count("columns")
        if columns * (2 * window + 1) > _MOST_COLUMNS:
            fields.refuse("columns", f"{columns:,} with a window of {window:,}, which no trees have")
        slots = [slot for slot in ("node", "edge") if slot == "node" or f"{slot}.ptr" in fields]

        def forest(slot: str) -> Forest:
            return Forest(*(fields.array(f"{slot}.{name}", kind, None) for name, kind in _ARRAYS.items()))

        return cls({slot: forest(slot) for slot in slots}, columns, window)

    def check_fits(self, names: Names, layout: Layout) -> None:
        """Refuse attributes that are not leaves: what the model says of them would not be heard."""
        if layout.dense:
            raise ValueError("it has weights of real-valued columns, and its map makes leaves")
        for slot, attributes in (("node", names.attributes), ("edge", names.edge_attributes)):
            leaves = self.names.get(slot, Alphabet())
            strange = [name for name in attributes if name not in leaves]
            if strange:
                raise ValueError(
                    f"it has the attribute {quoted(strange[0])}, which is not a leaf of its trees"
                )


def columns_of(batch: Batch) -> int:
    """Return how many real-valued columns there are; refuse data without, or with attributes."""
    if batch.dense is None or len(batch.attr):
        raise ValueError(
            "BoostedCRF takes real-valued features, an array [T, K] for each sequence, and X has named ones; "
            "make arrays of them, as with sklearn.feature_extraction.DictVectorizer, or use ChainCRF"
        )
    return int(batch.dense.shape[1])
