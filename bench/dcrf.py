"""Exact training of factorial CRFs: one evaluation on CoNLL-2000, and training to a certified optimum.

    python -m bench.dcrf [--sentences 8936] [--repeat 3] [--threads 2] [--train]

Parts of speech with noun phrases ("NP") or with all chunks, words as features. "counts" are log Z and
expected counts from ready scores; beside them the same by crfkit's own chains: of product labels (a label is
a pair of labels; NP only), and of tags alone, which are also given as a graph. Times are the least of a few
repetitions, by the clock, and of the processor by thread: what a quiet machine would take.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import crfkit
from bench.clocks import Clock
from bench.corpora import folder
from crfkit import Chain, FactorialCRF, Graph, Likelihood, Stop, inference
from crfkit.graphs import scopes
from crfkit.inference.methods import Elimination
from crfkit.linear.features import FeatureSelection
from crfkit.linear.graphs.layout import graph_layout
from crfkit.linear.graphs.loss import GraphLoss
from crfkit.native import threads_or_all
from crfkit.structures.graphs.batch import GraphBatch

TASKS = ("NP", "chunks")
WORDS = "w[-2..2]; lower(w)[0]; prefix(w, 3)[0]; suffix(w, 1)[0]; suffix(w, 2)[0]; suffix(w, 3)[0]"


def sentences(most: int, task: str) -> list[list[tuple[str, str, str]]]:
    """Return words, tags and chunks of training sentences."""
    found: Any = crfkit.read(folder() / "conll2000/train.txt.gz", "columns", columns=["w", "p", "y"])
    kept = [
        [(w, p, y if task == "chunks" or y.endswith("-NP") else "O") for w, p, y in rows] for rows in found
    ]
    return kept[:most]


def batch_of(rows: list[list[tuple[str, str, str]]]) -> GraphBatch:
    """Return two chains joined token by token, with words as features."""
    ptr = np.cumsum([0, *map(len, rows)])
    ids = [np.unique(column, return_inverse=True) for column in zip(*chain.from_iterable(rows), strict=True)]
    (_, word), (tags, tag), (chunks, chunk) = ids
    pairs = {"tags": ["tag", "tag"], "chunks": ["chunk", "chunk"], "both": ["tag", "chunk"]}
    graph = Graph(
        {"tag": tags.tolist(), "chunk": chunks.tolist()}, word_tag=["tag"], word_chunk=["chunk"], **pairs
    )
    seen = (np.arange(len(word) + 1), word.astype(np.int32), None)
    step = scopes.chain(ptr)
    return graph.batch(
        graph_ptr=ptr,
        labels={"tag": tag.astype(np.int32), "chunk": chunk.astype(np.int32)},
        scopes={"tags": step, "chunks": step},
        features={"word_tag": seen, "word_chunk": seen},
    )


def least(repeat: int, threads: int, work: Callable[[], object]) -> str:
    """Return the least seconds of a few repetitions: by the clock, and of the processor by thread."""
    made = []
    for _ in range(repeat):
        clock = Clock()
        work()
        made.append(clock.read())
    return f"{min(m['seconds'] for m in made):.3f} ({min(m['cpu'] for m in made) / threads:.3f})"


def evaluations(task: str, most: int, repeat: int, threads: int, out: Table) -> None:
    """Time one evaluation, its counts, and the chains beside them."""
    batch, rng = batch_of(sentences(most, task)), np.random.default_rng(0)
    loss = GraphLoss(
        Likelihood(), graph_layout(batch, FeatureSelection()), batch, Elimination(), threads=threads
    )
    w = 0.1 * rng.normal(size=loss.size)
    gradient, weight = np.empty_like(w), np.ones(batch.graphs)
    loss.value_and_grad(w, gradient)
    scores = loss.potentials(w)
    tables = {name: table.scores for name, table in scores.tables.items()}
    ptr = np.concatenate([[0], np.cumsum(np.bincount(batch.graph_of) // 2)])

    def add(what: str, work: Callable[[], object]) -> None:
        out.add_row(task, what, least(repeat, threads, work))

    add("evaluation", lambda: loss.value_and_grad(w, gradient))
    add("counts", lambda: inference.expected(scores, weight, threads=threads))
    if task != "NP":
        return
    L, M = (batch.graph.width(kind) for kind in ("tag", "chunk"))
    node = tables["word_tag"][:, :, None] + tables["word_chunk"][:, None, :] + tables["both"]
    edge = tables["tags"][0][:, None, :, None] + tables["chunks"][0][None, :, None, :]
    shape = (L * M, L * M)
    product = Chain(L * M).potentials(node.reshape(-1, L * M), edge.reshape(shape), seq_ptr=ptr)
    add("counts, chain of product labels", lambda: inference.expected(product, weight, threads=threads))
    tags = Chain(L).potentials(tables["word_tag"], tables["tags"][0], seq_ptr=ptr)
    add("counts, chain of tags", lambda: inference.expected(tags, weight, threads=threads))
    graph = Graph({"tag": L}, word=["tag"], step=["tag", "tag"])
    alone = graph.batch(graph_ptr=ptr, scopes={"step": scopes.chain(ptr)})
    same = alone.potentials(word=tables["word_tag"], step=tables["tags"][0])
    add("counts, the same chain as a graph", lambda: inference.expected(same, weight, threads=threads))


def trained(task: str, most: int, threads: int, out: Table) -> None:
    """Time training to an objective that is certified to be 0.1 % above its optimum at the most."""
    rows = sentences(most, task)
    X = [[{"w": w} for w, _, _ in row] for row in rows]
    y = {"tag": [[p for _, p, _ in row] for row in rows], "chunk": [[c for _, _, c in row] for row in rows]}
    crf = FactorialCRF(features=WORDS, stop=Stop(tolerance=1e-3), n_jobs=threads)
    clock = Clock()
    crf.fit(X, y)
    took = clock.read()
    out.add_row(task, "training to 1e-3", f"{took['seconds']:.1f} ({took['cpu'] / threads:.1f})")


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sentences", type=int, default=8936)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--threads", type=int, default=threads_or_all(None))
    parser.add_argument("--task", choices=TASKS)
    parser.add_argument("--train", action="store_true")
    given = parser.parse_args()
    out = Table("labels", "what", "seconds (of the processor by thread)")
    for task in TASKS if given.task is None else (given.task,):
        if given.train:
            trained(task, given.sentences, given.threads, out)
        else:
            evaluations(task, given.sentences, given.repeat, given.threads, out)
    Console().print(out)


if __name__ == "__main__":
    main()
