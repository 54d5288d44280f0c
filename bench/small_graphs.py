"""Many small graphs: log Z, marginals and best labelings of 100,000 graphs of ten binary variables.

    python -m bench.small_graphs [--graphs 100000] [--repeat 5] [--threads 2]

Every variable has scores of its own in every graph; pairs have a table for each graph ("own") or one for all
("shared"). Times are the least of a few repetitions: by the clock, and of the processor by thread, which says
what a quiet machine would take. "first" is the first answer for a batch, which finds patterns and programs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.clocks import Clock
from crfkit import Graph, inference
from crfkit.inference.methods import Elimination
from crfkit.native import threads_or_all
from crfkit.structures.graphs.potentials import GraphPotentials

VARIABLES = 10
CHAIN = [(v, v + 1) for v in range(VARIABLES - 1)]
SHAPES: dict[str, list[tuple[int, int]]] = {
    "chain": CHAIN,
    "star": [(0, v) for v in range(1, VARIABLES)],
    "ring": [*CHAIN, (VARIABLES - 1, 0)],
    "14 pairs": [*CHAIN, (0, 4), (1, 6), (2, 9), (3, 8), (5, 9)],
    "all 45 pairs": list(combinations(range(VARIABLES), 2)),
}


def potentials(edges: list[tuple[int, int]], graphs: int, own: bool) -> GraphPotentials:
    """Return random scores of many graphs with the same edges."""
    rng = np.random.default_rng(0)
    start = VARIABLES * np.arange(graphs)[:, None]
    names = {f"p{a}_{b}": start + np.array([[a, b]]) for a, b in edges}
    graph = Graph({"v": 2}, look=["v"], **{name: ["v", "v"] for name in names})
    batch = graph.batch(graph_ptr=VARIABLES * np.arange(graphs + 1), scopes=names)
    shape = (graphs, 2, 2) if own else (2, 2)
    pairs = {name: rng.normal(size=shape) for name in names}
    return batch.potentials(look=rng.normal(size=(VARIABLES * graphs, 2)), **pairs)


def least(repeat: int, work: Callable[[], object]) -> dict[str, float]:
    """Return the least seconds of a few repetitions."""
    made = []
    for _ in range(repeat):
        clock = Clock()
        work()
        made.append(clock.read())
    return {name: min(one[name] for one in made) for name in ("seconds", "cpu")}


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--graphs", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--threads", type=int, default=threads_or_all(None))
    options = parser.parse_args()
    method, threads = Elimination(), options.threads
    table = Table("shape", "tables", "first", "log Z", "marginals", "best")
    for name, edges in SHAPES.items():
        for own in (True, False):
            scores = potentials(edges, options.graphs, own)
            asked: dict[str, Any] = {"method": method, "threads": threads}
            row = [least(1, partial(inference.log_partition, scores, **asked))]
            for query in (inference.log_partition, inference.marginals, inference.decode):
                row.append(least(options.repeat, partial(query, scores, **asked)))
            cells = [f"{one['seconds']:.3f} ({one['cpu'] / threads:.3f})" for one in row]
            table.add_row(name, "own" if own else "shared", *cells)
    Console().print(table)
    Console().print(f"seconds for {options.graphs} graphs, {threads} threads: clock (processor by thread)")


if __name__ == "__main__":
    main()
