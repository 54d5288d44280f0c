"""BIF, the interchange format of Bayes nets: variables with named states, and conditional tables.

A table ``probability ( a | b, c )`` becomes a factor of b, c and a. It has a row of probabilities for each
labeling of the parents, ``(yes, no) 0.2, 0.8;``, a ``default`` for the others, or one ``table`` with the
states of a slowest and those of the last parent fastest. Variables are numbered as they are declared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from crfkit.arrays import Floats
from crfkit.data.graphs.costs import FactorCollector
from crfkit.data.graphs.factor_list import FactorList
from crfkit.data.source import Input

_TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"[^"\n]*"|[{}()\[\];,|]|[^\s{}()\[\];,|"]+', re.DOTALL)


class _Tokens:
    """The words and marks of a file; errors name the line."""

    def __init__(self, source: Input) -> None:
        self._source = source
        self.text = source.whole(text=True).decode(errors="replace")
        found = [m for m in _TOKEN.finditer(self.text) if not m.group().startswith(("//", "/*"))]
        self.word = [m.group().strip('"') for m in found]
        self._begin = [m.start() for m in found]
        self.at = 0

    def error(self, what: str) -> Exception:
        """Return an error at the last token that was taken."""
        place = self._begin[min(max(self.at - 1, 0), len(self._begin) - 1)] if self._begin else 0
        return self._source.error(self.text.count("\n", 0, place) + 1, what)

    def take(self, *expected: str) -> str:
        """Return the next token, one of those expected if any are."""
        if self.at >= len(self.word):
            raise self._source.error(None, f"ends where {expected[0] if expected else 'more'!r} should come")
        self.at += 1
        word = self.word[self.at - 1]
        if expected and word not in expected:
            raise self.error(f"{word!r:.40} stands where {' or '.join(map(repr, expected))} should come")
        return word

    def until(self, *ends: str) -> Iterator[str]:
        """Yield tokens up to a mark, which is taken; commas are left out."""
        while (word := self.take()) not in ends:
            if word != ",":
                yield word

    def block(self) -> None:
        """Pass over a block in braces."""
        self.take("{")
        depth = 1
        while depth:
            word = self.take()
            depth += (word == "{") - (word == "}")

    def number(self, word: str) -> float:
        """Return a probability."""
        try:
            value = float(word)
        except ValueError:
            raise self.error(f"{word!r:.40} is not a number") from None
        if not 0.0 <= value < np.inf:
            raise self.error(f"a probability is {word:.40}, expected 0 or more")
        return value


def read_bif(source: Input) -> FactorList:
    """Read a Bayes net."""
    tokens = _Tokens(source)
    states: dict[str, list[str]] = {}
    later: list[int] = []  # where tables begin: they may come before the variables that they name
    while tokens.at < len(tokens.word):
        what = tokens.take("network", "variable", "probability")
        if what == "network":
            while tokens.word[tokens.at : tokens.at + 1] != ["{"]:
                tokens.take()
            tokens.block()
        elif what == "variable":
            name = tokens.take()
            if name in states:
                raise tokens.error(f"variable {name!r:.40} is declared twice")
            states[name] = _states(tokens, name)
        else:
            later.append(tokens.at)
            list(tokens.until(")"))
            tokens.block()
    if not states:
        raise source.error(None, "has no variables; give a Bayes net in BIF")
    made = FactorCollector([len(each) for each in states.values()], len(tokens.text))
    number = {name: v for v, name in enumerate(states)}
    for begin in later:
        tokens.at = begin
        _table(tokens, states, number, made)
    return made.factors()


def _states(tokens: _Tokens, name: str) -> list[str]:
    tokens.take("{")
    found: list[str] = []
    while (word := tokens.take("type", "property", "}")) != "}":
        if word == "property":
            list(tokens.until(";"))
            continue
        tokens.take("discrete")
        tokens.take("[")
        count = tokens.number(tokens.take())
        tokens.take("]")
        tokens.take("{")
        found = list(tokens.until("}"))
        tokens.take(";")
        if not found or len(found) != count or len(set(found)) < len(found):
            raise tokens.error(
                f"variable {name!r:.40} has {len(found)} states, expected {count:g} different ones"
            )
    if not found:
        raise tokens.error(f"variable {name!r:.40} has no states")
    return found


def _table(
    tokens: _Tokens, states: dict[str, list[str]], number: dict[str, int], made: FactorCollector
) -> None:
    tokens.take("(")
    named = [word for word in tokens.until(")") if word != "|"]
    unknown = [word for word in named if word not in number]
    if unknown or not named:
        raise tokens.error(f"variable {unknown[0]!r:.40} is not declared" if unknown else "names no variable")
    child, *parents = named
    scope = [number[name] for name in (*parents, child)]
    try:
        score = made.table(scope, np.nan)
    except ValueError as error:
        raise tokens.error(f"the table of {child!r:.40} {error}") from None
    tokens.take("{")
    default: Floats | None = None
    while (word := tokens.take("table", "default", "(", "property", "}")) != "}":
        if word == "property":
            list(tokens.until(";"))
            continue
        at = list(tokens.until(")")) if word == "(" else []
        value = np.array([tokens.number(each) for each in tokens.until(";")])
        size = score.size if word == "table" else score.shape[-1]
        if len(value) != size:
            raise tokens.error(f"the table of {child!r:.40} has {len(value)} numbers, expected {size}")
        if word == "table":
            score[...] = np.moveaxis(value.reshape(score.shape[-1], *score.shape[:-1]), 0, -1)
        elif word == "default":
            default = value
        else:
            wrong = [one for one, name in zip(at, parents, strict=False) if one not in states[name]]
            if wrong or len(at) != len(parents):
                raise tokens.error(f"({', '.join(at)!s:.60}) are not states of {', '.join(parents)!s:.60}")
            score[tuple(states[name].index(one) for name, one in zip(parents, at, strict=True))] = value
    if default is not None:
        score[np.isnan(score).any(axis=-1)] = default
    if np.isnan(score).any():
        raise tokens.error(f"the table of {child!r:.40} lacks {int(np.isnan(score).sum())} probabilities")
    with np.errstate(divide="ignore"):
        np.log(score, out=score)
