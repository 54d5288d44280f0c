"""Iterative parameter mixing: perceptrons and SGD on blocks that nobody has together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crfkit import Chain, Likelihood, Stop, train
from crfkit.errors import NotCoveredError
from crfkit.native import kernels
from crfkit.objectives import Perceptron
from crfkit.optimize import AROW, MIRA, SGD, AdaGrad, AveragedPerceptron, PassiveAggressive
from crfkit.optimize.problem import Penalty
from crfkit.optimize.sequential.mira import CrfppMIRA
from crfkit.optimize.sequential.mixed import MixedPassRun
from crfkit.optimize.sequential.sequences import PerceptronSequences
from crfkit.training.blocks.problem import BlockedProblem
from crfkit.training.blocks.shard import Binding
from crfkit.training.data import TrainingData
from tests.cases.sentences import blocks, dataset

METHODS: dict[str, Any] = {
    "perceptron": AveragedPerceptron(max_passes=4),
    "plain": AveragedPerceptron(max_passes=4, averaging=False),
    "pa": PassiveAggressive(max_passes=4),
    "mira": MIRA(k=3, max_passes=4),
    "arow": AROW(max_passes=4),
}


def problem_of(folder: Path, size: int, objective: Any, n: int = 60) -> Any:
    data = blocks(dataset(n), folder, size)
    known = TrainingData(data, 1)
    structure = Chain(known.labels.strings())
    layout = known.layout(structure, all_pairs=False, pairs=None, options={})
    return BlockedProblem(data, layout, Binding(objective, structure, 1))


@pytest.mark.parametrize("name", METHODS)
def test_one_block_is_as_in_memory(tmp_path: Path, name: str) -> None:
    data, method = dataset(), METHODS[name]
    one: Any = train(data, optimizer=method, progress=False)
    found: Any = train(blocks(data, tmp_path, 1000), optimizer=method, progress=False)
    np.testing.assert_allclose(found.w, one.w, atol=1e-12)
    assert found.training.loss == pytest.approx(one.training.loss)


def visited(problem: Any, i: int, method: Any, w: Any) -> tuple[list[Any], Any]:
    """Return the weights of a block after each of the visits of the first pass, by all weights."""
    loss = problem._shard(i).loss
    arrays = loss.view(PerceptronSequences)
    order, made = arrays.order(method.seed, 1), []
    for t in range(1, len(order) + 1):
        trainer = arrays.trainer(method.rule)
        trainer.write(problem.take(i, w))
        if method.first_memory is not None:
            trainer.write_memory(np.full(loss.size, method.first_memory))
        trainer.run(kernels, order[:t], 1, np.zeros(0), np.zeros(0))
        after = np.empty(loss.size)
        trainer.read(after)
        whole = w.copy()
        problem.add(i, after - problem.take(i, w), whole)
        made.append(whole)
    memory = np.zeros(loss.size)
    if method.first_memory is not None:
        trainer.read_memory(memory)
    return made, memory


def test_weights_are_mixed_by_sequences_and_averaged_over_all_visits(tmp_path: Path) -> None:
    problem, method = problem_of(tmp_path, 17, Perceptron()), METHODS["perceptron"]
    run = method.start(problem, Penalty(), np.zeros(problem.size))
    run.step()
    each = [visited(problem, i, method, np.zeros(problem.size))[0] for i in range(4)]
    mixed = sum(len(one) * one[-1] for one in each) / 60
    np.testing.assert_allclose(run.last, mixed, atol=1e-12)
    np.testing.assert_allclose(run.w, sum(sum(one) for one in each) / 61, atol=1e-12)  # the first is 0


def test_variances_add_up_what_each_block_knows(tmp_path: Path) -> None:
    problem, method = problem_of(tmp_path, 17, Perceptron()), METHODS["arow"]
    run = method.start(problem, Penalty(), np.zeros(problem.size))
    run.step()
    sure, moved = np.ones(problem.size), np.zeros(problem.size)
    for i in range(4):
        weights, variance = visited(problem, i, method, np.zeros(problem.size))
        own = np.zeros(problem.size)
        problem.add(i, 1.0 / variance - 1.0, own)
        sure += own
        moved += (1.0 + own) * weights[-1]
    np.testing.assert_allclose(run.memory, 1.0 / sure, atol=1e-12)
    np.testing.assert_allclose(run.last, moved / sure, atol=1e-12)


@pytest.mark.parametrize("name", METHODS)
def test_blocks_learn_what_memory_learns(tmp_path: Path, name: str) -> None:
    data, test = dataset(300), dataset(200, seed=9)
    method = replace(METHODS[name], max_passes=10)
    one: Any = train(data, optimizer=method, progress=False)
    found: Any = train(blocks(data, tmp_path, 60), optimizer=method, progress=False)
    gold: Any = test.batch.label

    def right(model: Any) -> float:
        names = [test.labels.strings()[y] for y in gold]
        said = [y for row in model.predict(test) for y in row]
        return float(np.mean([a == b for a, b in zip(names, said, strict=True)]))

    assert right(found) > right(one) - 0.03


@pytest.mark.parametrize("name", ["perceptron", "arow"])
def test_a_run_goes_on_from_its_state(tmp_path: Path, name: str) -> None:
    problem, method = problem_of(tmp_path, 13, Perceptron()), METHODS[name]
    whole = method.start(problem, Penalty(), np.zeros(problem.size))
    for _ in range(3):
        whole.step()
    first = method.start(problem, Penalty(), np.zeros(problem.size))
    first.step()
    again = method.start(problem, Penalty(), np.zeros(problem.size), state=first.state())
    again.step()
    again.step()
    assert again.w.tobytes() == whole.w.tobytes()


# ---- SGD


def sgd(tmp_path: Path, size: int, method: Any, state: Any = None) -> tuple[Any, Any]:
    problem = problem_of(tmp_path, size, Likelihood())
    return problem, MixedPassRun(method, problem, Penalty(l2=1.0), np.zeros(problem.size), state)


@pytest.mark.parametrize("eta", [None, 0.2])
def test_sgd_on_one_block_is_as_in_memory(tmp_path: Path, eta: float | None) -> None:
    method = SGD(eta=eta, max_passes=5)
    problem, run = sgd(tmp_path, 1000, method)
    one = method.start(problem, Penalty(l2=1.0), np.zeros(problem.size))
    for _ in range(5):
        mixed, alone = run.step(), one.step()
        np.testing.assert_allclose(run.w, one.w, atol=1e-12)
        assert mixed.objective == pytest.approx(alone.objective)
        assert (mixed.end, mixed.stopped) == (alone.end, alone.stopped)


def test_sgd_on_blocks_comes_near_the_optimum(tmp_path: Path) -> None:
    _, run = sgd(tmp_path, 13, SGD())
    known: Any = train(dataset(), optimizer="lbfgs", objective=Likelihood(l2=1.0), progress=False)
    best = known.training.loss
    step = run.step()
    while not step.stopped:
        step = run.step()
    assert best <= step.objective < 1.01 * best


def test_sgd_goes_on_from_its_state(tmp_path: Path) -> None:
    problem, run = sgd(tmp_path, 13, SGD())
    for _ in range(2):
        run.step()
    again = MixedPassRun(SGD(), problem, Penalty(l2=1.0), np.zeros(problem.size), run.state())
    run.step(), again.step()
    assert again.w.tobytes() == run.w.tobytes()


def test_sgd_that_diverges_says_so(tmp_path: Path) -> None:
    _, run = sgd(tmp_path, 13, SGD(eta=59.0))
    run._l2 = (1e-300, 1e-300)
    run.start = 1e-300
    assert "diverged" in run.step().stopped


# ---- what cannot be mixed


def test_what_cannot_be_mixed(tmp_path: Path) -> None:
    problem = problem_of(tmp_path, 13, Likelihood())
    with pytest.raises(NotCoveredError, match="AdaGrad keeps more than weights, which cannot be mixed"):
        MixedPassRun(AdaGrad(), problem, Penalty(l2=1.0), np.zeros(problem.size), None)
    data = blocks(dataset(), tmp_path / "more", 13)
    with pytest.raises(NotCoveredError, match="mira-crfpp needs one order of all sequences"):
        train(data, optimizer=CrfppMIRA(), progress=False)
    weighted = dataset()
    batch = replace(weighted.batch, weight=np.linspace(0.5, 2.0, 60))
    with pytest.raises(NotCoveredError, match="weights of sequences other than 1"):
        train(blocks(replace(weighted, batch=batch), tmp_path / "w", 13), optimizer="pa", progress=False)
    found: Any = train(data, objective=Perceptron(), stop=Stop(max_iterations=3), progress=False)
    assert found.training.optimizer == "AveragedPerceptron"
