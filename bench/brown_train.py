"""Train all 472 labels of the Brown corpus by the default optimizer; a trace of the gap against time.

    python -m bench.brown_train [--part 0.1] [--gap 1e-3] [--threads 2] [--seconds 1200]

Weights of observed pairs and observed transitions, Likelihood(l2=2). The sentences that show a label for the
first time are taken, and a share of the others (--part; 1: all). A line for each pass or step: seconds of the
wall and of the processor since training began, the objective (an estimate during passes), the gap relative to
it (as met by the pass; certified where "bound" is given). Needs the corpora (CRFKIT_DATA).
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

import numpy as np

from bench.corpora import CORPORA, first_of_labels
from crfkit import Chain, Likelihood
from crfkit.linear.layout import Layout
from crfkit.training.choose import choose, name_of


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--part", type=float, default=1.0)
    parser.add_argument("--gap", type=float, default=1e-3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1200.0, help="of the wall, after which it stops")
    args = parser.parse_args()
    every = max(round(1.0 / args.part), 1)
    corpus = replace(CORPORA["brown"], chosen=lambda n: n % every == 0 or n in first_of_labels())
    dataset, _ = corpus.datasets()
    batch, chain, objective = dataset.batch, Chain(dataset.labels), Likelihood(l2=2.0)
    layout = Layout.observed(batch, chain, transitions="observed")
    problem, penalty = objective.bind(layout, chain, batch), objective.penalty(layout)
    print(
        f"{batch.sequences:,} sentences, {batch.positions:,} tokens, {layout.labels} labels, "
        f"{layout.weights:,} weights, {len(layout.transition_cell):,} of transitions"
    )
    optimizer, why = choose(problem, penalty, threads=args.threads, tolerance=args.gap)
    print(f"{name_of(optimizer)}: {why}")
    begun, busy = time.perf_counter(), time.process_time()

    def clock() -> str:
        return f"{time.perf_counter() - begun:8.1f} s {time.process_time() - busy:8.1f} s"

    run = optimizer.start(problem, penalty, np.zeros(problem.size))
    print(f"{clock()}  ready")
    while True:
        before = time.perf_counter()
        phase = getattr(run, "phase", "")
        step = run.step()
        gaps = getattr(run, "gaps", [])
        gap = gaps[-1] if phase == "dual" and gaps else step.gap / abs(step.objective)
        known = getattr(run, "bound", -np.inf)
        told = f"{phase:8} {step.evaluations:5.0f}  objective {step.objective:16.4f}  gap {gap:9.2e}"
        took = time.perf_counter() - before
        print(f"{clock()}  {told}  bound {known:14.4f}  took {took:6.2f} s", flush=True)
        if step.stopped or time.perf_counter() - begun > args.seconds:
            print(step.stopped or "stopped: its time was over")
            return


if __name__ == "__main__":
    main()
