"""All methods for graphs on the same problems: how near they come to the exact answer, in what time.

    python -m bench.graph_methods [--quick]

Sums: grids whose pairs attract or repel at random, weakly or strongly, beside elimination. Best labelings: a
binary grid that attracts, a grid of random pairs, and a grid of eight labels that want to agree. Seconds are
those of the processor, on one thread, plans included; the least of two runs. Gaps: TRW-S on a grid of 500
x 500 pixels with 21 labels after some passes, in seconds of the clock on all cores, its making included.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from crfkit import Graph, inference
from crfkit.errors import MethodError
from crfkit.graphs import scopes
from crfkit.inference.methods import TRWS
from crfkit.inference.methods.registry import METHODS
from crfkit.structures.graphs.potentials import GraphPotentials

SUMS = ("elimination", "belief-propagation", "tree-reweighted", "mean-field", "tree-ep", "gibbs")
BEST = (
    "auto",
    "min-cut",
    "qpbo",
    "expansion",
    "swap",
    "trws",
    "dual",
    "combilp",
    "belief-propagation",
    "annealing",
    "icm",
)


def mixed(side: int, strength: float) -> GraphPotentials:
    """Return a grid of binary variables; each pair attracts or repels, by a normal strength."""
    rng = np.random.default_rng(0)
    scope = np.concatenate(scopes.grid((side, side)))
    graph = Graph({"spin": 2}, look=["spin"], pair=["spin"] * 2)
    batch = graph.batch(sizes={"spin": side * side}, scopes={"pair": scope})
    pair = rng.normal(scale=strength, size=(len(scope), 1, 1)) * np.eye(2)
    return batch.potentials(look=rng.normal(size=(side * side, 2)), pair=pair)


def agreeing(side: int, labels: int, strength: float) -> GraphPotentials:
    """Return a grid whose neighbors want the same label."""
    rng = np.random.default_rng(0)
    graph = Graph({"pixel": labels}, look=["pixel"], near=["pixel"] * 2)
    near = np.concatenate(scopes.grid((side, side)))
    batch = graph.batch(sizes={"pixel": side * side}, scopes={"near": near})
    return batch.potentials(look=rng.normal(size=(side * side, labels)), near=strength * np.eye(labels))


def asked(query: Any, potentials: GraphPotentials, method: str) -> tuple[Any, float]:
    """Return an answer and the seconds of the processor, the least of two runs."""
    answer, least = None, np.inf
    for _ in range(2):
        fresh = GraphPotentials(potentials.batch.select([0]), potentials.tables)  # plans count
        began = time.process_time()
        answer = query(fresh, method=method, threads=1)
        least = min(least, time.process_time() - began)
    return answer, least


def sums(side: int, strengths: Iterable[float]) -> None:
    """Print the errors of log Z and of marginals."""
    for strength in strengths:
        potentials = mixed(side, strength)
        right = inference.marginals(potentials, method="elimination", threads=1)
        print(f"\n{side} x {side} binary variables, pairs of strength {strength}: log Z, marginals, seconds")
        for name in (name for name in SUMS if name in METHODS):
            found, seconds = asked(inference.marginals, potentials, name)
            off = float(np.asarray(found.log_partition).ravel()[0] - float(right.log_partition))
            worst = np.abs(found["spin"] - right["spin"]).max()
            said = "" if found.info.converged.all() else "  not converged"
            print(f"  {name:20s} {off:+10.4f} {worst:10.2g} {seconds:9.3f}{said}")


def best(problems: Sequence[tuple[str, GraphPotentials]]) -> None:
    """Print how much less than the best of all methods each finds, and the gap that it proves."""
    for title, potentials in problems:
        rows: list[tuple[str, float | None, str, float]] = []
        top = -np.inf
        for name in (name for name in BEST if name in METHODS):
            try:
                found, seconds = asked(inference.decode, potentials, name)
            except MethodError:
                rows.append((name, None, "refuses", 0.0))
                continue
            score, upper = float(np.ravel(found.score)[0]), float(found.info.upper[0])
            top = max(top, score)
            proved = (
                "exact" if found.info.exact[0] else f"{upper - score:.4g}" if upper < np.inf else "no bound"
            )
            rows.append((name, score, proved, seconds))
        print(f"\n{title}: below the best score {top:.4f}, gap, seconds")
        for name, reached, proved, seconds in rows:
            less = "" if reached is None else f"{top - reached:.4f}"
            print(f"  {name:20s} {less:>10s} {proved:>12s} {seconds:9.3f}")


def gaps(side: int, labels: int) -> None:
    """Print the gap between TRW-S's labels and its bound after 5, 10, 20 and 40 passes."""
    rng = np.random.default_rng(0)
    apart = np.abs(np.subtract.outer(np.arange(labels), np.arange(labels)))
    tables = {
        "Potts": np.eye(labels),
        "truncated linear": -0.3 * np.minimum(apart, 3),
        "dense": rng.normal(scale=0.5, size=(labels, labels)),
    }
    for name, table in tables.items():
        scores = agreeing(side, labels, 1.0).batch.potentials(
            look=rng.normal(size=(side * side, labels)), near=table
        )
        for passes in (5, 10, 20, 40):
            start = time.perf_counter()
            found = inference.decode(scores, TRWS(sweeps=passes))
            seconds = time.perf_counter() - start
            gap = 100.0 * (found.info.upper[0] - found.score) / abs(found.info.upper[0])
            print(
                f"{side} x {side}, {labels} labels, {name}: {passes} passes, {seconds:.2f} s, gap {gap:.2f} %"
            )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.graph_methods")
    parser.add_argument("--quick", action="store_true", help="small graphs")
    quick = parser.parse_args(arguments).quick
    sums(4 if quick else 12, (0.5,) if quick else (0.5, 2.0))
    gaps(8 if quick else 500, 3 if quick else 21)
    side = 5 if quick else 60
    best(
        [
            (f"{side} x {side}, binary, attracting", agreeing(side, 2, 0.5)),
            (f"{side} x {side}, binary, mixed", mixed(side, 1.0)),
            (f"{side} x {side}, 8 labels, agreeing", agreeing(side, 8, 0.8)),
        ]
    )


if __name__ == "__main__":
    main()
