"""Stochastic training on blocks: what it remembers of weights knows nothing of blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crfkit import Likelihood, Stop, train
from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset
from crfkit.linear.layout import Layout
from crfkit.native import kernels
from crfkit.optimize import SGD, SGDL1, AdaGrad
from crfkit.optimize.sequential.passes import PassRun, Visit, Visits
from crfkit.optimize.sequential.sequences import Sequences
from crfkit.structures import Chain
from crfkit.structures.constraints import SegmentLength
from crfkit.training import BlockedData
from crfkit.training.blocks.problem import BlockedProblem
from tests.cases.sentences import blocks, dataset
from tests.cases.stochastic import BOTH, FLAT, SPARSE, A, L, batch, bound, layout_of

METHODS: dict[str, Any] = {
    "sgd": SGD(eta=0.3, max_passes=4, delta=-1.0, seed=3),
    "calibrated": SGD(max_passes=4, delta=-1.0, seed=3, calibration_samples=25),
    "sgd-l1": SGDL1(max_passes=4, delta=-1.0, seed=3),
    "adagrad": AdaGrad(max_passes=4, delta=-1.0, seed=3),
}
PENALTY = {"sgd": FLAT, "calibrated": FLAT, "sgd-l1": SPARSE, "adagrad": BOTH}


def objective(name: str) -> Any:
    penalty: Any = PENALTY[name]
    return Likelihood(penalty.l1, penalty.l2)


def stored(data: Batch, folder: Path, size: int) -> BlockedData:
    named = Dataset(data, Alphabet(map(str, range(L))), Alphabet(map(str, range(A))), Alphabet())
    return blocks(named, folder, size)


def blocked(data: Batch, layout: Layout, folder: Path, size: int) -> BlockedProblem:
    chain = Chain(L)
    return BlockedProblem(
        stored(data, folder, size),
        layout,
        lambda layout, block: Likelihood().bind(layout, chain, block, threads=1),
    )


@pytest.mark.parametrize("observed", [False, True])
@pytest.mark.parametrize("name", METHODS)
def test_blocks_equal_memory_in_the_same_order(
    name: str, observed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that a block lacks, empty sequences, values, weights, short rows and masked ones."""
    data = batch(values=True, weights=True)
    problem = blocked(data, layout_of(data, observed=observed), tmp_path, 9)
    begin = np.random.default_rng(5).normal(size=problem.size)
    method, penalty = METHODS[name], PENALTY[name]
    parts = method.start(problem, penalty, begin)
    assert len(parts.sequences.sizes) == 7
    before = np.cumsum([0, *parts.sequences.sizes])
    plan = parts.sequences.plan

    def united(self: Visits, seed: int, number: int) -> Iterator[Visit]:
        yield 0, np.concatenate([before[block] + places for block, places in plan(seed, number)])

    monkeypatch.setattr(Visits, "plan", united)
    whole = method.start(bound(data, observed=observed), penalty, begin)
    assert parts.start == pytest.approx(whole.start, rel=1e-12)
    monkeypatch.undo()
    for _ in range(4):
        monkeypatch.setattr(Visits, "plan", united)
        want = whole.step()
        monkeypatch.undo()
        got = parts.step()
        np.testing.assert_allclose(parts.w, whole.w, rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(parts.memory, whole.memory, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(parts.due, whole.due, rtol=1e-12)
        assert got.objective == pytest.approx(want.objective, rel=1e-12)
        assert got.stopped == want.stopped
    assert got.stopped
    assert np.abs(parts.w - begin).max() > 0.1


def test_every_pass_visits_every_sequence_once_block_by_block(tmp_path: Path) -> None:
    data = batch()
    run = SGD(eta=0.3).start(
        blocked(data, layout_of(data), tmp_path, 9), FLAT, np.zeros(layout_of(data).weights)
    )
    assert isinstance(run, PassRun)
    assert run.visits == np.count_nonzero(np.diff(data.seq_ptr))
    orders = [list(run.sequences.plan(0, number)) for number in (1, 2)]
    for order in orders:
        assert sorted(block for block, _ in order) == list(range(7))
        for block, places in order:
            assert sorted(places.tolist()) == list(range(run.sequences.sizes[block]))
    assert [block for block, _ in orders[0]] != [block for block, _ in orders[1]]
    sample = run.sequences.sample(0, 20)
    assert sum(len(places) for _, places in sample) == 20
    assert len(sample) == 3


@pytest.mark.parametrize("name", METHODS)
def test_one_block_gives_the_bits_of_memory(name: str, tmp_path: Path) -> None:
    data = dataset()
    options = {"objective": objective(name), "optimizer": METHODS[name]}
    memory = train(data, **options)
    one = train(blocks(data, tmp_path / "one", 1000), **options)
    assert one.w.tobytes() == memory.w.tobytes()
    assert one.training is not None
    assert one.training.iterations == 4
    several = train(blocks(data, tmp_path / "several", 7), **options)
    assert several.training is not None
    assert memory.training is not None
    assert several.training.loss == pytest.approx(memory.training.loss, rel=0.2)


@pytest.mark.parametrize("name", METHODS)
def test_a_resumed_run_gives_the_same_bits(name: str, tmp_path: Path) -> None:
    data = blocks(dataset(), tmp_path / "data", 7)
    options = {"objective": objective(name), "optimizer": METHODS[name]}
    straight = train(data, **options)
    train(data, **options, checkpoint=tmp_path / "run", stop=Stop(max_iterations=2))
    resumed = train(data, **options, checkpoint=tmp_path / "run")
    assert resumed.w.tobytes() == straight.w.tobytes()
    other = train(data, **{**options, "optimizer": replace(METHODS[name], seed=4)})
    assert other.w.tobytes() != straight.w.tobytes()


@pytest.mark.filterwarnings("ignore:training ended before it was certified")  # L1 alone, to 1e-6
@pytest.mark.parametrize("name", ["sgd", "sgd-l1", "adagrad"])
def test_by_name_near_the_optimum(name: str, tmp_path: Path) -> None:
    data = dataset()
    best = train(data, objective=objective(name), optimizer="lbfgs", stop=Stop(tolerance=1e-6)).training
    found = train(blocks(data, tmp_path, 7), objective=objective(name), optimizer=name).training
    assert best is not None
    assert found is not None
    assert found.loss == pytest.approx(best.loss, rel=0.02)


def test_sequences_belong_to_their_trainer() -> None:
    one, other = (
        SGD(eta=0.3).start(bound(batch()), FLAT, np.zeros(layout_of(batch()).weights)) for _ in "ab"
    )
    ((sequences, order),) = one.sequences.compiled(one.trainer, one.sequences.plan(0, 1))
    rates = np.zeros(len(order))
    one.trainer.run(kernels, sequences, order, rates, np.zeros(4), 0.0, np.zeros(2))
    with pytest.raises(ValueError, match="compiled by another trainer"):
        other.trainer.run(kernels, sequences, order, rates, np.zeros(4), 0.0, np.zeros(2))
    smaller = bound(batch(), observed=True).view(Sequences).native
    with pytest.raises(ValueError, match="weights, expected"):
        one.trainer.compile(smaller)


def test_what_cannot_be_visited(tmp_path: Path) -> None:
    data = dataset()
    with pytest.raises(ValueError, match="SGD does not take limits on segment lengths; use LBFGS"):
        train(
            blocks(data, tmp_path / "a"),
            optimizer="sgd",
            structure=Chain(constraints=[SegmentLength("A", maximum=50)]),
        )
    label = np.array(data.batch.label)
    label[-1] = -1
    partial = blocks(replace(data, batch=replace(data.batch, label=label)), tmp_path / "b")
    with pytest.raises(ValueError, match="AdaGrad does not take partial labels"):
        train(partial, optimizer="adagrad")
    for name in ("dual", "perceptron"):
        with pytest.raises(ValueError, match="does not take partial labels"):
            train(partial, optimizer=name)
    for name in ("bcd", "gis", "iis-t", "bcfw"):
        with pytest.raises(ValueError, match=f"{name} needs all data in memory; .* for lbfgs, .* adagrad"):
            train(partial, optimizer=name)


def test_a_run_that_diverges_at_once_is_an_error(tmp_path: Path) -> None:
    data = blocks(dataset(), tmp_path, 7)
    with pytest.raises(ValueError, match="diverged: the loss is not finite in pass 1; begin"):
        train(data, objective=Likelihood(l1=1.0, l2=0.0), optimizer=SGDL1(eta0=1e308))
