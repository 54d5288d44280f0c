"""Trees of arrays in one file: dicts and lists of numbers, strings and arrays.

Arrays lie in the file as they are (`crfkit.models.store`), everything else is JSON, where ``{"array": name}``
stands for an array. No pickle. A file is whole at every moment (`crfkit.data.sink`), every array has a sum,
and what is read is `Fields`, which nobody may use unchecked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crfkit.data.sink import write_bytes
from crfkit.fields import Fields
from crfkit.models.store import ModelFileError, pack, unpack

__all__ = ["read_tree", "write_tree"]

_KIND = "crfkit tree"
_DEEPEST = 30  # nesting; what runs keep has five levels


def write_tree(path: Path, tree: Mapping[str, Any]) -> None:
    """Write numbers, strings, arrays, and lists and dicts of them, as a whole or not at all."""
    arrays: dict[str, NDArray[Any]] = {}
    plain = json.dumps(_flatten(tree, "", arrays))
    arrays["tree"] = np.frombuffer(plain.encode(), dtype=np.uint8)  # of any length, unlike a description
    write_bytes(path, pack(arrays, {}, kind=_KIND))


def read_tree(path: Path, remedy: str = "remove it") -> Fields:
    """Read what `write_tree` wrote, with the same bits; all sums are compared.

    The file is read as a whole, and so stays as it was read, whatever happens to it. Messages end in what to
    do about a damaged one.
    """
    try:
        data = np.fromfile(path, dtype=np.uint8)
        data.setflags(write=False)
        arrays, _ = unpack(data.data, str(path), kind=_KIND, stays=lambda name: True)
        if "tree" not in arrays:
            raise ValueError("it has no tree")
        plain = json.loads(arrays["tree"].tobytes(), object_pairs_hook=_single)
        tree = _unflatten(plain, arrays, 0)
    except (ValueError, RecursionError) as error:
        why = error.what if isinstance(error, ModelFileError) else error
        raise ValueError(f"{path} is damaged or was not written by crfkit ({why}); {remedy}") from None
    if not isinstance(tree, dict):
        raise ValueError(f"{path} was not written by crfkit; {remedy}")
    return Fields(tree, str(path), remedy=remedy)


def _flatten(value: Any, name: str, arrays: dict[str, NDArray[Any]]) -> Any:
    if isinstance(value, Mapping):
        return {"dict": {str(k): _flatten(v, f"{name}/{k}", arrays) for k, v in value.items()}}
    if isinstance(value, list | tuple):
        kind = "list" if isinstance(value, list) else "tuple"
        return {kind: [_flatten(v, f"{name}/{i}", arrays) for i, v in enumerate(value)]}
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "biuf":
            raise TypeError(f"{name} is an array of {value.dtype}; a checkpoint keeps numbers")
        arrays[name] = np.asarray(value, order="C")
        return {"array": name}
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"{name} is a {type(value).__name__}; a checkpoint keeps numbers, strings and arrays")


def _single(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a name occurs twice")
    return made


def _unflatten(value: Any, arrays: Mapping[str, NDArray[Any]], depth: int) -> Any:
    if isinstance(value, list) or depth > _DEEPEST:
        raise ValueError("its tree is none that crfkit writes")
    if not isinstance(value, dict):
        return value
    kind, inside = next(iter(value.items())) if len(value) == 1 else ("", None)
    if kind == "array" and isinstance(inside, str) and inside in arrays:
        return arrays[inside]
    if kind == "dict" and isinstance(inside, dict):
        return {k: _unflatten(v, arrays, depth + 1) for k, v in inside.items()}
    if kind in ("list", "tuple") and isinstance(inside, list):
        items = [_unflatten(v, arrays, depth + 1) for v in inside]
        return items if kind == "list" else tuple(items)
    raise ValueError("its tree is none that crfkit writes")
