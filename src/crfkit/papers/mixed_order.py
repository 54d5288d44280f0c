"""Lafferty, McCallum & Pereira (2001), section 5.2 and Figure 3: sources between first and second order.

Labels and symbols come from a random mixture of a first-order and a second-order source,

    p(y_i | y_{i-1}, y_{i-2}) = alpha p2(y_i | y_{i-1}, y_{i-2}) + (1 - alpha) p1(y_i | y_{i-1})
    p(x_i | y_i, x_{i-1})     = alpha p2(x_i | y_i, x_{i-1})     + (1 - alpha) p1(x_i | y_i),

and an HMM, an MEMM and a CRF of first order learn from them, with weights for steps and for pairs of label
and symbol. The larger alpha is, the less they fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from statistics import mean, median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crfkit.arrays import Floats
from crfkit.data.alphabet import Alphabet
from crfkit.data.dataset import labeled
from crfkit.data.formats.columns import Columns
from crfkit.estimators import HMM, MEMM, ChainCRF
from crfkit.features import Extractor, Recipe
from crfkit.metrics import token_scores
from crfkit.objectives import Likelihood, Local
from crfkit.optimize.classic import IterativeScaling
from crfkit.papers.curves import curve_of, until
from crfkit.papers.experiment import Given, Keyed, Quantity, Reading
from crfkit.papers.page import Claim, Figure, Line, Page, Points, Table
from crfkit.papers.report import with_interval
from crfkit.papers.results import Result
from crfkit.training.train import train

MODELS = ("HMM", "MEMM", "CRF")
Key = tuple[float, str]  # alpha and model
_TYPICAL = 2 / 3  # of the sources in which "typically" must be true


def claims(errors: Mapping[Key, Result], curves: Mapping[str, Result]) -> list[Claim]:
    """Return every claim with the answer of the numbers; those that lack numbers are not decided."""
    second = {key: one for key, one in errors.items() if key[0] >= 0.5}
    first = {key: one for key, one in errors.items() if key[0] < 0.5}
    return [
        _better(errors, "CRF", "MEMM", "the CRF typically beats the MEMM"),
        _better(errors, "HMM", "MEMM", "the HMM beats the MEMM"),
        _better(second, "CRF", "HMM", "where alpha ≥ 1/2, the CRF typically beats the HMM"),
        _rise(first, second),
        _slow(curves),
    ]


def pairs_of(errors: Mapping[Key, Result], one: str, other: str) -> list[tuple[float, float]]:
    """Return the errors of two models on the same sources."""
    return [
        (result.runs[seed], errors[alpha, other].runs[seed])
        for (alpha, name), result in errors.items()
        if name == one and (alpha, other) in errors
        for seed in result.runs
        if seed in errors[alpha, other].runs
    ]


def _better(errors: Mapping[Key, Result], one: str, other: str, text: str) -> Claim:
    pairs = pairs_of(errors, one, other)
    if not pairs:
        return Claim.missing(text)
    won = sum(a < b for a, b in pairs)
    less = median(100.0 * (1.0 - a / b) for a, b in pairs if b > 0.0) if any(b for _, b in pairs) else 0.0
    return Claim(
        text,
        won >= _TYPICAL * len(pairs),
        f"on {won} of {len(pairs)} sources, with {less:.0f} % fewer errors in the median",
    )


def _rise(first: Mapping[Key, Result], second: Mapping[Key, Result]) -> Claim:
    text = "errors rise with alpha"
    if not first or not second:
        return Claim.missing(text)
    low, high = (mean(one.ours for one in errors.values()) for errors in (first, second))
    return Claim(text, high > low, f"{low:.1f} % in the mean below 1/2, {high:.1f} % from there on")


def _slow(curves: Mapping[str, Result]) -> Claim:
    text = "Algorithm S is slow: about 500 iterations"
    if len(curves) < 2:
        return Claim.missing(text)
    fast, slow = (curves[name] for name in ("L-BFGS", "Algorithm S"))
    passed = [
        next(
            passes
            for passes, excess in zip(fast.series[seed]["passes"], fast.series[seed]["excess"], strict=True)
            if excess <= value
        )
        for seed, value in slow.runs.items()
        if seed in fast.series and fast.runs[seed] <= value
    ]
    needed = max(one["passes"][-1] for one in slow.series.values())
    return Claim(
        text,
        len(passed) == len(slow.runs) and max(passed) < needed / 2,
        f"after {needed:.0f} passes it is {slow.ours:.2g} % above the optimum; L-BFGS is as close after "
        f"{max(passed, default=0):.0f}",
    )


LABELS, SYMBOLS = "abcde", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
LENGTH = 25
NEXT, EMITTED = 2, 3  # entries of a row of the tables that are not 0
L2 = 1.0
CURVED = 0.5  # the alpha of the training curves
OPTIMIZERS = ("L-BFGS", "Algorithm S")
_TEMPLATE = "symbol[0]"

Drawn = tuple[Columns, list[list[str]]]


def make(given: Given) -> MixedOrder:
    """Return the experiment; the data are generated in any case."""
    if given.quick:
        return MixedOrder(given.threads, 2, (0.0, 0.5, 1.0), 200, 30)
    return MixedOrder(given.threads, 6, tuple(n / 10 for n in range(11)), 1000, 500)


@dataclass(frozen=True)
class Source:
    """A random source: tables of first and of second order, and how much the second counts."""

    alpha: float
    step: tuple[Floats, Floats]  #: p1 [L, L]; p2 [L, L, L]: the label before, the one before that, the next
    emission: tuple[Floats, Floats]  #: p1 [L, S]; p2 [L, S, S]: the label, the symbol before, the symbol

    @classmethod
    def random(cls, alpha: float, random: np.random.Generator) -> Source:
        """Return a source with sparse tables."""
        L, S = len(LABELS), len(SYMBOLS)
        return cls(
            alpha,
            (_sparse((L, L), NEXT, random), _sparse((L, L, L), NEXT, random)),
            (_sparse((L, S), EMITTED, random), _sparse((L, S, S), EMITTED, random)),
        )

    def draw(self, n: int, random: np.random.Generator) -> Drawn:
        """Draw n sequences: their symbols, and their labels."""
        y = np.zeros((n, LENGTH), dtype=np.int64)
        x = np.zeros_like(y)
        for t in range(LENGTH):
            steps, symbols = self.step[0][y[:, t - 1]], None
            if t == 0:
                steps = np.full((n, len(LABELS)), 1.0 / len(LABELS))
            elif t > 1:
                steps = self._mixed(steps, self.step[1][y[:, t - 1], y[:, t - 2]])
            y[:, t] = _drawn(steps, random)
            symbols = self.emission[0][y[:, t]]
            if t > 0:
                symbols = self._mixed(symbols, self.emission[1][y[:, t], x[:, t - 1]])
            x[:, t] = _drawn(symbols, random)
        rows = [[(SYMBOLS[symbol],) for symbol in row] for row in x.tolist()]
        return Columns.from_rows(rows, names=["symbol"]), [[LABELS[one] for one in row] for row in y.tolist()]

    def _mixed(self, first: Floats, second: Floats) -> Floats:
        return self.alpha * second + (1.0 - self.alpha) * first


def _sparse(shape: tuple[int, ...], entries: int, random: np.random.Generator) -> Floats:
    """Return distributions over the last axis with `entries` entries that are not 0."""
    order = np.argsort(random.random(shape), axis=-1)[..., :entries]
    table = np.zeros(shape)
    np.put_along_axis(table, order, random.dirichlet(np.ones(entries), size=shape[:-1]), axis=-1)
    return table


def _drawn(rows: Floats, random: np.random.Generator) -> NDArray[np.int64]:
    """Draw a column for each row of probabilities."""
    sums = np.cumsum(rows, axis=1)
    found: NDArray[np.int64] = np.argmax(sums > random.random((len(rows), 1)) * sums[:, -1:], axis=1)
    return found


@dataclass(frozen=True)
class MixedOrder(Keyed[Key]):
    """The experiment; every run has a new source for each alpha."""

    threads: int | None
    runs: int
    alphas: Sequence[float]
    sequences: int  #: for training, and as many for testing
    iterations: int  #: of Algorithm S, each a pass over the data
    data: dict[tuple[float, int], tuple[Drawn, Drawn]] = field(default_factory=dict)  #: of the last source

    @property
    def settings(self) -> dict[str, Any]:
        """What the numbers depend on."""
        return {
            "alphas": list(self.alphas),
            "sequences": self.sequences,
            "iterations": self.iterations,
            "l2": L2,
        }

    def quantities(self) -> list[Quantity]:
        """Return the errors at each alpha, and how well both optimizers do at one."""
        excess = [Quantity(self._excess(one), None, "generated") for one in OPTIMIZERS]
        return [*super().quantities(), *excess]

    def _about(self, key: Key) -> str:
        return "generated"

    def measure(self, quantity: Quantity, seed: int) -> float | Reading:
        """Return the share of wrong labels in percent, or the objective by iteration."""
        if quantity.name not in self._keys():
            return self._curve(quantity.name, seed)
        alpha, name = self._keys()[quantity.name]
        (x, y), (x_test, y_test) = self._drawn(alpha, seed)
        models: dict[str, Any] = {
            "HMM": HMM(features=_TEMPLATE, n_jobs=self.threads),
            "MEMM": MEMM(selection="all", objective=Local(l2=L2), features=_TEMPLATE, n_jobs=self.threads),
            "CRF": ChainCRF(
                selection="all", objective=Likelihood(l2=L2), features=_TEMPLATE, n_jobs=self.threads
            ),
        }
        found = models[name].fit(x, y).predict(x_test)
        return 100.0 * (1.0 - token_scores(y_test, found).accuracy)

    def page(self, found: Mapping[str, Result]) -> Page:
        """Return Figure 3 with the claims of the paper, and the training curves."""
        errors = self._known(found)
        curves = {one: found[name] for one in OPTIMIZERS if (name := self._excess(one)) in found}
        rows = [
            [f"{alpha:g}", *(with_interval(errors.get((alpha, name))) for name in MODELS)]
            for alpha in self.alphas
        ]
        figures = [_scatter(errors)] if errors else []
        return Page(
            [
                f"{len(LABELS)} labels and {len(SYMBOLS)} symbols; each run draws a source for each alpha, "
                f"and {self.sequences} sequences of length {LENGTH} for training and for testing. A row of "
                f"p1 or p2 has {NEXT} labels or {EMITTED} symbols that are possible, so a row of the mixture "
                "can have twice as many; the paper says that the mixture has no more, but its errors are as "
                "large as these. Weights are for steps and for pairs of label and symbol, which all three "
                "models can have; the figure of the paper has triples, and its text says that pairs give the "
                f"same picture. l2 = {L2:g}; the paper has no penalty."
            ],
            claims(errors, curves),
            [Table("Errors in percent, mean over sources", ["alpha", *MODELS], rows)],
            [*figures, *([_curves(curves)] if curves else [])],
        )

    def _keys(self) -> dict[str, Key]:
        return {
            f"error of {name}, alpha {alpha:g}": (alpha, name) for alpha, name in product(self.alphas, MODELS)
        }

    def _excess(self, optimizer: str) -> str:
        return (
            f"{optimizer}, alpha {CURVED:g}: percent above the optimum after {self.iterations} passes at most"
        )

    def _drawn(self, alpha: float, seed: int) -> tuple[Drawn, Drawn]:
        if (alpha, seed) not in self.data:
            random = np.random.default_rng([seed, round(1000 * alpha)])
            source = Source.random(alpha, random)
            self.data.clear()
            self.data[alpha, seed] = source.draw(self.sequences, random), source.draw(self.sequences, random)
        return self.data[alpha, seed]

    def _curve(self, name: str, seed: int) -> Reading:
        (x, y), _ = self._drawn(CURVED, seed)
        data = labeled(Extractor(Recipe.parse(_TEMPLATE), label=None)(x, self.threads), y, Alphabet())
        options: dict[str, Any] = {"selection": "all", "objective": Likelihood(l2=L2), "n_jobs": self.threads}
        best = train(data, optimizer="lbfgs", **options)
        assert best.training is not None
        least, curve = best.training.loss - best.training.gap, curve_of(best)
        if name == self._excess("Algorithm S"):
            scaling = IterativeScaling(variant="iis-s", max_iterations=self.iterations + 1, tolerance=1e-12)
            curve = curve_of(train(data, optimizer=scaling, listeners=[until(self.iterations)], **options))
        excess = [100.0 * (value / least - 1.0) for value in curve["objective"]]
        return Reading(excess[-1], {"passes": curve["passes"], "excess": excess})


def _scatter(errors: Mapping[Key, Result]) -> Figure:
    axes = (("CRF", "MEMM"), ("HMM", "MEMM"), ("HMM", "CRF"))
    panels: dict[str, dict[str, Points]] = {}
    for across, up in axes:
        for name, filled in (("alpha < 1/2", False), ("alpha ≥ 1/2", True)):
            some = {key: one for key, one in errors.items() if (key[0] >= 0.5) is filled}
            pairs = pairs_of(some, across, up)
            points = Points([a for a, _ in pairs], [b for _, b in pairs], filled)
            panels.setdefault(f"{up} against {across}", {})[name] = points
    title = "Figure 3: errors of two models on the same source, in percent; above the line the first is worse"
    return Figure(
        "figure-3",
        title,
        [f"error of the {across}" for across, _ in axes],
        [f"error of the {up}" for _, up in axes],
        panels,
        diagonal=True,
    )


def _curves(curves: Mapping[str, Result]) -> Figure:
    lines = {
        f"{name}, seed {seed}": Line(one["passes"], [max(value, 1e-4) for value in one["excess"]])
        for name, result in curves.items()
        for seed, one in [*result.series.items()][:2]
    }
    title = f"Training of the CRF at alpha = {CURVED:g}: Algorithm S against L-BFGS"
    return Figure("training", title, "passes over the data", "% above the optimum", {"": lines}, log="xy")
