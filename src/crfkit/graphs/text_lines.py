"""Graphs over sequences: which variables of which positions a clique scores, and by which attributes.

A position of a sequence has a variable of each kind: a part of speech, a chunk. A `Line` is one clique
template (Sutton & McCallum 2006, section 1.4.2): kinds at offsets from a position, as in a chain or in a
factorial CRF, or at two positions that the data pair, as in a skip-chain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from crfkit.arrays import Floats, Ids, Pointers, Ragged
from crfkit.data.dataset import Dataset
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.structures.graphs.clique_features import CliqueFeatures
from crfkit.structures.graphs.cliques import Clique
from crfkit.structures.graphs.graph import Graph

#: Of which positions of a factor the attributes are: of its first, of its last, or the union of all.
At: TypeAlias = Literal["first", "last", "both"]


@dataclass(frozen=True)
class Line:
    """A clique of graphs over sequences.

    Examples
    --------
    >>> Line("step", ("tag", "tag"), (-1, 0)).scope
    'tag[-1] tag'
    """

    name: str
    kinds: tuple[str, ...]
    offsets: tuple[int, ...] = ()  #: of each kind; none: the positions of a pair
    by: str | None = None  #: the set of attributes that has weights; None: a plain table
    at: At = "last"
    cells: str = "free"  #: as in `Clique`

    @property
    def paired(self) -> bool:
        """Whether its factors are pairs of positions that are found in the data."""
        return not self.offsets

    @property
    def ends(self) -> tuple[str, ...]:
        """Kinds with their offsets."""
        offsets = self.offsets or (0,) * len(self.kinds)
        return tuple(
            f"{kind}[{offset}]" if offset else kind for kind, offset in zip(self.kinds, offsets, strict=True)
        )

    @property
    def scope(self) -> str:
        """Kinds and offsets, as the text form has them."""
        return " ".join(self.ends)


def graph_of(labels: Mapping[str, Sequence[str]], lines: Sequence[Line]) -> Graph:
    """Return the graph with these labels of each kind, and a clique for each line."""
    return Graph(labels, **{line.name: Clique(*line.kinds, cells=line.cells) for line in lines})


def places(line: Line, seq_ptr: Pointers, pairs: Ids | None = None) -> Pointers:
    """Return the positions of the factors of a line, [M, arity], in order of the first.

    Examples
    --------
    >>> places(Line("step", ("tag", "tag"), (-1, 0)), np.array([0, 3, 5])).tolist()
    [[0, 1], [1, 2], [3, 4]]
    """
    if line.paired:
        assert pairs is not None
        return np.asarray(pairs, dtype=np.int64)
    at = np.arange(int(seq_ptr[-1]))
    length = np.diff(seq_ptr)
    begin, end = np.repeat(seq_ptr[:-1], length), np.repeat(seq_ptr[1:], length)
    inside = (at + min(line.offsets) >= begin) & (at + max(line.offsets) < end)
    found: Pointers = at[inside][:, None] + np.array(line.offsets)
    return found


def ground(
    graph: Graph,
    lines: Sequence[Line],
    seq_ptr: Pointers,
    sets: Mapping[str, Dataset],
    labels: Mapping[str, Ids] | None = None,
    pairs: Mapping[str, Ids] | None = None,
) -> GraphBatch:
    """Return the graphs of some sequences, one for each.

    Parameters
    ----------
    graph : Graph
        Of `graph_of`.
    lines : list of Line
    seq_ptr : array [N + 1]
    sets : mapping
        Set of attributes -> data with a position for each position.
    labels : mapping, optional
        Kind -> label ids [P], -1 where unknown.
    pairs : mapping, optional
        Line -> pairs of positions [M, 2], of lines that need them.
    """
    positions = {line.name: places(line, seq_ptr, (pairs or {}).get(line.name)) for line in lines}
    rows = {name: position_features(data) for name, data in sets.items()}
    return graph.batch(
        graph_ptr=seq_ptr,
        labels=labels,
        scopes=positions,
        features={
            line.name: _of_factors(rows[line.by], positions[line.name], line.at)
            for line in lines
            if line.by is not None
        },
    )


def position_features(data: Dataset) -> CliqueFeatures:
    """Return the attributes or the real-valued columns of all positions."""
    batch = data.batch
    if batch.edge_attr is not None or batch.segment_attr is not None or batch.begin_attr is not None:
        raise ValueError(
            "the template has edge:, both:, begin:, end: or segment: lines; graphs take attributes of "
            "positions: leave these words out"
        )
    if batch.dense is None:
        return CliqueFeatures(
            max(len(data.attributes), int(batch.attr.max(initial=-1)) + 1),
            rows=Ragged(batch.attr_ptr, batch.attr, batch.value),
            names=data.attributes if len(data.attributes) else None,
        )
    if len(batch.attr):
        raise ValueError(
            "positions have attributes and real-valued columns; graphs take one of both: give the columns as "
            "attributes with values, {'x0': 0.5, ...}"
        )
    return CliqueFeatures(batch.dense.shape[1], dense=batch.dense)


def _of_factors(rows: CliqueFeatures, positions: Pointers, at: At) -> CliqueFeatures:
    """Return the features of factors at these positions [M, arity]."""
    if at != "both":
        return rows.take(positions[:, 0 if at == "first" else -1])
    if rows.dense is not None:
        largest: Floats = rows.dense[positions].max(axis=1)
        return CliqueFeatures(rows.columns, dense=largest)
    from scipy.sparse import csr_array

    given = rows.rows
    assert given is not None
    value = np.ones(len(given.id)) if given.value is None else given.value
    every = csr_array((value, given.id, given.ptr), shape=(len(rows), rows.columns))
    union = every[positions[:, 0]]
    for other in positions.T[1:]:
        union = union.maximum(every[other])
    union.sort_indices()
    plain = bool((union.data == 1.0).all())
    ids = Ragged(union.indptr.astype(np.int64), union.indices.astype(np.int32), None if plain else union.data)
    return CliqueFeatures(rows.columns, rows=ids, names=rows.names)
