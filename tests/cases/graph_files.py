"""Small files of graphical models, written by hand: the same model as UAI and as libDAI's factor graph."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

# Variables 0 (2 labels), 1 (3 labels), 2 (2 labels); the value of a cell says its labels: 12 is labels 1, 2.
UAI = b"""BAYES
3
2 3   2
3
2 0 1
2 2 1
1 0

6
 100 101 102
 110 111 112

6 200 201 202 210 211 212

2
0 .5e-1
"""
FG = b"""# libDAI's factor graphs
3

2
7 19
2 3
6
0 100
1 110
2 101
3 111
4 102
5 112

# the first variable is the fastest
2
23 19
2 3
6
0 200
2 201
4 202
1 210
3 211
5 212

1
7
2
1
1 0.05
"""


def opengm_file(**changes: Any) -> bytes:
    """Return OpenGM's file of a small model: two tables, a Potts function that two factors share."""
    library = pytest.importorskip("h5py")
    sets: dict[str, Any] = {
        "header": [2, 0, 3, 4, 3, 16000, 2, 16006, 1, 16003, 0, 1],
        "numbers-of-states": [2, 3, 2],
        "factors": [1, 0, 2, 0, 1, 0, 0, 1, 0, 0, 1, 2, 0, 2, 0, 1, 2, 2, 0],
        "function-id-16000/indices": [1, 2, 2, 2, 3],
        "function-id-16000/values": [0.5, np.inf, 0.0, 10.0, 1.0, 11.0, 2.0, 12.0],
        "function-id-16006/indices": [2, 2],
        "function-id-16006/values": [-1.5, 0.25],
    } | changes
    kept = io.BytesIO()
    with library.File(kept, "w") as file:
        for name, given in sets.items():
            if given is None:
                continue
            value = np.asarray(given)
            if value.dtype.kind == "i":
                value = value.astype(np.uint64)
            file[f"gm/{name}"] = value
    return kept.getvalue()
