"""Every way to train a chain, on four corpora; docs/understand/measured-methods.md is written from it.

    python -m bench.methods [--data conll2000,ud] [--methods likelihood,perceptron] [--seconds 60] [--jobs 1]

Each run is a process of its own with one thread. Seconds are those of the processor, for the whole of
training (without making features); memory is the largest of the process, features included; the gap is what
the run certifies, as a share of its objective. A run ends by itself or after `--seconds`. Penalties are those
of the table below, the same for all corpora, chosen for none of them: compare methods of one objective by
time, and objectives only roughly by F1. Writes methods.json and methods.md to bench/results after every run;
`--docs` measures nothing and writes methods.json into that page as tables. Needs the corpora (CRFKIT_DATA).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import resource
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from bench import measure
from bench.corpora import CORPORA, folder
from bench.runs import Row, chosen, table, text

DATA = "usaddress,ud,conll2002,conll2000"
DOCS = Path(__file__).parents[1] / "docs" / "understand" / "measured-methods.md"
KILL = 6  # times the limit, after which a run is ended from outside

#: Options of `crfkit.train`, as an objective with its options, an optimizer, and a structure.
METHODS: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "likelihood": ("likelihood", {"l2": 1.0}, "auto", "chain"),
    "likelihood (L-BFGS)": ("likelihood", {"l2": 1.0}, "lbfgs", "chain"),
    "likelihood (SGD)": ("likelihood", {"l2": 1.0}, "sgd", "chain"),
    "likelihood (L1)": ("likelihood", {"l1": 0.5, "l2": 0.0}, "auto", "chain"),
    "perceptron": ("perceptron", {}, "perceptron", "chain"),
    "passive-aggressive": ("perceptron", {}, "pa", "chain"),
    "AROW": ("perceptron", {}, "arow", "chain"),
    "MIRA": ("perceptron", {}, "mira", "chain"),
    "max-margin (BCFW)": ("max-margin", {"l2": 1.0}, "bcfw", "chain"),
    "max-margin (one slack)": ("max-margin", {"l2": 1.0}, "one-slack", "chain"),
    "max-margin (n slacks)": ("max-margin", {"l2": 1.0}, "n-slack", "chain"),
    "max-margin (sub-gradient)": ("max-margin", {"l2": 1.0}, "subgradient", "chain"),
    "softmax-margin": ("softmax-margin", {"l2": 1.0}, "auto", "chain"),
    "pseudo-likelihood": ("pseudo-likelihood", {"l2": 1.0}, "auto", "chain"),
    "piecewise": ("piecewise", {"l2": 1.0}, "auto", "chain"),
    "piecewise pseudo-likelihood": ("piecewise-pseudo-likelihood", {"l2": 1.0}, "auto", "chain"),
    "marginal likelihood": ("marginal-likelihood", {"l2": 1.0}, "auto", "chain"),
    "exponential": ("exponential", {"l2": 1.0}, "auto", "chain"),
    "MEMM": ("local", {"l2": 1.0}, "auto", "local-chain"),
}


def trained(corpus: str, method: str, seconds: float) -> Row:
    """Train once in this process, and return what came out."""
    from crfkit import train
    from crfkit.objectives.registry import OBJECTIVES
    from crfkit.training.stop import Stop

    asked = CORPORA[corpus]
    data, test = asked.datasets()
    objective, options, optimizer, structure = METHODS[method]
    begun = time.process_time()
    model = train(
        data,
        structure=structure,
        selection="all" if asked.all_pairs else "observed",
        objective=OBJECTIVES[objective](**options),
        optimizer=optimizer,
        stop=Stop(max_seconds=seconds),
        n_jobs=1,
    )
    spent = time.process_time() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    how = model.training
    assert how is not None
    gap = how.gap / how.loss if math.isfinite(how.gap) and how.loss > 0.0 else None
    score = 100.0 * asked.score(model.predict(test().batch))
    ended = "converged" if how.converged else "time" if how.seconds >= seconds else how.reason
    return {"seconds": spent, "mb": peak, "gap": gap, "score": score, "passes": how.passes, "end": ended}


def run(corpus: str, method: str, seconds: float) -> Row:
    """Run a method in a process of its own; a run that fails says why."""
    row: Row = {"corpus": corpus, "method": method}
    command = [sys.executable, "-W", "ignore", "-m", "bench.methods", "--child", corpus, method]
    try:
        done = subprocess.run(
            [*command, "--seconds", str(seconds)],
            capture_output=True,
            text=True,
            timeout=60 + KILL * seconds,
            cwd=Path(__file__).parents[1],
            env={**os.environ, "CRFKIT_DATA": str(folder().resolve()), "OPENBLAS_NUM_THREADS": "1"},
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {**row, "end": "did not end"}
    if done.returncode:
        last = [f"exit code {done.returncode}", *done.stderr.strip().split("\n")][-1]
        return {**row, "end": f"failed: {last}"}
    return {**row, **json.loads(done.stdout.strip().split("\n")[-1])}


def tables(rows: list[Row]) -> str:
    """Return a table for each corpus."""
    lines: list[str] = []
    for corpus in dict.fromkeys(row["corpus"] for row in rows):
        about = CORPORA[corpus]
        lines += [f"### {about.title}: {about.metric} of the test set"]
        cells = [
            [
                row["method"],
                text(row.get("score"), ".2f"),
                text(row.get("seconds"), ".1f"),
                text(row.get("passes"), ".0f"),
                text(row.get("mb"), ".0f"),
                text(None if row.get("gap") is None else 100.0 * row["gap"], ".2g"),
                row["end"],
            ]
            for row in rows
            if row["corpus"] == corpus
        ]
        lines += table(f"method|{about.metric}, %|seconds|passes|MB|gap, %|end", 1, cells)
    return "\n".join(lines).strip() + "\n"


def to_docs(rows: list[Row]) -> None:
    """Put the tables between the marks of the page."""
    marks = "<!-- bench.methods -->", "<!-- end of bench.methods -->"
    pattern = re.compile(f"{re.escape(marks[0])}.*{re.escape(marks[1])}", re.DOTALL)
    made = f"{marks[0]}\n\n{tables(rows)}\n{marks[1]}"
    measure.replace_text(DOCS, pattern.sub(lambda _: made, DOCS.read_text()))


def main() -> None:
    """Read the options, run, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", default=DATA)
    parser.add_argument("--methods", default="all")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--jobs", type=int, default=1, help="runs side by side, which disturb each other")
    parser.add_argument("--docs", action="store_true")
    parser.add_argument("--child", nargs=2, metavar=("CORPUS", "METHOD"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        corpus, method = args.child
        print(json.dumps(trained(corpus, method, args.seconds)))
        return
    path = measure.RESULTS / "methods.json"
    if args.docs:
        to_docs(json.loads(path.read_text()))
        return
    names = (
        [*METHODS] if args.methods == "all" else chosen(args.methods.replace(";", ","), [*METHODS], "method")
    )
    asked = [(c, m) for c in chosen(args.data, [*CORPORA], "corpus") for m in names]
    rows: list[Row] = []
    with ThreadPoolExecutor(args.jobs) as pool:
        for row in pool.map(lambda one: run(one[0], one[1], args.seconds), asked):
            rows.append(row)
            print(json.dumps(row), flush=True)
            measure.replace_text(path, json.dumps(rows, indent=1) + "\n")
            measure.replace_text(path.with_suffix(".md"), tables(rows))


if __name__ == "__main__":
    main()
