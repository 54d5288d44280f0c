"""Models in and out: crfkit's own file, and those of CRFsuite, CRF++, Wapiti and MALLET.

``read_model("usaddr.crfsuite")`` finds out the kind of a file by its content and returns a `crfkit.Model`;
``write_model(model, "m.crfsuite", "crfsuite")`` writes one that the original program reads:
CRFsuite, CRF++ or Wapiti.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crfkit.models.files.convert import guess_kind, read_model, read_model_bytes, write_model
    from crfkit.models.files.kinds import Kind, kinds, written
    from crfkit.models.files.mallet import doubled
    from crfkit.models.files.native import About, about

__all__ = [
    "About",
    "Kind",
    "about",
    "doubled",
    "guess_kind",
    "kinds",
    "read_model",
    "read_model_bytes",
    "write_model",
    "written",
]

_HOMES = {
    "About": "native",
    "Kind": "kinds",
    "about": "native",
    "doubled": "mallet",
    "guess_kind": "convert",
    "kinds": "kinds",
    "read_model": "convert",
    "read_model_bytes": "convert",
    "write_model": "convert",
    "written": "kinds",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'crfkit.models.files' has no attribute {name!r}")
    value = getattr(import_module(f"crfkit.models.files.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
