"""Damage to one field of a sound model file, behind sums that fit: every array and every entry in every way.

`Damages` lists all that can be done to a file; each is applied by itself. What is drawn by chance (the place
of an element, the array that is exchanged) comes from the caller.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from crfkit.models.store import Array, _header_sum, pack, unpack

Arrays = dict[str, Array]
About = dict[str, Any]
Path = tuple[str | int, ...]

TYPES = ("u1", "i1", "u2", "i4", "u4", "i8", "u8", "f4", "f8", "?")
WHOLE = (-1, 0, 1, 2**31 - 1, 2**31, 2**32, 2**62, 2**63 - 1, 2**63, 0x80, 0xFF, 0x0A)
REAL = (float("nan"), float("inf"), float("-inf"), 1e308, -1e308, 1.7e308, 1e39, 5e-324, 0.0, -0.0, 1.0)
DEEP: list[Any] = []
for _ in range(150):
    DEEP = [DEEP]
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 7, 255, 4096, 2**31 - 1, 2**31, 2**53 + 1, 2**63, 10**30, 10**400),
    *(1.5, -0.0, 1e308, "", "x", "0", "nan", "inf", "\0", "\n", "\ud800", "é", "%x[0,0]", "(a+)+$", "[/]"),
    *("x" * 100_000, [], [[]], [None] * 9, [0] * 50_000, {}, {"x": 1}, {"": None}, DEEP, ["x", "x"]),
)
INSERTED = (
    "\0",
    "\ud800",
    "(",
    ")",
    "[",
    "]",
    "*",
    "+",
    "{9}",
    "{99999}",
    "\\",
    '"',
    "%x[0,0]",
    "\n",
    "|",
    "..",
    ";",
)


@dataclass(frozen=True)
class Damage:
    """One thing that is done to a file; `apply` returns the bytes of the damaged one."""

    name: str
    apply: Callable[[random.Random], bytes]


class Damages:
    """All that can be done to one field of a file.

    Parameters
    ----------
    data : bytes
        Of a sound file.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.arrays, self.about = unpack(data, "seed")
        #: Names of arrays, and paths to entries of the description.
        self.fields: list[str | Path] = ["more", *sorted(self.arrays), *_paths(self.about)]

    def of(self, field: str | Path) -> list[Damage]:
        """Return what can be done to a field so that the file can be unpacked."""
        arrays, about = self.arrays, self.about
        if isinstance(field, tuple):
            name = ".".join(map(str, field))
            edits = _of_value(_at(about, field))
            return [Damage(f"{name}: {t}", partial(_with_value, arrays, about, field, e)) for t, e in edits]
        if field not in arrays:
            return [
                Damage("an array more", partial(_with_array, arrays, about, field, lambda *_: np.zeros(3)))
            ]
        changes = _of_array(arrays[field])
        return [
            *(Damage(f"{field}: {t}", partial(_with_array, arrays, about, field, c)) for t, c in changes),
            Damage(f"{field}: exchanged", partial(_exchanged, arrays, about, field)),
        ]

    def lies(self, field: str | Path) -> list[Damage]:
        """Return what the header can wrongly say of an array."""
        if isinstance(field, tuple) or field not in self.arrays:
            return []
        entries = _of_entry(self.arrays[field])
        return [Damage(f"{field}: {t}", partial(_with_entry, self.data, field, e)) for t, e in entries]


def _packed(arrays: Arrays, about: About) -> bytes:
    return b"".join(pack(arrays, about))


# ---- arrays ------------------------------------------------------------------------------------

Change = Callable[[Array, random.Random], Array | None]


def _with_array(arrays: Arrays, about: About, name: str, change: Change, chance: random.Random) -> bytes:
    changed = dict(arrays)
    with np.errstate(all="ignore"):
        made = change(arrays.get(name, np.zeros(0)).copy(), chance)
    if made is None:
        del changed[name]
    else:
        changed[name] = made
    return _packed(changed or {"left": np.zeros(1)}, about)


def _exchanged(arrays: Arrays, about: About, name: str, chance: random.Random) -> bytes:
    other = chance.choice(sorted(arrays))
    return _packed({**arrays, name: arrays[other], other: arrays[name]}, about)


