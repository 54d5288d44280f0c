"""Tagging: from a file to labels, one sequence at a time, opening, starting, and endless input.

    python -m bench.tag [--quick] [--gigabyte]

CoNLL-2000's test part with the fields of CRFsuite's chunking example, beside python-crfsuite. The model is
trained once by crfkit and exported, so that both tag with the same weights; their labels must be the same.
Both sides open the model, read the file and return lists of labels. Python's features are made in the plain
way that most programs have, and column by column, which is as quick as Python gets. Seconds are those of the
processor, as everything but the comparison of one thread with two runs on one. --gigabyte streams 1 GB with
words that never end through ``crfkit tag`` and looks at its memory (Linux; some minutes).

Writes tag.json and tag.md to bench/results. Needs the corpora (CRFKIT_DATA), for the peer `pip install
python-crfsuite`.
"""

from __future__ import annotations

import argparse
import gc
import gzip
import importlib.util
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

import crfkit
import crfkit.compat.pycrfsuite as face
from bench.features import CHUNKING, CONLL, FIELDS
from bench.measure import RESULTS, interleaved, machine, plain, write
from crfkit import Likelihood, Model, train
from crfkit.cli import tagging
from crfkit.cli.groups.data import Data
from crfkit.data.formats.columns import Columns
from crfkit.features import Extractor
from crfkit.models import Tagger
from crfkit.models.files import write_model

TEST = CONLL.with_name("test.txt.gz")
MODELS = Path(__file__).parents[1] / "build" / "bench"  # make clean forgets them
OURS, THEIRS = MODELS / "tag.crf", MODELS / "tag.crfsuite"
PEER = importlib.util.find_spec("pycrfsuite") is not None

Sentence = list[list[str]]  # the columns of each token
Items = list[list[str]]  # the features of each token
Labels = list[list[str]]  # of every sentence


# ---- the model ------------------------------------------------------------------------------------------


def make_model(console: Console) -> None:
    """Train and export, unless that was done before."""
    if OURS.exists() and THEIRS.exists():
        return
    console.print("training the model, once")
    columns = crfkit.read(CONLL, format="columns")
    assert isinstance(columns, Columns)
    extract = Extractor(CHUNKING)
    model = train(extract(columns), objective=Likelihood(l2=2.0))
    MODELS.mkdir(parents=True, exist_ok=True)
    model.save(OURS)
    write_model(model, THEIRS, "crfsuite")


# ---- features in Python ---------------------------------------------------------------------------------


def sentences() -> list[Sentence]:
    with gzip.open(TEST, "rt", encoding="utf-8") as file:
        return [[line.split() for line in one.splitlines()] for one in file.read().strip().split("\n\n")]


def _field(rows: Sentence, column: int, t: int) -> str:
    if t < 0:
        return f"_B{t}"
    return rows[t][column] if t < len(rows) else f"_B+{t - len(rows) + 1}"


def token_by_token(rows: Sentence) -> Items:
    """Make the features as most programs do."""
    return [
        [f"U{i:02}:" + "/".join(_field(rows, c, t + o) for c, o in f) for i, f in enumerate(FIELDS)]
        for t in range(len(rows))
    ]


def column_by_column(rows: Sentence) -> Items:
    """Make the same with as little work in the interpreter as possible."""
    T = len(rows)
    padded = [["_B-2", "_B-1", *(row[c] for row in rows), "_B+1", "_B+2"] for c in (0, 1)]
    made = []
    for i, fields in enumerate(FIELDS):
        name, parts = f"U{i:02}:", [padded[c][2 + o : 2 + o + T] for c, o in fields]
        joined = parts[0] if len(parts) == 1 else map("/".join, zip(*parts, strict=True))
        made.append([name + text for text in joined])
    return [list(item) for item in zip(*made, strict=True)]


# ---- from a file to labels ------------------------------------------------------------------------------


def peer_file(features: Callable[[Sentence], Items]) -> Labels:
    tagger = opened_peer()
    return [tagger.tag(features(rows)) for rows in sentences()]


def our_file(threads: int) -> Labels:
    """Do what ``crfkit tag`` does, without the writing."""
    tagger = tagging.Tagger(str(OURS), threads=threads)
    return [
        labels
        for block in Data().blocks(str(TEST), attributes=False, threads=threads)
        for labels in tagger.model.predict(tagger.batch(block), threads=threads)
    ]


