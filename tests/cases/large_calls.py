"""Calls of all parts that take some MB each, with all that they need: what is tried where memory is short."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import CliRunner

from crfkit import Chain, Graph, SemiMarkov, Stop, inference, read, train
from crfkit.arrays import Floats
from crfkit.cli import app
from crfkit.features import ItemExtractor
from crfkit.models import SequenceModel, Tagger
from crfkit.structures.graphs.potentials import GraphPotentials
from crfkit.training.blocks.stream import BlockedData

Calls = dict[str, Callable[[], Any]]

N, T, L, A = 150, 20, 8, 6000
STOP = Stop(max_iterations=3)
OPTIMIZERS = ("lbfgs", "owlqn", "sgd", "perceptron", "bcd", "dual")
#: Methods for graphs, and the queries that they are asked here.
METHODS: dict[str, Callable[..., Any]] = {
    "belief-propagation": inference.marginals,
    "mean-field": inference.marginals,
    "tree-reweighted": inference.marginals,
    "gibbs": inference.sample,
    "trws": inference.decode,
    "icm": inference.decode,
    "ilp": inference.decode,
}


def make_calls(folder: Path, threads: int | None = None) -> Calls:
    """Return calls by name; files that they need are in the folder."""
    rng = np.random.default_rng(0)
    return {
        **of_models(folder, rng, threads),
        **of_scores(rng, threads),
        **of_files(folder, rng),
        **of_commands(folder),
    }


def of_models(folder: Path, rng: np.random.Generator, threads: int | None) -> Calls:
    """Return trainings, and what models are asked."""
    X = [[[f"a{i}" for i in rng.integers(0, A, 6).tolist()] for _ in range(T)] for _ in range(N)]
    y = [[f"l{i}" for i in rng.integers(0, L, T).tolist()] for _ in X]
    tags = [["B-x" if t % 3 == 0 else "I-x" for t in range(T)] for _ in X]
    extract = ItemExtractor()
    data, few, segments = extract(X, y), extract(X[:40], y[:40]), extract(X[:40], tags[:40])
    blocks = BlockedData.write(folder / "blocks", (extract(X[i : i + 50], y[i : i + 50]) for i in (0, 50)))

    def learn(given: Any, **options: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return train(given, stop=STOP, n_jobs=threads, **options)

    model = learn(few)
    model.save(folder / "m.crf")
    made: Calls = {
        "load": lambda: SequenceModel.load(folder / "m.crf").predict(X[:2]),
        "predict": lambda: model.predict(X, threads=threads),
        "marginals": lambda: model.predict_proba(data, threads=threads),
        "tag": lambda: [Tagger(model).tag(x) for x in X[:20]],
        "items": lambda: ItemExtractor()(X, y),
        "order 2": partial(learn, few, structure=Chain(order=2), optimizer="lbfgs"),
        "segments": partial(learn, segments, structure=SemiMarkov(max_length=3)),
        "max-margin": partial(learn, few, objective="max-margin", optimizer="bcfw"),
        "blocks": partial(learn, blocks, optimizer="lbfgs"),
        "visits of blocks": partial(learn, blocks, optimizer="adagrad"),
    }
    for optimizer in OPTIMIZERS:
        made[f"train by {optimizer}"] = partial(learn, data, optimizer=optimizer)
    return made


def of_scores(rng: np.random.Generator, threads: int | None) -> Calls:
    """Return queries of chains and of a grid."""
    scores, grid = large_scores(rng), _grid(rng)
    made: Calls = {
        "edges": lambda: inference.marginals(scores, edges_by_position=True, threads=threads),
        "k best": lambda: inference.kbest(scores, 4, threads=threads),
        "sample": lambda: inference.sample(scores, 10, threads=threads),
    }
    for method, query in METHODS.items():
        made[f"grid: {method}"] = partial(query, grid, method=method, threads=threads)
    return made


def large_scores(rng: np.random.Generator, P: int = 6000, L: int = 30) -> Any:
    """Return potentials of chains of 20 positions."""
    edge: Floats = rng.normal(size=(L, L))
    scores = Chain(L).potentials(rng.normal(size=(P, L)), edge=edge, seq_ptr=np.arange(0, P + 1, 20))
    _ = scores.problem
    return scores


def _grid(rng: np.random.Generator, side: int = 40) -> GraphPotentials:
    graph = Graph({"pixel": 3}, unary=["pixel"], pair=["pixel", "pixel"])
    at = np.arange(side * side).reshape(side, side)
    across, down = np.stack([at[:, 1:], at[:, :-1]], -1), np.stack([at[1:], at[:-1]], -1)
    pairs = np.concatenate([across.reshape(-1, 2), down.reshape(-1, 2)])
    return graph.batch(sizes={"pixel": side * side}, scopes={"pair": pairs}).potentials(
        unary=rng.normal(size=(side * side, 3)), pair=rng.normal(size=(3, 3))
    )


def of_files(folder: Path, rng: np.random.Generator) -> Calls:
    """Return calls that read texts."""
    words = rng.integers(0, 9000, 20000).tolist()
    rows = [(f"w{i}", f"p{i % 7}", f"l{i % 5}", "\n" * (i % 9 == 0)) for i in words]
    (folder / "text").write_text("".join(f"{w} {p} {y}\n{end}" for w, p, y, end in rows))
    (folder / "crfsuite").write_text("".join(f"{y}\tw={w}\tp={p}:0.5\n{end}" for w, p, y, end in rows))
    (folder / "mallet").write_text("".join(f"w={w} p={p} {y}\n{end}" for w, p, y, end in rows))
    return {
        "columns": lambda: read(folder / "text"),
        "crfsuite": lambda: read(folder / "crfsuite", format="crfsuite"),
        "mallet": lambda: read(folder / "mallet", format="mallet"),
    }


def of_commands(folder: Path) -> Calls:
    """Return commands on the text of `of_files`, with all that they import."""
    text, model, out = folder / "text", folder / "words.crf", folder / "out"
    CliRunner().invoke(app, ["train", str(text), "-o", str(model), "--max-iterations", "3", "--quiet"])
    commands = {
        "crfkit tag": ["tag", model, text, "-o", out],
        "crfkit evaluate": ["evaluate", model, text],
        "crfkit show": ["show", model],
        "crfkit convert": ["convert", model, folder / "out.crfsuite"],
    }
    made: Calls = {name: partial(_command, *arguments) for name, arguments in commands.items()}
    for call in made.values():
        call()
    return made


def _command(*arguments: object) -> None:
    """Run a command; where it says in one line that memory is short, raise that."""
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    said = done.output.strip().splitlines()[-1:]
    if done.exit_code == 1 and said and re.match("crfkit: .*(memory|Unable to allocate)", said[0]):
        raise MemoryError(said[0])
    if done.exit_code:
        raise RuntimeError(f"status {done.exit_code}: {done.output[-300:]} {done.exception!r}")
