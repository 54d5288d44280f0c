"""Strings and numbers that collide in hash tables, as somebody who wants to slow down a reader makes them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crfkit.data.alphabet import Alphabet
from crfkit.data.formats.columns import Columns

_MULTIPLIER = 0x9FB21C651E98DF25  # of hash_bytes in cpp/text/alphabet.hpp
_START = 0x2545F4914F6CDD1D
_GOLDEN = 0x9E3779B97F4A7C15  # of KeyMap in cpp/text/key_map.hpp
Words = NDArray[np.uint64]


def colliding_strings(count: int, *, low: bool = False) -> list[str]:
    """Return strings whose hashes have the same upper half, or the same lower one: its last step undone.

    They are 16 letters of printable ASCII, without quotes and backslashes.
    """
    rng = np.random.default_rng(0)
    inverse = np.uint64(pow(_MULTIPLIER, -1, 1 << 64))
    first = np.frombuffer(b"collides", dtype="<u8")[0]
    state = _mixed(np.uint64((16 * _MULTIPLIER + _START) % (1 << 64)) ^ first)
    found: dict[str, None] = {}
    while len(found) < count:
        free = rng.integers(0, 1 << 32, size=1 << 20, dtype=np.uint64)
        fixed = np.uint64(0x2A2A2A2A)
        wanted = (free << np.uint64(32)) | fixed if low else (fixed << np.uint64(32)) | free
        after = (wanted ^ (wanted >> np.uint64(32))) * inverse
        after ^= after >> np.uint64(32)
        word = _unshifted(after) * inverse ^ state
        word = word[word & np.uint64(0x8080808080808080) == 0]
        letters = word.view(np.uint8).reshape(-1, 8)
        good = (letters > 0x20) & (letters < 0x7F) & (letters != ord('"')) & (letters != ord("\\"))
        good &= letters != ord(":")
        found |= dict.fromkeys(f"collides{bytes(one).decode()}" for one in letters[good.all(axis=1)])
    return list(found)[:count]


def _mixed(x: np.uint64) -> np.uint64:
    with np.errstate(over="ignore"):
        x = x * np.uint64(_MULTIPLIER)
    return x ^ (x >> np.uint64(29))


def _unshifted(x: Words) -> Words:
    """Return y where x is y ^ (y >> 29)."""
    y: Words = x ^ (x >> np.uint64(29)) ^ (x >> np.uint64(58))
    return y


def colliding_pairs(count: int) -> Columns:
    """Return rows of two tokens whose numbers collide where a template joins the two columns."""
    slots = 256
    while slots <= 2 * count:
        slots *= 2
    inverse = pow(_GOLDEN, -1, slots)
    second = np.arange(count)
    first = []
    for b in (second + 16).tolist():  # the first 16 codes are for what lies outside of a sequence
        whole = b * _GOLDEN % (1 << 64)
        wanted = (whole & 0xFFFFFFFF) - (whole >> 32)  # so that the start is 0 in the lowest bits
        first.append((wanted * inverse - 16) % slots)
    names = [Alphabet(f"{letter}{i}" for i in range(size)) for letter, size in (("a", slots), ("b", count))]
    ids = (np.array(first, dtype=np.int32), second.astype(np.int32))
    return Columns(ids, tuple(names), np.arange(count + 1), ("0", "1"))


def colliding_characters(count: int, buckets: int = 1109) -> list[str]:
    """Return characters that lie in one bucket of so many, a number that the standard library chooses."""
    codes = [code for code in range(buckets, 0x110000, buckets) if not 0xD800 <= code < 0xE000]
    return [chr(code) for code in codes[:count]]


def colliding_graph(collides: bool, buckets: int = 20_753) -> bytes:
    """Return a model where eliminating the first variables links pairs of others, which lie in one bucket.

    All pairs are joined by a last variable, so that there is one component and numbers stay as they are.
    """
    rng = np.random.default_rng(0)
    count, last = buckets - 753, 3 * buckets
    if collides:
        pairs = np.array(
            [(a, b) for a in range(count, last) for b in range(-(a << 32) % buckets, last, buckets) if a < b]
        )
        pairs = pairs[rng.permutation(len(pairs))[:count]]
    else:
        pairs = count + np.sort(rng.permutation(last - count)[: 2 * count].reshape(-1, 2), axis=1)
    ends = np.repeat(np.arange(count), 2), pairs.ravel()
    scopes = np.concatenate([np.stack(ends, axis=1), [(a, last) for a in range(count, last)]])
    lines = [f"MARKOV {last + 1} {'2 ' * (last + 1)} {len(scopes)}"]
    lines += [f"2 {a} {b}" for a, b in scopes.tolist()] + ["4 1 2 1 1"] * len(scopes)
    return "\n".join(lines).encode()
