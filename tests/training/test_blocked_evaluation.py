"""Evaluations of data in blocks: what is kept of a block changes nothing, and memory is bounded."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crfkit import Chain, Likelihood, Stop, _native, train
from crfkit.data.dataset import Dataset
from crfkit.features import ItemExtractor
from crfkit.linear.layout import Layout
from crfkit.native import kernels
from crfkit.structures.constraints import Forbid
from crfkit.training import BlockedData
from crfkit.training.blocks.problem import BlockedProblem
from tests.cases.sentences import blocks, dataset, full


def of_kind(kind: str) -> Dataset:
    """Data that the native pass covers (path, set, soft, edges), and some that it does not (general)."""
    if kind == "general":
        return full()
    if kind == "edges":
        return replace(full(), batch=replace(full().batch, dense=None))
    data = dataset()
    rng, P = np.random.default_rng(4), data.batch.positions
    if kind == "path":
        return replace(data, batch=replace(data.batch, value=rng.uniform(0.5, 2.0, len(data.batch.attr))))
    if kind == "set":
        allowed = rng.random((P, 3)) < 0.5
        allowed[np.arange(P), rng.integers(0, 3, P)] = True
        label = np.where(rng.random(P) < 0.5, np.asarray(data.batch.label), -1)
        return replace(data, batch=replace(data.batch, label=label, allowed=allowed))
    return replace(data, batch=replace(data.batch, label=None, soft=rng.dirichlet(np.ones(3), P)))


def problems(data: Dataset, layout: Layout, folder: Path, **options: Any) -> tuple[Any, BlockedProblem]:
    chain, objective = Chain(["A", "B", "C"]), Likelihood(label_weights={"B": 2.0})
    stored = blocks(data, folder)
    summed = BlockedProblem(
        stored, layout, lambda layout, block: objective.bind(layout, chain, block), **options
    )
    return objective.bind(layout, chain, data.batch), summed


@pytest.mark.parametrize("kind", ["path", "set", "soft", "edges", "general"])
def test_what_is_kept_gives_the_same_bits(tmp_path: Path, kind: str) -> None:
    data = of_kind(kind)
    attributes = len(data.attributes) - 5  # some have no weights
    layout = Layout.all_pairs(data.batch, 3, attributes=attributes, start=True, stop=True)
    if kind == "path":
        layout = Layout.observed(data.batch, 3, attributes=attributes, transitions="observed", min_count=2)
    whole, kept = problems(data, layout, tmp_path / "kept")
    _, anew = problems(data, layout, tmp_path / "anew", keep=False)
    rng = np.random.default_rng(3)
    a, b, c = (np.full(layout.weights, np.nan) for _ in range(3))
    for _ in range(3):  # the first makes it, the others read it
        w = rng.normal(size=layout.weights)
        values = kept.value_and_grad(w, a), anew.value_and_grad(w, b)
        assert values[0] == values[1] == pytest.approx(whole.value_and_grad(w, c), rel=1e-11)
        assert a.tobytes() == b.tobytes()
        np.testing.assert_allclose(a, c, rtol=1e-9, atol=1e-10)
    if kind != "general":
        np.testing.assert_allclose(kept.diagonal(w), whole.diagonal(w), rtol=1e-9, atol=1e-12)
    assert sorted(os.listdir(tmp_path / "kept")) == sorted(os.listdir(tmp_path / "anew"))


def test_nothing_is_kept_where_nothing_may_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = dataset()
    layout = Layout.observed(data.batch, 3)

    def read_only(**_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", read_only)
    whole, summed = problems(data, layout, tmp_path)
    assert summed._store is None
    w, g = np.zeros(layout.weights), np.empty(layout.weights)
    for _ in range(2):
        assert summed.value_and_grad(w, g) == pytest.approx(whole.value_and_grad(w, g), rel=1e-12)


def test_an_archive_that_is_cut_short_is_refused() -> None:
    data = dataset()
    layout = Layout.observed(data.batch, 3)
    problem = Likelihood().bind(layout, Chain(3), data.batch)
    packed = problem.packed()["evaluator"]
    rows = layout.node_ptr, layout.node_label
    for size in (0, 8, len(packed) // 2, len(packed) - 8):
        with pytest.raises(ValueError, match="cut short"):
            _native.Evaluator.unpack(kernels, 1, 3, *rows, None, None, None, None, packed[:size])


@pytest.mark.parametrize("name", ["plbfgs", "cg", "pcg", "steepest", "newton", "rprop"])
def test_every_method_by_gradients_takes_blocks(tmp_path: Path, name: str) -> None:
    data = dataset()
    a = train(blocks(data, tmp_path), optimizer=name, stop=Stop(max_iterations=8)).training
    b = train(data, optimizer=name, stop=Stop(max_iterations=8)).training
    assert a is not None
    assert b is not None
    assert a.loss == pytest.approx(b.loss, rel=1e-4)


def test_checks_are_made_over_the_whole(tmp_path: Path) -> None:
    extract = ItemExtractor()
    parts = [
        extract([[["x"], ["y"]], [["y"]]], [["A", "A"], ["A"]]),
        extract([[["x"], ["z"]], [["z"], ["x"]]], [["B", "A"], ["A", "B"]]),
    ]
    stored = BlockedData.write(tmp_path, iter(parts))
    with pytest.raises(ValueError, match="sequence 3, position 1: label 'B' may not follow 'A'"):
        train(stored, structure=Chain(constraints=[Forbid("A", "B")]))


MEASURE = """
import sys
from pathlib import Path
import numpy as np
from crfkit import Stop, train
from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset
from crfkit.training import BlockedData

def peak():
    return next(int(x.split()[1]) << 10 for x in open("/proc/self/status") if x.startswith("VmHWM"))

A, T, width = 5000, 10, 40
names = Alphabet(["a", "b"]), Alphabet([str(a) for a in range(A)]), Alphabet()

def parts(blocks, sequences):
    for n in range(blocks):
        rng, P = np.random.default_rng(n), sequences * T
        yield Dataset(Batch(seq_ptr=np.arange(0, P + 1, T), attr_ptr=np.arange(0, P * width + 1, width),
            attr=rng.integers(0, A, P * width), label=rng.integers(0, 2, P)), *names)

def fit(data):
    train(data, optimizer=sys.argv[2], stop=Stop(max_iterations=1), selection="all",
        progress=False)

folder = Path(sys.argv[1])
fit(BlockedData.write(folder / "small", parts(2, 100)))
data = BlockedData.write(folder / "large", parts(80, 300))
before = peak()
fit(data)
print(int(data.sizes[:, 3].sum()), peak() - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("name", ["lbfgs", "adagrad"])
def test_memory_is_bounded_by_blocks(tmp_path: Path, name: str) -> None:
    made = subprocess.run(
        [sys.executable, "-c", MEASURE, str(tmp_path), name], capture_output=True, text=True, check=True
    )
    size, grown = map(int, made.stdout.split())
    assert size > 40_000_000
    assert grown < size / 2


def test_rows_that_do_not_exist_are_refused() -> None:
    ptr, w, part = np.array([0, 2, 3]), np.arange(3.0), np.zeros(3)
    _native.take_rows(ptr, np.array([1, 0], dtype=np.int32), w, part)
    assert part.tolist() == [2.0, 0.0, 1.0]
    outside = "is not a row"
    for chosen, message in (([2], outside), ([-1], outside), ([0, 0], "longer than the weights")):
        for call in (_native.take_rows, _native.add_rows):
            with pytest.raises(ValueError, match=message):
                call(ptr, np.array(chosen, dtype=np.int32), w, part)
