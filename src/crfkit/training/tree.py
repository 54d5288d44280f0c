"""Trees of arrays in one file: dicts and lists of numbers, strings and arrays, as safetensors.

Arrays lie in the file as they are, everything else is JSON in the metadata, where ``{"array": name}`` stands
for an array. No pickle. A file is written under a temporary name beside its place, flushed to the disk and
renamed: it is whole at every moment.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["read_tree", "write_tree"]

_DTYPES = {
    "BOOL": "?",
    "U8": "u1",
    "I8": "i1",
    "U16": "<u2",
    "I16": "<i2",
    "U32": "<u4",
    "I32": "<i4",
    "U64": "<u8",
    "I64": "<i8",
    "F32": "<f4",
    "F64": "<f8",
}


def write_tree(path: Path, tree: Mapping[str, Any]) -> None:
    """Write numbers, strings, arrays, and lists and dicts of them, as a whole or not at all."""
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    arrays: dict[str, NDArray[Any]] = {}
    plain = json.dumps(_flatten(tree, "", arrays))
    temporary = path.with_name(path.name + ".tmp")
    try:
        save_file(arrays, temporary, metadata={"tree": plain})
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except (OSError, SafetensorError) as error:
        temporary.unlink(missing_ok=True)  # it takes the room that is lacking
        if isinstance(error, OSError):
            raise
        raise OSError(str(error)) from None
    if hasattr(os, "O_DIRECTORY"):  # the new name is safe once its folder is
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def read_tree(path: Path, *, mapped: bool = False) -> dict[str, Any]:
    """Read what `write_tree` wrote, with the same bits.

    Parameters
    ----------
    path : Path
    mapped : bool
        Leave the arrays in the file: they are read-only, and come into memory as they are looked at.
    """
    try:
        data = np.memmap(path, dtype=np.uint8, mode="r") if mapped else np.fromfile(path, dtype=np.uint8)
        size = int(data[:8].view("<u8")[0])
        header = json.loads(data[8 : 8 + size].tobytes())
        plain = json.loads(header.pop("__metadata__")["tree"])
        arrays = {}
        for name, entry in header.items():
            begin, end = entry["data_offsets"]
            flat = data[8 + size + begin : 8 + size + end].view(_DTYPES[entry["dtype"]])
            arrays[name] = np.asarray(flat).reshape(entry["shape"])
        tree = _unflatten(plain, arrays)
    except (KeyError, IndexError, ValueError) as error:
        raise ValueError(f"{path} is damaged or was not written by crfkit ({error}); remove it") from None
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
