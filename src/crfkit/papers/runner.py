"""Running an experiment: run by run, with a file of results after each number, and a report at the end."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from crfkit import __version__
from crfkit.papers.experiment import Given, Quantity
from crfkit.papers.registry import Entry
from crfkit.papers.report import write_report
from crfkit.papers.results import Reading, Result, load, save
from crfkit.training.runs.progress import Lenient, started

if TYPE_CHECKING:
    from rich.progress import Progress


def reproduce(
    entry: Entry,
    given: Given,
    folder: Path,
    *,
    seed: int = 0,
    runs: int | None = None,
    progress: bool | None = None,
) -> list[Result]:
    """Run an experiment and write results.json, report.md and figures to a folder.

    Where the folder has results of the same settings, only what is missing is measured. Ctrl-C leaves a
    report of what is there.

    Parameters
    ----------
    entry : Entry
        Of `crfkit.papers.registry.EXPERIMENTS`.
    given : Given
    folder : Path
        Made where it is missing.
    seed : int
        Seed of the first run; the next have seed + 1, ...
    runs : int, optional
        Default: as many as in the paper.
    progress : bool, optional
        Show a bar; None: where standard error is a terminal.
    """
    if runs is not None and runs < 1:
        raise ValueError(f"runs is {runs}, expected 1 or more")
    experiment = entry.make(given)
    seeds = [seed + n for n in range(experiment.runs if runs is None else runs)]
    settings = {"crfkit": __version__, "quick": given.quick, "seed": seed, **experiment.settings}
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "results.json"
    quantities = experiment.quantities()
    known = load(path, settings)
    numbers = {
        q.name: {s: x for s, x in known.get(q.name, {}).items() if int(s) in seeds} for q in quantities
    }
    missing = [(s, q) for s in seeds for q in quantities if str(s) not in numbers[q.name]]

    def found() -> list[Result]:
        return [
            Result.of(q.name, q.paper, q.data, numbers[q.name], settings)
            for q in quantities
            if numbers[q.name]
        ]

    def report() -> None:
        whole = len(seeds) * len(quantities)
        done = sum(len(one) for one in numbers.values())
        page = experiment.page({one.quantity: one for one in found()})
        write_report(folder, entry, page, found(), seeds, (done, whole))

    try:
        for run, quantity in _shown(missing, entry.name, progress):
            numbers[quantity.name][str(run)] = Reading.of(experiment.measure(quantity, run))
            save(path, found())
    except KeyboardInterrupt:
        report()
        raise
    save(path, found())  # where nothing was missing, only the asked runs are kept
    report()
    return found()


def _shown(
    missing: list[tuple[int, Quantity]], title: str, progress: bool | None
) -> Iterator[tuple[int, Quantity]]:
    """Yield what is missing, with a bar on standard error."""
    if not (sys.stderr.isatty() if progress is None else progress):
        yield from missing
        return
    bar = _bar()
    shown = started(bar)
    try:
        task = bar.add_task(title, total=len(missing))
        for run, quantity in missing:
            bar.update(task, description=f"{title}, seed {run}: {quantity.name}")
            yield run, quantity
            bar.advance(task)
    finally:
        if shown:
            bar.stop()


def _bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    log = Lenient(sys.stderr)
    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
    return Progress(*columns, console=Console(file=log))  # type: ignore[arg-type]
