"""PyStruct's one-slack learner on several labels: ``PYTHON bench/pystruct_child.py TASK.npz SECONDS``.

Runs by the Python that has PyStruct and AD3, so it needs nothing of this project. The learner and its options
are those of PyStruct's example on several labels, with exact maxima by AD3. Prints a line of JSON.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
import warnings
from typing import Any

import numpy as np


def main(path: str, seconds: float) -> None:
    """Train, at most so long, and print what was learned."""
    warnings.simplefilter("ignore")  # of NumPy, about names that PyStruct uses
    learners, models = (importlib.import_module(f"pystruct.{name}") for name in ("learners", "models"))
    with np.load(path) as task:
        X, Y, asked, pairs, l2 = (task[name] for name in ("X", "Y", "X_test", "pairs", "l2"))
    model = models.MultiLabelClf(edges=pairs, inference_method=("ad3", {"branch_and_bound": True}))
    begin = time.process_time()
    ended = True

    def look(learner: Any, iteration: Any) -> None:
        nonlocal ended
        if iteration != "final" and time.process_time() - begin > seconds:
            ended = False
            raise KeyboardInterrupt  # fit() ends with the weights of now

    learner = learners.OneSlackSSVM(
        model, C=1.0 / float(l2), tol=0.01, inference_cache=50, max_iter=10000, logger=look
    )
    learner.fit(X, Y.astype(int))
    spent = time.process_time() - begin
    found = np.array(learner.predict(asked)).tolist()
    print(json.dumps({"seconds": spent, "ended": ended, "w": learner.w.tolist(), "labels": found}))


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
