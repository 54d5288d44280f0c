"""Faces of other CRF packages: programs written for them run on crfkit with one changed import.

``import crfkit.compat.pycrfsuite as pycrfsuite`` stands in for python-crfsuite 0.9.12,
``import crfkit.compat.sklearn_crfsuite as sklearn_crfsuite`` for sklearn-crfsuite 0.5.0. Model files are
CRFsuite's own, in both directions. For programs that cannot be changed, and for pickles that name the
original modules, `install` puts the faces under the original names.
"""

from __future__ import annotations

import sys
from importlib import import_module

__all__ = ["install"]

_MODULES = {
    "pycrfsuite": ("", "._pycrfsuite", "._logparser", "._dumpparser"),
    "sklearn_crfsuite": (
        "",
        ".estimator",
        ".metrics",
        ".scorers",
        ".trainer",
        ".utils",
        ".compat",
        "._fileresource",
    ),
}


def install(*names: str) -> None:
    """Make ``import pycrfsuite`` (or ``sklearn_crfsuite``) mean crfkit's face, in this process.

    Parameters
    ----------
    *names : str
        Which packages to stand in for; default: both. One that is imported already is an error: part of
        the program would go on with the original.

    Examples
    --------
    >>> install("pycrfsuite")  # doctest: +SKIP
    >>> import pycrfsuite  # doctest: +SKIP
    >>> pycrfsuite.Tagger.__module__  # doctest: +SKIP
    'crfkit.compat.pycrfsuite._tagger'
    """
    for name in names or tuple(_MODULES):
        if name not in _MODULES:
            raise ValueError(f"there is no face of {name!r}; there are: {', '.join(_MODULES)}")
        present = sys.modules.get(name)
        if present is not None and not present.__name__.startswith(__name__):
            raise RuntimeError(f"{name} is imported already: call install before the first import of it")
        for part in _MODULES[name]:
            if part == ".scorers" and not _has_sklearn():
                continue
            sys.modules[name + part] = import_module(f"{__name__}.{name}{part}")


def _has_sklearn() -> bool:
    from importlib.util import find_spec

    return find_spec("sklearn") is not None
