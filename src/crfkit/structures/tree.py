"""Trees of variables, each with its own number of labels.

score(y) = sum_v node_v[y_v] + sum_{v with a parent} edge_v[y_v, y_parent(v)]

Exact inference by the two passes of belief propagation, Sutton & McCallum (2006) section 1.4.4; several
roots make a forest. A path-shaped tree is a chain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crfkit import _native
from crfkit._safe.cached import once
from crfkit._safe.pickling import Restored
from crfkit.arrays import (
    Bools,
    Floats,
    Ids,
    Pointers,
    as_finite_scores,
    as_seq_ptr,
    pointers,
    sealed,
    sum_by_sequence,
)
from crfkit.structures.gold import Path, forbid
from crfkit.structures.potentials import KeptScores, one_or_all, score_of_gold
from crfkit.structures.results import Labeling, Marginals


@dataclass(frozen=True, eq=False)
class Tree(Restored):
    """Variables that form a tree, or a batch of trees, one after the other.

    Parameters
    ----------
    parent : list of int
        Parent of each variable, counted from the first variable of its tree; -1 for a root.
    width : int or list of int
        Number of labels of each variable.
    seq_ptr : array [N + 1], optional
        Tree n has the variables ``seq_ptr[n]`` to ``seq_ptr[n + 1] - 1``. Without it there is one.

    Examples
    --------
    >>> from crfkit.structures import Tree
    >>> from crfkit import inference
    >>> tree = Tree(parent=[-1, 0, 0], width=[2, 2, 3])
    >>> scores = tree.potentials(
    ...     node=[[0.0, 1.0], [0.0, 0.0], [0.0, 0.0, 0.5]], edge=[None, [[1.0, 0.0], [0.0, 1.0]], None]
    ... )
    >>> inference.decode(scores).labels.tolist()
    [1, 1, 2]
    """

    parent: NDArray[np.int32]  # [P]
    width: NDArray[np.int32]  # [P]
    seq_ptr: Pointers  # [N + 1]
    single: bool

    def __init__(
        self,
        parent: Sequence[int] | NDArray[np.integer],
        width: int | Sequence[int] | NDArray[np.integer],
        seq_ptr: ArrayLike | None = None,
    ) -> None:
        parents = _small_integers(parent, "parent")
        widths = _small_integers(np.full(len(parents), width) if np.ndim(width) == 0 else width, "width")
        if len(widths) != len(parents):
            raise ValueError(f"width has {len(widths)} entries, expected one per variable: {len(parents)}")
        object.__setattr__(self, "parent", parents)
        object.__setattr__(self, "width", widths)
        object.__setattr__(self, "seq_ptr", as_seq_ptr(seq_ptr, len(parents)))
        object.__setattr__(self, "single", seq_ptr is None)

    def __setstate__(self, state: dict[str, Any]) -> None:
        Tree.__init__(self, state["parent"], state["width"], None if state["single"] else state["seq_ptr"])

    def potentials(
        self, node: Sequence[ArrayLike], edge: Sequence[ArrayLike | None] | None = None
    ) -> TreePotentials:
        """Score the labels of variables and of pairs.

        Parameters
        ----------
        node : list of arrays
            ``node[v][i]`` scores label i of variable v.
        edge : list of arrays, None for 0
            ``edge[v][i, j]`` scores label i of variable v beside label j of its parent; roots have None.
        """
        V = len(self.parent)
        edges: Sequence[ArrayLike | None] = [None] * V if edge is None else edge
        if len(node) != V or len(edges) != V:
            raise ValueError(
                f"node has {len(node)} and edge {len(edges)} entries, expected one per variable: {V}"
            )
        first = np.repeat(self.seq_ptr[:-1], np.diff(self.seq_ptr))  # [P]
        nodes, tables = [], []
        for v in range(V):
            nodes.append(as_finite_scores(node[v], f"node[{v}]"))
            if nodes[v].shape != (self.width[v],):
                raise ValueError(f"node[{v}] has shape {nodes[v].shape}, expected ({self.width[v]},)")
            up = int(self.parent[v])
            known = 0 <= up < V - first[v]
            shape = (int(self.width[v]), int(self.width[first[v] + up]) if known else 0)
            given = edges[v]
            tables.append(np.zeros(shape) if given is None else as_finite_scores(given, f"edge[{v}]"))
            if tables[v].shape != shape:
                hint = "; a root has no edge" if up < 0 else ""
                raise ValueError(f"edge[{v}] has shape {tables[v].shape}, expected {shape}{hint}")
        return TreePotentials(self, tuple(nodes), tuple(tables))


def _small_integers(values: ArrayLike, argument: str) -> NDArray[np.int32]:
    array = np.asarray(values)
    if array.size == 0:
        return np.zeros(0, dtype=np.int32)
    if array.ndim != 1 or array.dtype.kind not in "iu" or np.abs(array).max() >= 2**31:
        raise ValueError(f"{argument} must be a list of whole numbers below 2^31")
    return sealed(np.ascontiguousarray(array, dtype=np.int32))


@dataclass(frozen=True, eq=False)
class TreePotentials(KeptScores):
    """Scores of a tree, ready for `crfkit.inference`; made by `Tree.potentials`."""

    structure: Tree
    node: tuple[Floats, ...]  # node[v]: [width of v]
    edge: tuple[Floats, ...]  # edge[v]: [width of v, width of its parent]

    @property
    def seq_ptr(self) -> Pointers:
        """Where each tree begins."""
        return self.structure.seq_ptr

    @property
    def single(self) -> bool:
        """Whether this is one tree and not a batch of one."""
        return self.structure.single

    @property
    def constrained(self) -> bool:
        """Whether there are constraints: trees have none but scores of -inf."""
        return False

    @once
    def node_ptr(self) -> Pointers:
        """Where the labels of each variable begin in flat arrays, [P + 1]."""
        return pointers([array.size for array in self.node])

    @once
    def edge_ptr(self) -> Pointers:
        """Where the edge of each variable begins in flat arrays, [P + 1]."""
        return pointers([array.size for array in self.edge])

    @once
    def problem(self) -> _native.Problem:
        """The arrays as the kernels see them, checked."""
        return _native.Problem.tree(
            _flat(self.node),
            self.node_ptr,
            _flat(self.edge),
            self.edge_ptr,
            self.structure.parent,
            self.structure.width,
            self.seq_ptr,
        )

    def sequence(self, n: int) -> TreePotentials:
        """Return tree n as one tree."""
        part = slice(int(self.seq_ptr[n]), int(self.seq_ptr[n + 1]))
        tree = Tree(self.structure.parent[part], self.structure.width[part])
        return TreePotentials(tree, self.node[part], self.edge[part])

    def clamped(self, mask: Sequence[Bools]) -> TreePotentials:
        """Return the same scores with -inf for labels of each variable that its mask rules out."""
        node = tuple(forbid(scores, kept) for scores, kept in zip(self.node, mask, strict=True))
        return replace(self, node=node)

    def with_cost(self, gold: Path) -> TreePotentials:
        """Return the scores plus the Hamming cost: 1 for each variable with a wrong label."""
        pairs = zip(self.node, gold.label.tolist(), strict=True)
        return replace(self, node=tuple(scores + (np.arange(len(scores)) != y) for scores, y in pairs))

    def ids(self, labels: Sequence[int] | Ids, argument: str = "labels") -> Ids:
        """Return one label id per variable, checked."""
        ids = np.asarray(labels)
        if ids.shape != self.structure.width.shape or (ids.size and ids.dtype.kind not in "iu"):
            raise ValueError(f"{argument} must be one label id per variable: {len(self.structure.width)}")
        wrong = np.flatnonzero((ids < 0) | (ids >= self.structure.width))
        if wrong.size:
            v = int(wrong[0])
            raise ValueError(f"{argument}[{v}] is {ids[v]}, expected 0 to {self.structure.width[v] - 1}")
        return ids.astype(np.int32)

    def flat_path(self, labels: Labeling | Sequence[int] | Ids) -> tuple[Ids, None]:
        """Return the label ids [P] of a labeling, or of a list of them; trees have no segments."""
        return self.ids(labels.labels if isinstance(labels, Labeling) else labels), None

    def path_score(self, labels: Ids, begin: NDArray[Any] | None = None) -> Floats:
        """Score one labeling of each tree, [N]; trees have no segments that begin."""
        _ = self.problem  # checks shapes and numbers
        parent, first = self.structure.parent, self.seq_ptr[:-1]
        first = np.repeat(first, np.diff(self.seq_ptr))
        terms = np.zeros(len(labels))  # [P]
        for v, y in enumerate(labels):
            terms[v] = self.node[v][y]
            if parent[v] >= 0:
                terms[v] += self.edge[v][y, labels[first[v] + parent[v]]]
        return sum_by_sequence(terms, self.seq_ptr)

    def as_labels(self, paths: Ids) -> Ids:
        """Return the label ids of paths [k, P] that the kernels found, which are labels already."""
        return paths

    def posterior(self, node: Sequence[Floats]) -> tuple[Ids, None]:
        """Return the labels [P] of the highest marginals of each variable."""
        return np.array([np.argmax(p) for p in node], dtype=np.int32), None

    def span_mask(self, start: int, end: int, labels: Sequence[Any]) -> list[Bools]:
        """Return the masks that give variables start to end - 1 of one tree these labels."""
        masks = [np.ones(width, np.bool_) for width in self.structure.width]
        for v, label in zip(range(start, end), labels, strict=True):
            if not isinstance(label, int | np.integer) or not 0 <= label < len(masks[v]):
                raise ValueError(f"labels[{v - start}] is {label!r}, expected 0 to {len(masks[v]) - 1}")
            masks[v] = np.arange(len(masks[v])) == label
        return masks

    def most(self) -> int:
        """Return an upper bound of the number of labelings of a tree."""
        most: int = int(self.structure.width.max(initial=1)) ** int(np.diff(self.seq_ptr).max(initial=0))
        return most

    def shaped(self, raw: dict[str, Any]) -> Marginals:
        """Return the kernels' marginals as one array for each variable."""
        nodes = [raw["node"][a:b] for a, b in pairwise(self.node_ptr)]
        flat = [raw["edge"][a:b] for a, b in pairwise(self.edge_ptr)]
        edges = [part.reshape(table.shape) for part, table in zip(flat, self.edge, strict=True)]
        return Marginals(one_or_all(self, raw["value"]), nodes, edges)

    def scores(self) -> dict[str, Floats]:
        """Return the scores by slot: "node" and "edge", those of all variables in one array."""
        return {"node": _flat(self.node), "edge": _flat(self.edge)}

    def zeros(self) -> dict[str, Floats]:
        """Return arrays of 0 for a gradient by scores."""
        return {slot: np.zeros_like(array) for slot, array in self.scores().items()}

    def in_slots(self, marginals: Marginals) -> dict[str, Floats]:
        """Return marginals by slot, as `scores` has them."""
        return {"node": _flat(marginals.node), "edge": _flat(marginals.edge)}

    def gold_score(self, gold: Any, weight: Floats) -> float:
        """Add up weight[n] times the score of the gold of tree n, a `Path`."""
        if not isinstance(gold, Path):
            raise TypeError(f"gold is a {type(gold).__name__}; trees need a Path, one label of each variable")
        return score_of_gold(self, gold, weight)

    def add_counts(self, gold: Any, weight: Floats, counts: dict[str, Floats]) -> None:
        """Refuse: trees of this kind are not trained."""
        raise TypeError("trees of this kind are not trained; a Graph with the same cliques is")


def _flat(arrays: Sequence[Floats]) -> Floats:
    return np.concatenate([np.ravel(array) for array in arrays] or [np.zeros(0)])
