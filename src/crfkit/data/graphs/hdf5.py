"""Numbers of an HDF5 file that a stranger may have made, looked at before anything of them is read.

HDF5 can name other files (external storage, virtual data sets, soft and external links), load libraries
(filters that are plugins) and say much with few bytes (fill values, compressed chunks). Rows of numbers need
none of that: what is not stored as such in the file itself is refused, and what is stored has bounds.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crfkit._safe.printable import shown
from crfkit.data.graphs.words import most_cells
from crfkit.errors import DataError

_DEFLATE, _SHUFFLE, _SUM = 1, 2, 3  # HDF5's own numbers of filters
_MOST_BYTES = 16  # of a number
_ENTRY = 8  # bytes that a stored chunk takes in the index of chunks, at least


def h5py() -> Any:
    """Return the package that reads HDF5."""
    try:
        import h5py as found
    except ImportError as error:
        raise ImportError("OpenGM's files need h5py: pip install 'crfkit[opengm]'") from error
    return found


@contextmanager
def opened(data: bytes, name: str) -> Iterator[Group]:
    """Open the bytes of a file; HDF5 finds no plugins meanwhile.

    Examples
    --------
    >>> kept = io.BytesIO()
    >>> with h5py().File(kept, "w") as file:
    ...     file["gm/header"] = [2, 0]
    >>> with opened(kept.getvalue(), "m.h5") as root:
    ...     root.group("gm").numbers("header", "iu").tolist()
    [2, 0]
    """
    library = h5py()
    try:
        with _no_plugins(library), library.File(io.BytesIO(data), "r") as file:
            yield Group(_Bounds(name, len(data), library), "", file["/"].id)
    except DataError:
        raise
    except (OSError, RuntimeError, KeyError, TypeError, ValueError, OverflowError, MemoryError) as error:
        raise DataError(name, None, f"is not a whole HDF5 file of OpenGM ({shown(error)})") from None


@contextmanager
def _no_plugins(library: Any) -> Iterator[None]:
    """Let HDF5 look for filters nowhere; h5py's lock keeps other threads from noticing."""
    plugins = library.h5pl
    with library._objects.phil:
        places = [plugins.get(i) for i in range(plugins.size())]
        try:
            for _ in places:
                plugins.remove(0)
            yield
        finally:
            while plugins.size():
                plugins.remove(0)
            for place in places:
                plugins.append(place)


class _Bounds:
    """What may still be read of a file."""

    def __init__(self, path: str, size: int, library: Any) -> None:
        self.path, self.size, self.library = path, size, library
        self.left = most_cells(size)  # numbers, of all data sets

    def wrong(self, what: str) -> DataError:
        return DataError(self.path, None, what)


class Group:
    """A group of a file: names that are stored in it, not links to somewhere else."""

    def __init__(self, bounds: _Bounds, name: str, found: Any) -> None:
        self.name = name  #: for messages
        self._bounds, self._id = bounds, found

    def names(self) -> list[str]:
        """Return the names of all that is in the group."""
        found = [name.decode("utf-8", "surrogateescape") for name in self._id]
        return [name for name in found if "/" not in name and name != "."]  # those would be paths

    def __contains__(self, name: str) -> bool:
        """Return whether there is such a name."""
        return bool(self._id.links.exists(name.encode("utf-8", "surrogateescape")))

    def group(self, name: str) -> Group | None:
        """Return a group within this one; None if there is none."""
        found = self._open(name)
        if not isinstance(found, self._bounds.library.h5g.GroupID):
            return None
        return Group(self._bounds, f"{self.name}/{shown(name)}", found)

    def _open(self, name: str) -> Any:
        key = name.encode("utf-8", "surrogateescape")
        library = self._bounds.library
        if not self._id.links.exists(key):
            return None
        if self._id.links.get_info(key).type != library.h5l.TYPE_HARD:
            raise self._bounds.wrong(
                f"{self.name}/{shown(name)} is a soft or external link, which may lead to any file; "
                "store the data themselves"
            )
        return library.h5o.open(self._id, key)

    def numbers(self, name: str, kinds: str) -> NDArray[Any]:
        """Return a row of numbers of NumPy's `kinds`, such as "iu"."""
        found, bounds = self._open(name), self._bounds
        place = f"{self.name}/{name}"
        if not isinstance(found, bounds.library.h5d.DatasetID):
            raise bounds.wrong(f"there is no data set {place}")
        made = found.get_create_plist()  # shapes come later: of a virtual data set they open its sources
        _check_storage(bounds, place, made)
        chunk = _check_shape(bounds, place, found, made, kinds)
        if chunk is not None:
            _check_chunks(bounds, place, found, made, chunk)
        return np.asarray(bounds.library.Dataset(found)[()]).reshape(-1)


