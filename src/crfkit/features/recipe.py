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
      begin: word[-3..0]               # around the first position of a segment
      end: word[0..3]                  # around the last position of a segment
      segment: shape(word)[..]         # of all positions of a segment: see `crfkit.features.fields`

- CRF++ templates (`crfkit.features.crfpp`), with exactly its strings;
- Wapiti patterns (`crfkit.features.wapiti`), with exactly its strings.

``str(recipe)`` is the text; `Recipe.parse` reads it back, whatever the strings in it are
(`crfkit.features.quoted`). Offsets outside the sequence give the values ``_B-1`` (one before the start) to
``_B-8``, ``_B+1`` to ``_B+8``.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any, Literal, TypeAlias

from crfkit._safe.printable import quoted
from crfkit.features.fields import Field, parse_field
from crfkit.features.limits import Expressions, check_fields, check_templates, check_text
from crfkit.features.quoted import pieces
from crfkit.features.views import NUMBERS, RESOURCES, SIMILARITIES

__all__ = ["Field", "Recipe", "Template", "expressions_in"]

Kind: TypeAlias = Literal["node", "edge", "both", "begin", "end", "segment"]
Dialect: TypeAlias = Literal["crfkit", "crfpp", "wapiti"]
KINDS: tuple[Kind, ...] = ("node", "edge", "both", "begin", "end", "segment")


@dataclass(frozen=True)
class Template:
    """Literal texts around fields: ``literals[0] + field[0] + literals[1] + ...``."""

    kind: Kind
    fields: tuple[Field, ...]
    literals: tuple[str, ...]

    def __post_init__(self) -> None:
        check_fields(self.fields)
        for f in self.fields:
            f.check(segment=self.kind == "segment")
            if f.view in NUMBERS and len(self.fields) > 1:
                raise ValueError(f"{f.text()} is a number and stands alone; write it on a line of its own")
            if f.view in SIMILARITIES and self.kind in ("edge", "both"):
                raise ValueError(
                    f"{f.text()} is a number, which does not score transitions; drop {self.kind}:"
                )

    @property
    def number(self) -> Field | None:
        """The field of a template that makes a number, such as ``value(length)``; None for names."""
        return self.fields[0] if self.fields and self.fields[0].view in NUMBERS else None

    def text(self) -> str:
        """Return the template in crfkit's dialect."""
        fields = " & ".join(f.text() for f in self.fields) or "bias"
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
    #: What training called columns that are found by number: number -> name.
    names: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        check_templates(self.templates, "a recipe")

    def __str__(self) -> str:
        if self.dialect != "crfkit":
            return self.source
        return "\n".join(template.text() for template in self.templates)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that the recipe reads."""
        names = (f.column for template in self.templates for f in template.fields)
        return tuple(dict.fromkeys(name for name in names if name))

    @property
    def column_names(self) -> tuple[str, ...]:
        """The same, by the names that training gave them, which rows that are dicts have too."""
        return tuple(self.names.get(name, name) for name in self.columns)

    @property
    def segmental(self) -> bool:
        """Whether there are templates of segments, or of where they begin and end."""
        return any(template.kind in ("begin", "end", "segment") for template in self.templates)

    @property
    def lacks_mean(self) -> bool:
        """Whether a ``square(length)`` is still without the mean length that it is taken from."""
        return any(f == _SQUARE for template in self.templates for f in template.fields)

    def settled(self, mean: float) -> Recipe:
        """Return the recipe with the mean length of segments in ``square(length)``.

        Training takes the mean of the gold segments (`crfkit.training.segments.mean_length`); the recipe of
        the model then has the number.

        Examples
        --------
        >>> print(Recipe.parse("segment: square(length)").settled(2.5))
        segment: square(length, 2.5)
        """
        if not isfinite(mean):
            raise ValueError(f"mean is {mean}, expected a finite number")
        if not self.lacks_mean:
            return self
        full = _join("segment", (replace(_SQUARE, arguments=(float(mean),)),))
        return replace(self, templates=tuple(full if t.fields == (_SQUARE,) else t for t in self.templates))

    @classmethod
    def parse(cls, text: str, resources: dict[str, Any] | None = None, *, source: str = "recipe") -> Recipe:
        """Read a recipe in crfkit's dialect; templates end at line ends or semicolons.

        Parameters
        ----------
        text : str
            The recipe.
        resources : dict, optional
            Tables for ``lookup`` (token -> value), gazetteers and dictionaries, by the names that the recipe
            uses.
        source : str
            What error messages call the text.
        """
        check_text(text, source)
        templates: list[Template] = []
        expressions = Expressions()
        for number, line in enumerate(text.splitlines(), start=1):
            part = line
            try:
                for part in _split(line):
                    made = _parse_template(part)
                    for expression in expressions_in(made):
                        expressions.add(expression)
                    templates.extend(made)
            except ValueError as error:
                raise ValueError(f"{source}, line {number}: {quoted(part)}: {error}") from None
            check_templates(templates, f"{source}, line {number}")
        if not templates:
            raise ValueError(f"{source} has no template; write at least one, such as 'word[0]'")
        recipe = cls(tuple(templates), resources=dict(resources or {}))
        for template in templates:
            for f in template.fields:
                if f.view == "embedding" and (len(template.fields) > 1 or template.kind != "node"):
                    raise ValueError(
                        f"{source}: {f.name()} is a vector, which scores labels only; put it on its own line"
                    )
                if f.view in RESOURCES and f.arguments[0] not in recipe.resources:
                    known = ", ".join(recipe.resources) or "none"
                    raise ValueError(
                        f"{source}: {f.name()} names a resource that is not given; given: {known}"
                    )
        return recipe


def expressions_in(templates: Sequence[Template]) -> Iterator[str]:
    """Yield Python's regular expressions in templates."""
    fields = (f for template in templates for f in template.fields)
    return (str(f.arguments[0]) for f in fields if f.view in ("regex", "is"))


