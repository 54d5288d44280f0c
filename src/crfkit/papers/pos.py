"""Lafferty, McCallum & Pereira (2001), section 5.3 and Figure 4: parts of speech.

HMM, MEMM and CRF of first order have weights for the pairs of word and tag and the pairs of tags that the
training half shows; MEMM+ and CRF+ also know how words are spelled. Errors are those of all words, and of the
words that the training half lacks. The weights of MEMM+ are then where the training of CRF+ begins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from crfkit.data.formats.columns import Columns
from crfkit.data.reading import read
from crfkit.papers.curves import curve_of
from crfkit.papers.experiment import Given, Quantity, Reading
from crfkit.papers.page import Claim, Figure, Line, Page, Table
from crfkit.papers.pos_learners import (
    PENALTIES,
    SMOOTHINGS,
    Half,
    Sentence,
    data_of,
    generated,
    model_of,
    tagged,
)
from crfkit.papers.report import with_interval
from crfkit.papers.results import Result

#: Figure 4: error, and error of words that are not in the training half.
PAPER = {
    "HMM": (5.69, 45.99),
    "MEMM": (6.37, 54.61),
    "CRF": (5.55, 48.05),
    "MEMM+": (4.81, 26.99),
    "CRF+": (4.27, 23.76),
}
#: The same models, and an HMM that emits new and rare words as classes of their spelling.
MODELS: dict[str, tuple[float | None, float | None]] = {**PAPER, "HMM+": (None, None)}
RATE = 5.45  # of such words, in percent
STARTS = ("zero", "the weights of MEMM+")
_FILE = "ptb/wsj_sample.txt.gz"


def make(given: Given) -> POS:
    """Return the experiment: on the sample of the Penn Treebank, or quick, on generated sentences."""
    if given.quick:
        return POS(generated(120, 0), "generated", given.threads)
    columns = read(given.file(_FILE))
    assert isinstance(columns, Columns)
    sentences = [tuple((word, tag) for word, tag in one) for one in columns]
    return POS(sentences, "ptb, 5 % of the Penn Treebank", given.threads)


@dataclass(frozen=True)
class POS:
    """The experiment on some sentences."""

    sentences: Sequence[Sentence]
    data: str
    threads: int | None
    runs: int = 1
    known: dict[tuple[str, int], tuple[float, float]] = field(default_factory=dict)  #: errors so far
    chosen: dict[tuple[str, int], Any] = field(default_factory=dict)  #: options by model and seed

    @property
    def settings(self) -> dict[str, Any]:
        """What the numbers depend on."""
        return {
            "sentences": len(self.sentences),
            "l2": list(PENALTIES),
            "smoothing": list(map(list, SMOOTHINGS)),
        }

    def quantities(self) -> list[Quantity]:
        """Return both errors of each model, the share of new words, and the passes from two starts."""
        return [
            Quantity("new words in percent", RATE, self.data),
            *(Quantity(f"error of {name}", paper[0], self.data) for name, paper in MODELS.items()),
            *(
                Quantity(f"error of {name} on new words", paper[1], self.data)
                for name, paper in MODELS.items()
            ),
            *(Quantity(f"passes of L-BFGS for CRF+ from {start}", None, self.data) for start in STARTS),
        ]

    def measure(self, quantity: Quantity, seed: int) -> float | Reading:
        """Return an error in percent, a share of words, or passes with their curve."""
        half = self._half(seed)
        if quantity.name.startswith("new"):
            return half.new
        if quantity.name.startswith("passes"):
            return self._start(half, quantity.name.partition(" from ")[2], seed)
        name, _, new = quantity.name.removeprefix("error of ").partition(" on ")
        if (name, seed) not in self.known:
            found = tagged(name, half, self._option(name, half, seed), self.threads)
            self.known[name, seed] = half.errors(found)
        return self.known[name, seed][1 if new else 0]

    def page(self, found: Mapping[str, Result]) -> Page:
        """Return Figure 4 as a table, the curves from both starts, and which claims of the paper hold."""
        rows = [
            [
                name,
                _percent(paper[0]),
                with_interval(found.get(f"error of {name}"), 2),
                _percent(paper[1]),
                with_interval(found.get(f"error of {name} on new words"), 2),
            ]
            for name, paper in MODELS.items()
        ]
        curves = {
            start: next(iter(found[name].series.values()))
            for start in STARTS
            if (name := f"passes of L-BFGS for CRF+ from {start}") in found
        }
        penalties = ", ".join(f"{l2:g}" for l2 in PENALTIES)
        header = ["model", "error, paper", "ours", "on new words, paper", "ours"]
        return Page(
            [
                f"{self.data}: {len(self.sentences):,} sentences, half of them, drawn at random, for "
                "training (the paper has the whole Penn Treebank, so that fewer words are new). Weights "
                "are for pairs that the training half shows. The paper has no penalty; here the l2 of "
                f"each model is one of {penalties}, and the HMM's smoothing "
                f"one of {len(SMOOTHINGS)}, by the error on the last tenth of the training half."
            ],
            _claims(found),
            [Table("Figure 4: errors in percent", header, rows)],
            [_figure(curves)] if curves else [],
        )

    def _half(self, seed: int) -> Half:
        order = np.random.default_rng(seed).permutation(len(self.sentences)).tolist()
        cut = len(order) // 2
        return Half(*([self.sentences[i] for i in part] for part in (order[:cut], order[cut:])))

    def _option(self, name: str, half: Half, seed: int) -> Any:
        """Return the option of a model with the least error on the last tenth of the training half."""
        if (name, seed) not in self.chosen:
            tuning = half.tuning
            errors = {
                option: tuning.errors(tagged(name, tuning, option, self.threads))[0]
                for option in (SMOOTHINGS if name.startswith("HMM") else PENALTIES)
            }
            self.chosen[name, seed] = min(errors, key=lambda option: errors[option])
        return self.chosen[name, seed]

    def _start(self, half: Half, start: str, seed: int) -> Reading:
        """Train CRF+ by L-BFGS until it is certified, from zero or from the weights of MEMM+."""
        data, l2 = data_of("CRF+", half, self.threads)[0], self._option("CRF+", half, seed)
        init = None if start == STARTS[0] else model_of("MEMM+", data, l2, self.threads)
        model = model_of("CRF+", data, l2, self.threads, init=init, optimizer="lbfgs")
        assert model.training is not None
        return Reading(model.training.passes, curve_of(model))


def _claims(found: Mapping[str, Result]) -> list[Claim]:
    made = []
    for better, worse, text, new in (
        ("HMM", "MEMM", "the HMM beats the MEMM", False),
        ("HMM+", "MEMM", "with classes of spelling the HMM beats the MEMM", False),
        ("CRF", "HMM", "the CRF beats the HMM", False),
        ("HMM", "CRF", "on new words the HMM beats the CRF", True),
        ("CRF", "MEMM", "on new words the CRF beats the MEMM", True),
        ("CRF+", "MEMM+", "with spelling the CRF beats the MEMM", False),
        ("CRF+", "MEMM+", "with spelling the CRF beats the MEMM on new words", True),
    ):
        one, other = (_error(found, name, new) for name in (better, worse))
        if one is None or other is None:
            made.append(Claim.missing(text))
        else:
            made.append(Claim(text, one < other, f"{better} {one:.2f} %, {worse} {other:.2f} %"))
    return [*made, _spelling(found), _starts(found)]


def _percent(number: float | None) -> str:
    return "-" if number is None else f"{number:.2f}"


def _error(found: Mapping[str, Result], name: str, new: bool) -> float | None:
    result = found.get(f"error of {name}{' on new words' if new else ''}")
    return None if result is None else result.ours


def _spelling(found: Mapping[str, Result]) -> Claim:
    text = "spelling takes away about 25 % of the errors, and about 50 % on new words"
    gains = []
    for name, new in (("MEMM", False), ("CRF", False), ("MEMM", True), ("CRF", True)):
        before, after = _error(found, name, new), _error(found, f"{name}+", new)
        if before is None or after is None:
            return Claim.missing(text)
        gains.append(100.0 * (1.0 - after / before) if before else 0.0)
    return Claim(
        text,
        min(gains[:2]) >= 15.0 and min(gains[2:]) >= 40.0,
        "{:.0f} % (MEMM) and {:.0f} % (CRF); on new words {:.0f} % and {:.0f} %".format(*gains),
    )


def _starts(found: Mapping[str, Result]) -> Claim:
    text = "the training of CRF+ is shorter from the weights of MEMM+ than from zero"
    zero, memm = (found.get(f"passes of L-BFGS for CRF+ from {start}") for start in STARTS)
    if zero is None or memm is None:
        return Claim.missing(text)
    return Claim(
        text,
        memm.ours < zero.ours,
        f"{memm.ours:.0f} instead of {zero.ours:.0f} passes of L-BFGS to within 0.01 % of the optimum, "
        "without those of MEMM+",
    )


def _figure(curves: Mapping[str, Mapping[str, Sequence[float]]]) -> Figure:
    best = min(min(one["objective"]) for one in curves.values())
    lines = {
        f"from {start}": Line(one["passes"], [max(100.0 * (x / best - 1.0), 1e-3) for x in one["objective"]])
        for start, one in curves.items()
    }
    title = "Training of CRF+ by L-BFGS, from two starts"
    return Figure(
        "starts", title, "passes over the data", "% above the best objective", {"": lines}, log="xy"
    )
