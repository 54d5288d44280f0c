"""``crfkit check``: what looks wrong in labeled data, before anything is learned from them."""

from __future__ import annotations

import json
import os
import warnings
from typing import TYPE_CHECKING, Annotated

import typer

from crfkit._safe.printable import counted, shown
from crfkit.cli.groups.compose import composed
from crfkit.cli.groups.data import LabeledData
from crfkit.cli.groups.output import Running
from crfkit.cli.messages import say

if TYPE_CHECKING:
    from crfkit.cli.findings import Findings
    from crfkit.text.formats.reading import Docs

_SHOWN = 20  #: labels of a file


@composed
def check(
    data: Annotated[list[str], typer.Argument(help="Labeled data: the training file, then others.")],
    *,
    reading: LabeledData,
    running: Running,
) -> None:
    """Say what looks wrong in labeled data.

    The exit status is 1 if something does. It prints counts of labels, and findings with their lines:
    invalid tags such as O I-PER; a few labels that are not tags, where others are; a first line that
    looks like a header; lines that look like comments; a file that is one giant sequence; labels that
    only occur in a later file; sequences that also stand in the first file; in documents, spans that cut
    tokens, overlap or lie outside of the text.

    For example:

      crfkit check train.txt dev.txt
      crfkit check train.jsonl --json
    """
    from crfkit.cli.findings import Findings

    findings = Findings()
    for path in data:
        docs = _documents(path, reading)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if docs is not None:
                findings.add_documents(path, docs)
            else:
                for part in reading.blocks(path, threads=running.jobs):
                    findings.add(path, part, reading.label)
                findings.end(path)
        for one in caught:
            findings.warn(path, str(one.message))
    if running.as_json:
        print(json.dumps(findings.to_dict(), ensure_ascii=False))
    else:
        _print(findings)
    if findings.found:
        say(f"crfkit: {counted(len(findings.found), 'finding')}", running.quiet)
        raise typer.Exit(1)
    say("crfkit: nothing looks wrong", running.quiet)


def _documents(path: str, reading: LabeledData) -> Docs | None:
    """Return the documents of a file of raw text with spans; None where it holds columns."""
    from crfkit.data.formats.record import SAMPLE, Sample
    from crfkit.data.formats.registry import names
    from crfkit.data.source import open_input
    from crfkit.text.formats.reading import read
    from crfkit.text.formats.registry import FORMATS, records

    both = {*names(), "rows"}
    if reading.format is not None:
        return (
            read(path, reading.format) if reading.format in FORMATS and reading.format not in both else None
        )
    if os.path.isdir(path):
        return read(path)
    if not os.path.isfile(path):
        return None  # a pipe is read once
    if any(one.guess is None and one.claims(path) for one in records()):
        return read(path, encoding=reading.encoding)
    with open_input(path) as source:
        source.has_lines = False
        found = source.peek(SAMPLE + 1)
    sample = Sample(found[:SAMPLE], len(found) <= SAMPLE)
    kinds = [one.name for one in records() if one.guess is not None and one.guess(sample)]
    kinds = [name for name in kinds if name == "jsonl" or name not in both]
    return read(path, kinds[0], encoding=reading.encoding) if kinds else None


def _print(findings: Findings) -> None:
    for path, file in findings.files.items():
        print(f"{shown(path)}: {counted(file.sequences, 'sequence')}, {counted(file.positions, 'position')}")
        common = file.labels.most_common()
        for label, times in common[:_SHOWN]:
            print(f"  {times:>10,}  {shown(label) or '(unknown)'}")
        if len(common) > _SHOWN:
            print(f"  {'':>10}  {len(common) - _SHOWN:,} more labels, the rarest {shown(common[-1][0])}")
    for kind, what in findings.found:
        print(f"{kind}: {shown(what)}")
