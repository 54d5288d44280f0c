"""torch-struct's semi-Markov model, for `bench.semi`: runs under a Python of its own that has torch.

    python bench/semi_peer.py SCORES.npz

The file has segment [N, T, D, L], edge [L, L], and how often to run. Prints one line of JSON: seconds of each
run of log Z and all marginals on one thread, and log Z [N]. Imports nothing of crfkit.
"""

from __future__ import annotations

import json
import sys
import time
import warnings

import numpy as np
import torch
import torch_struct

NEVER = -1e5  # what torch-struct takes for -inf


def main(path: str) -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    given = np.load(path)
    segment, edge = torch.from_numpy(given["segment"]), torch.from_numpy(given["edge"])
    N, T, D, L = segment.shape
    # [N, T, D + 1, next, label]: segments of 0 to D positions; the next label is that of the next segment,
    # after the last one a label that scores 0.
    scores = torch.full((N, T, D + 1, L, L), NEVER, dtype=torch.float64)
    for d in range(1, D + 1):
        scores[:, : T - d, d] = segment[:, : T - d, d - 1, None, :] + edge.T
        scores[:, T - d, d, 0] = segment[:, T - d, d - 1]
    seconds, found = [], []
    for _ in range(int(given["repetitions"])):
        begin = time.perf_counter()
        model = torch_struct.SemiMarkovCRF(scores)
        _ = model.marginals
        found = model.partition.tolist()
        seconds.append(time.perf_counter() - begin)
    print(json.dumps({"seconds": seconds, "log_z": found, "torch": torch.__version__}))


if __name__ == "__main__":
    main(sys.argv[1])
