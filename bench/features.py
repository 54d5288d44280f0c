"""From a file to a Batch: columns, templates, ids.

    python -m bench.features [--quick]

CoNLL-2000 (training part) with the chunking template of CRF++: seconds on one thread and on all, beside
python-crfsuite (feature strings made in Python, then Trainer.append) where it is installed; and with
templates of segments of up to 6 words: phrase, shape, and three words around each end. Brown (1.16 M
tokens) with a recipe of 20 templates, beside the time of ``gzip -dc | wc -w`` and one Python ``split``. Peak
memory per attribute occurrence, in a process of its own (Linux). Needs the corpora: set CRFKIT_DATA.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import crfkit
from bench.measure import interleaved, plain, write
from crfkit.data.dataset import Dataset
from crfkit.data.formats.columns import Columns
from crfkit.features import Extractor, Recipe
from crfkit.features.crfpp import parse_crfpp
from crfkit.native import threads_or_all

DATA = Path(os.environ.get("CRFKIT_DATA", "../shared/data"))
CONLL = DATA / "conll2000" / "train.txt.gz"
BROWN = DATA / "brown" / "brown.txt.gz"

WORD = [[(0, o)] for o in range(-2, 3)] + [[(0, -1), (0, 0)], [(0, 0), (0, 1)]]
TAG = (
    [[(1, o)] for o in range(-2, 3)]
    + [[(1, o), (1, o + 1)] for o in range(-2, 2)]
    + [[(1, o), (1, o + 1), (1, o + 2)] for o in range(-2, 1)]
)
FIELDS = WORD + TAG
CHUNKING = parse_crfpp(
    "\n".join(f"U{i:02}:" + "/".join(f"%x[{o},{c}]" for c, o in f) for i, f in enumerate(FIELDS)) + "\nB"
)
TAGGING = Recipe.parse(
    "bias; word[-2..2]; lower(word)[0]; prefix(word, 1)[0]; prefix(word, 2)[0]; prefix(word, 3)[0];"
    "suffix(word, 1)[0]; suffix(word, 2)[0]; suffix(word, 3)[0]; suffix(word, 4)[0]; shape(word)[0];"
    "suffix(word, 2)[-1]; suffix(word, 2)[1]; shape(word)[-1] & shape(word)[0];"
    "word[-1] & word[0]; word[0] & word[1]"
)
SEGMENTS = Recipe.parse("segment: 0[..]; segment: shape(0)[..]; begin: 0[-2..0]; end: 0[0..2]")


def extract(
    path: Path, recipe: Recipe, names: list[str] | None, threads: int, longest: int | None = None
) -> Dataset:
    columns = crfkit.read(path, format="columns", columns=names)
    assert isinstance(columns, Columns)
    return Extractor(recipe, longest=longest)(columns, threads)


def python_crfsuite(path: Path) -> object:
    """Feature strings in Python, handed over one sequence at a time: what python-crfsuite's users write."""
    import pycrfsuite

    def value(rows: list[list[str]], column: int, t: int) -> str:
        if t < 0:
            return f"_B{t}"
        return rows[t][column] if t < len(rows) else f"_B+{t - len(rows) + 1}"

    with gzip.open(path, "rt", encoding="utf-8") as file:
        sequences = [[line.split() for line in s.splitlines()] for s in file.read().strip().split("\n\n")]
    trainer = pycrfsuite.Trainer(verbose=False)
    for rows in sequences:
        items = [
            [f"U{i:02}:" + "/".join(value(rows, c, t + o) for c, o in f) for i, f in enumerate(FIELDS)]
            for t in range(len(rows))
        ]
        trainer.append(items, [row[2] for row in rows])
    return trainer


def words_and_split(path: Path) -> int:
    subprocess.run(f"gzip -dc '{path}' | wc -w", shell=True, check=True, capture_output=True)
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return len(file.read().split())


def peak_memory(which: str) -> float:
    """Bytes of peak memory per attribute occurrence, above what the imports take, in a new process."""
    code = f"import bench.features as b; b.print_memory({which!r})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(run.stdout)


def high_water() -> int:
    """Largest resident memory of this process in bytes (ru_maxrss would include the parent's)."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def print_memory(which: str) -> None:
    before = high_water()
    made = (
        extract(CONLL, CHUNKING, None, 1)
        if which == "conll2000"
        else extract(BROWN, TAGGING, ["word", "tag"], 1)
    )
    print((high_water() - before) / len(made.batch.attr))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="three repetitions instead of seven")
    options = parser.parse_args()
    console = Console()
    if not CONLL.exists():
        console.print(f"{CONLL} is not there: set CRFKIT_DATA to the folder of the corpora")
        raise SystemExit(2)
    everything = threads_or_all(None)
    table = Table(title="file -> Batch")
    for name in ("corpus", "what", "seconds", "spread", "times the first"):
        table.add_column(name, justify="left" if name in ("corpus", "what") else "right")
    rows: list[dict[str, Any]] = []
    conll: dict[str, Callable[[], object]] = {
        "crfkit, 1 thread": lambda: extract(CONLL, CHUNKING, None, 1),
        f"crfkit, {everything} threads": lambda: extract(CONLL, CHUNKING, None, everything),
    }
    conll["crfkit, segments, 1 thread"] = lambda: extract(CONLL, SEGMENTS, None, 1, longest=6)
    if importlib.util.find_spec("pycrfsuite"):
        conll["python-crfsuite"] = lambda: python_crfsuite(CONLL)
    brown: dict[str, Callable[[], object]] = {
        "crfkit, 1 thread": lambda: extract(BROWN, TAGGING, ["word", "tag"], 1),
        f"crfkit, {everything} threads": lambda: extract(BROWN, TAGGING, ["word", "tag"], everything),
        "gzip | wc and split": lambda: words_and_split(BROWN),
    }
    for corpus, calls in (("conll2000", conll), ("brown", brown)):
        timings = interleaved(calls, 3 if options.quick else 7)
        first = next(iter(timings.values()))
        for name, timing in timings.items():
            ratio = timing.median / first.median
            rows.append({"corpus": corpus, "what": name, "times_first": ratio, **plain(timing)})
            table.add_row(corpus, name, f"{timing.median:.3f}", f"{timing.spread:.0%}", f"{ratio:.2f}")
        memory = peak_memory(corpus)
        rows.append({"corpus": corpus, "what": "peak bytes per attribute occurrence", "bytes": memory})
        table.add_row(corpus, "peak bytes per attribute occurrence", f"{memory:.1f}", "", "")
    console.print(table)
    console.print(f"written to {write('features', rows)}")


if __name__ == "__main__":
    main()
