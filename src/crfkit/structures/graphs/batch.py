"""Graphs with data: how many variables there are, in which graphs, and the scope of each factor.

Variables are numbered through, kind by kind, in the order in which the graph names the kinds: *flat* numbers.
Users number the variables of each kind from 0. There is no Python object for a variable or a factor.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crfkit._safe.cached import once
from crfkit.arrays import Floats, Ids, Pointers, as_seq_ptr, pointers, sealed
from crfkit.checks import check_number
from crfkit.structures.graphs.clique_features import CliqueFeatures, as_features
from crfkit.structures.graphs.graph import Graph
from crfkit.structures.graphs.potentials import GraphPotentials, Table, as_table

if TYPE_CHECKING:
    from crfkit.inference.estimates import Estimate

Made = TypeVar("Made")


@dataclass(frozen=True, eq=False)
class GraphBatch:
    """One graph, or many; made by `Graph.batch`."""

    graph: Graph
    kind_ptr: dict[str, tuple[int, int]]  #: kind -> its first flat variable, and the one after its last
    width: Ids  #: [V] labels of each variable
    graph_of: Ids  #: [V] which graph a variable is of
    graphs: int  #: N
    single: bool  #: whether this is one graph, and not a batch of one
    scopes: dict[str, Ids]  #: clique -> [M, arity] flat variables
    label: Ids | None = None  #: [V], -1 where unknown
    features: Mapping[str, CliqueFeatures] = field(default_factory=dict)  #: clique -> of its M factors
    cost: Floats | None = None  #: [V] what a wrong label costs max-margin; None: 1 each
    _kept: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        for name in ("width", "graph_of", "label"):
            given = getattr(self, name)
            object.__setattr__(self, name, None if given is None else sealed(given))
        object.__setattr__(self, "scopes", {name: sealed(scope) for name, scope in self.scopes.items()})

    @property
    def variables(self) -> int:
        """Number of variables of all kinds, V."""
        return len(self.width)

    @property
    def factors(self) -> int:
        """Number of factors of all cliques."""
        return sum(len(scope) for scope in self.scopes.values())

    def __getstate__(self) -> dict[str, Any]:
        """Return what copies and pickles hold: not what was prepared for queries."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "_kept"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        GraphBatch.__init__(self, **state)

    def __len__(self) -> int:
        """Return the number of graphs, N."""
        return self.graphs

    @property
    def shape(self) -> tuple[int]:
        """The number of graphs, as scikit-learn asks for it: its searches and folds take a batch as X."""
        return (self.graphs,)

    def __getitem__(self, graphs: Any) -> GraphBatch:
        """Return one graph, or those of a slice, of a list of numbers or of a mask [N]."""
        which = graphs[0] if isinstance(graphs, tuple) and graphs[1:] == (Ellipsis,) else graphs
        chosen = np.arange(self.graphs)[which] if isinstance(which, slice | int | np.integer) else which
        return self.select(np.atleast_1d(np.asarray(chosen)))

    @once
    def label_ptr(self) -> Pointers:
        """Where the labels of each variable begin in flat arrays, [V + 1]."""
        return pointers(self.width)

    @property
    def costs(self) -> Floats:
        """What a wrong label of each variable costs, [V]."""
        return np.ones(self.variables) if self.cost is None else self.cost

    def prepared(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """Return what depends on the scopes alone, made once: orders, forests, programs."""
        if key not in self._kept:
            self._kept[key] = make()
        made: Made = self._kept[key]
        return made

    def by_kind(self, flat: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return arrays [..., V] by kind."""
        return {kind: flat[..., first:last] for kind, (first, last) in self.kind_ptr.items()}

    def select(self, graphs: ArrayLike) -> GraphBatch:
        """Return some of the graphs, given their numbers or a mask, with labels and features.

        Examples
        --------
        >>> from crfkit import Graph
        >>> from crfkit.graphs import scopes
        >>> graph = Graph({"token": 2}, step=["token", "token"])
        >>> batch = graph.batch(graph_ptr=[0, 3, 5], scopes={"step": scopes.chain([0, 3, 5])})
        >>> batch.select([1]).scopes["step"].tolist()
        [[0, 1]]
        """
        from crfkit.structures.graphs.parts import part_of

        return part_of(self, graphs).batch

    def estimate(self) -> Estimate:
        """Return what each method would need for these graphs: cells, bytes, seconds; prints as a table.

        Nothing is summed. Scores may forbid labels, which makes elimination cheaper: with them at hand ask
        `GraphPotentials.estimate`.

        Examples
        --------
        >>> from crfkit import Graph
        >>> from crfkit.graphs import scopes
        >>> graph = Graph({"pixel": 2}, near=["pixel", "pixel"])
        >>> near = np.concatenate(scopes.grid((100, 100)))
        >>> batch = graph.batch(sizes={"pixel": 10_000}, scopes={"near": near})
        >>> batch.estimate()["elimination"].cells > 2**27  # too wide to be exact
        True
        """
        from crfkit.inference.estimates import estimate

        return estimate(self)

    def potentials(self, **tables: Table | ArrayLike) -> GraphPotentials:
        """Return the scores of all factors.

        Parameters
        ----------
        **tables : array or `Table`
            Clique -> scores: [L1, ..., La] for all its factors, or [M, L1, ..., La] for each. A clique that
            is not named scores 0, or what is `fixed`.

        Examples
        --------
        >>> from crfkit import Graph, inference
        >>> graph = Graph({"token": 2}, word=["token"], step=["token", "token"])
        >>> batch = graph.batch(sizes={"token": 2}, scopes={"step": [[0, 1]]})
        >>> scores = batch.potentials(word=[[0.0, 1.0], [0.5, 0.0]], step=[[1.0, 0.0], [0.0, 1.0]])
        >>> inference.decode(scores)["token"].tolist()
        [1, 1]
        """
        for name in tables:
            if name not in self.graph.cliques:
                known = ", ".join(map(repr, self.graph.cliques)) or "none"
                raise ValueError(f"{name!r} is not a clique of the graph; its cliques are {known}")
        made = {}
        for name, clique in self.graph.cliques.items():
            if name in tables or clique.fixed is not None:
                shape = None if self.graph.ragged(name) else self.graph.shape(name)
                given = tables[name] if name in tables else np.zeros(shape or ())
                made[name] = as_table(name, given, shape, len(self.scopes[name]), clique)
        return GraphPotentials(self, made)


def make_batch(
    graph: Graph,
    graph_ptr: ArrayLike | Mapping[str, ArrayLike] | None,
    sizes: Mapping[str, int],
    labels: Mapping[str, Any],
    scopes: Mapping[str, ArrayLike],
    features: Mapping[str, Any],
    cost: Mapping[str, ArrayLike],
) -> GraphBatch:
    """Return the batch that `Graph.batch` describes, checked."""
    for argument, given, known in (
        ("sizes", sizes, graph.kinds),
        ("labels", labels, graph.kinds),
        ("cost", cost, graph.kinds),
        ("scopes", scopes, graph.cliques),
        ("features", features, graph.cliques),
    ):
        for name in given:
            if name not in known:
                what = "clique" if known is graph.cliques else "kind"
                raise ValueError(f"{argument}: {name!r} is not a {what}: {', '.join(map(repr, known))}")
    pointer = graph_ptr if isinstance(graph_ptr, Mapping) else dict.fromkeys(graph.kinds, graph_ptr)
    size = {kind: size_of(graph, kind, pointer.get(kind), sizes, labels) for kind in graph.kinds}
    ptr = {kind: as_seq_ptr(pointer.get(kind), n, "graph_ptr") for kind, n in size.items()}
    counts = {len(p) - 1 for p in ptr.values()}
    if len(counts) > 1:
        raise ValueError(f"graph_ptr: the kinds have different numbers of graphs: {sorted(counts)}")
    ends = pointers(list(size.values()))
    kind_ptr = {kind: (int(ends[i]), int(ends[i + 1])) for i, kind in enumerate(size)}
    N = counts.pop()
    graph_of = [np.repeat(np.arange(N, dtype=np.int32), np.diff(p)) for p in ptr.values()]
    widths = [_widths(graph, kind, n) for kind, n in size.items()]
    of = np.concatenate(graph_of)
    flat = {name: _scope(graph, name, scopes.get(name), kind_ptr) for name in graph.cliques}
    for name, scope in flat.items():
        _check_factors(name, scope, of, kind_ptr)
    return GraphBatch(
        graph,
        kind_ptr,
        np.concatenate(widths),
        of,
        N,
        graph_ptr is None,
        flat,
        _flat_labels(graph, labels, size) if labels else None,
        {
            name: as_features(name, rows, len(flat[name]), positive=graph.cliques[name].attractive)
            for name, rows in features.items()
        },
        _flat_cost(cost, size) if cost else None,
    )


def size_of(
    graph: Graph, kind: str, pointer: ArrayLike | None, sizes: Mapping[str, int], labels: Mapping[str, Any]
) -> int:
    """Return how many variables of a kind there are, unless it is not said or said differently."""
    said: dict[str, int] = {}
    if kind in sizes:
        check_number(f"sizes[{kind!r}]", sizes[kind], whole=True)
        said["sizes"] = int(sizes[kind])
    if pointer is not None:
        entries = np.asarray(pointer)
        said["graph_ptr"] = int(entries[-1]) if entries.size else 0
    if kind in labels:
        marks = np.asarray(labels[kind])
        if not marks.ndim:
            raise ValueError(
                f"labels[{kind!r}] is {labels[kind]!r:.80}, expected a list or an array: one a variable"
            )
        said["labels"] = len(marks)
    many = graph.kinds[kind]
    if isinstance(many, np.ndarray):
        said["kinds"] = len(many)
    if not said:
        raise ValueError(
            f"how many variables of kind {kind!r} there are is not said: give sizes={{{kind!r}: n}}"
        )
    if len(set(said.values())) > 1:
        differ = ", ".join(f"{n} by {who}" for who, n in said.items())
        raise ValueError(f"kind {kind!r} has different numbers of variables: {differ}")
    size = next(iter(said.values()))
    if size < 0:
        raise ValueError(f"kind {kind!r} has {size} variables")
    return size


def _widths(graph: Graph, kind: str, size: int) -> Ids:
    labels = graph.kinds[kind]
    if isinstance(labels, np.ndarray):
        return labels
    return np.full(size, graph.width(kind), dtype=np.int32)


def _scope(graph: Graph, name: str, given: ArrayLike | None, kind_ptr: Mapping[str, tuple[int, int]]) -> Ids:
    """Return the flat scope [M, arity] of a clique, checked for shape and range within the kinds."""
    kinds = graph.cliques[name].kinds
    size = [kind_ptr[kind][1] - kind_ptr[kind][0] for kind in kinds]
    if given is None:
        if len(set(kinds)) < len(kinds) or len(set(size)) > 1:
            raise ValueError(
                f"clique {name!r} needs scopes={{{name!r}: [M, {len(kinds)}]}}: which variables are scored "
                "together"
            )
        numbers = np.repeat(np.arange(size[0], dtype=np.int32)[:, None], len(kinds), axis=1)
    else:
        array = np.asarray(given)
        if array.size == 0 and array.ndim < 2:
            array = np.zeros((0, len(kinds)), dtype=np.int32)
        if array.ndim == 1 and len(kinds) == 1:
            array = array[:, None]
        if array.ndim != 2 or array.shape[1] != len(kinds) or array.dtype.kind not in "iu":
            raise ValueError(
                f"the scope of clique {name!r} has type {array.dtype} and shape {array.shape}; expected "
                f"integers of shape (factors, {len(kinds)})"
            )
        numbers = array
    for axis, (kind, n) in enumerate(zip(kinds, size, strict=True)):
        column = numbers[:, axis]
        if len(column) and (int(column.min()) < 0 or int(column.max()) >= n):
            m = int(np.flatnonzero((column < 0) | (column >= n))[0])
            raise ValueError(
                f"scope of clique {name!r}: factor {m} has variable {column[m]} of kind {kind!r}, which has "
                f"{n}: expected 0 to {n - 1}"
            )
    shift = np.array([kind_ptr[kind][0] for kind in kinds], dtype=np.int32)
    return np.array(numbers + shift, dtype=np.int32, order="C")  # a copy: kernels trust it


def _check_factors(name: str, scope: Ids, graph_of: Ids, kind_ptr: Mapping[str, tuple[int, int]]) -> None:
    """Refuse factors with a variable twice, and factors that join two graphs."""
    many = len(graph_of) > 0 and int(graph_of[-1]) > 0
    for i in range(1, scope.shape[1]):
        for j in range(i):
            twice = np.flatnonzero(scope[:, i] == scope[:, j])
            if twice.size:
                v = int(scope[twice[0], i])
                kind, first = next((k, a) for k, (a, b) in kind_ptr.items() if a <= v < b)
                raise ValueError(
                    f"scope of clique {name!r}: factor {twice[0]} has variable {v - first} of kind {kind!r} "
                    "twice; a factor's variables are all different (`scopes.simple` drops loops)"
                )
        if many:
            apart = np.flatnonzero(graph_of[scope[:, i]] != graph_of[scope[:, 0]])
            if apart.size:
                m = int(apart[0])
                raise ValueError(
                    f"scope of clique {name!r}: factor {m} joins graphs {graph_of[scope[m, 0]]} and "
                    f"{graph_of[scope[m, i]]}; a factor belongs to one graph"
                )


def _flat_labels(graph: Graph, labels: Mapping[str, Any], size: Mapping[str, int]) -> Ids:
    parts = []
    for kind, n in size.items():
        part = np.full(n, -1) if kind not in labels else _ids(graph, kind, labels[kind])
        if part.shape != (n,) or (part.size and part.dtype.kind not in "iu"):
            raise ValueError(
                f"labels[{kind!r}] must be {n} label ids or names, one for each variable, -1 or None where "
                "unknown"
            )
        wrong = np.flatnonzero((part < -1) | (part >= _widths(graph, kind, n)))
        if wrong.size:
            v = int(wrong[0])
            raise ValueError(
                f"labels[{kind!r}][{v}] is {part[v]}, expected 0 to {_widths(graph, kind, n)[v] - 1}, or -1"
            )
        parts.append(part.astype(np.int32))
    return np.concatenate(parts)


def _flat_cost(cost: Mapping[str, ArrayLike], size: Mapping[str, int]) -> Floats:
    parts = []
    for kind, n in size.items():
        part = np.asarray(cost.get(kind, np.ones(n)), dtype=np.float64)
        if part.shape != (n,):
            raise ValueError(f"cost[{kind!r}] has shape {part.shape}; expected {n} numbers, one a variable")
        wrong = np.flatnonzero(~(np.isfinite(part) & (part >= 0.0)))
        if wrong.size:
            v = int(wrong[0])
            raise ValueError(f"cost[{kind!r}][{v}] is {part[v]}, expected a finite number of 0 or more")
        parts.append(part)
    return np.concatenate(parts)


def _ids(graph: Graph, kind: str, given: Any) -> NDArray[Any]:
    """Return labels as ids, where names are given: None becomes -1."""
    labels, names = np.asarray(given), graph.kinds[kind]
    if labels.dtype.kind not in "UO" or labels.ndim != 1:
        return labels
    if not isinstance(names, tuple):
        raise ValueError(f"labels[{kind!r}] are not numbers, and the labels of this kind have no names")
    ids: dict[Any, int] = {name: y for y, name in enumerate(names)} | {None: -1}
    found = np.array([ids.get(label, -2) for label in labels.tolist()], dtype=np.int32)
    wrong = np.flatnonzero(found == -2)
    if wrong.size:
        known = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
        v = int(wrong[0])
        raise ValueError(
            f"labels[{kind!r}][{v}] is {labels.tolist()[v]!r}, which is not a label of this kind: {known}"
        )
    return found
