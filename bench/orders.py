"""Chains of order 2: what they cost beside order 1, how near the FMA peak, and how long to the optimum.

    python -m bench.orders [--quick] [--parts evaluation,training] [--orders 1,2]

On CoNLL-2000 with CRF++'s chunking template, observed attributes and all n-grams of labels:

- evaluation: one loss and gradient, on one and two threads. A position costs three multiply-adds for each of
  L^(order + 1) n-grams; the peak is that of a dense matrix product of NumPy in the same run.
- training: by the default, to a certified 0.1 %, on two threads.

Writes bench/results/orders.json. Needs CoNLL-2000: set CRFKIT_DATA.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from bench.clocks import Clock
from bench.corpora import CORPORA
from bench.kernels import fma_per_second
from bench.measure import interleaved, plain, write
from bench.runs import chosen
from crfkit import Chain, Stop, train
from crfkit.data.dataset import Dataset
from crfkit.linear.layout import Layout
from crfkit.objectives import Likelihood

CORPUS = CORPORA["conll2000all"]
Rows = list[dict[str, Any]]


def evaluation(data: Dataset, orders: list[int], quick: bool) -> Rows:
    L, P = len(data.labels), data.batch.positions
    calls: dict[str, Callable[[], object]] = {}
    cases = [(order, threads) for order in orders for threads in (1, 2)]
    for order, threads in cases:
        chain = Chain(L, order=order)
        loss = Likelihood().bind(Layout.observed(data.batch, chain), chain, data.batch, threads=threads)
        w, gradient = np.random.default_rng(0).normal(size=loss.size) / 10, np.empty(loss.size)
        calls[f"order {order}, threads {threads}"] = partial(loss.value_and_grad, w, gradient)
    rows = Rows()
    for (order, threads), (name, timing) in zip(
        cases, interleaved(calls, 3 if quick else 9).items(), strict=True
    ):
        share = 3 * P * L ** (order + 1) / timing.median / fma_per_second(threads)
        print(f"{name}: {timing.median:.3f} s +- {100 * timing.spread:.0f} %, {share:.0%} of the FMA peak")
        rows.append(
            {"part": "evaluation", "order": order, "threads": threads, "share": share, **plain(timing)}
        )
    return rows


def training(data: Dataset, orders: list[int], quick: bool) -> Rows:
    rows = Rows()
    for order in orders:
        clock = Clock()
        model = train(data, structure=Chain(order=order), stop=Stop(tolerance=1e-3), n_jobs=2)
        row = {"part": "training", "order": order, "summary": str(model.training), **clock.read()}
        print(f"training, order {order}: {row['seconds']:.1f} s, {row['cpu']:.1f} of CPU; {row['summary']}")
        rows.append(row)
    return rows


PARTS = {"evaluation": evaluation, "training": training}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="500 sentences, three repetitions")
    parser.add_argument("--parts", default="all", help=f"some of {','.join(PARTS)}")
    parser.add_argument("--orders", default="1,2", help="of the chains")
    options = parser.parse_args()
    data = CORPUS.datasets()[0]
    data = data[:500] if options.quick else data
    orders = [int(text) for text in options.orders.split(",")]
    rows = Rows()
    for part in chosen(options.parts, list(PARTS), "part"):
        rows += PARTS[part](data, orders, options.quick)
    print(f"written to {write('orders', rows)}")


if __name__ == "__main__":
    main()
