"""Arrays that evaluations need of each block, made once, kept on disk, and mapped when they are read.

The file has no name (where the system allows it), so that it goes with the process, however that ends.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

__all__ = ["BlockStore"]

_ALIGNED = 64  # bytes


class BlockStore:
    """Named arrays for each block, in one temporary file.

    Parameters
    ----------
    folder : Path
        Where there is room.

    Examples
    --------
    >>> store = BlockStore(Path(tempfile.gettempdir()))
    >>> store.put(3, {"a": np.arange(3), "b": np.zeros((2, 0))})
    >>> 3 in store, 4 in store
    (True, False)
    >>> store.get(3)["a"].tolist(), store.get(3)["b"].shape
    ([0, 1, 2], (2, 0))
    """

    def __init__(self, folder: Path) -> None:
        self._file = tempfile.TemporaryFile(dir=folder, prefix="crfkit-", buffering=0)  # noqa: SIM115
        finalize(self, self._file.close)
        self._end = 0
        #: by block: where its arrays begin, and name, type, shape and offset of each
        self._places: dict[int, tuple[int, list[tuple[str, np.dtype[Any], tuple[int, ...], int]]]] = {}

    def __contains__(self, i: int) -> bool:
        return i in self._places

    def put(self, i: int, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Write the arrays of block i, all of them or, where that fails, none."""
        end, places = self._end, []
        for name, array in arrays.items():
            self._write(end, array)
            places.append((name, array.dtype, array.shape, end - self._end))
            end += -(-array.nbytes // _ALIGNED) * _ALIGNED
        self._file.truncate(end)
        self._places[i], self._end = (self._end, places), end

    def _write(self, at: int, array: NDArray[Any]) -> None:
        left = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        while left:
            done = os.pwrite(self._file.fileno(), left, at)
            left, at = left[done:], at + done

    def get(self, i: int) -> dict[str, NDArray[Any]]:
        """Return the arrays of block i, which stay in the file until they are used."""
        begin, places = self._places[i]
        data = np.memmap(self._file, dtype=np.uint8, mode="r", offset=begin)
        made = {}
        for name, dtype, shape, offset in places:
            size = dtype.itemsize * int(np.prod(shape))
            made[name] = np.asarray(data[offset : offset + size]).view(dtype).reshape(shape)
        return made
