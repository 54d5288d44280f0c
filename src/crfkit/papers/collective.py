"""Gupta (2005) section 7, after Taskar, Abbeel & Koller (2002): linked documents, classified together.

Logistic regression on words against the same model with features of neighbors, and with cliques of links.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from crfkit.estimators import GraphCRF
from crfkit.graphs import scopes
from crfkit.inference.methods import BeliefPropagation
from crfkit.linear.objective import Objective
from crfkit.metrics import mcnemar
from crfkit.objectives import Likelihood, PseudoLikelihood
from crfkit.optimize import LBFGS
from crfkit.papers.experiment import Given, Keyed, Quantity
from crfkit.papers.linked import Linked, Mask, generated, linked
from crfkit.papers.page import Claim, Figure, Line, Page, Table
from crfkit.papers.report import with_interval
from crfkit.papers.results import Result
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.structures.graphs.cliques import Clique
from crfkit.structures.graphs.graph import Graph

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


Key = tuple[str, str, str]  # task, learner, what is measured
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


ACCURACY, SECONDS, CHANCE = "accuracy", "seconds", "p by McNemar's test against words alone"
#: The relational models that claims are about: citations join equal topics, links of pages do not.
ONE, FREE = "links, one weight, pseudo", "links, free, BP"


@dataclass(frozen=True)
class Task:
    """Documents, and which of them are labeled."""

    data: Linked
    share: int = 0  #: percentage of random documents that is labeled; 0: a published split
    sites: bool = False  #: one site after the other is left out

    @property
    def name(self) -> str:
        """The name of the data and of the split."""
        if self.sites:
            return f"{self.data.name}, one site left out"
        return f"{self.data.name}, " + (f"{self.share} % labeled" if self.share else "published split")

    @property
    def links(self) -> str:
        """The relational model that claims are about."""
        return FREE if self.sites else ONE

    @property
    def learners(self) -> list[str]:
        """Names of learners; where no neighbor's label is known, it cannot be a feature."""
        return [name for name, one in LEARNERS.items() if not (self.sites and one.near == "labels")]

    def run(self, name: str, seed: int, threads: int | None) -> tuple[NDArray[Any], NDArray[Any], float]:
        """Return the true and the found classes of the documents asked for, and the seconds of a training."""
        data, learner = self.data, LEARNERS[name]
        if not self.sites:
            known, asked = (
                data.random(self.share, seed) if self.share else (data.split["train"], data.split["test"])
            )
            found, seconds = learn(data, learner, known, apart=False, threads=threads)
            return data.label[asked], found[asked], seconds
        assert data.site is not None
        classes, spent = np.empty_like(data.label), []
        for site in range(len(data.sites)):
            found, seconds = learn(data, learner, data.site != site, apart=True, threads=threads)
            classes[data.site == site] = found[data.site == site]
            spent.append(seconds)
        return data.label, classes, max(spent)


def make(given: Given) -> Collective:
    """Return the experiment: on citations and web pages, or quick, on generated documents."""
    if given.quick:
        data = generated()
        return Collective([Task(data, 30), Task(data, 60), Task(data), Task(data, sites=True)], given, 2)
    papers = [linked(given, name) for name in ("cora", "citeseer")]
    tasks = [Task(data, share) for data in papers for share in (10, 20, 40, 67)]
    tasks += [Task(data) for data in papers]
    return Collective([*tasks, Task(linked(given, "webkb"), sites=True)], given, 5)


