"""Which format a model's file has, and reading and writing it."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator

from crfkit._safe.printable import quoted
from crfkit.data.graphs.factor_list import FactorList
from crfkit.data.sink import write_bytes
from crfkit.data.source import Input, Place, open_input
from crfkit.errors import DataError

#: Formats, and how the names of their files end.
FORMATS: dict[str, tuple[str, ...]] = {
    "uai": (".uai",),
    "lg": (".lg",),
    "fg": (".fg",),
    "opengm": (".h5", ".hdf5", ".opengm"),
    "wcsp": (".wcsp",),
    "cfn": (".cfn",),
    "bif": (".bif",),
}
_READ_ONLY = ("wcsp", "cfn", "bif")
_KNOWN = "known formats and endings: " + ", ".join(
    f"{format} ({', '.join(endings)})" for format, endings in FORMATS.items()
)
_HDF5 = b"\x89HDF\r\n\x1a\n"


def format_of(name: str, given: str | None = None) -> str | None:
    """Return the format that was given, or that the name of a file says.

    Examples
    --------
    >>> format_of("grid.uai.gz"), format_of("energies.LG"), format_of("model")
    ('uai', 'lg', None)
    """
    if given is not None:
        if given.lower() not in FORMATS:
            raise ValueError(f"format is {given!r}, expected one of {', '.join(FORMATS)}")
        return given.lower()
    plain = name.lower().removesuffix(".gz")
    return next((one for one, endings in FORMATS.items() if plain.endswith(endings)), None)


def read_factors(place: Place, format: str | None = None) -> FactorList:
    r"""Read the factors of a model; without a format the name decides, or else the content.

    Examples
    --------
    >>> import io
    >>> found = read_factors(io.BytesIO(b"MARKOV\n1\n2\n1\n1 0\n2\n1 3"))
    >>> found.width.tolist(), found.score.round(2).tolist()
    ([2], [0.0, 1.1])
    """
    chosen = format_of("", format)
    with open_input(place) as source:
        beginning = source.peek(64)
        if beginning.startswith(_HDF5) or (chosen or format_of(source.name)) == "opengm":
            if chosen not in (None, "opengm"):
                raise source.error(None, f"is an HDF5 file, but format is {chosen!r}")
            from crfkit.data.graphs.opengm import read_opengm

            return read_opengm(source.whole(), source.name)
        format = chosen or format_of(source.name)
        if format is not None:
            return _text(source, format, beginning)
        format = _guess(source, beginning)
        try:
            return _text(source, format, beginning)
        except DataError as error:
            what = f"{error.what} (read as {format}, for its name says no format; {_KNOWN})"
            raise DataError(error.path, error.line, what) from None


def _text(source: Input, format: str, beginning: bytes) -> FactorList:
    if format == "fg":
        from crfkit.data.graphs.fg import read_fg

        return read_fg(source)
    if format == "bif":
        from crfkit.data.graphs.bif import read_bif

        return read_bif(source)
    if format in _READ_ONLY:
        from crfkit.data.graphs.costs import read_cfn, read_wcsp

        return read_wcsp(source) if format == "wcsp" else read_cfn(source)
    from crfkit.data.graphs.uai import HEADINGS, read_uai

    first = _first_word(beginning)
    if first and first.upper() not in HEADINGS:  # before the other words are read as numbers
        raise _unlike(source, first, f"{' or '.join(HEADINGS)}, as of format {format}")
    return read_uai(source, logs=format == "lg")


def _guess(source: Input, beginning: bytes) -> str:
    from crfkit.data.graphs.uai import HEADINGS

    first = _first_word(beginning)
    if not first:
        raise source.error(None, "the file is empty; give one with a model")
    if first.upper() in HEADINGS:
        return "uai"
    if first[:1].isdigit() or first.startswith("#"):
        return "fg"
    raise _unlike(source, first, f"a model: {' or '.join(HEADINGS)}, a number (fg) or HDF5's mark (opengm)")


def _first_word(beginning: bytes) -> str:
    word: bytes = next(iter(beginning.removeprefix(b"\xef\xbb\xbf").split()), b"")
    return word.decode(errors="backslashreplace")


def _unlike(source: Input, first: str, expected: str) -> DataError:
    """Return the error of a text that does not begin as it should."""
    what = f"the file begins with {quoted(first)}, expected {expected}"
    if source.name.lower().endswith(".gz") and not source.compressed:
        return source.error(None, f"{what}; its name ends in .gz, but it is not gzip: fetch it again")
    return source.error(None, f"{what}; {_KNOWN}")


def write_factors(factors: FactorList, place: Place, format: str | None = None) -> None:
    r"""Write factors; without a format the name decides.

    Examples
    --------
    >>> import io
    >>> found = read_factors(io.BytesIO(b"MARKOV\n1\n2\n1\n1 0\n2\n1 0"))
    >>> out = io.BytesIO()
    >>> write_factors(found, out, "fg")
    >>> out.getvalue()
    b'1\n\n1\n0\n2\n1\n0 1.0\n'
    """
    name = os.fspath(place) if isinstance(place, str | os.PathLike) else "output"
    chosen = format_of(name, format)
    if chosen is None:
        endings = ", ".join(ending for each in FORMATS.values() for ending in each)
        raise ValueError(f"{name} does not say in which format to write; end it in one of {endings}")
    if chosen in _READ_ONLY:
        able = [one for one in FORMATS if one not in _READ_ONLY]
        raise ValueError(f"{chosen} is read only; write one of {', '.join(able)}")
    write_bytes(place, _pieces(factors, name, chosen))


def _pieces(factors: FactorList, name: str, format: str) -> Iterator[bytes]:
    if format == "opengm":
        from crfkit.data.graphs.opengm import write_opengm

        kept = io.BytesIO()
        write_opengm(factors, kept)
        yield kept.getvalue()
    elif format == "fg":
        from crfkit.data.graphs.fg import fg_text

        yield from fg_text(factors, name)
    else:
        from crfkit.data.graphs.uai import uai_text

        yield from uai_text(factors, name, logs=format == "lg")
