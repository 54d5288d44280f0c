"""CRF++ template files, with exactly the strings that CRF++ makes.

A line that begins with U makes attributes of labels, one that begins with B attributes of transitions, from
the second position on. ``%x[row,column]`` stands for a token; nothing else may follow a percent sign. The
whole expanded line, prefix included, is the name of the attribute.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from crfkit._safe.printable import quoted
from crfkit.features.limits import check_lines, check_text
from crfkit.features.recipe import Field, Kind, Recipe, Template

_MACRO = re.compile(r"%x\[(-?[0-9]{1,40}),([0-9]{1,40})\]")


def template_lines(text: str) -> list[tuple[int, str]]:
    r"""Return the lines of a template file that are templates, with their numbers.

    Examples
    --------
    >>> template_lines("# words\nU00:%x[0,0]\n\nB")
    [(2, 'U00:%x[0,0]'), (4, 'B')]
    """
    lines = enumerate(text.splitlines(), start=1)
    return [(number, line) for number, line in lines if line and not line.startswith("#")]


def parse_crfpp(text: str, *, source: str = "template") -> Recipe:
    r"""Read a CRF++ template.

    Examples
    --------
    >>> recipe = parse_crfpp("U01:%x[-1,0]/%x[0,0]\nB")
    >>> [(t.kind, [f.offset for f in t.fields]) for t in recipe.templates]
    [('node', [-1, 0]), ('edge', [])]
    """
    check_text(text, source)
    lines = template_lines(text)
    check_lines(lines, source)
    templates: list[Template] = []
    for number, line in lines:
        where = f"{source}, line {number}"
        if line[0] not in "UB":
            raise ValueError(
                f"{where}: a CRF++ template begins with U or B, not {line[0]!r}; # starts a comment"
            )
        kind: Kind = "node" if line[0] == "U" else "edge"
        marks = [*_MACRO.finditer(line)]
        fields = [_field(macro, where) for macro in marks]
        remedy = "a macro of CRF++; write %x[row,column], such as %x[-1,0]"
        templates.append(template_of(kind, line, marks, fields, where, remedy))
    if not templates:
        raise ValueError(f"{source} has no template; write at least one line that begins with U or B")
    return Recipe(tuple(templates), "crfpp", text)


def _field(macro: re.Match[str], where: str) -> Field:
    if abs(int(macro[1])) > 8:
        raise ValueError(f"{where}: {macro[0]}: rows of CRF++ templates go from -8 to 8")
    return Field(str(int(macro[2])), int(macro[1]))


def template_of(
    kind: Kind, line: str, marks: Sequence[re.Match[str]], fields: Sequence[Field], where: str, remedy: str
) -> Template:
    """Return the template of a line in which marks stand for fields; no other percent sign is allowed."""
    ends, begins = [0, *(mark.end() for mark in marks)], [*(mark.start() for mark in marks), len(line)]
    literals = tuple(line[a:b] for a, b in zip(ends, begins, strict=True))
    bad = next((literal for literal in literals if "%" in literal), None)
    if bad is not None:
        raise ValueError(f"{where}: {quoted(bad[bad.index('%') :])} is not {remedy}")
    try:
        return Template(kind, tuple(fields), literals)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
