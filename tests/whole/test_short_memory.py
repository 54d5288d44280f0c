"""Where memory is short, calls are done or raise a MemoryError in plain words: no crash, no hang, no C++."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from crfkit import Chain, inference
from tests.cases import short_memory
from tests.cases.large_calls import make_calls
from tests.cases.short_memory import LIMITS, bad_outcomes, memory_sweep

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="limits of address space are Linux's"),
]

FEW = LIMITS[2::5]  # `make harden` takes all


@pytest.fixture(scope="module", autouse=True)
def one_thread_of_others() -> Iterator[None]:
    """OpenBLAS waits for ever for threads that find no memory."""
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Callable[[], Any]]:
    return make_calls(tmp_path_factory.mktemp("memory"), threads=1)


def test_calls_are_done_or_say_so(calls: dict[str, Callable[[], Any]]) -> None:
    wrong = {name: bad for name, call in calls.items() if (bad := bad_outcomes(memory_sweep(call, FEW)))}
    assert wrong == {}


def test_rows_of_segments_are_found_without_a_crash(calls: dict[str, Callable[[], Any]]) -> None:
    """NumPy may crash where it has no memory to index by numbers of 32 bits."""
    assert bad_outcomes(memory_sweep(calls["segments"], range(550_000, 950_000, 20_000))) == []


def test_the_sweep_finds_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    def takes(mb: int) -> Callable[[], object]:
        return lambda: np.empty(mb << 17)

    found = memory_sweep(takes(1000), [8 << 20, 2000 << 20])
    assert [one.status for one in found] == [3, 0]

    def other() -> None:
        raise MemoryError("std::bad_alloc")

    assert len(bad_outcomes(memory_sweep(lambda: os.kill(os.getpid(), signal.SIGKILL), [1 << 20]))) == 1
    assert len(bad_outcomes(memory_sweep(other, [64 << 20]))) == 1
    monkeypatch.setattr(short_memory, "_SECONDS", 0.1)
    [hangs] = memory_sweep(signal.pause, [1 << 20])
    assert not hangs.good
    assert hangs.said == "has not ended after 0.1 s"


def test_what_was_freed_is_not_room() -> None:
    kept = [bytearray(100_000) for _ in range(100)]
    del kept[::2]  # five of the ten MB are free, between what is not
    [found] = memory_sweep(lambda: [bytearray(100_000) for _ in range(40)], [1 << 20])
    assert found.status == 3


def test_answers_tell_how_much_they_wanted() -> None:
    P = 1 << 12
    scores = Chain(100).potentials(np.zeros((P, 100)), edge=np.zeros((100, 100)), seq_ptr=[0, P])
    _ = scores.problem
    [found] = memory_sweep(lambda: inference.marginals(scores, edges_by_position=True), [48 << 20])
    wanted = r"there is not enough memory: an array of 4096 x 100 x 100 numbers would take 0\.3 GB more"
    assert found.status == 3
    assert re.search(wanted, found.said), found


@pytest.mark.parametrize("query", [inference.kbest, inference.sample])
def test_sizes_far_too_large_are_refused(query: Any) -> None:
    one = Chain(2).potentials(np.zeros((1000, 2)))
    _ = one.problem
    [found] = memory_sweep(lambda: query(one, 2**31 - 1), [64 << 20])
    assert found.status == 3
    assert re.search(r"not enough memory: an array of 1 x 2147483647 numbers would take 16\.0 GB", found.said)


def test_the_command_says_it_in_one_line(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 200, 20000).tolist()
    text = "".join(f"w{i} l{i}\n" + "\n" * (i % 7 == 0) for i in labels)
    (tmp_path / "data").write_text(text)
    limited = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "import crfkit, sklearn.linear_model, crfkit.cli.train, crfkit.training.train\n"
        "from crfkit.cli import main\n"
        "used = int(Path('/proc/self/statm').read_text().split()[0]) * resource.getpagesize()\n"
        "room = used + int(sys.argv.pop(1))\n"
        "resource.setrlimit(resource.RLIMIT_AS, (room, room))\n"
        "main()\n"
    )
    data, model = str(tmp_path / "data"), str(tmp_path / "m.crf")
    command = ["train", data, "-o", model, "--order", "2", "--transitions", "all"]
    ended = subprocess.run(
        [sys.executable, "-c", limited, str(64 << 20), *command],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    said = ended.stderr.strip().splitlines()
    assert ended.returncode == 1, ended
    assert said[-1].startswith("crfkit: "), ended
    assert "forecast" in said[-1]
    assert "Traceback" not in ended.stderr
    assert "std::" not in ended.stderr
