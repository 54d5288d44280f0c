"""Trees of arrays in one file: dicts and lists of numbers, strings and arrays.

Arrays lie in the file as they are (`crfkit.models.store`), everything else is JSON, where ``{"array": name}``
stands for an array. Many arrays are joined to one for each type, so that the header of the file stays short,
and a table says where they are. No pickle. A file is whole at every moment (`crfkit.data.sink`), every array
has a sum, and what is read is `Fields`, which nobody may use unchecked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crfkit._safe.fields import Fields
from crfkit._safe.single import single
from crfkit.data.opening import NotAFileError, open_file
from crfkit.data.sink import write_bytes
from crfkit.errors import ModelFileError
from crfkit.models.store import OldFileError, pack, unpack

_KIND = "crfkit tree"
_PIECES = "pieces"  # the name of a table, and how names of what it is about begin
_DEEPEST = 30  # nesting; what runs keep has five levels
_MANY = 1000  # arrays; where there are more they are joined
_AXES = 8  # of an array, at most


def write_tree(path: Path, tree: Mapping[str, Any]) -> None:
    """Write numbers, strings, arrays, and lists and dicts of them, as a whole or not at all."""
    arrays: dict[str, NDArray[Any]] = {}
    plain = json.dumps(_flatten(tree, "", arrays))
    if len(arrays) > _MANY:
        arrays = _joined(arrays)
    arrays["tree"] = np.frombuffer(plain.encode(), dtype=np.uint8)  # of any length, unlike a description
    write_bytes(path, pack(arrays, {}, kind=_KIND))


def read_tree(path: Path, remedy: str = "remove it") -> Fields:
    """Read what `write_tree` wrote, with the same bits; all sums are compared.

    The file is read as a whole, and so stays as it was read, whatever happens to it. Messages end in what to
    do about a damaged one.
    """
    try:
        with open_file(path) as file:
            data = np.fromfile(file, dtype=np.uint8)
        data.setflags(write=False)
        arrays, _ = unpack(data.data, str(path), kind=_KIND)
        if "tree" not in arrays:
            raise ValueError("it has no tree")
        plain = json.loads(arrays["tree"].tobytes(), object_pairs_hook=single)
        tree = _unflatten(plain, _pieces(arrays), 0)
    except (NotAFileError, OldFileError) as error:
        raise ValueError(f"{path} {error.what}; {remedy}") from None
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


def _joined(arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return arrays of one axis, one for each type, that hold all arrays, and a table of their places."""
    table: dict[str, tuple[str, int, tuple[int, ...]]] = {}
    flat: dict[str, list[NDArray[Any]]] = {}
    filled: dict[str, int] = {}
    for name, array in arrays.items():
        kind = array.dtype.name
        table[name] = (kind, filled.get(kind, 0), array.shape)
        flat.setdefault(kind, []).append(array.reshape(-1))
        filled[kind] = filled.get(kind, 0) + array.size
    made = {f"{_PIECES} of {kind}": np.concatenate(some) for kind, some in flat.items()}
    return made | {_PIECES: np.frombuffer(json.dumps(table).encode(), dtype=np.uint8)}


def _pieces(arrays: Mapping[str, NDArray[Any]]) -> Mapping[str, NDArray[Any]]:
    """Return the arrays that `_joined` was given, as views; without its table those that are given."""
    if _PIECES not in arrays:
        return arrays
    table = json.loads(arrays[_PIECES].tobytes(), object_pairs_hook=single)
    if not isinstance(table, dict):
        raise ValueError("its table of arrays is not one that crfkit writes")
    return {name: _piece(arrays, place) for name, place in table.items()}


def _piece(arrays: Mapping[str, NDArray[Any]], place: Any) -> NDArray[Any]:
    if isinstance(place, list) and len(place) == 3:
        kind, first, shape = place
        whole = arrays.get(f"{_PIECES} of {kind}")
        sizes = [first, *shape] if isinstance(shape, list) and len(shape) <= _AXES else [None]
        if whole is not None and whole.ndim == 1 and all(type(n) is int and n >= 0 for n in sizes):
            end = first + prod(shape)
            if end <= len(whole):
                return whole[first:end].reshape(shape)
    raise ValueError("a place in its table of arrays is not one that crfkit writes")


def _unflatten(value: Any, arrays: Mapping[str, NDArray[Any]], depth: int) -> Any:
    if isinstance(value, list) or depth > _DEEPEST:
        raise ValueError("its tree is not one that crfkit writes")
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
    raise ValueError("its tree is not one that crfkit writes")
