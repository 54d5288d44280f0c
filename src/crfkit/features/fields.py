"""Fields of templates: a view of a column, and the place where it is read.

============================  =======================================================================
``word[-1]``                  one position before the one that is described
``word[-1..1]``               a window: as many templates as it has positions
============================  =======================================================================

In templates of segments (``segment:``) places count from the first or the last position:

============================  =======================================================================
``shape(word)[..]``           the values of all positions, joined by blanks: a phrase
``word[..4]``                 the same of segments of up to 4 positions; longer ones have none
``word[begin-1]``             the word before the segment
``word[end]``                 its last word
``length``                    the number of positions
``value(length)``             the same as a number
``square(length, 2.5)``       (length - 2.5)^2; without the number, training puts the mean in
``jaccard(word, cities)[..]`` how similar the phrase is to its closest entry of a dictionary
============================  =======================================================================

A phrase makes no attribute where one of its positions has no value (``prefix(word, 3)`` of a short word).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from crfkit._safe.printable import quoted
from crfkit.features.limits import check_wapiti
from crfkit.features.quoted import arguments_of, quote
from crfkit.features.views import OF_LENGTH, SIMILARITIES, Argument, check_arguments

Anchor: TypeAlias = Literal["token", "begin", "end", "all"]
ANCHORS: tuple[Anchor, ...] = ("token", "begin", "end", "all")
MOST_OFFSET = 1000


@dataclass(frozen=True)
class Field:
    """A view of a column at an offset (or, `absolute`, at a place: 1 is the first token, -1 the last).

    Examples
    --------
    >>> Field("word", -1, anchor="begin").text(), Field("word", view="shape", anchor="all").text()
    ('word[begin-1]', 'shape(word)[..]')
    """

    column: str  # "": the length of the segment
    offset: int = 0
    view: str = "same"  # same, one of VIEWS, or Wapiti's test and match
    arguments: tuple[Argument, ...] = ()
    lower: bool = False  # ASCII, Wapiti's upper-case commands
    absolute: bool = False
    #: What the offset counts from: the position, the ends of a segment; "all": all positions of a segment,
    #: where an offset that is not 0 is the most that it may have.
    anchor: Anchor = "token"

    def name(self) -> str:
        """Return the field without its place, as in crfkit's dialect."""
        column = self.column or "length"
        if self.view == "same":
            return column
        return f"{self.view}({', '.join([column, *map(_literal, self.arguments)])})"

    def text(self) -> str:
        """Return the field with its place, as in crfkit's dialect."""
        if not self.column:
            return self.name()
        if self.anchor in ("begin", "end"):
            return f"{self.name()}[{self.anchor}{format(self.offset, '+') if self.offset else ''}]"
        place = f"..{self.offset or ''}" if self.anchor == "all" else self.offset
        return f"{self.name()}[{place}]"

    def check(self, segment: bool) -> None:
        """Raise a ValueError unless the field fits into templates of segments, or into all others."""
        if self.view in ("test", "match"):
            check_wapiti(str(self.arguments[0]))
        if self.column and self.view in OF_LENGTH:
            raise ValueError(
                f"{self.name()}: {self.view} takes the length; write segment: {self.view}(length)"
            )
        if not segment:
            if self.anchor == "token" and self.column:
                return
            raise ValueError(f"{self.text()} is read from a whole segment; write segment: before it")
        if self.anchor == "token" or self.absolute:
            name = self.name()
            raise ValueError(
                f"{self.text()} does not say from where it counts; write {name}[begin], {name}[end] or "
                f"{name}[..], for all positions"
            )
        if not self.column and (self.anchor != "all" or self.view not in ("same", *OF_LENGTH)):
            raise ValueError(f"{self.name()} is not known; write length, value(length) or square(length)")
        if self.anchor == "all" and self.offset < 0:
            raise ValueError(f"{self.name()}[..{self.offset}]: a phrase has 1 position or more")
        if self.view in SIMILARITIES and self.anchor != "all":
            raise ValueError(f"{self.text()} is a number of a whole segment; write {self.name()}[..]")
        if self.view in ("ngrams", "embedding") and self.anchor == "all":
            raise ValueError(f"{self.text()}: {self.view} has several values, which do not make a phrase")


def _literal(argument: Argument) -> str:
    return quote(argument) if isinstance(argument, str) else str(argument)


