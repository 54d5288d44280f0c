"""``crfkit rank``: which sequences to label next."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Annotated, Any, cast, get_args

import typer

from crfkit._safe.printable import shown
from crfkit.cli.groups.compose import composed
from crfkit.cli.groups.data import Data
from crfkit.cli.groups.judging import By, Top
from crfkit.cli.groups.output import Running
from crfkit.cli.messages import check_choice


@composed
def rank(
    model: Annotated[str, typer.Argument(help="A model of any kind.")],
    data: Annotated[str, typer.Argument(metavar="INPUT", help="Data; - for standard input.")] = "-",
    by: By = "entropy",
    top: Top = 0,
    *,
    reading: Data,
    running: Running,
) -> None:
    """Print sequences, those that are worth a label first.

    The most uncertain come first. Columns are the number of the sequence in the input (from 1), its
    uncertainty, and its words (the first column). Settles & Craven (2008) compare the methods:
    least-confidence is 1 minus the probability of the best label sequence, margin compares the two best,
    entropy looks at all, and density favors sequences that resemble many others.

    For example:

      crfkit rank names.crf unlabeled.txt --top 100
      crfkit rank names.crf unlabeled.txt --by density --json
    """
    import numpy as np

    from crfkit.cli.tagging import Tagger
    from crfkit.data.batch import Batch
    from crfkit.data.formats.columns import Columns
    from crfkit.models.active_learning import Uncertainty, uncertainty

    check_choice("--by", by, get_args(Uncertainty))
    tagger = Tagger(model, threads=running.jobs)
    tagger.check_sums("nothing tells how unsure it is")
    batches: list[Batch] = []
    texts: list[str] = []
    for block in reading.blocks(data, **tagger.reads(reading)):
        batches.append(tagger.batch(block))
        ptr = batches[-1].seq_ptr.tolist()
        words: list[str] = block.strings()[0].tolist() if isinstance(block, Columns) else []
        texts += [" ".join(words[a:b]) for a, b in pairwise(ptr)]
    if not batches:
        raise ValueError(f"{'standard input' if data == '-' else data} holds no sequence; give data")
    unsure = uncertainty(tagger.model, Batch.concat(batches), cast(Uncertainty, by), threads=running.jobs)
    order = np.argsort(-unsure, kind="stable")[: top or None]
    for n in order.tolist():
        row: dict[str, Any] = {"sequence": n + 1, "uncertainty": float(unsure[n]), "text": texts[n]}
        print(
            json.dumps(row, ensure_ascii=False)
            if running.as_json
            else f"{n + 1}\t{unsure[n]:.6f}\t{shown(texts[n])}"
        )
