"""Writing documents in any format: a file, or a folder where each document is a file of its own."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterable, Iterator

from crfkit._safe.printable import shown
from crfkit.data.sink import write_bytes
from crfkit.data.source import Place
from crfkit.errors import DataWarning, warn_about
from crfkit.text.doc import Doc
from crfkit.text.formats.record import Options, Remarks, TextFormat
from crfkit.text.formats.registry import find, records
from crfkit.text.offsets import Unit

__all__ = ["as_json", "write"]

_FILE_NAME = re.compile(r"\w[\w.+ -]{0,150}")


def write(
    docs: Iterable[Doc], path: Place, format: str | None = None, *, unit: Unit | None = None
) -> Remarks:
    r"""Write documents in the format of an annotation tool.

    Parameters
    ----------
    docs : iterable of Doc
    path : path, "-" or file opened in binary mode
        A folder, which is made, where the format has a file for each document.
    format : str, optional
        One of `crfkit.text.FORMATS`; None: what the ending of the name says.
    unit : str, optional
        What the offsets in the file count; None: what the format says.

    Returns
    -------
    Remarks
        What the format cannot hold, which a `crfkit.errors.DataWarning` says too.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> remarks = write([Doc("\U0001f680 Oslo", spans=[(2, 6, "LOC")])], file, "jsonl", unit="utf16")
    >>> file.getvalue().decode()
    '{"text": "🚀 Oslo", "spans": [{"start": 3, "end": 7, "label": "LOC"}], "unit": "utf16"}\n'
    """
    record = find(format) if format is not None else _by_name(path)
    options = Options(unit)
    record.check(options)
    remarks = Remarks()
    ready = _ready(docs, record, unit or record.unit, remarks)
    if record.files is not None:
        _write_files(ready, path, record, options, remarks)
    elif isinstance(record.write, str):
        raise ValueError(f"format {record.name} cannot be written; {record.write}")
    else:
        write_bytes(path, record.write(ready, options, remarks))
    if remarks:
        warn_about(f"format {record.name} does not hold: {remarks}", DataWarning)
    return remarks


def as_json(doc: Doc, format: str) -> str:
    """Return a document in a format of JSON, in its own unit."""
    record = find(format)
    if not isinstance(record.example, str) or not record.example.startswith(("{", "[")):
        names = ", ".join(one.name for one in reversed(records()) if str(one.example)[:2] in ('{"', "[{"))
        raise ValueError(f"format {format} is not JSON; expected one of {names}")
    file = io.BytesIO()
    write([doc], file, format, unit=doc.unit if "unit" in record.options else None)
    return file.getvalue().decode().removesuffix("\n")


def _by_name(path: Place) -> TextFormat:
    name = os.fspath(path).removesuffix(".gz") if isinstance(path, str | os.PathLike) else ""
    for record in reversed(records()):
        if record.endings and name.endswith(record.endings):
            return record
    names = ", ".join(one.name for one in reversed(records()))
    raise ValueError(f"the name {name!r} does not say the format; give it, one of {names}")


def _ready(docs: Iterable[Doc], record: TextFormat, unit: Unit, remarks: Remarks) -> Iterator[Doc]:
    """Yield the documents in the unit of the file; count what would be lost and matters for training."""
    for number, doc in enumerate(docs, 1):
        if not isinstance(doc, Doc):
            raise TypeError(f"expected documents of crfkit.text.Doc, not {type(doc).__name__}")
        where = f"document {number if doc.id is None else doc.id}"
        if doc.known is not None and ("known" if doc.known else "unseen") not in record.keeps:
            remarks.add("document with text that nobody looked at", where)
        if doc.labels is not None and not (
            "labels" in record.keeps or (record.labels_for_spans and not doc.spans)
        ):
            remarks.add("document with labels of tokens", where)
        yield doc.in_unit(unit)


def _write_files(
    docs: Iterable[Doc], path: Place, record: TextFormat, options: Options, remarks: Remarks
) -> None:
    assert record.files is not None
    if not isinstance(path, str | os.PathLike) or os.fspath(path) == "-":
        raise ValueError(f"format {record.name} has a file for each document; give the name of a folder")
    name = os.fspath(path)
    if name.endswith(record.endings):
        stem, one = os.path.splitext(name)[0], list(docs)
        if len(one) != 1:
            raise ValueError(
                f"{shown(name)} is one file, and format {record.name} has a file for each of {len(one)} "
                "documents; give the name of a folder"
            )
        for ending, data in record.files(one[0], options, remarks).items():
            write_bytes(stem + ending, [data])
        return
    os.makedirs(name, exist_ok=True)
    taken: set[str] = set()
    for number, doc in enumerate(docs, 1):
        stem = doc.id if doc.id is not None and _FILE_NAME.fullmatch(doc.id) else f"{number:06}"
        while stem.lower() in taken:
            stem = f"{stem if len(stem) < 150 else number}-{number}"
        if doc.id is not None and stem != doc.id:
            remarks.add("document with an id that cannot name a file", f"document {doc.id}")
        taken.add(stem.lower())
        for ending, data in record.files(doc, options, remarks).items():
            write_bytes(os.path.join(name, stem + ending), [data])
