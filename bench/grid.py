"""The grid that judges the default training: corpora x L2 x optimizers, beside CRFsuite on the same features.

    python -m bench.grid [--data a,b] [--l2 2,0.2,0.02] [--what crfsuite,auto,dual] [--threads 1,2] [--quick]
    python -m bench.grid --features dict [--most 1200] [--l1 0.1 --l2 0.2] ...

Each run is a process of its own (`bench.train_child`): CRFsuite with its defaults and c2 = l2 / 2, crfkit as
users call it, `crfkit.train(dataset, objective=Likelihood(l2), optimizer=name)`. Runs of less than two
seconds are repeated, and the median counts. What the figures mean stands in `bench.verdict`.
With `--features dict` they are those of sklearn-crfsuite's tutorial, dicts with booleans, and both clocks
begin with the dicts; `--most` takes the first sentences only; `--l1` is CRFsuite's c1.
Writes grid.json and grid.md (grid-dict, grid-l1, grid-dict-1200-reporting ...) to bench/results after every
run; Ctrl-C keeps what is done. `--add` keeps the rows of an earlier run that this one does not measure,
`--peer-cache` keeps CRFsuite's in a file of their own, `--resume` goes on with what `--minutes` or Ctrl-C
ended, `--docs` measures nothing and writes the table of grid.json into docs/speed.md. `--data choosing` and
`--data reporting` are the two halves of the corpora: settings are chosen on the one, figures reported on the
other.
Needs the corpora (CRFKIT_DATA) except for generated ones, and python-crfsuite for CRFsuite.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.status import Status

from bench import measure
from bench.child import Task
from bench.corpora import CORPORA, halves
from bench.grid_tables import RUNS, end, ratio, runs_table, speed_table, verdict
from bench.runs import PEER, Row, chosen, run, text
from bench.verdict import SAME, by_cell, compare, early_of, judge, target_of

DATA = (  # from the small to the large
    "random60,scales,usaddress,skillspan,ocr,seminars,ud,ptb,conll2002ned,bc2gm,conll2002,conll2000,brown10"
)
WHAT = f"{PEER},auto,lbfgs,plbfgs,dual"
QUICK = 500  # sequences of a corpus
HALVES = "choosing", "reporting"
SHORT = 2.0  # seconds; shorter runs are repeated
SPEED = Path(__file__).parents[1] / "docs" / "speed.md"


@dataclass
class Cache:
    """CRFsuite's rows in a file, so that crfkit's can be measured again without it."""

    path: Path | None
    rows: dict[str, Row] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path is not None and self.path.exists():
            self.rows = json.loads(self.path.read_text())

    @staticmethod
    def key(task: Task) -> str:
        more = f" l1={task.l1:g}" * (task.l1 > 0.0) + " dicts" * task.dicts
        return f"{task.corpus} l2={task.l2:g} most={task.most}{more}"

    def get(self, task: Task) -> Row | None:
        return self.rows.get(self.key(task)) if task.kind == "peer" else None

    def keep(self, task: Task, row: Row) -> None:
        """Keep a row of CRFsuite that has any iteration."""
        if self.path is None or task.kind != "peer" or not row["curve"] or row["crashed"]:
            return
        self.rows[self.key(task)] = row
        measure.replace_text(self.path, json.dumps(self.rows, indent=1) + "\n")


def tasks(options: argparse.Namespace) -> list[Task]:
    """All runs, cell by cell, so that those to be compared follow each other."""
    made = []
    for corpus in options.data:
        for l2 in options.l2:
            shared: dict[str, Any] = {
                "l2": l2,
                "most": options.most,
                "l1": options.l1,
                "dicts": options.dicts,
            }
            for threads in options.threads:
                for name in options.what:
                    if name != PEER and (threads == 1 or name == "auto" or not options.quick):
                        made.append(Task("user", corpus, name, threads=threads, **shared))
                    elif name == PEER and threads == options.threads[0]:
                        made.append(Task("peer", corpus, threads=1, **shared))
    return made


def measured(task: Task, limit: float, repetitions: int, tell: Any) -> Row:
    """Return the row of a task: of a short one that of the median of several runs."""
    rows: list[Row] = []
    while len(rows) < repetitions:
        rows.append({**run(task, limit, tell), "l2": task.l2, "most": task.most})
        if "total" not in rows[-1] or rows[-1]["cpu"] > SHORT:
            return rows[-1]
    clock = "cpu" if task.threads == 1 else "total"
    row = sorted(rows, key=lambda row: row[clock])[len(rows) // 2]
    return {**row, "spread": [other[clock] for other in rows]}


def key_of(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("corpus", "l2", "what", "threads"))


def name_of(options: argparse.Namespace) -> str:
    """Return what the files of these options are called."""
    cut = "" if options.most in (None, QUICK) else f"-{options.most:d}"
    return f"grid{'-dict' * options.dicts}{'-l1' * (options.l1 > 0.0)}{cut}{options.half}"


def saved(name: str = "grid") -> list[Row]:
    path = measure.RESULTS / f"{name}.json"
    rows: list[Row] = json.loads(path.read_text())["rows"] if path.exists() else []
    return rows


def report(rows: list[Row], name: str) -> str:
    """Write everything there is so far; return the Markdown."""
    rows = sorted(rows, key=lambda row: list(CORPORA).index(row["corpus"]))  # cells stay in order
    compare(rows)
    measure.write(name, rows)
    about = measure.machine()
    first = f"{about['processor']}, {about['cores']} cores, commit {about['commit']}, {about['date']}."
    parts = [first, "## Verdict", verdict(rows), "## Cells", speed_table(rows), "## Runs", runs_table(rows)]
    made = "\n\n".join(part.strip("\n") for part in parts) + "\n"
    measure.replace_text(measure.RESULTS / f"{name}.md", made)
    return made


def write_docs(rows: list[Row]) -> None:
    """Put the table and the verdict between the marks of docs/speed.md."""
    compare(rows)
    shown = f"<!-- grid -->\n{speed_table(rows)}\n{verdict(rows)}\n<!-- /grid -->"
    before = SPEED.read_text(encoding="utf-8")
    after, found = re.subn(r"<!-- grid -->.*<!-- /grid -->", lambda _: shown, before, flags=re.DOTALL)
    if not found:
        raise SystemExit(f"{SPEED} has no lines <!-- grid --> and <!-- /grid --> to put the table between")
    measure.replace_text(SPEED, after)


def line_of(row: Row) -> str:
    """Return a finished run in one line."""
    first = f"{row['corpus']:12} {row['l2']:<5g} {row['what']:9} {row['threads']}"
    numbers = f"{text(row['whole'], '.2f'):>8} s {text(row['to_target'], '.2f'):>8} s to target"
    more = f"{ratio(row):>8} × CRFsuite {text(row.get('peak_mb'), '.0f'):>6} MB"
    return f"{first} {numbers} {more} {text(row.get('excess'), '.1e'):>8} {end(row)}"


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--data", default=DATA, help=f"choosing, reporting, or some of {','.join(CORPORA)} (%(default)s)"
    )
    parser.add_argument("--l2", help="strengths (2,0.2,0.02; quick: 2,0.02)")
    parser.add_argument("--l1", type=float, default=0.0, help="strength of L1, CRFsuite's c1 (%(default)s)")
    parser.add_argument("--features", choices=("own", "dict"), default="own", help="(%(default)s)")
    parser.add_argument("--most", type=int, help="sequences of each corpus (all)")
    parser.add_argument("--what", default=WHAT, help="what trains (%(default)s)")
    parser.add_argument("--threads", default="1,2", help="(%(default)s; quick: more than one for auto alone)")
    parser.add_argument("--quick", action="store_true", help=f"at most {QUICK} sequences of each corpus")
    parser.add_argument("--peer-seconds", type=float, help="after which CRFsuite is cut off (900; quick: 20)")
    parser.add_argument("--peer-cache", type=Path, help="file with CRFsuite's rows, read and written")
    parser.add_argument("--seconds", type=float, help="after which crfkit is cut off (900; quick: 60)")
    parser.add_argument("--repeat", type=int, help="runs of a short training (3; quick: 1)")
    parser.add_argument("--add", action="store_true", help="keep rows of grid.json that are not measured")
    parser.add_argument("--resume", action="store_true", help="measure only what grid.json does not have")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="after which no run begins")
    parser.add_argument("--docs", action="store_true", help="write docs/speed.md from grid.json, and end")
    options = parser.parse_args(arguments)
    options.dicts = options.features == "dict"
    known = [name for name, corpus in CORPORA.items() if not corpus.all_pairs]
    if options.dicts:
        known = [name for name in known if CORPORA[name].items is not None]
        if options.data == DATA:
            options.data = ",".join(name for name in DATA.split(",") if name in known)
    options.half = f"-{options.data}" if options.data in HALVES else ""
    options.data = ",".join(dict(zip(HALVES, halves(), strict=True)).get(options.data, [options.data]))
    options.most = QUICK if options.quick else options.most
    options.data = chosen(options.data, known, "corpus of the grid")
    options.what = chosen(options.what, WHAT.split(","), "method of the grid")
    options.l2 = [float(x) for x in (options.l2 or ("2,0.02" if options.quick else "2,0.2,0.02")).split(",")]
    options.threads = [int(x) for x in options.threads.split(",")]
    options.peer_seconds = options.peer_seconds or (20.0 if options.quick else 900.0)
    options.seconds = options.seconds or (60.0 if options.quick else 900.0)
    options.repeat = options.repeat or (1 if options.quick else 3)
    return options


def _show(status: Status, name: str, what: str) -> None:
    status.update(escape(name + what))


def main(arguments: list[str] | None = None) -> None:
    options = parsed(arguments)
    console, interrupted = Console(stderr=True), False
    if options.docs:
        write_docs(saved())
        return
    if missing := [path for name in options.data for path in CORPORA[name].missing]:
        console.print(f"{missing[0]} is not there: set CRFKIT_DATA to the folder of the corpora")
        raise SystemExit(2)
    plan, cache = tasks(options), Cache(options.peer_cache)
    name_of_files = name_of(options)
    before = saved(name_of_files) if options.add or options.resume else []
    rows = {key_of(row): row for row in before if row["most"] == options.most}
    commit, begin = measure.machine()["commit"], time.perf_counter()
    console.print(RUNS.replace("|", ", "), markup=False, soft_wrap=True)
    with console.status("") as status:
        try:
            for i, task in enumerate(plan, start=1):
                what = task.optimizer or PEER
                if options.resume and (task.corpus, task.l2, what, task.threads) in rows:
                    continue
                if time.perf_counter() - begin > 60.0 * options.minutes:
                    break
                name = f"[{i}/{len(plan)}] {task.corpus}, l2 {task.l2:g}, {what}: "
                limit = options.peer_seconds if task.kind == "peer" else options.seconds
                row = cache.get(task)
                if task.kind == "user":
                    target = target_of(rows.get((task.corpus, task.l2, PEER, 1)))
                    early = early_of(rows.get((task.corpus, task.l2, PEER, 1)))
                    task = replace(
                        task,
                        target=None if target is None else target * SAME,
                        early=None if early is None else early * SAME,
                    )
                if row is None:
                    row = {
                        **measured(task, limit, options.repeat, partial(_show, status, name)),
                        "commit": commit,
                    }
                    cache.keep(task, row)
                rows[key_of(row)] = row
                report(list(rows.values()), name_of_files)
                console.print(line_of(row), markup=False, soft_wrap=True)
        except KeyboardInterrupt:
            interrupted = True
    done = list(rows.values())
    print(report(done, name_of_files))
    minutes = (time.perf_counter() - begin) / 60
    cells, kept = len(by_cell(done)), sum(check.holds is not False for check in judge(done))
    console.print(
        f"{len(done)} runs of {cells} cells in {minutes:.1f} min; {kept} of {len(judge(done))} promises kept"
    )
    console.print("written to", str(measure.RESULTS / f"{name_of_files}.json"), "and .md", soft_wrap=True)
    raise SystemExit(130 if interrupted else 0)


if __name__ == "__main__":
    main()
