"""Damaged checkpoints and blocks give one error that names file and field; one run has a folder at a time."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crfkit import train
from crfkit.data import Dataset
from crfkit.data.locks import LOCK
from crfkit.data.sink import write_bytes
from crfkit.models import SequenceModel
from crfkit.models.store import pack
from crfkit.training import BlockedData
from crfkit.training.events import Progress
from crfkit.training.runs.tree import read_tree, write_tree
from crfkit.training.stop import Stop
from tests.cases.damaged_runs import MISSING, damaged, damages, fuzz_blocks, fuzz_checkpoint, labeled, places

STATES = ("run", "w")  # of optimizers: tests/optimize/test_damaged_states.py


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda handle: None)


def fit(
    data: Dataset | BlockedData, folder: Path | None = None, iterations: int = 4, **more: Any
) -> SequenceModel:
    options: dict[str, Any] = {"optimizer": "lbfgs", "progress": False, "n_jobs": 1, **more}
    return train(data, stop=Stop(max_iterations=iterations), checkpoint=folder, **options)


def blocks(folder: Path) -> BlockedData:
    data = labeled(np.random.default_rng(0))
    return BlockedData.write(folder, (data.select(slice(i, i + 2)) for i in (0, 2, 4)))


def each(tree: Any) -> Iterator[tuple[str, Any]]:
    """Yield trees with one damage each, and what it is."""
    for at in places(tree):
        value = tree
        for step in at:
            value = value[step]
        for way, change in damages(value).items():
            yield f"{'/'.join(map(str, at))} {way}", damaged(tree, at, change)


@pytest.mark.filterwarnings("ignore:training ended before it was certified")
@pytest.mark.parametrize("features", ["observed", "likely"])
def test_every_field_of_a_checkpoint(tmp_path: Path, features: str) -> None:
    data = labeled(np.random.default_rng(0))
    fit(data, tmp_path, dev=data, selection=features)
    path = tmp_path / "checkpoint.safetensors"
    tree = dict(read_tree(path))
    small = {name: value for name, value in tree.items() if name not in STATES}
    refused = 0
    for what, changed in each(small):
        if not what.startswith("pairs") if features == "likely" else re.match("fingerprint/(?!data)", what):
            continue  # they are like others
        write_tree(path, {**{name: tree[name] for name in STATES}, **changed})
        said = ""
        try:
            model = fit(data, tmp_path, 5, dev=data, selection=features)
        except ValueError as error:
            said = str(error)
        assert str(path) in said if said else np.isfinite(model.w).all(), f"{what}: {said}"
        refused += bool(said)
    assert refused > (10 if features == "likely" else 100)


@pytest.mark.parametrize("name", ["blocks", "block-000001"])
def test_every_field_of_blocks(tmp_path: Path, name: str) -> None:
    blocks(tmp_path)
    path = tmp_path / f"{name}.safetensors"
    tree = dict(read_tree(path))
    refused = 0
    for what, changed in each(tree):
        write_tree(path, changed)
        said = ""
        try:
            data = BlockedData.open(tmp_path)
            for batch in data:
                assert batch.label is not None
                assert batch.label.max(initial=0) < len(data.labels), what
                assert batch.attr.max(initial=0) < len(data.attributes), what
            str(data.extractor), len(data), data.largest, data.attributes.strings()
        except ValueError as error:
            said = str(error)
        assert not said or str(tmp_path) in said, f"{what}: {said}"
        refused += bool(said)
    assert refused > 50


@pytest.mark.parametrize("name", ["run/checkpoint", "blocks/blocks", "blocks/block-000001"])
def test_every_flipped_bit_is_found(tmp_path: Path, name: str) -> None:
    data = labeled(np.random.default_rng(0))
    fit(data, tmp_path / "run")
    blocks(tmp_path / "blocks")
    path = tmp_path / f"{name}.safetensors"
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    for at in rng.integers(0, 8 * len(whole), 200).tolist():
        hurt = bytearray(whole)
        hurt[at // 8] ^= 1 << at % 8
        path.write_bytes(hurt)
        with pytest.raises(ValueError, match="safetensors is damaged or was not written by crfkit"):
            fit(data, tmp_path / "run", 5) if "run" in name else [*BlockedData.open(tmp_path / "blocks")]


@pytest.mark.parametrize(
    "tree",
    [
        b"[1]",
        b"{}",
        b'{"dict": [1]}',
        b'{"list": {}}',
        b'{"set": []}',
        b'{"array": "nowhere"}',
        b'{"array": ["tree"]}',
        b'{"dict": {"a": 1, "a": 2}}',
        b'{"dict": {"a": [1]}}',
        b'{"dict": {}, "list": []}',
        b'{"list":[' * 5_000 + b"]}" * 5_000,
        b'{"dict": {"a": ' * 40 + b"1" + b"}}" * 40,
        b"1" * 5_000,
        b"\xff",
    ],
)
def test_trees_that_nobody_writes(tmp_path: Path, tree: bytes) -> None:
    write_bytes(tmp_path / "tree", pack({"tree": np.frombuffer(tree, np.uint8)}, {}, kind="crfkit tree"))
    with pytest.raises(ValueError, match=r"tree (is damaged or )?was not written by crfkit"):
        read_tree(tmp_path / "tree")


def test_a_second_run_is_told_who_has_the_folder(tmp_path: Path) -> None:
    data = labeled(np.random.default_rng(0))
    told: list[str] = []

    def second(event: object) -> None:
        if isinstance(event, Progress) and not told:
            assert LOCK in os.listdir(tmp_path)
            with pytest.raises(ValueError, match="is in use by process") as caught:
                fit(data, tmp_path)
            told.append(str(caught.value))

    fit(data, tmp_path, listeners=[second])
    assert f"process {os.getpid()} " in told[0]
    assert told[0].endswith("wait until it ends, or give each run a folder of its own")
    assert os.listdir(tmp_path) == ["checkpoint.safetensors"]
    fit(data, tmp_path, 5)  # free again


def test_a_folder_of_blocks_is_written_by_one(tmp_path: Path) -> None:
    data = labeled(np.random.default_rng(0))

    def parts() -> Iterator[Dataset]:
        yield data
        with pytest.raises(ValueError, match="is in use by process"):
            BlockedData.write(tmp_path, [data])

    assert BlockedData.write(tmp_path, parts()).blocks == 1
    with pytest.raises(ValueError, match="holds blocks already"):
        BlockedData.write(tmp_path, [data])


@pytest.mark.parametrize("seed", range(8))
def test_the_fuzzers_find_nothing(tmp_path: Path, seed: int) -> None:
    (tmp_path / "blocks").mkdir()
    for _ in range(4):
        fuzz_checkpoint(np.random.default_rng(seed), tmp_path / "run")
        fuzz_blocks(np.random.default_rng(seed), tmp_path / "blocks")


def test_a_damage_can_be_a_missing_field() -> None:
    assert damaged({"a": {"b": 1, "c": 2}}, ("a", "b"), MISSING) == {"a": {"c": 2}}
