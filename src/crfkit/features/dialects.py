"""Template files in any dialect: which one is it, and read it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from crfkit.features.crfpp import parse_crfpp
from crfkit.features.recipe import Dialect, Recipe
from crfkit.features.wapiti import parse_wapiti

__all__ = ["guess_dialect", "parse_recipe", "read_recipe"]


def guess_dialect(text: str) -> Dialect:
    """Tell which dialect a template text is written in.

    Without a percent sign it is crfkit's own, unless every line is a bare U or B line. With one it is CRF++
    when all lines begin with U or B and use nothing but ``%x[row,column]``, and Wapiti otherwise.

    Examples
    --------
    >>> guess_dialect("U00:%x[0,0]"), guess_dialect("*:p=%x[ 0,1]"), guess_dialect("word[0]")
    ('crfpp', 'wapiti', 'crfkit')
    """
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    bare = bool(lines) and all(re.match(r"[UB][^\[]*$", line) for line in lines)
    if "%" not in text:
        return "crfpp" if bare else "crfkit"
    plain = re.compile(r"[UB](?:[^%]|%x\[-?[0-9]+,[0-9]+\])*$")
    return "crfpp" if all(plain.match(line) for line in lines) else "wapiti"


def parse_recipe(
    text: str,
    dialect: Dialect | None = None,
    resources: dict[str, Any] | None = None,
    *,
    source: str = "template",
) -> Recipe:
    """Read a template text; the dialect is guessed when it is not given."""
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
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        line = Path(path).read_bytes()[: error.start].count(b"\n") + 1
        raise ValueError(f"{path}, line {line}: not valid UTF-8; convert the file to UTF-8") from None
    except IsADirectoryError:
        raise ValueError(f"{path} is a folder, expected a template file") from None
    return parse_recipe(text, dialect, resources, source=str(path))
