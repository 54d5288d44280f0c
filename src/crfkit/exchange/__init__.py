"""Models in and out: crfkit's own file, and those of CRFsuite, CRF++, Wapiti and MALLET.

``read_model("usaddr.crfsuite")`` tells the kind of a file by what is in it and returns a `crfkit.Model`;
``write_model(model, "m.crfsuite", "crfsuite")`` writes one that the original program reads.
"""

from crfkit.exchange.convert import KINDS, Kind, guess_kind, read_model, read_model_bytes, write_model
from crfkit.exchange.mallet import doubled
from crfkit.exchange.native import About, about

__all__ = [
    "KINDS",
    "About",
    "Kind",
    "about",
    "doubled",
    "guess_kind",
    "read_model",
    "read_model_bytes",
    "write_model",
]
