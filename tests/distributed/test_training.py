"""Training on a cluster of real processes: the bits of one machine, whatever becomes of the workers."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from crfkit import Chain, FeatureSelection, Likelihood, SemiMarkov, Stop, _native, train
from crfkit.data.dataset import Dataset
from crfkit.distributed import connection
from crfkit.errors import NotCoveredError
from crfkit.native import kernels
from crfkit.optimize import SGD
from crfkit.optimize.sequential.mixed import MixedPassRun
from crfkit.training import BlockedData, Checkpoints
from crfkit.training.blocks.problem import BlockedProblem
from crfkit.training.blocks.shard import Binding
from crfkit.training.data import TrainingData
from crfkit.training.events import Progress
from tests.cases.sentences import blocks, dataset, full, segments

pytest.importorskip("distributed")

# A busy machine is late now and then.
pytestmark = pytest.mark.filterwarnings("ignore:.*no answer for:RuntimeWarning")
STEPS = Stop(max_iterations=6)


def same(a: Any, b: Any) -> None:
    assert a.w.tobytes() == b.w.tobytes()
    assert a.training.loss == b.training.loss
    assert a.training is not None
    assert b.training is not None
    assert a.training.history["objective"].tobytes() == b.training.history["objective"].tobytes()


CASES: dict[str, tuple[Callable[[], Dataset], dict[str, Any]]] = {
    "lbfgs": (dataset, {"optimizer": "lbfgs"}),
    "owlqn": (dataset, {"optimizer": "owlqn", "l1": 0.1}),
    "plbfgs": (full, {"optimizer": "plbfgs"}),
    "cg": (dataset, {"optimizer": "cg"}),
    "newton": (dataset, {"optimizer": "newton"}),
    "rprop": (dataset, {"optimizer": "rprop"}),
    "max-margin": (dataset, {"objective": "max-margin", "optimizer": "subgradient"}),
    "order 2, observed": (
        dataset,
        {"structure": Chain(order=2), "selection": FeatureSelection(transitions="observed", min_count=2)},
    ),
    "likely": (dataset, {"selection": "likely", "optimizer": "lbfgs"}),
    "all": (full, {"selection": FeatureSelection(which="all", start=True), "optimizer": "lbfgs"}),
    "balanced": (dataset, {"objective": Likelihood(label_weights="balanced"), "optimizer": "lbfgs"}),
    "memm": (dataset, {"init": "memm", "optimizer": "lbfgs"}),
    "segments": (segments, {"structure": SemiMarkov(), "optimizer": "lbfgs"}),
    "dual": (dataset, {"optimizer": "dual"}),
    "perceptron": (dataset, {"optimizer": "perceptron"}),
    "arow": (dataset, {"optimizer": "arow"}),
    "segments, pa": (segments, {"structure": SemiMarkov(), "optimizer": "pa"}),
}


@pytest.mark.parametrize("case", CASES)
def test_the_bits_are_those_of_one_machine(tmp_path: Path, two: Any, case: str) -> None:
    make, options = CASES[case]
    data = blocks(make(), tmp_path, 15)
    asked = {"stop": STEPS, "progress": False, **options}
    same(train(data, cluster=two, **asked), train(data, **asked))
    assert sorted(tmp_path.glob("layout-*")) == []  # what the workers read is removed


def test_blocks_without_labels_a_dev_set_and_partial_labels(tmp_path: Path, two: Any) -> None:
    data = dataset()
    label = np.array(data.batch.label)
    label[:60] = -1
    label[200:210] = -1
    data = replace(data, batch=replace(data.batch, label=label))
    stored = blocks(data, tmp_path, 6)
    dev = dataset(12, seed=3).renamed(data)
    asked: dict[str, Any] = {"dev": dev, "stop": STEPS, "optimizer": "lbfgs", "progress": False}
    one = train(stored, **asked)
    many = train(stored, cluster=two, **asked)
    same(one, many)
    assert one.training is not None
    assert many.training is not None
    assert one.training.history["score"].tobytes() == many.training.history["score"].tobytes()


def test_what_is_wrong_is_said_as_on_one_machine(
    tmp_path: Path, two: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_SECONDS", 0.5)
    data = blocks(dataset(), tmp_path)
    with pytest.raises(NotCoveredError, match="AdaGrad keeps more than weights, which cannot be mixed"):
        train(data, cluster=two, optimizer="adagrad")
    with pytest.raises(ValueError, match="cluster is for blocks"):
        train(dataset(), cluster=two)
    with pytest.raises(ValueError, match="expected the address of a scheduler"):
        train(data, cluster="host:8786")
    with pytest.raises(TypeError, match="cluster is a int"):
        train(data, cluster=3)
    with pytest.raises(ConnectionError, match=r"no scheduler of Dask answers at tcp://127.0.0.1:9"):
        train(data, cluster="tcp://127.0.0.1:9")
    bad = dataset()
    weight = np.ones(len(bad))
    weight[33] = -1.0
    stored = blocks(replace(bad, batch=replace(bad.batch, weight=weight)), tmp_path / "bad")
    with pytest.raises(ValueError, match=r"weight\[33\] is -1.0"):
        train(stored, cluster=two)
    huge = replace(bad, batch=replace(bad.batch, value=np.full(len(bad.batch.attr), 1e200)))
    stored = blocks(huge, tmp_path / "huge")
    with pytest.raises(ValueError, match=r"The largest value is in sequence 0, position 0"):
        train(stored, cluster=two, optimizer="lbfgs")


def test_a_block_that_is_damaged_or_gone(tmp_path: Path, two: Any) -> None:
    data = blocks(dataset(), tmp_path)
    path = tmp_path / "block-000003.safetensors"
    content = path.read_bytes()
    path.write_bytes(content[:-9] + b"x" * 9)
    with pytest.raises(ValueError, match=r"block-000003.safetensors is damaged"):
        train(data, cluster=two, optimizer="lbfgs")
    path.unlink()
    with pytest.raises((ValueError, OSError), match=r"block-000003.safetensors"):
        train(data, cluster=two, optimizer="lbfgs")


def pids(client: Any) -> list[int]:
    return list(client.run(os.getpid).values())


def test_sgd_is_mixed_by_block_whoever_holds_them(tmp_path: Path, two: Any) -> None:
    data = blocks(dataset(), tmp_path, 15)
    found = train(data, cluster=two, optimizer="sgd", stop=STEPS, progress=False)
    known = TrainingData(data, 1)
    structure = Chain(known.labels.strings())
    layout = known.layout(structure, all_pairs=False, pairs=None, options={})
    here = BlockedProblem(data, layout, Binding(Likelihood(), structure, 1))
    run = MixedPassRun(SGD(), here, Likelihood().penalty(layout), np.zeros(here.size), None)
    for _ in range(6):
        run.step()
    assert found.w.tobytes() == run.w.tobytes()


@pytest.mark.parametrize(("optimizer", "when"), [("lbfgs", 2), ("lbfgs", 3), ("dual", 4), ("perceptron", 3)])
def test_a_worker_that_is_killed_costs_time_only(tmp_path: Path, two: Any, optimizer: str, when: int) -> None:
    data = blocks(dataset(200), tmp_path, 20)
    victims = []

    def kill(event: Any) -> None:
        if isinstance(event, Progress) and event.iteration == when:
            victims.append(pids(two)[0])
            os.kill(victims[0], signal.SIGKILL)

    asked: dict[str, Any] = {"optimizer": optimizer, "stop": STEPS, "progress": False}
    same(train(data, cluster=two, listeners=[kill], **asked), train(data, **asked))
    assert len(victims) == 1


def test_all_workers_are_killed_at_once(tmp_path: Path, two: Any) -> None:
    data = blocks(dataset(200), tmp_path, 20)

    def kill(event: Any) -> None:
        if isinstance(event, Progress) and event.iteration == 3:
            for victim in pids(two):
                os.kill(victim, signal.SIGKILL)

    asked: dict[str, Any] = {"optimizer": "lbfgs", "stop": STEPS, "progress": False}
    same(train(data, cluster=two, listeners=[kill], **asked), train(data, **asked))


def test_workers_that_come_and_go(tmp_path: Path, two: Any) -> None:
    data = blocks(dataset(200), tmp_path, 20)
    seen = []

    def scale(event: Any) -> None:
        if isinstance(event, Progress) and event.iteration in (2, 4):
            two.cluster.scale(3 if event.iteration == 2 else 1)
            deadline = time.monotonic() + 20.0
            while len(two.scheduler_info(n_workers=-1)["workers"]) != (3 if event.iteration == 2 else 1):
                assert time.monotonic() < deadline
                time.sleep(0.05)
            seen.append(event.iteration)

    asked: dict[str, Any] = {"optimizer": "lbfgs", "stop": STEPS, "progress": False}
    same(train(data, cluster=two, listeners=[scale], **asked), train(data, **asked))
    assert seen == [2, 4]


def test_a_scheduler_that_is_lost_and_a_run_that_goes_on(tmp_path: Path) -> None:
    """The cluster ends in the middle; the checkpoint goes on here, to the bits of an undisturbed run."""
    from distributed import Client, LocalCluster

    data = blocks(dataset(), tmp_path / "blocks", 20)
    asked: dict[str, Any] = {"optimizer": "lbfgs", "stop": Stop(max_iterations=8), "progress": False}
    keep = Checkpoints(tmp_path / "run", iterations=1)
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False, timeout=2) as client,
    ):

        def end(event: Any) -> None:
            if isinstance(event, Progress) and event.iteration == 4:
                threading.Thread(target=cluster.close).start()
                time.sleep(0.5)

        with pytest.raises(ConnectionError, match="with checkpoint=FOLDER"):
            train(data, cluster=client, checkpoint=keep, listeners=[end], **asked)
    resumed = train(data, checkpoint=keep, **asked)
    assert resumed.training is not None
    same(resumed, train(data, **asked))


@pytest.mark.slow
def test_a_worker_that_is_stopped_for_ten_seconds(tmp_path: Path, two: Any) -> None:
    data = blocks(dataset(200), tmp_path, 20)

    def stop(event: Any) -> None:
        if isinstance(event, Progress) and event.iteration == 3:
            victim = pids(two)[0]
            os.kill(victim, signal.SIGSTOP)
            threading.Timer(10.0, os.kill, (victim, signal.SIGCONT)).start()

    asked: dict[str, Any] = {"optimizer": "lbfgs", "stop": STEPS, "progress": False}
    with pytest.warns(RuntimeWarning, match="its blocks are evaluated on other workers too"):
        found = train(data, cluster=two, listeners=[stop], **asked)
    same(found, train(data, **asked))


@pytest.mark.slow
def test_short_memory_is_said(tmp_path: Path) -> None:
    """Blocks do not fit: they are dropped, and made again where they are needed."""
    import dask
    from distributed import Client, LocalCluster

    rng = np.random.default_rng(1)
    data = dataset(300)
    large = replace(data, batch=replace(data.batch, dense=rng.normal(size=(data.batch.positions, 8000))))
    stored = blocks(large, tmp_path, 40)
    asked: dict[str, Any] = {"optimizer": "lbfgs", "stop": Stop(max_iterations=3), "progress": False}
    one = train(stored, **asked)
    given: dict[str, Any] = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}

    def wait(event: Any) -> None:
        if isinstance(event, Progress):
            time.sleep(2.5)  # until workers were looked at again

    short = dict.fromkeys(("spill", "pause", "terminate"), False) | {"target": 0.05}
    with (
        dask.config.set({f"distributed.worker.memory.{name}": value for name, value in short.items()}),
        LocalCluster(**given, memory_limit="1GB") as cluster,
        Client(cluster, set_as_default=False) as client,
        pytest.warns(RuntimeWarning, match=r"memory is short on tcp://.*: blocks are dropped there"),
    ):
        same(train(stored, cluster=client, listeners=[wait], **asked), one)


def test_machines_that_would_compute_something_else_are_refused(
    tmp_path: Path, two: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = blocks(dataset(), tmp_path)
    monkeypatch.setattr(connection, "_native", SimpleNamespace(__version__="9.9"))
    with pytest.raises(ValueError, match=r"worker tcp://.* has crfkit .*, and this process 9.9; install the"):
        train(data, cluster=two)


@pytest.mark.skipif(len(_native.simd_levels()) == 1, reason="this processor has one instruction set")
def test_another_instruction_set_is_refused(tmp_path: Path) -> None:
    from distributed import Client, LocalCluster

    data = blocks(dataset(), tmp_path)
    other = next(name for name in _native.simd_levels() if name != kernels.name)
    given: dict[str, Any] = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        LocalCluster(**given, env={"CRFKIT_SIMD": other}) as cluster,
        Client(cluster, set_as_default=False) as client,
        pytest.raises(ValueError, match=rf"computes with {other}, and this process with .*set CRFKIT_SIMD="),
    ):
        train(data, cluster=client)


def test_a_folder_that_a_worker_does_not_see(tmp_path: Path, two: Any) -> None:
    """What a worker reads in its place is not the same: a link that leads each process somewhere else."""
    data = blocks(dataset(), tmp_path / "blocks")
    own = Path("/proc/self/fd")
    if not own.exists():
        pytest.skip("needs /proc")
    number = os.open(tmp_path / "blocks", os.O_RDONLY)  # this process only has it open
    try:
        elsewhere = BlockedData.open(own / str(number))
        assert elsewhere.fingerprint == data.fingerprint
        with pytest.raises(
            ValueError, match=r"cannot read .*put the blocks on a disk that all machines mount"
        ):
            train(elsewhere, cluster=two)
    finally:
        os.close(number)
