"""Losses other than the likelihood against their definitions, by enumeration of all labelings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from crfkit import inference
from crfkit.data.batch import Batch
from crfkit.inference.reference.enumeration import Outcome, enumerate_labelings
from crfkit.linear.layout import Layout
from crfkit.linear.loss import LinearLoss
from crfkit.objectives import Likelihood, MaxMargin
from crfkit.objectives.classic import Exponential, MarginalLikelihood
from crfkit.objectives.registry import OBJECTIVES
from crfkit.structures import Chain, SemiMarkov
from crfkit.structures.constraints import Forbid, Scheme, SegmentLength
from crfkit.structures.gold import Path
from tests.cases.batches import random_batch

L = 3
STRUCTURES: dict[str, Any] = {
    "order 0": Chain(L, order=0),
    "order 1": Chain(L),
    "order 2": Chain(L, order=2),
    "constraints": Chain(L, constraints=[Forbid("0", "2"), Forbid("1", "1")]),
    "semi": SemiMarkov(L, max_length=2),
}


def batch(structure: str, *, edges: bool = False) -> Batch:
    made = random_batch(
        np.random.default_rng(0), [4, 1, 0, 3, 2], 5, L, values=True, edges=edges, weights=True
    )
    if structure == "constraints":
        return replace(made, label=np.array([0, 0, 1, 2, 0, 1, 0, 0, 1, 2], dtype=np.int32))
    return made if structure != "semi" else replace(made, begin=np.ones(made.positions, dtype=np.bool_))


def bound(objective: Any, structure: str, *, edges: bool = False) -> LinearLoss:
    given = batch(structure, edges=edges)
    layout = Layout.all_pairs(given, STRUCTURES[structure], start=True, stop=True)
    loss: LinearLoss = objective.bind(layout, STRUCTURES[structure], given)
    return loss


def weights_of(loss: LinearLoss) -> Any:
    return np.random.default_rng(1).normal(size=loss.size)


def log_sum(scores: list[float]) -> float:
    return float(np.logaddexp.reduce(scores)) if scores else -np.inf


def with_cost(every: list[Outcome], gold: Outcome) -> list[float]:
    return [y.score + sum(a != b for a, b in zip(y.labels, gold.labels, strict=True)) for y in every]


def pseudo(every: list[Outcome], gold: Outcome) -> float:
    def at(t: int) -> list[float]:
        return [y.score for y in every if all(y.labels[s] == z for s, z in enumerate(gold.labels) if s != t)]

    return sum(log_sum(at(t)) - gold.score for t in range(len(gold.labels)))


def marginal(every: list[Outcome], gold: Outcome) -> float:
    total = log_sum([y.score for y in every])
    same = [[y.score for y in every if y.labels[t] == z] for t, z in enumerate(gold.labels)]
    return sum(total - log_sum(scores) for scores in same)


#: The loss of one sequence, from the scores of all its labelings and from its gold one.
BY_LABELINGS: dict[str, Callable[[list[Outcome], Outcome], float]] = {
    "perceptron": lambda every, gold: max(y.score for y in every) - gold.score,
    "max-margin": lambda every, gold: max(with_cost(every, gold)) - gold.score,
    "softmax-margin": lambda every, gold: log_sum(with_cost(every, gold)) - gold.score,
    "pseudo-likelihood": pseudo,
    "marginal-likelihood": marginal,
}
CASES = [
    (objective, structure, edges)
    for objective in BY_LABELINGS
    for structure in STRUCTURES
    for edges in (False, True)
    if not edges or structure in ("order 1", "constraints", "semi")
    if structure != "semi" or objective in ("perceptron", "max-margin", "softmax-margin")
]


def sequences(loss: LinearLoss, w: Any) -> list[tuple[list[Outcome], Outcome]]:
    """All labelings of each sequence with their scores, and the gold one."""
    potentials, found = loss.potentials(w), []
    label = np.asarray(loss.batch.label)
    for n in range(loss.batch.sequences):
        every = list(enumerate_labelings(potentials.sequence(n)))
        right = tuple(label[loss.batch.seq_ptr[n] : loss.batch.seq_ptr[n + 1]].tolist())
        same = [y for y in every if y.labels == right and (y.begin is None or all(y.begin))]
        assert len(same) == 1
        found.append((every, same[0]))
    return found


@pytest.mark.parametrize(("objective", "structure", "edges"), CASES)
def test_losses_are_enumeration(objective: str, structure: str, edges: bool) -> None:
    loss = bound(OBJECTIVES[objective](), structure, edges=edges)
    w = weights_of(loss)
    each = [BY_LABELINGS[objective](every, gold) for every, gold in sequences(loss, w)]
    assert loss.value_and_grad(w, np.empty(loss.size)) == pytest.approx(loss.weight @ each, abs=1e-9)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_softmax_margin_is_above_likelihood_and_max_margin(structure: str) -> None:
    loss = bound(OBJECTIVES["softmax-margin"](), structure)
    w, scratch = weights_of(loss), np.empty(loss.size)
    value = loss.value_and_grad(w, scratch)
    assert value > bound(Likelihood(), structure).value_and_grad(w, scratch)
    assert value > bound(MaxMargin(), structure).value_and_grad(w, scratch)


def factors(potentials: Any) -> Iterator[tuple[Any, tuple[int, ...]]]:
    """Yield the table of each factor of one sequence of a chain, and the positions of its labels."""
    T = len(potentials.node)
    for t in range(T):
        yield potentials.node[t], (t,)
        for h, table in enumerate(potentials.edge[: potentials.structure.order], start=1):
            if t >= h:
                yield table[t] if table.ndim > h + 1 else table, tuple(range(t - h, t + 1))
    if T:
        yield potentials.start, (0,)
        yield potentials.stop, (T - 1,)


def piecewise(table: Any, gold: tuple[int, ...]) -> float:
    return log_sum(table.ravel().tolist()) - float(table[gold])


def piecewise_pseudo(table: Any, gold: tuple[int, ...]) -> float:
    rows = [[table[(*gold[:a], y, *gold[a + 1 :])] for y in range(L)] for a in range(len(gold))]
    return sum(log_sum(row) - float(table[gold]) for row in rows)


@pytest.mark.parametrize("edges", [False, True])
@pytest.mark.parametrize("structure", [name for name in STRUCTURES if name != "semi"])
@pytest.mark.parametrize(
    ("objective", "of_factor"),
    [("piecewise", piecewise), ("piecewise-pseudo-likelihood", piecewise_pseudo)],
)
def test_pieces_are_normalized_one_by_one(
    objective: str, of_factor: Callable[[Any, tuple[int, ...]], float], structure: str, edges: bool
) -> None:
    if edges and structure not in ("order 1", "constraints"):
        return
    loss = bound(OBJECTIVES[objective](), structure, edges=edges)
    w = weights_of(loss)
    potentials, label, expected = loss.potentials(w), np.asarray(loss.batch.label), 0.0
    for n, begin in enumerate(loss.batch.seq_ptr[:-1].tolist()):
        for table, at in factors(potentials.sequence(n)):
            expected += loss.weight[n] * of_factor(table, tuple(label[begin + t] for t in at))
    assert loss.value_and_grad(w, np.empty(loss.size)) == pytest.approx(expected, abs=1e-9)


def test_the_bounds_of_the_papers() -> None:
    """Piecewise is at least the likelihood's loss; without steps all are the same."""
    for structure in ("order 1", "order 2", "constraints"):
        w, scratch = weights_of(bound(Likelihood(), structure)), np.empty(bound(Likelihood(), structure).size)
        likelihood = bound(Likelihood(), structure).value_and_grad(w, scratch)
        assert bound(OBJECTIVES["piecewise"](), structure).value_and_grad(w, scratch) > likelihood
    given = batch("order 0")
    layout = Layout.all_pairs(given, STRUCTURES["order 0"])
    w = np.random.default_rng(2).normal(size=layout.weights)
    values = [
        OBJECTIVES[name]().bind(layout, STRUCTURES["order 0"], given).value_and_grad(w, np.empty(len(w)))
        for name in (
            "likelihood",
            "marginal-likelihood",
            "pseudo-likelihood",
            "piecewise",
            "piecewise-pseudo-likelihood",
        )
    ]
    assert values == pytest.approx([values[0]] * len(values), rel=1e-12)


