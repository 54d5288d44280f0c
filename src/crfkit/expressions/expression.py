"""Expressions that are matched at a bounded cost."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from crfkit.expressions.costs import most_steps, range_width, reach, short_reach, size_of
from crfkit.expressions.parser import parsed
from crfkit.expressions.program import Program, UnknownError, program_of
from crfkit.expressions.sweep import ends_of
from crfkit.shown import quoted

__all__ = ["LONGEST", "MOST_RANGES", "MOST_STEPS", "Expression", "compiled", "expression_of"]

LONGEST = 10_000  #: characters of an expression that is given as text
MOST_RANGES = 1_000_000  #: characters of all ranges such as a-z together
MOST_STEPS = 1_000_000  #: of `re` on one text, for expressions without a program
_MOST_CELLS = 10_000_000  # states x characters of a sweep: some seconds
_QUICK, _QUICK_CHARACTER = 50_000, 500  # steps of `re`, on a text and on each character, for a sweep's time

_ESCAPED = re.compile(r"\\\W")
_REPEATS = frozenset("*+?{(")  # an expression without them is a choice of strings, which is linear


class Expression:
    r"""A regular expression of Python, whose answers are those of `re` and whose cost is bounded.

    Parameters
    ----------
    pattern : str or compiled pattern
        Text has `LONGEST` characters at most; a ValueError says what is wrong with it.

    Examples
    --------
    >>> Expression(r"\d+").search("in 1999")
    '1999'
    >>> Expression("(a+)+").fullmatch("a" * 1000 + "b")
    False
    >>> try:
    ...     Expression(r"(.*),\1").search("," * 10_000)
    ... except ValueError as error:
    ...     print(str(error).partition(" on ")[0])
    the regular expression '(.*),\\1' takes too long
    """

    def __init__(self, pattern: str | re.Pattern[str]) -> None:
        self.pattern = pattern if isinstance(pattern, re.Pattern) else compiled(pattern)
        self._simple = _REPEATS.isdisjoint(_ESCAPED.sub("", self.pattern.pattern))
        self._reach = {False: 1 << 62, True: 1 << 62}  # the longest texts for `re`, to search and as a whole
        if self._simple:
            return
        try:
            self._tree = parsed(self.pattern)
            self._by_character = _QUICK_CHARACTER + 10 * size_of(self._tree)
            for whole in self._reach:
                self._reach[whole] = reach(self._tree, _QUICK, self._by_character, whole=whole)
        except RecursionError:
            raise ValueError(f"{_name(self.pattern.pattern)} has too many groups within groups") from None
        self._close: set[bool] = set()  # for which the reach has been counted closely
        self._program: Program | None = None
        self._unknown = ""  # why there is none

    def search(self, text: str) -> str | None:
        """Return the first part of a text that matches, as ``re.search(...)[0]``; None where none does."""
        if len(text) <= self._reach[False] or (program := self._needed(text, whole=False)) is None:
            found = self.pattern.search(text)
            return None if found is None else found[0]
        ends = ends_of(program, text, whole=False)
        return next((text[begin:end] for begin, end in enumerate(ends) if end >= 0), None)

    def fullmatch(self, text: str) -> bool:
        """Return whether the whole text matches, as ``re.fullmatch`` says."""
        if len(text) <= self._reach[True] or (program := self._needed(text, whole=True)) is None:
            return self.pattern.fullmatch(text) is not None
        return ends_of(program, text, whole=True)[0] >= 0

    def fullmatches(self, texts: Sequence[str]) -> list[bool]:
        """Return `fullmatch` of each text."""
        if max(map(len, texts), default=0) > self._reach[True]:
            return [self.fullmatch(text) for text in texts]
        fullmatch = self.pattern.fullmatch
        return [fullmatch(text) is not None for text in texts]

    def steps(self, length: int) -> float:
        """Return the most steps that matching a whole text of so many characters takes."""
        if self._simple:
            return len(self.pattern.pattern) + length
        program = None if length <= self._reach[True] else self._made()
        if program is None:
            return most_steps(self._tree, length, whole=True)
        return 10.0 * program.size * (length + 1)

    def _needed(self, text: str, *, whole: bool) -> Program | None:
        """Return the program that must be run, None where `re` will do; refuse what takes too long."""
        if whole not in self._close:
            close = short_reach(self._tree, _QUICK, self._by_character, whole=whole)
            self._reach[whole] = max(self._reach[whole], close)
            self._close.add(whole)
        if len(text) <= self._reach[whole]:
            return None
        program = self._made()
        if program is None:
            if most_steps(self._tree, len(text), whole=whole) <= MOST_STEPS:
                return None
            raise self._long(text, self._unknown)
        if program.size * (len(text) + 1) > _MOST_CELLS:
            raise self._long(text, f"it has {program.size:,} states")
        return program

    def _made(self) -> Program | None:
        if self._program is None and not self._unknown:
            try:
                self._program = program_of(self._tree)
            except UnknownError as error:
                self._unknown = str(error)
        return self._program

    def _long(self, text: str, why: str) -> ValueError:
        return ValueError(
            f"{_name(self.pattern.pattern)} takes too long on {quoted(text, 20)}, which has {len(text):,} "
            f"characters: {why}; begin it with ^, or write {{0,20}} for *"
        )


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
        raise ValueError(f"{_name(text)} has {len(text):,} characters, more than {LONGEST:,}; shorten it")
    try:
        if range_width(parsed(text)) > MOST_RANGES:
            raise ValueError(f"{_name(text)} has ranges of over {MOST_RANGES:,} characters; use \\w or .")
        return re.compile(text, flags)
    except (re.error, RecursionError, OverflowError, MemoryError) as error:
        raise ValueError(f"{_name(text)} is wrong: {error}") from None


def _name(text: str) -> str:
    return f"the regular expression {quoted(text)}"
