"""Perceptron, passive-aggressive and AROW beside CRFsuite: same features, parameters and number of passes.

    python -m bench.perceptron [--data conll2000] [--methods ap,arow] [--passes 10] [--repetitions 5]

Both have python-crfsuite's interface, and passes run on one thread: seconds are those of the processor, from
one line of the log to the next. Seconds of a training are those of `Trainer.train` by the clock: features,
passes and the model file. CRFsuite draws its orders without a seed, so that losses and scores differ from run
to run. Writes bench/results/perceptron.json. Needs a corpus (CRFKIT_DATA) and `pip install python-crfsuite`.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from bench import measure
from bench.corpora import CORPORA, Corpus
from bench.runs import chosen

FACES = {"crfsuite": "pycrfsuite", "crfkit": "crfkit.compat.pycrfsuite"}
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "ap": ("ap", {}),
    "pa-0": ("pa", {"type": 0}),
    "pa-1": ("pa", {"type": 1}),
    "pa-2": ("pa", {"type": 2}),
    "arow": ("arow", {}),
}


class Side:
    """One implementation with the training data in it."""

    def __init__(self, module: str, corpus: Corpus, path: Path) -> None:
        self.face, self.corpus, self.path = importlib.import_module(module), corpus, path
        self.seconds: dict[str, list[float]] = {name: [] for name in METHODS}  # of passes
        self.losses: dict[str, list[float]] = {}  # of the last training
        log, marks = list[str](), list[float]()
        self.log, self.marks = log, marks

        class Trainer(self.face.BaseTrainer):  # type: ignore[name-defined]
            def message(self, message: str) -> None:
                log.append(message)
                if message.startswith("Seconds required for this iteration"):
                    marks.append(time.process_time())

        self.trainer = Trainer()
        for items, labels in zip(*corpus.featured(), strict=True):
            self.trainer.append(items, labels)

    def train(self, name: str, passes: int) -> None:
        algorithm, params = METHODS[name]
        self.log.clear()
        self.marks.clear()
        self.trainer.select(algorithm)
        self.trainer.set_params({**params, "max_iterations": passes})
        self.trainer.train(str(self.path))
        lines = "".join(self.log).splitlines()
        self.losses[name] = [float(line[6:]) for line in lines if line.startswith("Loss: ")]
        self.seconds[name] += [b - a for a, b in pairwise(self.marks)]

    def score(self) -> float:
        """Return the metric of the model trained last."""
        tagger = self.face.Tagger()
        with tagger.open(str(self.path)):
            return self.corpus.score([tagger.tag(items) for items in self.corpus.featured(test=True)[0]])


def compare(
    corpus: Corpus, methods: list[str], passes: int, repetitions: int, folder: Path
) -> list[dict[str, Any]]:
    """Return a row for each method."""
    found = {name: module for name, module in FACES.items() if importlib.util.find_spec(module)}
    sides = {name: Side(module, corpus, folder / name) for name, module in found.items()}
    rows = []
    for method in methods:
        calls: dict[str, Callable[[], object]] = {
            name: partial(side.train, method, passes) for name, side in sides.items()
        }
        timings = measure.interleaved(calls, repetitions, at_least=0.0, at_most=120.0)
        row: dict[str, Any] = {"corpus": corpus.name, "method": method, "passes": passes}
        for name, side in sides.items():
            row[name] = {
                "training": measure.plain(timings[name]),
                "pass": statistics.median(side.seconds[method]),
                "losses": side.losses[method],
                "score": side.score(),
            }
        rows.append(row)
        print(text(row), flush=True)
    return rows


def text(row: dict[str, Any]) -> str:
    """Return a row in words."""
    parts = [f"{row['corpus']} {row['method']}, {row['passes']} passes"]
    for name in FACES:
        if name in row:
            side = row[name]
            first, last = side["losses"][0], side["losses"][-1]
            parts.append(
                f"{name}: {1e3 * side['pass']:.0f} ms a pass, {side['training']['median']:.2f} s, "
                f"loss {first:.1f} to {last:.1f}, score {side['score']:.4f}"
            )
    if all(name in row for name in FACES):
        peer, ours = row["crfsuite"], row["crfkit"]
        whole = peer["training"]["median"] / ours["training"]["median"]
        parts.append(f"{peer['pass'] / ours['pass']:.1f}x by pass, {whole:.1f}x by training")
    return "; ".join(parts)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--data", default="conll2000", choices=[c.name for c in CORPORA.values() if c.items and c.test]
    )
    parser.add_argument("--methods", default="all", help=f"all, or some of {','.join(METHODS)}")
    parser.add_argument("--passes", type=int, default=10)
    parser.add_argument("--repetitions", type=int, default=5)
    options = parser.parse_args(arguments)
    corpus, methods = CORPORA[options.data], chosen(options.methods, list(METHODS), "method")
    if corpus.missing:
        print(f"{corpus.missing[0]} is not there: set CRFKIT_DATA to the folder of the corpora")
        raise SystemExit(2)
    with tempfile.TemporaryDirectory() as folder:
        rows = compare(corpus, methods, options.passes, options.repetitions, Path(folder))
    print("written to", measure.write("perceptron", rows))


if __name__ == "__main__":
    main()
