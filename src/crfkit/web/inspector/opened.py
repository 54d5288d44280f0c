"""Models as they were opened, and whether their files are still what they were."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from crfkit.models.model import SequenceModel

__all__ = ["Opened", "opened"]


@dataclass(frozen=True)
class Opened:
    """A model of sequences and the file that it is from, where it is from one.

    Examples
    --------
    >>> from crfkit import ChainCRF
    >>> model = ChainCRF().fit([["in", "York"]], [["O", "B-LOC"]]).model_
    >>> one = opened(model)
    >>> one.name, one.note, one.labels
    ('model', '', ['O', 'B-LOC'])
    """

    model: SequenceModel
    name: str
    path: str = ""  #: "" where it is from no file
    stamp: tuple[int, ...] = ()  #: of the file when it was opened

    @property
    def labels(self) -> list[str]:
        """The labels of its chain or segments."""
        return list(self.model.structure.labels)

    @property
    def note(self) -> str:
        """What has become of the file meanwhile; empty where it is as it was."""
        if not self.path:
            return ""
        now = _stamp(self.path)
        if not now:
            return f"{self.name} is no longer there; this is the model as it was opened"
        return "" if now == self.stamp else f"{self.name} has changed since; start again to see the new one"


def opened(model: SequenceModel | str | os.PathLike[str]) -> Opened:
    """Return a model, or the one of a file; refuse graphs and models that read no text or columns."""
    if not isinstance(model, str | os.PathLike):
        return Opened(_checked(model, "the model"), "model")
    from crfkit.models.files import GraphFileError, read_model

    path = os.fspath(model)
    stamp = _stamp(path)
    try:
        found = read_model(path)
    except GraphFileError:
        raise ValueError(_GRAPHS.format(path)) from None
    return Opened(_checked(found, path), os.path.basename(path), path, stamp)


_GRAPHS = "{} is a model of graphs; the inspector shows chains and segments. crfkit show prints what is in it"


def _checked(model: Any, name: str) -> SequenceModel:
    if not isinstance(model, SequenceModel):
        raise ValueError(_GRAPHS.format(name))
    if model.feature_map is not None:
        raise ValueError(f"{name} reads {model.feature_map.takes}, which cannot be read from text")
    return model


def _stamp(path: str) -> tuple[int, ...]:
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return (found.st_ino, found.st_size, found.st_mtime_ns)
