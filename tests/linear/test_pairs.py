"""Likelihoods whose sums visit only the steps that have weights, against the general path."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crfkit import _native
from crfkit.linear.fast.likelihood import NativeLikelihood
from crfkit.linear.fast.steps import pairs_of
from crfkit.linear.layout import Layout
from crfkit.native import kernels
from crfkit.objectives import Likelihood
from crfkit.structures import Chain
from crfkit.structures.constraints import Forbid
from tests.cases.likelihood import agree, batch, partly, soft, weighted

L = 40


def forbidding(*pairs: tuple[int, int]) -> Chain:
    names = [str(y) for y in range(L)]
    return Chain(names, constraints=[Forbid(str(a), str(b)) for a, b in pairs])


def layout_of(data: Any, **options: Any) -> Layout:
    return Layout.observed(data, L, transitions="observed", start=True, stop=True, **options)


def bound(chain: Chain, data: Any, layout: Layout) -> Any:
    assert pairs_of(layout, chain) is not None
    loss = Likelihood().bind(layout, chain, data, threads=2)
    assert isinstance(loss.fast, NativeLikelihood)
    return loss


@pytest.mark.parametrize("kind", ["path", "weighted", "partial", "soft", "one length"])
@pytest.mark.parametrize("scale", [0.0, 1.0, 4.0, 40.0])
def test_equals_the_general_path(kind: str, scale: float) -> None:
    plain = batch(L)
    data = {
        "path": lambda: plain,
        "weighted": lambda: weighted(batch(L, values=True)),
        "partial": lambda: partly(plain, L),
        "soft": lambda: soft(plain, L),
        "one length": lambda: batch(L, sequences=9),
    }[kind]()
    layout = layout_of(plain)
    w = np.random.default_rng(1).normal(size=layout.weights)
    w[layout.parts["transition"]] *= scale
    agree(bound(Chain(L), data, layout), w)


@pytest.mark.parametrize("scale", [1.0, 40.0])
def test_forbidden_steps_lose_no_digits(scale: float) -> None:
    """A forbidden step from the label that has nearly all the probability: a difference would be noise."""
    data = soft(batch(L), L)
    taken = {(int(a), int(b)) for a, b in np.random.default_rng(3).integers(0, L, (60, 2))}
    chain = forbidding(*taken, *((7, b) for b in range(0, L, 3)), *((a, 5) for a in range(1, L, 2)))
    layout = layout_of(batch(L, sequences=25))
    w = np.random.default_rng(2).normal(size=layout.weights)
    w[layout.parts["transition"]] *= scale
    w[layout.parts["start"]][7] = 35.0
    agree(bound(chain, data, layout), w)


def test_no_step_has_a_weight() -> None:
    data = batch(L)
    layout = Layout.observed(data, L, transitions="none")
    agree(bound(Chain(L), data, layout), np.random.default_rng(1).normal(size=layout.weights))


def test_scores_too_wide_for_scaled_sums() -> None:
    data = batch(L)
    layout = layout_of(data)
    agree(
        bound(Chain(L), data, layout), 300 * np.random.default_rng(6).normal(size=layout.weights), atol=1e-8
    )


def test_same_bits_for_any_number_of_threads() -> None:
    data = batch(L).select(np.random.default_rng(8).integers(0, 60, 900).tolist())
    layout = layout_of(data)
    w = np.random.default_rng(8).normal(size=layout.weights)
    first, other = np.empty_like(w), np.empty_like(w)
    value = Likelihood().bind(layout, Chain(L), data, threads=1).value_and_grad(w, first)
    for threads in (2, 3):
        assert Likelihood().bind(layout, Chain(L), data, threads=threads).value_and_grad(w, other) == value
        assert (other == first).all()


def test_what_is_packed_gives_the_same_bits() -> None:
    data = batch(L)
    layout = layout_of(data)
    w = np.random.default_rng(2).normal(size=layout.weights)
    first, other = np.empty_like(w), np.empty_like(w)
    loss, again = (bound(Chain(L), data, layout) for _ in range(2))
    value = loss.value_and_grad(w, first)
    again.unpack(loss.packed())
    assert again.value_and_grad(w, other) == value
    assert first.tobytes() == other.tobytes()


def test_all_pairs_where_they_are_faster() -> None:
    data = batch(L)
    assert pairs_of(Layout.observed(data, L, transitions="all"), Chain(L)) is None
    assert pairs_of(Layout.observed(batch(9), 9, transitions="none"), Chain(9)) is None
    forbidden = forbidding(*((a, b) for a in range(L) for b in range(0, L, 4)))
    assert pairs_of(Layout.observed(data, L, transitions="none"), forbidden) is None


def test_pairs_hold_weights_and_forbidden_steps() -> None:
    layout = Layout.observed(batch(L), L, transitions="observed")
    chain = forbidding((3, 4), (0, 0))
    found = pairs_of(layout, chain)
    assert found is not None
    ptr, source, cell = found
    assert set(cell) == {*layout.transition_cell.tolist(), 3 * L + 4, 0}
    target = np.repeat(np.arange(L), np.diff(ptr))
    assert (cell == source * L + target).all()
    assert (np.diff(target * L + source) > 0).all()


@pytest.mark.parametrize(
    ("ptr", "source", "message"),
    [
        ([0, 1, 1], [0], "pair_ptr has 3 entries, expected 4"),
        ([0, 1, 1, 2], [0], "pair_ptr does not fit pair_from"),
        ([0, 3, 1, 2], [0, 1], r"pair_ptr\[1\] is out of range"),
        ([0, 2, 2, 2], [1, 1], r"pair_from\[1\] is out of range or does not rise"),
        ([0, 1, 1, 1], [3], r"pair_from\[0\] is out of range or does not rise"),
    ],
)
def test_wrong_pairs_are_refused(ptr: list[int], source: list[int], message: str) -> None:
    data = batch(3)
    layout = Layout.observed(data, 3)
    nothing = (None,) * 4
    with pytest.raises(ValueError, match=message):
        _native.Evaluator.of(
            kernels,
            1,
            layout.rows(),
            data.seq_ptr,
            data.attr_ptr,
            data.attr,
            None,
            None,
            data.label,
            None,
            None,
            *nothing,
            0,
            False,
            False,
            None,
            np.array(ptr, np.int32),
            np.array(source, np.int32),
            1 << 20,
            1 << 28,
        )
