"""Values that are made when they are first asked for, once, whichever thread asks.

A thread that asks while another makes the value waits. There is a lock for each value that is being made,
and none afterwards: objects do not wait for each other (before Python 3.12 those of a class do, with
`functools.cached_property`), and a child of a fork does not wait for a thread that it does not have.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, MutableMapping
from contextlib import AbstractContextManager
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")
_NOTHING: Any = object()


class _Making:
    """The locks of values that are being made, by process and whose they are."""

    __slots__ = ("_locks",)

    def __init__(self) -> None:
        self._locks: dict[tuple[int, object], AbstractContextManager[bool]] = {}

    def find_or_make(
        self, kept: MutableMapping[str, Any], name: str, whose: object, make: Callable[[], T]
    ) -> T:
        """Return the value of a name among those kept; the first who asks makes it."""
        key = (os.getpid(), whose)
        lock = self._locks.setdefault(key, threading.RLock())  # making one value may ask for it again
        try:
            with lock:
                found: T = kept.get(name, _NOTHING)
                if found is _NOTHING:
                    found = kept[name] = make()
        finally:
            self._locks.pop(key, None)
        return found


class once(Generic[T]):  # noqa: N801 - written as `property` is
    """A property that is made when it is first asked for and then kept, in the object's ``__dict__``.

    Examples
    --------
    >>> class Word:
    ...     @once
    ...     def letters(self):
    ...         return ["a", "b"]
    >>> word = Word()
    >>> word.letters is word.letters
    True
    """

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make, self._making = make, _Making()
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        """Take the name of the attribute."""
        self._name = name

    @overload
    def __get__(self, owner: None, kind: type | None = None) -> once[T]: ...
    @overload
    def __get__(self, owner: object, kind: type | None = None) -> T: ...
    def __get__(self, owner: object | None, kind: type | None = None) -> once[T] | T:
        """Make the value; afterwards Python finds it without asking here."""
        if owner is None:
            return self
        return self._making.find_or_make(owner.__dict__, self._name, id(owner), lambda: self._make(owner))


class Memo:
    """Keeps what functions made, by name.

    Examples
    --------
    >>> memo = Memo()
    >>> memo("table", lambda: [1]) is memo("table", lambda: [2])
    True
    """

    __slots__ = ("_made", "_making")

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}
        self._making = _Making()

    def __call__(self, name: str, make: Callable[[], T]) -> T:
        """Return the value of this name; the first who asks makes it, others wait."""
        found: T = self._made.get(name, _NOTHING)
        return self._making.find_or_make(self._made, name, name, make) if found is _NOTHING else found
