"""The methods for max-margin: seconds and passes to a gap, and the objective after the same time.

    python -m bench.margin [--data conll2000] [--methods bcfw,one-slack] [--l2 2] [--seconds 120] [--gap 1e-3]

One thread; seconds are those of the processor, without reading the data. A method ends when its gap is small
enough or its time is spent. Needs a corpus (CRFKIT_DATA).
"""

from __future__ import annotations

import argparse
import time
from itertools import pairwise
from typing import Any

import numpy as np

from bench.corpora import CORPORA, Corpus
from bench.runs import chosen
from crfkit.inference import best
from crfkit.linear.loss import LinearLoss
from crfkit.linear.score import score
from crfkit.objectives import MaxMargin
from crfkit.structures import Chain
from crfkit.training.choose import by_name

METHODS = ["bcfw", "one-slack", "n-slack", "subgradient", "smo", "exponentiated-margin"]
GAPS = (1e-1, 1e-2, 1e-3)


def measured(loss: LinearLoss, name: str, l2: float, gap: float, seconds: float) -> tuple[Any, list[str]]:
    """Return the weights of a run, and what it did, in words."""
    begun = time.process_time()
    penalty = MaxMargin(l2=l2).penalty(loss.layout)
    run = by_name(name, threads=1, tolerance=gap).start(loss, penalty, np.zeros(loss.size))
    lines, left = [], list(GAPS)
    while True:
        step = run.step()
        spent = time.process_time() - begun
        at = f"{spent:.1f} s and {step.evaluations:.3g} passes: {step.objective:.6g}, gap {step.gap:.4g}"
        while left and step.gap <= left[0] * step.objective:
            lines.append(f"{name} gap {left.pop(0):g} after {at}")
        if step.stopped or spent > seconds:
            lines.append(f"{name} ended after {at}; {step.stopped or 'its time is spent'}")
            return run.w, lines


def tested(corpus: Corpus, loss: LinearLoss, w: Any, batch: Any, labels: list[str]) -> float:
    """Return the metric of weights on the test data."""
    structure = loss.structure
    _, path = best(structure.potentials_of(score(loss.layout, w, batch), batch), threads=1)
    found = [labels[i] for i in path.label.tolist()]
    ends = batch.seq_ptr.tolist()
    return corpus.score([found[a:b] for a, b in pairwise(ends)])


def main() -> None:
    """Read the options, measure, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", default="conll2000", choices=CORPORA)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--l2", type=float, default=2.0)
    parser.add_argument("--gap", type=float, default=1e-3)
    parser.add_argument("--seconds", type=float, default=120.0)
    args = parser.parse_args()
    corpus = CORPORA[args.data]
    data, test = corpus.datasets()
    labels = list(data.labels)
    loss = MaxMargin(l2=args.l2).bind(corpus.layout(data, 1), Chain(labels), data.batch, threads=1)
    batch = test().batch if corpus.test else None
    print(
        f"{corpus.title}: {data.batch.sequences} sequences, {loss.size} weights, l2 {args.l2:g}", flush=True
    )
    for name in chosen(args.methods, METHODS, "methods"):
        w, lines = measured(loss, name, args.l2, args.gap, args.seconds)
        print("\n".join(lines), flush=True)
        if batch is not None:
            print(f"{name} test {corpus.metric} {tested(corpus, loss, w, batch, labels):.4f}", flush=True)


if __name__ == "__main__":
    main()
