"""Sarawagi & Cohen (2004), Tables 1-2 and Figure 1: segments against chains, with and without dictionaries.

CRF/1 labels words I and O; CRF/4 has four labels instead of I (begin, continue, end, unique); a semi-CRF
labels segments. Words and shapes within three words are features of all; semi-CRFs also have phrases, shapes
and lengths of segments, and words at their ends (section 3.2). Dictionaries give the similarity to the
closest entry: of the segment in semi-CRFs, of the word in chains. The internal dictionary holds the entities
of the training data (for chains their words), without those that only the document at hand has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from crfkit.papers.experiment import Given, Keyed, Quantity
from crfkit.papers.page import Figure, Line, Page, Table
from crfkit.papers.report import number, with_interval
from crfkit.papers.results import Result
from crfkit.papers.semi_ner_claims import CHAINS, SEMI, Key, claims
from crfkit.papers.semi_ner_learners import PENALTIES, Learner, chosen_penalty, f1
from crfkit.papers.semi_ner_tasks import TASKS, Task, generated

#: Table 1, F1: no dictionary, internal, external, both.
PAPER = {
    "CRF/1": {
        "state": (20.8, 44.5, 69.2, 55.2),
        "title": (28.5, 3.8, 38.6, 19.9),
        "person": (67.6, 48.0, 81.4, 64.7),
        "city": (70.3, 60.0, 80.4, 69.8),
        "company": (51.4, 16.5, 55.3, 15.6),
    },
    "CRF/4": {
        "state": (15.0, 25.4, 46.8, 43.1),
        "title": (23.7, 7.9, 36.4, 14.6),
        "person": (70.9, 64.5, 82.5, 74.8),
        "city": (73.2, 70.6, 80.8, 76.3),
        "company": (54.8, 20.6, 61.2, 25.1),
    },
    "semi-CRF": {
        "state": (25.6, 35.5, 62.7, 65.2),
        "title": (33.8, 37.5, 41.1, 40.2),
        "person": (72.2, 74.8, 82.8, 83.7),
        "city": (75.9, 75.3, 84.0, 83.6),
        "company": (60.2, 59.7, 60.9, 60.9),
    },
}
DICTIONARIES = ("none", "internal", "external", "both")
SHARE = 0.1  # of the documents, for the tables
CURVES = ("state", "city", "person")
#: Figure 1: name of a curve, learner, dictionary.
CURVED = (
    ("CRF/4", "CRF/4", "none"),
    ("SemiCRF+int", SEMI, "internal"),
    ("CRF/4+dict", "CRF/4", "external"),
    ("SemiCRF+int+dict", SEMI, "both"),
)


def make(given: Given) -> SemiNER:
    """Return the experiment: on the corpora, or quick, on two generated tasks."""
    if given.quick:
        return SemiNER([generated(name) for name in ("state", "city")], given, (0.1, 0.3), (2,), 2)
    tasks = [read(given) for read in TASKS.values()]
    return SemiNER(tasks, given, (0.05, 0.1, 0.2, 0.5), (2, 3), 7)


@dataclass(frozen=True)
class SemiNER(Keyed[Key]):
    """The experiment on some tasks."""

    tasks: Sequence[Task]
    given: Given
    shares: Sequence[float]  #: of the learning curves
    orders: Sequence[int]  #: of chains beyond the first
    runs: int
    penalties: dict[tuple[str, int], float] = field(default_factory=dict)  #: l2 of the runs so far

    @property
    def settings(self) -> dict[str, Any]:
        """What the numbers depend on."""
        return {"l2": list(PENALTIES), "documents": {task.name: len(task.documents) for task in self.tasks}}

    def _paper(self, key: Key) -> float | None:
        return _paper(key)

    def measure(self, quantity: Quantity, seed: int) -> float:
        """Return the F1 of spans, in percent, on the documents that are held out."""
        name, learner, dictionary, order, share = self._keys()[quantity.name]
        task = self._task(name)
        train, test = task.split(seed, share)
        internal, external = dictionary in ("internal", "both"), dictionary in ("external", "both")
        asked = Learner(learner, order, internal, external, self._penalty(task, seed))
        return f1(asked, task, train, test, self.given.threads)

    def _penalty(self, task: Task, seed: int) -> float:
        """Return the l2 of a run, chosen once on what Table 1 trains on."""
        if (task.name, seed) not in self.penalties:
            train, _ = task.split(seed, SHARE)
            self.penalties[task.name, seed] = chosen_penalty(task, train, self.given.threads)
        return self.penalties[task.name, seed]

    def page(self, found: Mapping[str, Result]) -> Page:
        """Return the tables, the figure, and which claims of the paper hold."""
        names = [task.name for task in self.tasks]
        scores = self._known(found)
        return Page(
            self._notes(),
            claims(scores, names, SHARE, self.shares, self.orders),
            [*(_table_1(learner, names, scores) for learner in PAPER), self._table_2(scores)],
            [_figure(names, scores, self.shares)] if scores else [],
        )

    def _keys(self) -> dict[str, Key]:
        names = [task.name for task in self.tasks]
        made: dict[str, Key] = {}
        for task, learner, kind in product(names, PAPER, DICTIONARIES):
            made[f"Table 1: {task}, {learner}, dictionary: {kind}"] = (task, learner, kind, 1, SHARE)
        for task, learner, order in product(names, CHAINS, self.orders):
            made[f"Table 2: {task}, {learner}, order {order}"] = (task, learner, "none", order, SHARE)
        for task, (curve, learner, kind), share in product(CURVES, CURVED, self.shares):
            if task in names and share != SHARE:  # that share is in Table 1
                made[f"Figure 1: {task}, {curve}, {share} of the data"] = (task, learner, kind, 1, share)
        return made

    def _notes(self) -> list[str]:
        sizes = "\n".join(
            f"- {task.name}: {task.about}; {len(task.documents)} documents, "
            f"{sum(len(one.words) for one in task.documents):,} words, "
            f"{sum(len(one.spans) for one in task.documents):,} entities, "
            f"{100.0 * _listed(task):.0f} % of them word for word in the external dictionary of "
            f"{len(task.dictionary):,} entries"
            for task in self.tasks
        )
        return [
            "The corpora of the paper (Indian addresses, job postings, CSPACE mails) could not be found; "
            "each task has the nearest that could be had. The numbers of the paper and ours are of different "
            "data: compare directions, not values.",
            sizes,
            f"Training on {SHARE} of the documents, testing on 0.3; F1 of spans in percent. The penalty l2 "
            f"of a run is the same for all learners, one of {_listing(PENALTIES)}: the one whose CRF/4 and "
            "semi-CRF are the best in two folds of the documents that Table 1 trains on. The "
            "longest segment is the longest of the training part. Our copy of the paper lacks the numbers of "
            "orders 2 and 3 in Table 2 and those behind Figure 1.",
        ]

    def _table_2(self, found: Mapping[Key, Result]) -> Table:
        header = ["task", *(f"{c}, order {k}" for c in CHAINS for k in (1, *self.orders)), SEMI]
        rows = []
        for task in self.tasks:
            cells = [(c, k) for c in CHAINS for k in (1, *self.orders)]
            ours = [
                with_interval(found.get((task.name, c, "none", k, SHARE))) for c, k in [*cells, (SEMI, 1)]
            ]
            rows.append([task.name, *ours])
        return Table("Table 2: chains of higher order", header, rows)


def _listing(numbers: Sequence[float]) -> str:
    return " and ".join(f"{one:g}" for one in numbers)


def _listed(task: Task) -> float:
    """Return the share of the entities that the external dictionary lists."""
    entries = {text.lower() for text in task.dictionary}
    phrases = [text.lower() for one in task.documents for text in one.phrases()]
    return sum(text in entries for text in phrases) / max(1, len(phrases))


def _paper(key: Key) -> float | None:
    task, learner, kind, order, share = key
    return PAPER[learner][task][DICTIONARIES.index(kind)] if (order, share) == (1, SHARE) else None


def _table_1(learner: str, tasks: Sequence[str], found: Mapping[Key, Result]) -> Table:
    header = ["task", *(f"{kind}, {who}" for kind in DICTIONARIES for who in ("paper", "ours"))]
    rows = []
    for task in tasks:
        keys: list[Key] = [(task, learner, kind, 1, SHARE) for kind in DICTIONARIES]
        rows.append(
            [task, *(text for k in keys for text in (number(_paper(k)), with_interval(found.get(k))))]
        )
    return Table(f"Table 1: {learner}, by dictionary", header, rows)


def _figure(tasks: Sequence[str], found: Mapping[Key, Result], shares: Sequence[float]) -> Figure:
    panels: dict[str, dict[str, Line]] = {}
    for task in (task for task in CURVES if task in tasks):
        panels[task] = {}
        for curve, learner, kind in CURVED:
            panels[task][curve] = Line.of({s: found.get((task, learner, kind, 1, s)) for s in shares})
    title = "Figure 1: F1 by the share of the documents that is trained on, with 95 % intervals"
    return Figure("figure-1", title, "share of the documents", "F1 of spans", panels)
