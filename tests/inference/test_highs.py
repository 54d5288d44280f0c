"""Programs of HiGHS: the same answers here and in a process of its own, which ends with its caller."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crfkit.graphs import save as save_graph
from crfkit.inference import highs
from crfkit.inference.methods import IntegerProgram, LinearProgram
from tests.cases.graphs import grid
from tests.cases.interrupts import seconds_until_heard

SOON = 2.0  # seconds; a twentieth of one, on a machine that has nothing else to do


def hard(side: int = 30, labels: int = 5) -> Any:
    """Scores of which programs take minutes."""
    return grid(np.random.default_rng(0), side, side, labels)


def knapsack(columns: int, seed: int = 0) -> tuple[highs.Program, Any]:
    rng = np.random.default_rng(seed)
    program = highs.Program(columns)
    weight = rng.uniform(1.0, 2.0, columns)
    program.add(np.zeros(columns, dtype=int), np.arange(columns), weight, [-np.inf], [0.3 * weight.sum()])
    return program, -rng.uniform(1.0, 2.0, columns)


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Have every program solved in a process of its own; return what was started."""
    monkeypatch.setattr(highs, "_LARGE", 0)
    started: list[Any] = []
    real = subprocess.Popen

    def start(*arguments: Any, **options: Any) -> Any:
        started.append(real(*arguments, **options))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", start)
    return started


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1][:3]


@pytest.mark.parametrize("whole", [0, 1])
def test_the_answer_is_the_same_in_another_process(whole: int, monkeypatch: pytest.MonkeyPatch) -> None:
    program, cost = knapsack(20)
    here = program.solve(cost, np.full(20, whole))
    monkeypatch.setattr(highs, "_LARGE", 0)
    there = program.solve(cost, np.full(20, whole))
    assert here.x is not None
    assert there.x is not None
    assert here.x.tolist() == there.x.tolist()
    assert (here.least, here.status, here.message) == (there.least, there.status, there.message)


def test_no_labeling_in_another_process(elsewhere: list[Any]) -> None:
    program, cost = knapsack(5)
    program.add([0], [0], [1.0], [2.0], [3.0])
    found = program.solve(cost, np.zeros(5))
    assert len(elsewhere) == 1
    assert (found.x, found.status) == (None, 2)


def test_small_programs_start_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(highs, "_aside", None)
    program, cost = knapsack(20)
    assert program.solve(cost, np.ones(20)).status == 0


def test_what_takes_longer_than_its_time_here_goes_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float | None] = []

    def aside(program: Any, seconds: float | None) -> dict[str, Any]:
        asked.append(seconds)
        return {"x": [], "found": False, "least": -np.inf, "status": 1, "message": ""}

    monkeypatch.setattr(highs, "_aside", aside)
    monkeypatch.setattr(highs, "_HERE", 0.05)
    assert not IntegerProgram().best(hard(12, 4), 1).info.converged[0]
    assert asked == [None]
    asked.clear()
    IntegerProgram(seconds=0.02).best(hard(12, 4), 1)
    assert not asked  # all of its time was used here
    IntegerProgram(seconds=0.6).best(hard(12, 4), 1)
    (left,) = asked
    assert left is not None
    assert 0.0 <= left < 0.6


def test_time_ends_in_another_process(elsewhere: list[Any]) -> None:
    begun = time.monotonic()
    found = IntegerProgram(seconds=1.5).best(hard(20), 1)
    assert elsewhere
    assert not found.info.converged[0]
    assert time.monotonic() - begun < 30.0


@pytest.mark.parametrize(
    "method", [IntegerProgram(columns=10**6), LinearProgram(columns=10**6)], ids=["ilp", "lp"]
)
def test_a_signal_ends_the_wait_and_the_process(method: Any, elsewhere: list[Any]) -> None:
    scores = hard(90)
    assert seconds_until_heard(lambda: method.best(scores, 1), 0.5, lambda: bool(elsewhere)) < SOON
    assert elsewhere
    assert all(child.returncode is not None and not alive(child.pid) for child in elsewhere)


def test_without_processes_it_is_solved_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(highs, "_LARGE", 0)
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    program, cost = knapsack(20)
    assert program.solve(cost, np.ones(20)).status == 0


def test_a_process_that_is_killed_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(highs, "_LARGE", 0)
    program, cost = knapsack(20)
    monkeypatch.setattr(highs, "_CHILD", "import os; os.kill(os.getpid(), 9)")
    with pytest.raises(
        MemoryError, match="HiGHS ended with status -9 on a program of 20 columns: there may be"
    ):
        program.solve(cost, np.ones(20))
    monkeypatch.setattr(highs, "_CHILD", "raise ValueError('something else')")
    with pytest.raises(RuntimeError, match=r"status 1 on a program of 20 columns: .*something else"):
        program.solve(cost, np.ones(20))


def child_of(pid: int) -> int:
    """Wait for the process that another one has started."""
    for _ in range(600):
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = path.read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[1]) == pid and "Z" not in fields[0]:
                return int(path.parent.name)
        time.sleep(0.05)
    raise AssertionError("no process was started")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize("method", ["lp", "combilp"])
@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)], ids=str
)
def test_infer_hears_signals(method: str, number: signal.Signals, status: int, tmp_path: Path) -> None:
    save_graph(hard(42), tmp_path / "m.LG")
    with subprocess.Popen(
        [
            sys.executable,
            "-m",
            "crfkit.cli",
            "infer",
            tmp_path / "m.LG",
            "--query",
            "MPE",
            "--inference-method",
            method,
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as told:
        child = child_of(told.pid)
        time.sleep(0.5)
        begun = time.monotonic()
        told.send_signal(number)
        out, said = told.communicate(timeout=60)
        assert time.monotonic() - begun < SOON
    assert told.returncode == status
    assert out == b""
    assert b"Traceback" not in said
    for _ in range(100):
        if not alive(child):
            break
        time.sleep(0.05)
    assert not alive(child)
