"""Values that are made when they are first asked for, once, whichever thread asks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["Memo"]

T = TypeVar("T")


class Memo:
    """Keeps what functions made, by name.

    Examples
    --------
    >>> memo = Memo()
    >>> memo("table", lambda: [1]) is memo("table", lambda: [2])
    True
    """

    __slots__ = ("_lock", "_made")

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}
        self._lock = threading.RLock()  # making one value may ask for another

    def __call__(self, name: str, make: Callable[[], T]) -> T:
        """Return the value of this name; the first who asks makes it, others wait."""
        if name not in self._made:
            with self._lock:
                if name not in self._made:
                    self._made[name] = make()
        found: T = self._made[name]
        return found
