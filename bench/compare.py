"""This working tree beside an older commit, on the same machine in the same run: what became slower?

    python -m bench.compare [--base REV] [--repeats 5] [--quick] [--json FILE]
    python -m bench.compare --base-python /path/to/python [--base-source /path/to/src]

The first form builds the commit (default: HEAD) in build/compare, once; the second takes a Python that has
it. The versions run each measurement of `bench.compare_child` in turn, in processes of their own; which one
is first alternates. Times are seconds of the processor on one thread unless the line says wall; memory is the
largest resident set. Both are given the same files: CoNLL-2000, seminar announcements and US addresses from
CRFKIT_DATA where they are there, and generated data.

A repeat gives one ratio for each measure: the figure of this tree by that of the older commit. The ratio of
the table is the median of these, and its noise the distance between their quartiles. A measure is SLOWER (for
memory: LARGER) when the ratio minus the noise is above 1.03, and faster when the ratio plus the noise is
below 0.97. What looks worse is measured as many times again before it is called so. Fewer than three repeats
are not judged. The exit status is 1 if something is slower or larger, fails in this tree, or if
training ends at an objective that is more than 0.02 % higher.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from bench import generated
from bench.compare_base import Side, built_side, given_side, this_side
from bench.corpora import CORPORA
from bench.corpus_features import Rows, chunking
from bench.features import FIELDS
from bench.measure import Timing, machine, replace_text
from bench.runs import table

MARGIN = 0.03  # what counts as slower, beyond the noise
HIGHER = 2e-4  # of an objective; training certifies 1e-4
LEAST = 3  # repeats for a verdict
KINDS = ("training", "evaluation", "tagging", "queries", "command")
TEXT = "text"  # the corpus whose features are made from columns

Answer = dict[str, Any]
Job = dict[str, Any]


# ---- data --------------------------------------------------------------------------------------------------


def write_data(folder: Path, quick: bool) -> list[Job]:
    """Write the files that both versions read; return what is measured with them."""
    conll = CORPORA["conll2000"]
    if quick or conll.missing:
        train: Iterable[Rows] = generated.chunks(80 if quick else 4000)
        test: Iterable[Rows] = generated.chunks(40 if quick else 1000)
    else:
        train, test = conll.sentences(), conll.sentences(test=True)
    for name, sentences in (("train", train), ("test", test)):
        rows = list(sentences)
        lines = ("\n".join(" ".join(row) for row in sentence) + "\n\n" for sentence in rows)
        (folder / f"{name}.txt").write_text("".join(lines), encoding="utf-8")
        pairs = ((chunking(sentence), [row[-1] for row in sentence]) for sentence in rows)
        _write_lines(folder / f"{TEXT if name == 'train' else name}.jsonl", pairs)
    template = "\n".join(
        f"U{i:02}:" + "/".join(f"%x[{o},{c}]" for c, o in parts) for i, parts in enumerate(FIELDS)
    )
    (folder / "template").write_text(f"{template}\nB\n")
    (folder / "template-edges").write_text(f"{template}\nB01:%x[0,1]\n")
    jobs: list[Job] = [{"what": "training", "corpus": TEXT, "l2": 2.0, "wall": True}]
    for corpus in (CORPORA[name] for name in ("seminars", "usaddress", "random60", "scales")):
        if quick or corpus.missing:
            continue
        _write_lines(folder / f"{corpus.name}.jsonl", zip(*corpus.featured(), strict=True))
        jobs.append({"what": "training", "corpus": corpus.name, "l2": corpus.l2})
    jobs += [{"what": "evaluation"}, {"what": "tagging", "corpus": TEXT}]
    jobs += [{"what": "queries"}, {"what": "command"}]
    pace = {"steps": 6, "seconds": 0.05} if quick else {"steps": 16}
    return [{**job, **pace, "folder": str(folder)} for job in jobs]


def _write_lines(path: Path, pairs: Iterable[tuple[Any, list[str]]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for pair in pairs:
            file.write(json.dumps(pair) + "\n")


# ---- measuring ---------------------------------------------------------------------------------------------


@dataclass
class Measured:
    """What both versions answered, repeat by repeat: the first of a pair is the older one's."""

    figures: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    jobs: dict[str, str] = field(default_factory=dict)  # which job a figure is from
    facts: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    errors: dict[str, tuple[str, str]] = field(default_factory=dict)

    def add(self, name: str, base: Answer, this: Answer) -> None:
        """Note a repeat of a job."""
        if "error" in base or "error" in this:
            self.errors[name] = (base.get("error", ""), this.get("error", ""))
            return
        for key, figure in base["figures"].items():
            self.figures.setdefault(key, []).append((figure, this["figures"][key]))
            self.jobs[key] = name
        for key, fact in base["facts"].items():
            self.facts[key] = (fact, this["facts"][key])

    def rows(self) -> list[Row]:
        return [judged(key, pairs) for key, pairs in self.figures.items()]

    def suspects(self) -> set[str]:
        """Return the jobs with a measure that looks worse."""
        return {self.jobs[f"{row.name}|{row.unit}"] for row in self.rows() if row.worse}


