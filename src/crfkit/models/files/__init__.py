"""Models in and out: crfkit's own file, and those of CRFsuite, CRF++, Wapiti and MALLET.

``read_model("usaddr.crfsuite")`` tells the kind of a file by what is in it and returns a `crfkit.Model`;
``write_model(model, "m.crfsuite", "crfsuite")`` writes one that the original program reads:
CRFsuite, CRF++ or Wapiti.
"""

from typing import TYPE_CHECKING, Any

from crfkit.models.files.convert import (
    KINDS,
    WRITTEN,
    Kind,
    guess_kind,
    read_model,
    read_model_bytes,
    write_model,
)
from crfkit.models.files.native import About, about

if TYPE_CHECKING:
    from crfkit.models.files.mallet import doubled

__all__ = [
    "KINDS",
    "WRITTEN",
    "About",
    "Kind",
    "about",
    "doubled",
    "guess_kind",
    "read_model",
    "read_model_bytes",
    "write_model",
]


def __getattr__(name: str) -> Any:
    if name == "doubled":  # readers of foreign files are loaded when they are needed
        from crfkit.models.files.mallet import doubled

        return doubled
    raise AttributeError(f"module 'crfkit.models.files' has no attribute {name!r}")
