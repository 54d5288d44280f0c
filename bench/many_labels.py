"""Many labels, few labels and order 2: one evaluation, and tagging, beside CRFsuite.

    python -m bench.many_labels [--only brown,conll2002,order2] [--part 0.02] [--rounds 3]

- brown: all 472 labels of the Brown corpus with CRFsuite's weights (observed pairs and transitions). crfkit
  evaluates the sentences that show a label for the first time and a share of the others (--part; 1: all);
  CRFsuite is trained on the former alone, for a few iterations. Its seconds of an evaluation are those
  between its first and its last iteration by the evaluations between them, scaled by tokens. The objective is
  compared with that of a layout with all transitions, whose steps are dense. Both tag with CRFsuite's model.
- conll2002: 9 labels, one evaluation, CRFsuite's as above but of the same sentences.
- order2: CoNLL-2000 with CRF++'s template, all pairs and all label triples; one evaluation.

Seconds are those of the processor on one thread, interleaved with the peer's, medians with spread; on two
threads they are those of the wall. Writes bench/results/many_labels.json. Needs the corpora (CRFKIT_DATA),
for the peer `pip install python-crfsuite`.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import crfkit
from bench import corpora, measure
from bench.corpora import CORPORA, Corpus
from bench.peer import Log, trainer_of
from crfkit import Chain, Likelihood
from crfkit.arrays import Floats
from crfkit.data.dataset import Dataset
from crfkit.linear.layout import Layout
from crfkit.linear.loss import LinearLoss

ITERATIONS = 2  # of CRFsuite
TAGGED = 40  # sentences
PEER = importlib.util.find_spec("pycrfsuite") is not None
Row = dict[str, Any]


class Steps(Log):
    """CRFsuite's messages: processor time and evaluations so far, after each iteration."""

    def __init__(self) -> None:
        super().__init__()
        self.marks: list[tuple[float, int]] = []

    def read(self, line: str) -> None:
        if not line.startswith("Number of features"):  # which the parent of a process is told
            super().read(line)

    def iteration(self) -> None:
        self.evaluations += self.trials
        self.marks.append((self.clock.read()["cpu"], self.evaluations))

    @property
    def seconds(self) -> float:
        """Processor time of one evaluation, without what comes before the first iteration ends.

        Examples
        --------
        >>> steps = Steps()
        >>> steps.marks = [(5.0, 2), (7.0, 3), (11.0, 5)]
        >>> steps.seconds
        2.0
        """
        (first, some), (last, all_of_them) = self.marks[0], self.marks[-1]
        return (last - first) / (all_of_them - some)


def peer_trained(corpus: Corpus, path: Path) -> Steps:
    """Train CRFsuite for a few iterations; its model stays at the path."""
    log = Steps()
    trainer_of(corpus, log, ITERATIONS).train(str(path))
    return log


def evaluated(loss: LinearLoss, w: Floats) -> Callable[[], float]:
    gradient = np.empty(loss.size)
    return lambda: loss.value_and_grad(w, gradient)


def timed(call: Callable[[], object], clock: Callable[[], float] = time.process_time) -> float:
    begin = clock()
    call()
    return clock() - begin


def quantiles(seconds: list[float]) -> Row:
    low, high = min(seconds), max(seconds)
    middle = statistics.median(seconds)
    return {"median": middle, "spread": (high - low) / 2 / middle, "rounds": len(seconds)}


def evaluation(
    name: str, data: Dataset, layout: Layout, order: int, rounds: int, peer: Callable[[], float] | None
) -> Iterator[Row]:
    """Time evaluations on one and two threads and the peer's, round after round."""
    chain, w = Chain(data.labels.strings(), order), np.random.default_rng(0).normal(0.0, 0.1, layout.weights)
    calls = {n: evaluated(LinearLoss(Likelihood(), chain, layout, data.batch, threads=n), w) for n in (1, 2)}
    for call in calls.values():
        call()  # prepares
    taken: dict[str, list[float]] = {"crfkit, 1 thread": [], "crfkit, 2 threads, wall": [], "CRFsuite": []}
    for _ in range(rounds):
        for _ in range(3):
            taken["crfkit, 1 thread"].append(timed(calls[1]))
            taken["crfkit, 2 threads, wall"].append(timed(calls[2], time.perf_counter))
        if peer is not None:
            taken["CRFsuite"].append(peer() * data.batch.positions)
    for who, seconds in taken.items():
        if seconds:
            told = {"what": f"{name}: evaluation", "who": who, "tokens": data.batch.positions}
            yield told | {"labels": layout.labels, "weights": layout.weights} | quantiles(seconds)


def difference_from_dense(data: Dataset, layout: Layout) -> float:
    """Return how far the objective is from that of a layout with all transitions, relatively."""
    chain, w = Chain(data.labels.strings()), np.random.default_rng(1).normal(0.0, 0.3, layout.weights)
    every = Layout.observed(data.batch, layout.labels, transitions="all")
    node = layout.parts["node"].stop
    dense = np.zeros(every.weights)
    dense[:node] = w[:node]
    dense[node + layout.transition_cell] = w[node:]
    values = [
        evaluated(LinearLoss(Likelihood(), chain, made, data.batch), weights)()
        for made, weights in ((layout, w), (every, dense))
    ]
    return abs(values[0] - values[1]) / abs(values[1])


