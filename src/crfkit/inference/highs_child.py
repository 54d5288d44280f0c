"""HiGHS in a process of its own, which can be ended at any moment: a script that `highs` runs.

HiGHS hears no signals, and cannot be asked to stop. The program comes from standard input and the answer goes
to standard output, both as NumPy's ``npz``. A pipe, whose number is an argument, ends with the process that
wants the answer, however that ends; then this one does, too. Nothing of crfkit is imported, which takes time.
"""

from __future__ import annotations

import io
import os
import sys
import threading
from typing import Any

NO_MEMORY = 3  #: status of a process that had too little


def minimum(program: dict[str, Any], seconds: float | None) -> dict[str, Any]:
    """Return the point of the least cost of a program, and what is known of it."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    shape = tuple(program["shape"].tolist())
    matrix = csr_array((program["value"], program["column"], program["row_ptr"]), shape)
    options: dict[str, Any] = {"mip_rel_gap": 0.0}
    if seconds is not None:
        options["time_limit"] = seconds
    found = milp(
        program["cost"],
        integrality=program["whole"],
        bounds=Bounds(0.0, 1.0),
        constraints=LinearConstraint(matrix, program["low"], program["high"]),
        options=options,
    )
    least = found.mip_dual_bound if program["whole"].any() else found.fun if found.status == 0 else None
    return {
        "x": [] if found.x is None else found.x,
        "found": found.x is not None,
        "least": -float("inf") if least is None else float(least),
        "status": int(found.status),
        "message": str(found.message),
    }


def main(wanted: int, seconds: float | None) -> None:
    """Read a program, solve it, write the answer; `wanted` is the pipe that ends when nobody waits for it."""
    threading.Thread(target=_watch, args=(wanted,), daemon=True).start()
    answers = os.dup(1)
    os.dup2(2, 1)  # whatever HiGHS prints is no answer
    try:
        import numpy as np

        with np.load(io.BytesIO(sys.stdin.buffer.read())) as given:
            program = dict(given)
        kept = io.BytesIO()
        np.savez(kept, **minimum(program, seconds))
    except MemoryError:
        os._exit(NO_MEMORY)
    with os.fdopen(answers, "wb") as out:
        out.write(kept.getvalue())


def _watch(wanted: int) -> None:
    os.read(wanted, 1)  # nothing is ever written
    os._exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else None)
