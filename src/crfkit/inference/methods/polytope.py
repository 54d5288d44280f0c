"""The best labeling as a program over the local polytope: Sontag et al. (2011), section 1.2.

A column for each label and for each cell that is kept (`losses.py`): labels of a variable add up to 1, cells
of a factor with the same label at a place add up to that label. In integers the program is the search for
the best labeling; without, its optimum is a bound. Components are solved one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crfkit.arrays import Bools, Floats, Ids, Pointers
from crfkit.errors import MethodError
from crfkit.inference.highs import WHOLE, Program
from crfkit.inference.methods.losses import Cells, Kept, Losses


class TooLargeError(MethodError):
    """A program that would have more columns than are allowed."""


@dataclass(frozen=True, eq=False)
class Row:
    """A linear constraint: low <= sum of weight where a label is chosen <= high."""

    label: Pointers  #: [R] flat labels
    weight: Floats  #: [R]
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Part:
    """An answer for some of the variables."""

    label: Ids  #: [V]; -1 for variables outside
    loss: float  #: of the labels; the program's value where it has fractions
    least: float  #: what every labeling loses at least, if it loses no more than the reach
    whole: bool  #: whether the labels are those of the program, and not rounded
    solved: bool  #: whether the program was solved before its time was over


def solve_part(
    losses: Losses,
    inside: Bools,
    reach: float,
    *,
    integral: bool,
    most: int,
    until: float = np.inf,
    rows: Sequence[Row] = (),
) -> Part | None:
    """Return the labels of the variables inside that lose least, among those that lose at most `reach`.

    None: all labelings lose more. `most`: columns of a program; `until`: when to stop, by the clock.
    """
    batch = losses.potentials.batch
    kept = losses.kept(inside, reach)
    if (kept.count[inside] == 0).any():
        return None
    fixed = kept.count == 1
    cost = np.where(kept.label, losses.node, 0.0)  # [labels]
    loose: dict[str, Cells] = {}  # factors of two free variables and more
    sure = float(cost[kept.label & np.repeat(fixed, batch.width)].sum())
    variable = np.repeat(np.arange(batch.variables), batch.width)
    for name, cells in kept.cells.items():
        free = ~fixed[variable[cells.label]]  # [C, arity]
        number = free.sum(axis=1)
        sure += float(cells.loss[number == 0].sum())
        one = number == 1
        np.add.at(cost, cells.label[one][free[one]], cells.loss[one])
        loose[name] = cells[number >= 2]
    component = _components(losses, loose, inside & ~fixed, joined=bool(rows))
    program = _Columns(kept, loose, cost, component, fixed, variable)
    label = np.full(batch.variables, -1, dtype=np.int32)
    settled = kept.label & np.repeat(fixed & inside, batch.width)
    _write(label, losses, np.flatnonzero(settled), variable)
    alone = np.flatnonzero(inside & ~fixed & (component < 0))
    loss = least = sure
    for v in alone:  # no factor is left
        at = slice(batch.label_ptr[v], batch.label_ptr[v + 1])
        row = np.where(kept.label[at], cost[at], np.inf)
        label[v] = row.argmin()
        loss, least = loss + float(row.min()), least + float(row.min())
    whole = solved = True
    rows = _reduced(rows, kept, settled)
    if any(not len(row.label) and not row.low - 1e-9 <= 0.0 <= row.high + 1e-9 for row in rows):
        return None
    for number in range(int(component.max(initial=-1)) + 1):
        if monotonic() > until:
            return Part(label, np.inf, least, False, False)
        found = program.solve(number, integral, most, until, rows)
        if found is None:
            return None
        chosen, value, at_least, integer, finished = found
        _write(label, losses, chosen, variable)
        loss, least = loss + value, least + at_least
        whole, solved = whole and integer, solved and finished
    return Part(label, loss, least, whole, solved)


def _write(label: Ids, losses: Losses, chosen: Pointers, variable: Pointers) -> None:
    """Write flat labels into a labeling."""
    v = variable[chosen]
    label[v] = chosen - losses.potentials.batch.label_ptr[v]


def _components(losses: Losses, cells: dict[str, Cells], free: Bools, *, joined: bool) -> Pointers:
    """Return the component of each free variable, -1 of those without factors, [V]."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    V = len(free)
    component = np.full(V, -1, dtype=np.int64)
    if joined:
        component[free] = 0
        return component
    edges: list[NDArray[Any]] = []
    touched = np.zeros(V, dtype=np.bool_)
    for name, part in cells.items():
        scope = losses.potentials.batch.scopes[name][np.unique(part.factor)]
        first = scope[np.arange(len(scope)), free[scope].argmax(axis=1)]
        for column in scope.T:
            both = free[column]
            edges.append(np.stack([first[both], column[both]]))
            touched[column[both]] = True
    if not touched.any():
        return component
    tail, head = np.concatenate(edges, axis=1)
    _, of = connected_components(coo_array((np.ones(len(tail)), (tail, head)), (V, V)), directed=False)
    component[touched] = np.unique(of[touched], return_inverse=True)[1]
    return component