def tagging(path: Path, corpus: Corpus, rounds: int) -> Iterator[Row]:
    """Tag items with CRFsuite's model, one thread each; labels must be the same."""
    import pycrfsuite

    items = list(islice(corpus.featured(test=True)[0], TAGGED))
    theirs = pycrfsuite.Tagger()
    theirs.open(str(path))
    ours: Any = crfkit.load(path)
    data = ours.dataset(items)
    calls: dict[str, Callable[[], list[list[str]]]] = {
        "crfkit, data set": lambda: ours.predict(data, threads=1),
        "crfkit, items": lambda: ours.predict(items, threads=1),
        "CRFsuite": lambda: [theirs.tag(one) for one in items],
    }
    labels = {who: call() for who, call in calls.items()}
    same = sum(a == b for a, b in zip(labels["crfkit, items"], labels["CRFsuite"], strict=True))
    found = measure.interleaved(dict(calls), rounds, at_most=60.0, clock=time.process_time)
    tokens = sum(map(len, items))
    for who, timing in found.items():
        told = {"what": "brown: tagging", "who": who, "tokens": tokens, "same": same, "sentences": len(items)}
        yield told | {"median": timing.median, "spread": timing.spread, "rounds": timing.repetitions}


def brown(part: float, rounds: int) -> Iterator[Row]:
    """All labels of the Brown corpus."""
    few = replace(CORPORA["brown"], chosen=lambda n: n in corpora.first_of_labels())
    every = max(round(1.0 / part), 1) if part > 0.0 else 1 << 30
    some = replace(few, chosen=lambda n: n % every == 0 or n in corpora.first_of_labels())
    small, data = few.datasets()[0], some.datasets()[0]
    layout = some.layout(data)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"

        def peer() -> float:
            return peer_trained(few, path).seconds / small.batch.positions

        yield from evaluation("brown", data, layout, 1, rounds, peer if PEER else None)
        yield {"what": "brown: objective", "who": "crfkit, dense steps", "tokens": small.batch.positions} | {
            "difference": difference_from_dense(small, few.layout(small))
        }
        if PEER:
            yield from tagging(path, few, rounds)


def conll2002(part: float, rounds: int) -> Iterator[Row]:
    """Nine labels."""
    every = max(round(1.0 / part), 1) if part > 0.0 else 1
    corpus = replace(CORPORA["conll2002"], chosen=lambda n: n % every == 0)
    data = corpus.datasets()[0]
    with tempfile.TemporaryDirectory() as folder:

        def peer() -> float:
            return peer_trained(corpus, Path(folder) / "model").seconds / data.batch.positions

        yield from evaluation("conll2002", data, corpus.layout(data), 1, rounds, peer if PEER else None)


def order2(part: float, rounds: int) -> Iterator[Row]:
    """CoNLL-2000 with all label triples."""
    data = CORPORA["conll2000all"].datasets()[0]
    if part < 1.0:
        data = data[:: max(round(1.0 / part), 1)]
    chain = Chain(data.labels.strings(), 2)
    layout = Layout.plan(chain, data.batch, all_pairs=True)
    yield from evaluation("order 2, conll2000", data, layout, 2, rounds, None)


BENCHES = {"brown": brown, "conll2002": conll2002, "order2": order2}


def table(rows: list[Row]) -> str:
    """Return the rows with their ratios to CRFsuite.

    Examples
    --------
    >>> rows = [{"what": "x", "who": "crfkit", "tokens": 9, "median": 0.5, "spread": 0.1}]
    >>> print(table([*rows, {**rows[0], "who": "CRFsuite", "median": 5.0}]).splitlines()[2])
    | x | crfkit | 9 | 0.5 ± 10 % | 10.0x |
    """
    peers = {row["what"]: row["median"] for row in rows if row["who"] == "CRFsuite"}
    lines = ["| what | who | tokens | seconds | CRFsuite by it |", "| --- | --- | --- | --- | --- |"]
    for row in rows:
        told = f"difference {row['difference']:.1e}" if "difference" in row else ""
        if "median" in row:
            told = f"{row['median']:.3g} ± {100 * row['spread']:.0f} %"
        ratio = "" if row["what"] not in peers or "median" not in row else peers[row["what"]] / row["median"]
        shown = f"{ratio:.1f}x" if ratio and row["who"] != "CRFsuite" else ""
        if "same" in row and row["who"] != "CRFsuite":
            shown += f", {row['same']} of {row['sentences']} sentences alike"
        lines.append(f"| {row['what']} | {row['who']} | {row['tokens']:,} | {told} | {shown} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--only", default=",".join(BENCHES), help="which, separated by commas")
    parser.add_argument("--part", type=float, default=0.02, help="share of the sentences; 1: all")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    names = given.only.split(",")
    unknown = set(names) - set(BENCHES)
    if unknown or not 0.0 <= given.part <= 1.0 or given.rounds < 1:
        parser.error(f"--only is for {', '.join(BENCHES)}, --part from 0 to 1, --rounds from 1")
    rows = [row for name in names for row in BENCHES[name](given.part, given.rounds)]
    print(table(rows))
    print(measure.write("many_labels", rows))


if __name__ == "__main__":
    main()
