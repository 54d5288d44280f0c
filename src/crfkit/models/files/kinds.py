"""The kinds of model files: crfkit's own, and a record for each kind of another program.

Functions are named, not imported, so that reading one kind does not load the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from crfkit.models.model import SequenceModel

Kind: TypeAlias = str

OWN: Kind = "crfkit"


@dataclass(frozen=True)
class Foreign:
    """A kind of model files of another program."""

    program: str  #: as its authors write it
    begins: tuple[bytes, ...]  #: with which its files begin
    #: Returns the model in the bytes of a file, for an `encoding`; or module.name of such a function.
    read: Callable[..., SequenceModel] | str
    #: Returns the bytes of a file, or refuses what it cannot hold; or module.name. None: it is only read.
    write: Callable[[SequenceModel], bytes] | str | None = None
    note: str = ""  #: what the help says of its files

    def reader(self) -> Callable[..., SequenceModel]:
        """Return the function that reads, loaded."""
        found: Callable[..., SequenceModel] = _loaded(self.read)
        return found

    def writer(self) -> Callable[[SequenceModel], bytes]:
        """Return the function that writes, loaded."""
        found: Callable[[SequenceModel], bytes] = _loaded(self.write)
        return found


FOREIGN: dict[Kind, Foreign] = {
    "crfsuite": Foreign("CRFsuite", (b"lCRF",), "crfsuite.read_crfsuite", "crfsuite_write.crfsuite_bytes"),
    "crfpp": Foreign(
        "CRF++",
        (b"version: ", b"\x64\0\0\0\0\0\0\0"),
        "crfpp.read_crfpp",
        "crfpp_write.crfpp_text",
        "text, for crf_learn -C",
    ),
    "wapiti": Foreign("Wapiti", (b"#mdl#",), "wapiti.read_wapiti", "wapiti_write.wapiti_text"),
    "mallet": Foreign("MALLET", (b"*** CRF STATES ***",), "mallet.read_mallet", note="CRF.print"),
}


def kinds() -> tuple[Kind, ...]:
    """Return the kinds of model files that can be read.

    Examples
    --------
    >>> kinds()
    ('crfkit', 'crfsuite', 'crfpp', 'wapiti', 'mallet')
    """
    return (OWN, *FOREIGN)


def written() -> tuple[Kind, ...]:
    """Return the kinds of model files that can be written.

    Examples
    --------
    >>> written()
    ('crfkit', 'crfsuite', 'crfpp', 'wapiti')
    """
    return (OWN, *(kind for kind, one in FOREIGN.items() if one.write is not None))


def _loaded(function: Any) -> Any:
    if not isinstance(function, str):
        return function
    module, _, name = function.rpartition(".")
    return getattr(import_module(f"crfkit.models.files.{module}"), name)
