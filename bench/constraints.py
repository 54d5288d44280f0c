"""Labels of addresses under the constraint that each field is one run, beside free labels.

    python -m bench.constraints [--quick]

A chain is trained on the labeled addresses of usaddress; 100,000 lines are those of its three test files,
again and again. Both ways decode the same batch, in turn, on one thread; seconds of the processor, so that
other programs count less. Reads the folder CRFKIT_DATA; without it, lines are generated.
"""

from __future__ import annotations

import argparse
import os
from functools import partial
from pathlib import Path
from random import Random
from time import process_time
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import crfkit
from bench.measure import interleaved, plain, write
from crfkit import ChainCRF
from crfkit.constraints import AtMost, AtMostOnce, Before
from crfkit.data.formats.columns import Columns
from crfkit.inference.constrained.kinds import GlobalConstraint

LINES = 100_000
TEMPLATE = "word[-2..2]; lower(word)[-1..1]; shape(word)[-1..1]; suffix(word, 3)[0]; prefix(word, 3)[0]"
TESTS = ("labeled_test.txt", "us50_test.txt", "synthetic_osm_test.txt")
Rows = list[list[tuple[str, str]]]


def real(folder: Path) -> tuple[Rows, Rows]:
    """Labeled addresses to learn from, and lines to label."""

    def rows(name: str) -> Rows:
        read = crfkit.read(folder / "usaddress" / name, columns=["word", "label"])
        assert isinstance(read, Columns)
        return [[(word, label) for word, label in sentence] for sentence in read]

    return rows("labeled_train.txt"), [line for name in TESTS for line in rows(name)]


def generated() -> tuple[Rows, Rows]:
    """Draw lines of a grammar in which streets and places share words."""
    random = Random(0)
    words = {
        "number": [str(n) for n in range(1, 200)],
        "street": ["oak", "elm", "main", "lake", "hill", "north", "street", "road"],
        "place": ["oak", "lake", "hill", "springs", "city", "north"],
        "state": ["NY", "CA", "TX", "IL"],
        "code": [f"{n:05d}" for n in range(10_000, 10_300)],
    }

    def line() -> list[tuple[str, str]]:
        return [
            (random.choice(words[field]), field)
            for field in words
            for _ in range(random.randint(1, 3) if field in ("street", "place") else 1)
        ]

    return [line() for _ in range(300)], [line() for _ in range(2000)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="a tenth of the lines")
    options = parser.parse_args()
    folder = os.environ.get("CRFKIT_DATA")
    train, lines = real(Path(folder)) if folder else generated()
    words, labels = ([[token[i] for token in line] for line in train] for i in (0, 1))
    model = ChainCRF(features=TEMPLATE).fit(words, labels).model_
    batch = model.batch_of([[word for word, _ in line] for line in lines])
    count = LINES // 10 if options.quick else LINES
    batch = batch.select(np.resize(np.arange(len(lines)), count))
    first, last = labels[0][0], labels[0][-1]
    kinds: dict[str, list[GlobalConstraint]] = {
        "AtMostOnce()": [AtMostOnce()],
        f"Before({first!r}, {last!r})": [Before(first, last)],
        f"AtMost({first!r}, 1)": [AtMost(first, 1)],
    }
    calls: dict[str, Any] = {"free": partial(model._path, batch, threads=1)}
    calls |= {name: partial(model._decode, batch, rules, threads=1) for name, rules in kinds.items()}
    timings = interleaved(calls, repetitions=5, clock=process_time)
    free = timings["free"].median
    rows: list[dict[str, Any]] = []
    table = Table(title=f"{count:,} lines, {batch.positions:,} words, {len(model.labels)} labels, one thread")
    for column in ("constraint", "s", "speed, free = 1", "ways"):
        table.add_column(column, justify="right" if column != "ways" else "left")
    for name, timing in timings.items():
        ways = model._decode(batch, kinds[name], threads=1).counts() if name in kinds else {}
        rows.append(
            {"constraint": name, "ratio": free / timing.median, "ways": ways, "timing": plain(timing)}
        )
        told = ", ".join(f"{number:,} {way}" for way, number in ways.items())
        table.add_row(name, f"{timing.median:.2f}", f"{free / timing.median:.2f}", told)
    console = Console()
    console.print(table)
    console.print(f"written to {write('constraints', rows)}")


if __name__ == "__main__":
    main()
