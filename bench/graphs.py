"""Queries about graphical models beside other tools, each in a process of its own, in the same run.

    python -m bench.graphs [--seconds 60] [--query MAR] [--models Grids_11 ...] [--quick]

Exact marginals: pyAgrum (Shafer-Shenoy) and pgmpy (variable elimination). Best labelings: toulbar2. Loopy
belief propagation: PGMax (200 rounds; what is compiled is not counted). Peers are looked for in the folder
BENCH_PEERS and are not dependencies: `pip install --target FOLDER pyagrum pgmpy pytoulbar2`, and `pgmax` with
`--no-deps` plus `jax==0.4.38 jaxlib==0.4.38`. Models are grids that are drawn here and, where the folder
CRFKIT_DATA is there, those of the UAI competition, whose reference answers are the measure of errors. Seconds
are those of answering, with all modules loaded; reading is beside them. A tool that is not done after
`--seconds` is stopped, and the table says so.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.measure import write
from crfkit import Graph
from crfkit.data.graphs import read_result
from crfkit.graphs import load as load_graph
from crfkit.graphs import save as save_graph
from crfkit.inference.methods.registry import METHODS

DATA = Path(os.environ.get("CRFKIT_DATA", "../shared/data")) / "uai"
MODELS = (
    "CSP_12",
    "Grids_11",
    "Grids_12",
    "Segmentation_11",
    "ObjectDetection_11",
    "Pedigree_11",
    "Promedus_34",
    "Promedus_17",
    "Alchemy_11",
)
#: query -> (tool, method): which are compared
RUNS: dict[str, tuple[tuple[str, str], ...]] = {
    "MAR": (
        ("crfkit", "elimination"),
        ("pyagrum", ""),
        ("pgmpy", ""),
        ("crfkit", "belief-propagation"),
        ("pgmax", ""),
    ),
    "MPE": (("crfkit", "auto"), ("pytoulbar2", "")),
}
GRIDS = ((6, 2), (12, 2), (6, 5))  #: side, labels


def drawn(folder: Path) -> list[Path]:
    """Write grids with random scores; return their paths."""
    made = []
    for side, labels in GRIDS:
        rng = np.random.default_rng(side)
        number = np.arange(side * side).reshape(side, side)
        pairs = [*zip(number[:, :-1].ravel(), number[:, 1:].ravel(), strict=True)]
        pairs += [*zip(number[:-1].ravel(), number[1:].ravel(), strict=True)]
        factors: list[Any] = [([int(v)], rng.normal(size=labels)) for v in number.ravel()]
        factors += [([int(a), int(b)], rng.normal(size=(labels, labels))) for a, b in pairs]
        made.append(folder / f"grid-{side}x{side}-{labels}.uai")
        save_graph(Graph.from_factors([labels] * side * side, factors), made[-1])
    return made


def asked(tool: str, query: str, model: Path, method: str, seconds: float) -> dict[str, Any]:
    """Return what a tool answers in a process of its own."""
    command = [sys.executable, "-m", "bench.graph_peers", tool, query, str(model), method]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return {"error": f"not done after {seconds:.0f} s"}
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if not lines:
        last = (done.stderr.strip().splitlines() or ["nothing was said"])[-1]
        return {"error": f"ended with status {done.returncode}: {last[:100]}"}
    found: dict[str, Any] = json.loads(lines[-1])
    return found


def judged(query: str, model: Path, found: dict[str, Any], exact: dict[str, Any] | None) -> str:
    """Return how far an answer is from the reference, or from crfkit's where there is none."""
    if query == "MPE":
        scores = load_graph(model)
        label = np.array([found["labels"]], dtype=np.int32)
        return f"score {scores.labeling_score(label)[0, 0]:.4f}"
    reference = Path(f"{model}.MAR")
    wanted = read_result(reference).marginals if reference.exists() else (exact or {}).get("marginals")
    if wanted is None:
        return ""
    return f"error {np.abs(np.array(found['marginals']) - np.asarray(wanted)).max():.1e}"


def main() -> None:
    """Compare, print a table, and write the rows."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--query", choices=[*RUNS], action="append")
    parser.add_argument("--models", nargs="*", default=MODELS)
    parser.add_argument("--quick", action="store_true", help="drawn grids only")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    console = Console(width=120)
    with tempfile.TemporaryDirectory() as folder:
        paths = drawn(Path(folder))
        if not options.quick and DATA.is_dir():
            paths += [DATA / f"{name}.uai" for name in options.models]
        elif not options.quick:
            console.print(f"no models of the UAI competition in {DATA}: drawn grids only")
        for query in options.query or RUNS:
            table = Table("model", "tool", "seconds", "reading", "answer", title=query, title_justify="left")
            absent: set[str] = set()
            for path in paths:
                exact: dict[str, Any] | None = None
                for tool, method in RUNS[query]:
                    if tool in absent or (method and method not in METHODS):
                        continue
                    found = asked(tool, query, path, method, options.seconds)
                    name = f"{tool} {method}".strip()
                    row = {"model": path.stem, "query": query, "tool": name}
                    if error := found.get("error"):
                        if "not installed" in error:
                            absent.add(tool)
                            console.print(f"{error}: left out")
                            continue
                        table.add_row(path.stem, name, "-", "-", error)
                        rows.append({**row, "error": error})
                        continue
                    exact = exact or found
                    said = judged(query, path, found, exact)
                    table.add_row(path.stem, name, f"{found['answer']:.3f}", f"{found['read']:.3f}", said)
                    rows.append({**row, "seconds": found["answer"], "read": found["read"], "answer": said})
                table.add_section()
            console.print(table)
    console.print(f"written to {write('graphs', rows)}")


if __name__ == "__main__":
    main()
