"""Richardson & Domingos (2006): rules with weights, on citations; grounding, learning, and what is gained.

The program of rules about papers that Markov logic is known for: words tell topics, a paper has the topic of
those that it cites, and of those that are cited together with it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crfkit.estimators import GraphCRF
from crfkit.graphs import scopes
from crfkit.graphs.rules import Rules
from crfkit.inference.methods import BeliefPropagation
from crfkit.linear.objective import Objective
from crfkit.metrics import mcnemar
from crfkit.objectives import Likelihood, PseudoLikelihood
from crfkit.optimize import LBFGS
from crfkit.papers.experiment import Given, Keyed, Quantity
from crfkit.papers.linked import Linked, generated, linked
from crfkit.papers.page import Claim, Figure, Line, Page, Table
from crfkit.papers.report import with_interval
from crfkit.papers.results import Result
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.structures.graphs.cliques import Clique
from crfkit.structures.graphs.graph import Graph

L2 = 1.0
SHARE = 67  # percentage of papers whose topic is known
WORDS = ("topic(p, +t)", "word(p, +w) -> topic(p, +t)")
CITES = "cites(a, b) & topic(a, t) -> topic(b, t)"
EACH = "cites(a, b) & topic(a, +t) -> topic(b, +t)"
BOTH = (
    "cites(c, a) & cites(c, b) & a < b & topic(a, t) -> topic(b, t)",
    "cites(a, c) & cites(b, c) & a < b & topic(a, t) -> topic(b, t)",
)
ACCURACY, GROUND, LEARN, FACTORS = "accuracy", "seconds to ground", "seconds to learn", "factors"
WEIGHT, CHANCE = "weight of the rule of citations", "p by McNemar's test against words alone"
ALONE, PLAIN = "words", "cliques by hand"
Key = tuple[str, str, str]  # data, program, what is measured
SPEED = "seconds to ground clauses of shared citations, by their number"


@dataclass(frozen=True)
class Program:
    """Rules, and how their weights are learned; without rules: cliques of words and of citations, by hand."""

    rules: tuple[str, ...]
    objective: Objective

    @property
    def options(self) -> dict[str, Any]:
        """What the estimator is given."""
        if isinstance(self.objective, Likelihood):
            # the value of belief propagation jumps between fixed points: see papers.collective_learners
            return {"method": BeliefPropagation(), "optimizer": LBFGS(period=3, delta=1e-2)}
        return {}


_PSEUDO = PseudoLikelihood(l2=L2)
PROGRAMS = {
    ALONE: Program(WORDS, _PSEUDO),
    "words, citations": Program((*WORDS, CITES), _PSEUDO),
    "words, citations by topic": Program((*WORDS, EACH), _PSEUDO),
    "words, citations, shared citations": Program((*WORDS, CITES, *BOTH), _PSEUDO),
    PLAIN: Program((), _PSEUDO),
}


def make(given: Given) -> RulesExperiment:
    """Return the experiment: on citations, or quick, on generated documents."""
    if given.quick:
        return RulesExperiment([generated()], (1_000, 10_000), given, 2)
    data = [linked(given, name) for name in ("cora", "citeseer")]
    return RulesExperiment(data, (10_000, 100_000, 1_000_000), given, 5)


@dataclass(frozen=True)
class RulesExperiment(Keyed[Key]):
    """The experiment on some sets of documents."""

    data: Sequence[Linked]
    sizes: Sequence[int]
    given: Given
    runs: int
    learned: dict[tuple[str, str, int], dict[str, Any]] = field(default_factory=dict)

    @property
    def settings(self) -> dict[str, Any]:
        """What the numbers depend on."""
        return {"l2": L2, "share": SHARE, "programs": {name: list(p.rules) for name, p in PROGRAMS.items()}}

    def quantities(self) -> list[Quantity]:
        """Return what each program gives on each set, and the seconds of grounding by size."""
        seconds = [Quantity(f"{SPEED}: {n:,}", None, "generated") for n in self.sizes]
        return [*super().quantities(), *seconds]

    def _about(self, key: Key) -> str:
        return key[0]

    def measure(self, quantity: Quantity, seed: int) -> float:
        """Return one number of a program that is learned once, or the seconds of grounding."""
        if quantity.name.startswith(SPEED):
            return _seconds(int(quantity.name.rpartition(": ")[2].replace(",", "")), seed)
        name, program, what = self._keys()[quantity.name]
        found = self._run(name, program, seed)
        if what == CHANCE:
            rows = [found["truth"], self._run(name, ALONE, seed)["found"], found["found"]]
            return mcnemar(*([list(map(str, one.tolist()))] for one in rows)).p_value
        return float(found[what])

    def _run(self, name: str, program: str, seed: int) -> dict[str, Any]:
        key = (name, program, seed)
        if key not in self.learned:
            data = next(one for one in self.data if one.name == name)
            self.learned[key] = _learn(data, PROGRAMS[program], seed, self.given.threads)
        return self.learned[key]

    def _keys(self) -> dict[str, Key]:
        made: dict[str, Key] = {}
        for data in self.data:
            for name, program in PROGRAMS.items():
                asked = [ACCURACY, GROUND, LEARN, FACTORS]
                asked += [WEIGHT] if CITES in program.rules else []
                asked += [CHANCE] if name != ALONE else []
                made |= {f"{data.name}; {name}: {what}": (data.name, name, what) for what in asked}
        return made

    def page(self, found: Mapping[str, Result]) -> Page:
        """Return the tables, the figure, and what follows."""
        known = self._known(found)
        speed = {n: found[f"{SPEED}: {n:,}"] for n in self.sizes if f"{SPEED}: {n:,}" in found}
        digits = {ACCURACY: 1, FACTORS: 0, GROUND: 3, LEARN: 2, WEIGHT: 2}
        rows = [
            [data.name, name, *(with_interval(known.get((data.name, name, w)), d) for w, d in digits.items())]
            for data in self.data
            for name in PROGRAMS
        ]
        figures = []
        if speed:
            line = Line([float(n) for n in speed], [one.ours for one in speed.values()])
            title = "Grounding of shared citations"
            panel = {"generated citations": {"crfkit": line}}
            figures = [Figure("grounding", title, "ground clauses", "seconds", panel, log="xy")]
        return Page(
            [
                f"{SHARE} % of the papers, drawn at random, have a known topic; the others are asked for, "
                f"given these. Weights by pseudo-likelihood, l2 = {L2:g}, not tuned. The rules of words are "
                f"{' and '.join(f'`{rule}`' for rule in WORDS)}; citations `{CITES}`; by topic `{EACH}`; "
                f"shared citations {' and '.join(f'`{rule}`' for rule in BOTH)}. Cliques by hand: words, and "
                "for each citation one weight where both papers have the same topic, without rules.",
                "Other systems (recollections, not checked): Bach et al. (2013) report 0.4 to 0.7 s for "
                "HL-MRFs and 111 to 184 s for discrete Markov networks by MC-SAT on CiteSeer and Cora.",
            ],
            self._claims(known, speed),
            [Table("Programs", ["data", "program", *digits], rows)],
            figures,
        )

    def _claims(self, known: Mapping[Key, Result], speed: Mapping[int, Result]) -> list[Claim]:
        texts = (
            "rules of citations classify better than words alone, significantly in each run",
            "the rules give what cliques by hand give",
            "a million ground clauses take less than a second",
        )
        if any(key not in known for key in self._keys().values()) or len(speed) < len(self.sizes):
            return [*map(Claim.missing, texts)]
        links = "words, citations"
        gain, odds, apart = {}, {}, {}
        for data in self.data:
            accuracy = {name: known[data.name, name, ACCURACY].ours for name in PROGRAMS}
            gain[data.name] = accuracy[links] - accuracy[ALONE]
            odds[data.name] = max(known[data.name, links, CHANCE].runs.values())
            apart[data.name] = accuracy[links] - accuracy[PLAIN]
        most, rate = max(self.sizes), speed[max(self.sizes)].ours / max(self.sizes)
        told = ", ".join(
            f"{name} {one:+.1f} points, largest p {odds[name]:.1g}" for name, one in gain.items()
        )
        close = ", ".join(f"{name} {one:+.2f} points" for name, one in apart.items())
        return [
            Claim(texts[0], min(gain.values()) > 0.0 and max(odds.values()) < 0.05, told),
            Claim(texts[1], max(map(abs, apart.values())) < 0.5, close),
            Claim(texts[2], rate < 1e-6, f"{most:,} clauses in {speed[most].ours:.2f} s"),
        ]


def _learn(data: Linked, program: Program, seed: int, threads: int | None) -> dict[str, Any]:
    """Return the numbers of a program on a random split, and the topics that it finds."""
    given, asked = data.random(SHARE, seed)
    mark = np.where(given, data.label, -1).astype(np.int32)
    begun = time.perf_counter()
    rules = Rules(*program.rules, kinds={"topic": data.classes}) if program.rules else None
    batch = _by_hand(data, mark) if rules is None else _grounded(rules, data, mark)
    ready = time.perf_counter()
    crf = GraphCRF(batch.graph, objective=program.objective, n_jobs=threads, **program.options).fit(batch)
    done = time.perf_counter()
    found = crf.predict_proba(batch, given={"topic": mark}, method=BeliefPropagation())["topic"]
    best: NDArray[Any] = found.argmax(axis=1)[asked]
    return {
        "truth": data.label[asked],
        "found": best,
        ACCURACY: 100.0 * float((best == data.label[asked]).mean()),
        GROUND: ready - begun,
        LEARN: done - ready,
        FACTORS: batch.factors,
        WEIGHT: None if rules is None else rules.weights(crf.model_).get(CITES),
    }


def _grounded(rules: Rules, data: Linked, mark: NDArray[np.int32]) -> GraphBatch:
    every: dict[str, Any] = {"word": np.column_stack(data.words.nonzero()), "cites": data.links}
    named = " ".join(rule.text for rule in rules.rules)
    used = {name: rows for name, rows in every.items() if f"{name}(" in named}
    return rules.batch(used, labels={"topic": mark})


def _by_hand(data: Linked, mark: NDArray[np.int32]) -> GraphBatch:
    graph = Graph(
        {"topic": data.classes},
        prior=["topic"],
        word=["topic"],
        cites=Clique("topic", "topic", cells="potts"),
    )
    near = scopes.simple(data.links)
    return graph.batch(labels={"topic": mark}, scopes={"cites": near}, features={"word": data.words})


def _seconds(clauses: int, seed: int) -> float:
    """Return the time to ground about `clauses` clauses, best of three: 45 pairs of a paper's citations."""
    rng, papers = np.random.default_rng(seed), max(clauses // 45, 1)
    cited = rng.integers(0, 10 * papers, 10 * papers)
    cites = np.column_stack([np.repeat(np.arange(papers), 10), cited])
    rules = Rules(BOTH[0], kinds={"topic": 7})
    spent = []
    for _ in range(3):
        begun = time.perf_counter()
        rules.batch({"cites": cites}, sizes={"topic": 10 * papers})
        spent.append(time.perf_counter() - begun)
    return min(spent)
