"""OpenGM's HDF5 files: energies, which are scores with the opposite sign.

A group, usually ``gm``, holds ``header`` (2, 0, variables, factors, types of functions, then the id of each
type and the number of its functions, then the type of values), ``numbers-of-states``, ``factors`` (for each
the number of its function, the place of its type in the header, the number of its variables, and those) and a
group ``function-id-TYPE`` with ``indices`` and ``values``. Tables have the *first* variable fastest. Factors
may share a function, and share a table here too. Minimization of a sum is assumed: the files do not say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from crfkit.arrays import Floats, Pointers, pointers, ranges
from crfkit.data.graphs.factor_list import (
    MOST_VARIABLES,
    FactorList,
    cells_of,
    group_shapes,
    transposed,
    wrong_scope,
)
from crfkit.data.graphs.hdf5 import Group, h5py, opened
from crfkit.data.graphs.words import most_cells
from crfkit.errors import DataError

_TABLE = 16000
_LARGEST = 2**31 - 1


def _equal(shape: tuple[int, ...]) -> Any:
    first, *others = np.indices(shape, sparse=True)
    made = np.ones(shape, dtype=np.bool_)
    for other in others:  # not all at once: a table may have as many axes as there are bits in its size
        made &= first == other
    return made.ravel()


def _difference(shape: tuple[int, ...]) -> Any:
    first, second = np.indices(shape, sparse=True)
    return np.abs(first.astype(np.float64) - second).ravel()


#: type -> whether its shapes begin with the number of variables, and energies of a shape, [1, cells], of
#: two parameters, [functions, 1] each; the last variable is the fastest.
_FORMULAS: dict[int, tuple[bool, Callable[[tuple[int, ...], Floats, Floats], Any]]] = {
    16003: (False, lambda shape, most, by: np.minimum(_difference(shape), most) * by),
    16005: (False, lambda shape, most, by: np.minimum(_difference(shape) ** 2, most) * by),
    16006: (False, lambda shape, same, other: np.where(_equal(shape), same, other)),
    16007: (True, lambda shape, same, other: np.where(_equal(shape), same, other)),
}


class _Functions(NamedTuple):
    """Functions of one type."""

    arity: Pointers  #: [count]
    shape: Pointers  #: numbers of labels, one function after the other
    score: Floats  #: cells, the last variable fastest


def read_opengm(data: bytes, name: str) -> FactorList:
    """Read a model from the bytes of a file."""
    with opened(data, name) as root:
        return _Reader(name, len(data)).model(root)


class _Reader:
    def __init__(self, path: str, size: int) -> None:
        self.path = path
        self.most = most_cells(size)

    def wrong(self, what: str) -> DataError:
        return DataError(self.path, None, what)

    def model(self, root: Group) -> FactorList:
        group = self.group(root)
        header = self.whole(group, "header")
        if len(header) < 5 or header[:2].tolist() != [2, 0]:
            raise self.wrong(f"the header begins with {header[:2].tolist()}, expected version 2, 0")
        types = int(header[4])
        if len(header) not in (5 + 2 * types, 6 + 2 * types):
            raise self.wrong(f"the header has {len(header)} numbers, expected {6 + 2 * types}")
        states = self.whole(group, "numbers-of-states") if header[2] else np.zeros(0, dtype=np.int64)
        if len(states) != header[2]:
            raise self.wrong(f"there are {len(states)} numbers of states for {header[2]} variables")
        if states.size and not 1 <= int(states.min()) <= int(states.max()) <= _LARGEST:
            v = int(np.flatnonzero((states < 1) | (states > _LARGEST))[0])
            raise self.wrong(f"variable {v} has {states[v]} states, expected 1 to {_LARGEST}")
        if float(states.sum(dtype=np.float64)) > self.most:
            raise self.wrong(
                f"the variables have {states.sum(dtype=np.float64):.3g} states, too many for the file"
            )
        width = states.astype(np.int32)
        kinds, counts = header[5 : 5 + 2 * types : 2].tolist(), header[6 : 5 + 2 * types : 2]
        if len(set(kinds)) < len(kinds):
            raise self.wrong(f"the header names one type of functions twice: {kinds[:8]}")
        functions = [
            self.functions(group, kind, count)
            for kind, count in zip(kinds, counts.tolist(), strict=True)
            if count
        ]
        none = np.zeros(0, dtype=np.int64)
        every = _Functions(
            np.concatenate([none, *(one.arity for one in functions)]),
            np.concatenate([none, *(one.shape for one in functions)]),
            np.concatenate([np.zeros(0), *(one.score for one in functions)]),
        )
        return self.factors(group, int(header[3]), width, pointers(counts), every)

    def group(self, root: Group) -> Group:
        if "gm" in root and (usual := root.group("gm")) is not None and "header" in usual:
            return usual
        found = [one for name in root.names() if (one := root.group(name)) is not None and "header" in one]
        if len(found) == 1:
            return found[0]
        raise self.wrong(f"{len(found)} groups hold a model, expected one, or one that is named gm")

    def whole(self, group: Group, name: str) -> Pointers:
        found = group.numbers(name, "iu")
        if found.size and not 0 <= int(found.min()) <= int(found.max()) < 2**62:
            raise self.wrong(
                f"{group.name}/{name} has the number {found.max()} or {found.min()}, expected 0 or more"
            )
        return found.astype(np.int64)

    def functions(self, group: Group, kind: int, count: int) -> _Functions:
        if kind != _TABLE and kind not in _FORMULAS:
            known = ", ".join(map(str, [_TABLE, *_FORMULAS]))
            raise self.wrong(f"functions of type {kind} are not supported, only {known}; save tables instead")
        inner = group.group(f"function-id-{kind}")
        if inner is None:
            raise self.wrong(f"there is no group function-id-{kind}")
        index = self.whole(inner, "indices")
        value = inner.numbers("values", "iuf").astype(np.float64)
        if count > len(index):
            raise self.wrong(f"{count} functions of type {kind} have {len(index)} numbers of shapes")
        said = int(kind == _TABLE or _FORMULAS[kind][0])
        begin = np.zeros(count, dtype=np.int64)  # of shapes
        numbers, at = index.tolist(), 0
        for f in range(count):
            begin[f] = at + said
            at += said + (numbers[at] if said and at < len(numbers) else 2)
            if at > len(numbers):
                raise self.wrong(f"the shape of function {f} of type {kind} ends early")
        arity = index[begin - 1] if said else np.full(count, 2)
        ptr = pointers(arity)
        shape = index[ranges(begin, arity)]
        wrong = np.flatnonzero((shape < 1) | (shape > _LARGEST) | (np.repeat(arity, arity) > MOST_VARIABLES))
        if wrong.size:
            f = int(np.searchsorted(ptr, wrong[0], side="right")) - 1
            few = shape[ptr[f] : ptr[f + 1]][:8].tolist()
            raise self.wrong(f"the shape of function {f} of type {kind} is {few}, which a table cannot have")
        cells = cells_of(shape, ptr)
        self.most -= int(min(float(cells.sum()), self.most + 1.0))
        if self.most < 0:
            f = int(np.argmax(cells))
            raise self.wrong(f"function {f} of type {kind} has {cells[f]:.3g} cells: too many for the file")
        table_ptr = pointers(cells.astype(np.int64))
        taken = table_ptr if kind == _TABLE else 2 * np.arange(count + 1)
        if taken[-1] > len(value):
            f = int(np.searchsorted(taken, len(value), side="right")) - 1
            raise self.wrong(f"function {f} of type {kind} lacks values: the file ends early")
        if kind == _TABLE:
            score = -transposed(value[: taken[-1]], shape, ptr, table_ptr[:-1])
        else:
            score = np.zeros(int(table_ptr[-1]))
            for each, rows in group_shapes(shape, ptr):
                with np.errstate(invalid="ignore"):
                    energy = _FORMULAS[kind][1](each, value[2 * rows, None], value[2 * rows + 1, None])
                width = np.full(len(rows), energy.shape[1])
                score[ranges(table_ptr[rows], width)] = -energy.ravel()
        bad = np.flatnonzero(~(score < np.inf))
        if bad.size:
            f = int(np.searchsorted(table_ptr, bad[0], side="right")) - 1
            raise self.wrong(f"function {f} of type {kind} has the energy {-score[bad[0]]}")
        return _Functions(arity, shape, score)

    def factors(
        self, group: Group, count: int, width: Any, first: Pointers, functions: _Functions
    ) -> FactorList:
        numbers = self.whole(group, "factors").tolist() if count else []
        which, place, begin, at = [], [], [], 0
        if 3 * count > len(numbers):
            raise self.wrong(f"factors has {len(numbers)} numbers, too few for {count} factors")
        for m in range(count):
            begin.append(at + 3)
            if at + 3 > len(numbers) or at + 3 + numbers[at + 2] > len(numbers):
                raise self.wrong(f"factors ends in factor {m} of {count}")
            which.append(numbers[at])
            place.append(numbers[at + 1])
            at += 3 + numbers[at + 2]
        kind = np.array(place, dtype=np.int64)
        function = np.array(which, dtype=np.int64)
        wrong = np.flatnonzero(kind >= len(first) - 1)
        if not wrong.size:
            wrong = np.flatnonzero(function >= np.diff(first)[kind])
        if wrong.size:
            m = int(wrong[0])
            raise self.wrong(f"factor {m} has function {function[m]} of type {kind[m]}, which is not there")
        function += first[kind]
        flat = np.array(numbers, dtype=np.int64)
        arity = flat[np.array(begin, dtype=np.int64) - 1]
        scope_ptr = pointers(arity)
        scope = flat[ranges(np.array(begin, dtype=np.int64), arity)]
        if bad := wrong_scope(len(width), scope_ptr, scope):
            raise self.wrong(f"factor {bad[0]} {bad[1]}")
        shape_ptr = pointers(functions.arity)
        axes = functions.arity[function]
        for m in np.flatnonzero(arity != axes)[:1].tolist():
            raise self.wrong(f"factor {m} has {arity[m]} variables, its function {axes[m]}")
        differ = np.flatnonzero(width[scope] != functions.shape[ranges(shape_ptr[function], arity)])
        if differ.size:
            m = int(np.searchsorted(scope_ptr, differ[0], side="right")) - 1
            labels = width[scope[scope_ptr[m] : scope_ptr[m + 1]]].tolist()
            shape = functions.shape[shape_ptr[function[m]] : shape_ptr[function[m] + 1]].tolist()
            raise self.wrong(
                f"the variables of factor {m} have {labels} labels, its function has shape {shape}"
            )
        table_ptr = pointers(cells_of(functions.shape, shape_ptr).astype(np.int64))
        return FactorList(
            width, scope_ptr, scope.astype(np.int32), table_ptr, functions.score, function.astype(np.int32)
        )


def write_opengm(factors: FactorList, place: Any) -> None:
    """Write a model, each table as a function that factors share."""
    library = h5py()
    M = factors.factors
    used, wide, ptr = factors.shapes()
    number = np.zeros(len(factors.table_ptr) - 1, dtype=np.int64)
    number[used] = np.arange(len(used))
    arity, length = np.diff(ptr), np.diff(factors.scope_ptr)
    cells = np.diff(factors.table_ptr)[used]
    energy = -factors.first_fastest(factors.score)[ranges(factors.table_ptr[used], cells)]
    index = np.zeros(len(used) + len(wide), dtype=np.uint64)
    index[ptr[:-1] + np.arange(len(used))] = arity
    index[ranges(ptr[:-1] + np.arange(len(used)) + 1, arity)] = wide
    rows = np.zeros(3 * M + len(factors.scope), dtype=np.uint64)
    at = factors.scope_ptr[:-1] + 3 * np.arange(M)
    rows[at], rows[at + 2] = number[factors.table_of(np.arange(M))], length
    rows[ranges(at + 3, length)] = factors.scope
    header = [2, 0, len(factors.width), M, 1, _TABLE, len(used), 1]  # 1: doubles
    with library.File(place, "w") as file:
        group = file.create_group("gm")
        group["header"] = np.array(header, dtype=np.uint64)
        group["numbers-of-states"] = factors.width.astype(np.uint64)
        if len(used):
            inner = group.create_group(f"function-id-{_TABLE}")
            inner["indices"], inner["values"] = index, energy
        if M:
            group["factors"] = rows
