"""Public names of a package that are loaded when they are first used, so that importing it stays cheap."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any


def lazily(package: str, homes: Mapping[str, str], modules: Iterable[str] = ()) -> Callable[[str], Any]:
    """Set, and return, ``__getattr__`` of a package (PEP 562), and its ``__dir__``.

    They are set here, not written in the package, where type checkers would accept any name.

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
    >>> import sys
    >>> from types import ModuleType
    >>> sys.modules["shop"] = shop = ModuleType("shop")
    >>> _ = lazily("shop", {"Decimal": "decimal"})
    >>> shop.Decimal("1.5")
    Decimal('1.5')
    >>> shop.Table
    Traceback (most recent call last):
    AttributeError: module 'shop' has no attribute 'Table'
    >>> del sys.modules["shop"]
    """
    within = {*modules}

    def get(name: str) -> Any:
        if name in within:
            return import_module(f"{package}.{name}")
        if name not in homes:
            from crfkit._safe.name_hints import missing

            raise missing(package, name)
        value = getattr(import_module(homes[name], package), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        known = vars(sys.modules[package])
        return sorted({*known, *known["__all__"]})

    module = sys.modules[package]
    vars(module).update(__getattr__=get, __dir__=names)
    return get
