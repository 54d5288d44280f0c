"""Graphs: variables of several kinds, and cliques that score some of them together.

score(y) = sum over cliques c, factors m of c: scale_m table_c[y_{scope_m}]

A `Graph` says which kinds of variables and which cliques there are: Sutton & McCallum (2006) section 1.4.2
calls the cliques of one name a clique template. It knows nothing of data. `Graph.batch` adds the data:
how many variables, in which graphs, and the *scope* of each factor, as one array for each clique.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from crfkit.arrays import Ids
from crfkit.checks import in_order
from crfkit.structures.graphs.cliques import Clique

if TYPE_CHECKING:
    from crfkit.structures.graphs.batch import GraphBatch
    from crfkit.structures.graphs.potentials import GraphPotentials


class Graph:
    """Kinds of variables, and the cliques that score them.

    Parameters
    ----------
    kinds : mapping
        Name -> labels: how many, or their names.
    **cliques : list of kinds, or `Clique`
        Name -> the kinds of the variables that it scores together. One kind: the variables' own scores.

    Examples
    --------
    >>> from crfkit import Graph
    >>> graph = Graph({"pos": ["N", "V"], "chunk": 3}, word=["pos"], link=["pos", "chunk"])
    >>> graph
    Graph({'pos': ('N', 'V'), 'chunk': 3}, word=['pos'], link=['pos', 'chunk'])
    >>> graph.shape("link")
    (2, 3)
    """

    kind: ClassVar[str] = "graph"
    objective: ClassVar[str] = "likelihood"  #: what it is trained by unless another is given
    segmental: ClassVar[bool] = False
    local: ClassVar[bool] = False
    graphical: ClassVar[bool] = True
    is_chain: ClassVar[bool] = False
    order: ClassVar[None] = None
    limits_lengths: ClassVar[bool] = False

    def __init__(
        self, kinds: Mapping[str, int | Iterable[str] | Ids], /, **cliques: Clique | Sequence[str]
    ) -> None:
        self.kinds: dict[str, int | tuple[str, ...] | Ids] = {
            name: _labels(name, labels) for name, labels in kinds.items()
        }
        if not self.kinds:
            raise ValueError("kinds is empty; a graph has at least one kind of variables")
        self.cliques: dict[str, Clique] = {
            name: clique if isinstance(clique, Clique) else Clique(*_kinds(name, clique))
            for name, clique in cliques.items()
        }
        for name, clique in self.cliques.items():
            for kind in clique.kinds:
                if kind not in self.kinds:
                    raise ValueError(
                        f"clique {name!r} has variables of kind {kind!r}; the kinds are "
                        f"{', '.join(map(repr, self.kinds))}"
                    )
            if not self.ragged(name):
                clique.check(name, self.shape(name))

    def describe(self) -> str:
        """Return the name that messages use."""
        return "a graph"

    @property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """The labels of each kind by id; numbers as text where they have no names."""
        return {
            kind: names if isinstance(names, tuple) else tuple(map(str, range(self.width(kind))))
            for kind, names in self.kinds.items()
        }

    def width(self, kind: str) -> int:
        """Return how many labels the variables of a kind have."""
        labels = self.kinds[kind]
        if isinstance(labels, np.ndarray):
            raise ValueError(f"the variables of kind {kind!r} have different numbers of labels")
        return labels if isinstance(labels, int) else len(labels)

    def ragged(self, clique: str) -> bool:
        """Return whether some variable of a clique is of a kind whose variables differ in labels."""
        return any(isinstance(self.kinds[kind], np.ndarray) for kind in self.cliques[clique].kinds)

    def shape(self, clique: str) -> tuple[int, ...]:
        """Return the shape of a table of a clique."""
        return tuple(self.width(kind) for kind in self.cliques[clique].kinds)

    def batch(
        self,
        *,
        graph_ptr: ArrayLike | Mapping[str, ArrayLike] | None = None,
        sizes: Mapping[str, int] | None = None,
        labels: Mapping[str, Any] | None = None,
        scopes: Mapping[str, ArrayLike] | None = None,
        features: Mapping[str, Any] | None = None,
        cost: Mapping[str, ArrayLike] | None = None,
    ) -> GraphBatch:
        """Return one graph or many, with the scope of each factor.

        Parameters
        ----------
        graph_ptr : array [N + 1], or one for each kind, optional
            Graph n has the variables ``graph_ptr[n]`` to ``graph_ptr[n + 1] - 1`` of each kind. Without it
            there is one graph.
        sizes : mapping, optional
            Kind -> number of variables, where neither `graph_ptr` nor `labels` says it.
        labels : mapping, optional
            Kind -> label ids [V], -1 where unknown; or names, None where unknown.
        scopes : mapping, optional
            Clique -> variables of each factor, [M, arity], numbered within their kinds. Default: a clique
            of one kind scores every variable; one of several kinds with equal numbers of variables scores
            number i of each together.
        features : mapping, optional
            Clique -> what is known of each factor, a row each: numbers [M, K], a SciPy sparse matrix, its
            arrays ``(indptr, indices, data)`` with data None where all are 1, or a `crfkit.data.Dataset`
            with a position for each factor.
        cost : mapping, optional
            Kind -> what a wrong label of each variable costs, [V], where that differs: the areas of
            superpixels. `MaxMargin` and `SoftmaxMargin` take it; default: 1 each.

        Examples
        --------
        >>> from crfkit import Graph
        >>> graph = Graph({"token": 2}, word=["token"], step=["token", "token"])
        >>> batch = graph.batch(sizes={"token": 3}, scopes={"step": [[0, 1], [1, 2]]})
        >>> batch.variables, batch.factors
        (3, 5)
        """
        from crfkit.structures.graphs.batch import make_batch

        return make_batch(
            self, graph_ptr, sizes or {}, labels or {}, scopes or {}, features or {}, cost or {}
        )

    @classmethod
    def from_factors(
        cls, width: ArrayLike, factors: Iterable[tuple[Sequence[int], ArrayLike]]
    ) -> GraphPotentials:
        """Return the potentials of one graph of loose factors: pairs of a scope and a table of scores.

        Factors of one shape become one clique; the variables are of one kind, "variable", and keep their
        numbers. A factor without variables is a constant.

        Examples
        --------
        >>> from crfkit import Graph, inference
        >>> scores = Graph.from_factors([2, 3], [([0], [0.0, 1.0]), ([0, 1], [[0.0, 0, 0], [0, 0, 2]])])
        >>> inference.decode(scores)["variable"].tolist()
        [1, 2]
        """
        from crfkit.structures.graphs.loose import potentials_of_factors

        return potentials_of_factors(width, factors)

    def __repr__(self) -> str:
        """Return the call that makes it."""
        kinds = {k: "[...]" if isinstance(n, np.ndarray) else n for k, n in self.kinds.items()}
        cliques = "".join(f", {name}={clique!r}" for name, clique in self.cliques.items())
        return f"Graph({kinds}{cliques})"

    def __setstate__(self, state: dict[str, Any]) -> None:
        Graph.__init__(self, state["kinds"], **state["cliques"])

    def __eq__(self, other: Any) -> bool:
        """Return whether kinds and cliques are the same."""
        return (
            isinstance(other, Graph)
            and [*self.kinds] == [*other.kinds]
            and all(np.array_equal(labels, other.kinds[kind]) for kind, labels in self.kinds.items())
            and [*self.cliques.items()] == [*other.cliques.items()]
        )

    def __hash__(self) -> int:
        """Return a hash that agrees with ``==``."""
        return hash((tuple(self.kinds), tuple(self.cliques.items())))


def _labels(name: str, labels: int | Iterable[str] | Ids) -> int | tuple[str, ...] | Ids:
    if isinstance(labels, np.ndarray) and labels.dtype.kind in "iu":
        return labels.astype(np.int32)
    if isinstance(labels, int | np.integer):
        if labels < 1:
            raise ValueError(f"kind {name!r} has {labels} labels, expected 1 or more")
        return int(labels)
    names = tuple(str(label) for label in in_order(labels))
    if not names or len(set(names)) != len(names):
        raise ValueError(f"kind {name!r}: labels must be names, at least one, all different")
    return names


def _kinds(name: str, kinds: Sequence[str]) -> Sequence[str]:
    if isinstance(kinds, str):
        raise ValueError(f"clique {name!r} is {kinds!r}; write [{kinds!r}], a list of kinds")
    return kinds
