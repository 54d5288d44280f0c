"""Gibbs sampling: edges a second on grids, on one core and on all."""

from __future__ import annotations

import argparse
from time import perf_counter, process_time
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table as Printed

from bench.measure import write
from crfkit import Graph, _native
from crfkit.inference.methods.blocks import blocks_of
from crfkit.native import kernels, threads_or_all
from crfkit.structures.graphs.potentials import GraphPotentials, Table


def grid(side: int, labels: int, seed: int = 0) -> GraphPotentials:
    """Return a square grid with random scores, and neighbors that agree more or less strongly."""
    rng = np.random.default_rng(seed)
    number = np.arange(side * side).reshape(side, side)
    pairs = [
        np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()], axis=1),
        np.stack([number[:-1].ravel(), number[1:].ravel()], axis=1),
    ]
    scope = np.concatenate(pairs)
    graph = Graph({"pixel": labels}, look=["pixel"], near=["pixel", "pixel"])
    batch = graph.batch(sizes={"pixel": side * side}, scopes={"near": scope})
    near = Table(np.eye(labels), scale=rng.uniform(0.2, 1.0, len(scope)))
    return batch.potentials(look=rng.normal(size=(side * side, labels)), near=near)


def measure(side: int, labels: int, block: bool, threads: int, repeats: int) -> dict[str, Any]:
    """Return edges a second of sweeps: a difference of two runs, without what is made once."""
    scores = grid(side, labels)
    chains, edges = 4, len(scores.batch.scopes["near"])
    blocks = blocks_of(scores, block)
    start = np.zeros(chains * side * side, dtype=np.int32)
    few, many = 1, max(4, 4_000_000 // (side * side * labels))

    def seconds(sweeps: int) -> tuple[float, float]:
        wall = busy = float("inf")
        for _ in range(repeats):
            begun, spent = perf_counter(), process_time()
            _native.gibbs_sample(
                kernels, scores.problem, blocks, start, chains, sweeps, 1, chains, 0, threads
            )
            wall, busy = min(wall, perf_counter() - begun), min(busy, process_time() - spent)
        return wall, busy

    (wall, busy), (less, idle) = seconds(many), seconds(few)
    done = edges * chains * (many - few)
    return {
        "side": side,
        "labels": labels,
        "block": block,
        "threads": threads,
        "edges_per_s": done / (wall - less),
        "edges_per_core_s": done / (busy - idle),
    }


def main() -> None:
    """Print a table, and write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="one repetition, small grids")
    options = parser.parse_args()
    rows = []
    for side in (100,) if options.quick else (100, 1000):
        for labels in (2, 4, 10):
            for block in (False, True):
                for threads in sorted({1, threads_or_all(None)}):
                    rows.append(measure(side, labels, block, threads, 1 if options.quick else 3))
    table = Printed(title=f"Gibbs sampling on grids, 4 chains, edges x sweeps ({kernels.name})")
    for name in ("grid", "labels", "blocks", "threads", "M edges/s", "of a busy core"):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(
            f"{row['side']} x {row['side']}",
            str(row["labels"]),
            "trees" if row["block"] else "variables",
            str(row["threads"]),
            f"{row['edges_per_s'] / 1e6:.1f}",
            f"{row['edges_per_core_s'] / 1e6:.1f}",
        )
    console = Console()
    console.print(table)
    console.print(f"written to {write('gibbs', rows)}")


if __name__ == "__main__":
    main()
