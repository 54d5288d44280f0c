"""CQDB: the constant string database in CRFsuite's model files, read and written.

Strings with ids from 0. Records, 256 hash tables, and an array from ids back to records; hashes are Bob
Jenkins' lookup3 (hashlittle) of the bytes with the closing NUL. Numbers are little-endian, offsets count from
the first byte of the database. All of it is done on arrays: a million strings take about a second.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from crfkit import _native
from crfkit.arrays import pointers

_HEAD = 24 + 256 * 8
_ORDER = 0x62445371
_MOST_MOVES = 512  # by which a string may lie behind its place: longest_run in cpp/text/cqdb.hpp
Words = NDArray[np.uint32]


#: A text, and where each string in it begins and ends.
Spans = tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]


def read_strings(data: bytes | memoryview, at: int, count: int, what: str) -> list[bytes]:
    """Return the strings with the ids 0 to count - 1 of a database at an offset, checked.

    Examples
    --------
    >>> read_strings(write_strings([b"B", b"I"]), 0, 2, "labels")
    [b'B', b'I']
    """
    flat, begin, end = read_spans(data, at, count, what)
    text = flat.tobytes()
    return [text[a:b] for a, b in zip(begin.tolist(), end.tolist(), strict=True)]


def read_spans(data: bytes | memoryview, at: int, count: int, what: str) -> Spans:
    """Return where these strings lie, without making them."""
    if not 0 <= at <= len(data) - _HEAD or data[at : at + 4] != b"CQDB":
        raise ValueError(f"there is no database of {what} at {at:,}")
    size, _, order, entries, back = np.frombuffer(data[at + 4 : at + 24], dtype="<u4").tolist()
    if order != _ORDER:
        raise ValueError(f"the database of {what} has the byte order {order:#x}, expected {_ORDER:#x}")
    if not _HEAD <= size <= len(data) - at:
        raise ValueError(f"the database of {what} claims {size:,} bytes")
    if count == 0:
        return np.zeros(0, np.uint8), np.zeros(0, np.int64), np.zeros(0, np.int64)
    if entries < count or back < _HEAD or back + 4 * entries > size:
        raise ValueError(f"the database of {what} has no list of {count:,} strings")
    body = memoryview(data)[at : at + size]
    record = np.frombuffer(body[back : back + 4 * count], dtype="<u4").astype(np.int64)
    if record.min() < _HEAD or record.max() > size - 9:
        raise ValueError(f"the database of {what} lacks the string {int(np.argmin(record))}")
    flat = np.frombuffer(body, dtype=np.uint8)
    ids, length = _words(flat, record), _words(flat, record + 4).astype(np.int64)
    if (ids != np.arange(count)).any():
        raise ValueError(f"the database of {what} has string {int(np.argmax(ids != np.arange(count)))} twice")
    end = record + 8 + length
    if length.min() < 1 or end.max() > size or flat[end - 1].any():
        raise ValueError(f"a string of the database of {what} has a wrong length")
    if int(length.sum()) > size:
        raise ValueError(f"the strings of the database of {what} overlap")
    return flat, record + 8, end - 1


def _words(flat: NDArray[np.uint8], at: NDArray[np.int64]) -> Words:
    """Numbers of 4 bytes at any places."""
    total = flat[at].astype(np.uint32)
    for i in (1, 2, 3):
        total |= flat[at + i].astype(np.uint32) << np.uint32(8 * i)
    return total


def write_strings(strings: Sequence[bytes]) -> bytes:
    """Return the database of these strings, the same bytes that CRFsuite writes."""
    n = len(strings)
    text = np.frombuffer(b"".join([string + b"\0" for string in strings]), dtype=np.uint8)
    length = np.array([len(string) + 1 for string in strings], dtype=np.int64)  # [n]
    begin = pointers(length)  # [n + 1]
    record = _HEAD + begin[:-1] + 8 * np.arange(n)  # [n]
    hashes = lookup3(text, begin)
    table = (hashes & np.uint32(255)).astype(np.int64)  # [n]
    slots = 2 * np.bincount(table, minlength=256)  # [256] of each table
    first = pointers(slots)  # [257] first slot of each table
    taken = _place((hashes >> np.uint32(8)).astype(np.int64) % np.maximum(slots[table], 1), table, slots)
    tables = np.zeros((int(first[-1]), 2), dtype="<u4")
    tables[first[table] + taken, 0] = hashes
    tables[first[table] + taken, 1] = record

    records = np.zeros(8 * n + len(text), dtype=np.uint8)
    heads = np.stack([np.arange(n), length], axis=1).astype("<u4").view(np.uint8).reshape(n, 8)
    records[(record - _HEAD)[:, None] + np.arange(8)] = heads
    if n:
        records[np.arange(len(text)) + np.repeat(8 * np.arange(1, n + 1), length)] = text
    at_tables = _HEAD + len(records)
    refs = np.zeros((256, 2), dtype="<u4")
    refs[:, 0] = np.where(slots, at_tables + 8 * first[:-1], 0)
    refs[:, 1] = slots
    back = at_tables + tables.nbytes
    size = back + 4 * n
    if size >= 1 << 32:
        raise ValueError("the strings take 4 GiB or more, which CRFsuite's format cannot hold")
    head = np.array([size, 0, _ORDER, n, back if n else 0], dtype="<u4").tobytes()
    return b"".join(
        [b"CQDB", head, refs.tobytes(), records.tobytes(), tables.tobytes(), record.astype("<u4").tobytes()]
    )


def _place(home: NDArray[np.int64], table: NDArray[np.int64], slots: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the slot of each key: as if inserted one by one, each in the first free slot from home on.

    Earlier keys have precedence wherever they come, so all may propose at once: a slot keeps the earliest
    key, the others go on to their next slot (Gale & Shapley). The result is that of the loop.
    """
    first = pointers(slots)[table]  # [n]
    width = np.maximum(slots[table], 1)
    at = home.copy()
    holder = np.full(int(slots.sum()), -1, dtype=np.int64)
    free = np.arange(len(home))
    moves = 0
    while free.size:
        if (moves := moves + 1) > _MOST_MOVES:
            raise ValueError(
                f"{free.size:,} of {len(home):,} names have hashes that collide with too many others, "
                "as if they were made to; CRFsuite's format cannot hold them: leave them out of the data"
            )
        wanted = first[free] + at[free]
        before = holder[wanted]
        order = np.argsort(-free, kind="stable")  # the last write wins: that of the earliest key
        holder[wanted[order]] = free[order]
        keeps = (before >= 0) & (before < holder[wanted])
        holder[wanted[keeps]] = before[keeps]
        lost = np.concatenate([free[holder[wanted] != free], _replaced(before, wanted, holder)])
        at[lost] = (at[lost] + 1) % width[lost]
        free = np.sort(lost)
    return at


def _replaced(
    before: NDArray[np.int64], wanted: NDArray[np.int64], holder: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Keys that held a slot and lost it."""
    out = (before >= 0) & (holder[wanted] != before)
    return np.unique(before[out])


def lookup3(text: NDArray[np.uint8], begin: NDArray[np.int64]) -> Words:
    r"""Return hashlittle (initial value 0) of the strings ``text[begin[i] : begin[i + 1]]``, with their NUL.

    Examples
    --------
    >>> text = np.frombuffer(b"B\0O\0", dtype=np.uint8)
    >>> [hex(h) for h in lookup3(text, np.array([0, 2, 4]))]
    ['0xcb6d5cb5', '0xc87780e6']
    """
    return _native.cqdb_hashes(text, begin)
