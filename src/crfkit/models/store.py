"""The container of models, checkpoints and blocks: arrays and a description in one safetensors file.

    8 bytes: size of the header · header: JSON · the bytes of all arrays

The header gives type, shape and place of each array, and under ``__metadata__`` the description (JSON in a
string, as safetensors wants it). Any safetensors library can read the file. Nothing in a file is trusted:
sizes, offsets and types are checked before an array is made, and sums of each array and of the header detect
damage, bytes that change places among it (XXH64, ``cpp/engine/xxh64.hpp``; not a signature: whoever writes a
file can write its sums).

Files are read into memory, or mapped where that is asked for; arrays are views of the bytes. A mapped file is
checked as it is opened, as all are, and must not change afterwards.
"""

from __future__ import annotations

import io
import json
import mmap
import os
import re
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO, NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from crfkit import _native
from crfkit._safe.single import single
from crfkit.data import source as sources
from crfkit.data.opening import NotAFileError, open_file
from crfkit.errors import DataError, ModelFileError

Array = NDArray[Any]

LONGEST_HEADER = 4 << 20  #: bytes; a description beside the arrays needs no more
_MOST_UNPACKED = 1 << 30  # bytes of a compressed file
_TYPES = {
    "BOOL": "|b1",
    "U8": "|u1",
    "I8": "|i1",
    "U16": "<u2",
    "I16": "<i2",
    "U32": "<u4",
    "I32": "<i4",
    "U64": "<u8",
    "I64": "<i8",
    "F32": "<f4",
    "F64": "<f8",
}
#: Kinds of files: what each holds, and what opens it.
_HOLDS = {
    "crfkit": ("a model", "crfkit.load(path)"),
    "crfkit tree": ("a checkpoint of training", "crfkit train --checkpoint, which goes on from it"),
}
_NAMES = {np.dtype(code): name for name, code in _TYPES.items()}
_OLD_SUM = re.compile("[0-9a-f]{8}")  # CRC-32 of the header, beside sums of arrays that only added up


class OldFileError(ModelFileError):
    """A file has the sums of an earlier crfkit, which this one does not read."""


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


def looks_like_model_file(beginning: bytes) -> bool:
    """Return whether a file may be safetensors, by its first 16 bytes.

    Examples
    --------
    >>> looks_like_model_file(next(pack({}, {})))
    True
    """
    return len(beginning) > 9 and beginning[8:9] == b"{" and int.from_bytes(beginning[:8], "little") < 1 << 32


def file_bytes(path: str | os.PathLike[str], *, mapped: bool = False) -> bytes | memoryview:
    """Return the bytes of a file: read into memory, or mapped, so that they come as they are used.

    Pipes are read within a bound. A mapped file must not be changed in place, as with any other program that
    maps files: answers would be wrong, and where it is cut short the system ends the process (SIGBUS).
    """
    name = os.fsdecode(path)
    try:
        opened = open_file(name, pipes=True)
    except NotAFileError as error:
        remedy = "give the file of a model" if error.remedy == "give a file" else error.remedy
        raise ModelFileError(name, error.what, remedy) from None
    with opened as file:
        status = os.fstat(file.fileno())
        if stat.S_ISFIFO(status.st_mode):
            return _piped(file, name)
        if status.st_size == 0:
            raise ModelFileError(name, "is empty")
        if mapped:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        return _read(file, status.st_size)


def _read(file: BinaryIO, size: int) -> memoryview:
    """Return the bytes of a file in memory of NumPy, which asks for large pages.

    Touching fresh memory takes longer than copying to it: 24 MB took 9 ms, and take 3 in large pages.
    """
    room = np.empty(size, dtype=np.uint8)
    end = 0
    while read := file.readinto(room[end:]):  # type: ignore[attr-defined]
        end += read
    return room.data[:end].toreadonly()


