"""Views: named functions from a token to its values, computed once per distinct token.

A view returns None (no value, so no attribute), one string, or several (character n-grams). They are named
and take plain arguments, so that a recipe is data: it is stored in a model and means the same at tagging
time.

==========================  =====================================================================
``word``                    a column by its name: the token itself
``lower(word)``             lower case
``prefix(word, n)``         the first n characters; none when the token is not longer than n
``suffix(word, n)``         the last n characters
``shape(word)``             A upper case, a lower case, D digit, X other; ``+`` after a repeated class
``ngrams(word, low, high)`` character n-grams of ``<token>``
``regex(word, pattern)``    the part of the token that a Python regular expression matches
``is(word, pattern)``       "yes" when the expression matches somewhere
``length(word)``            number of characters, 9 for nine or more
``lookup(word, table)``     what a table (clusters, ...) says of the token
``embedding(word, table)``  the vector of the token, as real-valued columns; zeros where there is none
``jaccard(word, entries)``  a number: how similar the token, or the phrase of a segment, is to its closest
                            entry of a dictionary; also ``tfidf`` and ``jarowinkler``
``value(length)``           a number: how many positions a segment has
``square(length, mean)``    a number: (length - mean)^2
==========================  =====================================================================

Expressions of ``regex`` and ``is`` that could take more steps than in proportion to a token are refused
(`crfkit._safe.expressions`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from math import isfinite
from typing import Any, TypeAlias

from crfkit._safe.expressions import expression_of
from crfkit._safe.printable import cut, quoted
from crfkit.features.limits import MOST_NGRAMS

Value: TypeAlias = "str | list[str] | None"
Argument: TypeAlias = "int | float | str"

SIMILARITIES = ("jaccard", "tfidf", "jarowinkler")  #: to the closest entry of a dictionary
OF_LENGTH = ("value", "square")  #: of the length of a segment
NUMBERS = (*OF_LENGTH, *SIMILARITIES)  #: views whose attributes have values
#: Views that name a resource, and what it is.
RESOURCES = {
    **{name: name for name in ("lookup", "gazetteer", "embedding")},
    **dict.fromkeys(SIMILARITIES, "dictionary"),
}


def _lower() -> Callable[[str], Value]:
    return str.lower


def _prefix(n: int) -> Callable[[str], Value]:
    return lambda token: token[:n] if len(token) > n else None


def _suffix(n: int) -> Callable[[str], Value]:
    return lambda token: token[-n:] if len(token) > n else None


class _Classes(dict[int, str]):
    """Code point to class of character, filled as characters come."""

    def __missing__(self, point: int) -> str:
        character = chr(point)
        kind = "A" if character.isupper() else "a" if character.islower() else "X"
        self[point] = "D" if character.isdigit() else kind
        return self[point]


def _shape() -> Callable[[str], Value]:
    classes = _Classes()
    again = re.compile("|".join(f"(?<={kind}){kind}+" for kind in "AaDX")).sub
    return lambda token: again("+", token.translate(classes))


def _ngrams(low: int, high: int) -> Callable[[str], Value]:
    def ngrams(token: str) -> list[str]:
        marked = f"<{token}>"
        if len(marked) * high > 2000:
            _check_ngrams(marked, low, high)
        spans = (marked[i : i + n] for n in range(low, high + 1) for i in range(len(marked) - n + 1))
        return list(dict.fromkeys(spans))

    return ngrams


def _check_ngrams(marked: str, low: int, high: int) -> None:
    made = sum(n * (len(marked) - n + 1) for n in range(low, min(high, len(marked)) + 1))
    if made > MOST_NGRAMS:
        raise ValueError(
            f"ngrams of {low} to {high} characters of {quoted(marked[1:-1], 20)} have {made:,} in all, "
            f"more than {MOST_NGRAMS:,}; make them shorter"
        )


def _regex(pattern: str) -> Callable[[str], Value]:
    return expression_of(pattern).search


def _is(pattern: str) -> Callable[[str], Value]:
    search = expression_of(pattern).search
    return lambda token: None if search(token) is None else "yes"


def _length() -> Callable[[str], Value]:
    return lambda token: str(min(len(token), 9))


#: Name of each view, the types of its arguments after the column, and its maker.
VIEWS: dict[str, tuple[tuple[type, ...], Callable[..., Callable[[str], Value]]]] = {
    "lower": ((), _lower),
    "prefix": ((int,), _prefix),
    "suffix": ((int,), _suffix),
    "shape": ((), _shape),
    "ngrams": ((int, int), _ngrams),
    "regex": ((str,), _regex),
    "is": ((str,), _is),
    "length": ((), _length),
    "lookup": ((str,), lambda table: table),
    "gazetteer": ((str,), lambda gazetteer: gazetteer),
    "embedding": ((str,), lambda table: table),
    **{name: ((str,), lambda dictionary: dictionary) for name in SIMILARITIES},
    **{name: ((), lambda length: length) for name in OF_LENGTH},
}


def check_arguments(name: str, arguments: tuple[Argument, ...]) -> None:
    """Raise a ValueError unless the view exists and takes these arguments."""
    if name not in VIEWS:
        raise ValueError(f"{quoted(name)} is not a view; views are {', '.join(VIEWS)}")
    types = VIEWS[name][0]
    if name == "square" and arguments:
        if len(arguments) > 1 or isinstance(arguments[0], str) or not isfinite(arguments[0]):
            raise ValueError(f"square takes the mean length, a finite number, not {arguments!r}")
        return
    if tuple(map(type, arguments)) != types:
        wanted = ", ".join(kind.__name__ for kind in types) or "nothing"
        raise ValueError(f"{name} takes {wanted} after the column, not {cut(str(arguments), 99)}")
    if any(isinstance(argument, int) and not 1 <= argument <= 1000 for argument in arguments):
        raise ValueError(f"{name}{cut(str(arguments), 99)}: lengths must be 1 or more, and at most 1000")
    if name in ("regex", "is"):
        expression_of(str(arguments[0])).check_search()


def make_view(
    name: str, arguments: tuple[Argument, ...], resources: Mapping[str, Any]
) -> Callable[[Iterable[str]], list[Value]]:
    """Return a function that gives the values of many tokens.

    Examples
    --------
    >>> make_view("shape", (), {})(["McCallum", "1999", "U.S."])
    ['AaAa+', 'D+', 'AXAX']
    """
    check_arguments(name, arguments)
    if name == "lookup":
        table = resources[str(arguments[0])]
        return lambda tokens: [table.get(token) for token in tokens]
    view = VIEWS[name][1](*arguments)
    return lambda tokens: [view(token) for token in tokens]
