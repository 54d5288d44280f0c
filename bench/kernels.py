"""Forward + reverse (marginals of nodes and edges) of a chain, per (t, i, j) cell.

    python -m bench.kernels [--quick] [--labels 5,23,100] [--no-peer]

For each number of labels L, on one thread and on all: nanoseconds per cell, and the share of the FMA peak
that a dense matrix product of NumPy reaches in the same run (a cell costs three multiply-adds: one in the
forward product, one in the reverse product, one in the sum of outer products). Beside it torch-struct on
the CPU, where torch is installed, and a plain NumPy version in log space, on the same batch.
"""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from bench.measure import interleaved, plain, write
from crfkit import Chain
from crfkit.native import kernels, threads_or_all

T = 25
SIZES = {5: 1000, 9: 1000, 23: 1000, 45: 1000, 100: 1000, 256: 400, 500: 400}
# torch-struct multiplies L x L matrices: fewer sequences for more labels, and parts that fit into memory.
PEER_WORK = 1000 * 23**3
PEER_CHUNK = 50 * 23**3


def numpy_marginals(node: NDArray[np.float64], edge: NDArray[np.float64]) -> NDArray[np.float64]:
    """Forward-backward in log space for N sequences of one length: node [N, T, L], edge [L, L]."""
    length, L = node.shape[1:]
    alpha, beta = np.empty_like(node), np.zeros_like(node)
    alpha[:, 0] = node[:, 0]
    for t in range(1, length):
        alpha[:, t] = np.logaddexp.reduce(alpha[:, t - 1, :, None] + edge, axis=1) + node[:, t]
    for t in range(length - 2, -1, -1):
        ahead = (beta[:, t + 1] + node[:, t + 1])[:, None, :]
        beta[:, t] = np.logaddexp.reduce(edge + ahead, axis=2)
    total = np.logaddexp.reduce(alpha[:, -1], axis=1)[:, None, None]
    counts = np.zeros((L, L))
    for t in range(1, length):
        ahead = (beta[:, t] + node[:, t])[:, None, :]
        counts += np.exp(alpha[:, t - 1, :, None] + edge + ahead - total).sum(axis=0)
    return counts


def torch_struct_marginals(
    node: NDArray[np.float64], edge: NDArray[np.float64], threads: int
) -> Callable[[], Any]:
    import torch
    import torch_struct

    torch.set_num_threads(threads)
    scores = torch.from_numpy(node[:, 1:, :, None] + edge.T[None, None])  # [N, T-1, to, from]
    scores[:, 0] += torch.from_numpy(node[:, 0])[:, None, :]
    parts = scores.split(max(1, PEER_CHUNK // node.shape[2] ** 3))

    def marginals() -> None:
        for part in parts:
            _ = torch_struct.LinearChainCRF(part).marginals

    return marginals


def fma_per_second(threads: int) -> float:
    n = 1536
    a, b = np.random.default_rng(0).normal(size=(2, n, n))
    out = np.empty((n, n))
    with threadpool_limits(threads):
        timing = interleaved({"product": lambda: np.matmul(a, b, out=out)}, repetitions=5)
    return n**3 / timing["product"].median


def measure(L: int, threads: int, repetitions: int, peer: bool) -> dict[str, Any]:
    N = SIZES[L]
    rng = np.random.default_rng(L)
    node, edge = rng.normal(size=(N, T, L)), rng.normal(size=(L, L))
    seq_ptr = np.arange(N + 1) * T
    problem = Chain(L).potentials(node.reshape(N * T, L), edge, seq_ptr=seq_ptr).problem
    small = max(1, min(N, PEER_WORK // (8 * L**3 if L > 23 else L**3)))
    few = Chain(L).potentials(node[:small].reshape(small * T, L), edge, seq_ptr=seq_ptr[: small + 1])
    calls: dict[str, Callable[[], object]] = {
        "crfkit": lambda: kernels.marginals(problem, False, False, threads),
    }
    if small < N:
        calls["crfkit, peer batch"] = lambda: kernels.marginals(few.problem, False, False, threads)
    if threads == 1:
        tiny = max(1, min(small, 40))
        calls["numpy"] = lambda: numpy_marginals(node[:tiny], edge)
    if peer and importlib.util.find_spec("torch_struct"):
        calls["torch-struct"] = torch_struct_marginals(node[:small], edge, threads)
    timings = interleaved(calls, repetitions)
    cells = (T - 1) * L * L
    per_cell = {"crfkit": timings["crfkit"].median / (N * cells)}
    ours = timings.get("crfkit, peer batch", timings["crfkit"])
    row: dict[str, Any] = {
        "L": L,
        "T": T,
        "N": N,
        "threads": threads,
        "ns_per_cell": per_cell["crfkit"] * 1e9,
        "spread": timings["crfkit"].spread,
        "fma_share": 3 / per_cell["crfkit"] / fma_per_second(threads),
        "timings": {name: plain(timing) for name, timing in timings.items()},
    }
    if "numpy" in timings:
        row["times_numpy"] = timings["numpy"].median / tiny * N / timings["crfkit"].median
    if "torch-struct" in timings:
        row["peer_N"] = small
        row["times_torch_struct"] = timings["torch-struct"].median / ours.median
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="three repetitions instead of nine")
    parser.add_argument("--labels", default=",".join(map(str, SIZES)), help="which L to run")
    parser.add_argument("--no-peer", action="store_true", help="leave out torch-struct, which is slow")
    options = parser.parse_args()
    sizes = [int(text) for text in options.labels.split(",")]
    table = Table(title=f"forward + reverse of N chains of T = {T} ({kernels.name})")
    for name in (
        "L",
        "N",
        "threads",
        "ns/cell",
        "spread",
        "FMA share",
        "x NumPy",
        "x torch-struct",
    ):
        table.add_column(name, justify="right")
    rows = []
    for threads in sorted({1, threads_or_all(None)}):
        for L in sizes:
            row = measure(L, threads, 3 if options.quick else 9, not options.no_peer)
            rows.append(row)
            table.add_row(
                str(L),
                str(row["N"]),
                str(threads),
                f"{row['ns_per_cell']:.3f}",
                f"{row['spread']:.0%}",
                f"{row['fma_share']:.0%}",
                f"{row['times_numpy']:.0f}" if "times_numpy" in row else "",
                f"{row['times_torch_struct']:.0f}" if "times_torch_struct" in row else "",
            )
    console = Console()
    console.print(table)
    console.print(f"written to {write('kernels', rows)}")


if __name__ == "__main__":
    main()
