"""Objects that people pickle, one of each kind."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import crfkit
from crfkit import Chain, ChainCRF, Graph, GraphCRF, SemiMarkov
from crfkit.compat.sklearn_crfsuite import CRF
from crfkit.data.dataset import Dataset
from crfkit.features import ItemExtractor
from crfkit.graphs import Clique
from crfkit.models import Tagger
from crfkit.models.graph_model import GraphModel
from crfkit.models.model import SequenceModel
from crfkit.structures import Tree
from crfkit.structures.graphs.batch import GraphBatch

X = [[["the"], ["dog"]], [["a"], ["dog"], ["barks"]]]
Y = [["D", "N"], ["D", "N", "V"]]


def dataset() -> Dataset:
    return ItemExtractor()(X, Y)


def model() -> SequenceModel:
    return crfkit.train(dataset(), n_jobs=1)


def graph_batch() -> GraphBatch:
    graph = Graph({"token": ["D", "N"]}, word=["token"], step=Clique("token", "token", cells="symmetric"))
    steps = [[0, 1], [1, 2], [3, 4]]
    return graph.batch(
        graph_ptr=[0, 3, 5],
        labels={"token": ["D", "N", "N", "D", "N"]},
        scopes={"step": steps},
        features={"word": np.eye(5)},
    )


def graph_model() -> GraphModel:
    return GraphCRF(graph_batch().graph).fit(graph_batch()).model_


def scores(name: str) -> Any:
    """Return potentials of a kind, of which something was asked already."""
    node = np.array([[0.0, 1.0], [2.0, 0.0], [0.5, 0.0]])
    made: dict[str, Callable[[], Any]] = {
        "ChainPotentials": lambda: Chain(["B", "I"]).potentials(node, edge=np.eye(2)),
        "SemiMarkovPotentials": lambda: SemiMarkov(["B", "I"], max_length=2).potentials(
            np.stack([node, node], axis=1), edge=np.eye(2)
        ),
        "TreePotentials": lambda: Tree([-1, 0, 0], [2, 2, 3]).potentials(
            [[0.0, 1.0], [2.0, 0.0], [0.0, 0.0, 1.0]]
        ),
        "GraphPotentials": lambda: graph_batch().potentials(word=[0.0, 1.0]),
    }
    one = made[name]()
    crfkit.inference.log_partition(one, threads=1)
    return one


def number() -> Any:
    """Return log Z of one graph, which says how it was found."""
    one = Graph({"token": 2}, word=["token"]).batch(sizes={"token": 2})
    return crfkit.inference.log_partition(one.potentials(word=[0.0, 1.0]), threads=1)


SCORES = ("ChainPotentials", "SemiMarkovPotentials", "TreePotentials", "GraphPotentials")

#: What is called NAME -> makes one.
MADE: dict[str, Callable[[], Any]] = {
    "Batch": lambda: dataset().batch,
    "Dataset": dataset,
    "Alphabet": lambda: dataset().labels,
    "Chain": lambda: Chain(["B", "I"], order=2),
    "SemiMarkov": lambda: SemiMarkov(["B", "I"], max_length=3),
    "Tree": lambda: Tree([-1, 0, 0], [2, 2, 3]),
    "Clique": lambda: graph_batch().graph.cliques["step"],
    "Graph": lambda: graph_batch().graph,
    "GraphBatch": graph_batch,
    "CliqueFeatures": lambda: graph_batch().features["word"],
    "Block": lambda: model().layout.blocks[0],
    "Layout": lambda: model().layout,
    "Names": lambda: model().names,
    "Model": model,
    "GraphModel": graph_model,
    "Tagger": lambda: Tagger(model()),
    "ChainCRF": lambda: ChainCRF(n_jobs=1).fit(X, Y),
    "GraphCRF": lambda: GraphCRF(graph_batch().graph).fit(graph_batch()),
    "CRF": lambda: CRF().fit(X, Y),
    **{name: partial(scores, name) for name in SCORES},
    "GraphMarginals": lambda: crfkit.inference.marginals(scores("GraphPotentials"), threads=1),
    "Number": number,
    "Numbers": lambda: crfkit.inference.log_partition(scores("GraphPotentials"), threads=1),
}
