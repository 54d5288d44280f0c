"""Recipes: which attributes a position gets, as data.

A recipe is a list of templates over fields. A field is a view of a column at an offset; a template joins
fields with literal text into one attribute name. Three dialects write the same thing down:

- crfkit's own, one template per line::

      bias
      word[-2..2]                      # five templates, one per offset
      lower(word)[-1] & lower(word)[0] # a conjunction
      suffix(word, 3)[0]
      edge: pos[0]                     # scores transitions
      both: pos[-1]                    # scores labels and transitions

- CRF++ templates (`crfkit.features.crfpp`), with exactly its strings;
- Wapiti patterns (`crfkit.features.wapiti`), with exactly its strings.

``str(recipe)`` is the text; `Recipe.parse` reads it back, whatever the strings in it are
(`crfkit.features.quoted`). Offsets outside the sequence give the values ``_B-1`` (one before the start) to
``_B-8``, ``_B+1`` to ``_B+8``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from crfkit.features.quoted import STRING, arguments_of, quote
from crfkit.features.views import check_arguments

__all__ = ["Field", "Recipe", "Template"]

Kind: TypeAlias = Literal["node", "edge", "both"]
Dialect: TypeAlias = Literal["crfkit", "crfpp", "wapiti"]
KINDS: tuple[Kind, ...] = ("node", "edge", "both")
MOST_OFFSET = 1000


@dataclass(frozen=True)
class Field:
    """A view of a column at an offset (or, `absolute`, at a place: 1 is the first token, -1 the last)."""

    column: str
    offset: int = 0
    view: str = "same"  # same, one of VIEWS, or Wapiti's test and match
    arguments: tuple[int | str, ...] = ()
    lower: bool = False  # ASCII, Wapiti's upper-case commands
    absolute: bool = False

    def name(self) -> str:
        """Return the field without its offset, as in crfkit's dialect."""
        if self.view == "same":
            return self.column
        return f"{self.view}({', '.join([self.column, *map(_literal, self.arguments)])})"


@dataclass(frozen=True)
class Template:
    """Literal texts around fields: ``literals[0] + field[0] + literals[1] + ...``."""

    kind: Kind
    fields: tuple[Field, ...]
    literals: tuple[str, ...]

    def text(self) -> str:
        """Return the template in crfkit's dialect."""
        fields = " & ".join(f"{f.name()}[{f.offset}]" for f in self.fields) or "bias"
        return fields if self.kind == "node" else f"{self.kind}: {fields}"


