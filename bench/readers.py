"""Readers of attributes: CRFsuite's text, JSON lines of items and SimpleTagger's text, from a file to ids.

    python -m bench.readers [--quick]

CoNLL-2000's training part with the features of `bench.tag`, beside what a program in Python does: parse the
file and give the items to python-crfsuite's Trainer, and for JSON the parsing alone. Seconds of one thread
are those of the processor; with all cores they are those of the clock, so that they need a quiet machine. The
last row of a format reads the text twice over: what that costs above twice as much is not linear.

Writes readers.json to bench/results. Needs the corpora (CRFKIT_DATA) and Linux, for the peer `pip install
python-crfsuite`.
"""

from __future__ import annotations

import argparse
import gc
import gzip
import io
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import crfkit
from bench.features import CONLL
from bench.measure import interleaved, plain, write
from bench.tag import MODELS, PEER, Items, column_by_column
from crfkit.data import Dataset

FORMATS = {"crfsuite": "txt", "jsonl": "jsonl", "mallet": "mallet"}


def path_of(format: str) -> Path:
    return MODELS / f"readers.{FORMATS[format]}"


def make_files() -> None:
    """Write the same sequences in every format, unless that was done before."""
    if all(path_of(format).exists() for format in FORMATS):
        return
    MODELS.mkdir(parents=True, exist_ok=True)
    with gzip.open(CONLL, "rt", encoding="utf-8") as file:
        sentences = [[x.split() for x in one.splitlines()] for one in file.read().strip().split("\n\n")]
    written: dict[str, list[str]] = {format: [] for format in FORMATS}
    for rows in sentences:
        items, labels = column_by_column(rows), [row[2] for row in rows]
        objects = [dict(name.split(":", 1) for name in item) for item in items]
        written["jsonl"].append(json.dumps({"items": objects, "labels": labels}))
        for item, label in zip(items, labels, strict=True):
            names = [name.replace("\\", "\\\\").replace(":", "\\:") for name in item]
            written["crfsuite"].append("\t".join([label, *names]))
            written["mallet"].append(" ".join([*item, label]))
        written["crfsuite"].append("")
        written["mallet"].append("")
    for format, lines in written.items():
        path_of(format).write_text("\n".join(lines) + "\n", encoding="utf-8")


# ---- in Python ------------------------------------------------------------------------------------------


def crfsuite_lines() -> Iterator[tuple[Items, list[str]]]:
    items: Items = []
    labels: list[str] = []
    with path_of("crfsuite").open(encoding="utf-8") as file:
        for line in file:
            label, *names = line.rstrip("\n").split("\t")
            if not label:
                yield items, labels
                items, labels = [], []
                continue
            labels.append(label)
            items.append([name.replace("\\:", ":").replace("\\\\", "\\") for name in names])


def mallet_lines() -> Iterator[tuple[Items, list[str]]]:
    items: Items = []
    labels: list[str] = []
    with path_of("mallet").open(encoding="utf-8") as file:
        for line in file:
            *names, label = line.rstrip("\n").split(" ")
            if not label:
                yield items, labels
                items, labels = [], []
                continue
            labels.append(label)
            items.append(names)


def json_lines() -> Iterator[tuple[Any, list[str]]]:
    with path_of("jsonl").open(encoding="utf-8") as file:
        for line in file:
            record = json.loads(line)
            yield record["items"], record["labels"]


PLAIN: dict[str, Callable[[], Iterator[tuple[Any, list[str]]]]] = {
    "crfsuite": crfsuite_lines,
    "jsonl": json_lines,
    "mallet": mallet_lines,
}


def parse(format: str) -> int:
    """Parse in Python, and keep nothing."""
    return sum(len(labels) for _, labels in PLAIN[format]())


def append(format: str) -> None:
    """Parse in Python, and give all to python-crfsuite."""
    import pycrfsuite

    trainer = pycrfsuite.Trainer(verbose=False)
    for items, labels in PLAIN[format]():
        trainer.append(items, labels)


# ---- natively -------------------------------------------------------------------------------------------


@contextmanager
def cores(count: int) -> Iterator[None]:
    """Run on so many cores; the readers ask how many there are."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[:count])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def read(format: str, count: int, text: bytes | None = None) -> Dataset:
    """Read the file, or this text."""
    with cores(count):
        made = crfkit.read(path_of(format) if text is None else io.BytesIO(text), format)
    assert isinstance(made, Dataset)
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="three repetitions instead of seven")
    options = parser.parse_args()
    console = Console()
    if not CONLL.exists():
        console.print(f"{CONLL} is not there: set CRFKIT_DATA to the folder of the corpora")
        raise SystemExit(2)
    make_files()
    everything = len(os.sched_getaffinity(0))
    table = Table(title="file -> Dataset")
    for name in ("format", "what", "seconds", "spread", "MB/s", "M attributes/s", "times the first"):
        table.add_column(name, justify="left" if name in ("format", "what") else "right")
    rows: list[dict[str, Any]] = []
    for format in FORMATS:
        twice = path_of(format).read_bytes() * 2
        size, attributes = path_of(format).stat().st_size, len(read(format, 1).batch.attr)
        single: dict[str, Callable[[], object]] = {"crfkit, 1 thread": partial(read, format, 1)}
        single["parsed in Python"] = partial(parse, format)
        if PEER:
            single["and python-crfsuite's Trainer"] = partial(append, format)
        single["crfkit, 1 thread, twice the text"] = partial(read, format, 1, twice)
        several: dict[str, Callable[[], object]] = {}
        several[f"crfkit, {everything} threads"] = partial(read, format, everything)
        rounds = 3 if options.quick else 7
        gc.collect()
        timings = interleaved(single, rounds, clock=time.process_time) | interleaved(several, rounds)
        first = timings["crfkit, 1 thread"].median
        for name, timing in timings.items():
            ratio, times = timing.median / first, 2 if "twice" in name else 1
            speed = times * size / timing.median / 1e6, times * attributes / timing.median / 1e6
            rows.append(
                {"format": format, "what": name, "MB_per_s": speed[0], "M_attributes_per_s": speed[1]}
                | {"times_first": ratio, **plain(timing)}
            )
            shown = [f"{timing.median:.3f}", f"{timing.spread:.0%}", f"{speed[0]:.0f}", f"{speed[1]:.2f}"]
            table.add_row(format, name, *shown, f"{ratio:.2f}")
    console.print(table)
    console.print(f"written to {write('readers', rows)}")


if __name__ == "__main__":
    main()
