"""What is larger than all memory that there is is refused before it is touched, by name and size."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crfkit import Chain, Graph, SemiMarkov, _native, inference, native
from crfkit.data.batch import Batch
from crfkit.linear.layout import Layout

MB = 1 << 20


@pytest.fixture
def small_machine() -> Iterator[None]:
    most = _native.most_memory()
    _native.set_most_memory(8 * MB)
    yield
    _native.set_most_memory(most)


def chain(P: int = 1000, L: int = 3) -> Any:
    return Chain(L).potentials(np.zeros((P, L)), edge=np.zeros((L, L)))


def pair_of_variables() -> Any:
    graph = Graph({"x": 2}, unary=["x"])
    return graph.batch(sizes={"x": 2}).potentials(unary=np.zeros((2, 2)))


def layout(attributes: int) -> Layout:
    empty = np.zeros(0, np.int32)
    batch = Batch(np.array([0, 1]), np.zeros(2, np.int64), empty, None, np.zeros(1, np.int32))
    return Layout.all_pairs(batch, 10, attributes=attributes)


CALLS: dict[str, tuple[Callable[[], Any], str]] = {
    "k best": (
        lambda: inference.kbest(chain(), 2 * 10**6),
        "an array of 1 x 2000000 numbers would take 15.3 MB, and there are 8.0 MB in all",
    ),
    "samples": (
        lambda: inference.sample(chain(), 10**7),
        "an array of 1 x 10000000 numbers would take 76.3 MB",
    ),
    "steps": (
        lambda: inference.marginals(chain(1000, 40), edges_by_position=True),
        "an array of 1000 x 40 x 40 numbers would take 12.2 MB",
    ),
    "order": (
        lambda: Chain(30, order=5).potentials(np.zeros((2, 30))),
        "scores of 6 labels in a row would take 5.4 GB",
    ),
    "segments": (
        lambda: SemiMarkov(2, max_length=10**6).potentials(node=np.zeros((9, 2))),
        "scores of segments of up to 1000000 positions would take 0.1 GB, and there are 8.0 MB in all",
    ),
    "k best of a graph": (
        lambda: inference.kbest(pair_of_variables(), 10**7, method="enumeration"),
        "10000000 labelings would take 76.3 MB",
    ),
    "samples of a graph": (
        lambda: inference.sample(pair_of_variables(), 10**7, method="gibbs"),
        "10000000 labelings would take 76.3 MB",
    ),
    "weights": (lambda: layout(10**6), "10,000,100 weights would take 76.3 MB"),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.usefixtures("small_machine")
def test_what_the_machine_cannot_hold_is_refused_by_name(name: str) -> None:
    call, said = CALLS[name]
    tracemalloc.start()
    try:
        with pytest.raises(MemoryError, match=said):
            call()
        assert tracemalloc.get_traced_memory()[1] < 8 * MB
    finally:
        tracemalloc.stop()


@pytest.mark.usefixtures("small_machine")
def test_working_memory_is_refused_too() -> None:
    scores = Chain(40).potentials(np.zeros((15000, 40)), edge=np.zeros((40, 40)))
    with pytest.raises(MemoryError, match=r"working memory would take 0\.2 GB, and there are 8\.0 MB in all"):
        inference.kbest(scores, 40, threads=1)


@pytest.mark.parametrize(
    ("files", "own", "most"),
    [
        ({}, "0::/\n", 1100),
        ({"memory.max": "max\n"}, "0::/\n", 1100),
        ({"memory.max": "102400\n"}, "0::/\n", 200),
        ({"a/memory.max": "102400\n", "a/b/memory.max": "max\n"}, "0::/a/b\n", 200),
        ({"memory/x/memory.limit_in_bytes": "102400\n"}, "5:memory:/x\n4:cpu,cpuacct:/y\n", 200),
        ({"memory/memory.limit_in_bytes": "9223372036854771712\n"}, "5:memory:/not/here\n", 1100),
        ({"memory.max": "of no sense\n"}, "0::/\n", 1100),
    ],
)
def test_containers_have_what_their_groups_allow(
    tmp_path: Path, files: dict[str, str], own: str, most: int
) -> None:
    for name, text in files.items():
        path = tmp_path / "groups" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "own").write_text(own)
    lines = "MemTotal:  1000 kB", "MemFree:  10 kB", "SwapTotal:  100 kB", "HugePages_Total:  0"
    (tmp_path / "info").write_text("\n".join(lines))
    given = [str(tmp_path / name) for name in ("groups", "own", "info")]
    assert native.machine_bytes(*given) == most << 10


def test_systems_without_these_files_have_some_memory(tmp_path: Path) -> None:
    absent = str(tmp_path / "absent")
    assert native.machine_bytes(absent, absent, absent) > 1 << 28
    assert _native.most_memory() == native.machine_bytes()