_END = r"(?:(?P<{0}_from>begin|end)[ ]?)?(?P<{0}>[+-]?[ ]?\d{{1,40}})?"
_PLACE = re.compile(  # without the brackets, blanks outside
    rf"""{_END.format("low")} (?P<window>[ ]?\.\.[ ]?{_END.format("high")})?""", re.VERBOSE
)


def parse_field(text: str, *, segment: bool = False) -> list[Field]:
    """Read a field of a template, in crfkit's dialect; a window makes several.

    Examples
    --------
    >>> [field.text() for field in parse_field("word[begin-2..begin]", segment=True)]
    ['word[begin-2]', 'word[begin-1]', 'word[begin]']
    """
    text = text.strip()
    if (of_length := _of_length(text)) is not None:
        return [of_length]
    body, bracket, rest = text.rpartition("[")
    place = " ".join(rest.removesuffix("]").split())
    matched = _PLACE.fullmatch(place) if bracket and rest.endswith("]") else None
    places = "[begin], [end+1] or [..]" if segment else "[offset]"
    if not matched or not any(matched[name] for name in ("low", "low_from", "window")):
        raise ValueError(
            f"{quoted(text)} is not a field; write column or view(column, ...), and its place {places}"
        )
    column, view, arguments = _parse_view(body.strip())
    if not any(matched[name] for name in ("low", "low_from", "high_from")):
        return [Field(column, _most(matched["high"]), view, arguments, anchor="all")]
    low_from, high_from = matched["low_from"], matched["high_from"]
    low, high = _offset(matched["low"], low_from), _offset(matched["high"], high_from)
    if matched["window"] is None:
        high, high_from = low, low_from
    if low is None or high is None or low_from != high_from:
        raise ValueError(
            f"the window of {quoted(text)} is not clear; write it as word[-1..1] or word[end..end+2]"
        )
    if high < low:
        raise ValueError(f"the window {low}..{high} is empty")
    if low < -MOST_OFFSET or high > MOST_OFFSET:
        raise ValueError(f"offsets go from -{MOST_OFFSET} to {MOST_OFFSET}")
    anchor: Anchor = ANCHORS[ANCHORS.index(low_from or "token")]
    return [Field(column, offset, view, arguments, anchor=anchor) for offset in range(low, high + 1)]


def _most(text: str | None) -> int:
    """Return the most positions of a phrase, 0 where there is no limit."""
    if text is None:
        return 0
    if not text.isdecimal() or not 1 <= int(text) <= MOST_OFFSET:
        raise ValueError(
            f"..{text} is not a length; phrases have 1 to {MOST_OFFSET} positions, as in word[..4]"
        )
    return int(text)


def _offset(text: str | None, anchor: str | None) -> int | None:
    """Return the offset of a place; None where there is neither a number nor a word."""
    if text is None:
        return None if anchor is None else 0
    number = re.sub(r"\s", "", text)
    if anchor and number[0] not in "+-":
        raise ValueError(f"{anchor}{number} is not a place; write {anchor}+{number} or {anchor}-{number}")
    return int(number)


def _of_length(text: str) -> Field | None:
    """Return the field of ``length``, ``value(length)`` and ``square(length, 2.5)``; None for others."""
    if text == "length":
        return Field("", anchor="all")
    called = re.fullmatch(r"(\w+)\s*\(\s*length\s*(?:,(.*))?\)", text)
    if not called:
        return None
    view, rest = called.groups()
    arguments = arguments_of(rest) if rest else ()
    check_arguments(view, arguments)
    if view == "square":
        arguments = tuple(float(argument) for argument in arguments)
    return Field("", 0, view, arguments, anchor="all")


def _parse_view(text: str) -> tuple[str, str, tuple[Argument, ...]]:
    if re.fullmatch(r"\w+", text):
        return text, "same", ()
    called = re.fullmatch(r"(\w+)\s*\(\s*(\w+)\s*(?:,(.*))?\)", text)
    if not called:
        raise ValueError(f"{quoted(text)} is neither a column nor view(column, ...)")
    view, column, rest = called.groups()
    if view in SIMILARITIES and rest and re.fullmatch(r"\s*[^\W\d]\w*\s*", rest):
        rest = quote(rest.strip())  # the name of a dictionary needs no quotation marks
    arguments = arguments_of(rest) if rest else ()
    check_arguments(view, arguments)
    return column, view, arguments
