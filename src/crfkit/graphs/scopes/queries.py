"""Cliques by a query: what Taskar, Abbeel & Koller (2002) write as SELECT, FROM and WHERE."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from crfkit.arrays import Ids
from crfkit.graphs.scopes.bindings import Rows, as_set, solve
from crfkit.graphs.scopes.columns import Relation, as_integers
from crfkit.graphs.scopes.formulas import COMPARISONS, Atom, Node, parse
from crfkit.graphs.scopes.matching import LIMIT, merged


def select(variables: str, where: str, *, limit: int = LIMIT, **relations: Relation | ArrayLike) -> Ids:
    """Return the values of some variables for which a condition holds, each once, [M, variables].

    The clique templates of relational Markov networks: Taskar, Abbeel & Koller (2002).

    Parameters
    ----------
    variables : str
        The variables of a factor, ``"a, b"``.
    where : str
        Relations joined by ``&``, such as ``"links(hub, a) & links(hub, b) & a < b"``; ``!`` before a
        relation asks for rows that are not in it. Comparisons are ``= != < <= > >=``. Quoted text and whole
        numbers are constants.
    limit : int, default 50,000,000
        Rows are counted before they are made, and refused above this number.
    **relations : mapping of columns, or rows [R, columns]
        The relations of the condition, by name.

    Examples
    --------
    >>> from crfkit.graphs import scopes
    >>> links = [[9, 1], [9, 2], [9, 4], [1, 2]]
    >>> scopes.select("a, b", "links(hub, a) & links(hub, b) & a < b", links=links).tolist()
    [[1, 2], [1, 4], [2, 4]]
    >>> scopes.select("a, b", "links(h, a) & links(h, b) & a < b & !links(a, b)", links=links).tolist()
    [[1, 4], [2, 4]]
    """
    wanted = [name.strip() for name in variables.split(",")]
    tables: list[Rows] = []
    absent: list[Rows] = []
    compared: list[tuple[Atom, bool]] = []
    for atom, negated in _conjuncts(parse(where, "where"), where):
        if atom.name in COMPARISONS:
            compared.append((atom, not negated))
            continue
        if atom.name not in relations:
            known = ", ".join(map(repr, relations)) or "none"
            raise ValueError(f"where: {atom.name!r} is not a relation; the relations are {known}")
        rows = Rows(str(atom), atom.terms, as_set(atom.name, relations[atom.name], len(atom.terms)))
        (absent if negated else tables).append(rows)
    bound = {str(term.value) for table in tables for term in table.terms if term.variable}
    used = {name for table in absent for name in Atom("", table.terms).variables}
    used |= {name for atom, _ in compared for name in atom.variables}
    for name in [*wanted, *sorted(used)]:
        if name not in bound:
            raise ValueError(f"where: variable {name!r} occurs in no relation that must hold")
    found = solve(tables, limit)
    for atom, answer in compared:
        found.compare(atom, answer)
    for table in absent:
        found.without(table)
    columns = [as_integers(found.columns[name], f"variable {name!r}") for name in wanted]
    first, _ = merged(columns)
    return np.column_stack([column[first] for column in columns]).astype(np.int32)


def _conjuncts(formula: Node, text: str) -> list[tuple[Atom, bool]]:
    """Return the atoms that a conjunction asks for, and whether each is negated."""
    if formula.op == "&":
        return [one for part in formula.parts for one in _conjuncts(part, text)]
    if formula.atom is not None:
        return [(formula.atom, False)]
    if formula.op == "!" and formula.parts[0].atom is not None:
        return [(formula.parts[0].atom, True)]
    raise ValueError(f"where: {text!r} is not a conjunction of relations and comparisons, joined by &")
