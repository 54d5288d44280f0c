"""Writing data in any format, as a whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from crfkit.data.assemble import concatenate
from crfkit.data.dataset import Dataset
from crfkit.data.formats.columns import Columns
from crfkit.data.formats.record import FormatOptions
from crfkit.data.formats.registry import DEFAULTS, by_name, ends_in, find, names
from crfkit.data.reading import Options
from crfkit.data.sink import write_bytes
from crfkit.data.source import Place


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
        One of `crfkit.data.FORMATS`, save conllu; None goes by the name (``.jsonl``, ``.csv``,
        ``.parquet``), then by the data: columns or crfsuite.
    separator
        The one character between columns; None is a blank, of CSV a comma, and a TAB where the name ends in
        ``.tsv``.
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
    if separator is None and format in (None, "columns") and ends_in(path, ".tsv"):
        separator = "\t"
    options = Options(format, FormatOptions(separator=separator, sequence=sequence))
    if format is not None:
        _writer(format)
    chunks = iter([data] if isinstance(data, Columns | Dataset) else data)
    head = next(chunks, None)
    if head is None:
        raise ValueError("there is nothing to write")
    named = by_name(path)
    name = format or (named.name if named else DEFAULTS[_kind(head)])
    options.check(name)
    if sequence is not None and not find(name).whole:
        tables = ", ".join(one for one in names() if find(one).whole)
        raise ValueError(f"format {name} is written without numbers of sequences; {tables} have them")
    holds, render = find(name).holds, _writer(name)

    def pieces() -> Iterator[bytes]:
        rest: Iterable[Columns | Dataset] = chain([head], chunks)
        if find(name).whole:
            rest = [concatenate(list(rest))]
        for i, chunk in enumerate(rest):
            if holds not in ("either", _kind(chunk)):
                raise ValueError(f"the data are {_kind(chunk)}, but format {name} holds {holds}")
            yield render(chunk, options.given, i == 0)

    write_bytes(path, pieces())


def _kind(data: Columns | Dataset) -> str:
    return "columns" if isinstance(data, Columns) else "attributes"


def _writer(name: str) -> Callable[[Columns | Dataset, FormatOptions, bool], bytes]:
    render = find(name).render
    if isinstance(render, str):
        raise ValueError(f"format {name} is read, not written; {render}")
    return render
