"""How large a recipe may be, in any dialect and in model files; what costs more is refused before it costs.

===========================  ============================================================================
``MOST_CHARACTERS``          of the text of a recipe
``LONGEST_LINE``             characters of one of its lines
``MOST_TEMPLATES``           of a recipe; a window ``word[-2..2]`` makes five
``MOST_FIELDS``              of a template
``LONGEST_WAPITI``           bytes of a regular expression of Wapiti (``%t``, ``%m``)
``MOST_EXPRESSIONS``         of Python's regular expressions that differ, in a recipe; together they take at
                             most `crfkit._safe.expressions.MOST_RATE` steps for each character of a token
``MOST_NGRAMS``              characters that ``ngrams`` makes of one token, all together
===========================  ============================================================================

Further bounds: offsets (`crfkit.features.fields.MOST_OFFSET`), regular expressions of Python
(`crfkit._safe.expressions`); in native code, an attribute that is kept has 2^20 bytes at most, those of a
position have 2^24 together, and a template makes 100,000 of them there, the product of the values of its
fields. What is left is a product: a position costs all templates.
"""

from __future__ import annotations

import os
from collections.abc import Sequence, Sized

from crfkit._safe.expressions import MOST_RATE, expression_of
from crfkit._safe.printable import quoted
from crfkit.data.opening import open_file

MOST_CHARACTERS = 1 << 21
LONGEST_LINE = 100_000
MOST_TEMPLATES = 20_000
MOST_FIELDS = 100
LONGEST_WAPITI = 1000
MOST_EXPRESSIONS = 1000
MOST_NGRAMS = 1 << 20


def text_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a file of text, as many as tell that it is too long for `check_text`."""
    with open_file(path, pipes=True, devices=True) as file:
        return file.read(4 * MOST_CHARACTERS + 1)


def check_text(text: str, source: str) -> None:
    """Raise a ValueError where the text of a recipe, or one of its lines, is too long.

    Examples
    --------
    >>> check_text("word[0];" * 20_000, "my.recipe")
    Traceback (most recent call last):
    ValueError: my.recipe, line 1 has 160,000 characters, more than 100,000; break it up
    """
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"{source} has {len(text):,} characters, more than {MOST_CHARACTERS:,}; shorten it")
    if len(text) > LONGEST_LINE:
        for number, line in enumerate(text.splitlines(), start=1):
            if len(line) > LONGEST_LINE:
                raise ValueError(
                    f"{source}, line {number} has {len(line):,} characters, more than {LONGEST_LINE:,}; "
                    "break it up"
                )


def check_lines(lines: Sequence[tuple[int, str]], source: str) -> None:
    """Raise a ValueError where there are too many lines that are templates, given with their numbers."""
    if len(lines) > MOST_TEMPLATES:
        check_templates(lines, f"{source}, line {lines[MOST_TEMPLATES][0]}")


def check_templates(templates: Sized, where: str) -> None:
    """Raise a ValueError where there are too many templates."""
    if len(templates) > MOST_TEMPLATES:
        raise ValueError(f"{where}: there are more than {MOST_TEMPLATES:,} templates; leave some out")


def check_fields(fields: Sized) -> None:
    """Raise a ValueError where a template has too many fields.

    Examples
    --------
    >>> check_fields(range(101))
    Traceback (most recent call last):
    ValueError: a template has more than 100 fields; break it up
    """
    if len(fields) > MOST_FIELDS:
        raise ValueError(f"a template has more than {MOST_FIELDS} fields; break it up")


class Expressions:
    """Counts the regular expressions of a recipe while it is read, and what they cost together.

    Examples
    --------
    >>> expressions = Expressions()
    >>> for i in range(1001):
    ...     expressions.add(str(i))
    Traceback (most recent call last):
    ValueError: there are more than 1,000 regular expressions; leave some out
    """

    def __init__(self) -> None:
        self._rates: dict[str, float] = {}

    def add(self, expression: str) -> None:
        """Count an expression, unless it was there before."""
        if expression in self._rates:
            return
        self._rates[expression] = expression_of(expression).rate
        if len(self._rates) > MOST_EXPRESSIONS:
            raise ValueError(f"there are more than {MOST_EXPRESSIONS:,} regular expressions; leave some out")
        if sum(self._rates.values()) > MOST_RATE:
            worst = sorted(self._rates, key=self._rates.__getitem__, reverse=True)[:3]
            named = ", ".join(f"{quoted(one, 40)} {self._rates[one]:,.0f}" for one in worst)
            raise ValueError(
                f"the regular expressions of the recipe could take more than {MOST_RATE:,} steps for each "
                f"character of a token, most of them {named}; begin them with ^, write {{1,20}} for + and "
                "{0,20} for *, or leave some out"
            )


def check_wapiti(expression: str) -> None:
    """Raise a ValueError where a regular expression of Wapiti is too long."""
    size = len(expression.encode("utf-8", "surrogatepass"))
    if size > LONGEST_WAPITI:
        raise ValueError(
            f"the regular expression {quoted(expression)} has {size:,} bytes, more than {LONGEST_WAPITI:,}; "
            "shorten it"
        )
