"""Drop-in replacements of other CRF packages: programs run on crfkit with one changed import.

``import crfkit.compat.pycrfsuite as pycrfsuite`` stands in for python-crfsuite 0.9.12,
``import crfkit.compat.sklearn_crfsuite as sklearn_crfsuite`` for sklearn-crfsuite 0.5.0. Model files are
CRFsuite's own, in both directions. ``crfkit.compat.torchcrf`` and ``crfkit.compat.torch_struct`` stand in for
pytorch-crf 0.7.2 and for the chains of torch-struct 0.5, where torch is installed. For programs that cannot
be changed, and for pickles that name the original modules, `install` puts the replacements under the original
names.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec

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
    "torchcrf": ("",),
    "torch_struct": ("", ".distributions", ".semirings"),
}
_NEED_TORCH = {"torchcrf", "torch_struct"}


def install(*names: str, force: bool = False) -> tuple[str, ...]:
    """Make ``import pycrfsuite`` (or another of these names) mean crfkit's replacement, in this process.

    Pickles name the modules of their classes: after this, those of ``sklearn_crfsuite.CRF`` open without
    sklearn-crfsuite. Unpickle only what you trust, as always: a pickle may run any program.

    Parameters
    ----------
    *names : str
        Which packages to stand in for, which must not be installed; default: those that are not.
    force : bool
        Stand in for installed packages too. One that is imported already is still an error: part of the
        program would go on with the original.

    Returns
    -------
    tuple of str
        The packages that crfkit stands in for now.

    Examples
    --------
    >>> import joblib
    >>> install()  # doctest: +SKIP
    ('pycrfsuite', 'sklearn_crfsuite', 'torchcrf', 'torch_struct')
    >>> crf = joblib.load("old.pkl")  # doctest: +SKIP
    >>> crfkit.load(crf.modelfile.name).save("new.crf")  # doctest: +SKIP
    """
    for name in names:
        if name not in _MODULES:
            raise ValueError(f"crfkit does not replace {name!r}; it replaces {', '.join(_MODULES)}")
    made = []
    with_torch = find_spec("torch") is not None
    for name in names or [name for name in _MODULES if with_torch or name not in _NEED_TORCH]:
        present = sys.modules.get(name)
        ours = present is not None and present.__name__.startswith(__name__)
        if not ours and not force and (present is not None or find_spec(name) is not None):
            if names:
                raise RuntimeError(
                    f"{name} is installed: install({name!r}, force=True) puts crfkit in its place"
                )
            continue  # the original opens its own pickles
        if present is not None and not ours:
            raise RuntimeError(f"{name} is imported already: call install before the first import of it")
        for part in _MODULES[name]:
            if part == ".scorers" and find_spec("sklearn") is None:
                continue
            sys.modules[name + part] = import_module(f"{__name__}.{name}{part}")
        made.append(name)
    return tuple(made)
