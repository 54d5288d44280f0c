"""toulbar2's cost functions: ``.wcsp``, numbers between blanks, and ``.cfn``, JSON with names.

Costs are minimized, so that scores are costs with the other sign; a cost that reaches the upper bound of the
problem forbids. In ``.wcsp`` variables have numbers, and a function lists the labelings whose cost is not the
default: `arity v1 ... va default count`, then `count` rows `labels cost`. In ``.cfn`` a function has a scope
and all costs, the last variable fastest, or rows and a ``defaultcost``; ``mustbe`` is "<bound" of costs, or
">bound" of values that are maximized.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from crfkit.arrays import Floats, pointers
from crfkit.data.graphs.factor_list import MOST_VARIABLES, FactorList
from crfkit.data.graphs.words import Words, most_cells
from crfkit.data.source import Input

_LARGEST = 2**31 - 1


class FactorCollector:
    """Factors that are read one by one, in a file of this size in bytes."""

    def __init__(self, width: list[int], size: int) -> None:
        self.width, self._room = width, most_cells(size)
        self._scopes: list[list[int]] = []
        self._tables: list[Floats] = []

    def table(self, scope: list[int], fill: float) -> Floats:
        """Return the table of a new factor, [L1, ..., La], to be filled; ValueError where it cannot be."""
        if len(set(scope)) < len(scope):
            raise ValueError(f"has a variable twice: {scope}")
        if len(scope) > MOST_VARIABLES:
            raise ValueError(f"has {len(scope)} variables, expected {MOST_VARIABLES} or fewer")
        shape = [self.width[v] for v in scope]
        cells = float(np.prod(np.array(shape, dtype=np.float64)))
        if cells > self._room:
            raise ValueError(f"has {cells:.3g} cells, too many for the size of the file")
        self._room -= int(cells)
        made = np.full(shape, fill)
        self._scopes.append(scope)
        self._tables.append(made)
        return made

    def factors(self) -> FactorList:
        """Return all factors."""
        scope = [v for each in self._scopes for v in each]
        score = [table.ravel() for table in self._tables]
        return FactorList(
            np.array(self.width, dtype=np.int32),
            pointers(np.array([len(each) for each in self._scopes], dtype=np.int64)),
            np.array(scope, dtype=np.int32),
            pointers(np.array([table.size for table in self._tables], dtype=np.int64)),
            np.concatenate([np.zeros(0), *score]),
        )


def read_wcsp(source: Input) -> FactorList:
    """Read a weighted constraint satisfaction problem."""
    words = Words(source, heading=True)
    variables = words.whole(0, "the number of variables", 0, _LARGEST)
    words.whole(1, "the largest number of labels", 0, _LARGEST)
    functions = words.whole(2, "the number of cost functions", 0, _LARGEST)
    words.many(3, 1 + variables, "the upper bound and the numbers of labels")
    top = float(words.value[3])
    width = [
        words.whole(4 + v, f"the number of labels of variable {v}", 1, _LARGEST) for v in range(variables)
    ]
    made, at = FactorCollector(width, words.size), 4 + variables
    for f in range(functions):
        arity = words.whole(at, f"the number of variables of function {f}", 0, variables)
        scope = [
            words.whole(at + 1 + a, f"a variable of function {f}", 0, variables - 1) for a in range(arity)
        ]
        begin = at + 1 + arity
        count = int(words.many(begin, 2, f"default cost and rows of function {f}")[1])
        if count < 0:
            raise words.error(begin + 1, f"function {f} is a global constraint; only tables are read")
        count = words.whole(begin + 1, f"the number of rows of function {f}", 0, _LARGEST)
        fill = _cost(words, begin, top)
        try:
            table = made.table(scope, fill)
        except ValueError as error:
            raise words.error(at, f"function {f} {error}") from None
        begin += 2
        rows = words.many(begin, count * (arity + 1), f"the rows of function {f}").reshape(count, arity + 1)
        for a, v in enumerate(scope):
            places = begin + a + (arity + 1) * np.arange(count)
            words.check_whole(places, f"a label of variable {v}", 0, width[v] - 1)
        cost = rows[:, arity]
        wrong = np.flatnonzero(np.isnan(cost) | np.isneginf(cost))
        if wrong.size:
            raise words.error(begin + int(wrong[0]) * (arity + 1) + arity, f"a cost is {cost[wrong[0]]}")
        score = np.where(cost >= top, -np.inf, -cost)
        if arity:
            table[tuple(rows[:, :arity].T.astype(np.int64))] = score
        elif count:
            table[...] = score[-1]
        at = begin + count * (arity + 1)
    words.end(at, f"{functions} cost functions")
    return made.factors()


def _cost(words: Words, at: int, top: float) -> float:
    cost = float(words.value[at])
    if np.isnan(cost) or np.isneginf(cost):
        raise words.error(at, f"a cost is {cost}")
    return -np.inf if cost >= top else -cost


def read_cfn(source: Input) -> FactorList:
    """Read a cost function network."""
    text = source.whole(text=True)
    try:
        given = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise source.error(getattr(error, "lineno", None), f"is not JSON, as .cfn is: {error}") from None

    def part(name: str) -> Mapping[str, Any]:
        found = given.get(name) if isinstance(given, dict) else None
        if not isinstance(found, dict):
            raise source.error(None, f"has no object {name!r}, which a .cfn file has")
        return found

    bound = str(part("problem").get("mustbe", "<inf"))
    try:
        top = float(bound[1:])
        if bound[:1] not in ("<", ">") or np.isnan(top):
            raise ValueError
    except ValueError:
        raise source.error(None, f"mustbe is {bound!r}, expected '<' or '>' and a number") from None
    sign = -1.0 if bound[0] == "<" else 1.0
    variables = part("variables")
    labels = [_domain(source, name, each) for name, each in variables.items()]
    made = FactorCollector([len(each) for each in labels], len(text))
    number = {name: v for v, name in enumerate(variables)}
    for name, function in part("functions").items():
        try:
            _add_function(made, function, number, labels, sign, top)
        except (ValueError, TypeError, LookupError) as error:
            raise source.error(None, f"function {name!r:.80}: {error}") from None
    return made.factors()


def _domain(source: Input, name: str, given: Any) -> list[Any]:
    """Return the labels of a variable."""
    if isinstance(given, int) and 1 <= given <= 1 << 24:
        return list(range(given))
    if isinstance(given, list) and given:
        return given
    raise source.error(
        None, f"variable {name!r:.80} has the labels {given!r:.80}, expected a number or names"
    )


def _add_function(
    made: FactorCollector,
    given: Any,
    number: Mapping[str, int],
    labels: list[list[Any]],
    sign: float,
    top: float,
) -> None:
    if not isinstance(given, dict) or not isinstance(given.get("costs"), list) or "scope" not in given:
        raise ValueError("expected a scope and costs; global functions are not read")
    names = list(number)
    scope = [number[names[one] if isinstance(one, int) else one] for one in given["scope"]]

    def scored(cost: Any) -> float:
        value = float("inf" if cost == "inf" else cost)
        if np.isnan(value):
            raise ValueError("a cost is nan")
        forbidden = value >= top if sign < 0.0 else value <= top
        return -np.inf if forbidden else sign * value

    costs = given["costs"]
    if "defaultcost" not in given:
        table = made.table(scope, 0.0)
        if len(costs) != table.size:
            raise ValueError(f"has {len(costs)} costs, expected {table.size}")
        table[...] = np.array([scored(cost) for cost in costs]).reshape(table.shape)
        return
    table, step = made.table(scope, scored(given["defaultcost"])), len(scope) + 1
    if len(costs) % step:
        raise ValueError(f"has {len(costs)} numbers, expected rows of {step}: labels and a cost")
    for i in range(0, len(costs), step):
        at = [
            labels[v].index(one) if isinstance(one, str) else one
            for v, one in zip(scope, costs[i : i + step - 1], strict=True)
        ]
        if not all(isinstance(x, int) and 0 <= x < len(labels[v]) for v, x in zip(scope, at, strict=True)):
            raise ValueError(f"row {i // step} has the labels {costs[i : i + step - 1]!r:.80}")
        table[tuple(at)] = scored(costs[i + step - 1])
