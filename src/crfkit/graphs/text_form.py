"""The text form of graphs over column files: kinds are columns, cliques are lines.

::

    # parts of speech and chunks together, and equal names joined
    columns  word pos chunk                # names of the columns of the file
    kind     pos                           # a column of labels, to be predicted
    kind     chunk = column 2              # the same, by its number from 0
    features word[-2..2]; suffix(word, 3)[0]
    features skip = shape(word)[0]         # a second set of attributes, with a name
    clique   pos              by features  # the label of a token, by the attributes of the token
    clique   chunk            by features
    clique   pos[-1] pos                   # the token before, and the token: a plain table
    clique   chunk[-1] chunk
    clique   pos chunk                     # two labels of one token
    clique   chunk chunk equal word where capitalized by skip

=============================================  =============================================================
``columns NAME ...``                           names of columns, where the data have none
``kind NAME``, ``kind NAME = column C``        labels of a column; ``unknown TEXT``: text of hidden labels
``kind NAME hidden N``                         N labels that no column has
``features TEMPLATE``, ``features S = ...``    a set of attributes, in crfkit's template language
``clique [NAME =] KIND ...``                   kinds that are scored together; ``KIND[-1]``: one token before
``... by S [of first|last|both]``              by the attributes of the last token, or of another; of pairs
                                               both: those that either token has
``... equal FIELD``                            two tokens of a sequence with the same value: ``lower(word)``
``... where capitalized``, ``where FIELD``     only tokens with an upper-case letter, or with such a value
``... nearest N``, ``most N``                  each with N that follow; no values that occur more often
``... cells=potts``                            shared weights: free, symmetric, same, potts
=============================================  =============================================================
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any, Final

from crfkit._safe.printable import cut, quoted, shown
from crfkit.features import Recipe
from crfkit.features.limits import check_templates, check_text
from crfkit.features.quoted import pieces
from crfkit.features.recipe import Template
from crfkit.graphs.text_lines import At, Line
from crfkit.graphs.text_pairs import check_field

_WORDS: Final = ("columns", "kind", "features", "clique")
_OPTIONS: Final = ("equal", "by", "of", "where", "nearest", "most")
_CELLS: Final = ("free", "symmetric", "same", "potts")
_FURTHEST: Final = 100  #: offset of a kind in a clique
_HIDDEN: Final = 10_000  #: labels of a hidden kind
_PLACE = re.compile(r"(?P<kind>\w+)(?:\[\s*(?P<offset>[+-]?\d{1,9})\s*\])?")


class FormError(ValueError):
    """A text form that is wrong; the message names the line."""


@dataclass(frozen=True)
class Kind:
    """Where the labels of a kind are."""

    column: str | int | None = None  #: None: they are hidden
    hidden: int = 0  #: how many labels hidden ones are
    unknown: str | None = None  #: what a column has where a label is not known


@dataclass(frozen=True)
class Equal:
    """Which pairs of tokens a clique scores."""

    field: str  #: a column or view(column, ...), whose value both have
    where: str | None = None  #: "capitalized", or a field that both have
    nearest: int | None = None
    most: int | None = None

    def __str__(self) -> str:
        options = {"where": self.where, "nearest": self.nearest, "most": self.most}
        return f"equal {self.field}" + "".join(f" {k} {v}" for k, v in options.items() if v is not None)


@dataclass(frozen=True)
class GraphForm:
    """A graph over column files, read from a text.

    Examples
    --------
    >>> form = GraphForm.parse('''
    ... kind tag = column 1
    ... features 0[-1..1]
    ... clique tag by features
    ... clique tag[-1] tag
    ... ''')
    >>> [*form.kinds], [line.name for line in form.lines]
    (['tag'], ['tag', 'tag[-1] tag'])
    """

    text: str
    columns: tuple[str, ...] = ()
    kinds: dict[str, Kind] = field(default_factory=dict)
    sets: dict[str, Recipe] = field(default_factory=dict)
    lines: tuple[Line, ...] = ()
    equal: dict[str, Equal] = field(default_factory=dict)  #: clique -> which pairs
    places: dict[str, str] = field(default_factory=dict)  #: "clique X", "kind Y" -> file and line

    def __str__(self) -> str:
        return self.text

    @classmethod
    def parse(cls, text: str, source: str = "graph") -> GraphForm:
        """Read the text form; see `crfkit.graphs.text_form`.

        Parameters
        ----------
        text : str
        source : str
            What messages call it, such as the name of the file.
        """
        try:
            check_text(text, source)
        except ValueError as error:
            raise FormError(str(error)) from None
        made = _Parser(source)
        for number, line in enumerate(text.splitlines(), 1):
            made.line(number, line)
        return made.form(text)


@dataclass
class _Parser:
    """The parts of a form, as lines come."""

    source: str
    number: int = 0
    columns: tuple[str, ...] = ()
    kinds: dict[str, Kind] = field(default_factory=dict)
    templates: dict[str, list[Template]] = field(default_factory=dict)
    lines: dict[str, Line] = field(default_factory=dict)
    equal: dict[str, Equal] = field(default_factory=dict)
    at: dict[str, int] = field(default_factory=dict)  #: "kind pos" and so on -> its line

    def wrong(self, what: str, number: int | None = None) -> FormError:
        return FormError(f"{self.source}:{self.number if number is None else number}: {what}")

    def line(self, number: int, line: str) -> None:
        self.number = number
        word, _, rest = line.strip().partition(" ")
        if not word or word.startswith("#"):
            return
        if word not in _WORDS:
            raise self.wrong(f"{word!r} is not known; lines begin with {', '.join(_WORDS)} or #")
        read: Any = getattr(self, f"_{word}")
        read(rest.strip() if word == "features" else self._tokens(rest))

    def _tokens(self, text: str) -> list[str]:
        try:
            return _tokens(text)
        except ValueError:
            raise self.wrong(
                f"parentheses or quotation marks are not closed in: {quoted(text.strip(), 200)}"
            ) from None

    def _columns(self, names: list[str]) -> None:
        if self.columns:
            raise self.wrong("columns were named before; name them once")
        if not names or len(set(names)) < len(names):
            raise self.wrong("columns need names that are all different, as in: columns word pos")
        self.at["columns"] = self.number
        self.columns = tuple(names)

    def _kind(self, tokens: list[str]) -> None:
        words = " ".join(tokens)
        found = re.fullmatch(
            r"(?P<name>\w+)(?:\s*=\s*column\s+(?P<column>\w+))?"
            r"(?:\s+hidden\s+(?P<hidden>\d{1,18})|\s+unknown\s+(?P<unknown>\S+))?",
            words,
        )
        if found is None or (found["column"] and found["hidden"]):
            raise self.wrong(
                f"kind {words[:99]} is not clear; write kind NAME, kind NAME = column 1, or NAME hidden 3"
            )
        name, hidden = found["name"], int(found["hidden"] or 0)
        if name in self.kinds:
            raise self.wrong(f"kind {name!r} is there twice; line {self.at[f'kind {name}']} has it too")
        if found["hidden"] and not 0 < hidden <= _HIDDEN:
            raise self.wrong(f"kind {name!r} has {hidden} hidden labels, expected 1 to {_HIDDEN}")
        column = found["column"] or name
        self.at[f"kind {name}"] = self.number
        self.kinds[name] = Kind(None if hidden else column, hidden, found["unknown"])

    def _features(self, text: str) -> None:
        named = re.match(r"(\w+)\s*=\s*", text)
        name = named[1] if named else "features"
        self.at.setdefault(f"features {name}", self.number)
        try:
            made = Recipe.parse(text[named.end() :] if named else text, source="template")
            self.templates.setdefault(name, []).extend(made.templates)
            check_templates(self.templates[name], f"features {name}")
        except ValueError as error:
            raise self.wrong(str(error)) from None
        if any(template.kind != "node" for template in made.templates):
            raise self.wrong(
                "edge:, both:, begin:, end: and segment: are not for graphs; leave the word out; `by` says "
                "which cliques the attributes score"
            )

    def _clique(self, tokens: list[str]) -> None:
        given, rest = ("", tokens)
        if len(tokens) > 1 and tokens[1] == "=":
            given, rest = tokens[0], tokens[2:]
        scope = _until(rest)
        if not scope:
            raise self.wrong("clique needs kinds, as in: clique pos chunk")
        kinds, offsets = zip(*map(self._place, scope), strict=True)
        options = self._options(rest[len(scope) :])
        equal: Equal | None = options["equal"]
        if equal is not None and (len(kinds) != 2 or any(offsets)):
            raise self.wrong("equal joins two tokens: write two kinds without offsets before it")
        if equal is None and len({*zip(kinds, offsets, strict=True)}) < len(kinds):
            raise self.wrong(
                f"clique {' '.join(scope)} has a variable twice; neighbors are {kinds[0]}[-1] {kinds[0]}"
            )
        at: At = options["at"] or ("last" if equal is None else "both")
        line = Line("", kinds, () if equal is not None else offsets, options["by"], at, options["cells"])
        name = given or line.scope + ("" if equal is None else f" {equal}")
        if name in self.lines:
            raise self.wrong(
                f"clique {name!r} is there twice, on line {self.at[f'clique {name}']} too; leave one out, or "
                "give it a name: clique NAME = ..."
            )
        self.at[f"clique {name}"] = self.number
        self.lines[name] = replace(line, name=name)
        if equal is not None:
            self.equal[name] = equal

    def _place(self, text: str) -> tuple[str, int]:
        found = _PLACE.fullmatch(text)
        if found is None:
            raise self.wrong(f"{text!r} is not a kind; write pos, or pos[-1] for the token before")
        offset = int(found["offset"] or 0)
        if abs(offset) > _FURTHEST:
            raise self.wrong(f"{text}: offsets go from -{_FURTHEST} to {_FURTHEST}")
        return found["kind"], offset

    def _options(self, tokens: list[str]) -> dict[str, Any]:
        made: dict[str, Any] = dict.fromkeys((*_OPTIONS, "at"))
        made["cells"] = "free"
        rest = deque(tokens)
        while rest:
            word = rest.popleft()
            if word.startswith("cells="):
                made["cells"] = word.removeprefix("cells=")
                if made["cells"] not in _CELLS:
                    raise self.wrong(f"{word}: expected cells= with one of {', '.join(_CELLS)}")
                continue
            if word not in _OPTIONS or made[word] is not None:
                raise self.wrong(
                    f"{word!r} is not expected here; after the kinds come equal FIELD, where, nearest, most, "
                    "by SET, of, cells=, each once"
                )
            if not rest:
                raise self.wrong(f"{word} is followed by nothing")
            made[word] = rest.popleft()
        self._check_options(made)
        return made

    def _check_options(self, made: dict[str, Any]) -> None:
        for word in ("nearest", "most"):
            if made[word] is not None:
                if not re.fullmatch("[0-9]{1,9}", made[word]) or int(made[word]) < 1:
                    raise self.wrong(f"{word} {shown(cut(made[word], 80))}: expected a number of 1 or more")
                made[word] = int(made[word])
        if made["of"] is not None:
            if made["by"] is None or made["of"] not in ("first", "last", "both"):
                raise self.wrong("of says whose attributes: write by SET of first, last or both")
            made["at"] = made["of"]
        try:
            for word in ("equal", "where"):
                if made[word] not in (None, "capitalized"):
                    check_field(made[word])
        except ValueError as error:
            raise self.wrong(str(error)) from None
        if made["equal"] is not None:
            made["equal"] = Equal(made["equal"], made["where"], made["nearest"], made["most"])
        elif made["where"] or made["nearest"] or made["most"]:
            raise self.wrong("where, nearest and most are for pairs of tokens: write equal FIELD before them")

    def form(self, text: str) -> GraphForm:
        """Return the form, whole and checked."""
        if not self.kinds:
            raise FormError(
                f"{self.source}: there is no kind; write kind NAME = column 1 for each label column"
            )
        if not self.lines:
            raise FormError(f"{self.source}: there is no clique; write clique NAME by features")
        used = set()
        for name, line in self.lines.items():
            for kind in line.kinds:
                if kind not in self.kinds:
                    raise self.wrong(
                        f"clique {name}: {kind!r} is not a kind; the kinds are {', '.join(self.kinds)}",
                        self.at[f"clique {name}"],
                    )
            if line.by is not None and line.by not in self.templates:
                raise self.wrong(
                    f"clique {name}: there are no features {line.by!r}; write features {line.by} = ...",
                    self.at[f"clique {name}"],
                )
            used |= {*line.kinds} | {f"features {line.by}"}
        for kind in self.kinds.keys() - used:
            raise self.wrong(f"kind {kind!r} is in no clique; write clique {kind}", self.at[f"kind {kind}"])
        for name in self.templates:
            if f"features {name}" not in used:
                raise self.wrong(
                    f"features {name} are not used; write by {name} behind a clique",
                    self.at[f"features {name}"],
                )
        sets = {name: Recipe(tuple(templates)) for name, templates in self.templates.items()}
        places = {what: f"{self.source}:{number}" for what, number in self.at.items()}
        return GraphForm(text, self.columns, self.kinds, sets, (*self.lines.values(),), self.equal, places)


def _tokens(text: str) -> list[str]:
    """Cut a line at blanks that are neither in brackets nor in quotation marks, up to a #."""
    tokens, inside = [""], False
    for piece in pieces(text, "#() \t\v\f"):
        if piece == "#":
            break
        if piece in "()":
            if inside == (piece == "("):
                raise ValueError("parentheses are not closed")
            inside = not inside
        if piece.isspace() and not inside:
            tokens.append("")
        else:
            tokens[-1] += piece
    if inside:
        raise ValueError("parentheses are not closed")
    return [token for token in tokens if token]


def _until(tokens: list[str]) -> list[str]:
    """Return the kinds of a clique: what comes before its options."""
    return [*takewhile(lambda token: token not in _OPTIONS and not token.startswith("cells="), tokens)]
