"""Ready-made estimators of graphs, and small data that each takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from crfkit import FactorialCRF, GridCRF, MultiLabelCRF, SkipChainCRF, Stop
from crfkit.estimators.ready import ReadyMade

_RANDOM = np.random.default_rng(3)
FEW = Stop(max_iterations=9)
LENGTHS = (2, 3, 1, 2, 3, 3)
WORDS = [[["Ab", "x", "Cd"][w] for w in _RANDOM.integers(0, 3, T)] for T in LENGTHS]
TAGS = [["p" if word == "Ab" else "q" for word in words] for words in WORDS]
KINDS = [[["e", "f"][k] for k in _RANDOM.integers(0, 2, T)] for T in LENGTHS]
IMAGES = [_RANDOM.normal(size=(2, 2, 1)) for _ in range(5)] + [_RANDOM.normal(size=(1, 3, 1))]
MASKS = [np.where(image[:, :, 0] > 0, 7, 3) for image in IMAGES]
ROWS = _RANDOM.normal(size=(30, 2))
MANY = np.column_stack([ROWS[:, 0] > 0, ROWS[:, 0] + ROWS[:, 1] > 0, ROWS[:, 1] > 0]).astype(int)

#: Estimator, X, y, and all labelings of a sample in the form of y.
CASES: dict[str, tuple[ReadyMade, Any, Any]] = {
    "columns": (FactorialCRF(features="w[0]", stop=FEW), WORDS, {"tag": TAGS, "kind": KINDS}),
    "tuples": (
        FactorialCRF(features="w[0]", stop=FEW),
        WORDS,
        [list(zip(a, b, strict=True)) for a, b in zip(TAGS, KINDS, strict=True)],
    ),
    "skip-chain": (SkipChainCRF(features="w[0]", stop=FEW), WORDS, TAGS),
    "grid": (GridCRF(contrast="exp", stop=FEW), IMAGES, MASKS),
    "multi-label": (MultiLabelCRF(pairs="all", stop=FEW), ROWS, MANY),
}
