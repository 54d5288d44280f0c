"""Rows of scores that rounds of sequences use in turn: the values of one round, on any threads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from crfkit.data.batch import Batch
from crfkit.linear.fast import likelihood, segments
from crfkit.linear.fast.likelihood import ROW_BYTES, NativeLikelihood
from crfkit.linear.layout import Layout
from crfkit.linear.loss import LinearLoss
from crfkit.objectives import Likelihood
from crfkit.structures import Chain, SemiMarkov
from crfkit.structures.structure import Structure
from tests.cases.likelihood import batch, edged, partly, soft, weighted
from tests.cases.segments import data_of


def many(b: Batch) -> Batch:
    """Sequences drawn from a batch, empty ones among them: many more rows than the table has."""
    return b.select(np.random.default_rng(8).integers(0, b.sequences, 900).tolist())


DATA: dict[str, Any] = {
    "path": lambda: (Chain(5), many(batch(5, shuffled=True))),
    "wide": lambda: (Chain(40), many(batch(40))),
    "weighted values": lambda: (Chain(9), weighted(many(batch(9, values=True)))),
    "sets": lambda: (Chain(4), partly(many(batch(4)), 4)),
    "soft": lambda: (Chain(7), soft(many(batch(7, values=True)), 7)),
    "edges": lambda: (Chain(4), edged(many(batch(4)))),
    "order 2": lambda: (Chain(4, order=2), many(batch(4))),
    "segments": lambda: (SemiMarkov(3, max_length=3), data_of(SemiMarkov(3, max_length=3), sequences=400)),
}


def loss_in(rounds: str, structure: Structure, layout: Layout, data: Batch, threads: int = 2) -> LinearLoss:
    """Return a loss with a bound that gives one round, a few, or as many as there are sequences."""
    rows = {"one": ROW_BYTES, "few": 8 * 8 * (-(-layout.labels // 8)) * (data.positions // 4), "most": 1}
    with pytest.MonkeyPatch.context() as patch:
        for module in (likelihood, segments):
            patch.setattr(module, "ROW_BYTES", rows[rounds])
        loss = Likelihood().bind(layout, structure, data, threads=threads)
        assert loss.fast is not None
        return loss


def evaluated(loss: LinearLoss, w: Any) -> tuple[float, Any]:
    gradient = np.full_like(w, np.nan)
    loss.value_and_grad(w, gradient)
    return loss.value_and_grad(w, gradient), gradient


@pytest.mark.parametrize("features", ["all", "observed", "singles"])
@pytest.mark.parametrize("name", DATA)
def test_rounds_give_the_values_of_one_round(name: str, features: str) -> None:
    structure, data = DATA[name]()
    if features == "all" or data.label is None or data.allowed is not None:
        layout = Layout.all_pairs(data, structure)
    else:
        layout = Layout.observed(data, structure, transitions="observed")
        layout = replace(layout, table_bytes=0) if features == "singles" else layout
    w = np.random.default_rng(2).normal(size=layout.weights)
    value, gradient = evaluated(loss_in("one", structure, layout, data), w)
    for rounds in ("few", "most"):
        loss = loss_in(rounds, structure, layout, data)
        found, other = evaluated(loss, w)
        assert found == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(other, gradient, rtol=1e-11, atol=1e-11)
        for threads in (1, 3):
            again, same = evaluated(loss_in(rounds, structure, layout, data, threads), w)
            assert again == found
            assert (same == other).all()
        fast: Any = loss.fast
        assert fast._evaluator.rounds > 2
        kept = type(fast)(loss, fast.packed())
        gradient_kept = np.empty_like(w)
        assert kept.value_and_grad(w, gradient_kept) == found
        assert (gradient_kept == other).all()


def test_how_many_rounds_there_are() -> None:
    chain, data = DATA["path"]()
    layout = Layout.all_pairs(data, chain)
    rounds = {}
    for name in ("one", "few", "most"):
        fast = loss_in(name, chain, layout, data).fast
        assert isinstance(fast, NativeLikelihood)
        rounds[name] = fast.rounds
    assert rounds["one"] == 1
    assert 3 <= rounds["few"] <= 6
    assert rounds["most"] > 200
