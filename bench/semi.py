"""Segments: what they cost beside the chain, beside torch-struct, and with features of whole segments.

    python -m bench.semi [--quick] [--parts evaluation,training,peer,segments] [--peer PYTHON]

- evaluation: one loss and gradient on CoNLL-2000 (types of chunks as labels, features of tokens) for segments
  of up to D positions, beside the chain with the same features; one thread.
- training: the same, trained by the default to a certified 0.1 %, on all threads.
- peer: log Z and all marginals of 32 sequences of 50 positions, 9 labels, D = 6, beside torch-struct on the
  CPU, one thread each. Needs a Python that has torch and torch-struct: --peer, or CRFKIT_PEER_PYTHON.
- segments: 10,000 sentences with features of beginnings, ends and whole segments, D = 6, trained to a
  certified 0.1 %: seconds, and the largest memory.

Writes bench/results/semi.json. Needs CoNLL-2000 for all parts but the peer: set CRFKIT_DATA.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from bench.clocks import Clock, HighWater
from bench.corpora import CORPORA
from bench.measure import interleaved, plain, write
from bench.runs import chosen
from crfkit import Chain, Likelihood, SemiMarkov, Stop, train
from crfkit.data.alphabet import Alphabet
from crfkit.data.dataset import Dataset
from crfkit.data.formats.columns import Columns
from crfkit.features import Extractor, Recipe
from crfkit.linear.layout import Layout
from crfkit.native import kernels
from crfkit.structures.structure import Structure

CORPUS = CORPORA["conll2000"]
RECIPE = Recipe.parse(
    "word[-2..2]; pos[-2..2]; pos[-1] & pos[0]; pos[0] & pos[1];"
    "begin: word[-1..0]; begin: pos[-1]; end: word[0..1]; end: pos[1];"
    "segment: word[..]; segment: pos[..]; segment: pos[begin-1] & pos[end+1]"
)
LONGEST = (1, 2, 3, 4, 6, 8, 10)
N, T, D, L = 32, 50, 6, 9  # of the peer


def as_segments(tagged: Dataset, longest: int) -> tuple[Dataset, list[str]]:
    """Return the types of BIO tags as labels, and where segments begin; long ones are cut."""
    b, tags = tagged.batch, list(tagged.labels)
    assert b.label is not None
    types = sorted({tag.rpartition("-")[2] for tag in tags})
    begins = np.array([not tag.startswith("I-") for tag in tags])[b.label]  # [P]
    begins[b.seq_ptr[:-1]] = True
    position = np.arange(b.positions)
    since = position - np.maximum.accumulate(np.where(begins, position, 0))
    label = np.array([types.index(tag.rpartition("-")[2]) for tag in tags], dtype=np.int32)[b.label]
    batch = replace(b, label=label, begin=since % longest == 0)
    return replace(tagged, batch=batch, labels=Alphabet(types)), types


def structures(types: list[str], longest: Sequence[int]) -> dict[str, Structure]:
    """Return the chain, and the segments for each D; those outside have one position."""
    made: dict[str, Structure] = {"chain": Chain(types)}
    for d in longest:
        made[f"D = {d}"] = SemiMarkov(types, max_length=[1 if name == "O" else d for name in types])
    return made


def given_to(tagged: Dataset, structure: Structure) -> Dataset:
    longest = max(structure.max_length) if isinstance(structure, SemiMarkov) else 1
    made, _ = as_segments(tagged, longest)
    return made if isinstance(structure, SemiMarkov) else replace(made, batch=replace(made.batch, begin=None))


def ratios(what: str, seconds: dict[str, float], spread: dict[str, float]) -> list[dict[str, Any]]:
    rows = []
    for name, value in seconds.items():
        row = {"part": what, "structure": name, "seconds": value, "ratio": value / seconds["chain"]}
        print(f"{what}, {name}: {value:.3f} s +- {100 * spread[name]:.0f} %, {row['ratio']:.2f} x the chain")
        rows.append(row)
    return rows


def evaluation(quick: bool, peer: str) -> list[dict[str, Any]]:
    tagged = CORPUS.datasets()[0]
    tagged = tagged[:500] if quick else tagged
    calls: dict[str, Callable[[], object]] = {}
    for name, structure in structures(as_segments(tagged, 1)[1], LONGEST).items():
        data = given_to(tagged, structure)
        layout = Layout.observed(data.batch, structure)
        loss = Likelihood().bind(layout, structure, data.batch, threads=1)
        w, gradient = np.random.default_rng(0).normal(size=loss.size) / 10, np.empty(loss.size)
        calls[name] = partial(loss.value_and_grad, w, gradient)
    timings = interleaved(calls, 3 if quick else 9)
    seconds = {name: timing.median for name, timing in timings.items()}
    return ratios("evaluation", seconds, {name: timing.spread for name, timing in timings.items()})


def training(quick: bool, peer: str) -> list[dict[str, Any]]:
    tagged = CORPUS.datasets()[0]
    tagged = tagged[:300] if quick else tagged
    seconds: dict[str, list[float]] = {}
    made = structures(as_segments(tagged, 1)[1], (1, 2, 6, 10))
    data = {name: given_to(tagged, structure) for name, structure in made.items()}
    for _ in range(1 if quick else 3):
        for name, structure in made.items():
            clock = Clock()
            model = train(
                data[name], structure=structure, objective=Likelihood(l2=2.0), stop=Stop(tolerance=1e-3)
            )
            seconds.setdefault(name, []).append(clock.read()["seconds"])
            print(f"training, {name}: {seconds[name][-1]:.2f} s; {model.training}", flush=True)
    middle = {name: statistics.median(values) for name, values in seconds.items()}
    spread = {name: (max(v) - min(v)) / 2 / middle[name] for name, v in seconds.items()}
    return ratios("training", middle, spread)


def against_peer(quick: bool, peer: str) -> list[dict[str, Any]]:
    if not peer:
        print("peer: no Python with torch-struct is given (--peer or CRFKIT_PEER_PYTHON); left out")
        return []
    rng, n = np.random.default_rng(0), 2 if quick else N
    segment, edge = rng.normal(size=(n, T, D, L)), rng.normal(size=(L, L))
    problem = SemiMarkov(L, max_length=D).potentials(
        segment.reshape(n * T, D, L), edge, seq_ptr=np.arange(n + 1) * T
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scores.npz"
        np.savez(path, segment=segment, edge=edge, repetitions=3 if quick else 1)
        script = str(Path(__file__).with_name("semi_peer.py"))
        run = subprocess.run([peer, script, str(path)], capture_output=True, text=True, check=False)
    if run.returncode:
        print(f"peer: {peer} cannot run torch-struct; left out\n{run.stderr[-400:]}")
        return []
    theirs = json.loads(run.stdout.splitlines()[-1])
    ours = interleaved({"crfkit": lambda: kernels.marginals(problem.problem, False, False, 1)}, 9)["crfkit"]
    log_z = kernels.marginals(problem.problem, False, False, 1)["value"]
    row = {
        "part": "peer",
        "sequences": n,
        "crfkit": plain(ours),
        "torch-struct": theirs["seconds"],
        "torch": theirs["torch"],
        "ratio": statistics.median(theirs["seconds"]) / ours.median,
        "difference of log Z": float(np.abs(np.array(theirs["log_z"]) - log_z).max()),
    }
    print(
        f"peer, {n} sequences: crfkit {1e3 * ours.median:.2f} ms +- {100 * ours.spread:.0f} %, torch-struct "
        f"{statistics.median(theirs['seconds']):.2f} s, {row['ratio']:,.0f} x; log Z differs by "
        f"{row['difference of log Z']:.1e}"
    )
    return [row]


def segments(quick: bool, peer: str) -> list[dict[str, Any]]:
    rows = islice(chain(CORPUS.sentences(), CORPUS.sentences(test=True)), 500 if quick else 10_000)
    tagged = Extractor(RECIPE, "tag", longest=D)(Columns.from_rows(rows, names=("word", "pos", "tag")))
    data, types = as_segments(tagged, D)
    memory = HighWater()
    before = memory.pause()
    memory.resume()
    clock = Clock()
    structure = structures(types, [D])[f"D = {D}"]
    model = train(data, structure=structure, objective=Likelihood(l2=1.0), stop=Stop(tolerance=1e-3))
    seconds = clock.read()["seconds"]
    assert model.training is not None
    row = {
        "part": "segments",
        "sentences": len(data),
        "weights": model.layout.weights,
        "seconds": seconds,
        "peak_mb": HighWater().pause(),
        "before_mb": before,
        "certificate": str(model.training.certificate),
    }
    print(
        f"segments, {len(data):,} sentences, {row['weights']:,} weights: {seconds:.1f} s, largest memory "
        f"{row['peak_mb']:.0f} MB ({before:.0f} MB before). {row['certificate']}"
    )
    return [row]


PARTS = {"evaluation": evaluation, "training": training, "peer": against_peer, "segments": segments}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--parts", default="all", help=f"all, or some of {','.join(PARTS)}")
    parser.add_argument("--peer", default=os.environ.get("CRFKIT_PEER_PYTHON", ""), metavar="PYTHON")
    options = parser.parse_args(arguments)
    parts = chosen(options.parts, list(PARTS), "part")
    if parts != ["peer"] and CORPUS.missing:
        print(f"{CORPUS.missing[0]} is not there: set CRFKIT_DATA to the folder of the corpora")
        raise SystemExit(2)
    rows = [row for part in parts for row in PARTS[part](options.quick, options.peer)]
    print("written to", write("semi", rows))


if __name__ == "__main__":
    main()
