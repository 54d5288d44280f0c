"""`window`: the features of neighbors beside those of each position."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from crfkit.checks import check_number


def window(X: Iterable[Sequence[Any]], first: int = 1, last: int | None = None) -> list[list[Any]]:
    """Return items to which the features of their neighbors are added.

    Parameters
    ----------
    X : list of lists of dicts, or of lists of str
        Features of each position of each sequence.
    first, last : int
        Offsets of the first and last neighbor, such as -2 and 1; a single number takes as many positions on
        both sides.

    Examples
    --------
    >>> window([[{"w": "the"}, {"w": "dog"}]])
    [[{'w': 'the', '+1:w': 'dog'}, {'w': 'dog', '-1:w': 'the'}]]
    >>> window([[["the"], ["old"], ["dog"]]], 2)[0][0]
    ['the', '+1:old', '+2:dog']
    >>> window([[["the"], ["old"], ["dog"]]], -1, 0)[0]
    [['the'], ['old', '-1:the'], ['dog', '-1:old']]
    """
    if last is None:
        check_number("first", first, 0, whole=True)
        first, last = -first, first
    check_number("first", first, None, whole=True)
    check_number("last", last, first, whole=True)
    return [_with_neighbors(list(sequence), first, last) for sequence in X]


def _with_neighbors(items: list[Any], first: int, last: int) -> list[Any]:
    made: list[Any] = []
    for t, item in enumerate(items):
        near = [(d, items[t + d]) for d in range(first, last + 1) if d and 0 <= t + d < len(items)]
        if isinstance(item, Mapping):
            whole = dict(item)
            whole.update({f"{d:+}:{name}": value for d, other in near for name, value in other.items()})
            made.append(whole)
        elif isinstance(item, str):
            raise ValueError(
                f"position {t} is the plain string {item!r:.60}, expected a dict or a list of features; "
                f'for tokens write features="word[{first}..{last}]"'
            )
        else:
            made.append([*item, *(f"{d:+}:{name}" for d, other in near for name in other)])
    return made