def _split(line: str) -> list[str]:
    """Cut a line at semicolons and drop the comment, neither inside quotes."""
    code = itertools.takewhile(lambda piece: piece != "#", pieces(line, ";#"))
    return [piece.strip() for piece in code if piece != ";" and piece.strip()]


def _parse_template(text: str) -> list[Template]:
    kind: Kind = "node"
    if prefix := re.match(r"(\w+)\s*:\s*", text):
        if prefix[1] not in KINDS:
            raise ValueError(f"{quoted(prefix[1])} is not a kind of template; kinds are {', '.join(KINDS)}")
        kind, text = KINDS[KINDS.index(prefix[1])], text[prefix.end() :]
    if text == "bias":
        return [Template(kind, (), ("bias" if kind == "node" else f"{kind}:bias",))]
    choices: list[list[Field]] = [[]]
    parts = _joined(text)
    check_fields(parts)
    for part in parts:
        fields = parse_field(part, segment=kind == "segment")
        if len(fields) > 1 and len(parts) > 1:
            raise ValueError("a window (..) cannot be in a conjunction; write it on a line of its own")
        choices = [[*chosen, f] for chosen in choices for f in fields]
    return [_join(kind, tuple(chosen)) for chosen in choices]


def _joined(text: str) -> list[str]:
    """Return what stands between the signs & of a conjunction."""
    parts = [""]
    for piece in pieces(text, "&"):
        parts += [""] if piece == "&" else [parts.pop() + piece]
    return parts


def _join(kind: Kind, fields: tuple[Field, ...]) -> Template:
    """Name the attribute after its fields: ``word[-1]&word[0]=the|cat``; a number after its field alone."""
    prefix = "" if kind == "node" else f"{kind}:"
    head = prefix + "&".join(f.text() for f in fields)
    if fields[0].view in NUMBERS:
        return Template(kind, fields, (head, ""))
    return Template(kind, fields, (f"{head}=", *["|"] * (len(fields) - 1), ""))


#: The length of a segment minus its mean, squared, where the mean is not known yet.
_SQUARE = Field("", view="square", anchor="all")
