"""How much memory a training will take, by part, and how much there is.

The figures follow from what each part keeps (P positions, N sequences, L labels padded to 8, F weights):

=============  ==============================================================================================
evaluation     scores [P, L] as doubles, but of rounds of 256 MB (`ROW_BYTES`) where they take more, 10 bytes
               for each attribute of a position, rows of attributes that have several weights, twice where
               there are rounds; where no native path serves, four arrays [P, L]
dual           marginals [P, L] and [N, weights of transitions] as floats, 4 bytes for each attribute of a
               position, and at its end scores [P, L] once more
L-BFGS         six vectors of weights, and pairs of them, which are kept in 2 or 8 bytes a weight
stochastic     what an epoch reads: 8 bytes for each attribute of a position
=============  ==============================================================================================
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from crfkit.data.batch import KINDS
from crfkit.linear.fast import FAST
from crfkit.linear.fast.likelihood import ROW_BYTES
from crfkit.linear.loss import LinearLoss
from crfkit.optimize import LBFGS, Dual
from crfkit.optimize.batch.lbfgs import default_memory
from crfkit.optimize.batch.vectors import Vectors

_PAIRS = 20  # pairs of vectors that L-BFGS keeps where it finishes what the dual began


def bytes_of(problem: LinearLoss, optimizer: Any) -> dict[str, int]:
    """Return the bytes that training will take on top of the data and the layout, by part.

    Parameters
    ----------
    problem : LinearLoss
    optimizer : Optimizer
    """
    layout, batch = problem.layout, problem.batch
    P, L, F = batch.positions, layout.labels, layout.weights
    row = -(-L // 8) * 8
    occurrences = (batch.occurrences(by) for by in KINDS)
    entries = sum(len(found.id) for found in occurrences if found is not None)
    begin = 0
    parts = {"weights": 3 * 8 * F, "evaluation": _evaluation(problem, P, L, row, entries)}
    if isinstance(optimizer, Dual):
        parts["dual"] = marginal_bytes(problem) + 4 * entries + 32 * P + _rows(problem, L, row)
        begin = 8 * P * L
    if isinstance(optimizer, LBFGS | Dual):
        vectors = Vectors(F)
        most = getattr(optimizer, "memory", None) or default_memory(vectors.kept_bytes())
        pairs = min(most, _PAIRS) if isinstance(optimizer, Dual) else most
        parts["L-BFGS"] = max(6 * 8 * F + 2 * pairs * vectors.kept_bytes(), begin)
    else:
        parts["optimizer"] = 8 * entries + 4 * 8 * F
    return parts


def marginal_bytes(problem: LinearLoss) -> int:
    """Return the bytes of the marginals that the dual keeps: [P, L] and [N, weights of transitions] floats.

    Examples
    --------
    >>> from crfkit.data.batch import Batch
    >>> from crfkit.linear.layout import Layout
    >>> from crfkit.objectives import Likelihood
    >>> from crfkit.structures import Chain
    >>> empty = np.zeros(0, np.int32)
    >>> data = Batch(np.array([0, 3, 5]), np.zeros(6, np.int64), empty, None, np.zeros(5, np.int32))
    >>> layout = Layout.all_pairs(data, Chain(8))
    >>> marginal_bytes(Likelihood().bind(layout, Chain(8), data)) == 4 * (5 * 8 + 2 * 64)
    True
    """
    layout, row = problem.layout, -(-problem.layout.labels // 8) * 8
    kept = sum(len(layout.block[name].cell) for name in ("transition", "length") if name in layout.block)
    table = layout.labels * row if 2 * kept > layout.labels * row else kept
    return 4 * (problem.batch.positions * row + problem.batch.sequences * table)


def _evaluation(problem: LinearLoss, P: int, L: int, row: int, entries: int) -> int:
    layout = problem.layout
    if all(path.covers(problem) for path in FAST):
        return 4 * 8 * P * L
    weights = np.diff(layout.node_ptr)  # [A]
    several = int(np.count_nonzero((weights > max(1, row // 16)) & (weights < L)))
    table = min(layout.table_bytes, several * 5 // 4 * row * 8)
    rows = 8 * P * row
    if rows > ROW_BYTES + table:  # sums over rounds need a second table
        rows, table = ROW_BYTES, 2 * table
    return rows * 9 // 8 + 10 * entries + 16 * P + table


def _rows(problem: LinearLoss, L: int, row: int) -> int:
    """Return the bytes of the rows of weights that the dual visits: padded ones, and cells of 12 bytes.

    Attributes that occur once need none. Counting them takes longer than all else here, so that it is
    left where their rows would be small beside the marginals.
    """
    layout = problem.layout
    weights = np.diff(layout.node_ptr)  # [A]
    wide = (weights == L) | (weights > (1 if L <= 64 else L // 4))
    size = np.where(wide, 4 * row, 12 * weights)  # [A]
    if int(size.sum()) > 4 * problem.batch.positions * row:
        known = problem.batch.attr[problem.batch.attr < len(weights)]
        size[np.bincount(known, minlength=len(weights)) <= 1] = 0
    return int(size.sum()) + 24 * len(weights)


def resident_bytes() -> int:
    """Return how much memory this process has now; 0 where the system does not say.

    Examples
    --------
    >>> resident_bytes() >= 0
    True
    """
    status = Path("/proc/self/statm")
    return int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if status.exists() else 0


def available_bytes() -> int:
    """Return how much memory this process could still take: of the machine, or of its control group.

    0 where the system does not say.

    Examples
    --------
    >>> available_bytes() >= 0
    True
    """
    found = []
    info = Path("/proc/meminfo")
    if info.exists():
        lines = dict(line.split(":", 1) for line in info.read_text().splitlines() if ":" in line)
        if "MemAvailable" in lines:
            found.append(int(lines["MemAvailable"].split()[0]) << 10)
    for limit, used in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ):
        if Path(limit).exists() and Path(used).exists():
            most = Path(limit).read_text().strip()
            if most.isdigit():
                found.append(max(int(most) - int(Path(used).read_text()), 0))
    return min(found, default=0)
