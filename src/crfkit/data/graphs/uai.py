"""UAI models: ``MARKOV`` or ``BAYES``, n, n cardinalities, m, m scopes, m tables; words between any blanks.

A scope is its size and its variables, a table its length and its values, the last variable fastest. Values
are probabilities, or any numbers of 0 or more; in ``.LG`` files they are logarithms, and ``-inf`` is a
probability of 0. A conditional probability table of a ``BAYES`` model is a factor like any other. A factor
without variables is a constant.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from crfkit._safe.printable import quoted
from crfkit.arrays import Floats, Pointers, pointers, ranges
from crfkit.data.graphs.factor_list import FactorList, cells_of, wrong_scope
from crfkit.data.graphs.words import Words, most_cells
from crfkit.data.source import Input
from crfkit.errors import DataError

HEADINGS = ("MARKOV", "BAYES")  #: first words
_LABELS = 2**31 - 1


def read_uai(source: Input, *, logs: bool = False) -> FactorList:
    """Read a model; with `logs` its tables are logarithms."""
    words = Words(source, heading=True)
    if words.heading.upper() not in HEADINGS:
        raise words.error(0, f"the file begins with {quoted(words.heading)}, expected MARKOV or BAYES")
    n = words.whole(0, "the number of variables", 0, _LABELS)
    words.many(1, n, f"the numbers of labels of {n} variables")
    words.check_whole(1 + np.arange(n), "a number of labels", 1, _LABELS)
    width = words.value[1 : 1 + n].astype(np.int32)
    m = words.whole(1 + n, "the number of factors", 0, _LABELS)
    words.many(2 + n, m, f"the scopes of {m} factors")
    begin = _scopes(words, 2 + n, m, n)  # [m + 1]
    scope_ptr = pointers(words.value[begin[:-1]].astype(np.int64))
    at = ranges(begin[:-1] + 1, np.diff(scope_ptr))
    words.check_whole(at, "a variable", 0, max(n - 1, 0))
    scope = words.value[at].astype(np.int32)
    if wrong := wrong_scope(n, scope_ptr, scope):
        raise words.error(int(begin[wrong[0]]), f"factor {wrong[0]} {wrong[1]}")
    table_ptr, score = _tables(words, int(begin[-1]), cells_of(width[scope], scope_ptr), logs)
    free = np.ones(n, dtype=np.bool_)
    free[scope] = False
    if float(width[free].sum(dtype=np.float64)) > most_cells(words.size):
        v = int(np.argmax(np.where(free, width, 0)))
        raise words.error(1 + v, f"variable {v} has {width[v]} labels and is not in any factor")
    return FactorList(width, scope_ptr, scope, table_ptr, score)


def _scopes(words: Words, at: int, factors: int, variables: int) -> Pointers:
    """Return where the scopes begin, and where the last one ends."""
    value = words.value.data
    begin = np.zeros(factors + 1, dtype=np.int64)
    for m in range(factors):
        begin[m] = at
        if at >= len(value) or not 0 <= (size := value[at]) <= variables or size != int(size):
            words.whole(at, f"the number of variables of factor {m}", 0, variables)
        at += 1 + int(size)
    begin[factors] = at
    if at > len(value):
        raise words.ended(f"the scopes of {factors} factors")
    return begin


def _tables(words: Words, at: int, cells: Floats, logs: bool) -> tuple[Pointers, Floats]:
    """Return where tables begin, [m + 1], and the logarithms of their values."""
    left = len(words) - at
    short = cells.sum() + len(cells) > left  # then all tables behind one of them are not where they should be
    fits = int(np.searchsorted(np.cumsum(cells + 1), left, side="right")) if short else len(cells)
    table_ptr = pointers(cells[:fits].astype(np.int64))
    length = at + table_ptr[:-1] + np.arange(fits)  # [m] the words that say the lengths of tables
    wrong = np.flatnonzero(words.value[length] != cells[:fits])
    if wrong.size:
        m = int(wrong[0])
        raise words.error(
            int(length[m]),
            f"the table of factor {m} is said to have {words.value[length[m]]:.15g} values, expected "
            f"{cells[m]:.15g}, the product of its numbers of labels",
        )
    if short:
        raise words.ended(f"the table of factor {fits}")
    end = at + int(table_ptr[-1]) + fits
    words.end(end, "the last table")
    where = ranges(length + 1, np.diff(table_ptr))
    return table_ptr, logarithms(words, where, logs, table_ptr)


def logarithms(words: Words, where: Pointers, logs: bool, table_ptr: Pointers) -> Floats:
    """Return the scores of the words at `where`, values of tables; refuse what is not a probability."""
    value = words.value[where]
    wrong = np.flatnonzero(~(value < np.inf) if logs else ~((value >= 0.0) & (value < np.inf)))
    if wrong.size:
        i = int(wrong[0])
        m = int(np.searchsorted(table_ptr, i, side="right")) - 1
        expected = "a logarithm below infinity" if logs else "0 or more"
        hint = "" if logs or not value[i] < 0 else "; if the file holds logarithms, give format='lg'"
        raise words.error(
            int(where[i]), f"factor {m} has the value {value[i]:.15g}, expected {expected}{hint}"
        )
    if logs:
        return value
    with np.errstate(divide="ignore"):
        made: Floats = np.log(value)
    return made


def uai_text(factors: FactorList, name: str, *, logs: bool = False) -> Iterator[bytes]:
    """Yield the text of a model."""
    value = (factors.score if logs else linear_values(factors, name)).tolist()
    yield f"MARKOV\n{len(factors.width)}\n{' '.join(map(str, factors.width.tolist()))}\n".encode()
    scope = factors.scope.tolist()
    rows = [" ".join(map(str, [b - a, *scope[a:b]])) + "\n" for a, b in pairwise(factors.scope_ptr.tolist())]
    yield f"{factors.factors}\n{''.join(rows)}".encode()
    table_ptr = factors.table_ptr.tolist()
    for k in factors.table_of(np.arange(factors.factors)).tolist():
        cells = value[table_ptr[k] : table_ptr[k + 1]]
        yield f"\n{len(cells)}\n{' '.join(map(repr, cells))}\n".encode()


def linear_values(factors: FactorList, name: str) -> Floats:
    """Return the exponentials of scores, or refuse those that have none as doubles."""
    with np.errstate(over="ignore", under="ignore"):
        made: Floats = np.exp(factors.score)
    lost = np.flatnonzero(np.isinf(made) | ((made == 0.0) & (factors.score > -np.inf)))
    if lost.size:
        raise DataError(
            name,
            None,
            f"the score {factors.score[lost[0]]:.6g} is out of the range of exp; save as .LG, which holds "
            "logarithms",
        )
    return made
