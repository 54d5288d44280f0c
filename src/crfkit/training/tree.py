"""Trees of arrays in one file: dicts and lists of numbers, strings and arrays.

Arrays lie in the file as they are (`crfkit.models.store`), everything else is JSON, where ``{"array": name}``
stands for an array. No pickle. A file is whole at every moment (`crfkit.data.sink`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crfkit.data.sink import write_bytes
from crfkit.models.store import ModelFileError, map_file, pack, unpack

__all__ = ["read_tree", "write_tree"]

_KIND = "crfkit tree"


def write_tree(path: Path, tree: Mapping[str, Any]) -> None:
    """Write numbers, strings, arrays, and lists and dicts of them, as a whole or not at all."""
    arrays: dict[str, NDArray[Any]] = {}
    plain = json.dumps(_flatten(tree, "", arrays))
    arrays["tree"] = np.frombuffer(plain.encode(), dtype=np.uint8)  # of any length, unlike a description
    write_bytes(path, pack(arrays, {}, kind=_KIND))


def read_tree(path: Path, *, mapped: bool = False) -> dict[str, Any]:
    """Read what `write_tree` wrote, with the same bits.

    Parameters
    ----------
    path : Path
    mapped : bool
        Leave the arrays in the file: they are read-only, and come into memory as they are used.
    """
    try:
        data = map_file(path) if mapped else np.fromfile(path, dtype=np.uint8).data
        arrays, _ = unpack(data, str(path), kind=_KIND, sums=not mapped)
        tree = _unflatten(json.loads(arrays["tree"].tobytes()), arrays)
    except (KeyError, ValueError) as error:
        why = error.what if isinstance(error, ModelFileError) else error
        raise ValueError(f"{path} is damaged or was not written by crfkit ({why}); remove it") from None
    if not isinstance(tree, dict):
        raise ValueError(f"{path} was not written by crfkit; remove it")
    return tree


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


def _unflatten(value: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    if not isinstance(value, dict):
        return value
    ((kind, inside),) = value.items()
    if kind == "array":
        return arrays[inside]
    if kind == "dict":
        return {k: _unflatten(v, arrays) for k, v in inside.items()}
    items = [_unflatten(v, arrays) for v in inside]
    return items if kind == "list" else tuple(items)