@dataclass(frozen=True)
class Recipe:
    """Templates in one dialect, with the tables and gazetteers that they name.

    Examples
    --------
    >>> recipe = Recipe.parse("bias; word[-1..1]; lower(word)[0] & shape(word)[0]")
    >>> print(recipe)
    bias
    word[-1]
    word[0]
    word[1]
    lower(word)[0] & shape(word)[0]
    >>> Recipe.parse(str(recipe)) == recipe
    True
    """

    templates: tuple[Template, ...]
    dialect: Dialect = "crfkit"
    source: str = ""  # the text of a CRF++ or Wapiti template file
    resources: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def __str__(self) -> str:
        if self.dialect != "crfkit":
            return self.source
        return "\n".join(template.text() for template in self.templates)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that the recipe reads."""
        return tuple(dict.fromkeys(f.column for template in self.templates for f in template.fields))

    @classmethod
    def parse(cls, text: str, resources: dict[str, Any] | None = None, *, source: str = "recipe") -> Recipe:
        """Read a recipe in crfkit's dialect; templates end at line ends or semicolons.

        Parameters
        ----------
        text : str
            The recipe.
        resources : dict, optional
            Tables for ``lookup`` (token -> value) and gazetteers, by the names that the recipe uses.
        source : str
            What error messages call the text.
        """
        templates: list[Template] = []
        for number, line in enumerate(text.splitlines(), start=1):
            part = line
            try:
                for part in _split(line):
                    templates.extend(_parse_template(part))
            except ValueError as error:
                raise ValueError(f"{source}, line {number}: {part!r}: {error}") from None
        if not templates:
            raise ValueError(f"{source} has no template; write at least one, such as 'word[0]'")
        recipe = cls(tuple(templates), resources=dict(resources or {}))
        for template in templates:
            for f in template.fields:
                if f.view == "embedding" and (len(template.fields) > 1 or template.kind != "node"):
                    raise ValueError(
                        f"{source}: {f.name()} is a vector, which scores labels only; put it on its own line"
                    )
                if f.view in ("lookup", "gazetteer", "embedding") and f.arguments[0] not in recipe.resources:
                    known = ", ".join(recipe.resources) or "none"
                    raise ValueError(
                        f"{source}: {f.name()} names a resource that is not given; given: {known}"
                    )
        return recipe


def _literal(argument: int | str) -> str:
    return str(argument) if isinstance(argument, int) else quote(argument)


def _split(line: str) -> list[str]:
    """Cut a line at semicolons and drop the comment, neither inside quotes."""
    pieces = re.findall(rf'(?:[^";#]|{STRING})+|[;#"]', line)
    pieces = pieces[: pieces.index("#")] if "#" in pieces else pieces
    if '"' in pieces:
        raise ValueError("a quotation mark is not closed")
    return [piece.strip() for piece in pieces if piece != ";" and piece.strip()]


def _parse_template(text: str) -> list[Template]:
    kind: Kind = "node"
    for name in KINDS:
        if text.startswith(f"{name}:"):
            kind, text = name, text[len(name) + 1 :].strip()
    if text == "bias":
        return [Template(kind, (), ("bias" if kind == "node" else f"{kind}:bias",))]
    choices: list[list[Field]] = [[]]
    parts = re.findall(rf'(?:^|&)((?:[^"&]|{STRING})*)', text)
    for part in parts:
        fields = _parse_field(part)
        if len(fields) > 1 and len(parts) > 1:
            raise ValueError("a window (..) cannot be in a conjunction; write it on a line of its own")
        choices = [[*chosen, f] for chosen in choices for f in fields]
    return [_join(kind, tuple(chosen)) for chosen in choices]


def _join(kind: Kind, fields: tuple[Field, ...]) -> Template:
    """Name the attribute after its fields: ``word[-1]&word[0]=the|cat``."""
    head = "&".join(f"{f.name()}[{f.offset}]" for f in fields)
    prefix = "" if kind == "node" else f"{kind}:"
    return Template(kind, fields, (f"{prefix}{head}=", *["|"] * (len(fields) - 1), ""))


_FIELD = re.compile(
    rf"""(?P<body>[^\[\]"]+(?:{STRING}[^\[\]"]*)?)
        \[ \s*(?P<low>[+-]?\d+)\s* (?:\.\.\s*(?P<high>[+-]?\d+)\s*)? \]""",
    re.VERBOSE,
)


def _parse_field(text: str) -> list[Field]:
    matched = _FIELD.fullmatch(text.strip())
    if not matched:
        raise ValueError(f"{text!r} is not a field; write column[offset] or view(column, ...)[offset]")
    low = int(matched["low"])
    high = low if matched["high"] is None else int(matched["high"])
    if high < low:
        raise ValueError(f"the window {low}..{high} is empty")
    if low < -MOST_OFFSET or high > MOST_OFFSET:
        raise ValueError(f"offsets go from -{MOST_OFFSET} to {MOST_OFFSET}")
    column, view, arguments = _parse_view(matched["body"].strip())
    return [Field(column, offset, view, arguments) for offset in range(low, high + 1)]


def _parse_view(text: str) -> tuple[str, str, tuple[int | str, ...]]:
    if re.fullmatch(r"\w+", text):
        return text, "same", ()
    called = re.fullmatch(r"(\w+)\s*\(\s*(\w+)\s*(?:,(.*))?\)", text)
    if not called:
        raise ValueError(f"{text!r} is neither a column nor view(column, ...)")
    view, column, rest = called.groups()
    arguments = arguments_of(rest) if rest else ()
    check_arguments(view, arguments)
    return column, view, arguments
