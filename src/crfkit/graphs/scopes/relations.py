"""Scopes of relations: equal values, edges, and joins of tables of rows."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from crfkit.arrays import Ids, as_seq_ptr, pointers, ranges
from crfkit.graphs.scopes.columns import Relation, as_integers, as_pairs, as_rows, codes, columns_of, numbered
from crfkit.graphs.scopes.matching import LIMIT, match, merged

#: A column of both relations, or one of each.
Key: TypeAlias = str | int | tuple[str | int, str | int]


def same(
    values: ArrayLike,
    ptr: ArrayLike | None = None,
    *,
    where: ArrayLike | None = None,
    nearest: int | None = None,
    max_count: int | None = None,
) -> Ids:
    """Return all pairs i < j of variables of one graph that have the same value, [M, 2].

    Parameters
    ----------
    values : array [V]
        Numbers or strings.
    ptr : array [N + 1], optional
        Where graphs begin; without it there is one graph.
    where : array of bool [V], optional
        Variables that may be in a pair; e.g. capitalized words.
    nearest : int, optional
        Pair a variable only with this many of those that follow it. Default: with all.
    max_count : int, optional
        Leave out values that more than this many variables of a graph have.

    Examples
    --------
    >>> from crfkit.graphs import scopes
    >>> words = ["Green", "met", "Green", "and", "Green", "met", "Ann"]
    >>> scopes.same(words).tolist()
    [[0, 2], [0, 4], [1, 5], [2, 4]]
    >>> scopes.same(words, [0, 3, 7], where=[w[0].isupper() for w in words]).tolist()
    [[0, 2]]
    >>> scopes.same(words, nearest=1, max_count=3).tolist()
    [[0, 2], [1, 5], [2, 4]]
    """
    given = np.asarray(values)
    if given.ndim != 1:
        raise ValueError(f"values has {given.ndim} axes, expected one value for each variable")
    V = len(given)
    begin = as_seq_ptr(ptr, V)
    for name, number in (("nearest", nearest), ("max_count", max_count)):
        if number is not None and number < 1:
            raise ValueError(f"{name} is {number}, expected 1 or more")
    may = np.arange(V)
    if where is not None:
        allowed = np.asarray(where)
        if allowed.shape != (V,) or allowed.dtype != np.bool_:
            raise ValueError(f"where must be {V} times True or False, one for each variable")
        may = np.flatnonzero(allowed)
    graph = np.repeat(np.arange(len(begin) - 1), np.diff(begin))[may]
    code = codes([graph, given[may]])
    order = np.argsort(code, kind="stable")
    size = np.bincount(code)
    end = pointers(size)[1:][code]  # [m] where the variables of this value end, in `order`
    place = np.empty(len(may), dtype=np.int64)
    place[order] = np.arange(len(may))
    follow = end - place - 1
    if nearest is not None:
        follow = np.minimum(follow, nearest)
    if max_count is not None:
        follow[size[code] > max_count] = 0
    numbered(pointers(follow))
    return as_pairs(np.repeat(may, follow), may[order[ranges(place + 1, follow)]])


def simple(edges: ArrayLike) -> Ids:
    """Return undirected edges [M, 2], each once, without loops: smaller number first, in order.

    Examples
    --------
    >>> from crfkit.graphs import scopes
    >>> scopes.simple([[2, 1], [1, 2], [3, 3], [0, 2]]).tolist()
    [[0, 2], [1, 2]]
    """
    given = as_rows(edges, "edges")
    if given.shape[1] != 2:
        raise ValueError(f"edges has shape {given.shape}, expected [M, 2]")
    if given.size and int(given.min()) < 0:
        raise ValueError(f"edges has the variable {given.min()}, expected 0 or more")
    low, high = given.min(axis=1).astype(np.int64), given.max(axis=1).astype(np.int64)
    many = int(high.max(initial=0)) + 1
    key = np.sort((low * many + high)[low < high])
    key = key[np.concatenate([[True], key[1:] != key[:-1]])[: len(key)]]
    return as_pairs(key // many, key % many)


def join(r: Relation, s: Relation, *, on: Key | list[Key], distinct: bool = False, limit: int = LIMIT) -> Ids:
    """Return the rows of two relations that agree on some columns, joined; without these columns.

    What Taskar et al. (2002) write as ``SELECT r.x, s.y FROM r, s WHERE r.k = s.k``: the other columns of
    `r`, then those of `s`. `simple` drops pairs of a variable with itself, and doubles; `select` takes
    several relations and other conditions.

    Parameters
    ----------
    r, s : mapping of columns, or integers [rows, columns]
    on : name or number of a column, (column of `r`, column of `s`), or a list of these
    distinct : bool, default False
        Return each row once, in order.
    limit : int, default 50,000,000
        Rows are counted before they are made, and refused above this number.

    Examples
    --------
    >>> from crfkit.graphs import scopes
    >>> wrote = {"paper": [0, 0, 1, 2], "author": ["Lafferty", "McCallum", "McCallum", "Roth"]}
    >>> scopes.simple(scopes.join(wrote, wrote, on="author")).tolist()
    [[0, 1]]
    >>> near, right = [[0, 1], [1, 2]], [[1, 5], [2, 6], [2, 7]]
    >>> scopes.join(near, right, on=(1, 0)).tolist()
    [[0, 5], [1, 6], [1, 7]]
    """
    keys = on if isinstance(on, list) else [on]
    if not keys:
        raise ValueError("on is empty; name a column that both relations have")
    both = [key if isinstance(key, tuple) else (key, key) for key in keys]
    left, right = columns_of(r, "r"), columns_of(s, "s")
    for (a, b), name, columns in ((key, n, c) for key in both for n, c in (("r", left), ("s", right))):
        if (a if name == "r" else b) not in columns:
            known = ", ".join(map(repr, columns))
            raise ValueError(f"on: {name} has no column {a if name == 'r' else b!r}; it has {known}")
    rows = len(next(iter(left.values()))), len(next(iter(right.values())))
    row_r, row_s = match([left[a] for a, _ in both], [right[b] for _, b in both], rows, limit, "join")
    out = [as_integers(c, f"r[{k!r}]")[row_r] for k, c in left.items() if k not in {a for a, _ in both}]
    out += [as_integers(c, f"s[{k!r}]")[row_s] for k, c in right.items() if k not in {b for _, b in both}]
    if not out:
        raise ValueError("join: all columns are compared, and none is left for a scope")
    made = np.column_stack(out).astype(np.int32)
    return made[merged(out)[0]] if distinct else made
