"""Reading a model of any kind by what is in the file, and writing one of the kinds that can be written."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Literal

import numpy as np

from crfkit.data.sink import write_bytes
from crfkit.models.files.native import model_of
from crfkit.models.files.pickled import refuse_pickle
from crfkit.models.model import Model
from crfkit.models.store import ModelFileError, looks_like_model_file, map_file, unzipped

__all__ = ["KINDS", "WRITTEN", "Kind", "guess_kind", "read_model", "read_model_bytes", "write_model"]

Kind = Literal["crfkit", "crfsuite", "crfpp", "wapiti", "mallet"]
#: Kinds of model files that can be read, and those that can be written.
KINDS: tuple[Kind, ...] = ("crfkit", "crfsuite", "crfpp", "wapiti", "mallet")
WRITTEN: tuple[Kind, ...] = ("crfkit", "crfsuite", "crfpp", "wapiti")
_NAMES = {"crfsuite": "CRFsuite", "crfpp": "CRF++", "wapiti": "Wapiti", "mallet": "MALLET"}


def guess_kind(data: bytes | memoryview) -> Kind | None:
    """Tell what kind of model file begins with these bytes; None: no known one.

    Examples
    --------
    >>> guess_kind(b"lCRF....FOMC"), guess_kind(b"#mdl#2#10"), guess_kind(b"word tag")
    ('crfsuite', 'wapiti', None)
    """
    beginning = bytes(data[:64])
    if beginning.startswith(b"lCRF"):
        return "crfsuite"
    if beginning.startswith(b"#mdl#"):
        return "wapiti"
    if beginning.startswith((b"version: ", b"\x64\0\0\0\0\0\0\0")):
        return "crfpp"
    if beginning.startswith(b"*** CRF STATES ***"):
        return "mallet"
    return "crfkit" if looks_like_model_file(beginning) else None


def read_model(path: str | os.PathLike[str], kind: Kind | None = None, *, encoding: str = "utf-8") -> Model:
    """Read a model file of any kind, gzip or plain.

    Parameters
    ----------
    path : path
    kind : {"crfkit", "crfsuite", "crfpp", "wapiti", "mallet"}, optional
        What the file is; guessed from its beginning when it is not given. CRF++'s may be text or binary,
        MALLET's are those that ``CRF.print`` writes.
    encoding : str
        Of the names in foreign files.

    Raises
    ------
    ValueError
        The file is no such model, is damaged, or says something that crfkit cannot; the message names the
        file and the remedy.
    """
    return read_model_bytes(map_file(path), kind, encoding=encoding, source=os.fspath(path))


def read_model_bytes(
    data: bytes | memoryview, kind: Kind | None = None, *, encoding: str = "utf-8", source: str = "the data"
) -> Model:
    """Read a model of any kind from the bytes of its file; see `read_model`.

    Examples
    --------
    >>> from crfkit import train
    >>> from crfkit.models.files.crfsuite_write import crfsuite_bytes
    >>> from crfkit.features import ItemExtractor
    >>> model = train(ItemExtractor()([[["the"], ["dog"]]], [["D", "N"]]))
    >>> read_model_bytes(crfsuite_bytes(model)).labels.strings()
    ['D', 'N']
    """
    if kind is not None and kind not in KINDS:
        raise ValueError(f"kind is {kind!r}, expected one of {', '.join(KINDS)}")
    try:
        "".encode(encoding)
    except LookupError:
        raise ValueError(f"encoding is {encoding!r}, which Python does not know") from None
    data = unzipped(data, source)
    kind = kind or guess_kind(data)
    if kind is None:
        refuse_pickle(data, source)
        raise ModelFileError(
            source,
            "is not a model that crfkit knows",
            "give one of crfkit, CRFsuite, CRF++, Wapiti or MALLET (CRF.print)",
        )
    if kind == "crfkit":
        return model_of(data, source)
    try:
        with np.errstate(all="ignore"):  # numbers that are none are found by looking for them
            return _reader(kind, data)(data, encoding=encoding)
    except (ValueError, OverflowError, RecursionError) as error:
        raise ModelFileError(
            source,
            f"cannot be read as a model of {_NAMES[kind]}: {error}",
            "if it should be one, copy it again from where it came, or write it anew",
        ) from None


def _reader(kind: Kind, data: bytes | memoryview) -> Callable[..., Model]:
    """Return the reader of a foreign kind; the others are not even imported."""
    if kind == "crfsuite":
        from crfkit.models.files.crfsuite import read_crfsuite

        return read_crfsuite
    if kind == "wapiti":
        from crfkit.models.files.wapiti import read_wapiti

        return read_wapiti
    if kind == "mallet":
        from crfkit.models.files.mallet import read_mallet

        return read_mallet
    from crfkit.models.files.crfpp import read_crfpp_binary, read_crfpp_text

    return read_crfpp_text if bytes(data[:8]) == b"version:" else read_crfpp_binary


def write_model(model: Model, path: str | os.PathLike[str], kind: Kind = "crfkit") -> None:
    """Write a model as a file of a kind, as a whole or not at all.

    Parameters
    ----------
    model : Model
    path : path
    kind : {"crfkit", "crfsuite", "crfpp", "wapiti"}
        CRF++'s are text models, which ``crf_learn -C`` makes binary ones of.

    Raises
    ------
    ValueError
        The model has what such a file cannot hold; the message says what, and the remedy. CRFsuite's have
        weights of (attribute, label) and (label, label) pairs only; CRF++'s and Wapiti's need a template of
        their own dialect, and have no start and stop weights, no order above 1 and no constraints.

    Examples
    --------
    >>> import os, tempfile
    >>> from crfkit import train
    >>> from crfkit.features import Extractor, parse_wapiti
    >>> from crfkit.data.formats.columns import Columns
    >>> extract = Extractor(parse_wapiti("u:%x[0,0]"))
    >>> model = train(extract(Columns.from_rows([[("the", "D"), ("dog", "N")]])), extractor=extract)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "m.wapiti")
    ...     write_model(model, path, "wapiti")
    ...     read_model(path).attributes.strings()
    ['u:the', 'u:dog']
    """
    if kind == "crfkit":
        model.save(path)
    elif kind in WRITTEN:
        data = _writer(kind)(model)  # as a whole, before there is a file
        write_bytes(path, [data])
    else:
        raise ValueError(f"kind is {kind!r}; {', '.join(WRITTEN)} are the kinds that can be written")


def _writer(kind: Kind) -> Callable[[Model], bytes]:
    """Return the writer of a foreign kind; the others are not even imported."""
    if kind == "crfsuite":
        from crfkit.models.files.crfsuite_write import crfsuite_bytes

        return crfsuite_bytes
    if kind == "wapiti":
        from crfkit.models.files.wapiti_write import wapiti_text

        return wapiti_text
    from crfkit.models.files.crfpp_write import crfpp_text

    return crfpp_text