def name_of(job: Job) -> str:
    return " ".join(job[key] for key in ("what", "corpus") if key in job)


def measure(jobs: list[Job], base: Side, this: Side, repeats: int, out: Measured, console: Console) -> None:
    """Add so many repeats of some jobs."""
    for repeat in range(repeats):
        for job in jobs:
            name = name_of(job)
            console.print(f"{repeat + 1} of {repeats}: {name}", highlight=False)
            sides = (base, this) if repeat % 2 == 0 else (this, base)
            answers = {side.name: side.measure(job) for side in sides}
            out.add(name, answers["base"], answers["this"])


# ---- judging -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """One measure."""

    name: str
    unit: str
    base: Timing
    this: Timing
    ratio: float
    noise: float
    verdict: str

    @property
    def worse(self) -> bool:
        return self.verdict.endswith("beyond noise")

    def cells(self) -> list[str]:
        """Return the line of the table."""
        both = [amount(side.median, self.unit) for side in (self.base, self.this)]
        spreads = [f"{100 * side.spread:.1f} %" for side in (self.base, self.this)]
        return [self.name, *both, f"{self.ratio:.3f}", f"{self.noise:.3f}", *spreads, self.verdict]


def amount(value: float, unit: str) -> str:
    """Write a figure with its unit.

    >>> amount(0.0123, "s"), amount(12.3, "s"), amount(123.4, "MB")
    ('12.3 ms', '12.30 s', '123.4 MB')
    """
    if unit == "s":
        return f"{value:.2f} s" if value >= 1.0 else f"{1e3 * value:.3g} ms"
    return f"{value:.1f} {unit}"


def judged(key: str, pairs: list[tuple[float, float]]) -> Row:
    """Return the row of one measure, from the figures of the older version and of this one.

    >>> judged("tagging|s", [(1.0, 1.1), (1.0, 1.11), (1.0, 1.12)]).verdict
    'SLOWER beyond noise'
    >>> judged("tagging|s", [(1.0, 1.0), (1.0, 1.1), (1.0, 1.2)]).verdict
    'same'
    """
    name, unit = key.split("|")
    base, this = (timing([pair[i] for pair in pairs]) for i in (0, 1))
    ratios = timing([now / before for before, now in pairs])
    noise = ratios.high - ratios.low
    if len(pairs) < LEAST:
        verdict = "not judged"
    elif ratios.median - noise > 1.0 + MARGIN:
        verdict = "LARGER beyond noise" if unit == "MB" else "SLOWER beyond noise"
    elif ratios.median + noise < 1.0 - MARGIN:
        verdict = "smaller" if unit == "MB" else "faster"
    else:
        verdict = "same"
    return Row(name, unit, base, this, ratios.median, noise, verdict)


def timing(values: list[float]) -> Timing:
    """Return the median of some figures, and the quartiles around it."""
    if len(values) == 1:
        return Timing(values[0], values[0], values[0], 1)
    low, median, high = statistics.quantiles(values, n=4)
    return Timing(median, low, high, len(values))


def remarks(measured: Measured) -> Iterator[tuple[str, bool]]:
    """Yield what is to be said beside the table, and whether it counts against this tree."""
    for name, (before, now) in measured.errors.items():
        whose = " in both" if before and now else " in the older version" if before else " in this tree"
        yield f"FAILS{whose}: {name}: {now or before}", bool(now)
    for name, (before, now) in measured.facts.items():
        if name.startswith("objective"):
            change = now / before - 1.0
            yield f"{name}: {before:.4f} and {now:.4f}", change > HIGHER
        else:
            yield f"{name}: {'the same' if before == now else 'DIFFERS'}", False


