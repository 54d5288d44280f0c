"""Files of estimators that do more than their model: trees, kernels or voters beside the bytes of a model.

They are containers of `crfkit.models.store`, each of a kind of its own, which the class that wrote it opens.
Whatever may be wrong in one is a `ModelFileError` that names the file, also behind sums that are right.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from crfkit._safe.fields import Fields
from crfkit.data.sink import write_bytes
from crfkit.errors import ModelFileError
from crfkit.models.files.native import model_of, pieces
from crfkit.models.model import Model
from crfkit.models.store import file_bytes, pack, unpack
from crfkit.structures import Chain

__all__ = ["FileFields", "chain_of", "read_parts", "refusing", "write_parts"]

_MODEL: Final = "model"


class FileFields(Fields):
    """Fields of a file of a model or estimator.

    Examples
    --------
    >>> FileFields({"window": -1}, "b.crf").count("window")
    Traceback (most recent call last):
    crfkit.errors.ModelFileError: b.crf is damaged: window is -1, expected a count; copy it again from \
where it came, or save the model anew
    """

    def refuse(self, name: str, what: str) -> NoReturn:
        """Raise an error that says what a field is."""
        raise ModelFileError(self.source, f"is damaged: {self.place}{name} is {what}")


@contextmanager
def refusing(source: str) -> Iterator[None]:
    """Make a ModelFileError of whatever the contents of a file lead to.

    Examples
    --------
    >>> with refusing("m.crf"):
    ...     [][0]
    Traceback (most recent call last):
    crfkit.errors.ModelFileError: m.crf is damaged: list index out of range; copy it again from where \
it came, or save the model anew
    """
    try:
        yield
    except ModelFileError:
        raise
    except (AttributeError, LookupError, ArithmeticError, TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(source, f"is damaged: {error}") from None


def write_parts(
    path: str | os.PathLike[str],
    kind: str,
    model: Model,
    arrays: Mapping[str, NDArray[Any]],
    about: Mapping[str, Any],
) -> None:
    """Write a model, arrays and a description as a file of this kind, as a whole or not at all."""
    whole = np.frombuffer(b"".join(pieces(model)), dtype=np.uint8)
    write_bytes(path, pack({**arrays, _MODEL: whole}, about, kind=kind))


def read_parts(path: str | os.PathLike[str], kind: str) -> tuple[Model, FileFields]:
    """Return the model of a file, and all else that it holds, which nobody has checked yet."""
    source = os.fsdecode(path)
    arrays, about = unpack(file_bytes(path), source, kind=kind)
    both = sorted(set(arrays) & set(about))
    if both:
        raise ModelFileError(source, f"is damaged: it has {both[0]} twice")
    found = FileFields({**about, **arrays}, source)
    model = model_of(found.held(_MODEL, np.uint8, None).tobytes(), source)
    return model, found


def chain_of(model: Model, source: str) -> Chain:
    """Return the structure of a model that must be a chain."""
    if not isinstance(model.structure, Chain):
        raise ModelFileError(source, f"is damaged: its model is {model.structure.describe()}, not a chain")
    return model.structure
