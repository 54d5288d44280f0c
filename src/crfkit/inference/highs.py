"""Linear and integer programs row by row, solved by HiGHS through SciPy.

HiGHS hears no signals while it works. What takes it half a second is solved here; what takes longer is begun
again in a process of its own (`highs_child`), which is killed when a signal ends the wait for it. Its start
takes 0.3 s. Rejected: a thread, which could only be given up and would go on for hours; a forked child, which
could not use the threads of HiGHS; slices of time, of which each begins anew.
"""

from __future__ import annotations

import io
import os
import signal
import sys
from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crfkit._safe.printable import shown
from crfkit.arrays import Floats
from crfkit.inference import highs_child

Counts = NDArray[np.int64]
_HERE = 0.5  # seconds that HiGHS may take in this process
_OUT_OF_TIME = 1  # a status
_LARGE = 50_000  # columns of programs that would take longer anyway
_CHILD = """
import json, runpy, sys
sys.path[:] = json.loads(sys.argv.pop(1))
runpy.run_path(sys.argv.pop(1), None, "__main__")
"""
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
        """Return the columns of that many further variables."""
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
        from scipy.sparse import coo_array

        row, column, value = (np.concatenate(each) for each in zip(*self.entries, strict=True))
        shape = (self.rows, self.columns)
        places = row.astype(np.int32), column.astype(np.int32)  # SciPy before 1.15 takes no wider ones
        matrix = coo_array((value.astype(np.float64), places), shape).tocsr()
        scale = 1e3 / max(float(np.abs(cost).max(initial=0.0)), 1e-300)  # tolerances of HiGHS are absolute
        found = _minimum(
            {
                "shape": np.array(shape),
                "value": matrix.data,
                "column": matrix.indices,
                "row_ptr": matrix.indptr,
                "low": np.concatenate(self.low).astype(np.float64),
                "high": np.concatenate(self.high).astype(np.float64),
                "cost": cost * scale,
                "whole": np.broadcast_to(whole, self.columns),
            },
            seconds,
        )
        x = np.asarray(found["x"]) if found["found"] else None
        return Solved(x, float(found["least"]) / scale, int(found["status"]), str(found["message"]))


def _minimum(program: dict[str, Any], seconds: float | None) -> dict[str, Any]:
    """Return what HiGHS finds, here or in a process that a signal can end."""
    until = None if seconds is None else monotonic() + seconds
    if len(program["cost"]) <= _LARGE or (seconds is not None and seconds <= _HERE):
        here = _HERE if seconds is None else min(seconds, _HERE)
        found = highs_child.minimum(program, here)
        if found["status"] != _OUT_OF_TIME or here == seconds:
            return found
    left = None if until is None else max(until - monotonic(), 0.0)
    try:
        return _aside(program, left)
    except OSError:  # no process to be had
        return highs_child.minimum(program, left)


def _aside(program: dict[str, Any], seconds: float | None) -> dict[str, Any]:
    """Return what HiGHS finds in a process of its own, which ends with the call whatever happens."""
    import json
    import subprocess

    kept = io.BytesIO()
    np.savez(kept, **program)
    ends, lives = os.pipe()
    child = None
    try:
        limit = [] if seconds is None else [str(seconds)]
        child = subprocess.Popen(
            [
                sys.executable,
                "-I",
                "-c",
                _CHILD,
                json.dumps(sys.path),
                highs_child.__file__,
                str(ends),
                *limit,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(ends,),
            start_new_session=True,  # signals of the terminal are for us
        )
        answer, said = child.communicate(kept.getvalue())
    finally:
        if child is not None:
            with child:  # closes pipes, and waits
                child.kill()
        os.close(ends)
        os.close(lives)
    if child.returncode == 0:
        with np.load(io.BytesIO(answer)) as found:
            return dict(found)
    what = f"HiGHS ended with status {child.returncode} on a program of {len(program['cost']):,} columns"
    if child.returncode in (highs_child.NO_MEMORY, -signal.SIGKILL):
        raise MemoryError(f"{what}: there may be too little memory for it")
    raise RuntimeError(f"{what}: {shown(said.decode(errors='replace').strip()[-200:])}")
