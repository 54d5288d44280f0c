"""Learners of linked documents: words alone, aggregates of neighbors, and cliques of links."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from crfkit.estimators import GraphCRF
from crfkit.graphs import scopes
from crfkit.inference.methods import BeliefPropagation
from crfkit.linear.objective import Objective
from crfkit.objectives import Likelihood, PseudoLikelihood
from crfkit.optimize import LBFGS
from crfkit.papers.linked import Linked, Mask
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.structures.graphs.cliques import Clique
from crfkit.structures.graphs.graph import Graph

__all__ = ["L2", "LEARNERS", "WORDS", "Learner", "learn"]

L2 = 1.0  # of all learners, not tuned
WORDS = "words alone"
#: Belief propagation has several fixed points where links weigh much, and its value jumps between them: the
#: search ends when the value fell by less than 1 % in 3 iterations.
_ROUGH = LBFGS(period=3, delta=1e-2)


_LIKELIHOOD = Likelihood(l2=L2)


@dataclass(frozen=True)
class Learner:
    """Which cliques and features there are, and how weights are learned."""

    near: str = ""  #: "words" or "labels": aggregates of neighbors as features
    links: Literal["", "potts", "same", "free"] = ""  #: the cells of a clique for each link
    shared: bool = False  #: a clique for each two documents that a third links to
    objective: Objective = _LIKELIHOOD


_PSEUDO = PseudoLikelihood(l2=L2)
LEARNERS: dict[str, Learner] = {
    WORDS: Learner(),
    "neighbors' words": Learner(near="words"),
    "neighbors' labels": Learner(near="labels"),
    "links, one weight, BP": Learner(links="potts"),
    "links, one weight, pseudo": Learner(links="potts", objective=_PSEUDO),
    "links, same label, BP": Learner(links="same"),
    "links, same label, pseudo": Learner(links="same", objective=_PSEUDO),
    "links, free, BP": Learner(links="free"),
    "links, free, pseudo": Learner(links="free", objective=_PSEUDO),
    "links and shared links, pseudo": Learner(links="free", shared=True, objective=_PSEUDO),
}


def learn(
    data: Linked, learner: Learner, known: Mask, *, apart: bool, threads: int | None
) -> tuple[NDArray[Any], float]:
    """Return the class of each document and the seconds of training.

    Weights are learned from the labeled documents and the links between them. Within a network their labels
    are given when the others are asked for; `apart` says that they are in other networks.
    """
    mark = np.where(known, data.label, -1).astype(np.int32)
    whole, part = _batch(data, learner, mark, None), _batch(data, learner, mark, known)
    options: dict[str, Any] = {"objective": learner.objective, "n_jobs": threads}
    if learner.links and isinstance(learner.objective, Likelihood):
        options |= {"method": BeliefPropagation(), "optimizer": _ROUGH}
    begun = time.perf_counter()
    crf = GraphCRF(whole.graph, **options).fit(part)
    seconds = time.perf_counter() - begun
    given = None if apart else {"document": mark}
    found = crf.predict_proba(whole, method=BeliefPropagation(), given=given)
    return found["document"].argmax(axis=1), seconds


def _batch(data: Linked, learner: Learner, mark: NDArray[np.int32], only: Mask | None) -> GraphBatch:
    """Return all documents, or some of them with the links between these."""
    cliques: dict[str, Any] = {"word": ["document"], "prior": ["document"]}
    features: dict[str, Any] = {"word": data.words}
    scope: dict[str, Any] = {}
    if learner.near:
        for name, links in (("to", data.links), ("from", data.links[:, ::-1])):
            cliques[name] = ["document"]
            if learner.near == "words":
                features[name] = scopes.aggregate(links, data.words, "mean", size=len(mark))
            else:
                shares = scopes.aggregate(links, mark, "share", size=len(mark))
                features[name] = _columns(shares, len(data.classes))
    if learner.links:
        cliques["link"] = Clique("document", "document", cells=learner.links)
        scope["link"] = data.links if learner.links == "free" else scopes.simple(data.links)
    if learner.shared:
        cliques["shared"] = Clique("document", "document", cells="symmetric")
        scope["shared"] = scopes.select("a, b", "links(c, a) & links(c, b) & a < b", links=data.links)
    graph = Graph({"document": data.classes}, **cliques)
    if only is None:
        return graph.batch(labels={"document": mark}, features=features, scopes=scope)
    return graph.batch(labels={"document": mark[only]}, **_among(only, scope, features))


def _among(only: Mask, scope: Mapping[str, Any], features: Mapping[str, Any]) -> dict[str, Any]:
    number = np.where(only, np.cumsum(only) - 1, -1)
    kept = np.flatnonzero(only)
    return {
        "scopes": {name: number[rows[only[rows].all(axis=1)]] for name, rows in scope.items()},
        "features": {name: rows[kept] for name, rows in features.items()},
    }


def _columns(rows: NDArray[Any], classes: int) -> NDArray[Any]:
    """Return shares of labels with a column for each class, also where no known label is of the last."""
    return np.pad(rows, ((0, 0), (0, classes - rows.shape[1])))
