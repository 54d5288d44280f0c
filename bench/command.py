"""``crfkit train`` as a whole command, from a file of CRFsuite's text to a model, beside CRFsuite's training.

    python -m bench.command [--corpora conll2000,ptb] [--repetitions 5] [--threads 2] [--iterations 10]

Each repetition runs the command as a process (what a user waits for), the same with a clock for each phase,
and CRFsuite on the same features. CRFsuite's clock covers `Trainer.train` alone, not the reading. It gets
some iterations (at least 10), whose time for each evaluation is multiplied by the evaluations that it takes
to its own end (`bench.corpora`, deterministic); --iterations 0 lets it run to that end. Medians.

Writes command.json to bench/results. Needs the corpora (CRFKIT_DATA), for the peer `pip install
python-crfsuite`.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console

from bench.child import Task
from bench.corpora import CORPORA, Corpus
from bench.measure import write
from bench.runs import Row, chosen, run, table

MADE = Path(__file__).parents[1] / "build" / "bench"  # make clean forgets it
WITH_PEER = [name for name, corpus in CORPORA.items() if corpus.peer is not None and corpus.items]


def text_of(corpus: Corpus) -> Path:
    """Return the training data as CRFsuite's text, written once."""
    path = MADE / f"{corpus.name}.crfsuite.txt"
    if path.exists():
        return path
    MADE.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    with new.open("w", encoding="utf-8") as file:
        for items, labels in zip(*corpus.featured(), strict=True):
            for item, label in zip(items, labels, strict=True):
                fields = (str(name).replace("\\", "\\\\").replace(":", "\\:") for name in (label, *item))
                file.write("\t".join(fields) + "\n")
            file.write("\n")
    new.replace(path)
    return path


def environment() -> dict[str, str]:
    """Return that of a user, in which modules are compiled once, wherever the bench itself is run."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def timed(words: list[str]) -> tuple[float, float]:
    """Run a command; return its seconds of the wall and of the processor."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(words, check=True, env=environment())
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def by_phase(words: list[str], folder: Path) -> dict[str, list[float]]:
    """Run a command; return seconds of the wall and of the processor by phase."""
    file = folder / "phases.json"
    begin = time.perf_counter()
    child = [sys.executable, "-m", "bench.command_child", repr(begin), str(file), *words]
    subprocess.run(child, check=True, env=environment())
    ended = time.perf_counter()
    found = json.loads(file.read_text())
    phases: dict[str, list[float]] = found["phases"]
    return {**phases, "exit": [ended - found["ended"], 0.0]}


def peer_seconds(corpus: Corpus, iterations: int, console: Console) -> float:
    """Return CRFsuite's seconds of the processor to its own end."""
    assert corpus.peer is not None
    row = run(Task("peer", corpus.name, iterations=iterations or None), 1e5, lambda text: None)
    if not row["curve"]:
        raise SystemExit(f"CRFsuite: {row.get('why') or row.get('stopped')}")
    if not iterations:
        return float(row["cpu"])
    (first, last), passes = (row["cpus"][0], row["cpus"][-1]), [one[1] for one in row["curve"]]
    each = (last - first) / (passes[-1] - passes[0])
    console.print(f"  CRFsuite: {each:.3f} s an evaluation")
    return float(first + each * (corpus.peer.evaluations - passes[0]))


def measure(corpus: Corpus, options: argparse.Namespace, console: Console) -> Row:
    path = text_of(corpus)
    walls, cpus, peers = [], [], []
    phases: dict[str, list[list[float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        words = ["train", str(path), "-o", str(Path(folder) / "m.crf"), "--l2", str(corpus.l2), "--quiet"]
        words += ["--jobs", str(options.threads)]
        timed([sys.executable, "-m", "crfkit.cli", *words])  # compiles Python, and the file is in memory
        for _ in range(options.repetitions):
            wall, cpu = timed([sys.executable, "-m", "crfkit.cli", *words])
            walls.append(wall)
            cpus.append(cpu)
            for name, spent in by_phase(words, Path(folder)).items():
                phases.setdefault(name, []).append(spent)
            if not options.alone:
                peers.append(peer_seconds(corpus, options.iterations, console))
            console.print(f"  {corpus.name}: {wall:.2f} s, {cpu:.2f} s of the processor")
    peer = statistics.median(peers) if peers else None
    wall = statistics.median(walls)
    return {
        "corpus": corpus.name,
        "threads": options.threads,
        "wall": wall,
        "cpu": statistics.median(cpus),
        "crfsuite": peer,
        "times": None if peer is None else peer / wall,
        "phases": {
            name: [statistics.median(one[i] for one in each) for i in (0, 1)] for name, each in phases.items()
        },
    }


def tables(rows: list[Row]) -> list[str]:
    """Return the tables of the results."""
    made = []
    for row in rows:
        against = "–" if row["crfsuite"] is None else f"{row['crfsuite']:.1f} s, {row['times']:.1f}x"
        whole = [["**whole command**", f"{row['wall']:.2f}", f"{row['cpu']:.2f}"]]
        each = [[name, f"{wall:.2f}", f"{cpu:.2f}"] for name, (wall, cpu) in row["phases"].items()]
        head = f"{row['corpus']}, {row['threads']} threads; CRFsuite {against}|wall s|processor s"
        made += table(head, 1, whole + each)
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--corpora", default="conll2000", help=f"all, or some of {','.join(WITH_PEER)}")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--threads", type=int, default=min(os.cpu_count() or 1, 2))
    parser.add_argument("--iterations", type=int, default=10, help="of CRFsuite; 0: to its own end")
    parser.add_argument("--alone", action="store_true", help="leave CRFsuite out")
    options, console = parser.parse_args(), Console()
    names = chosen(options.corpora, WITH_PEER, "corpus with known evaluations of CRFsuite")
    rows = [measure(CORPORA[name], options, console) for name in names]
    write("command", rows)
    print("\n".join(tables(rows)))


if __name__ == "__main__":
    main()
