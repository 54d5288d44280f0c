"""``crfkit rank``: which sequences to label next."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from crfkit._safe.printable import shown
from crfkit.cli.options import AsJson, Quiet, Threads, check_choice
from crfkit.cli.reads import Reading, with_reading

if TYPE_CHECKING:
    from crfkit.models.uncertainty import Uncertainty

_METHODS = ("least-confidence", "margin", "entropy", "nbest-entropy", "token-entropy", "density")


@with_reading
def rank(
    model: Annotated[str, typer.Argument(help="A model of any kind.")],
    data: Annotated[str, typer.Argument(metavar="INPUT", help="Data; - for standard input.")] = "-",
    by: Annotated[str, typer.Option("--by", help=f"One of {', '.join(_METHODS)}.")] = "entropy",
    top: Annotated[int, typer.Option("--top", help="Sequences to print; 0: all.", min=0)] = 0,
    *,
    reading: Reading,
    threads: Threads = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Print sequences, the most uncertain first: those are worth a label.

    Columns are the number of the sequence in the input, counted from 1, its uncertainty, and its words (the
    first column). Settles & Craven (2008) compare the methods: least-confidence is 1 minus the probability of
    the best labeling, margin looks at the two best, entropy at all, density favors sequences that are like
    many others.

    For example:

      crfkit rank names.crf unlabeled.txt --top 100
      crfkit rank names.crf unlabeled.txt --by density --json
    """
    import numpy as np

    from crfkit.cli.tagging import Tagger
    from crfkit.data.batch import Batch
    from crfkit.data.formats.columns import Columns

    check_choice("--by", by, _METHODS)
    tagger = Tagger(model, threads=threads)
    batches: list[Batch] = []
    texts: list[str] = []
    for block in reading.blocks(data, attributes=tagger.attributes):
        batches.append(tagger.batch(block))
        ptr = batches[-1].seq_ptr.tolist()
        words: list[str] = block.strings()[0].tolist() if isinstance(block, Columns) else []
        texts += [" ".join(words[a:b]) for a, b in pairwise(ptr)]
    if not batches:
        raise ValueError(f"{'standard input' if data == '-' else data} holds no sequence; give data")
    unsure = tagger.model.uncertainty(Batch.concat(batches), cast("Uncertainty", by), threads=threads)
    order = np.argsort(-unsure, kind="stable")[: top or None]
    for n in order.tolist():
        row: dict[str, Any] = {"sequence": n + 1, "uncertainty": float(unsure[n]), "text": texts[n]}
        print(
            json.dumps(row, ensure_ascii=False) if as_json else f"{n + 1}\t{unsure[n]:.6f}\t{shown(texts[n])}"
        )