@dataclass(frozen=True)
class Collective(Keyed[Key]):
    """The experiment on some tasks."""

    tasks: Sequence[Task]
    given: Given
    runs: int
    learned: dict[tuple[str, str, int], Any] = field(default_factory=dict)  #: what was trained for a task

    @property
    def settings(self) -> dict[str, Any]:
        """What the numbers depend on."""
        return {"l2": L2, "tasks": [task.name for task in self.tasks]}

    def _about(self, key: Key) -> str:
        return f"{key[0]}: {len(self._task(key[0]).data.label)} documents"

    def measure(self, quantity: Quantity, seed: int) -> float:
        """Return the accuracy in percent, the seconds of training, or a p-value."""
        name, learner, what = self._keys()[quantity.name]
        truth, found, seconds = self._trained(name, learner, seed)
        if what == SECONDS:
            return seconds
        if what == ACCURACY:
            return 100.0 * float((truth == found).mean())
        words = self._trained(name, WORDS, seed)[1]
        rows = [[list(map(str, one.tolist()))] for one in (truth, words, found)]
        return mcnemar(*rows).p_value

    def _trained(self, name: str, learner: str, seed: int) -> tuple[NDArray[Any], NDArray[Any], float]:
        task = self._task(name)
        key = (name, learner, seed if task.share else 0)  # other splits do not depend on the seed
        if key not in self.learned:
            self.learned[key] = task.run(learner, seed, self.given.threads)
        found: tuple[NDArray[Any], NDArray[Any], float] = self.learned[key]
        return found

    def _keys(self) -> dict[str, Key]:
        return {
            f"{task.name}; {learner}: {what}": (task.name, learner, what)
            for task in self.tasks
            for learner in task.learners
            for what in (ACCURACY, SECONDS, CHANCE)
            if what != CHANCE or learner != WORDS
        }

    def page(self, found: Mapping[str, Result]) -> Page:
        """Return the tables, the figure, and what follows."""
        known = self._known(found)
        header = ["learner", *(task.name for task in self.tasks)]
        rows = {
            what: [
                [learner, *(_cell(known.get((task.name, learner, what)), task, what) for task in self.tasks)]
                for learner in LEARNERS
                if what != CHANCE or learner != WORDS
            ]
            for what in (ACCURACY, CHANCE, SECONDS)
        }
        tables = [
            Table("Accuracy, %", header, rows[ACCURACY]),
            Table("The largest p of all runs, by McNemar's test against words alone", header, rows[CHANCE]),
            Table("Seconds of training, the longest of all runs", header, rows[SECONDS]),
        ]
        return Page(
            [
                "Taskar, Abbeel & Koller (2002) found that models with cliques of links classify pages of "
                "WebKB better than logistic regression on words. Here: cora and citeseer, papers that cite "
                "each other, with a share of random papers labeled or with the split of Planetoid; webkb, "
                "pages of four universities, each of which is left out once. Weights are learned from the "
                "labeled documents and the links between them; within a network the known labels are then "
                f"given. l2 is {L2:g} throughout and was not tuned.",
                "Neighbors' words and labels are features of the document (aggregates); links are cliques "
                "of two documents: one weight where both have the same label, a weight for each label that "
                "both have, or a free table of the labels of the document that links and of the "
                "one that it links to. Shared links: two documents that a third links to. Weights are "
                "learned by the likelihood with belief propagation (BP) or by pseudo-likelihood.",
            ],
            self._claims(known),
            tables,
            self._figures(known) if known else [],
        )

    def _claims(self, known: Mapping[Key, Result]) -> list[Claim]:
        texts = (
            "cliques of links classify better than words alone, on all data",
            "the gain is significant in each run",
            "training takes less than 6 seconds",
        )
        if any(key not in known for key in self._keys().values()):
            return [*map(Claim.missing, texts)]
        gain = {
            task.name: known[task.name, task.links, ACCURACY].ours - known[task.name, WORDS, ACCURACY].ours
            for task in self.tasks
        }
        chance = {task.name: max(known[task.name, task.links, CHANCE].runs.values()) for task in self.tasks}
        longest = {key: max(one.runs.values()) for key, one in known.items() if key[2] == SECONDS}
        last = max(longest, key=lambda key: longest[key])
        told = ", ".join(f"{name} {one:+.1f} points" for name, one in gain.items())
        odds = ", ".join(f"{name} {p:.1g}" for name, p in chance.items())
        return [
            Claim(texts[0], min(gain.values()) > 0.0, f"{ONE}; {FREE} on sites: {told}"),
            Claim(texts[1], min(gain.values()) > 0.0 and max(chance.values()) < 0.05, f"largest p: {odds}"),
            Claim(texts[2], longest[last] < 6.0, f"longest: {longest[last]:.1f} s, {last[1]} on {last[0]}"),
        ]

    def _figures(self, known: Mapping[Key, Result]) -> list[Figure]:
        panels: dict[str, dict[str, Line]] = {}
        for task in (task for task in self.tasks if task.share):
            lines = panels.setdefault(task.data.name, {})
            same = [one for one in self.tasks if one.share and one.data is task.data]
            for learner in (WORDS, "neighbors' words", "neighbors' labels", ONE, FREE):
                lines[learner] = Line.of({t.share: known.get((t.name, learner, ACCURACY)) for t in same})
        title = "Accuracy by the share of documents that is labeled"
        return [Figure("accuracy", title, "labeled, %", "accuracy, %", panels)]


def _cell(result: Result | None, task: Task, what: str) -> str:
    if result is None:
        return "-"
    if what == ACCURACY:
        return with_interval(result) if task.share else f"{result.ours:.1f}"
    most = max(result.runs.values())
    return f"{most:.1g}" if what == CHANCE else f"{most:.2f}"
