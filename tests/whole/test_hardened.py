"""The native module is linked and compiled so that a slip in it is hard to make use of."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import pytest

from crfkit import _native

MODULE = Path(_native.__file__).read_bytes()
pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into ELF files"),
    pytest.mark.skipif(struct.calcsize("P") != 8 or sys.byteorder != "little", reason="of 64 bits"),
    pytest.mark.skipif(b"libasan" in MODULE, reason="sanitizers check in their own way"),
]
STACK, RELRO, DYNAMIC = 0x6474E551, 0x6474E552, 2  # kinds of segments
NOW = {30: 8, 0x6FFFFFFB: 1}  # bits of DT_FLAGS and DT_FLAGS_1 that ask for it


def segments() -> dict[int, tuple[int, bytes]]:
    """Flags and bytes of each segment, by kind."""
    assert MODULE[:6] == b"\x7fELF\x02\x01"
    (first,) = struct.unpack_from("<Q", MODULE, 32)
    size, count = struct.unpack_from("<HH", MODULE, 54)
    found = {}
    for i in range(count):
        kind, flags, at, _, _, length = struct.unpack_from("<IIQQQQ", MODULE, first + i * size)
        found[kind] = (flags, MODULE[at : at + length])
    return found


def test_functions_are_found_when_the_module_is_loaded_and_their_table_is_then_closed() -> None:
    entries = struct.iter_unpack("<qQ", segments()[DYNAMIC][1])
    assert RELRO in segments()
    assert any(value & NOW.get(tag, 0) for tag, value in entries)


def test_the_stack_is_guarded_and_no_code() -> None:
    assert b"\0__stack_chk_fail\0" in MODULE
    assert not segments()[STACK][0] & 1


def test_copies_are_checked_where_their_bounds_are_known() -> None:
    names = (b"memcpy", b"memmove", b"memset", b"snprintf", b"fprintf")
    assert any(b"\0__" + name + b"_chk\0" in MODULE for name in names)
