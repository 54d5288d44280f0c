"""Writing data in any format, as a whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import chain

from crfkit.data.assemble import concatenate
from crfkit.data.dataset import Dataset
from crfkit.data.formats import columns
from crfkit.data.formats.columns import Columns
from crfkit.data.reading import COLUMNS, TABLES, Options
from crfkit.data.sink import write_bytes
from crfkit.data.source import Place

__all__ = ["write"]


def write(
    path: Place,
    data: Columns | Dataset | Iterable[Columns | Dataset],
    format: str | None = None,
    *,
    separator: str | None = None,
    sequence: str | None = None,
) -> None:
    r"""Write data, as a whole or not at all; gzip where the name ends in ``.gz``.

    The file is written under a temporary name beside its place and renamed when complete, so a failure leaves
    what was there before. What a format cannot hold is refused with an error, never changed. To standard
    output ("-"), an open file or a device, chunks go as they come.

    Parameters
    ----------
    path
        A path, "-" for standard output, or a file opened in binary mode.
    data
        What `read` returns, or chunks of it, such as `stream` yields.
    format
        One of `FORMATS`, save conllu; None goes by the name (``.jsonl``, ``.csv``, ``.parquet``), then by
        the data: columns or crfsuite.
    separator
        The one character between columns; None is a blank.
    sequence
        The column of a table that numbers the sequences, by default "sequence".

    Examples
    --------
    >>> import io
    >>> out = io.BytesIO()
    >>> write(out, Columns.from_rows([[("the", "D")], [("dog", "N")]]))
    >>> out.getvalue()
    b'the D\n\ndog N\n\n'
    """
    if format == "conllu":
        raise ValueError('format conllu is read, not written; give format "columns" and separator "\\t"')
    options = Options(format, None, separator, None, None, None, sequence, None)
    separator = None if separator == "blanks" else separator
    chunks = iter([data] if isinstance(data, Columns | Dataset) else data)
    head = next(chunks, None)
    if head is None:
        raise ValueError("there is nothing to write")
    format = format or _by_name(path) or ("columns" if isinstance(head, Columns) else "crfsuite")
    options.check(format)

    def pieces() -> Iterator[bytes]:
        rest: Iterable[Columns | Dataset] = chain([head], chunks)
        if format in TABLES:
            rest = [concatenate(list(rest))]
        for i, chunk in enumerate(rest):
            yield _render(chunk, format, separator, sequence or "sequence", first=i == 0)

    write_bytes(path, pieces())


def _by_name(path: Place) -> str | None:
    if not isinstance(path, str | os.PathLike):
        return None
    ending = os.path.splitext(os.fspath(path).removesuffix(".gz"))[1]
    return {".jsonl": "jsonl", ".csv": "csv", ".parquet": "parquet"}.get(ending)


def _render(data: Columns | Dataset, format: str, separator: str | None, sequence: str, first: bool) -> bytes:
    if format == "jsonl":
        from crfkit.data.formats import jsonlines

        return jsonlines.render(data).encode()
    if isinstance(data, Columns) != (format in COLUMNS + TABLES):
        given, other = ("columns", "attributes") if isinstance(data, Columns) else ("attributes", "columns")
        raise ValueError(f"the data are {given}, but format {format} holds {other}")
    if isinstance(data, Columns):
        if format in COLUMNS:
            return columns.render(data, format, separator=separator, first=first).encode()
        from crfkit.data.formats import tables

        render = tables.render_csv if format == "csv" else tables.render_parquet
        return render(data, sequence=sequence)
    if format == "crfsuite":
        from crfkit.data.formats import crfsuite_text

        return crfsuite_text.render(data, first=first).encode()
    from crfkit.data.formats import mallet

    return mallet.render(data, first=first).encode()
