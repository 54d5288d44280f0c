"""Objects of JSON whose keys occur once: of two values for a key, Python takes the last without a word."""

from __future__ import annotations

from collections import Counter
from typing import Any

from crfkit._safe.printable import quoted

__all__ = ["single"]


def single(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON, as ``object_pairs_hook``; refuse two values for one key.

    Examples
    --------
    >>> import json
    >>> json.loads('{"text": "a", "text": "b"}', object_pairs_hook=single)
    Traceback (most recent call last):
    ValueError: has two values for the key 'text'
    """
    made = dict(pairs)
    if len(made) < len(pairs):
        key = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"has two values for the key {quoted(key, 40)}")
    return made
