"""What a file holds, field by field: whoever takes a field says what it must be, and gets that or an error.

A checkpoint may be damaged in any way behind sums that are right. Each field is therefore taken through a
method that checks its type, shape and range; the error names the file, the field, what it is and what was
expected. Nothing is converted silently: what crfkit writes has these types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, isnan
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from crfkit._safe.printable import quoted
from crfkit.arrays import Floats, Ids, Pointers

_LARGEST = 1e150  # of a number that must be finite: its square is too
_MOST = 1 << 30  # of a count, so that products of counts and sizes stay far below 2^63


class Fields(dict[str, Any]):
    """Named values that nobody has checked yet.

    Parameters
    ----------
    given : mapping
    source : str
        What messages call the file.
    place : str
        Where in the file the mapping lies.
    remedy : str
        What to do about a damaged file; "" where another message says it.

    Examples
    --------
    >>> state = Fields({"w": np.zeros(3), "passes": -1}, "run/checkpoint.safetensors", "run/")
    >>> state.floats("w", 3).tolist()
    [0.0, 0.0, 0.0]
    >>> state.count("passes")
    Traceback (most recent call last):
    ValueError: run/checkpoint.safetensors is damaged: run/passes is -1, expected a count; remove it
    >>> state["gradient"]
    Traceback (most recent call last):
    ValueError: run/checkpoint.safetensors is damaged: run/gradient is missing; remove it
    """

    def __init__(
        self,
        given: Mapping[str, Any],
        source: str = "the given state",
        place: str = "",
        remedy: str = "remove it",
    ) -> None:
        super().__init__(given)
        self.source, self.place, self.remedy = source, place, remedy

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Fields:
        """Return the fields of a mapping, itself where it has its source."""
        return given if isinstance(given, Fields) else cls(given)

    def __missing__(self, name: str) -> NoReturn:
        self.refuse(name, "missing")

    def refuse(self, name: str, what: str) -> NoReturn:
        """Raise an error that says what a field is."""
        remedy = f"; {self.remedy}" if self.remedy else ""
        raise ValueError(f"{self.source} is damaged: {self.place}{name} is {what}{remedy}")

    def wrong(self, name: str, expected: str) -> NoReturn:
        """Raise an error that says what a field should be."""
        self.refuse(name, f"{_described(self[name])}, expected {expected}")

    # ---- one value

    def number(self, name: str, *, least: float = -inf, most: float = inf, finite: bool = True) -> float:
        """Return a number within bounds; one that need not be `finite` may be nan."""
        value = _as_float(self[name])
        if value is None or (finite and not abs(value) <= _LARGEST) or value < least or value > most:
            self.wrong(name, "a finite number in range" if finite else "a number in range")
        return value

    def bounds(self, *names: str) -> list[float]:
        """Return numbers, each of which may be infinite but not nan."""
        found = [self.number(name, finite=False) for name in names]
        for name, value in zip(names, found, strict=True):
            if isnan(value):
                self.wrong(name, "a number")
        return found

    def count(self, name: str, most: int = _MOST) -> int:
        """Return a whole number from 0 on."""
        value = self[name]
        if type(value) is not int or not 0 <= value <= most:
            self.wrong(name, "a count" if most == _MOST else f"a whole number from 0 to {most:,}")
        return value

    def place_of(self, name: str, size: int) -> int:
        """Return the number of one of `size` things, or -1."""
        value = self[name]
        if type(value) is not int or not -1 <= value < size:
            self.wrong(name, f"a whole number from -1 to {size - 1:,}")
        return value

    def flag(self, name: str) -> bool:
        """Return a truth value, which may be written as 0 or 1."""
        value = self[name]
        if type(value) not in (bool, int) or value not in (0, 1):
            self.wrong(name, "true or false")
        return bool(value)

    def text(self, name: str, among: Sequence[str] | None = None) -> str:
        """Return a string, perhaps one of some."""
        value = self[name]
        if not isinstance(value, str) or (among is not None and value not in among):
            self.wrong(name, "text" if among is None else f"one of {', '.join(map(repr, among))}")
        return value

    def has(self, name: str) -> bool:
        """Return whether a field that may be None is not."""
        return self[name] is not None

    # ---- arrays

    def any_array(self, name: str) -> NDArray[Any]:
        """Return an array itself, of any type and shape."""
        value = self[name]
        if not isinstance(value, np.ndarray):
            self.wrong(name, "an array")
        return value

    def held(self, name: str, dtype: Any, *shape: int | None) -> NDArray[Any]:
        """Return an array itself, of this type and shape; None stands for any length."""
        value, wanted = self[name], np.dtype(dtype)
        fits = isinstance(value, np.ndarray) and value.dtype == wanted and value.ndim == len(shape)
        if not fits or any(n is not None and n != m for n, m in zip(shape, value.shape, strict=True)):
            sizes = ", ".join("any" if n is None else str(n) for n in shape)
            self.wrong(name, f"an array of {wanted} [{sizes}]")
        if wanted == np.bool_ and (value.view(np.uint8) > 1).any():
            self.refuse(name, "neither true nor false somewhere")
        made: NDArray[Any] = value
        return made

    def array(self, name: str, dtype: Any, *shape: int | None) -> NDArray[Any]:
        """Return a copy of an array of this type and shape; None stands for any length."""
        return np.array(self.held(name, dtype, *shape), order="C")

    def floats(
        self, name: str, *shape: int | None, finite: bool = True, least: float = -inf, dtype: Any = np.float64
    ) -> Floats:
        """Return a copy of numbers, not below the least; those that need not be finite may be nan too."""
        made: Floats = self.array(name, dtype, *shape)
        if finite and not float(np.abs(made).max(initial=0.0)) <= _LARGEST:  # nan is not
            self.refuse(name, "not finite, or too large to compute with")
        if float(made.min(initial=inf)) < least:
            self.refuse(name, f"partly below {least:g}")
        return made

    def integers(self, name: str, *shape: int | None, below: int, least: int = 0) -> Pointers:
        """Return a copy of whole numbers [least, below)."""
        made: Pointers = self.array(name, np.int64, *shape)
        self.check_range(name, made, below, least)
        return made

    def ids(self, name: str, *shape: int | None, below: int, least: int = 0) -> Ids:
        """Return a copy of ids [least, below), 32 bits each."""
        made: Ids = self.array(name, np.int32, *shape)
        self.check_range(name, made, below, least)
        return made

    def extended(self, name: str, *shape: int | None) -> Floats:
        """Return a copy of numbers that may be infinite, but not nan."""
        made = self.floats(name, *shape, finite=False)
        if np.isnan(made).any():
            self.refuse(name, "partly nan")
        return made

    def numbers(self, name: str, *, finite: bool = True, most: int | None = None) -> list[float]:
        """Return a list of at most `most` numbers, which may be written as an array."""
        value = self[name]
        if isinstance(value, np.ndarray):
            made: list[float] = self.floats(name, None, finite=finite).tolist()
        else:
            found = [_as_float(x) for x in value] if isinstance(value, list) else [None]
            made = [x for x in found if x is not None and (abs(x) <= _LARGEST or not finite)]
            if len(made) < len(found):
                self.wrong(name, "a list of finite numbers" if finite else "a list of numbers")
        if most is not None and len(made) > most:
            self.refuse(name, f"a list of {len(made):,} numbers, expected {most:,} at most")
        return made

    def check_range(self, name: str, made: NDArray[Any], below: int, least: int = 0) -> None:
        """Refuse an array with whole numbers outside [least, below)."""
        if made.size and not least <= made.min() <= made.max() < below:
            self.refuse(name, f"an array of {made.min()} to {made.max()}, expected {least} to {below - 1}")

    # ---- fields of fields

    def part(self, name: str) -> Fields:
        """Return a mapping inside this one."""
        value = self[name]
        if not isinstance(value, Mapping):
            self.wrong(name, "named values")
        return self._inside(value, name)

    def parts(self, name: str, count: int) -> list[Fields]:
        """Return a list of `count` mappings."""
        items = self.items_of(name, count)
        return [items.part(str(i)) for i in range(count)]

    def items_of(self, name: str, count: int) -> Fields:
        """Return a list of `count` values, which are called "0", "1", ..."""
        value = self[name]
        if not isinstance(value, list | tuple) or len(value) != count:
            self.wrong(name, f"a list of {count:,}")
        return self._inside({str(i): x for i, x in enumerate(value)}, name)

    def _inside(self, given: Mapping[str, Any], name: str) -> Fields:
        return type(self)(given, self.source, f"{self.place}{name}/", self.remedy)


def _as_float(value: object) -> float | None:
    """Return a number as a float; None where it is something else, or too large for one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def _described(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} [{', '.join(map(str, value.shape))}]"
    if isinstance(value, float) and isnan(value):
        return "nan"
    if isinstance(value, int) and abs(value) > _MOST * _MOST:  # which may have millions of digits
        return "a huge number"
    if value is None or isinstance(value, bool | int | float):
        return repr(value)
    if isinstance(value, str):
        return quoted(value, 40)
    if isinstance(value, list | tuple | Mapping):
        return f"a {type(value).__name__} of {len(value):,}"
    return f"a {type(value).__name__}"
