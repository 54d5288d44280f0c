"""States of any number of arrays: those of many sequences are written, and come back with the same bits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crfkit import Stop, train
from crfkit.data import Dataset
from crfkit.data.formats.columns import Columns
from crfkit.data.sink import write_bytes
from crfkit.features import Extractor, Recipe
from crfkit.models import SequenceModel, store
from crfkit.models.store import pack
from crfkit.optimize import BCFW
from crfkit.optimize.classic import NSlack
from crfkit.training import Checkpoints
from crfkit.training.events import Begin, Event
from crfkit.training.runs.tree import read_tree, write_tree

TYPES = (np.float64, np.float32, np.int64, np.int32, np.uint8, np.bool_)
SHAPES = ((), (0,), (3,), (2, 0), (2, 3))


def pairs(N: int) -> Dataset:
    """Return N sequences of two words, whose labels follow from the words nearly always."""
    rng = np.random.default_rng(0)
    words = rng.integers(0, 6, (N, 2))
    tags = np.where(rng.random((N, 2)) < 0.1, rng.integers(0, 2, (N, 2)), words % 2)
    rows = [[(f"w{words[n, t]}", "AB"[tags[n, t]]) for t in range(2)] for n in range(N)]
    return Extractor(Recipe.parse("word[0]"), label="tag")(Columns.from_rows(rows, names=["word", "tag"]))


@pytest.mark.filterwarnings("ignore:training ended")
@pytest.mark.parametrize("optimizer", [NSlack(), BCFW(step="mixture", every=1)])
def test_a_checkpoint_of_many_sequences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, optimizer: Any
) -> None:
    """1,000 sequences and a header of half a megabyte; before, 8,000 were too many for one of four."""
    monkeypatch.setattr(store, "LONGEST_HEADER", 1 << 19)
    data, keep = pairs(1_000), Checkpoints(tmp_path, iterations=1)

    begun: list[int] = []

    def listen(event: Event) -> None:
        begun.extend([event.resumed] if isinstance(event, Begin) else [])

    def learn(iterations: int, checkpoint: Checkpoints | None) -> SequenceModel:
        options: dict[str, Any] = {"objective": "max-margin", "optimizer": optimizer, "listeners": [listen]}
        return train(data, stop=Stop(max_iterations=iterations), checkpoint=checkpoint, **options)

    first = learn(1, keep)
    assert first.training is not None
    assert not [note for note in first.training.notes if "could not be written" in note]
    resumed, whole = learn(2, keep), learn(2, None)
    assert resumed.w.tobytes() == whole.w.tobytes()
    assert begun == [0, 1, 0]


def test_any_number_of_arrays_comes_back_with_the_same_bits(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    tree: list[dict[str, Any]] = []
    for i in range(40_000):
        shape, kind = SHAPES[i % len(SHAPES)], TYPES[i % len(TYPES)]
        tree.append({"value": rng.integers(0, 2, shape).astype(kind), "i": i})
    write_tree(tmp_path / "tree", {"list": tree})
    back = read_tree(tmp_path / "tree").parts("list", len(tree))
    for there, here in zip(back, tree, strict=True):
        found, given = there.any_array("value"), here["value"]
        assert there.count("i") == here["i"]
        assert (found.shape, found.dtype) == (given.shape, given.dtype)
        assert (found == given).all()


PIECES: list[Any] = [
    [],
    "x",
    {"/a": None},
    {"/a": []},
    {"/a": ["float64", 0]},
    {"/a": ["float64", 0, [2], 0]},
    {"/a": ["float32", 0, [2]]},
    {"/a": ["tree", 0, [2]]},
    {"/a": [["float64"], 0, [2]]},
    {"/a": ["float64", -1, [2]]},
    {"/a": ["float64", 0.0, [2]]},
    {"/a": ["float64", True, [2]]},
    {"/a": ["float64", 3, [2]]},
    {"/a": ["float64", 2**70, [2]]},
    {"/a": ["float64", 0, 2]},
    {"/a": ["float64", 0, [5]]},
    {"/a": ["float64", 0, [-1, -2]]},
    {"/a": ["float64", 0, [2.0]]},
    {"/a": ["float64", 0, [2**40, 2**40]]},
    {"/a": ["float64", 0, [1] * 65]},
    {"/b": ["float64", 0, [2]]},
]


@pytest.mark.parametrize("pieces", PIECES)
def test_pieces_that_nobody_writes(tmp_path: Path, pieces: Any) -> None:
    def written(table: Any) -> None:
        texts = {"tree": {"dict": {"a": {"array": "/a"}}}, "pieces": table}
        arrays: dict[str, Any] = {"pieces of float64": np.arange(4.0)}
        arrays |= {name: np.frombuffer(json.dumps(text).encode(), np.uint8) for name, text in texts.items()}
        write_bytes(tmp_path / "tree", pack(arrays, {}, kind="crfkit tree"))

    written({"/a": ["float64", 1, [2, 1]]})
    assert read_tree(tmp_path / "tree")["a"].tolist() == [[1.0], [2.0]]
    written(pieces)
    with pytest.raises(ValueError, match="tree is damaged or was not written by crfkit"):
        read_tree(tmp_path / "tree")
