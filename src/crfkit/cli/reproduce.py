"""``crfkit reproduce``: run an experiment of a paper again, and set its numbers beside ours."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from crfkit.cli.options import AsJson, Quiet, Threads, say


def reproduce(
    name: Annotated[str | None, typer.Argument(help="An experiment of --list.")] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the experiments.")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="A small version on generated data, in seconds.")
    ] = False,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Folder of the report; default: reproduce-NAME.")
    ] = None,
    data: Annotated[
        str | None, typer.Option("--data", help="Folder of the corpora; default: CRFKIT_DATA.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of the first run.", min=0)] = 0,
    runs: Annotated[int | None, typer.Option("--runs", help="Runs; default: the paper's.", min=1)] = None,
    threads: Threads = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Run an experiment of a paper and report its numbers beside ours.

    The folder gets report.md, figures (with matplotlib) and results.json, which is written after every
    number: after Ctrl-C the same command goes on where it ended. --json prints results.json.

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
        if as_json:
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
    given = papers.Given(None if found is None else Path(found), quick, threads)
    results = papers.reproduce(entry, given, folder, seed=seed, runs=runs, progress=False if quiet else None)
    if as_json:
        print(json.dumps([asdict(one) for one in results], ensure_ascii=False))
    say(f"{folder / 'report.md'}: {len(results)} numbers", quiet or as_json)
