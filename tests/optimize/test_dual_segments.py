"""The dual for segments: optimum, certificate, the chain at D = 1, threads, state, what it refuses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from crfkit.arrays import Floats
from crfkit.data.batch import Batch
from crfkit.errors import NotCoveredError
from crfkit.linear.layout import Layout
from crfkit.linear.loss import LinearLoss
from crfkit.objectives import Likelihood
from crfkit.optimize import SGD, Dual
from crfkit.optimize.dual.passes import DualPasses
from crfkit.optimize.problem import Penalty
from crfkit.optimize.sequential.sequences import DualSequences
from crfkit.structures import Chain, SemiMarkov
from crfkit.structures.constraints import START, STOP, Forbid
from crfkit.structures.structure import Structure
from tests.cases.batches import random_batch
from tests.cases.optima import optimum, run_to_end
from tests.cases.segments import with_segments

KINDS = ("begin", "end", "segment")
Case = tuple[Batch, Structure, Likelihood, dict[str, Any], bool]


def case(
    seed: int,
    structure: SemiMarkov,
    objective: Likelihood | None = None,
    *,
    kinds: Sequence[str] = KINDS,
    values: bool = False,
    weights: bool = False,
    all_pairs: bool = False,
    **options: Any,
) -> Case:
    """Segments, of which two sequences are empty, with attributes of positions and of these kinds."""
    rng = np.random.default_rng(seed)
    lengths = [0, 1, 0, *rng.integers(0, 9, 27)]
    L = len(structure.labels)
    data = random_batch(rng, lengths, 60, L, least=1, values=values, weights=weights)
    data = with_segments(data, structure, seed, values=values)
    dropped: dict[str, Any] = {
        f"{kind}_{part}": None for kind in KINDS if kind not in kinds for part in ("ptr", "attr", "value")
    }
    return replace(data, **dropped), structure, objective or Likelihood(l2=1.0), options, all_pairs


def without(given: Case, before: int, after: int) -> Case:
    """Change labels of whole segments so that one never follows the other, which becomes a constraint."""
    data, structure, *rest = given
    assert isinstance(structure, SemiMarkov)
    assert data.label is not None
    assert data.begin is not None
    label = data.label.copy()
    for p in range(1, len(label)):
        if not data.begin[p]:
            label[p] = label[p - 1]
        elif (label[p - 1], label[p]) == (before, after):
            label[p] = before
    first = Forbid(str(before), str(after))
    constrained = SemiMarkov(structure.labels, structure.max_length, constraints=[first])
    return (replace(data, label=label), constrained, *rest)  # type: ignore[return-value]


CASES: dict[str, Case] = {
    "positions only": case(0, SemiMarkov(4, 3), Likelihood(l2=0.5), kinds=()),
    "every kind, observed": case(1, SemiMarkov(4, 3)),
    "every kind, all pairs": case(2, SemiMarkov(4, 3), all_pairs=True, start=True),
    "values": case(3, SemiMarkov(4, 3), values=True, stop=True),
    "ends only": case(4, SemiMarkov(4, 3), kinds=("end",)),
    "segments only": case(5, SemiMarkov(4, 6), kinds=("segment",), all_pairs=True),
    "two strengths": case(6, SemiMarkov(4, 3), Likelihood(l2=1.0, transition_l2=0.3), start=True, stop=True),
    "weights": case(7, SemiMarkov(4, 3), weights=True, all_pairs=True, start=True),
    "lengths by label": case(8, SemiMarkov(4, [1, 3, 2, 3])),
    "constraints": without(case(9, SemiMarkov(4, 3), transitions="observed"), 1, 2),
    "elastic net": case(10, SemiMarkov(4, 3), Likelihood(l1=0.2, l2=0.5), all_pairs=True, start=True),
    "23 labels": case(11, SemiMarkov(23, 3), stop=True),
}


def bound(given: Case) -> tuple[LinearLoss, Penalty]:
    data, structure, objective, options, all_pairs = given
    layout = (Layout.all_pairs if all_pairs else Layout.observed)(data, structure, **options)
    return objective.bind(layout, structure, data), objective.penalty(layout)


def objective_at(problem: LinearLoss, penalty: Penalty, w: Floats) -> float:
    return problem.general_value_and_grad(w, np.empty(problem.size)) + penalty.value(w)


@pytest.mark.parametrize("step", ["mixture", "exponentiated"])
@pytest.mark.parametrize("name", CASES)
def test_optimum_and_certificate(name: str, step: Any) -> None:
    problem, penalty = bound(CASES[name])
    best = optimum(problem, penalty)
    run = Dual(step=step, finish=None, gap=1e-5).start(problem, penalty, np.zeros(problem.size))
    end = run_to_end(run)
    assert end.stopped.startswith("converged")
    exact = objective_at(problem, penalty, run.w)
    assert exact == pytest.approx(end.objective, rel=1e-12)
    assert best * (1.0 - 1e-7) <= exact <= best * (1.0 + 1e-5)
    assert exact - end.gap <= best * (1.0 + 1e-7)  # the dual is a lower bound


@pytest.mark.parametrize(
    "name", ["every kind, observed", "every kind, all pairs", "constraints", "elastic net"]
)
def test_finisher(name: str) -> None:
    problem, penalty = bound(CASES[name])
    run = Dual(gap=1e-6).start(problem, penalty, np.zeros(problem.size))
    end = run_to_end(run)
    assert end.stopped.startswith("converged")
    assert objective_at(problem, penalty, run.w) == pytest.approx(optimum(problem, penalty), rel=1e-6)


def test_gap_falls_and_is_never_negative() -> None:
    problem, penalty = bound(CASES["every kind, observed"])
    run = Dual(finish=None, gap=1e-5).start(problem, penalty, np.zeros(problem.size))
    sequences, gaps = run.sequences, []
    assert isinstance(sequences, DualPasses)
    for number in range(12):
        sequences.run(number, 0.0)
        w = sequences.weights(problem.size)
        gaps.append(objective_at(problem, penalty, w) - sequences.exact(problem.size))
        assert gaps[-1] >= 0.0
        assert sequences.dual == pytest.approx(sequences.exact(problem.size), rel=1e-4)
    assert gaps[-1] < 0.01 * gaps[0]


def test_segments_of_one_position_are_a_chain() -> None:
    data, single, *_ = case(12, SemiMarkov(4, 1), kinds=())
    found = []
    for structure in (Chain(4), single):
        layout = Layout.observed(data, structure, start=True, stop=True)
        if isinstance(structure, SemiMarkov):
            layout = layout.with_block("length", np.zeros(0, np.int32))
        objective = Likelihood(l2=1.0)
        problem, penalty = objective.bind(layout, structure, data), objective.penalty(layout)
        run = Dual(gap=1e-6).start(problem, penalty, np.zeros(problem.size))
        first = [run.step().objective for _ in range(5)]
        end = run_to_end(run)
        found.append((first, objective_at(problem, penalty, run.w), end.evaluations))
    chain, segments = found
    assert segments[0] == pytest.approx(chain[0], rel=1e-6)  # marginals are stored as floats
    assert segments[1] == pytest.approx(chain[1], rel=1e-9)
    assert segments[2] == chain[2]


def test_shortest_lengths_and_first_labels() -> None:
    """Segments of two or three positions; a label that no sequence begins or ends with."""
    rng = np.random.default_rng(13)
    data = random_batch(rng, rng.integers(4, 9, 40), 60, 3, least=1, telling=0.5)
    assert data.label is not None
    label, begin = data.label.copy(), np.zeros(data.positions, np.bool_)
    for first, end in zip(data.seq_ptr[:-1].tolist(), data.seq_ptr[1:].tolist(), strict=True):
        for at in range(first, end - 1, 2):
            begin[at] = True
            label[at:end] = label[at] if first < at < end - 3 else label[at] % 2
    rules = (Forbid(START, "2"), Forbid("2", STOP))
    structure = SemiMarkov(3, max_length=3, min_length=2, constraints=rules)
    problem, penalty = bound(
        (replace(data, label=label, begin=begin), structure, Likelihood(l2=1.0), {}, False)
    )
    run = Dual(gap=1e-6).start(problem, penalty, np.zeros(problem.size))
    assert run_to_end(run).stopped.startswith("converged")
    assert objective_at(problem, penalty, run.w) == pytest.approx(optimum(problem, penalty), rel=1e-6)


def test_warm_start_beyond_scaled_probabilities() -> None:
    problem, penalty = bound(CASES["every kind, all pairs"])
    w = 3000.0 * np.random.default_rng(0).normal(size=problem.size)
    run = Dual(finish=None).start(problem, penalty, w)
    v = np.empty(problem.size)
    assert isinstance(run.sequences, DualPasses)
    run.sequences.trainer.exact(v, 1)
    assert run.sequences.trainer.entropy() == pytest.approx(0.0, abs=1e-3)  # one labeling has it all
    assert run.sequences.dual == pytest.approx(run.sequences.trainer.entropy() - 0.5 * float(v @ v), rel=1e-5)


@pytest.mark.parametrize("step", ["mixture", "exponentiated"])
def test_threads_do_not_change_a_bit(step: Any) -> None:
    problem, penalty = bound(CASES["two strengths"])
    found = []
    for threads in (1, 2, 3):
        run = Dual(step=step, finish=None, threads=threads).start(problem, penalty, np.zeros(problem.size))
        end = run_to_end(run)
        found.append((run.w.tobytes(), end.objective, end.gap))
    assert all(f == found[0] for f in found)


def test_strain_counts_the_attributes_of_the_gold() -> None:
    problem, _ = bound(CASES["every kind, observed"])
    cells = problem.structure.gold_cells(problem.batch)
    expected = 0
    for kind in ("node", *KINDS):
        items = problem.batch.occurrences(kind)
        assert items is not None
        expected += int(np.diff(items.ptr)[cells[kind] >= 0].sum())
    assert problem.view(DualSequences).occurrences == expected


def test_what_is_refused() -> None:
    data, structure, objective, _, _ = CASES["every kind, observed"]
    layout = Layout.observed(data, structure)
    zero = np.zeros(layout.weights)
    assert data.label is not None
    hidden = data.label.copy()
    hidden[3] = -1
    partial = objective.bind(layout, structure, replace(data, label=hidden))
    with pytest.raises(NotCoveredError, match="Dual does not take partial labels; use LBFGS"):
        Dual().start(partial, objective.penalty(layout), zero)
    with pytest.raises(
        NotCoveredError, match="SGD does not take a semi-Markov chain, only chains of order 1"
    ):
        SGD().start(objective.bind(layout, structure, data), objective.penalty(layout), zero)
