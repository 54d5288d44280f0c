"""Parameters as plain data: what JSON can hold, and what is made again of it.

Numbers, texts and lists stay; all else is a mapping of one key, which says what it is: ``tuple``, ``map``,
``number`` (nan, inf), ``array``, ``pattern``, ``end`` (of sequences), or ``kind``, the public name of a
dataclass such as ``objectives.Likelihood``, with its ``fields``. Functions are not data (`UnkeptError`).
Nothing of a file is trusted: only dataclasses that are public names of `ROOMS` are made.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any, Final

import numpy as np

from crfkit._safe.printable import quoted
from crfkit.structures.matching import Boundary

#: Sub-packages whose public dataclasses are values of parameters.
ROOMS: Final = (
    "structures",
    "objectives",
    "optimize",
    "optimize.classic",
    "linear.features",
    "training",
    "training.stop",
    "constraints",
    "inference.methods",
    "text",
)


class UnkeptError(TypeError):
    """A value is not data, such as a function."""


def plain_of(value: Any) -> Any:
    """Return a value as plain data; raise `UnkeptError` where it is none.

    Examples
    --------
    >>> from crfkit import Stop
    >>> plain_of((1, None))
    {'tuple': [1, None]}
    >>> value_of(plain_of(Stop(max_iterations=5))) == Stop(max_iterations=5)
    True
    >>> plain_of(len)
    Traceback (most recent call last):
    crfkit.models.values.UnkeptError: a builtin_function_or_method is not data
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, np.generic):
        return plain_of(value.item())
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"number": str(value)}
    if isinstance(value, list):
        return [plain_of(one) for one in value]
    if isinstance(value, tuple):
        return {"tuple": [plain_of(one) for one in value]}
    if isinstance(value, Mapping):
        return {"map": [[plain_of(key), plain_of(one)] for key, one in value.items()]}
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return {"array": [value.dtype.str, list(value.shape), [plain_of(x) for x in value.ravel().tolist()]]}
    if isinstance(value, Boundary):
        return {"end": value.name}
    if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
        return {"pattern": [value.pattern, value.flags]}
    name = _public(type(value)) if is_dataclass(value) else None
    if name is None:
        raise UnkeptError(f"a {type(value).__name__} is not data")
    made = {f.name: plain_of(getattr(value, f.name)) for f in fields(value) if f.init}
    return {"kind": name, "fields": made}


def value_of(plain: Any) -> Any:
    """Return the value that `plain_of` described; raise a ValueError or TypeError on anything else."""
    if isinstance(plain, list):
        return [value_of(one) for one in plain]
    if not isinstance(plain, dict):
        return plain
    found: tuple[str, Any] = next(iter(plain.items()), ("nothing", None))
    what, given = found
    if what == "number" and given in ("nan", "inf", "-inf"):
        return float(given)
    if what == "tuple":
        return tuple(value_of(list(given)))
    if what == "map":
        return {value_of(key): value_of(one) for key, one in given}
    if what == "array":
        dtype, shape, values = given
        if np.dtype(dtype).kind not in "biuf":
            raise ValueError(f"an array of {quoted(str(dtype))} is not a parameter")
        return np.array(value_of(values), dtype=dtype).reshape(shape)
    if what == "end":
        return Boundary[given]
    if what == "pattern":
        return re.compile(*given)
    if what == "kind":
        room, _, name = str(given).rpartition(".")
        module = import_module(f"crfkit.{room}") if room in ROOMS else None
        kind = getattr(module, name) if module is not None and name in module.__all__ else None
        if not (isinstance(kind, type) and is_dataclass(kind)):
            raise ValueError(f"{quoted(str(given))} is not a kind of parameter")
        return kind(**{key: value_of(one) for key, one in plain["fields"].items()})
    raise ValueError(f"{quoted(str(what))} is not a value of a parameter")


def _public(kind: type) -> str | None:
    """Return the public name of a class of `ROOMS`; None where it has none."""
    nearest = sorted(ROOMS, key=lambda room: not kind.__module__.startswith(f"crfkit.{room}"))
    for room in nearest:  # its own first: others are then not loaded
        module = import_module(f"crfkit.{room}")
        if kind.__name__ in module.__all__ and getattr(module, kind.__name__) is kind:
            return f"{room}.{kind.__name__}"
    return None
