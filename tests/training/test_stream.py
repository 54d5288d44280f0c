"""Data in blocks: the same layout, the same objective, the same model as in memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crfkit import Chain, Likelihood, Stop, train
from crfkit.data.batch import Batch
from crfkit.features import ItemExtractor
from crfkit.linear.layout import Layout
from crfkit.training import BlockedData
from crfkit.training.blocks.problem import BlockedProblem
from tests.cases.descent import Descent
from tests.cases.sentences import blocks, dataset, full, sentences


def test_blocks_come_back(tmp_path: Path) -> None:
    data = full()
    stored = blocks(data, tmp_path)
    assert (len(stored), stored.positions, stored.blocks) == (40, data.batch.positions, 6)
    for name in ("seq_ptr", "attr", "value", "label", "edge_attr", "dense", "weight"):
        want = getattr(data.batch.select(slice(7, 14)), name)
        np.testing.assert_array_equal(getattr(stored.block(1), name), want)
    assert not stored.block(1).attr.flags.writeable
    assert stored.fingerprint == BlockedData.open(tmp_path).fingerprint
    with pytest.raises(IndexError, match="there are 6"):
        stored.block(6)


OPTIONS: list[dict[str, Any]] = [
    {},
    {"min_count": 2.0},
    {"min_count": 1.5, "count": "value", "start": True},
    {"transitions": "observed"},
    {"transitions": "none", "stop": True},
]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("all_pairs", [False, True])
def test_the_layout_is_that_of_the_whole(tmp_path: Path, options: dict[str, Any], all_pairs: bool) -> None:
    data = full()
    make = Layout.all_pairs if all_pairs else Layout.observed
    sizes: Any = {"attributes": len(data.attributes), "edge_attributes": 4}
    whole = make(data.batch, 3, **sizes, **options)
    stored = blocks(data, tmp_path)
    united = Layout.plan(Chain(3), stored, all_pairs=all_pairs, **sizes, **options)
    for name in ("node_ptr", "node_label", "edge_ptr", "edge_cell", "transition_cell"):
        np.testing.assert_array_equal(getattr(united, name), getattr(whole, name), name)
        assert getattr(united, name).dtype == getattr(whole, name).dtype
    assert united.parts == whole.parts
    assert (united.order, united.labels) == (whole.order, whole.labels)


def test_layouts_of_higher_order_and_with_likely_pairs(tmp_path: Path) -> None:
    data = dataset()
    stored = blocks(data, tmp_path)
    for order in (0, 2):
        chain = Chain(3, order=order)
        whole = Layout.observed(data.batch, chain, transitions="observed")
        united = Layout.plan(chain, stored, transitions="observed")
        np.testing.assert_array_equal(united.transition_cell, whole.transition_cell)
        assert united.weights == whole.weights
    pairs = np.array([[0, 0], [0, 1], [0, 2], [7, 1]])
    whole = Layout.observed_plus(data.batch, 3, pairs)
    np.testing.assert_array_equal(Layout.plan(Chain(3), stored, pairs=pairs).node_label, whole.node_label)
    with pytest.raises(ValueError, match="max_weights = 5"):
        Layout.plan(Chain(3), stored, max_weights=5)


@pytest.mark.parametrize("prefetch", [False, True])
@pytest.mark.parametrize("hidden", [False, True])
def test_the_objective_is_that_of_the_whole(tmp_path: Path, prefetch: bool, hidden: bool) -> None:
    data = full()
    if hidden:
        label = np.asarray(data.batch.label).copy()
        label[::4] = -1
        label[: data.batch.seq_ptr[7]] = -1  # a whole block without labels
        data = replace(data, batch=replace(data.batch, label=label))
    stored, objective, chain = blocks(data, tmp_path), Likelihood(), Chain(["A", "B", "C"])
    layout = Layout.all_pairs(data.batch, 3, start=True, stop=True)
    whole = objective.bind(layout, chain, data.batch)
    summed = BlockedProblem(
        stored, layout, lambda layout, block: objective.bind(layout, chain, block), prefetch=prefetch
    )
    w = np.random.default_rng(3).normal(size=layout.weights)
    a, b = np.empty(layout.weights), np.empty(layout.weights)
    assert summed.value_and_grad(w, a) == pytest.approx(whole.value_and_grad(w, b), rel=1e-9)
    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
    assert summed.kind == ("set" if hidden else "path")
    assert len(list(summed.shards())) == (5 if hidden else 6)
    assert [shard.loss.batch.sequences for shard in summed.shards()][-2:] == [7, 5]
    assert summed.memory > stored.largest


def test_a_block_of_one_label_is_no_mistake(tmp_path: Path) -> None:
    extract = ItemExtractor()
    parts = [
        extract([[["x"], ["y"]]], [["A", "A"]]),
        extract([[["x"], ["z"]]], [["B", "A"]]),
        extract([], []),
        extract([[["z"]]], [["B"]]),
    ]
    stored = BlockedData.write(tmp_path / "some", iter(parts))
    assert stored.blocks == 3
    whole = extract([[["x"], ["y"]], [["x"], ["z"]], [["z"]]], [["A", "A"], ["B", "A"], ["B"]])
    a = train(stored, optimizer="lbfgs", stop=Stop(tolerance=1e-10))
    b = train(whole, optimizer="lbfgs", stop=Stop(tolerance=1e-10))
    np.testing.assert_allclose(a.w, b.w, atol=1e-4)
    only = BlockedData.write(tmp_path / "one", iter(parts[:1]))
    with pytest.raises(ValueError, match="all 2 positions have the label 'A'"):
        train(only)


@pytest.mark.parametrize("features", ["observed", "all", "likely"])
def test_training_on_blocks(tmp_path: Path, features: Any) -> None:
    data, dev = dataset(), dataset(20, 2)
    options: Any = {"optimizer": "lbfgs", "selection": features, "stop": Stop(tolerance=1e-9)}
    stored = train(blocks(data, tmp_path), **options)
    memory = train(data, **options)
    assert stored.training is not None
    assert memory.training is not None
    assert stored.layout.weights == memory.layout.weights
    assert stored.training.loss == pytest.approx(memory.training.loss, rel=1e-8)
    np.testing.assert_allclose(stored.w, memory.w, atol=1e-3)
    assert stored.predict(dev) == memory.predict(dev)


def test_blocks_take_everything_that_memory_takes(tmp_path: Path) -> None:
    stored = blocks(dataset(), tmp_path / "data")
    dev = dataset(20, 2)
    history = train(stored, dev, stop=Stop(max_iterations=4)).training
    assert history is not None
    assert history.optimizer == "LBFGS"
    assert "blocks" in history.why
    warm = train(stored, init="memm", stop=Stop(max_iterations=4), optimizer="lbfgs")
    again = train(
        stored, init=warm, optimizer=Descent(), stop=Stop(max_iterations=3), checkpoint=tmp_path / "run"
    )
    same = train(
        stored, init=warm, optimizer=Descent(), stop=Stop(max_iterations=3), checkpoint=tmp_path / "run"
    )
    assert again.w.tobytes() == same.w.tobytes()


def test_a_stream_of_a_file(tmp_path: Path) -> None:
    from crfkit import data as reading
    from crfkit.features import Extractor, Recipe

    X, y = sentences(30, 1)
    text = "\n\n".join(
        "\n".join(f"{item[0]} {tag}" for item, tag in zip(items, tags, strict=True))
        for items, tags in zip(X, y, strict=True)
    )
    (tmp_path / "train.txt").write_text(text + "\n")
    recipe = Recipe.parse("bias; word[-1..1]")

    def columns(**options: Any) -> Any:
        return reading.stream(tmp_path / "train.txt", "columns", columns=["word", "tag"], **options)

    extract = Extractor(recipe)
    stored = BlockedData.write(tmp_path / "blocks", map(extract, columns(chunk_positions=40)))
    whole = Extractor(recipe)(next(columns(chunk_positions=10**6)))
    assert stored.blocks > 2
    a = train(stored, optimizer=Descent(), stop=Stop(max_iterations=3))
    b = train(whole, optimizer=Descent(), stop=Stop(max_iterations=3))
    assert a.attributes.strings() == b.attributes.strings()
    np.testing.assert_allclose(a.w, b.w, rtol=1e-9, atol=1e-12)


def test_wrong_blocks(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="parts is empty"):
        BlockedData.write(tmp_path / "none", iter([]))
    with pytest.raises(ValueError, match="holds no blocks"):
        BlockedData.open(tmp_path / "none")
    with pytest.raises(ValueError, match="part 1 has labels of its own; make all parts with one extractor"):
        BlockedData.write(tmp_path / "two", iter([dataset(2), dataset(2)]))
    blocks(dataset(), tmp_path / "there")
    with pytest.raises(ValueError, match="holds blocks already"):
        blocks(dataset(), tmp_path / "there")
    plain = dataset(4)
    unknown = replace(plain, batch=replace(plain.batch, label=None))
    with pytest.raises(ValueError, match="no position has a label"):
        train(blocks(unknown, tmp_path / "unlabeled"))
    with pytest.raises(TypeError, match="blocks are for training only"):
        train(plain, BlockedData.open(tmp_path / "there"))  # type: ignore[call-overload]
    assert isinstance(BlockedData.open(tmp_path / "there").block(0), Batch)
