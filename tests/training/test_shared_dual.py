"""The dual on data in blocks (CoCoA+): all moves are added, and the dual itself is the certificate."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crfkit import Chain, Likelihood, SemiMarkov, Stop, train
from crfkit.data.dataset import Dataset
from crfkit.errors import NotCoveredError
from crfkit.optimize import Dual
from crfkit.optimize.problem import Penalty
from crfkit.training import Checkpoints
from crfkit.training.blocks.problem import BlockedProblem
from crfkit.training.blocks.shard import Binding
from crfkit.training.data import TrainingData
from tests.cases.sentences import blocks, dataset, full, segments

GAP = Dual(finish=None, gap=1e-4, max_passes=2000)


def problem_of(folder: Path, size: int, data: Dataset | None = None, order: int = 1) -> Any:
    stored = blocks(dataset() if data is None else data, folder, size)
    known = TrainingData(stored, 1)
    structure = Chain(known.labels.strings(), order=order)
    layout = known.layout(structure, all_pairs=False, pairs=None, options={})
    return BlockedProblem(stored, layout, Binding(Likelihood(l2=1.0), structure, 1))


def with_values() -> Dataset:
    data = full()
    plain: dict[str, Any] = {"edge_ptr": None, "edge_attr": None, "edge_value": None, "dense": None}
    return replace(data, batch=replace(data.batch, **plain), edge_attributes=dataset().edge_attributes)


CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "chain": (dataset, {}),
    "values and weights": (with_values, {}),
    "order 2": (dataset, {"structure": Chain(order=2)}),
    "segments": (segments, {"structure": SemiMarkov()}),
    "transitions of their own": (dataset, {"objective": Likelihood(l2=2.0, transition_l2=0.5)}),
}


@pytest.mark.parametrize("size", [15, 1000])
@pytest.mark.parametrize("case", CASES)
def test_the_gap_certifies_the_optimum(tmp_path: Path, case: str, size: int) -> None:
    make, options = CASES[case]
    model: Any = train(blocks(make(), tmp_path, size), optimizer=GAP, progress=False, **options)
    known: Any = train(make(), optimizer=Dual(gap=1e-8), progress=False, **options)
    found, best = model.training, known.training.loss
    assert found.end == "converged"
    assert best - 1e-6 <= found.loss <= best + found.gap + 1e-6
    assert found.gap <= 1.001e-4 * found.loss


def test_every_pass_raises_the_dual_and_stays_below_the_optimum(tmp_path: Path) -> None:
    """With all moves added in full and no care for attributes that blocks share, it would fall."""
    best: Any = train(dataset(), optimizer=Dual(gap=1e-8), objective=Likelihood(l2=1.0), progress=False)
    problem = problem_of(tmp_path, 6)
    run: Any = Dual(finish=None).start(problem, Penalty(l2=1.0), np.zeros(problem.size))
    bounds = []
    for _ in range(30):
        run.step()
        if run.phase != "dual":
            break
        bounds.append(run.sequences.bound(len(run.w)))
    assert len(bounds) > 10
    assert (np.diff(bounds) > -1e-4).all()
    assert bounds[-1] <= best.training.loss
    assert bounds[-1] > 0.85 * best.training.loss


def test_the_sum_of_parts_is_v_of_the_marginals(tmp_path: Path) -> None:
    """w from the sums is where the gradient says that it is: v = l2 w at the optimum of the dual."""
    problem = problem_of(tmp_path, 15)
    tight = Dual(finish=None, gap=1e-7, max_passes=2000)
    run: Any = tight.start(problem, Penalty(l2=1.0), np.zeros(problem.size))
    step = run.step()
    while not step.stopped:
        step = run.step()
    gradient = np.empty(problem.size)
    problem.value_and_grad(run.w, gradient)
    np.testing.assert_allclose(run.sequences.v, -gradient, atol=0.02)
    assert np.abs(run.sequences.v).max() > 1.0


def test_blocks_that_lose_what_they_had_are_told_again(tmp_path: Path) -> None:
    problem = problem_of(tmp_path, 15)

    def passes(lose: bool) -> Any:
        problem._held.clear()
        run = GAP.start(problem, Penalty(l2=1.0), np.zeros(problem.size))
        for n in range(7):
            if lose and n in (1, 3, 4):
                del problem._held[n % 3]
            if lose and n == 5:
                for held in problem._held.values():
                    held.kept.clear()
            run.step()
        return run

    one, other = passes(lose=False), passes(lose=True)
    assert one.w.tobytes() == other.w.tobytes()
    d = [run.sequences.diagonal(problem.size) for run in (one, other)]
    assert d[0].tobytes() == d[1].tobytes()


def test_a_block_that_is_asked_twice_says_the_same(tmp_path: Path) -> None:
    problem = problem_of(tmp_path, 15)
    run = GAP.start(problem, Penalty(l2=1.0), np.zeros(problem.size))
    run.step()
    plain = problem.ask

    def twice(function: Any, given: Any, numbers: Any = None, keep: bool = False) -> Any:
        for _ in plain(function, given, numbers, keep):
            pass
        return plain(function, given, numbers, keep)

    run.step()
    once = run.w.copy()
    again = GAP.start(problem, Penalty(l2=1.0), np.zeros(problem.size))
    problem.ask = twice
    again.step(), again.step()
    assert again.w.tobytes() == once.tobytes()


@pytest.mark.parametrize("optimizer", [GAP, Dual(gap=1e-6)])
def test_a_checkpoint_goes_on_to_the_same_bits(tmp_path: Path, optimizer: Any) -> None:
    data = blocks(dataset(), tmp_path / "blocks", 15)
    asked: dict[str, Any] = {"optimizer": optimizer, "progress": False}
    keep = Checkpoints(tmp_path / "run", iterations=1)
    train(data, stop=Stop(max_iterations=5), checkpoint=keep, **asked)
    resumed = train(data, stop=Stop(max_iterations=9), checkpoint=keep, **asked)
    assert resumed.w.tobytes() == train(data, stop=Stop(max_iterations=9), **asked).w.tobytes()


def test_blocks_without_labels_are_left_out(tmp_path: Path) -> None:
    data = dataset()
    label = np.array(data.batch.label)
    end = int(data.batch.seq_ptr[15])
    label[:end] = -1
    with pytest.raises(NotCoveredError, match="partial labels"):
        train(blocks(replace(data, batch=replace(data.batch, label=label)), tmp_path, 15), optimizer="dual")


def test_what_the_dual_does_not_take(tmp_path: Path) -> None:
    data = blocks(dataset(), tmp_path, 15)
    with pytest.raises(NotCoveredError, match=r"takes L2 alone, and l1 is not 0"):
        train(data, optimizer="dual", objective=Likelihood(l1=0.1, l2=1.0), progress=False)
    with pytest.raises(NotCoveredError, match='step="mixture" only'):
        train(data, optimizer="exponentiated", progress=False)
