"""`window`: the features of neighbors beside those of each position."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from crfkit.checks import check_number

__all__ = ["window"]


def window(X: Iterable[Sequence[Any]], size: int = 1) -> list[list[Any]]:
    """Return items with the features of neighbors too, whose names begin with how far away they are.

    Parameters
    ----------
    X : list of lists of dicts, or of lists of str
        Features of each position of each sequence.
    size : int
        How many positions before and after are taken.

    Examples
    --------
    >>> window([[{"w": "the"}, {"w": "dog"}]])
    [[{'w': 'the', '+1:w': 'dog'}, {'w': 'dog', '-1:w': 'the'}]]
    >>> window([[["the"], ["old"], ["dog"]]], 2)[0][0]
    ['the', '+1:old', '+2:dog']
    """
    check_number("size", size, 0, whole=True)
    return [_with_neighbors(list(sequence), size) for sequence in X]


def _with_neighbors(items: list[Any], size: int) -> list[Any]:
    made: list[Any] = []
    for t, item in enumerate(items):
        near = [(d, items[t + d]) for d in range(-size, size + 1) if d and 0 <= t + d < len(items)]
        if isinstance(item, Mapping):
            whole = dict(item)
            whole.update({f"{d:+}:{name}": value for d, other in near for name, value in other.items()})
            made.append(whole)
        elif isinstance(item, str):
            raise ValueError(
                f"position {t} is the plain string {item!r:.60}, expected a dict or a list of features; "
                f'for tokens write features="word[-{size}..{size}]"'
            )
        else:
            made.append([*item, *(f"{d:+}:{name}" for d, other in near for name in other)])
    return made
