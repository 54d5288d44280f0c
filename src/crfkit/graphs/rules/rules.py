"""`Rules`: weighted first-order rules over the labels of a graph and observed relations (Markov logic)."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crfkit.graphs.rules.clauses import Clause, Labels, clause_of
from crfkit.graphs.rules.grounding import Ground, Objects, ground
from crfkit.graphs.rules.texts import read
from crfkit.graphs.scopes.bindings import as_set
from crfkit.graphs.scopes.columns import Relation
from crfkit.graphs.scopes.matching import LIMIT
from crfkit.models.graph_model import GraphModel
from crfkit.structures.graphs.batch import GraphBatch, size_of
from crfkit.structures.graphs.cliques import Clique
from crfkit.structures.graphs.graph import Graph


class Rules:
    """Weighted first-order rules: Markov logic (Richardson & Domingos 2006).

    Each rule is a clique of the graph. Its factors are the rows of observed relations for which it says
    something; its weight is learned as any other, and counts for each way in which the rule is true:

        score(labels) = sum over rules r: weight_r * number of true groundings of r

    up to a number that does not depend on labels.

    Parameters
    ----------
    *rules : str
        A rule on each line: ``"friends(x, y) & smokes(x) -> smokes(y)"``. From what binds most: ``!`` not,
        ``&`` and, ``|`` or, ``->``, ``<->``. Predicates are kinds, whose labels are hidden, or observed
        relations. ``topic(a, t)`` says that a has the label t: a variable, or a label in quotes. A rule has
        one weight for all values of its variables; ``+t`` asks for a weight for each label or observed value.
        Terms are compared by ``= != < <= > >=``. A number before a rule is its weight, which is then not
        learned; a full stop after it forbids labelings that break it; ``name:`` before it names its clique
        (else rule1, rule2, ...).
    kinds : mapping
        Kind -> its labels: their names, how many, or ``bool`` for a predicate that is true or false.
    cliques : mapping, optional
        Other cliques of the graph, as in `Graph`.

    Attributes
    ----------
    graph : Graph
        Kinds and cliques.

    Examples
    --------
    Smokers and their friends (Richardson & Domingos 2006); the weights are given, not learned:

    >>> from crfkit.graphs import Rules
    >>> from crfkit import inference
    >>> rules = Rules(
    ...     "1.5 smokes(x) -> cancer(x)",
    ...     "1.1 friends(x, y) & smokes(x) -> smokes(y)",
    ...     kinds={"smokes": bool, "cancer": bool},
    ... )
    >>> friends = [[0, 1], [1, 0]]  # Anna and Bob are friends
    >>> world = rules.batch({"friends": friends}, sizes={"smokes": 2, "cancer": 2})
    >>> scores = world.potentials().given({"smokes": [1, -1]})  # Anna smokes
    >>> inference.marginals(scores)["smokes"][1].round(2).tolist()  # and Bob?
    [0.35, 0.65]
    """

    def __init__(
        self,
        *rules: str,
        kinds: Mapping[str, Any],
        cliques: Mapping[str, Clique | Sequence[str]] | None = None,
    ) -> None:
        self.rules = read(rules)
        if not self.rules:
            raise ValueError("there are no rules")
        bare = Graph({kind: 2 if labels is bool else labels for kind, labels in kinds.items()})
        hidden = {kind: None if kinds[kind] is bool else _labels(kind, bare) for kind in kinds}
        self.clauses: list[Clause] = [clause_of(rule, hidden) for rule in self.rules]
        self.arity = self._arity()
        made = {clause.rule.name: _clique(clause) for clause in self.clauses}
        for name in cliques or {}:
            if name in made:
                raise ValueError(f"a rule and a clique are both called {name!r}")
        self.graph = Graph(bare.kinds, **made, **(cliques or {}))

    def _arity(self) -> dict[str, int]:
        """Return the number of terms of each observed relation, and of the objects of each kind."""
        arity: dict[str, int] = {}
        for clause in self.clauses:
            for atom in (*clause.axes, *clause.true, *clause.false):
                if arity.setdefault(atom.name, len(atom.terms)) != len(atom.terms):
                    raise ValueError(
                        f"{clause.rule.where}: {atom} has {len(atom.terms)} terms, elsewhere "
                        f"{atom.name!r} has {arity[atom.name]}"
                    )
        return arity

    def batch(
        self,
        relations: Mapping[str, Relation] | None = None,
        *,
        objects: Mapping[str, ArrayLike] | None = None,
        graph_ptr: ArrayLike | Mapping[str, ArrayLike] | None = None,
        sizes: Mapping[str, int] | None = None,
        labels: Mapping[str, ArrayLike] | None = None,
        scopes: Mapping[str, ArrayLike] | None = None,
        features: Mapping[str, Any] | None = None,
        limit: int = LIMIT,
    ) -> GraphBatch:
        """Ground the rules in data.

        Parameters
        ----------
        relations : mapping
            Observed predicate -> its rows: integers [R, terms], or columns by name, which may have text.
            A row that is not there is false; rows that are there twice count once.
        objects : mapping, optional
            Kind -> the objects that each of its variables is about, [V, objects]; needed for predicates of
            two or more objects, as ``friends(x, y)`` where it is hidden. A rule is grounded for the objects
            that have variables. Default: variable i is about object i.
        graph_ptr, sizes, labels, scopes, features
            As in `Graph.batch`; scopes and features of other cliques than rules.
        limit : int, default 50,000,000
            Ground clauses are counted before they are made, and refused above this number.

        Examples
        --------
        >>> from crfkit.graphs import Rules
        >>> rules = Rules("friends(x, y) & smokes(x) -> smokes(y)", kinds={"smokes": bool})
        >>> rules.batch({"friends": [[0, 1], [2, 1]]}, sizes={"smokes": 3}).scopes["rule1"].tolist()
        [[0, 1], [2, 1]]
        """
        given = dict(relations or {})
        observed = self._observed(given)
        tables = {kind: self._table(kind, rows) for kind, rows in (objects or {}).items()}
        known = {**{kind: len(table[0]) for kind, table in tables.items()}, **(sizes or {})}
        marks = {kind: _as_ids(one) for kind, one in (labels or {}).items()}
        about = {}
        for kind in self.graph.kinds:
            pointer = graph_ptr.get(kind) if isinstance(graph_ptr, Mapping) else graph_ptr
            size = size_of(self.graph, kind, pointer, known, marks)
            if kind not in tables and self.arity.get(kind, 1) > 1:
                raise ValueError(
                    f"kind {kind!r} is about {self.arity[kind]} objects; say which variables it has: "
                    f"objects={{{kind!r}: rows of {self.arity[kind]} objects}}"
                )
            about[kind] = Objects(size, tables.get(kind))
        made = {clause.rule.name: ground(clause, observed, about, limit) for clause in self.clauses}
        self._warn_of_empty(made)
        rows = {name: one.features for name, one in made.items() if one.features is not None}
        return self.graph.batch(
            graph_ptr=graph_ptr,
            sizes=known,
            labels=marks,
            scopes={**{name: one.scope for name, one in made.items()}, **(scopes or {})},
            features={**rows, **(features or {})},
        )

    def weights(self, model: GraphModel) -> dict[str, Any]:
        """Return the learned weight of each rule, by its text.

        A rule with marked variables has a weight for each of their values: a mapping from the values of
        observed variables, then labels.

        Examples
        --------
        >>> from crfkit import GraphCRF
        >>> from crfkit.graphs import Rules
        >>> rules = Rules("smokes(x) -> cancer(x)", kinds={"smokes": bool, "cancer": bool})
        >>> data = rules.batch(labels={"smokes": [1, 1, 1, 0], "cancer": [1, 1, 0, 0]})
        >>> model = GraphCRF(rules.graph).fit(data).model_
        >>> weights = rules.weights(model)
        >>> list(weights)
        ['smokes(x) -> cancer(x)']
        """
        made: dict[str, Any] = {}
        for clause in self.clauses:
            rule = clause.rule
            if rule.hard or rule.weight is not None:
                continue
            block = model.layout.block[rule.name]
            values = np.zeros((len(block.ptr) - 1, clause.counts.shape[-1]))
            row = np.repeat(np.arange(len(values)), np.diff(block.ptr))
            values[row, block.cell] = model.w[model.layout.parts[rule.name]]
            attributes = model.attributes[rule.name].strings() if clause.values else [""]
            if not clause.values and not clause.labels:
                made[rule.text] = float(values[0, 0])
                continue
            over = [*self._names(clause)]
            names = [(*((one,) if clause.values else ()), *labels) for one in attributes for labels in over]
            made[rule.text] = dict(zip(names, values.ravel().tolist(), strict=True))
        return made

    def _names(self, clause: Clause) -> Iterable[tuple[str, ...]]:
        """Return the labels of the marked variables over labels, for each weight."""
        over = {}
        for atom in clause.rule.formula.atoms():
            if atom.name in self.graph.kinds and atom.terms[-1].variable:
                over[str(atom.terms[-1].value)] = _label_names(self.graph, atom.name)
        return product(*(over[name] for name in clause.labels))

    def _observed(self, given: Mapping[str, Relation]) -> dict[str, tuple[NDArray[Any], ...]]:
        wanted = {a.name: len(a.terms) for clause in self.clauses for a in (*clause.true, *clause.false)}
        for name in wanted:
            if name not in given:
                known = ", ".join(map(repr, (*self.graph.kinds, *given)))
                raise ValueError(
                    f"predicate {name!r} is not a kind, and relations does not have it; known are {known}"
                )
        for name in given:
            if name not in wanted:
                raise ValueError(f"relations: {name!r} is in no rule")
        return {name: as_set(name, given[name], terms) for name, terms in wanted.items()}

    def _table(self, kind: str, given: ArrayLike) -> tuple[NDArray[Any], ...]:
        if kind not in self.graph.kinds:
            raise ValueError(f"objects: {kind!r} is not a kind: {', '.join(map(repr, self.graph.kinds))}")
        rows = np.asarray(given)
        columns = as_set(kind, rows, self.arity.get(kind, 1))
        if len(columns[0]) < len(rows):
            raise ValueError(f"objects: two variables of kind {kind!r} are about the same objects")
        return columns

    def _warn_of_empty(self, made: Mapping[str, Ground]) -> None:
        for clause in self.clauses:
            if not len(made[clause.rule.name].scope):
                warnings.warn(
                    f"{clause.rule.where} has no ground clauses in these data", UserWarning, stacklevel=3
                )

    def __repr__(self) -> str:
        """Return the rules and the kinds."""
        return f"Rules({', '.join(repr(rule.text) for rule in self.rules)}, kinds={self.graph.kinds})"


def _clique(clause: Clause) -> Clique:
    """Return the clique of a rule: its counts as weights, as fixed scores, or as what is forbidden."""
    kinds, rule, shape = [atom.name for atom in clause.axes], clause.rule, clause.counts.shape[:-1]
    none = np.full(shape, -1, dtype=np.int32)
    if rule.hard:
        return Clique(*kinds, cells=none, fixed=np.where(clause.broken, -np.inf, 0.0))
    if rule.weight is not None:
        return Clique(*kinds, cells=none, fixed=rule.weight * clause.counts.sum(axis=-1))
    one = clause.counts.max(axis=-1)
    if np.array_equal(one, clause.counts.sum(axis=-1)) and one.max() == 1.0:  # at most one weight a cell
        return Clique(*kinds, cells=np.where(one > 0, clause.counts.argmax(axis=-1), -1))
    return Clique(*kinds, counts=clause.counts)


def _labels(kind: str, graph: Graph) -> Labels:
    labels = graph.kinds[kind]
    if isinstance(labels, np.ndarray):
        raise ValueError(f"kind {kind!r}: rules need one number of labels for all variables of a kind")
    return labels


def _label_names(graph: Graph, kind: str) -> list[str]:
    labels = graph.kinds[kind]
    return [*labels] if isinstance(labels, tuple) else [str(label) for label in range(graph.width(kind))]


def _as_ids(labels: ArrayLike) -> NDArray[Any]:
    array = np.asarray(labels)
    return array.astype(np.int32) if array.dtype == np.bool_ else array
