"""Exact answers about the models of the UAI competition, with their reference answers.

    python -m bench.uai [--models Grids_17 ...] [--repeat 3] [--threads 2] [--budget 134217728]

For each model: the cells that elimination keeps, seconds of the search for a plan, of log Z and all marginals
(PR, MAR) without it, of the best labeling (MPE) without it, and how far the answers are from the references:
log10 Z, marginals, and the score of the best labeling less that of the reference. The files have six digits.
Seconds are the least of `--repeat` runs, on the wall and (the last column) of the processor for PR and MAR
with the search. A model that is too wide is refused, and the seconds are those of refusing. Needs the folder
CRFKIT_DATA.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.measure import write
from crfkit import inference
from crfkit.data.graphs import read_result
from crfkit.graphs import load as load_graph
from crfkit.inference.methods import Elimination, TooWideError
from crfkit.inference.methods.method import Method
from crfkit.native import threads_or_all
from crfkit.structures.graphs.evidence import without_observed
from crfkit.structures.graphs.potentials import GraphPotentials

DATA = Path(os.environ.get("CRFKIT_DATA", "../shared/data")) / "uai"


def models() -> dict[str, Path]:
    """Return the models by name."""
    return {
        path.name.split(".uai")[0]: path for path in sorted([*DATA.glob("*.uai"), *DATA.glob("*.uai.gz")])
    }


def timed(ask: Callable[[], Any]) -> tuple[Any, float, float]:
    """Return the answer, and seconds on the wall and of the processor."""
    wall, cpu = time.perf_counter(), time.process_time()
    answer = ask()
    return answer, time.perf_counter() - wall, time.process_time() - cpu


def measured(path: Path, method: Method, threads: int) -> dict[str, Any]:
    """Return one run of all three queries."""
    scores = load_graph(path, evidence=DATA / f"{path.name.removesuffix('.gz')}.evid")
    left = without_observed(scores).potentials
    row: dict[str, Any] = {}
    needs, row["plan"], cpu = timed(lambda: method.estimate(left))
    row["cells"] = float(np.max(needs["cells"]))
    try:
        _, row["sums"], used = timed(lambda: method.marginals(left, False, threads))
        row["cpu"] = cpu + used
        _, row["best"], _ = timed(lambda: method.best(left, threads))
    except TooWideError:
        return row
    row |= errors(scores, path.name.removesuffix(".gz"), method, threads)
    return row


def errors(scores: GraphPotentials, name: str, method: Method, threads: int) -> dict[str, float]:
    """Return how far answers are from the references that there are."""
    found: dict[str, float] = {}
    if (DATA / f"{name}.MAR").exists():
        answer = inference.marginals(scores, method=method, threads=threads)
        wanted = read_result(DATA / f"{name}.MAR").marginals
        assert wanted is not None
        found["marginals"] = float(np.abs(np.concatenate(answer["variable"]) - wanted).max())
        log10 = float(answer.log_partition) / np.log(10.0)
        found["log10 Z"] = abs(log10 - read_result(DATA / f"{name}.PR").value)
    label = read_result(DATA / f"{name}.MPE").labels
    best = inference.decode(scores, method=method, threads=threads)
    found["score"] = best.score - inference.score(scores, {"variable": label})
    return found


def main() -> None:
    """Measure, print a table, and write the rows."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", nargs="*")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--budget", type=int, default=Elimination().budget)
    options = parser.parse_args()
    threads = threads_or_all(options.threads)
    known = models()
    chosen = options.models or list(known)
    titles = ("cells", "plan", "sums", "best", "log10 Z", "marginals", "score", "cpu")
    table = Table("model", *titles, title=f"{threads} threads")
    rows: list[dict[str, Any]] = []
    for name in chosen:
        runs = [measured(known[name], Elimination(options.budget), threads) for _ in range(options.repeat)]
        row = {key: min(run[key] for run in runs) for key in runs[0]}
        rows.append({"model": name, **row})
        shown = [f"{row[key]:.3g}" if key in row else "-" for key in titles]
        table.add_row(name, *shown)
    Console(width=120).print(table)
    answered = [row for row in rows if "sums" in row]
    total = sum(row["plan"] + row["sums"] for row in answered)
    print(f"{len(answered)} of {len(rows)} models, PR and MAR together: {total:.1f} s")
    write("uai", rows)


if __name__ == "__main__":
    main()
