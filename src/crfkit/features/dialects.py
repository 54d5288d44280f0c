"""Reading template files in any dialect, which is guessed unless it is given."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from crfkit.features.crfpp import parse_crfpp
from crfkit.features.limits import check_text, text_bytes
from crfkit.features.recipe import Dialect, Recipe
from crfkit.features.wapiti import parse_wapiti

#: A line of CRF++, and what only Wapiti has: its letters, and blanks, + and @ in a command.
_CRFPP = re.compile(r"[UB][^%]*(?:%x\[-?[0-9]+,[0-9]+\][^%]*)*$")
_WAPITI = re.compile(r"^[ub*]|%(?:[XtTmM]|x\[[^\]%]*[\s+@])")
#: A percent sign outside strings and comments, which crfkit's own dialect does not have.
_MACRO = re.compile(r'[^"#]*%|[UBub*].*%x\[')


def guess_dialect(text: str) -> Dialect:
    """Return the dialect that a template text is written in.

    Without a macro (``%x``) it is crfkit's own, unless every line is a bare U or B line. With one it is CRF++
    when all lines are lines of CRF++, and Wapiti when all lines are Wapiti's. A text with errors is
    Wapiti's where it has something that only Wapiti knows, and CRF++'s otherwise.

    Examples
    --------
    >>> guess_dialect("U00:%x[0,0]"), guess_dialect("*:p=%x[ 0,1]"), guess_dialect("word[0]")
    ('crfpp', 'wapiti', 'crfkit')
    >>> guess_dialect("U00:%x[0,0"), guess_dialect("u:%x[0,0")
    ('crfpp', 'wapiti')
    """
    check_text(text, "template")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if not any(_MACRO.match(line) for line in lines):
        bare = bool(lines) and all(re.match(r"[UB][^\[]*$", line) for line in lines)
        return "crfpp" if bare else "crfkit"
    if all(_CRFPP.match(line) for line in lines):
        return "crfpp"
    try:
        parse_wapiti(text)
    except ValueError:
        return "wapiti" if any(_WAPITI.search(line) for line in lines) else "crfpp"
    return "wapiti"


def parse_recipe(
    text: str,
    dialect: Dialect | None = None,
    resources: dict[str, Any] | None = None,
    *,
    source: str = "template",
) -> Recipe:
    """Read a template text; the dialect is guessed when it is not given."""
    check_text(text, source)
    dialect = dialect or guess_dialect(text)
    if dialect == "crfpp":
        return parse_crfpp(text, source=source)
    if dialect == "wapiti":
        return parse_wapiti(text, source=source)
    return Recipe.parse(text, resources, source=source)


def read_recipe(
    path: str | Path, dialect: Dialect | None = None, resources: dict[str, Any] | None = None
) -> Recipe:
    """Read a template file."""
    try:
        data = text_bytes(path)
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise ValueError(f"{path}, line {line}: not valid UTF-8; convert the file to UTF-8") from None
    except IsADirectoryError:
        raise ValueError(f"{path} is a folder, expected a template file") from None
    return parse_recipe(text, dialect, resources, source=str(path))
