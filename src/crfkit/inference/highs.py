"""Linear and integer programs row by row, solved by HiGHS through SciPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crfkit.arrays import Floats

__all__ = ["WHOLE", "Program", "Solved"]

Counts = NDArray[np.int64]
WHOLE = 1e-6  #: a variable that is this close to a whole number is taken for it


@dataclass(frozen=True, eq=False)
class Solved:
    """What HiGHS found."""

    x: Floats | None  #: the best point that was found; None without one
    least: float  #: what the cost of any point is at least
    status: int  #: 0 solved, 1 out of time, 2 infeasible
    message: str


class Program:
    """Rows of a sparse matrix, and their bounds; variables are between 0 and 1."""

    def __init__(self, columns: int) -> None:
        self.columns, self.rows = columns, 0
        self.entries: list[tuple[Any, Any, Any]] = []
        self.low: list[Any] = []
        self.high: list[Any] = []

    def variables(self, count: int) -> Counts:
        """Return the columns of so many further variables."""
        self.columns += count
        return np.arange(self.columns - count, self.columns)

    def add(self, row: Any, column: Any, value: Any, low: Any, high: Any) -> None:
        """Add rows: entries by row from 0, and the bounds of each row, [R]."""
        self.entries.append((np.asarray(row) + self.rows, column, value))
        self.low.append(low)
        self.high.append(high)
        self.rows += len(low)

    def solve(self, cost: Floats, whole: Any, seconds: float | None = None) -> Solved:
        """Return the point of the least cost; `whole`: 1 for variables that must be integers, [columns]."""
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import coo_array

        row, column, value = (np.concatenate(each) for each in zip(*self.entries, strict=True))
        shape = (self.rows, self.columns)
        places = row.astype(np.int32), column.astype(np.int32)  # SciPy before 1.15 takes no wider ones
        matrix = coo_array((value.astype(np.float64), places), shape).tocsr()
        options: dict[str, Any] = {"mip_rel_gap": 0.0}
        if seconds is not None:
            options["time_limit"] = seconds
        scale = 1e3 / max(float(np.abs(cost).max(initial=0.0)), 1e-300)  # tolerances of HiGHS are absolute
        found = milp(
            cost * scale,
            integrality=whole,
            bounds=Bounds(0.0, 1.0),
            constraints=LinearConstraint(matrix, np.concatenate(self.low), np.concatenate(self.high)),
            options=options,
        )
        least = found.mip_dual_bound if np.any(whole) else found.fun if found.status == 0 else None
        return Solved(
            found.x, -np.inf if least is None else float(least) / scale, int(found.status), found.message
        )