def _check_storage(bounds: _Bounds, place: str, made: Any) -> None:
    """Refuse numbers that are not in the file itself, or need more than gzip to be read."""
    layouts = bounds.library.h5d
    remedy = "store the numbers in the file itself"
    if made.get_layout() not in (layouts.COMPACT, layouts.CONTIGUOUS, layouts.CHUNKED):
        raise bounds.wrong(f"{place} is virtual: its numbers may lie in any file; {remedy}")
    if made.get_external_count():
        raise bounds.wrong(f"{place} is stored in another file; {remedy}")
    filters = [int(made.get_filter(i)[0]) for i in range(made.get_nfilters())]
    odd = [one for one in filters if one not in (_DEFLATE, _SHUFFLE, _SUM)]
    if odd:
        raise bounds.wrong(
            f"{place} is stored with filter {odd[0]} of HDF5; only gzip, shuffle and fletcher32 are read: "
            "use h5repack -f GZIP=6"
        )
    if len(set(filters)) < len(filters):
        raise bounds.wrong(f"{place} is filtered twice in the same way; use h5repack -f GZIP=6")
    if _DEFLATE in filters and set(filters[filters.index(_DEFLATE) + 1 :]) - {_SUM}:
        raise bounds.wrong(f"{place} is shuffled after gzip; use h5repack -f SHUF -f GZIP=6")


def _check_shape(bounds: _Bounds, place: str, found: Any, made: Any, kinds: str) -> tuple[int, ...] | None:
    """Refuse what is not a row of numbers, or has too many; return the shape of chunks."""
    types, spaces, kind = bounds.library.h5t, bounds.library.h5s, found.get_type()
    space = found.get_space()
    plain = space.get_simple_extent_type() == spaces.SIMPLE
    shape = tuple(map(int, space.shape)) if plain else ()
    numeric = kind.get_class() in (types.INTEGER, types.FLOAT) and kind.get_size() <= _MOST_BYTES
    if not numeric or kind.dtype.kind not in kinds or len(shape) not in (1, 2):
        said = kind.dtype if numeric else "that is no plain number"
        raise bounds.wrong(f"{place} has type {said} and shape {shape}, expected numbers")
    if len(shape) == 2 and 1 not in shape:
        raise bounds.wrong(f"{place} has shape {shape}, expected a row of numbers")
    chunk = tuple(map(int, made.get_chunk())) if made.get_layout() == bounds.library.h5d.CHUNKED else None
    count = prod(shape)
    if chunk is not None:
        count = max(count, prod(-(-long // each) * each for long, each in zip(shape, chunk, strict=True)))
    if count > bounds.left:
        raise bounds.wrong(f"{place} has {count} numbers, too many for the size of the file")
    bounds.left -= count
    return chunk


def _check_chunks(bounds: _Bounds, place: str, found: Any, made: Any, chunk: tuple[int, ...]) -> None:
    """Refuse chunks that the file cannot hold, or that gzip makes longer than a chunk is."""
    offsets = [range(0, long, each) for long, each in zip(found.shape, chunk, strict=True)]
    count = prod(map(len, offsets))
    if count > bounds.size // _ENTRY or found.get_storage_size() > bounds.size:
        raise bounds.wrong(f"{place} has {count} chunks, too many for the size of the file")
    filters = [int(made.get_filter(i)[0]) for i in range(made.get_nfilters())]
    if _DEFLATE not in filters or not found.get_storage_size():
        return
    most = prod(chunk) * found.get_type().get_size()
    for at in ((row, column) for row in offsets[0] for column in (offsets[1] if len(offsets) == 2 else (0,))):
        where = at[: len(offsets)]
        if found.get_chunk_info_by_coord(where).byte_offset is None:
            continue  # not written: zeros
        skipped, data = found.read_direct_chunk(where)
        if skipped >> filters.index(_DEFLATE) & 1:
            continue
        if len(zlib.decompressobj().decompress(data, most + 1)) > most:
            raise bounds.wrong(f"a chunk of {place} is longer than the {most} bytes of a chunk")