def _of_array(array: Array) -> Iterator[tuple[str, Change]]:
    n = array.size
    yield "missing", lambda a, _: None
    for kind in TYPES:
        if array.dtype != kind:
            yield f"as {kind}", partial(_as_type, kind)
    yield "an axis before", lambda a, _: a[None]
    yield "an axis behind", lambda a, _: a[..., None]
    yield "no axis", lambda a, _: a.reshape(-1)[:1].sum()[...]
    yield "empty", lambda a, _: a[:0]
    yield "the first alone", lambda a, _: a[:1]
    yield "half", lambda a, _: a[: len(a) // 2]
    yield "without the first", lambda a, _: a[1:]
    yield "without the last", lambda a, _: a[:-1]
    yield "the last twice", lambda a, _: np.concatenate([a, a[-1:]])
    yield "a zero more", lambda a, _: np.concatenate([a, np.zeros_like(a[:1])])
    yield "a zero before", lambda a, _: np.concatenate([np.zeros_like(a[:1]), a])
    yield "twice", lambda a, _: np.concatenate([a, a])
    yield "many times", lambda a, _: np.concatenate([a] * (1 + (1 << 16) // max(1, len(a))))
    yield "reversed", lambda a, _: a[::-1].copy()
    yield "sorted", lambda a, _: np.sort(a, axis=0)
    yield "falling", lambda a, _: np.sort(a, axis=0)[::-1].copy()
    yield "turned", lambda a, _: np.roll(a, 1, axis=0)
    yield "two swapped", _swapped
    yield "shuffled", lambda a, chance: np.random.default_rng(chance.getrandbits(32)).permutation(a)
    if not n:
        return
    yield "all the first", lambda a, _: np.full_like(a, a.flat[0])
    for where in ("first", "last", "any", "all"):
        values: tuple[Any, ...] = REAL if array.dtype.kind == "f" else (*WHOLE, n - 1, n, n + 1)
        for value in values:
            yield f"{where} = {value}", partial(_put, where, value)
        for step in (-1, 1):
            yield f"{where} {step:+}", partial(_added, where, step)


def _as_type(kind: str, array: Array, chance: random.Random) -> Array:
    return array.astype(kind)


def _places(where: str, size: int, chance: random.Random) -> Any:
    return {"first": 0, "last": size - 1, "any": chance.randrange(size), "all": slice(None)}[where]


def _put(where: str, value: Any, array: Array, chance: random.Random) -> Array:
    if array.dtype.kind in "ui":
        bits = 8 * array.itemsize
        value = value % (1 << bits)
        value -= (1 << bits) if array.dtype.kind == "i" and value >= 1 << (bits - 1) else 0
    array.reshape(-1)[_places(where, array.size, chance)] = value
    return array


def _added(where: str, step: int, array: Array, chance: random.Random) -> Array:
    flat = array.reshape(-1)
    place = _places(where, array.size, chance)
    flat[place] = flat[place] + np.array(step).astype(array.dtype)
    return array


def _swapped(array: Array, chance: random.Random) -> Array:
    if len(array) > 1:
        i, j = chance.sample(range(len(array)), 2)
        array[[i, j]] = array[[j, i]]
    return array


# ---- entries of the header, which say what an array is -------------------------------------------


def _of_entry(array: Array) -> Iterator[tuple[str, dict[str, Any]]]:
    n = array.nbytes
    for kind in ("F64", "I64", "U8", "F16", "BF16", "", 3, None):
        yield f"called {kind}", {"dtype": kind}
    for shape in ([], [n], [-1], [0], [1 << 62, 4], [1 << 47, 1 << 47], [1] * 40, None, [1.5], ["3"], [True]):
        yield f"of shape {shape}", {"shape": shape}
    for place in (
        [0, n + 1],
        [1, n + 1],
        [n, 0],
        [-8, n - 8],
        [1 << 62, (1 << 62) + n],
        [0],
        None,
        [0, 1 << 80],
    ):
        yield f"at {place}", {"data_offsets": place}


def _with_entry(data: bytes, name: str, entry: dict[str, Any], chance: random.Random) -> bytes:
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    metadata = header.pop("__metadata__")
    header[name].update(entry)
    del metadata["sum"]
    metadata["sum"] = _header_sum(header, metadata)
    text = json.dumps({"__metadata__": metadata, **header}).encode()
    return len(text).to_bytes(8, "little") + text + data[8 + size :]


# ---- the description ---------------------------------------------------------------------------

Edit = Callable[[Any, str | int, random.Random], None]


def _paths(value: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the paths to all entries of a tree of dicts and lists, inner ones too."""
    keys: list[Any] = list(value) if isinstance(value, dict) else list(range(len(value)))
    for key in keys:
        yield (*path, key)
        if isinstance(value[key], dict | list):
            yield from _paths(value[key], (*path, key))


def _at(value: Any, path: Path) -> Any:
    for key in path:
        value = value[key]
    return value


def _with_value(arrays: Arrays, about: About, path: Path, edit: Edit, chance: random.Random) -> bytes:
    changed = copy.deepcopy(about)
    edit(_at(changed, path[:-1]), path[-1], chance)
    return _packed(arrays, changed)


def _set(value: Any, owner: Any, key: str | int, chance: random.Random) -> None:
    owner[key] = value


def _dropped(owner: Any, key: str | int, chance: random.Random) -> None:
    del owner[key]


def _doubled(owner: Any, key: str | int, chance: random.Random) -> None:
    if isinstance(owner, list):
        owner.append(owner[int(key)])
    else:
        owner[f"{key}2"] = owner[key]


def _renamed(owner: Any, key: str | int, chance: random.Random) -> None:
    if isinstance(owner, dict):
        owner[f"{key}2"] = owner.pop(key)
    else:
        owner.insert(0, owner.pop(int(key)))


def _spliced(inserted: str, owner: Any, key: str | int, chance: random.Random) -> None:
    at = chance.randrange(len(owner[key]) + 1)
    owner[key] = owner[key][:at] + inserted + owner[key][at:]


def _of_value(value: Any) -> Iterator[tuple[str, Edit]]:
    yield "missing", _dropped
    yield "twice", _doubled
    yield "under another name", _renamed
    for other in VALUES:
        yield f"= {str(other)[:20]!r}", partial(_set, other)
    if isinstance(value, str):
        for changed in (value * 2, value[1:], value[:-1], value.upper(), value + " ", value * 5000):
            yield f"= {changed[:20]!r}", partial(_set, changed[: 1 << 20])
        for text in INSERTED:
            yield f"with {text!r}", partial(_spliced, text)
    elif isinstance(value, int | float):
        for number in (value + 1, value - 1, -value, 2 * value, 1000 * value, float(value), str(value)):
            yield f"= {number!r}", partial(_set, number)
    elif isinstance(value, list) and value:
        for some in (value[:-1], value[1:], value[::-1], value * 2, value * (20_000 // len(value) + 1)):
            yield f"of {len(some)}", partial(_set, some)
