"""libDAI's factor graphs: the number of factors, then a block for each.

A block is the number of its variables, their numbers, their numbers of labels, the number of values that are
not 0, and pairs of cell and value, the *first* variable fastest. ``#`` begins a comment. The numbers of
variables may have gaps: variables become 0, 1, ... in the order of their numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from crfkit.arrays import Pointers, pointers, ranges
from crfkit.data.graphs.factor_list import FactorList, cells_of, transposed, wrong_scope
from crfkit.data.graphs.uai import linear_values, logarithms
from crfkit.data.graphs.words import Words, most_cells
from crfkit.data.source import Input

_LARGEST = 2**31 - 1


def read_fg(source: Input) -> FactorList:
    """Read a factor graph."""
    words = Words(source, comments=True)
    m = words.whole(0, "the number of factors", 0, _LARGEST)
    words.many(1, m, f"{m} factors")
    begin = _blocks(words, m)  # [m + 1]
    value = words.value
    arity = value[begin[:-1]].astype(np.int64)
    scope_ptr = pointers(arity)
    named = ranges(begin[:-1] + 1, arity)
    words.check_whole(named, "the number of a variable", 0, _LARGEST)
    widths = ranges(begin[:-1] + 1 + arity, arity)
    words.check_whole(widths, "a number of labels", 1, _LARGEST)
    numbers, inverse = np.unique(value[named].astype(np.int64), return_inverse=True)
    scope = inverse.astype(np.int32)
    wide = value[widths].astype(np.int32)
    width = np.zeros(len(numbers), dtype=np.int32)
    width[scope] = wide
    other = np.flatnonzero(wide != width[scope])
    if other.size:
        i = int(other[0])
        raise words.error(
            int(widths[i]),
            f"variable {numbers[scope[i]]} has {wide[i]} labels, and {width[scope[i]]} in another factor",
        )
    if wrong := wrong_scope(len(numbers), scope_ptr, scope):
        raise words.error(int(begin[wrong[0]]), f"factor {wrong[0]} {wrong[1]}")
    cells = cells_of(wide, scope_ptr)
    if cells.sum() > most_cells(words.size):
        largest = int(np.argmax(cells))
        raise words.error(
            int(begin[largest]),
            f"the tables have {cells.sum():.3g} cells, that of factor {largest} {cells[largest]:.3g}: too "
            f"many for a file of {words.size} bytes",
        )
    table_ptr = pointers(cells.astype(np.int64))
    given = value[begin[:-1] + 1 + 2 * arity].astype(np.int64)  # [m] values that are not 0
    index = ranges(begin[:-1] + 2 + 2 * arity, 2 * given).reshape(-1, 2)
    factor = np.repeat(np.arange(m), given)
    cell = value[index[:, 0]]
    with np.errstate(invalid="ignore"):
        outside = np.flatnonzero(~((cell >= 0) & (cell < cells[factor]) & (cell == np.floor(cell))))
    if outside.size:
        i = int(outside[0])
        words.whole(int(index[i, 0]), f"a cell of factor {factor[i]}", 0, int(cells[factor[i]]) - 1)
    score = np.full(int(table_ptr[-1]), -np.inf)
    score[table_ptr[factor] + cell.astype(np.int64)] = logarithms(words, index[:, 1], False, pointers(given))
    return FactorList(width, scope_ptr, scope, table_ptr, transposed(score, wide, scope_ptr, table_ptr[:-1]))


def _blocks(words: Words, factors: int) -> Pointers:
    """Return where the blocks of factors begin, and where the last one ends."""
    begin, at, most = np.zeros(factors + 1, dtype=np.int64), 1, len(words)
    for m in range(factors):
        begin[m] = at
        at += 1 + 2 * words.whole(at, f"the number of variables of factor {m}", 0, most)
        at += 1 + 2 * words.whole(at, f"the number of values of factor {m} that are not 0", 0, most)
    begin[factors] = at
    if at > most:
        raise words.ended(f"the values of factor {factors - 1}")
    words.end(at, f"{factors} factors")
    return begin


def fg_text(factors: FactorList, name: str) -> Iterator[bytes]:
    """Yield the text of a factor graph; a variable without factors gets one of ones."""
    width, scope, begin = factors.width.tolist(), factors.scope.tolist(), factors.table_ptr.tolist()
    lonely = np.ones(len(width), dtype=np.bool_)
    lonely[factors.scope] = False
    value = factors.first_fastest(linear_values(factors, name)).tolist()
    which = factors.table_of(np.arange(factors.factors)).tolist()
    yield f"{factors.factors + int(lonely.sum())}\n".encode()
    for (a, b), k in zip(pairwise(factors.scope_ptr.tolist()), which, strict=True):
        yield _block(scope[a:b], [width[v] for v in scope[a:b]], value[begin[k] : begin[k + 1]])
    for v in np.flatnonzero(lonely).tolist():
        yield _block([v], [width[v]], [1.0] * width[v])


def _block(scope: list[int], shape: list[int], table: list[float]) -> bytes:
    rows = [f"{i} {x!r}\n" for i, x in enumerate(table) if x]
    names, widths = " ".join(map(str, scope)), " ".join(map(str, shape))
    return f"\n{len(scope)}\n{names}\n{widths}\n{len(rows)}\n{''.join(rows)}".encode()
