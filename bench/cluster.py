"""Training and tagging on a cluster of Dask: the same bits, what failures cost, and what the cluster costs.

    python -m bench.cluster [--only bits,kills,scale,...] [--kills 20]

All workers are processes of this machine with one thread (LocalCluster), which also runs the scheduler.

- bits: L-BFGS on CoNLL-2000 (CRF++'s chunking template, 8 blocks), one machine and 1, 2, 3, 4 workers.
- kills: the same with kill -9 of a worker at random evaluations; scale: 1, 3, 2 workers within a run; stop: a
  worker is stopped for 10 s; scheduler: it is lost, and the checkpoint goes on.
- overhead: processor time of driver and scheduler for an evaluation, by MB of weights that blocks show.
- efficiency: an evaluation of the corpus 12 times over with a chain of order 2 (seconds) on two workers,
  beside one process with two threads that has all blocks in memory. Wall time: the machine must be idle.
- cocoa: the dual on CoNLL-2000 in 4 blocks to a certified gap of 1e-3, beside one machine; then the bits of 2
  workers.
- tagging: Parquet files on two workers, beside one process with one thread; processor time of both, when all
  have opened the model.

Writes bench/results/cluster.json. Needs the corpora (CRFKIT_DATA) and the extra dask.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain as chained
from pathlib import Path
from typing import Any

import numpy as np

import crfkit
from bench import measure
from bench.corpora import folder
from bench.features import CHUNKING
from crfkit import Chain, ChainCRF, Likelihood, Stop, train
from crfkit.data.formats.columns import Columns
from crfkit.distributed import TagPartition, tag_files
from crfkit.distributed.data import data_on
from crfkit.distributed.problem import ClusterProblem
from crfkit.features import Extractor
from crfkit.optimize import Dual
from crfkit.training import BlockedData, Checkpoints
from crfkit.training.data import TrainingData

STEPS: dict[str, Any] = {"optimizer": "lbfgs", "objective": Likelihood(l2=1.0), "progress": False}


@contextmanager
def cluster(workers: int) -> Iterator[Any]:
    """Start workers with one thread each."""
    from distributed import Client, LocalCluster

    given: dict[str, Any] = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**given) as made, Client(made, set_as_default=False) as client:
        yield client


def blocks(place: Path, copies: int, positions: int) -> BlockedData:
    """CoNLL-2000, some times over, in blocks."""
    extract = Extractor(CHUNKING, label=2)
    path = str(folder() / "conll2000" / "train.txt.gz")
    streams = (crfkit.data.stream(path, chunk_positions=positions) for _ in range(copies))
    return BlockedData.write(
        place, (extract(part) for part in chained.from_iterable(streams) if isinstance(part, Columns))
    )


def bits(model: Any) -> str:
    """Return what tells weights apart."""
    return hashlib.sha256(model.w.tobytes()).hexdigest()[:16]


def trained(data: BlockedData, iterations: int, client: Any = None, **more: Any) -> tuple[str, float, Any]:
    """Return the bits of the weights, seconds, and the record of a training."""
    begun = time.perf_counter()
    model = train(data, stop=Stop(max_iterations=iterations), cluster=client, **STEPS, **more)
    return bits(model), time.perf_counter() - begun, model.training


@contextmanager
def before_evaluations(
    act: Callable[[int], None], ready: Callable[[int], object] = lambda number: None
) -> Iterator[None]:
    """Call a function with the number of each evaluation, a little after it has begun; another one before."""
    plain, count = ClusterProblem.value_and_grad, 0

    def counted(self: Any, w: Any, gradient: Any) -> float:
        nonlocal count
        count += 1
        ready(count)
        threading.Timer(random.uniform(0.0, 0.1), act, (count,)).start()
        return plain(self, w, gradient)

    ClusterProblem.value_and_grad = counted  # type: ignore[method-assign]
    try:
        yield
    finally:
        ClusterProblem.value_and_grad = plain  # type: ignore[method-assign]


def same_bits(data: BlockedData, say: Callable[[str], None]) -> dict[str, Any]:
    expected, seconds, _ = trained(data, 20)
    found = {"one machine": expected}
    say(f"one machine: {expected}, {seconds:.1f} s")
    for workers in (1, 2, 3, 4):
        with cluster(workers) as client:
            found[str(workers)], seconds, _ = trained(data, 20, client)
        say(f"{workers} workers: {found[str(workers)]}, {seconds:.1f} s")
    return {"bits": found, "same": len(set(found.values())) == 1}


def kills(data: BlockedData, count: int, say: Callable[[str], None]) -> dict[str, Any]:
    expected, _, record = trained(data, 40)
    chosen = set(random.Random(3).sample(range(2, int(record.passes)), count))
    done: list[int] = []
    victims: list[int] = []
    with cluster(3) as client:

        def ready(number: int) -> None:
            if number in chosen:
                alive = len(client.scheduler_info(n_workers=-1)["workers"])
                if (
                    alive < 3
                ):  # Dask gives up a worker that is killed while it starts: others come in its place
                    client.cluster.scale(len(client.cluster.worker_spec) + 3 - alive)
                client.wait_for_workers(3, timeout=120)
                victims[:] = client.run(os.getpid).values()

        def act(number: int) -> None:
            if number in chosen:
                os.kill(random.choice(victims), signal.SIGKILL)
                done.append(number)

        with before_evaluations(act, ready):
            found, seconds, _ = trained(data, 40, client)
    say(f"{len(done)} workers killed at evaluations {sorted(done)}: {found == expected}, {seconds:.1f} s")
    return {"killed": sorted(done), "same": found == expected, "seconds": seconds}


def scale(data: BlockedData, say: Callable[[str], None]) -> dict[str, Any]:
    expected, _, _ = trained(data, 40)
    with cluster(1) as client:
        plan = {8: 3, 25: 2}

        def act(number: int) -> None:
            if number in plan:
                client.cluster.scale(plan[number])

        with before_evaluations(act):
            found, seconds, _ = trained(data, 40, client)
        left = len(client.scheduler_info(n_workers=-1)["workers"])
    say(f"1, 3, 2 workers in a run: {found == expected}, {left} workers in the end, {seconds:.1f} s")
    return {"same": found == expected, "workers": left}


def stop(data: BlockedData, say: Callable[[str], None]) -> dict[str, Any]:
    expected, _, _ = trained(data, 40)
    with cluster(2) as client:

        def act(number: int) -> None:
            if number == 8:
                victim = next(iter(client.run(os.getpid).values()))
                os.kill(victim, signal.SIGSTOP)
                threading.Timer(10.0, os.kill, (victim, signal.SIGCONT)).start()

        with before_evaluations(act):
            found, seconds, _ = trained(data, 40, client)
    say(f"a worker stopped for 10 s: {found == expected}, {seconds:.1f} s")
    return {"same": found == expected, "seconds": seconds}


def scheduler(data: BlockedData, place: Path, say: Callable[[str], None]) -> dict[str, Any]:
    expected, _, _ = trained(data, 30)
    keep = Checkpoints(place / "run", iterations=1)
    said = ""
    with cluster(2) as client:

        def act(number: int) -> None:
            if number == 12:
                client.cluster.close()

        try:
            with before_evaluations(act):
                trained(data, 30, client, checkpoint=keep)
        except ConnectionError as error:
            said = str(error)
    with cluster(2) as client:
        found, _, _ = trained(data, 30, client, checkpoint=keep)
    say(f"scheduler lost ({said[:40]}...), resumed: {found == expected}")
    return {"same": found == expected, "said": said}


def overhead(
    data: BlockedData, say: Callable[[str], None], order: int = 1, rounds: int = 8
) -> dict[str, Any]:
    with cluster(2) as client, data_on(client) as training_data:
        known = training_data(data, 1)
        structure = Chain(known.labels.strings(), order=order)
        layout = known.layout(structure, all_pairs=False, pairs=None, options={})
        problem: Any = known.bind(Likelihood(), layout, structure)
        w, gradient = np.zeros(problem.size), np.empty(problem.size)
        problem.value_and_grad(w, gradient)
        others = problem.size - len(layout.node_label)
        sizes = (int((layout.node_ptr[1:][s] - layout.node_ptr[s]).sum()) for s in problem.shown.values())
        shown = sum(8 * (size + others) for size in sizes) / 1e6
        workers, driver, wall = -_busy(client), -time.process_time(), -time.perf_counter()
        for _ in range(rounds):
            problem.value_and_grad(w, gradient)
        wall, driver = wall + time.perf_counter(), driver + time.process_time()
        workers += _busy(client)
    made = {
        "blocks": data.blocks,
        "MB shown": shown,
        "driver ms": driver / rounds * 1e3,
        "driver ms per MB": driver / rounds * 1e3 / shown,
        "workers ms": workers / rounds * 1e3,
        "wall ms": wall / rounds * 1e3,
    }
    say(", ".join(f"{name} {value:.4g}" for name, value in made.items()))
    return made


def _busy(client: Any) -> float:
    return float(sum(client.run(time.process_time).values()))


def efficiency(data: BlockedData, say: Callable[[str], None]) -> dict[str, Any]:
    many = overhead(data, say, order=2, rounds=4)
    known = TrainingData(data, 2)
    structure = Chain(known.labels.strings(), order=2)
    layout = known.layout(structure, all_pairs=False, pairs=None, options={})
    problem: Any = known.bind(Likelihood(), layout, structure)
    held = list(problem.shards())
    from crfkit.linear.restrict import take
    from crfkit.training.blocks.shard import Summed

    w, gradient = np.zeros(problem.size), np.empty(problem.size)

    def one() -> None:
        so_far = Summed(layout, problem.whole.objective, gradient)
        for shard in held:
            so_far.add(shard.evaluate(take(layout, shard.shown, w)), shard.shown)

    one()
    begun = time.perf_counter()
    for _ in range(3):
        one()
    wall = (time.perf_counter() - begun) / 3 * 1e3
    say(
        f"one process, two threads, in memory: {wall:.0f} ms; the cluster has "
        f"{wall / many['wall ms']:.0%} of its speed"
    )
    return {**many, "one process ms": wall, "share": wall / many["wall ms"]}


def cocoa(data: BlockedData, say: Callable[[str], None]) -> dict[str, Any]:
    read: Any = crfkit.read(str(folder() / "conll2000" / "train.txt.gz"))
    whole = Extractor(CHUNKING, label=2)(read)
    asked: dict[str, Any] = {**STEPS, "optimizer": Dual(gap=1e-3)}
    one: Any = train(whole, **asked).training
    found: Any = train(data, **asked)
    with cluster(2) as client:
        same = bits(train(data, cluster=client, **asked)) == bits(found)
    passes, alone, gap = found.training.passes, one.passes, found.training.gap / found.training.loss
    say(
        f"{data.blocks} blocks: {passes:.0f} passes to a gap of {gap:.1e}, "
        f"one machine {alone:.0f}; two workers have the same bits: {same}"
    )
    return {"blocks": data.blocks, "passes": passes, "one machine": alone, "same": same}


def tagging(place: Path, say: Callable[[str], None]) -> dict[str, Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    read = crfkit.read(str(folder() / "conll2000" / "train.txt.gz"), columns=["word", "pos", "chunk"])
    assert isinstance(read, Columns)
    X = [[row[0] for row in rows] for rows in read]
    y = [[row[2] for row in rows] for rows in read]
    model = ChainCRF(max_iterations=20).fit(X, y).model_.with_text("blanks")
    model.save(place / "m.crf")
    texts = [" ".join(words) for words in X] * 6
    (place / "in").mkdir()
    for k in range(8):
        pq.write_table(pa.table({"text": texts[k::8]}), place / "in" / f"part-{k}.parquet")
    tag = TagPartition(place / "m.crf")
    parts = sorted((place / "in").iterdir())
    tag(pq.read_table(parts[0]).slice(0, 100))
    begun, wall = time.process_time(), time.perf_counter()
    for path in parts:  # files in, files out, as the workers do
        pq.write_table(tag(pq.read_table(path)), place / f"alone-{path.name}")
    alone, alone_wall = time.process_time() - begun, time.perf_counter() - wall
    with cluster(2) as client:
        tag_files(tag, f"{place}/in/part-[01].parquet", place / "warm", cluster=client)  # both open the model
        busy, begun = -_busy(client), time.perf_counter()
        tag_files(tag, f"{place}/in/part-*.parquet", place / "out", cluster=client)
        wall, busy = time.perf_counter() - begun, busy + _busy(client)
    made = {
        "texts": len(texts),
        "one process, processor s": alone,
        "two workers, processor s": busy,
        "share by processor time": alone / busy,
        "share by wall time": alone_wall / 2 / wall,
    }
    say(", ".join(f"{name} {value:.4g}" for name, value in made.items()))
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0] if __doc__ else None)
    names = ("bits", "kills", "scale", "stop", "scheduler", "overhead", "efficiency", "cocoa", "tagging")
    parser.add_argument("--only", default=",".join(names))
    parser.add_argument("--kills", type=int, default=20)
    options = parser.parse_args()
    if not (folder() / "conll2000").exists():
        print("CoNLL-2000 is not there (CRFKIT_DATA)", file=sys.stderr)
        raise SystemExit(2)
    made: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        small = blocks(place / "small", 1, 27_000)
        what: dict[str, Callable[[], Any]] = {
            "bits": lambda: same_bits(small, print),
            "kills": lambda: kills(small, options.kills, print),
            "scale": lambda: scale(small, print),
            "stop": lambda: stop(small, print),
            "scheduler": lambda: scheduler(small, place, print),
            "overhead": lambda: overhead(small, print),
            "efficiency": lambda: efficiency(blocks(place / "large", 12, 1 << 20), print),
            "cocoa": lambda: cocoa(blocks(place / "four", 1, 52_932), print),
            "tagging": lambda: tagging(place, print),
        }
        for name in options.only.split(","):
            print(f"---- {name}", flush=True)
            made[name] = what[name]()
    measure.write("cluster", [{"what": name, **one} for name, one in made.items()])


if __name__ == "__main__":
    main()
