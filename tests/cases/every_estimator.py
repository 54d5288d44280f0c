"""Every estimator with data that it takes: what one promises is asked of all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from crfkit import (
    HMM,
    MEMM,
    BoostedCRF,
    ChainCRF,
    FactorialCRF,
    GraphCRF,
    GridCRF,
    HiddenChainCRF,
    HiddenSequenceCRF,
    MultiLabelCRF,
    SemiCRF,
    SkipChainCRF,
    Stop,
)
from crfkit.estimators.classic import BayesianCRF, CodeCRF, KernelChainCRF, OpinionPool, VotedPerceptron
from crfkit.features.segments import phrase
from crfkit.models.graph_results import GraphLabels, GraphProba
from crfkit.training import Boosting
from tests.cases.graph_data import graphs

_RANDOM = np.random.default_rng(7)
ROWS = [_RANDOM.normal(size=(int(n), 3)) for n in _RANDOM.integers(2, 7, 30)]
LABELS = [["a" if row[0] * row[1] > 0 else "b" if row[2] > 0 else "c" for row in rows] for rows in ROWS]
ITEMS = [[{"sign": f"{row[0] * row[1]:.0f}", "third": f"{row[2]:.0f}"} for row in rows] for rows in ROWS]
WORDS = [[f"{row[0] * row[1]:.0f}" for row in rows] for rows in ROWS]
TAGS = [["O" if y == "c" else "B-N" if y == "a" else "I-N" for y in labels] for labels in LABELS]
PAIRS = [list(zip(*columns, strict=True)) for columns in zip(LABELS, TAGS, strict=True)]
IMAGES = [_RANDOM.normal(size=(3, 4, 2)) for _ in range(4)]
MANY = _RANDOM.normal(size=(40, 3))
FEW = Stop(max_iterations=30)


@dataclass(frozen=True, eq=False)
class Case:
    """An estimator, and data that it is fitted to."""

    make: Callable[[], Any]
    X: Any = None
    y: Any = None

    @cache  # noqa: B019
    def fitted(self) -> Any:
        """Return the estimator, fitted; nobody changes it."""
        return self.make().fit(self.X) if self.y is None else self.make().fit(self.X, self.y)


CASES: dict[str, Case] = {
    "ChainCRF": Case(ChainCRF, ITEMS, LABELS),
    "ChainCRF of tokens": Case(lambda: ChainCRF(features="w[-1..1]"), WORDS, LABELS),
    "ChainCRF of another encoding": Case(lambda: ChainCRF(train_scheme="BIOES"), ITEMS, TAGS),
    "MEMM": Case(MEMM, ITEMS, LABELS),
    "SemiCRF": Case(SemiCRF, ITEMS, TAGS),
    "SemiCRF of functions": Case(lambda: SemiCRF(segment_features=[phrase]), ITEMS, TAGS),
    "HMM": Case(HMM, WORDS, LABELS),
    "HiddenChainCRF": Case(lambda: HiddenChainCRF(stop=FEW), ITEMS, LABELS),
    "HiddenChainCRF by Viterbi": Case(lambda: HiddenChainCRF(decoding="viterbi", stop=FEW), ITEMS, LABELS),
    "HiddenSequenceCRF": Case(lambda: HiddenSequenceCRF(stop=FEW), ITEMS, [y[0] for y in LABELS]),
    "OpinionPool": Case(OpinionPool, ITEMS, LABELS),
    "CodeCRF": Case(CodeCRF, ITEMS, LABELS),
    "CodeCRF by Hamming": Case(lambda: CodeCRF(decoder="hamming"), ITEMS, LABELS),
    "CodeCRF by marginals": Case(lambda: CodeCRF(decoder="marginals"), ITEMS, LABELS),
    "VotedPerceptron": Case(VotedPerceptron, ITEMS, LABELS),
    "BoostedCRF": Case(lambda: BoostedCRF(boosting=Boosting(rounds=5, steps=True), window=1), ROWS, LABELS),
    "KernelChainCRF": Case(lambda: KernelChainCRF(kernel="rbf"), ROWS, LABELS),
    "KernelChainCRF of items": Case(lambda: KernelChainCRF(kernel="linear"), ITEMS, LABELS),
    "GraphCRF": Case(lambda: GraphCRF(graphs(0).graph, stop=FEW), graphs(0)),
    "BayesianCRF": Case(lambda: BayesianCRF(graphs(0).graph), graphs(0)),
    "FactorialCRF": Case(lambda: FactorialCRF(stop=FEW), ITEMS, PAIRS),
    "FactorialCRF of columns": Case(lambda: FactorialCRF(stop=FEW), ITEMS, {"one": LABELS, "two": TAGS}),
    "SkipChainCRF": Case(lambda: SkipChainCRF(equal="sign", where=None, stop=FEW), ITEMS, LABELS),
    "GridCRF": Case(
        lambda: GridCRF(stop=FEW), IMAGES, [(image[:, :, 0] > 0).astype(int) for image in IMAGES]
    ),
    "MultiLabelCRF": Case(lambda: MultiLabelCRF(stop=FEW), MANY, (MANY[:, :2] > 0).astype(int)),
}


def same(one: Any, two: Any) -> bool:
    """Return whether two answers are equal, whatever form they have."""
    if isinstance(one, GraphLabels | GraphProba):
        return same(dict(one), dict(two))
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(same(one[key], two[key]) for key in one)
    if isinstance(one, list) and one and isinstance(one[0], np.ndarray):
        return all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))
    return np.array_equal(one, two) if isinstance(one, np.ndarray) else bool(one == two)
