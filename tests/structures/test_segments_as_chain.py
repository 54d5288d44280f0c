"""Segments that a chain can express: the same numbers, and the same optimum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crfkit import Chain, Likelihood, SemiMarkov, inference
from crfkit.arrays import Floats
from crfkit.data.batch import Batch
from crfkit.linear.layout import Layout
from crfkit.linear.loss import LinearLoss
from crfkit.optimize.batch.lbfgs import LBFGS
from crfkit.structures.constraints import Forbid

L = 4


def batch(seed: int, longest: int = 9) -> Batch:
    rng = np.random.default_rng(seed)
    T = rng.integers(0, longest, 30)
    P = int(T.sum())
    counts = rng.integers(0, 4, P)
    arrays: dict[str, Any] = {
        "seq_ptr": np.concatenate([[0], np.cumsum(T)]),
        "attr_ptr": np.concatenate([[0], np.cumsum(counts)]),
        "attr": rng.integers(0, 12, counts.sum()),
        "label": rng.integers(0, L, P),
        "weight": rng.uniform(0.5, 2.0, 30),
    }
    return Batch(**arrays)


def evaluated(loss: LinearLoss, w: Floats, general: bool) -> tuple[float, Floats]:
    gradient = np.empty(loss.size)
    evaluate = loss.general_value_and_grad if general else loss.value_and_grad
    return evaluate(w, gradient), gradient


@pytest.mark.parametrize("ends", [False, True])
def test_segments_of_one_position_are_a_chain(ends: bool) -> None:
    data = batch(1)
    options: dict[str, Any] = {"start": ends, "stop": ends}
    both: list[Any] = [Chain(L), SemiMarkov(L, max_length=1)]
    layouts = [Layout.all_pairs(data, one, **options) for one in both]
    losses = [
        LinearLoss(Likelihood(), one, layout, data, threads=1)
        for one, layout in zip(both, layouts, strict=True)
    ]
    w = np.random.default_rng(2).normal(size=losses[0].size)
    wide = np.zeros(losses[1].size)
    blocks = ("node", "transition", "start", "stop")
    for name in blocks:
        wide[layouts[1].parts[name]] = w[layouts[0].parts[name]]
    for general in (True, False):
        (value, gradient), (same, other) = (
            evaluated(losses[0], w, general),
            evaluated(losses[1], wide, general),
        )
        close: dict[str, Any] = {"rtol": 0, "atol": 0} if general else {"rtol": 1e-12, "atol": 1e-12}
        np.testing.assert_allclose(same, value, **close)
        for name in blocks:
            np.testing.assert_allclose(
                other[layouts[1].parts[name]], gradient[layouts[0].parts[name]], **close, err_msg=name
            )


def test_queries_of_segments_of_one_position_are_those_of_a_chain() -> None:
    rng = np.random.default_rng(3)
    seq_ptr = np.array([0, 5, 5, 12, 13])
    given: dict[str, Any] = {"edge": rng.normal(size=(L, L)), "start": rng.normal(size=L), "seq_ptr": seq_ptr}
    node = rng.normal(size=(13, L))
    chain = Chain(L).potentials(node, **given)
    semi = SemiMarkov(L, max_length=1).potentials(node=node, **given)
    for query in (inference.log_partition, inference.entropy, inference.count):
        np.testing.assert_array_equal(query(semi), query(chain))
    np.testing.assert_array_equal(inference.marginals(semi).node, inference.marginals(chain).node)
    np.testing.assert_array_equal(inference.marginals(semi).edge, inference.marginals(chain).edge)
    for n in range(4):
        one, two = semi.sequence(n), chain.sequence(n)
        assert inference.decode(one).labels.tolist() == inference.decode(two).labels.tolist()
        T = int(np.diff(seq_ptr)[n])
        assert [(a, b) for a, b, _ in inference.decode(one).segments] == [(t, t + 1) for t in range(T)]
        if T:
            best = zip(inference.kbest(one, 3), inference.kbest(two, 3), strict=True)
            assert all(a.labels.tolist() == b.labels.tolist() for a, b in best)


def test_runs_of_labels_have_the_optimum_of_a_chain() -> None:
    """Where a label may not follow itself, a labeling is one segmentation: its runs of equal labels.

    Without weights for lengths and for steps from a label to itself both models have the same features.
    """
    data = batch(4)
    longest = int(np.diff(data.seq_ptr).max())
    chain = Chain(L)
    semi = SemiMarkov(L, max_length=longest, constraints=[Forbid(str(y), str(y)) for y in range(L)])
    steps = np.array([c for c in range(L * L) if c // L != c % L], dtype=np.int32)
    objective, found = Likelihood(l2=0.3), []
    both: list[Any] = [chain, semi]
    for structure in both:
        layout = Layout.all_pairs(data, structure, start=True).with_block("transition", steps)
        if structure is semi:
            layout = layout.with_block("length", steps[:0])
        loss = objective.bind(layout, structure, data, threads=1)
        w = np.random.default_rng(5).normal(size=loss.size)
        start = evaluated(loss, w, general=True)
        run = LBFGS().start(loss, objective.penalty(layout), np.zeros(loss.size))
        for _ in range(200):
            if run.step().end is not None:
                break
        found.append((*start, run.w))
    (value, gradient, best), (same, other, equal) = found
    assert same == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(other, gradient, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(equal, best, rtol=1e-5, atol=1e-6)