def test_limits_on_lengths_are_refused_or_left_out() -> None:
    chain = Chain(["O", "B-x", "I-x"], constraints=[Scheme("BIO"), SegmentLength("x", 1, 2)])
    given = replace(batch("order 1"), label=np.ones(10, dtype=np.int32))
    layout = Layout.all_pairs(given, chain)
    with pytest.raises(
        ValueError, match=r"^the objective pseudo-likelihood does not take limits on the lengths"
    ):
        OBJECTIVES["pseudo-likelihood"]().bind(layout, chain, given)
    loss = OBJECTIVES["piecewise"]().bind(layout, chain, given)  # a rule without weights is not a piece
    assert np.isfinite(loss.value_and_grad(np.zeros(loss.size), np.empty(loss.size)))


def test_expectations_given_each_label_are_clamped_sums() -> None:
    """One sweep over marked labelings against one clamped sweep for each position, with large scores."""
    rng, T = np.random.default_rng(3), 40
    chain, label = Chain(L), rng.integers(0, L, T).astype(np.int32)
    given = chain.potentials(20.0 * rng.normal(size=(T, L)), 20.0 * rng.normal(size=(L, L)), seq_ptr=[0, T])
    value, found = MarginalLikelihood().loss(given, Path(given.seq_ptr, label), np.ones(1))
    log_z, slots = inference.expected(given, [T])
    expected = T * log_z[0]
    for t, y in enumerate(label):
        mask = np.ones((T, L), dtype=np.bool_)
        mask[t] = np.arange(L) == y
        within, inside = inference.expected(given.clamped(mask), [1.0])
        expected -= within[0]
        for slot, array in slots.items():
            array -= inside[slot]
    assert value == pytest.approx(expected, rel=1e-9)
    for slot, array in slots.items():
        np.testing.assert_allclose(found[slot], array, rtol=1e-8, atol=1e-8 * T)


