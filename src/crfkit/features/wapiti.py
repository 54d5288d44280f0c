"""Wapiti pattern files, with exactly the strings that Wapiti makes.

``u`` makes attributes of labels, ``b`` of transitions, ``*`` of both. Commands: ``%x[off,col]`` the token,
``%t[off,col,"re"]`` whether it matches (true, false), ``%m[off,col,"re"]`` what matches; upper case (``%X``)
lower-cases the result. ``@1`` is the first token of the sequence, ``@-1`` the last.
"""

from __future__ import annotations

import re

from crfkit._safe.printable import quoted
from crfkit.features.crfpp import template_of
from crfkit.features.fields import MOST_OFFSET
from crfkit.features.limits import check_lines, check_text
from crfkit.features.recipe import Field, Kind, Recipe, Template

_COMMAND = re.compile(
    r"""%(?P<letter>[xXtTmM])\[\s*(?P<at>@?)(?P<offset>[+-]?[0-9]{1,40})\s*,\s*(?P<column>[0-9]{1,40})\s*
        (?:,\s*"(?P<pattern>[^"\\]*(?:\\.[^"\\]*)*)"\s*)?\]""",
    re.VERBOSE,
)
_KINDS: dict[str, Kind] = {"u": "node", "b": "edge", "*": "both"}


def pattern_lines(text: str) -> list[tuple[int, str]]:
    r"""Return the patterns of a file as Wapiti keeps them, with the numbers of their lines.

    Examples
    --------
    >>> pattern_lines("U:%x[ 0,0]  # the word\n#\n*")
    [(1, 'u:%x[ 0,0]'), (3, '*')]
    """
    lines = [(number, line.split("#", 1)[0].rstrip()) for number, line in enumerate(text.splitlines(), 1)]
    small = str.maketrans("UB", "ub")
    return [(number, line[0].translate(small) + line[1:]) for number, line in lines if line]


def parse_wapiti(text: str, *, source: str = "pattern") -> Recipe:
    r"""Read a Wapiti pattern file.

    Examples
    --------
    >>> recipe = parse_wapiti('U:suf=%M[ 0,0,".?.?$"]')
    >>> [(f.view, f.arguments, f.lower) for f in recipe.templates[0].fields]
    [('match', ('.?.?$',), True)]
    """
    check_text(text, source)
    lines = pattern_lines(text)
    check_lines(lines, source)
    templates: list[Template] = []
    for number, line in lines:
        where, letter = f"{source}, line {number}", line[0]
        if letter not in _KINDS:
            raise ValueError(f"{where}: a Wapiti pattern begins with u, b or *, not {letter!r}")
        marks = [*_COMMAND.finditer(line)]
        fields = [_field(command, where) for command in marks]
        remedy = 'a command of Wapiti; write %x[off,col], %t[off,col,"re"] or %m[off,col,"re"]'
        templates.append(template_of(_KINDS[letter], line, marks, fields, where, remedy))
    if not templates:
        raise ValueError(f"{source} has no pattern; write at least one line that begins with u, b or *")
    return Recipe(tuple(templates), "wapiti", text)


def _field(command: re.Match[str], where: str) -> Field:
    letter, pattern = command["letter"], command["pattern"]
    view = {"x": "same", "t": "test", "m": "match"}[letter.lower()]
    if (pattern is None) != (view == "same"):
        need = "takes no" if view == "same" else "needs a"
        raise ValueError(f"{where}: {quoted(command[0])} {need} regular expression")
    if abs(int(command["offset"])) > MOST_OFFSET:
        raise ValueError(f"{where}: {command[0]}: offsets go from -{MOST_OFFSET} to {MOST_OFFSET}")
    absolute = command["at"] == "@"
    if absolute and int(command["offset"]) == 0:
        raise ValueError(f"{where}: {command[0]}: @1 is the first token and @-1 the last; there is no @0")
    return Field(
        column=command["column"],
        offset=int(command["offset"]),
        view=view,
        arguments=() if pattern is None else (pattern.replace('\\"', '"'),),
        lower=letter.isupper(),
        absolute=absolute,
    )
