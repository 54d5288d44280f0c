"""Formulas as text: ``cites(a, b) & topic(a, t) -> topic(b, t)``.

From what binds most to what binds least: ``!`` not, ``&`` and, ``|`` or, ``->`` implies, ``<->`` as well as.
Names are variables, or predicates where a bracket follows; quoted text and whole numbers are constants.
``+t`` marks a variable. ``=``, ``!=``, ``<``, ``<=``, ``>``, ``>=`` compare two terms.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
Op = Literal["atom", "!", "&", "|", "->", "<->"]
_TOKEN = re.compile(
    r"\s*(?:(?P<sign><->|->|!=|<=|>=|[=<>!&|(),+])|(?P<name>[^\W\d]\w*)|(?P<number>-?\d{1,18})"
    r"|'(?P<one>[^']*)'|\"(?P<two>[^\"]*)\")"
)
_DEEPEST, _MOST_OPERATORS = 50, 200  # brackets within brackets; operators of a formula
_BINARY: tuple[Op, ...] = ("<->", "->", "|", "&")  # from what binds least


@dataclass(frozen=True)
class Term:
    """A variable or a constant."""

    value: str | int
    variable: bool
    plus: bool = False

    def __str__(self) -> str:
        name = str(self.value) if self.variable or isinstance(self.value, int) else repr(self.value)
        return f"+{name}" if self.plus else name


@dataclass(frozen=True)
class Atom:
    """A predicate and its terms, or a comparison of two terms."""

    name: str
    terms: tuple[Term, ...]

    @property
    def variables(self) -> list[str]:
        """Names of the variables, in order."""
        return [str(term.value) for term in self.terms if term.variable]

    def __str__(self) -> str:
        if self.name in COMPARISONS:
            return f"{self.terms[0]} {self.name} {self.terms[1]}"
        return f"{self.name}({', '.join(map(str, self.terms))})"


@dataclass(frozen=True)
class Node:
    """A formula: an atom, or an operation on formulas."""

    op: Op
    parts: tuple[Node, ...] = ()
    atom: Atom | None = None

    def atoms(self) -> Iterator[Atom]:
        """Yield the atoms, left to right."""
        if self.atom is not None:
            yield self.atom
        for part in self.parts:
            yield from part.atoms()


def parse(text: str, where: str) -> Node:
    """Return the formula of a text; `where` begins messages.

    Examples
    --------
    >>> formula = parse("cites(a, b) & topic(a, +t) -> topic(b, +t)", "rule 1")
    >>> formula.op, [str(atom) for atom in formula.atoms()]
    ('->', ['cites(a, b)', 'topic(a, +t)', 'topic(b, +t)'])
    """
    return _Parser(text, where).whole()


class _Parser:
    def __init__(self, text: str, where: str) -> None:
        self.text, self.where, self.at, self.depth = text, where, 0, 0
        self.tokens: list[tuple[str, str, int]] = []  # kind, text, column
        place, end = 0, len(text.rstrip())
        while place < end:
            found = _TOKEN.match(text, place)
            if found is None:
                self.at = len(self.tokens)
                begin = place + len(text[place:]) - len(text[place:].lstrip())
                raise ValueError(f"{where}: cannot read {text[begin : begin + 10]!r} at column {begin + 1}")
            kind = str(found.lastgroup)
            self.tokens.append((kind, found[kind], found.start(kind)))
            place = found.end()
        operators = sum(kind == "sign" and text in ("!", *_BINARY) for kind, text, _ in self.tokens)
        if operators > _MOST_OPERATORS:
            raise ValueError(f"{where}: there are more than {_MOST_OPERATORS} operators; write two formulas")

    def whole(self) -> Node:
        made = self.formula(0)
        if self.at < len(self.tokens):
            raise self.error("the end, or one of & | -> <->")
        return made

    def formula(self, level: int) -> Node:
        if level == len(_BINARY):
            return self.literal()
        op = _BINARY[level]
        parts = [self.formula(level + 1)]
        while self.take(op):
            parts.append(self.formula(level if op == "->" else level + 1))  # a -> b -> c is a -> (b -> c)
        made = parts[0]
        for part in parts[1:]:
            made = Node(op, (made, part))
        return made

    def literal(self) -> Node:
        if self.take("!"):
            return Node("!", (self.literal(),))
        if self.take("("):
            self.depth += 1
            if self.depth > _DEEPEST:
                raise ValueError(f"{self.where}: brackets lie more than {_DEEPEST} deep in each other")
            made = self.formula(0)
            self.demand(")")
            self.depth -= 1
            return made
        kind, name, _ = self.peek()
        if kind == "name" and self.peek(1)[1] == "(" and self.peek(1)[0] == "sign":
            self.at += 2
            terms = [self.term()]
            while self.take(","):
                terms.append(self.term())
            self.demand(")")
            return Node("atom", atom=Atom(name, tuple(terms)))
        left = self.term()
        kind, sign, _ = self.peek()
        if kind != "sign" or sign not in COMPARISONS:
            raise self.error("a predicate with its terms in brackets, or a comparison such as a != b")
        self.at += 1
        return Node("atom", atom=Atom(sign, (left, self.term())))

    def term(self) -> Term:
        plus = self.take("+")
        kind, text, _ = self.peek()
        if kind == "name" or (not plus and kind in ("number", "one", "two")):
            self.at += 1
            return Term(int(text) if kind == "number" else text, kind == "name", plus)
        raise self.error("a variable" if plus else "a variable, a number or quoted text")

    def peek(self, ahead: int = 0) -> tuple[str, str, int]:
        at = self.at + ahead
        return self.tokens[at] if at < len(self.tokens) else ("end", "the end", len(self.text))

    def take(self, sign: str) -> bool:
        kind, text, _ = self.peek()
        found = kind == "sign" and text == sign
        self.at += found
        return found

    def demand(self, sign: str) -> None:
        if not self.take(sign):
            raise self.error(repr(sign))

    def error(self, expected: str) -> ValueError:
        kind, text, column = self.peek()
        found = text if kind == "end" else repr(text)
        return ValueError(f"{self.where}: expected {expected} at column {column + 1}, found {found}")
