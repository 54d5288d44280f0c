"""Checkpoints and blocks damaged behind right sums: one field at a time, in every way that a file can be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from crfkit import train
from crfkit.data import Dataset
from crfkit.data.formats.columns import Columns
from crfkit.features import Extractor, Recipe
from crfkit.models import SequenceModel
from crfkit.training import BlockedData
from crfkit.training.runs.tree import read_tree, write_tree
from crfkit.training.stop import Stop

MISSING = object()  #: a damage: the field is not there
Place = tuple[str | int, ...]


def places(tree: Any, at: Place = ()) -> Iterator[Place]:
    """Yield the places of all values of a tree, inner ones too, but not that of the tree itself."""
    if at:
        yield at
    if isinstance(tree, Mapping):
        for name, value in tree.items():
            yield from places(value, (*at, name))
    elif isinstance(tree, list | tuple):
        for i, value in enumerate(tree[:2]):  # the others are alike
            yield from places(value, (*at, i))


def damages(value: Any) -> dict[str, Any]:
    """Return what could stand in the place of a value, by name; all of it can be written to a file."""
    made: dict[str, Any] = {
        "missing": MISSING,
        "none": None,
        "text": "x",
        "list": [],
        "dict": {},
        "bool": True,
    }
    made |= {"minus": -1, "half": 0.5, "nan": float("nan"), "infinite": float("inf"), "huge": 10**400}
    made |= {
        "large": 2**62,
        "array": np.zeros((1, 2, 3)),
        "scalar": np.array(1.0),
        "nested": {"x": [{"y": [1]}]},
    }
    if isinstance(value, np.ndarray):
        flat = value.reshape(-1)
        other = np.int64 if value.dtype != np.int64 else np.float64
        made |= {"other type": value.astype(other, casting="unsafe") if np.all(np.isfinite(value)) else None}
        made |= {"more axes": value[None], "flat": flat if value.ndim != 1 else flat[None]}
        made |= {"longer": np.concatenate([flat, flat, flat[:1]]), "bytes": value.view(np.uint8)}
        if flat.size:
            made["shorter"] = flat[:-1]
            numbers = (
                [-1, 2**31 - 1, 2**62] if value.dtype.kind in "iu" else [np.nan, np.inf, -np.inf, 1e300, -1.0]
            )
            for number in numbers if value.dtype.kind in "iuf" else []:
                for i in {0, flat.size // 2, flat.size - 1}:
                    changed = flat.copy()
                    with np.errstate(all="ignore"):
                        changed[i] = np.array(number).astype(value.dtype)
                    made[f"{number} at {i}"] = changed.reshape(value.shape)
    if isinstance(value, list | tuple) and len(value):
        made |= {"shorter": value[:-1], "longer": [*value, value[0]], "of none": [None] * len(value)}
    return made


def damaged(tree: Any, at: Place, change: Any) -> Any:
    """Return a tree with another value in one place; the rest is shared."""
    if not at:
        return change
    made: Any = dict(tree) if isinstance(tree, Mapping) else list(tree)
    if change is MISSING and len(at) == 1:
        del made[at[0]]
    else:
        made[at[0]] = damaged(made[at[0]], at[1:], change)
    return tuple(made) if isinstance(tree, tuple) else made


def labeled(rng: np.random.Generator, sequences: int = 6) -> Dataset:
    """Return a small data set, from a recipe."""
    lengths = rng.integers(1, 5, sequences).tolist()
    rows = [[(f"w{rng.integers(4)}", "ABC"[rng.integers(3)]) for _ in range(n)] for n in lengths]
    rows[0] = [("w0", "A"), ("w1", "B"), ("w2", "C")]
    recipe = Recipe.parse("word[-1..0]; suffix(word, 1)[0]")
    return Extractor(recipe, label="tag")(Columns.from_rows(rows, names=["word", "tag"]))


def fuzz_checkpoint(rng: np.random.Generator, folder: Path) -> str:
    """Damage a field of a checkpoint, behind right sums, and resume; return what was done.

    Raises
    ------
    AssertionError
        The error does not name the file, or the weights are not finite.
    """
    data = labeled(np.random.default_rng(0))
    name = str(
        rng.choice(["auto", "lbfgs", "owlqn", "sgd", "adagrad", "dual", "pcg", "bcd", "rprop", "plbfgs"])
    )
    options: dict[str, Any] = {"optimizer": name, "checkpoint": folder, "progress": False, "n_jobs": 1}
    options["objective"] = "likelihood"
    path = folder / "checkpoint.safetensors"
    path.unlink(missing_ok=True)
    train(data, stop=Stop(max_iterations=int(rng.integers(1, 5))), **options)
    what = f"{name}, {_damage(rng, path)}"
    return _tried(lambda: train(data, stop=Stop(max_iterations=6), **options), what, str(path))


def fuzz_blocks(rng: np.random.Generator, folder: Path) -> str:
    """Damage a field of a folder of blocks, behind right sums, open it and train; return what was done."""
    for old in folder.glob("*.safetensors"):
        old.unlink()
    data = labeled(np.random.default_rng(0))
    BlockedData.write(folder, (data.select(slice(i, i + 2)) for i in (0, 2, 4)))
    path = folder / str(
        rng.choice(["blocks.safetensors", "block-000000.safetensors", "block-000002.safetensors"])
    )
    what = f"{path.name}, {_damage(rng, path)}"
    options: dict[str, Any] = {"optimizer": str(rng.choice(["lbfgs", "sgd"])), "progress": False, "n_jobs": 1}
    stop = Stop(max_iterations=3)
    return _tried(lambda: train(BlockedData.open(folder), stop=stop, **options), what, str(folder))


def _tried(learn: Callable[[], SequenceModel], what: str, name: str) -> str:
    """Return what came of a damage: an error that names the file, or a model."""
    said = ""
    try:
        model = learn()
    except ValueError as error:
        said = str(error)
    if said:
        assert name in said, f"{what}: {said} does not name the file"
        return f"{what}: {said}"
    assert np.isfinite(model.w).all(), f"{what}: weights are not finite"
    return f"{what}: a model"


def _damage(rng: np.random.Generator, path: Path) -> str:
    tree = dict(read_tree(path))
    found = list(places(tree))
    at = found[int(rng.integers(len(found)))]
    value: Any = tree
    for step in at:
        value = value[step]
    ways = damages(value)
    way = str(rng.choice(list(ways)))
    write_tree(path, damaged(tree, at, ways[way]))
    return f"{'/'.join(map(str, at))} {way}"