def _reduced(rows: Sequence[Row], kept: Kept, settled: Bools) -> list[Row]:
    """Return constraints without labels that are settled or gone."""
    made = []
    for row in rows:
        sure = float(row.weight[settled[row.label]].sum())
        open_ = kept.label[row.label] & ~settled[row.label]
        made.append(Row(row.label[open_], row.weight[open_], row.low - sure, row.high - sure))
    return made


class _Columns:
    """Labels and cells as columns of programs, one for each component."""

    def __init__(
        self,
        kept: Kept,
        cells: dict[str, Cells],
        cost: Floats,
        component: Pointers,
        fixed: Bools,
        variable: Pointers,
    ) -> None:
        self.cost, self.fixed, self.variable = cost, fixed, variable
        self.column = np.full(len(variable), -1, dtype=np.int64)  # of the labels of one program
        numbers = np.arange(int(component.max(initial=-1)) + 2)
        labels = np.flatnonzero(kept.label & (component >= 0)[variable])
        owner = component[variable[labels]]
        order = np.argsort(owner, kind="stable")
        self.labels, self.label_ptr = labels[order], np.searchsorted(owner[order], numbers)
        self.cells, self.cell_ptr = {}, {}
        for name, part in cells.items():  # sorted by component, like the labels
            owner = component[variable[part.label]].max(axis=1, initial=-1)
            order = np.argsort(owner, kind="stable")
            self.cells[name], self.cell_ptr[name] = part[order], np.searchsorted(owner[order], numbers)

    def solve(
        self, number: int, integral: bool, most: int, until: float, rows: Sequence[Row]
    ) -> tuple[Pointers, float, float, bool, bool] | None:
        """Return flat labels of one component, their loss, the least loss, whether whole, whether solved."""
        labels = self.labels[self.label_ptr[number] : self.label_ptr[number + 1]]
        parts = {}
        for name, part in self.cells.items():
            first, last = self.cell_ptr[name][number : number + 2]
            parts[name] = part[slice(first, last)]
        columns = len(labels) + sum(len(part.loss) for part in parts.values())
        if columns > most:
            raise TooLargeError(
                f"a program of {columns:,} columns would be needed, more than columns={most:,}; use "
                "method=TRWS() or CombiLP(), or give more columns="
            )
        program = Program(len(labels))
        column = self.column
        column[labels] = np.arange(len(labels))
        v, row = np.unique(self.variable[labels], return_inverse=True)
        program.add(row, np.arange(len(labels)), np.ones(len(labels)), np.ones(len(v)), np.ones(len(v)))
        cost = [self.cost[labels]]
        for part in parts.values():
            if not len(part.loss):
                continue
            mine = program.variables(len(part.loss))
            cost.append(part.loss)
            for axis in range(part.label.shape[1]):
                free = ~self.fixed[self.variable[part.label[:, axis]]]
                if not free.any():
                    continue
                keys = np.stack([part.factor[free], part.label[free, axis]])
                pairs, at = np.unique(keys, axis=1, return_inverse=True)
                R = pairs.shape[1]
                program.add(  # cells minus label is 0
                    np.concatenate([at.reshape(-1), np.arange(R)]),
                    np.concatenate([mine[free], column[pairs[1]]]),
                    np.repeat([1.0, -1.0], [len(keys[0]), R]),
                    np.zeros(R),
                    np.zeros(R),
                )
        for each in rows:
            one = np.zeros(len(each.label), dtype=np.int64)
            program.add(one, column[each.label], each.weight, [each.low], [each.high])
        whole = np.zeros(program.columns)
        whole[: len(labels)] = integral
        seconds = None if until == np.inf else max(0.01, until - monotonic())
        found = program.solve(np.concatenate(cost), whole, seconds)
        if found.status == 2:
            return None
        if found.x is None:
            if found.status != 1:
                raise RuntimeError(f"HiGHS did not solve a program of {columns:,} columns: {found.message}")
            x = np.zeros(len(labels))
        else:
            x = found.x[: len(labels)]
        integer = found.x is not None and np.abs(x - np.round(x)).max(initial=0.0) < WHOLE
        value = np.inf if found.x is None else float(np.concatenate(cost) @ found.x)
        order = np.lexsort((-x, self.variable[labels]))
        chosen = labels[order[np.unique(self.variable[labels[order]], return_index=True)[1]]]
        return chosen, value, max(found.least, 0.0), bool(integer), found.status == 0
