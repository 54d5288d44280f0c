"""A fork waits for the imports of other threads.

The child has the locks of modules that were being imported, without the threads that would give them back, so
that it would wait for ever when it imports such a module itself. Names of crfkit are loaded when they are
first used: the first query or training of a process imports.
"""

from __future__ import annotations

import sys
from importlib import import_module

__all__ = ["wait_for_imports"]

#: Packages that crfkit imports when it needs them; nothing is known of how long others may take.
_WAITED_FOR = frozenset({"crfkit", "numpy", "scipy", "sklearn", "rich", "typer"})


def wait_for_imports() -> None:
    """Return when no other thread imports a module of crfkit, or of a package that it needs.

    Examples
    --------
    >>> wait_for_imports()
    """
    while names := _unfinished():
        for name in names:
            try:
                import_module(name)
            except Exception:  # the thread that imports it is told
                continue
        if _unfinished() == names:
            return  # this thread imports them


def _unfinished() -> list[str]:
    """Return the modules whose import has begun and not ended."""
    return [
        name
        for name, module in list(sys.modules.items())
        if getattr(getattr(module, "__spec__", None), "_initializing", False)
        and name.partition(".")[0] in _WAITED_FOR
    ]
