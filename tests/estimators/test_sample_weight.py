"""Weights of samples that no training can use: negative, not finite, or 0 for all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from crfkit import HMM, MEMM, ChainCRF, SemiCRF, train
from crfkit.estimators import (
    BoostedCRF,
    FactorialCRF,
    GridCRF,
    HiddenChainCRF,
    HiddenSequenceCRF,
    MultiLabelCRF,
    SkipChainCRF,
)
from crfkit.estimators.classic import CodeCRF, KernelChainCRF, OpinionPool, VotedPerceptron
from crfkit.features import ItemExtractor
from tests.cases.estimators import X_TEST, Y_TEST, W, X, Y, fitted

ROWS: Any = [np.array([[float(len(w)), float("a" in w)] for w in s]) for s in W]
IMAGES = [np.random.default_rng(n).normal(size=(2, 3, 1)) for n in range(4)]
CASES: list[tuple[Callable[[], Any], Any, Any]] = [
    *(
        (made, X, Y)
        for made in (ChainCRF, MEMM, SemiCRF, HiddenChainCRF, OpinionPool, CodeCRF, VotedPerceptron)
    ),
    (HMM, W, Y),
    (HiddenSequenceCRF, X, [y[-1] for y in Y]),
    (BoostedCRF, ROWS, Y),
    (KernelChainCRF, ROWS, Y),
    (FactorialCRF, X, [[(y, y) for y in s] for s in Y]),
    (lambda: SkipChainCRF(equal="end", where=None), X, Y),
    (GridCRF, IMAGES, [(image[:, :, 0] > 0).astype(int) for image in IMAGES]),
    (MultiLabelCRF, np.eye(4), np.eye(4, 2, dtype=int)),
]


@pytest.mark.parametrize("weight", [0.0, -1.0, float("nan"), float("inf")])
@pytest.mark.parametrize(
    ("make", "data", "y"), CASES, ids=[repr(make()).partition("(")[0] for make, _, _ in CASES]
)
def test_weights_that_cannot_count_are_refused(
    make: Callable[[], Any], data: Any, y: Any, weight: float
) -> None:
    made = make()
    for learn in [made.fit, *([made.partial_fit] if hasattr(made, "partial_fit") else [])]:
        with pytest.raises(
            ValueError, match=r"sample_weight(\[0\] is .*, expected 0 or more| is zero for all)"
        ):
            learn(data, y, sample_weight=np.full(len(data), weight))


@pytest.mark.parametrize("weight", ["balanced", [[1.0, 2.0], [1.0]]])
def test_what_is_no_number_for_each_sequence(weight: Any) -> None:
    with pytest.raises(
        ValueError, match=r"sample_weight is .*, expected one number for each of 24 sequences"
    ):
        ChainCRF().fit(X, Y, sample_weight=weight)


def test_scores_and_learning_on_refuse_them_too() -> None:
    with pytest.raises(ValueError, match="sample_weight is zero for all 8 sequences"):
        fitted().score(X_TEST, Y_TEST, sample_weight=np.zeros(8))
    with pytest.raises(ValueError, match="sample_weight is zero for all 8 sequences"):
        fitted().partial_fit(X_TEST, Y_TEST, sample_weight=np.zeros(8))


def test_train_refuses_them_in_a_batch() -> None:
    data = ItemExtractor()(X, Y)
    for weight, message in (
        (np.zeros(24), "the weights of all 24 sequences are zero"),
        (np.where(np.arange(24) == 3, -1.0, 1.0), r"weight\[3\] is -1.0, expected 0 or more"),
    ):
        with pytest.raises(ValueError, match=message):
            train(replace(data, batch=replace(data.batch, weight=weight)))
    with pytest.raises(ValueError, match="must be finite"):
        replace(data.batch, weight=np.full(24, np.nan))
