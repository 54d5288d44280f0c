"""Making a model of lists of weights, as the readers of foreign files do.

Weights come as (row, column, value) triples in any order; weights of zero are left out, repeated places add
up. Everything is checked as for a file: numbers of labels, names that occur twice, weights that are not
finite.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from crfkit._safe.printable import quoted
from crfkit.arrays import Floats, Ids, Pointers, pointers
from crfkit.data.alphabet import Alphabet
from crfkit.data.dataset import ExtractorSpec
from crfkit.data.graphs.words import most_cells
from crfkit.features.recipe import Recipe
from crfkit.linear.layout import Layout
from crfkit.models.files.inspect import check_labels
from crfkit.models.model import Names, SequenceModel
from crfkit.structures import Chain
from crfkit.structures.constraints import Constraint

Integers = NDArray[np.int64]


def _none() -> Integers:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Triples:
    """Weights with their row (an attribute) and column (a label, or a step from * L + to)."""

    row: Integers = field(default_factory=_none)
    column: Integers = field(default_factory=_none)
    weight: Floats = field(default_factory=lambda: np.zeros(0))

    def part(self, rows: int, columns: int, what: str) -> tuple[Pointers, Ids, Floats]:
        """Return pointers [rows + 1], columns and weights, sorted."""
        if not np.isfinite(self.weight).all():
            i = int(np.argmin(np.isfinite(self.weight)))
            raise ValueError(f"a weight of {what} {self.row[i]} is {self.weight[i]}; weights must be finite")
        key, weight = self.row * columns + self.column, self.weight
        if key.size and (key[1:] <= key[:-1]).any():
            key, places = np.unique(key, return_inverse=True)
            weight = np.bincount(places, weight, minlength=len(key)).astype(np.float64)
        kept = weight != 0.0
        key, weight = key[kept], weight[kept]
        return pointers(np.bincount(key // columns, minlength=rows)), (key % columns).astype(np.int32), weight


@dataclass(frozen=True, eq=False)
class Sorted:
    """Weights that are in order already: rows as pointers, columns that rise, no weight of zero."""

    ptr: Pointers
    column: Ids
    weight: Floats

    def part(self, rows: int, columns: int, what: str) -> tuple[Pointers, Ids, Floats]:
        """Return them as `Triples.part` does."""
        return self.ptr, self.column, self.weight


def check_steps(labels: int, size: int) -> None:
    """Refuse more steps between labels than a file of this size can mean: the model has a table of them.

    Examples
    --------
    >>> check_steps(3000, 10_000)
    Traceback (most recent call last):
        ...
    ValueError: its 3,000 labels have 9,000,000 steps, too many for a file of 10,000 bytes
    """
    if labels * labels > most_cells(size):
        raise ValueError(
            f"its {labels:,} labels have {labels * labels:,} steps, too many for a file of {size:,} bytes"
        )


def assemble(
    labels: Sequence[str],
    attributes: Sequence[str] | Alphabet,
    node: Triples | Sorted,
    transition: Floats | None = None,
    *,
    edge_attributes: Sequence[str] = (),
    edge: Triples | None = None,
    start: Floats | None = None,
    stop: Floats | None = None,
    order: int = 1,
    constraints: Sequence[Constraint] = (),
    recipe: Recipe | None = None,
    label_column: int | None = None,
    structure: type[Chain] = Chain,
) -> SequenceModel:
    """Return a model with these names and weights; transitions are a table [L, L].

    Examples
    --------
    >>> node = Triples(np.array([0, 0]), np.array([1, 0]), np.array([2.0, 0.0]))
    >>> model = assemble(["A", "B"], ["x"], node)
    >>> model.layout.node_label.tolist(), model.w.tolist()
    ([1], [2.0])
    """
    L = len(labels)
    check_labels(L)
    node_ptr, node_label, node_w = node.part(len(attributes), L, "attribute")
    edge = Triples() if edge is None else edge
    edge_ptr, edge_cell, edge_w = edge.part(len(edge_attributes), L * L, "edge attribute")
    table = np.zeros(0) if transition is None else np.asarray(transition, dtype=np.float64).ravel()
    ends = [part for part in (start, stop) if part is not None]
    if not all(np.isfinite(part).all() for part in (table, *ends)):
        raise ValueError("a weight of a transition is not finite; weights must be finite")
    cells = np.flatnonzero(table)
    layout = Layout.of_chain(
        L,
        node_ptr,
        node_label,
        edge_ptr,
        edge_cell,
        cells.astype(np.int32),
        start is not None,
        stop is not None,
        order=order,
    )
    names = Names(
        _alphabet(labels, "label"),
        _alphabet(attributes, "attribute"),
        _alphabet(edge_attributes, "edge attribute"),
    )
    w = _Joined([node_w, edge_w, table[cells], *ends])
    extractor = None if recipe is None else ExtractorSpec(recipe, label_column)
    return SequenceModel(structure(labels, order, constraints), layout, names, cast(Floats, w), extractor)


@dataclass(frozen=True)
class _Joined:
    """Parts that become one array in the model's own copy, not in another one before it."""

    parts: Sequence[Floats]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        return np.concatenate(self.parts, dtype=dtype)


def _alphabet(names: Sequence[str] | Alphabet, what: str) -> Alphabet:
    if isinstance(names, Alphabet):
        return names.freeze()
    made = Alphabet(names)
    if len(made) != len(names):
        twice = next(name for i, name in enumerate(names) if made.find(name) < i)
        raise ValueError(f"the {what} {twice!r} occurs twice, expected each once")
    return made.freeze()


def decoded(names: Sequence[bytes], encoding: str, what: str) -> list[str]:
    r"""Return names as text; the remedy for other encodings is part of the error.

    Examples
    --------
    >>> decoded([b"\xe9t\xe9"], "latin-1", "label")
    ['été']
    """
    try:
        return [name.decode(encoding) for name in names]
    except UnicodeDecodeError:
        bad = next(name for name in names if not _decodes(name, encoding))
        raise ValueError(
            f"the {what} {quoted(bad)} is not valid {encoding}: say which encoding the file has, as in "
            'encoding="latin-1"'
        ) from None


def _decodes(name: bytes, encoding: str) -> bool:
    try:
        name.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True
