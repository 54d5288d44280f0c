"""Sha & Pereira (2003): noun phrases of CoNLL-2000, and how fast training methods get there.

Table 2: F1 of CRFs, the perceptron and the MEMM. Table 4: McNemar's test between their chunk tags. Figures 2
and 3, Table 3: objective and F1 against passes over the data, and the time to come close to the optimum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from crfkit.metrics import mcnemar
from crfkit.papers.curves import curve_of
from crfkit.papers.experiment import Given, Quantity, Reading
from crfkit.papers.np_chunking_learners import (
    METHODS,
    MODELS,
    PENALTIES,
    Corpus,
    followed,
    generated,
    learned,
)
from crfkit.papers.page import Claim, Figure, Line, Page, Table
from crfkit.papers.report import number
from crfkit.papers.results import Result

Curve = Mapping[str, Sequence[float]]  # see `crfkit.papers.curves.curve_of`
Curves = Mapping[str, Curve]  # by method

CLOSE = 0.01  # a target is so far above the best objective
#: Pairs of models of Table 4.
TESTS = (
    ("CRF, supported features", "MEMM"),
    ("CRF, supported features", "averaged perceptron"),
    ("MEMM", "averaged perceptron"),
    ("CRF, complete features", "CRF, supported features"),
)
_SIGNIFICANT = 0.05
_MINIMIZERS = ("preconditioned CG", "mixed CG", "plain CG", "L-BFGS")


def optimum(curves: Curves) -> float:
    """Return the least objective that any method reached."""
    return min(min(one["objective"]) for name, one in curves.items() if name != "averaged perceptron")


def reached(curve: Curve, best: float) -> tuple[float, float] | None:
    """Return passes and seconds until the objective was close to the best; None where it never was.

    Examples
    --------
    >>> reached({"passes": [1, 3], "seconds": [0.5, 2.0], "objective": [120.0, 100.5]}, 100.0)
    (3, 2.0)
    """
    rows = zip(curve["passes"], curve["seconds"], curve["objective"], strict=True)
    return next(((passes, time) for passes, time, x in rows if x <= (1.0 + CLOSE) * best), None)


def claims(found: Mapping[str, Result], curves: Curves) -> list[Claim]:
    """Return every claim with the answer of the numbers; those that lack numbers are not decided."""
    return [_order(found), *_tests(found), _scaling(curves), _preconditioning(curves), _perceptron(curves)]


def _order(found: Mapping[str, Result]) -> Claim:
    text = "the CRF is better than the perceptron, and that one better than the MEMM"
    names = ("CRF, complete features", "averaged perceptron", "MEMM")
    if any(f"Table 2: F1, {name}" not in found for name in names):
        return Claim.missing(text)
    crf, perceptron, memm = (found[f"Table 2: F1, {name}"].ours for name in names)
    return Claim(text, crf > perceptron > memm, f"F1 of {crf:.2f}, {perceptron:.2f} and {memm:.2f}")


def _tests(found: Mapping[str, Result]) -> list[Claim]:
    made = []
    for (one, other), differ in zip(TESTS[:2], (True, False), strict=True):
        text = f"{one} and {other} {'differ' if differ else 'do not differ'} significantly"
        p = found.get(f"Table 4: p, {one} and {other}")
        holds = None if p is None else (p.ours < _SIGNIFICANT) is differ
        made.append(Claim(text, holds, "numbers are missing" if p is None else f"p = {p.ours:.2g}"))
    return made


def _scaling(curves: Curves) -> Claim:
    text = "GIS is the only method that does not come close to the optimum"
    if not {"GIS", *_MINIMIZERS} <= {*curves}:
        return Claim.missing(text)
    best = optimum(curves)
    missed = [name for name in ("GIS", *_MINIMIZERS) if reached(curves[name], best) is None]
    gis = curves["GIS"]
    return Claim(
        text,
        missed == ["GIS"],
        f"after {gis['passes'][-1]:.0f} passes it is {100 * (gis['objective'][-1] / best - 1):.0f} % above "
        f"the best objective; not within {100 * CLOSE:g} %: {', '.join(missed) or 'none'}",
    )


def _preconditioning(curves: Curves) -> Claim:
    text = "preconditioned CG needs the fewest passes of the CG methods, then mixed CG, then plain CG"
    if not {*_MINIMIZERS} <= {*curves}:
        return Claim.missing(text)
    best = optimum(curves)
    at = {name: reached(curves[name], best) for name in _MINIMIZERS}
    passes = [float("inf") if (one := at[name]) is None else one[0] for name in _MINIMIZERS]
    told = ", ".join(
        f"{name} {'too many' if n == float('inf') else f'{n:.0f}'}"
        for name, n in zip(_MINIMIZERS, passes, strict=True)
    )
    first, second, last = passes[:3]
    holds = first < float("inf") and first <= second <= last
    return Claim(text, holds, f"passes to within {100 * CLOSE:g} % of the best objective: {told}")


def _perceptron(curves: Curves) -> Claim:
    text = "the perceptron has an F1 above 93 after two sweeps"
    if "averaged perceptron" not in curves:
        return Claim.missing(text)
    score = 100.0 * curves["averaged perceptron"]["score"][1]
    return Claim(text, score > 93.0, f"{score:.2f}")


_TRAIN, _TEST = "conll2000/train.txt.gz", "conll2000/test.txt.gz"


def make(given: Given) -> NPChunking:
    """Return the experiment: on CoNLL-2000, or quick, on generated sentences."""
    if given.quick:
        corpus = Corpus(generated(120, 1), generated(60, 2), given.threads)
        return NPChunking(corpus, "generated", dict.fromkeys(METHODS, 12))
    corpus = Corpus.read(given.file(_TRAIN), given.file(_TEST), given.threads)
    budgets = {**dict.fromkeys(METHODS, 400), "L-BFGS": 150, "GIS": 80, "averaged perceptron": 20}
    return NPChunking(corpus, "conll2000", budgets)


@dataclass(frozen=True)
class NPChunking:
    """The experiment on a corpus."""

    corpus: Corpus
    data: str
    budgets: Mapping[str, int]  #: passes over the data of each method
    runs: int = 1
    found: dict[tuple[str, int], list[list[str]]] = field(
        default_factory=dict
    )  #: chunk tags by model and seed
    weights: dict[str, int] = field(default_factory=dict)  #: of the models that were trained
    penalties: dict[int, float] = field(default_factory=dict)  #: the l2 of each seed

    @property
    def settings(self) -> dict[str, Any]:
        """What the numbers depend on."""
        return {
            "sentences": [len(self.corpus.sentences), len(self.corpus.test)],
            "l2": list(PENALTIES),
            "passes": dict(self.budgets),
        }

    def quantities(self) -> list[Quantity]:
        """Return the cells of Tables 2 and 4, the numbers of features, and a curve for each method."""
        sizes = (("complete", 3.8), ("supported", 0.82))
        return [
            *(Quantity(f"Table 2: F1, {name}", paper, self.data) for name, paper in MODELS.items()),
            *(Quantity(f"millions of {kind} features", paper, self.data) for kind, paper in sizes),
            *(Quantity(f"Table 4: p, {one} and {other}", None, self.data) for one, other in TESTS),
            *(Quantity(f"Figures 2-3: F1 after training by {name}", None, self.data) for name in METHODS),
        ]

    def measure(self, quantity: Quantity, seed: int) -> float | Reading:
        """Return an F1 in percent, a number of features, a p-value, or an F1 with its curve."""
        kind, _, name = quantity.name.partition(": ")
        if kind == "Table 2":
            return self.corpus.f1(self._tags(name.removeprefix("F1, "), seed))
        if kind == "Table 4":
            one, other = name.removeprefix("p, ").split(" and ")
            return mcnemar(self.corpus.gold, self._tags(one, seed), self._tags(other, seed)).p_value
        if kind == "Figures 2-3":
            method = name.removeprefix("F1 after training by ")
            curve = curve_of(followed(method, self.corpus, self.budgets[method], seed))
            return Reading(100.0 * curve["score"][-1], curve)
        model = f"CRF, {kind.split()[2]} features"
        self._tags(model, seed)
        return self.weights[model] / 1e6

    def page(self, found: Mapping[str, Result]) -> Page:
        """Return the tables, the figures, and which claims of the paper hold."""
        curves = _curves(found)
        return Page(self._notes(), claims(found, curves), self._tables(found, curves), _figures(curves))

    def _tags(self, name: str, seed: int) -> list[list[str]]:
        """Return the chunk tags of a model, trained once."""
        if (name, seed) not in self.found:
            passes = self._passes(seed) if name == "averaged perceptron" else 0
            model, self.found[name, seed] = learned(
                name, self.corpus, l2=self._penalty(seed), passes=passes, seed=seed
            )
            self.weights[name] = model.layout.weights
        return self.found[name, seed]

    def _penalty(self, seed: int) -> float:
        """Return the l2 whose CRF is the best on the last tenth of the training sentences."""
        if seed not in self.penalties:
            held = self.corpus.held_out
            scores = {
                l2: held.f1(learned("CRF, supported features", held, l2=l2, seed=seed)[1]) for l2 in PENALTIES
            }
            self.penalties[seed] = max(scores, key=lambda l2: scores[l2])
        return self.penalties[seed]

    def _passes(self, seed: int) -> int:
        """Return how many passes of the perceptron are the best on that tenth."""
        most = self.budgets["averaged perceptron"]
        curve = curve_of(followed("averaged perceptron", self.corpus.held_out, most, seed))
        return 1 + max(range(len(curve["score"])), key=lambda n: curve["score"][n])

    def _notes(self) -> list[str]:
        train, test = self.corpus.sentences, self.corpus.test
        words = [sum(map(len, part)) for part in (train, test)]
        penalties = ", ".join(f"{l2:g}" for l2 in PENALTIES)
        budgets = ", ".join(f"{n} ({name})" for name, n in self.budgets.items())
        return [
            f"{self.data}: {len(train):,} sentences with {words[0]:,} words for training, {len(test):,} "
            f"with {words[1]:,} for testing. Labels are pairs of chunk tags; features are those of Table "
            "1, but for the weights that share a chunk tag between pairs. For Tables 2 and 4 the penalty "
            f"l2 is one of {penalties} by the CRF's F1 on the last tenth of the training sentences, and so "
            "is the number of the perceptron's passes (the paper had another development set); all CRFs "
            "and the MEMM are trained to convergence. The MEMM has the same labels, but its structure "
            "forbids nothing. The numbers of the paper are rounded.",
            "Figures and Table 3: supported features, l2 = 1 (sigma = 1), passes over the data that the "
            f"methods made, at most {budgets}; seconds include the test scores on the way.",
        ]

    def _tables(self, found: Mapping[str, Result], curves: Curves) -> list[Table]:
        scores = [
            [
                name,
                f"{paper:.2f}" if paper else "-",
                f"{one.ours:.2f}" if (one := found.get(f"Table 2: F1, {name}")) else "-",
            ]
            for name, paper in MODELS.items()
        ]
        times = []
        for name, curve in curves.items():
            at = reached(curve, optimum(curves)) if name != "averaged perceptron" else None
            told = ["-", "-"] if at is None else [f"{at[0]:.0f}", f"{at[1]:.1f}"]
            times.append([name, *told, f"{100.0 * curve['score'][-1]:.2f}"])
        tests = [
            [one, other, number(p.ours) if (p := found.get(f"Table 4: p, {one} and {other}")) else "-"]
            for one, other in TESTS
        ]
        return [
            Table("Table 2: F1 of noun phrases", ["model", "paper", "ours"], scores),
            Table(
                f"Table 3: to within {100 * CLOSE:g} % of the best objective",
                ["method", "passes", "seconds", "F1 at the end"],
                times,
            ),
            Table("Table 4: McNemar's test on chunk tags", ["model", "and", "p"], tests),
        ]


def _curves(found: Mapping[str, Result]) -> Curves:
    """Return the curves of the first run by method."""
    names = {f"Figures 2-3: F1 after training by {name}": name for name in METHODS}
    return {names[one]: next(iter(found[one].series.values())) for one in names if one in found}


def _figures(curves: Curves) -> list[Figure]:
    if not curves:
        return []
    best = optimum(curves)
    gaps = {
        name: Line(curve["passes"], [max(100.0 * (x / best - 1.0), 1e-3) for x in curve["objective"]])
        for name, curve in curves.items()
        if name != "averaged perceptron"
    }
    scores = {
        name: Line(curve["scored"], [100.0 * x for x in curve["score"]]) for name, curve in curves.items()
    }
    x = "passes over the data"
    return [
        Figure(
            "figure-2", "Figure 2: objective by passes", x, "% above the best objective", {"": gaps}, log="xy"
        ),
        Figure("figure-3", "Figure 3: F1 on the test set by passes", x, "F1", {"": scores}, log="x"),
    ]
