"""``crfkit reproduce``: run an experiment of a paper again, and set its numbers beside ours."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from crfkit.cli.groups.compose import composed, option
from crfkit.cli.groups.output import Running
from crfkit.cli.groups.training import Seed
from crfkit.cli.messages import say


@composed
def reproduce(
    name: Annotated[str | None, typer.Argument(help="An experiment of --list.")] = None,
    listed: Annotated[bool, option("Data", "--list", help="List all experiments.")] = False,
    quick: Annotated[
        bool, option("Data", "--quick", help="A small version on generated data, in seconds.")
    ] = False,
    output: Annotated[
        str | None, option("Output", "--output", "-o", help="Folder of the report. Default: reproduce-NAME.")
    ] = None,
    data: Annotated[
        str | None, option("Data", "--data", help="Folder of the corpora. Default: CRFKIT_DATA.")
    ] = None,
    seed: Seed = 0,
    runs: Annotated[
        int | None, option("Training", "--runs", help="Number of runs. Default: that of the paper.", min=1)
    ] = None,
    *,
    running: Running,
) -> None:
    """Run an experiment of a paper, and compare its numbers.

    The folder gets report.md, figures (with matplotlib) and results.json, which is written after every
    number: after Ctrl-C the same command resumes. --json prints results.json.

    For example:

      crfkit reproduce --list
      crfkit reproduce semi-ner --quick
      crfkit reproduce semi-ner --data corpora -o semi-ner
    """
    import json
    from dataclasses import asdict

    from crfkit import papers

    if listed:
        if name is not None:
            raise ValueError(f"--list lists all experiments; leave {name} out")
        if running.as_json:
            print(json.dumps([asdict(one) for one in papers.EXPERIMENTS.values()], ensure_ascii=False))
            return
        for one in papers.EXPERIMENTS.values():
            print(f"{one.name}\t{one.paper}\t{one.shows}\t{one.data}\t{one.minutes} min")
        return
    if name is None:
        raise ValueError("give the NAME of an experiment; --list shows them")
    entry = papers.named(name)
    folder = Path(output if output is not None else f"reproduce-{name}")
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"--output is {folder}, which is not a folder; give the name of a folder")
    found = data if data is not None else os.environ.get("CRFKIT_DATA")
    if found is not None and not quick and not Path(found).is_dir():
        raise ValueError(
            f"{'--data' if data is not None else 'CRFKIT_DATA'} is {found}, which is not a folder"
        )
    given = papers.Given(None if found is None else Path(found), quick, running.jobs)
    results = papers.reproduce(
        entry, given, folder, seed=seed, runs=runs, progress=False if running.quiet else None
    )
    if running.as_json:
        print(json.dumps([asdict(one) for one in results], ensure_ascii=False))
    say(f"{folder / 'report.md'}: {len(results)} numbers", running.quiet or running.as_json)
