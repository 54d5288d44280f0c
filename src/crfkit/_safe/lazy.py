"""Public names of a package that are loaded when they are first used, so that importing it stays cheap."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any


def lazily(
    package: str, homes: Mapping[str, str], modules: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package (PEP 562).

    Parameters
    ----------
    package : str
        Its ``__name__``.
    homes : mapping
        Public name -> module that it comes from; one that begins with a dot lies in the package.
    modules : iterable of str
        Modules of the package that are public names themselves.

    Examples
    --------
    >>> get, names = lazily("crfkit.data", {"Dataset": ".dataset"})
    >>> get("Dataset").__name__, "Dataset" in names()
    ('Dataset', True)
    >>> get("Table")
    Traceback (most recent call last):
    AttributeError: module 'crfkit.data' has no attribute 'Table'
    """
    within = {*modules}

    def get(name: str) -> Any:
        if name in within:
            return import_module(f"{package}.{name}")
        if name not in homes:
            from crfkit._safe.elsewhere import missing

            raise missing(package, name)
        value = getattr(import_module(homes[name], package), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        known = vars(sys.modules[package])
        return sorted({*known, *known["__all__"]})

    return get, names
