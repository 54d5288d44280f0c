"""Objects that come back from pickles and copies: what these hold is checked as what a constructor is given.

A pickle may be damaged, or of another version. Whoever opens one gets a ValueError that says so, and not an
AttributeError or an IndexError in some later query. Pickles can run code: open only those that you trust.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any, ClassVar, TypeAlias

__all__ = ["NOTHING", "Kinds", "Restored", "restoring", "taken"]

#: Name of a field -> what it must be; fields that are not named here are checked by the constructor.
Kinds: TypeAlias = Mapping[str, type | tuple[type, ...]]
NOTHING = type(None)


@contextmanager
def restoring(what: str) -> Iterator[None]:
    """Make one ValueError of all that a damaged state leads to.

    Examples
    --------
    >>> with restoring("Model"):
    ...     len(None)
    Traceback (most recent call last):
    ValueError: the pickled Model is damaged: object of type 'NoneType' has no len(); make it anew
    """
    try:
        yield
    except (AttributeError, LookupError, ArithmeticError, TypeError, ValueError, AssertionError) as error:
        said = str(error).removesuffix("; make it anew")
        raise ValueError(f"the pickled {what} is damaged: {said}; make it anew") from None


def taken(state: object, needed: Iterable[str], kinds: Kinds) -> dict[str, Any]:
    """Return the state of an object as named values; those that are needed are there, all of the right kind.

    Examples
    --------
    >>> taken({"w": 1}, ["w", "names"], {})
    Traceback (most recent call last):
    ValueError: names is missing
    """
    if not isinstance(state, dict):
        raise ValueError(f"its state is a {type(state).__name__}, expected named values")
    for name in needed:
        if name not in state:
            raise ValueError(f"{name} is missing")
    for name, kind in kinds.items():
        if name in state and not isinstance(state[name], kind):
            raise ValueError(f"{name} is a {type(state[name]).__name__}")
    return state


@dataclass(frozen=True, eq=False)
class Restored:
    """A frozen dataclass whose copies and pickles hold its fields alone and go through its constructor.

    Examples
    --------
    >>> import pickle
    >>> @dataclass(frozen=True)
    ... class Share(Restored):
    ...     of: float
    ...
    ...     def __post_init__(self) -> None:
    ...         if not 0.0 <= self.of <= 1.0:
    ...             raise ValueError(f"of is {self.of}, expected 0 to 1")
    >>> Share(0.5).__setstate__({"of": 7})
    Traceback (most recent call last):
    ValueError: the pickled Share is damaged: of is 7, expected 0 to 1; make it anew
    """

    _kinds: ClassVar[Kinds] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields, without what was made of them since."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.init}

    def __setstate__(self, state: object) -> None:
        """Take the fields, checked."""
        with restoring(type(self).__name__):
            names = [f.name for f in fields(self) if f.init]
            given = taken(state, (), self._kinds)
            type(self).__init__(self, **{name: given[name] for name in names if name in given})
