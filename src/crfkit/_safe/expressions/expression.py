"""Expressions that `re` runs, and what they cost at most."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from crfkit._safe.cached import once
from crfkit._safe.expressions.parser import Reader, named, parsed, range_width
from crfkit._safe.expressions.parts import entered, total
from crfkit._safe.printable import quoted

LONGEST = 10_000  #: characters of an expression that is given as text
MOST_RANGES = 1_000_000  #: characters of all ranges such as a-z together
MOST_RATE = 100_000  #: steps for each character of a text, of all expressions of a recipe
MOST_STEPS = 1_000_000  #: on one text of a known length

LONG = 4096  #: characters of a text up to which costs are foreseen
_LENGTHS = [1 << i for i in range(LONG.bit_length())]
_REMEDY = "write {1,20} for + and {0,20} for *, or leave out repeats within repeats"


class Expression:
    r"""A regular expression of Python whose cost is known before it is run.

    Parameters
    ----------
    pattern : str or compiled pattern
        Text has `LONGEST` characters at most; a ValueError says what is wrong with it.

    Examples
    --------
    >>> Expression(r"\d+").search("in 1999")
    '1999'
    >>> Expression(r"^\d+(,\d+)*$").rate < 50, Expression(r"\d+-\d+").rate < MOST_RATE
    (True, True)
    >>> Expression("(a+)+$").rate > 1e50
    True
    """

    def __init__(self, pattern: str | re.Pattern[str]) -> None:
        self.pattern = pattern if isinstance(pattern, re.Pattern) else compiled(pattern)
        reader = Reader(parsed(self.pattern))
        self._part, self._failing = reader.part, reader.failing

    def search(self, text: str) -> str | None:
        """Return the first part of a text that matches, as ``re.search(...)[0]``; None where none does.

        Where a text is longer than `LONG`, and the cost grows faster than its length, it is refused.
        """
        if len(text) > LONG and self._search(len(text)) > self.rate * len(text):
            raise ValueError(
                f"{named(self.pattern.pattern)} could take far more steps than a text has characters, and "
                f"{quoted(text, 20)} has {len(text):,}, more than {LONG:,}; begin it with ^, {_REMEDY}"
            )
        found = self.pattern.search(text)
        return None if found is None else found[0]

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return where each match that is not empty begins and ends, as ``re.finditer`` finds them.

        Texts have at most `LONG` characters, and the expression has passed `check_spans`.
        """
        assert len(text) <= LONG
        return [match.span() for match in self.pattern.finditer(text) if match.end() > match.start()]

    def fullmatches(self, texts: Sequence[str]) -> list[bool]:
        """Return whether each text matches as a whole, as ``re.fullmatch`` says."""
        if (steps := self.steps(longest := max(map(len, texts), default=0))) > MOST_STEPS:
            raise ValueError(
                f"{named(self.pattern.pattern)} could take {_many(steps)} steps on a text of {longest:,} "
                f"characters, more than {MOST_STEPS:,}; {_REMEDY}"
            )
        fullmatch = self.pattern.fullmatch
        return [fullmatch(text) is not None for text in texts]

    def steps(self, length: int) -> float:
        """Return the most steps that matching a whole text of that many characters takes."""
        return total(self._part, length) + length

    @once
    def rate(self) -> float:
        """The most steps that a search takes for each character of a text, up to `LONG` of them."""
        return max(self._search(length) / length for length in _LENGTHS)

    def check_search(self) -> None:
        """Raise a ValueError where a search could take more than `MOST_RATE` steps for each character.

        Examples
        --------
        >>> Expression("^a+$").check_search()
        >>> Expression("(a+)+$").check_search()  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ValueError: the regular expression '(a+)+$' could take far more steps than a text has characters; ...
        """
        self._check_rate(self.rate)

    def check_spans(self) -> None:
        """Raise a ValueError where finding all matches could take more than `MOST_RATE` steps a character."""
        self._check_rate(
            max(total(self._part, length) + self._search(length) / length for length in _LENGTHS)
        )

    def _check_rate(self, rate: float) -> None:
        if rate > MOST_RATE:
            raise ValueError(
                f"{named(self.pattern.pattern)} could take far more steps than a text has characters; "
                f"begin it with ^, {_REMEDY}"
            )

    def _search(self, length: int) -> float:
        once = total(self._part, length)
        again = entered(self._part) if self._part.anchored else total(self._failing, length)
        return once + (length + 1) * (1 + again)


@lru_cache(maxsize=1024)  # a recipe may have 1,000
def expression_of(pattern: str | re.Pattern[str]) -> Expression:
    """Return the expression of a pattern, which is made once.

    Examples
    --------
    >>> expression_of("a+") is expression_of("a+")
    True
    """
    return Expression(pattern)


def compiled(text: str, flags: int = 0) -> re.Pattern[str]:
    """Compile an expression; a ValueError says what is wrong with it, or that it is too large.

    Examples
    --------
    >>> compiled("a(")
    Traceback (most recent call last):
    ValueError: the regular expression 'a(' is wrong: missing ), unterminated subpattern at position 1
    """
    if len(text) > LONGEST:
        raise ValueError(f"{named(text)} has {len(text):,} characters, more than {LONGEST:,}; shorten it")
    try:
        tree = parsed(text, flags)
        if range_width(tree) > MOST_RANGES:
            raise ValueError(f"{named(text)} has ranges of over {MOST_RANGES:,} characters; use \\w or .")
        return re.compile(text, flags)
    except (re.error, OverflowError, MemoryError) as error:
        raise ValueError(f"{named(text)} is wrong: {error}") from None


def _many(steps: float) -> str:
    return f"{steps:,.0f}" if steps < 1e15 else "more than 10^15"
