"""Score and scatter of a layout on the CoNLL-2000 training data, per attribute occurrence.

    python -m bench.layout [--quick]

19 node templates of CRF++'s chunking example; random attributes of the same number where CRFKIT_DATA
(default ../shared/data) is absent. Score includes the filling of the table of wide rows. The bandwidth is
that of the rows added up, 8 L bytes per occurrence, wherever in the caches they come from.
"""

from __future__ import annotations

import argparse
import gzip
import os
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.measure import interleaved, plain, write
from crfkit import _native
from crfkit.data.batch import Batch
from crfkit.linear.layout import Layout
from crfkit.linear.score import scatter, score, transpose
from crfkit.native import kernels, threads_or_all

# What was tried, in milliseconds on one thread (AVX-512), kernels alone; 4.02 M occurrences, L = 22, 7.4 M
# weights with all pairs, 456,323 with observed ones. First a 2.8 GHz Ice Lake (1.25 MB and 48 MB of cache)
# while other work went on, least of 15 runs; in brackets the medians on a newer Xeon (2 MB and 300 MB).
#   score, all pairs   rows straight from w, no table                                   27  [22-27]
#   score, observed    table of all rows (65 MB), time to fill it included              43  [27-38]
#                      rows of up to 4 weights one by one: mispredicted loops           48  [53-61]
#                      rows of 1 weight alone, table of the others (11 MB)              35  [29-38]
#   scatter, all pairs pull attribute by attribute, no prefetch                        128
#                      prefetch 24 occurrences ahead                                    73
#                      attributes with 64 occurrences and more by blocks of positions
#                      whose credits stay in the second-level cache                     50
#                      the same, their positions copied in that order                   41  [29-37]
#   scatter, observed  the same; of rows with few weights only those columns            31  [21-28]
# perf: the pull by blocks waited for positions (30 %, hence the copy) and credits (40 %); before, GCC had
# dropped the prefetches, because it takes a function that does nothing else for one without effect.
# Blocks of 384 KB to 1 MB and rows aligned to cache lines (L = 24) made no difference. Frequent from 16 or 32
# occurrences on looked slower, on a machine too busy to be sure. Not tried: streaming stores.
P, PER_POSITION, A, L = 211_727, 19, 338_551, 22


def template(name: str, *fields: tuple[int, int]) -> tuple[str, list[tuple[str, int, int, str]]]:
    """One node template: (column, offset) of each field."""
    literals = [f"{name}:", *["/"] * (len(fields) - 1)]
    return "node", [(text, *field, "token") for text, field in zip(literals, fields, strict=True)]


TEMPLATES = [
    *[template(f"U0{i}", (0, i - 2)) for i in range(5)],
    template("U05", (0, -1), (0, 0)),
    template("U06", (0, 0), (0, 1)),
    *[template(f"U1{i}", (1, i - 2)) for i in range(5)],
    *[template(f"U1{i + 5}", (1, i - 2), (1, i - 1)) for i in range(4)],
    *[template(f"U2{i}", (1, i - 2), (1, i - 1), (1, i)) for i in range(3)],
]


def conll2000(path: Path) -> Batch:
    parser = _native.ColumnParser(None, "", False, False)
    with gzip.open(path) as file:
        parser.feed(file.read())
    parser.finish()
    ids, seq_ptr, _ = parser.take()
    features = _native.Features([(0, "same", "", False), (1, "same", "", False)], TEMPLATES, "crfpp")
    for column in range(2):
        features.update(column, parser.alphabet(column))
    (attr_ptr, attr), *_ = features.expand(ids, seq_ptr, threads_or_all(None))
    return Batch(seq_ptr=seq_ptr, attr_ptr=attr_ptr, attr=attr, label=ids[2])


def random_batch() -> Batch:
    rng = np.random.default_rng(0)
    attr = np.minimum(rng.zipf(1.2, P * PER_POSITION) - 1, rng.integers(0, A, P * PER_POSITION))
    ends = np.sort(rng.choice(np.arange(1, P), 8935, replace=False))
    return Batch(
        seq_ptr=np.concatenate([[0], ends, [P]]),
        attr_ptr=np.arange(P + 1) * PER_POSITION,
        attr=attr.astype(np.int32),
        label=rng.integers(0, L, P).astype(np.int32),
    )


def measure(name: str, layout: Layout, batch: Batch, repetitions: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(1)
    w, credit = rng.normal(size=layout.weights), rng.random((batch.positions, L))
    node, gradient = np.zeros_like(credit), np.zeros_like(w)
    index, rows = transpose(layout, batch), []
    for threads in sorted({1, threads_or_all(None)}):
        timings = interleaved(
            {
                "score": partial(score, layout, w, batch, threads=threads, out=node),
                "scatter": partial(
                    scatter, layout, batch, {"node": credit}, index=index, threads=threads, out=gradient
                ),
            },
            repetitions,
        )
        for call, timing in timings.items():
            rows.append(
                {
                    "layout": name,
                    "weights": layout.weights,
                    "threads": threads,
                    "call": call,
                    "seconds": timing.median,
                    "spread": timing.spread,
                    "ns_per_occurrence": timing.median / len(batch.attr) * 1e9,
                    "gigabytes_per_second": 8 * L * len(batch.attr) / timing.median / 1e9,
                    "timing": plain(timing),
                }
            )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="five repetitions instead of fifteen")
    options = parser.parse_args()
    path = Path(os.environ.get("CRFKIT_DATA", "../shared/data")) / "conll2000" / "train.txt.gz"
    batch = conll2000(path) if path.exists() else random_batch()
    rows = []
    for name, make in (("all pairs", Layout.all_pairs), ("observed", Layout.observed)):
        rows += measure(name, make(batch, L), batch, 5 if options.quick else 15)
    table = Table(title=f"{len(batch.attr):,} occurrences, {kernels.name}")
    for column in ("layout", "weights", "threads", "call", "ms", "spread", "ns/occurrence", "GB/s"):
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(
            row["layout"],
            f"{row['weights']:,}",
            str(row["threads"]),
            row["call"],
            f"{row['seconds'] * 1e3:.1f}",
            f"{row['spread']:.0%}",
            f"{row['ns_per_occurrence']:.2f}",
            f"{row['gigabytes_per_second']:.0f}",
        )
    console = Console()
    console.print(table)
    console.print(f"written to {write('layout', rows)}")


if __name__ == "__main__":
    main()
