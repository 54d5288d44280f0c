"""Which data and options a run belongs to: short strings that are equal when these are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, is_dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np

from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset
from crfkit.linear.block import Block
from crfkit.linear.layout import Layout

__all__ = ["described", "digest", "fingerprint_of"]


def digest(parts: Iterable[Any]) -> str:
    """Return a hash of arrays, strings, alphabets, batches and layouts, in this order.

    Examples
    --------
    >>> digest(["a", "b"]) == digest(["ab"])
    False
    """
    hash = blake2b(digest_size=16)
    for part in parts:
        _feed(hash, part)
    return hash.hexdigest()


def _feed(hash: Any, part: Any) -> None:
    if isinstance(part, np.ndarray):
        hash.update(f"{part.dtype.str}{part.shape}".encode())
        hash.update(np.ascontiguousarray(part).view(np.uint8).reshape(-1).data if part.size else b"")
    elif isinstance(part, Alphabet):
        for array in part.arrays()[:2]:
            _feed(hash, np.asarray(array))
    elif isinstance(part, tuple):
        for member in part:
            _feed(hash, member)
    elif isinstance(part, Batch | Layout | Block | Dataset):
        for f in fields(part):
            if f.name == "extractor":  # the data say what it made of them
                continue
            hash.update(f.name.encode())
            _feed(hash, getattr(part, f.name))
    else:
        text = repr(part).encode()
        hash.update(len(text).to_bytes(8, "little") + text)


def described(options: Any) -> str:
    """Return options as text, without what has no influence: threads, and addresses of objects."""
    if is_dataclass(options) and any(f.name == "threads" for f in fields(options)):
        options = replace(options, threads=None)  # type: ignore[type-var]
    text = repr(options)
    if " at 0x" not in text:
        return text
    return f"{type(options).__qualname__}({sorted(getattr(options, '__dict__', {}).items())})"


def fingerprint_of(data: Any) -> str:
    """Return the hash of a data set; data in blocks know theirs."""
    known = getattr(data, "fingerprint", None)
    return known if isinstance(known, str) else digest([data])
