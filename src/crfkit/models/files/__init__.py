"""Models in and out: crfkit's own file, and those of CRFsuite, CRF++, Wapiti and MALLET.

``read_model("usaddr.crfsuite")`` finds out the kind of a file by its content and returns a model of
sequences; ``write_model(model, "m.crfsuite", "crfsuite")`` writes one that the original program reads:
CRFsuite, CRF++ or Wapiti.
"""

from typing import TYPE_CHECKING

from crfkit._safe.lazy import lazily

if TYPE_CHECKING:
    from crfkit.models.files.convert import (
        guess_kind,
        load,
        load_bytes,
        read_model,
        read_model_bytes,
        write_model,
    )
    from crfkit.models.files.kinds import Kind, kinds, written
    from crfkit.models.files.mallet import doubled
    from crfkit.models.files.native import About, GraphFileError, about

__all__ = [
    "About",
    "GraphFileError",
    "Kind",
    "about",
    "doubled",
    "guess_kind",
    "kinds",
    "load",
    "load_bytes",
    "read_model",
    "read_model_bytes",
    "write_model",
    "written",
]

lazily(
    __name__,
    {
        "About": ".native",
        "GraphFileError": ".native",
        "Kind": ".kinds",
        "about": ".native",
        "doubled": ".mallet",
        "guess_kind": ".convert",
        "kinds": ".kinds",
        "load": ".convert",
        "load_bytes": ".convert",
        "read_model": ".convert",
        "read_model_bytes": ".convert",
        "write_model": ".convert",
        "written": ".kinds",
    },
)
