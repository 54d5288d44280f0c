"""The native evaluation of the likelihood of segments against the general path."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from crfkit.data.batch import Batch
from crfkit.errors import InfeasibleError
from crfkit.linear.fast.segments import NativeSegments
from crfkit.linear.layout import Layout
from crfkit.linear.loss import LinearLoss
from crfkit.objectives import Likelihood, MaxMargin
from crfkit.structures import Chain, SemiMarkov
from crfkit.structures.constraints import START, Forbid
from tests.cases.likelihood import agree, batch, both, made, partly, same_bits_for_threads, weighted
from tests.cases.segments import ATTRIBUTES, data_of, lengths, with_segments

OPTIONS: dict[str, Any] = {"attributes": 1950, "segment_attributes": ATTRIBUTES, "start": True, "stop": True}


def loss_of(structure: SemiMarkov, data: Batch, layout: Layout | None = None) -> LinearLoss:
    kept = layout or Layout.all_pairs(data, structure, **OPTIONS)
    loss = Likelihood().bind(kept, structure, data, threads=2)
    assert isinstance(loss, LinearLoss)
    assert isinstance(loss.fast, NativeSegments)
    return loss


def drawn(loss: LinearLoss, scale: float = 1.0) -> Any:
    return scale * np.random.default_rng(1).normal(size=loss.size)


@pytest.mark.parametrize("D", [1, 2, 3, 6])
@pytest.mark.parametrize("L", [1, 2, 7, 9, 20])
@pytest.mark.parametrize("kind", ["path", "values", "weights", "sets", "weighted sets"])
def test_equals_the_general_path(kind: str, L: int, D: int) -> None:
    structure = SemiMarkov(L, max_length=lengths(L, D))
    data = data_of(structure, values=kind == "values")
    if "sets" in kind:
        data = replace(partly(data, L), begin=None)
    if "weight" in kind:
        data = weighted(data)
    layouts = [Layout.all_pairs(data, structure, **OPTIONS)]
    if "sets" not in kind:
        layouts += [
            Layout.observed(data, structure),
            Layout.observed(data, structure, transitions="none", min_count=2, stop=True),
            Layout.observed(data, structure, transitions="observed", table_bytes=0),
        ]
    for layout in layouts:
        loss = loss_of(structure, data, layout)
        agree(loss, drawn(loss))


@pytest.mark.parametrize("kinds", [(), ("begin",), ("end",), ("segment",), ("begin", "end")])
def test_every_kind_of_attribute_alone(kinds: tuple[str, ...]) -> None:
    structure = SemiMarkov(5, max_length=4)
    data = data_of(structure)
    gone = [kind for kind in ("begin", "end", "segment") if kind not in kinds]
    without: dict[str, Any] = {f"{kind}_{part}": None for kind in gone for part in ("ptr", "attr", "value")}
    data = replace(data, **without)
    loss = loss_of(structure, data)
    agree(loss, drawn(loss))


@pytest.mark.parametrize("D", [1, 4])
def test_constraints_and_shortest_lengths(D: int) -> None:
    rules = [Forbid("a", "b"), Forbid(START, "c")]
    free = SemiMarkov(list("abc"), max_length=D, constraints=rules)
    tokens = batch(3)
    data = replace(with_segments(tokens, free), label=np.zeros(tokens.positions, dtype=np.int32))
    loss = loss_of(free, data)
    agree(loss, drawn(loss))
    if D > 1:
        long = SemiMarkov(list("abc"), max_length=[1, D, D], min_length=[1, 2, 3], constraints=rules)
        data = replace(data, begin=np.ones(tokens.positions, dtype=np.bool_))
        loss = loss_of(long, data)
        agree(loss, drawn(loss))


def test_a_sequence_without_a_segmentation_is_named() -> None:
    structure = SemiMarkov(2, max_length=3, min_length=2)
    tokens = made(seq_ptr=[0, 2, 3], attr_ptr=[0, 1, 2, 3], attr=[0, 1, 0], allowed=np.ones((3, 2), bool))
    loss = loss_of(structure, tokens, Layout.all_pairs(tokens, structure))
    with pytest.raises(InfeasibleError, match="sequence 1"):
        loss.value_and_grad(np.zeros(loss.size), np.empty(loss.size))


def test_segments_of_one_position_are_a_chain() -> None:
    tokens = weighted(batch(4))
    structure = SemiMarkov(4, max_length=1)
    data = replace(tokens, begin=np.ones(tokens.positions, dtype=np.bool_))
    loss = loss_of(structure, data)
    chain = Likelihood().bind(
        Layout.all_pairs(tokens, 4, attributes=1950, start=True, stop=True), Chain(4), tokens
    )
    w = drawn(loss)
    w[loss.layout.parts["length"]] = 0.0
    shared = np.flatnonzero(np.isin(np.arange(loss.size), np.r_[loss.layout.parts["length"]], invert=True))
    found, expected = np.empty(loss.size), np.empty(chain.size)
    value = loss.value_and_grad(w, found)
    assert value == pytest.approx(chain.value_and_grad(w[shared], expected), rel=1e-13)
    np.testing.assert_allclose(found[shared], expected, rtol=1e-12, atol=1e-12)


def test_gradient_by_differences() -> None:
    structure = SemiMarkov(3, max_length=[4, 2, 1])
    loss = loss_of(structure, data_of(structure, values=True, sequences=8))
    w, gradient, other = drawn(loss, 0.3), np.empty(loss.size), np.empty(loss.size)
    loss.value_and_grad(w, gradient)
    rng = np.random.default_rng(2)
    for _ in range(5):
        way = rng.normal(size=loss.size)
        up, down = (loss.value_and_grad(w + step * way, other) for step in (1e-5, -1e-5))
        assert (up - down) / 2e-5 == pytest.approx(way @ gradient, rel=1e-6)


@pytest.mark.parametrize("scale", [5.0, 30.0, 1e3, 1e6])
@pytest.mark.parametrize("shortest", [1, 2])
def test_huge_scores_go_through_log_space(scale: float, shortest: int) -> None:
    structure = SemiMarkov(6, max_length=5)
    data = data_of(structure)
    if shortest > 1:
        structure = SemiMarkov(6, max_length=5, min_length=[1, 1, 1, 2, 2, 3])
        assert data.label is not None
        one = np.ones(data.positions, dtype=np.bool_)
        data = replace(data, label=(data.label % 3).astype(np.int32), begin=one)
    loss = loss_of(structure, data)
    value, found, general, expected = both(loss, drawn(loss, scale))
    assert value == pytest.approx(general, rel=1e-11)
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7)


def test_long_segments_do_not_leave_the_range() -> None:
    structure = SemiMarkov(3, max_length=60)
    tokens = made(seq_ptr=[0, 200], attr_ptr=np.arange(201), attr=np.arange(200) % 5, label=[0] * 200)
    data = replace(tokens, begin=np.arange(200) % 50 == 0)
    loss = loss_of(structure, data, Layout.all_pairs(data, structure, start=True))
    agree(loss, drawn(loss, 12.0), rtol=1e-9, atol=1e-8)


def test_same_bits_for_any_number_of_threads() -> None:
    structure = SemiMarkov(5, max_length=4)
    same_bits_for_threads(data_of(structure), structure)


def test_what_is_packed_gives_the_same_bits() -> None:
    structure = SemiMarkov(5, max_length=4)
    loss = loss_of(structure, data_of(structure))
    w, first, other = drawn(loss), np.empty(loss.size), np.empty(loss.size)
    value = loss.value_and_grad(w, first)
    again = Likelihood().bind(loss.layout, structure, loss.batch)
    assert isinstance(again, LinearLoss)
    again.unpack(loss.packed())
    assert again.value_and_grad(w, other) == value
    assert (first == other).all()


def test_what_is_not_covered() -> None:
    structure = SemiMarkov(3, max_length=2)
    data = data_of(structure, sequences=5)
    steps = replace(data, edge_ptr=np.arange(data.positions + 1), edge_attr=np.zeros(data.positions, int))
    for objective, given, why in (
        (MaxMargin(), data, "the objective max-margin"),
        (Likelihood(), steps, "edge attributes"),
        (Likelihood(), replace(data, dense=np.ones((data.positions, 1))), "real-valued columns"),
    ):
        loss = objective.bind(Layout.all_pairs(given, structure), structure, given)
        assert isinstance(loss, LinearLoss)
        assert NativeSegments.covers(loss) == why
        assert loss.fast is None