def _piped(file: BinaryIO, name: str) -> bytes:
    """Return all that comes through a pipe."""
    read = file.read(sources.MOST_PIPED + 1)
    if not read:
        raise ModelFileError(name, "is empty")
    if len(read) > sources.MOST_PIPED:
        what = f"is a pipe, and gives more than {sources.MOST_PIPED:,} bytes"
        raise ModelFileError(name, what, "write it to a file and give that")
    return read


def unzipped(data: bytes | memoryview, name: str) -> bytes | memoryview:
    """Return the data of a file as they are, or unpacked where they are gzip, all members of it."""
    if bytes(data[:2]) != sources.GZIP:
        return data
    try:
        return sources.Input(name, io.BytesIO(data).read, most=_MOST_UNPACKED).whole()
    except DataError as error:
        what, _, remedy = error.what.partition("; ")
        raise ModelFileError(name, what, remedy) from None


def pack(arrays: Mapping[str, Array], about: Mapping[str, Any], *, kind: str = "crfkit") -> Iterator[bytes]:
    """Yield the pieces of a file that holds arrays and a description (anything that JSON can hold).

    Parameters
    ----------
    arrays, about : mapping
    kind : str
        What kind of file it is; `unpack` expects the same.

    Examples
    --------
    >>> data = b"".join(pack({"w": np.arange(3.0)}, {"notes": "three"}))
    >>> arrays, about = unpack(data, "memory")
    >>> arrays["w"].tolist(), about["notes"]
    ([0.0, 1.0, 2.0], 'three')
    """
    # Wide types first: every array is then aligned, as kernels need it.
    names = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))
    flat = {name: np.asarray(arrays[name], order="C") for name in names}
    header: dict[str, Any] = {}
    at = 0
    for name, array in flat.items():
        dtype = array.dtype.newbyteorder("<") if array.dtype.itemsize > 1 else array.dtype
        if dtype not in _NAMES:
            raise TypeError(f"{name} is an array of {array.dtype}; a model file keeps {', '.join(_TYPES)}")
        end = at + array.nbytes
        header[name] = {"dtype": _NAMES[dtype], "shape": list(array.shape), "data_offsets": [at, end]}
        at = end
    sums = {name: _sum(_as_stored(array)) for name, array in flat.items()}
    metadata = {"format": kind, "about": json.dumps({**about, "sums": sums}, allow_nan=False)}
    metadata["sum"] = _header_sum(header, metadata)
    text = json.dumps({"__metadata__": metadata, **header}, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > LONGEST_HEADER:
        raise ValueError(
            f"the description of the model has {len(text):,} bytes, more than {LONGEST_HEADER:,}; shorten "
            "the notes, the recipe or the constraints"
        )
    yield len(text).to_bytes(8, "little") + text
    for array in flat.values():
        if array.size:
            yield cast(bytes, _as_stored(array).data)  # as good, and no copy


def unpack(
    data: bytes | memoryview, source: str, *, kind: str = "crfkit", sums: bool = True
) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return the arrays and the description, all checked.

    Parameters
    ----------
    data : bytes or memoryview
    source : str
        What messages call them.
    kind : str
        What kind of file is expected.
    sums : bool
        Compare the sums of the arrays, for which they have to be read.

    Raises
    ------
    ModelFileError
        What is wrong with the file.
    """
    size = int.from_bytes(data[:8], "little")
    if len(data) < 16 or data[8:9] != b"{":
        raise ModelFileError(
            source,
            "is not a model of crfkit",
            "give a file that Model.save wrote, or use crfkit.models.files",
        )
    if size > min(LONGEST_HEADER, len(data) - 8):
        _damaged(source, f"its header claims {size:,} bytes")
    header = _parsed(bytes(data[8 : 8 + size]), source)
    metadata = header.pop("__metadata__", None)
    found = metadata.get("format") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or found != kind:
        what, door = _HOLDS.get(kind, _HOLDS["crfkit"])
        if isinstance(found, str) and found in _HOLDS:
            holds, opens = _HOLDS[found]
            raise ModelFileError(source, f"holds {holds}, not {what}", f"open it with {opens}")
        raise ModelFileError(
            source, f"is safetensors, but not {what} of crfkit", f"give a file that {door} opens"
        )
    if not all(isinstance(text, str) for text in metadata.values()) or "about" not in metadata:
        _damaged(source, "its metadata are not strings")
    claimed = metadata.pop("sum", "")
    if _OLD_SUM.fullmatch(claimed):
        what = "was written by an earlier crfkit, whose sums did not see the order of bytes"
        raise OldFileError(source, what, "train the model again")
    if claimed != _header_sum(header, metadata):
        _damaged(source, "the sum of its header is wrong")
    about = _parsed(metadata["about"], source)
    arrays = _arrays(memoryview(data)[8 + size :], header, source)
    sums_given = about.pop("sums", None)
    for name, array in arrays.items():
        if sums and (not isinstance(sums_given, dict) or sums_given.get(name) != _sum(_as_stored(array))):
            _damaged(source, f"the sum of {name} is wrong")
    return arrays, about


def _parsed(text: bytes | str, source: str) -> dict[str, Any]:
    try:
        found = json.loads(text, object_pairs_hook=single)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        _damaged(source, f"its description is not JSON ({reason})")
    if not isinstance(found, dict):
        _damaged(source, "its description is not a JSON object")
    return found


def _arrays(data: memoryview, header: Mapping[str, Any], source: str) -> dict[str, Array]:
    """Cut the data into arrays, which must cover it without gaps or overlaps."""
    places = []
    for name, entry in header.items():
        if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
            _damaged(source, f"the entry of {name!r} is wrong")
        kind, shape, place = entry["dtype"], entry["shape"], entry["data_offsets"]
        if not isinstance(kind, str) or kind not in _TYPES:
            _damaged(source, f"{name!r} has the unknown type {kind!r}")
        if not _sizes(shape) or len(shape) > 4 or not _sizes(place) or len(place) != 2:
            _damaged(source, f"the shape or place of {name!r} is wrong")
        count = 1
        for n in shape:  # integers of any size: nothing can overflow
            count *= n
        dtype = np.dtype(_TYPES[kind])
        if place[1] - place[0] != count * dtype.itemsize:
            _damaged(source, f"{name!r} has {place[1] - place[0]:,} bytes, not those of its shape")
        places.append((place[0], place[1], name, dtype, shape))
    at, arrays = 0, {}
    for begin, end, name, dtype, shape in sorted(places, key=lambda place: place[:2]):
        if begin != at or end > len(data):
            _damaged(source, f"{name!r} lies at {begin:,} to {end:,} of {len(data):,}, expected from {at:,}")
        array = np.frombuffer(data[begin:end], dtype=dtype)
        if not array.flags.aligned or sys.byteorder != "little":
            array = array.astype(dtype.newbyteorder("="))
            array.setflags(write=False)
        arrays[name] = array.reshape(shape)
        at = end
    if at != len(data):
        _damaged(source, f"{len(data) - at:,} bytes at its end belong to nothing")
    return arrays


def _sizes(values: object) -> bool:
    return isinstance(values, list) and all(type(n) is int and 0 <= n < 1 << 48 for n in values)


def _as_stored(array: Array) -> NDArray[np.uint8]:
    """Return the bytes of an array as a file has them."""
    little = array if sys.byteorder == "little" else array.astype(array.dtype.newbyteorder("<"))
    return little.reshape(-1).view(np.uint8)


def _sum(data: NDArray[np.uint8]) -> str:
    return f"{_native.xxh64(data):016x}"


def _header_sum(header: Mapping[str, Any], metadata: Mapping[str, str]) -> str:
    text = json.dumps([sorted(header.items()), sorted(metadata.items())], separators=(",", ":"))
    return "xxh64:" + _sum(np.frombuffer(text.encode(), dtype=np.uint8))


def _damaged(source: str, what: str) -> NoReturn:
    raise ModelFileError(source, f"is damaged: {what}")
