"""The container of models, checkpoints and blocks: arrays and a description in one safetensors file.

    8 bytes: size of the header · header: JSON · the bytes of all arrays

The header gives type, shape and place of each array, and under ``__metadata__`` the description (JSON in a
string, as safetensors wants it). Any safetensors library can read the file. Nothing in a file is trusted:
sizes, offsets and types are checked before an array is made, and sums of each array and of the header detect
damage (they are not a signature: whoever writes a file can write its sums).

Files are read into memory, or mapped where that is asked for; arrays are views of the bytes. A mapped file is
checked as it is opened, as all are, and must not change afterwards.
"""

from __future__ import annotations

import json
import mmap
import os
import sys
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn, cast

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "LONGEST_HEADER",
    "Array",
    "ModelFileError",
    "file_bytes",
    "looks_like_model_file",
    "pack",
    "unpack",
    "unzipped",
]

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
_NAMES = {np.dtype(code): name for name, code in _TYPES.items()}
_REMEDY = "copy it again from where it came, or save the model anew"


class ModelFileError(ValueError):
    """A file does not hold a model: which file, why, and what to do.

    Examples
    --------
    >>> print(ModelFileError("m.crf", "is empty", "save the model anew"))
    m.crf is empty; save the model anew
    """

    def __init__(self, source: str, what: str, remedy: str = _REMEDY) -> None:
        super().__init__(source, what, remedy)
        self.source, self.what, self.remedy = source, what, remedy

    def __str__(self) -> str:
        return f"{self.source} {self.what}; {self.remedy}"


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

    A mapped file must not be changed in place, as with any other program that maps files: answers would be
    wrong, and where it is cut short the system ends the process (SIGBUS).
    """
    name = os.fsdecode(path)
    if os.path.isdir(name):
        raise ModelFileError(name, "is a folder", "give the file of a model")
    with open(name, "rb") as file:
        size = os.fstat(file.fileno()).st_size  # 0 of devices, too, which may have no end
        if size == 0:
            raise ModelFileError(name, "is empty")
        if mapped:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        return file.read(size)


def unzipped(data: bytes | memoryview, source: str) -> bytes | memoryview:
    """Return the data as they are, or unpacked where they are gzip."""
    if bytes(data[:2]) != b"\x1f\x8b":
        return data
    member = zlib.decompressobj(wbits=31)
    try:
        plain = member.decompress(data, _MOST_UNPACKED)
    except zlib.error as error:
        raise ModelFileError(source, f"is damaged gzip ({error})", "fetch or compress it again") from None
    if not member.eof:
        what = "is larger than 1 GiB when unpacked" if len(plain) == _MOST_UNPACKED else "is cut off gzip"
        raise ModelFileError(source, what, "unpack it with gunzip and give that file")
    if member.unused_data:
        count = len(member.unused_data)
        raise ModelFileError(
            source, f"has {count:,} bytes behind the end of its gzip", "fetch or compress it again"
        )
    return plain


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
    sums = {name: _sum(array) for name, array in flat.items()}
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
            little = array if sys.byteorder == "little" else array.astype(array.dtype.newbyteorder("<"))
            yield cast(bytes, little.reshape(-1).view(np.uint8).data)  # as good, and no copy


def unpack(
    data: bytes | memoryview,
    source: str,
    *,
    kind: str = "crfkit",
    sums: bool = True,
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
    if not isinstance(metadata, dict) or metadata.get("format") != kind:
        raise ModelFileError(
            source, "is safetensors, but not a model of crfkit", "give a file that Model.save wrote"
        )
    if not all(isinstance(text, str) for text in metadata.values()) or "about" not in metadata:
        _damaged(source, "its metadata are not strings")
    claimed = metadata.pop("sum", None)
    if claimed != _header_sum(header, metadata):
        _damaged(source, "the sum of its header is wrong")
    about = _parsed(metadata["about"], source)
    arrays = _arrays(memoryview(data)[8 + size :], header, source)
    sums_given = about.pop("sums", None)
    for name, array in arrays.items():
        if sums and (not isinstance(sums_given, dict) or sums_given.get(name) != _sum(array)):
            _damaged(source, f"the sum of {name} is wrong")
    return arrays, about


def _parsed(text: bytes | str, source: str) -> dict[str, Any]:
    try:
        found = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        _damaged(source, f"its description is not JSON ({reason})")
    if not isinstance(found, dict):
        _damaged(source, "its description is not a JSON object")
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key of its header occurs twice")
    return made


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


def _sum(array: Array) -> str:
    """Add up the bytes as 64-bit numbers: any flipped bit changes it, at the speed of memory."""
    data = array.reshape(-1).view(np.uint8)
    whole = len(data) // 8 * 8
    total = int(np.add.reduce(data[:whole].view("<u8"), dtype=np.uint64))
    rest = int.from_bytes(data[whole:].tobytes(), "little")
    return f"{(total + rest) % (1 << 64):x}"


def _header_sum(header: Mapping[str, Any], metadata: Mapping[str, str]) -> str:
    text = json.dumps([sorted(header.items()), sorted(metadata.items())], separators=(",", ":"))
    return f"{zlib.crc32(text.encode()):08x}"


def _damaged(source: str, what: str) -> NoReturn:
    raise ModelFileError(source, f"is damaged: {what}")