def opened_peer() -> Any:
    import pycrfsuite

    tagger = pycrfsuite.Tagger()
    tagger.open(str(THEIRS))
    return tagger


def opened_face() -> face.Tagger:
    tagger = face.Tagger()
    tagger.open(str(THEIRS))
    return tagger


# ---- the process ----------------------------------------------------------------------------------------


def _environment() -> dict[str, str]:
    """Return the environment without what keeps Python from using compiled files."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def _command(*words: str) -> list[str]:
    return [sys.executable, "-m", "crfkit.cli", "tag", str(OURS), *words]


def start_seconds(runs: int) -> list[tuple[float, float]]:
    """Seconds from the start of a process until its first output, on one sentence, and of the processor."""
    taken = []
    for _ in range(runs + 1):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begin = time.perf_counter()
        command = _command("-", "--print", "labels", "--quiet")
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with subprocess.Popen(command, env=_environment(), **pipes) as child:  # type: ignore[call-overload]
            child.stdin.write(b"The DT\ndog NN\nran VBD\n\n")
            child.stdin.close()
            child.stdout.read(1)
            first = time.perf_counter() - begin
            child.stdout.read()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append((first, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime))
    return taken[1:]  # the first one writes the compiled files


def endless(bytes_wanted: int) -> Iterator[bytes]:
    """Yield sentences of the test part again and again; every ninth word is one that never was."""
    text = [[" ".join(row[:2]) for row in rows] for rows in sentences()]
    made = turn = 0
    while made < bytes_wanted:
        turn += 1
        lines = []
        for n, rows in enumerate(text):
            lines += [row if (n + t) % 9 else f"{turn}x{row}" for t, row in enumerate(rows)]
            lines.append("")
        chunk = ("\n".join(lines) + "\n").encode()
        made += len(chunk)
        yield chunk


def memory_of_a_gigabyte(size: int, console: Console) -> dict[str, Any]:
    """Stream so many bytes through ``crfkit tag``; resident memory as it goes, in MB."""
    command = _command("-", "--print", "labels", "--quiet")
    with tempfile.TemporaryFile() as out:
        pipe = {"stdin": subprocess.PIPE, "stdout": out}
        child = subprocess.Popen(command, env=_environment(), **pipe)  # type: ignore[call-overload]
        fed, samples, begin = 0, list[tuple[int, float]](), time.perf_counter()
        done = threading.Event()

        def watch() -> None:
            while not done.wait(1.0):
                status = Path(f"/proc/{child.pid}/status").read_text()
                samples.append((fed, int(status.split("VmRSS:")[1].split()[0]) / 1024))

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            for chunk in endless(size):
                child.stdin.write(chunk)
                fed += len(chunk)
        finally:
            done.set()
            watcher.join()
            child.stdin.close()
        if child.wait():
            raise SystemExit("crfkit tag failed on the large input")
        seconds = time.perf_counter() - begin
    tenths = [[mb for at, mb in samples if size * i // 10 <= at < size * (i + 1) // 10] for i in range(10)]
    peaks = [max(part, default=0.0) for part in tenths]
    console.print("MB at each tenth: " + ", ".join(f"{mb:.0f}" for mb in peaks))
    return {"what": "memory", "bytes": fed, "seconds": seconds, "mb_by_tenth": peaks}


# ---- the report -----------------------------------------------------------------------------------------


def calls() -> dict[str, Callable[[], object]]:
    """What is timed in turn: "question|who"."""
    items = [column_by_column(rows) for rows in sentences()]
    firsts = [sentence[:1] for sentence in items]
    ours = Tagger(replace(Model.load(OURS), extractor=None))  # features are ready: no recipe makes them
    dropin = opened_face()
    expected = our_file(1)
    assert our_file(2) == expected
    assert [ours.tag(x) for x in items] == [dropin.tag(x) for x in items] == expected
    sequences = [face.ItemSequence(x) for x in items]
    gc.freeze()  # features that wait in lists are no part of any question
    made: dict[str, Callable[[], object]] = {
        "file to labels|crfkit": lambda: our_file(1),
        "ready features, sentences|crfkit": lambda: [ours.tag(x) for x in items],
        "ready features, sentences|drop-in": lambda: [dropin.tag(x) for x in items],
        "ItemSequence, sentences|drop-in": lambda: [dropin.tag(x) for x in sequences],
        "ready features, single items|crfkit": lambda: [ours.tag(x) for x in firsts],
        "ready features, single items|drop-in": lambda: [dropin.tag(x) for x in firsts],
        "opening the model|crfkit": lambda: Model.load(OURS),
        "opening the model|drop-in": opened_face,
    }
    if PEER:
        import pycrfsuite

        tagger = opened_peer()
        assert [tagger.tag(x) for x in items] == expected
        assert [token_by_token(rows) for rows in sentences()] == items
        theirs = [pycrfsuite.ItemSequence(x) for x in items]
        made |= {
            "file to labels|token by token": lambda: peer_file(token_by_token),
            "file to labels|column by column": lambda: peer_file(column_by_column),
            "ready features, sentences|peer": lambda: [tagger.tag(x) for x in items],
            "ItemSequence, sentences|peer": lambda: [tagger.tag(x) for x in theirs],
            "ready features, single items|peer": lambda: [tagger.tag(x) for x in firsts],
            "opening the model|peer": opened_peer,
        }
    return dict(sorted(made.items()))  # one question after the other, its answers side by side


#: What a row is compared with, and what stands beside it where there are two ways.
COMPARED = ("peer", "token by token", "column by column")


def table(rows: list[dict[str, Any]]) -> str:
    """All results as Markdown."""
    about = machine()
    timed = {row["what"]: row["median"] for row in rows if "median" in row}
    lines = [f"{about['processor']}, {about['cores']} cores, commit {about['commit']}, {about['date']}."]
    lines += ["", "| what | who | ms | python-crfsuite takes |", "| --- | --- | --: | --: |"]
    for name, seconds in timed.items():
        what, who = name.split("|")
        others = [timed[f"{what}|{peer}"] for peer in COMPARED if f"{what}|{peer}" in timed]
        times = " and ".join(f"{other / seconds:.1f}x" for other in others)
        ours = who in ("crfkit", "drop-in")
        shown = who if ours else "python-crfsuite" if who == "peer" else f"python-crfsuite, {who}"
        lines.append(f"| {what} | {shown} | {1e3 * seconds:.1f} | {times if ours else ''} |")
    for row in rows:
        if row["what"] == "threads":
            lines += ["", f"File to labels on two threads: {row['ratio']:.2f} of the time on one."]
        if row["what"] == "start":
            lines += ["", f"`crfkit tag` until its first output: {row['least']:.2f} s at the least, "]
            lines[-1] += f"{row['middle']:.2f} s in the middle of {row['runs']} starts; "
            lines[-1] += f"{row['processor']:.2f} s of the processor."
        if row["what"] == "memory":
            peaks = row["mb_by_tenth"]
            lines += ["", f"{row['bytes'] / 1e9:.2f} GB through `crfkit tag`: {row['seconds']:.0f} s, "]
            lines[-1] += f"{max(peaks[:2]):.0f} MB in the first fifth, {max(peaks):.0f} MB at the most."
    return "\n".join([*lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="three repetitions instead of nine")
    parser.add_argument("--gigabyte", action="store_true", help="stream 1 GB as well, and watch the memory")
    options = parser.parse_args()
    console = Console(stderr=True)
    if not TEST.exists():
        console.print(f"{TEST} is not there: set CRFKIT_DATA to the folder of the corpora")
        raise SystemExit(2)
    if not PEER:
        console.print("nothing to compare with: pip install python-crfsuite")
    make_model(console)
    repetitions = 3 if options.quick else 9
    timings = interleaved(calls(), repetitions, clock=time.process_time)
    rows: list[dict[str, Any]] = [{"what": name, **plain(timing)} for name, timing in timings.items()]
    by_threads = interleaved({"1": lambda: our_file(1), "2": lambda: our_file(2)}, 3 * repetitions)
    rows.append({"what": "threads", "ratio": by_threads["2"].median / by_threads["1"].median})
    taken = start_seconds(3 * repetitions)
    first, processor = ([one[i] for one in taken] for i in (0, 1))
    start = {"least": min(first), "middle": statistics.median(first), "runs": len(taken)}
    rows.append({"what": "start", **start, "processor": min(processor)})
    report(rows, console)
    if options.gigabyte:
        rows.append(memory_of_a_gigabyte(10**9, console))
        report(rows, console)


def report(rows: list[dict[str, Any]], console: Console) -> None:
    """Print and write what there is so far."""
    text = table(rows)
    (RESULTS / "tag.md").write_text(text, encoding="utf-8")
    print(text)
    console.print(f"written to {write('tag', rows)} and {RESULTS / 'tag.md'}")


if __name__ == "__main__":
    main()