HEAD = "measure|base|this|ratio|noise|spread of base|spread of this|verdict"


def report(rows: list[Row], notes: list[tuple[str, bool]]) -> str:
    """Return the table and what is to be said beside it."""
    lines = table(HEAD, 1, [row.cells() for row in rows])[1:]
    worse = [row.name for row in rows if row.worse]
    lines += [f"- {'NO  ' if bad else ''}{text}" for text, bad in notes]
    lines += ["", f"{len(rows)} measures; worse: {', '.join(worse) or 'none'}"]
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    """Compare; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.compare", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--base", default="HEAD", metavar="REV", help="the older commit (default: HEAD)")
    parser.add_argument("--base-python", metavar="PATH", help="a Python that has the older version")
    parser.add_argument("--base-source", metavar="FOLDER", help="where its package lies, if not installed")
    parser.add_argument("--repeats", type=int, default=5, help="of each measurement (default: 5)")
    parser.add_argument("--quick", action="store_true", help="small generated data: does everything run?")
    parser.add_argument("--only", default="", help="jobs by name, with commas: " + ", ".join(KINDS))
    parser.add_argument("--json", metavar="FILE", help="write all figures there as well")
    options = parser.parse_args(argv)
    if options.base_source and not options.base_python:
        parser.error("--base-source needs --base-python")
    if options.repeats < 1:
        parser.error("--repeats must be at least 1")
    wanted = options.only.split(",") if options.only else KINDS
    if unknown := set(wanted) - set(KINDS):
        parser.error(f"--only: {min(unknown)!r} is not one of {', '.join(KINDS)}")
    console = Console(stderr=True, highlight=False)
    this = this_side()
    if options.base_python:
        base = given_side(options.base_python, options.base_source)
    else:
        base = built_side(options.base, console.print)
    versions = [identified(side) for side in (base, this)]
    for side, version in zip((base, this), versions, strict=True):
        console.print(f"{side.name}: {version['file']}")
    if versions[0]["file"] == versions[1]["file"]:
        console.print("both are the same files: what differs is noise")
    measured = Measured()
    with tempfile.TemporaryDirectory() as folder:
        jobs = [job for job in write_data(Path(folder), options.quick) if job["what"] in needed(wanted)]
        measure(jobs, base, this, options.repeats, measured, console)
        if again := [job for job in jobs if name_of(job) in measured.suspects()]:
            console.print("looks worse, so once more:")
            measure(again, base, this, options.repeats, measured, console)
    rows, notes = measured.rows(), list(remarks(measured))
    print(report(rows, notes))
    if options.json:
        figures: dict[str, Any] = {
            "machine": machine(),
            "base": versions[0],
            "this": versions[1],
            "pairs": measured.figures,
        }
        figures |= {"rows": [asdict(row) for row in rows], "notes": [text for text, _ in notes]}
        replace_text(Path(options.json), json.dumps(figures, indent=1) + "\n")
    return int(any(row.worse for row in rows) or any(bad for _, bad in notes))


def needed(kinds: Iterable[str]) -> set[str]:
    """Return the kinds of jobs to run: tagging uses the model of training."""
    return {*kinds} | ({"training"} if "tagging" in kinds else set())


def identified(side: Side) -> dict[str, Any]:
    """Return which crfkit a side has; without one, or with a wrong one, nothing is compared."""
    answer = side.measure({"what": "identity", "folder": ""})
    if "error" in answer:
        raise SystemExit(f"{side.name}: {side.python} does not run crfkit: {answer['error']}")
    facts: dict[str, Any] = answer["facts"]
    if side.name == "base" and side.path:
        homes = [Path(part).resolve() for part in side.path.split(os.pathsep)]
        if not any(Path(facts["file"]).resolve().is_relative_to(home) for home in homes):
            raise SystemExit(f"base: crfkit comes from {facts['file']}, not from {side.path}")
    return facts


if __name__ == "__main__":
    sys.exit(main())
