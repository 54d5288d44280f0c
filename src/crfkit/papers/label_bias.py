"""Lafferty, McCallum & Pereira (2001), section 5.1: the label bias problem.

Words are drawn from the strict network of their Figure 1 (`crfkit.demo.label_bias`): rib or rob, six states,
each of which emits its letter with probability 29/32 and any of the other three with 1/32. A CRF and an MEMM
of the same states learn from words with their states. A state has a single successor in its word, so the MEMM
decides at the first letter, which both words share; the CRF lets the middle letter decide.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from crfkit import inference
from crfkit.demo.label_bias import NAMES, STATES, WORDS, network
from crfkit.estimators import MEMM, ChainCRF
from crfkit.linear.features import FeatureSelection
from crfkit.metrics import token_scores
from crfkit.objectives import Likelihood, Local
from crfkit.papers.experiment import Given, Quantity
from crfkit.papers.page import Claim, Page, Table
from crfkit.papers.report import number, with_interval
from crfkit.papers.results import Result

Words = tuple[list[str], list[list[str]]]

#: What is measured, and the error of the paper in percent.
PAPER = {"CRF": 4.6, "MEMM": 42.0, "the network itself": None}
LETTERS = sorted({*"".join(WORDS)})
RIGHT = 29 / 32
TRAIN, TEST = 2000, 500
L2 = 0.01  # hardly any: the paper has none


def make(given: Given) -> LabelBias:
    """Return the experiment; the data are generated in any case."""
    return LabelBias(given.threads, 2 if given.quick else 10)


def drawn(n: int, random: np.random.Generator) -> Words:
    """Draw noisy words of the network, and the states that emitted their letters.

    Examples
    --------
    >>> words, states = drawn(1, np.random.default_rng(0))
    >>> words[0], states[0]
    ('rob', ['rob: r', 'rob: o', 'rob: b'])
    """
    names = dict(zip(STATES, NAMES, strict=True))
    words, states = [], []
    for word in random.choice([*WORDS], size=n, p=[*WORDS.values()]).tolist():
        others = [[x for x in LETTERS if x != letter] for letter in word]
        right = random.random(len(word)) < RIGHT
        words.append(
            "".join(x if kept else random.choice(o) for x, kept, o in zip(word, right, others, strict=True))
        )
        states.append([names[word, place] for place in range(len(word))])
    return words, states


@dataclass(frozen=True)
class LabelBias:
    """The experiment; every run draws its own words."""

    threads: int | None
    runs: int
    settings: Mapping[str, Any] = field(default_factory=lambda: {"train": TRAIN, "test": TEST, "l2": L2})

    def quantities(self) -> list[Quantity]:
        """Return the errors of both models, and of the network that made the words."""
        return [Quantity(f"error of {name}", paper, "generated") for name, paper in PAPER.items()]

    def measure(self, quantity: Quantity, seed: int) -> float:
        """Return the share of wrong states in percent."""
        random = np.random.default_rng(seed)
        train, (words, states) = drawn(TRAIN, random), drawn(TEST, random)
        name = quantity.name.removeprefix("error of ")
        found = (
            _network(words) if name not in ("CRF", "MEMM") else _predicted(name, train, words, self.threads)
        )
        return 100.0 * (1.0 - token_scores(states, found).accuracy)

    def page(self, found: Mapping[str, Result]) -> Page:
        """Return the errors side by side, and whether the MEMM fails as in the paper."""
        errors = {name: found.get(f"error of {name}") for name in PAPER}
        rows = [[name, number(PAPER[name]), with_interval(errors[name])] for name in PAPER]
        return Page(
            [
                f"{TRAIN} words for training and {TEST} for testing in each run, of which "
                f"{100 * WORDS['rib']:g} % are rib (the paper does not say how many); l2 = {L2:g} instead of "
                "the paper's iterative scaling without a penalty. An error is a wrong state: a wrong word "
                'has three. "The network itself" takes the most probable path of the network that made the '
                "words; models can be better by chance only."
            ],
            _claims(errors),
            [Table("Errors in percent", ["model", "paper", "ours"], rows)],
        )


def _predicted(name: str, train: Words, words: list[str], threads: int | None) -> list[list[str]]:
    features = FeatureSelection("all", start=True)
    model: ChainCRF = (
        ChainCRF(selection=features, objective=Likelihood(l2=L2), n_jobs=threads)
        if name == "CRF"
        else MEMM(selection=features, objective=Local(l2=L2), n_jobs=threads)
    )
    found: list[list[str]] = model.fit(_items(train[0]), train[1]).predict(_items(words))
    return found


def _items(words: list[str]) -> list[list[list[str]]]:
    return [[[letter] for letter in word] for word in words]


def _network(words: list[str]) -> list[list[str]]:
    best = {word: inference.decode(network(word, slip=-math.inf)).labels for word in {*words}}
    return [[NAMES[state] for state in best[word]] for word in words]


def _claims(errors: Mapping[str, Result | None]) -> list[Claim]:
    crf, memm, least = (errors[name] for name in PAPER)
    if crf is None or memm is None or least is None:
        return [Claim("the MEMM fails to tell the two branches apart", None, "numbers are missing")]
    rarer = 100.0 * min(WORDS.values())
    return [
        Claim(
            "the MEMM fails to tell the two branches apart",
            memm.ours > 0.8 * rarer,
            f"{memm.ours:.1f} % of its states are wrong; without a look at the letters {rarer:g} % are",
        ),
        Claim(
            "the CRF tells them apart",
            crf.ours < least.ours + 1.0,
            f"{crf.ours:.1f} % of its states are wrong, {least.ours:.1f} % by the network itself",
        ),
    ]
