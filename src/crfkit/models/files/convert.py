"""Reading a model of any kind by what is in the file, and writing one of the kinds that can be written."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from crfkit.data.sink import write_bytes
from crfkit.errors import ModelFileError
from crfkit.models.files.kinds import FOREIGN, OWN, Kind, kinds, written
from crfkit.models.files.native import any_model_of, model_of
from crfkit.models.files.pickled import refuse_pickle
from crfkit.models.model import SequenceModel
from crfkit.models.store import file_bytes, looks_like_model_file, unzipped


def guess_kind(data: bytes | memoryview) -> Kind | None:
    """Return the kind of model file that begins with these bytes; None: not a known one.

    Examples
    --------
    >>> guess_kind(b"lCRF....FOMC"), guess_kind(b"#mdl#2#10"), guess_kind(b"word tag")
    ('crfsuite', 'wapiti', None)
    """
    beginning = bytes(data[:64])
    for kind, one in FOREIGN.items():
        if beginning.startswith(one.begins):
            return kind
    return OWN if looks_like_model_file(beginning) else None


def read_model(
    path: str | os.PathLike[str], kind: Kind | None = None, *, encoding: str = "utf-8", mapped: bool = False
) -> SequenceModel:
    """Read a model file of any kind, gzip or plain.

    Parameters
    ----------
    path : path
    kind : {"crfkit", "crfsuite", "crfpp", "wapiti", "mallet"}, optional
        What the file is; guessed from its beginning when it is not given. CRF++'s may be text or binary,
        MALLET's are those that ``CRF.print`` writes.
    encoding : str
        Encoding of the names in foreign files.
    mapped : bool
        Map the file instead of reading it into memory: processes share what they use of it. Do not change the
        file while it is mapped: answers would be wrong, and where it is cut short the system ends the process
        (SIGBUS). Put another one in its place by renaming (``os.replace``), as crfkit's own ``save`` does:
        models that are open keep the old one.

    Raises
    ------
    ValueError
        The file is not such a model, is damaged, or holds something that crfkit cannot express; the message
        names the file and the remedy.
    """
    data = file_bytes(path, mapped=mapped)
    return read_model_bytes(data, kind, encoding=encoding, source=os.fsdecode(path))


def load(
    path: str | os.PathLike[str], kind: Kind | None = None, *, encoding: str = "utf-8", mapped: bool = False
) -> Any:
    """Read a model file of crfkit, CRFsuite, CRF++, Wapiti or MALLET: a `SequenceModel` or a `GraphModel`.

    Parameters and errors are those of `read_model`, which reads models of sequences only. The file is read
    into memory; with ``mapped=True`` it is mapped, and must not be changed while the model is in use.

    Examples
    --------
    >>> import os, tempfile
    >>> import crfkit
    >>> from crfkit.features import ItemExtractor
    >>> model = crfkit.train(ItemExtractor()([[["the"], ["dog"]]], [["D", "N"]]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(os.path.join(folder, "m.crf"))
    ...     crfkit.load(os.path.join(folder, "m.crf")).labels
    ('D', 'N')
    """
    return load_bytes(file_bytes(path, mapped=mapped), kind, encoding=encoding, source=os.fsdecode(path))


def load_bytes(
    data: bytes | memoryview, kind: Kind | None = None, *, encoding: str = "utf-8", source: str = "the data"
) -> Any:
    """Read a model of any kind, of sequences or of graphs, from the bytes of its file; see `load`.

    Examples
    --------
    >>> from crfkit import train
    >>> from crfkit.features import ItemExtractor
    >>> model = train(ItemExtractor()([[["the"], ["dog"]]], [["D", "N"]]))
    >>> load_bytes(model.to_bytes()).labels
    ('D', 'N')
    """
    data = unzipped(data, source)
    if kind in (None, OWN) and guess_kind(data) == OWN:
        return any_model_of(data, source)
    return read_model_bytes(data, kind, encoding=encoding, source=source)


def read_model_bytes(
    data: bytes | memoryview, kind: Kind | None = None, *, encoding: str = "utf-8", source: str = "the data"
) -> SequenceModel:
    """Read a model of any kind from the bytes of its file; see `read_model`.

    Examples
    --------
    >>> from crfkit import train
    >>> from crfkit.models.files.crfsuite_write import crfsuite_bytes
    >>> from crfkit.features import ItemExtractor
    >>> model = train(ItemExtractor()([[["the"], ["dog"]]], [["D", "N"]]))
    >>> read_model_bytes(crfsuite_bytes(model)).labels
    ('D', 'N')
    """
    if kind is not None and kind not in kinds():
        raise ValueError(f"kind is {kind!r}, expected one of {', '.join(kinds())}")
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
            f"give one of {', '.join(['crfkit', *(one.program for one in FOREIGN.values())])}",
        )
    if kind == OWN:
        return model_of(data, source)
    try:
        with np.errstate(all="ignore"):  # texts that are not numbers are found by looking for them
            return FOREIGN[kind].reader()(data, encoding=encoding)
    except (ValueError, OverflowError, RecursionError) as error:
        raise ModelFileError(
            source,
            f"cannot be read as a model of {FOREIGN[kind].program}: {error}",
            "if it should be one, copy it again from where it came, or write it anew",
        ) from None


def write_model(model: SequenceModel, path: str | os.PathLike[str], kind: Kind = "crfkit") -> None:
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
    >>> from crfkit.features import Extractor
    >>> from crfkit.features.wapiti import parse_wapiti
    >>> from crfkit.data.formats.columns import Columns
    >>> extract = Extractor(parse_wapiti("u:%x[0,0]"))
    >>> model = train(extract(Columns.from_rows([[("the", "D"), ("dog", "N")]])))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "m.wapiti")
    ...     write_model(model, path, "wapiti")
    ...     read_model(path).attributes.strings()
    ['u:the', 'u:dog']
    """
    if kind not in written():
        raise ValueError(f"kind is {kind!r}; {', '.join(written())} are the kinds that can be written")
    model.check_alone()
    if kind == OWN:
        model.save(path)
    else:
        data = FOREIGN[kind].writer()(model)  # as a whole, before there is a file
        write_bytes(path, [data])