def test_labels_without_probability_give_a_finite_loss() -> None:
    given = Chain(2).potentials([[0.0, 2000.0]] * 3, seq_ptr=[0, 3])
    value, found = MarginalLikelihood().loss(given, Path(given.seq_ptr, np.zeros(3, np.int32)), np.ones(1))
    assert value > 3 * 700.0
    assert all(np.isfinite(array).all() for array in found.values())


SMOOTH = [name for name, objective in OBJECTIVES.items() if objective.smooth]


@pytest.mark.parametrize("objective", SMOOTH)
def test_blocks_threads_and_weights_of_zero(objective: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = replace(batch("order 1", edges=True), weight=np.array([1.0, 0.0, 2.0, 0.5, 0.0]))
    layout = Layout.all_pairs(given, Chain(L), start=True)
    results = []
    for threads, size in ((1, 1 << 26), (2, 1 << 26), (1, 1)):
        monkeypatch.setattr("crfkit.linear.loss.BLOCK_BYTES", size)
        loss = OBJECTIVES[objective]().bind(layout, Chain(L), given, threads=threads)
        gradient = np.empty(loss.size)
        results.append((loss.general_value_and_grad(weights_of(loss), gradient), *gradient))
    assert results[0] == results[1]
    assert results[2] == pytest.approx(results[0], rel=1e-9, abs=1e-12)
    assert len(loss._blocks) > 1
    counted = given.select(np.array([0, 2, 3]))
    loss = OBJECTIVES[objective]().bind(layout, Chain(L), counted)
    assert loss.value_and_grad(weights_of(loss), gradient) == pytest.approx(results[0][0], rel=1e-9)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_the_exponential_loss_is_enumeration(structure: str) -> None:
    loss = bound(OBJECTIVES["exponential"](), structure)
    w, W = weights_of(loss), loss.weight.sum()
    each = [sum(np.exp(y.score - gold.score) for y in every) for every, gold in sequences(loss, w)]
    value = loss.value_and_grad(w, np.empty(loss.size))
    assert value == pytest.approx(W * np.log(loss.weight @ each / W), abs=1e-9)
    assert value > bound(Likelihood(), structure).value_and_grad(w, np.empty(loss.size))


def test_the_exponential_loss_of_long_sequences_is_a_number() -> None:
    T = 5000  # 2^5000 labelings
    given = Chain(2).potentials(np.zeros((T + 1, 2)), seq_ptr=[0, T, T + 1])
    value, found = Exponential().loss(given, Path(given.seq_ptr, np.zeros(T + 1, np.int32)), np.ones(2))
    assert value == pytest.approx(2.0 * (T * np.log(2.0) - np.log(2.0)), rel=1e-12)
    np.testing.assert_allclose(found["node"][[0, -1]], [[-1.0, 1.0], [0.0, 0.0]], atol=1e-12)
