"""Sums of model files, checkpoints and blocks: they see what changed places, not only what changed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import crfkit
from crfkit import Model, Stop, train
from crfkit._native import xxh64
from crfkit.errors import ModelFileError
from crfkit.features import ItemExtractor
from crfkit.models.store import pack, unpack
from crfkit.training import BlockedData
from crfkit.training.runs.tree import read_tree, write_tree

OLD = Path(__file__).parent / "files" / "format1.crf"
SECTOR = 4096


def reference(data: bytes) -> int:
    """XXH64 with seed 0, as its specification has it, step by step."""
    most = (1 << 64) - 1
    p1, p2, p3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
    p4, p5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5

    def turned(x: int, by: int) -> int:
        x &= most
        return (x << by | x >> (64 - by)) & most

    def step(lane: int, word: bytes) -> int:
        return turned(lane + int.from_bytes(word, "little") * p2, 31) * p1 & most

    rest, sum = data, p5
    if len(data) >= 32:
        lanes = [p1 + p2, p2, 0, -p1]
        while len(rest) >= 32:
            lanes = [step(lane, rest[8 * i : 8 * i + 8]) for i, lane in enumerate(lanes)]
            rest = rest[32:]
        sum = turned(lanes[0], 1) + turned(lanes[1], 7) + turned(lanes[2], 12) + turned(lanes[3], 18)
        for lane in lanes:
            sum = (sum ^ step(0, lane.to_bytes(8, "little"))) * p1 + p4 & most
    sum = sum + len(data) & most
    while len(rest) >= 8:
        sum, rest = turned(sum ^ step(0, rest[:8]), 27) * p1 + p4 & most, rest[8:]
    if len(rest) >= 4:
        word = int.from_bytes(rest[:4], "little") * p1 & most
        sum, rest = turned(sum ^ word, 23) * p2 + p3 & most, rest[4:]
    for byte in rest:
        sum = turned(sum ^ byte * p5 & most, 11) * p1 & most
    sum = (sum ^ sum >> 33) * p2 & most
    sum = (sum ^ sum >> 29) * p3 & most
    return sum ^ sum >> 32


def sum_of(data: bytes) -> int:
    return xxh64(np.frombuffer(data, dtype=np.uint8))


@pytest.mark.parametrize(
    ("text", "sum"),
    [
        (b"", 0xEF46DB3751D8E999),
        (b"a", 0xD24EC4F1A98C6E5B),
        (b"abc", 0x44BC2CF5AD770999),
        (b"Nobody inspects the spammish repetition", 0xFBCEA83C8A378BF1),
    ],
)
def test_the_sum_is_that_of_other_programs(text: bytes, sum: int) -> None:
    assert sum_of(text) == reference(text) == sum


def test_the_sum_is_that_of_its_specification() -> None:
    data = random.Random(1).randbytes(300_000)
    for size in [*range(300), 299_999]:
        assert sum_of(data[:size]) == reference(data[:size]), size
    # Parts of a megabyte between looks for interrupts leave no trace.
    long = np.frombuffer(data * 8, dtype=np.uint8)
    assert xxh64(long[: (1 << 20) + 40]) == reference((data * 8)[: (1 << 20) + 40])


# ---- damage that leaves every number where a sum of numbers finds it

Damage = Callable[[NDArray[np.uint8], int, int], None]


def swapped_words(data: NDArray[np.uint8], first: int, last: int) -> None:
    words = data[first : first + (last - first) // 8 * 8].view("<u8")
    i, j = next((i, i + 1) for i in range(len(words)) if words[i] != words[i + 1])
    words[[i, j]] = words[[j, i]]


def flipped_signs(data: NDArray[np.uint8], first: int, last: int) -> None:
    data[[first + 7, first + 15]] ^= 0x80


def swapped_sectors(data: NDArray[np.uint8], first: int, last: int) -> None:
    sectors = data[first : first + 2 * SECTOR].reshape(2, SECTOR)
    assert last - first >= 2 * SECTOR
    assert (sectors[0] != sectors[1]).any()
    sectors[[0, 1]] = sectors[[1, 0]]


def moved_by_a_byte(data: NDArray[np.uint8], first: int, last: int) -> None:
    data[first:last] = np.roll(data[first:last], 1)


EVERY: list[Damage] = [swapped_words, flipped_signs, swapped_sectors, moved_by_a_byte]
each_damage = pytest.mark.parametrize("damage", EVERY, ids=lambda one: one.__name__)


def place_of(path: Path, array: NDArray[np.generic]) -> tuple[int, int]:
    first = path.read_bytes().index(array.tobytes())
    return first, first + array.nbytes


def spoil(path: Path, array: NDArray[np.generic], damage: Damage) -> None:
    """Damage a file where an array lies in it."""
    data = np.frombuffer(path.read_bytes(), dtype=np.uint8).copy()
    damage(data, *place_of(path, array))
    assert data.tobytes() != path.read_bytes()
    path.write_bytes(data.tobytes())


@pytest.fixture(scope="module")
def model() -> Model:
    rng = np.random.default_rng(4)
    X = [[[f"w{i}"] for i in rng.integers(0, 900, 12)] for _ in range(300)]
    Y = [[f"L{y}" for y in rng.integers(0, 3, 12)] for _ in X]
    return train(ItemExtractor()(X, Y), stop=Stop(max_iterations=3))


@each_damage
@pytest.mark.parametrize("mapped", [True, False])
def test_damaged_weights_of_a_model_are_refused(
    damage: Damage, mapped: bool, model: Model, tmp_path: Path
) -> None:
    path = tmp_path / "m.crf"
    model.save(path)
    spoil(path, Model.load(path, mapped=False).w, damage)
    with pytest.raises(ModelFileError, match=r"m\.crf is damaged: the sum of w is wrong"):
        crfkit.load(path, mapped=mapped)


@each_damage
def test_damaged_checkpoints_are_refused(damage: Damage, tmp_path: Path) -> None:
    path, w = tmp_path / "checkpoint.safetensors", np.random.default_rng(5).normal(size=3000)
    write_tree(path, {"w": w})
    spoil(path, w, damage)
    with pytest.raises(ValueError, match=r"checkpoint\.safetensors is damaged .*the sum of /w is wrong"):
        read_tree(path)


@each_damage
def test_damaged_blocks_are_refused(damage: Damage, tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    X = [[{f"w{i}": float(v)} for i, v in enumerate(rng.normal(size=40))] for _ in range(60)]
    extract = ItemExtractor()
    stored = BlockedData.write(tmp_path, iter([extract(X, [["P", "Q"] * 20] * 60)]))
    value = stored.block(0).value
    assert value is not None
    spoil(tmp_path / "block-000000.safetensors", value, damage)
    with pytest.raises(ValueError, match=r"block-000000\.safetensors is damaged .*the sum of .* is wrong"):
        stored.block(0)


def headers() -> Iterator[bytes]:
    """Headers of which parts changed places, all of them JSON with the same letters."""
    head = next(pack({"ab": np.zeros(2), "ba": np.zeros(2)}, {"notes": "one two"}))
    for old, new in ((b"one two", b"two one"), (b'"ab":{', b'"aa":{'), (b'"ab":', b'"bb":')):
        assert old in head
        yield head.replace(old, new, 1) + bytes(32)


@pytest.mark.parametrize("damaged", list(headers()), ids=["words", "name", "sums"])
def test_damaged_headers_are_refused(damaged: bytes) -> None:
    with pytest.raises(ModelFileError, match=r"m\.crf is damaged: the sum of its header is wrong"):
        unpack(damaged, "m.crf")


# ---- files from before


def test_files_with_sums_of_earlier_versions_are_refused_by_name() -> None:
    message = (
        r"format1\.crf was written by an earlier crfkit, whose sums did not see the order of bytes; "
        r"train the model again$"
    )
    for read in (crfkit.load, Model.load):
        with pytest.raises(ModelFileError, match=message):
            read(OLD)


def test_checkpoints_of_earlier_versions_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "old"
    path.write_bytes(OLD.read_bytes().replace(b'"format":"crfkit"', b'"format":"crfkit tree"', 1))
    head = int.from_bytes(OLD.read_bytes()[:8], "little") + len(" tree")
    path.write_bytes(head.to_bytes(8, "little") + path.read_bytes()[8:])
    with pytest.raises(ValueError, match=r"old was written by an earlier crfkit, .*; remove it$"):
        read_tree(path)
