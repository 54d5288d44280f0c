r"""Tokenizers: plain data that say where the tokens of a text are. They never change the text.

===============  =======================================================================================
`Words`          words by Unicode's rule (UAX #29): ``can't`` and ``3.14`` are one, punctuation is apart
`Characters`     what a reader sees as one character (grapheme clusters of UAX #29), with its accents
`Blanks`         what lies between white space, as in files with a column for each token
`Pattern`        every match of a regular expression, whose cost is bounded
`Given`          the tokens that the documents bring
===============  =======================================================================================

A tokenizer maps a text to offsets in code points, [tokens, 2]: tokens are in order, apart and not empty,
and ``text[a:b]`` is the token. `Words`, `Characters` and `Blanks` leave out white space, and nothing else.
A model file keeps its tokenizer as data (`to_dict`, `tokenizer_of`), never as code.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Final

import numpy as np

from crfkit import _native
from crfkit._safe.expressions import LONG, Expression, expression_of
from crfkit.arrays import Pointers
from crfkit.errors import DataWarning, warn_about

__all__ = ["TOKENIZERS", "Blanks", "Characters", "Given", "Pattern", "Tokenizer", "Words", "tokenizer_of"]

_MOST_SPLIT: Final = 64  #: characters that stand alone


class Tokenizer(ABC):
    """What says where the tokens of a text are."""

    kind: ClassVar[str]

    def __call__(self, text: str) -> Pointers:
        """Return where each token begins and ends, [tokens, 2], in code points."""
        return self._offsets(text)

    @abstractmethod
    def _offsets(self, text: str) -> Pointers: ...

    def tokens(self, text: str) -> list[str]:
        """Return the tokens of a text.

        Examples
        --------
        >>> Words().tokens("It can't cost $3.14.")
        ['It', "can't", 'cost', '$', '3.14', '.']
        """
        return [text[a:b] for a, b in self(text).tolist()]

    def to_dict(self) -> dict[str, Any]:
        """Return the tokenizer as plain data, which `tokenizer_of` reads.

        Examples
        --------
        >>> Blanks(keep=",").to_dict()
        {'kind': 'blanks', 'keep': ','}
        """
        options = {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]
        return {"kind": self.kind, **options}


@dataclass(frozen=True)
class Words(Tokenizer):
    """A tokenizer that finds words and punctuation by the rule of Unicode's UAX #29.

    Parameters
    ----------
    split : str
        Characters that are always tokens of their own, also within words.
    unicode : str
        The version of Unicode whose tables say what a letter is; that of crfkit unless a model file says
        otherwise.

    Examples
    --------
    >>> Words().tokens("Dr. O'Neil's e-mail: ann_b@x.org"), Words(split="'").tokens("O'Neil")
    (['Dr', '.', "O'Neil's", 'e', '-', 'mail', ':', 'ann_b', '@', 'x.org'], ['O', "'", 'Neil'])
    """

    split: str = ""
    unicode: str = _native.unicode_version
    kind: ClassVar[str] = "words"

    def __post_init__(self) -> None:
        _check_split("split", self.split)
        _check_version(self.unicode, self.kind)

    def _offsets(self, text: str) -> Pointers:
        return _native.text_parts(text, "words", self.split)


@dataclass(frozen=True)
class Characters(Tokenizer):
    r"""A tokenizer whose tokens are characters: the grapheme clusters of UAX #29, without white space.

    Parameters
    ----------
    unicode : str
        As of `Words`.

    Examples
    --------
    >>> Characters().tokens("nai\u0308ve \u6771\u4eac") == ["n", "a", "i\u0308", "v", "e", "\u6771", "\u4eac"]
    True
    """

    unicode: str = _native.unicode_version
    kind: ClassVar[str] = "characters"

    def __post_init__(self) -> None:
        _check_version(self.unicode, self.kind)

    def _offsets(self, text: str) -> Pointers:
        return _native.text_parts(text, "graphemes", "")


@dataclass(frozen=True)
class Blanks(Tokenizer):
    """A tokenizer that splits text at white space.

    Parameters
    ----------
    keep : str
        Characters that are tokens of their own where they end a word, such as ``",;"``.

    Examples
    --------
    >>> Blanks().tokens("123 Main St., Erie, PA"), Blanks(keep=",").tokens("Erie, PA")
    (['123', 'Main', 'St.,', 'Erie,', 'PA'], ['Erie', ',', 'PA'])
    """

    keep: str = ""
    kind: ClassVar[str] = "blanks"

    def __post_init__(self) -> None:
        _check_split("keep", self.keep)

    def _offsets(self, text: str) -> Pointers:
        return _native.text_parts(text, "blanks", self.keep)


@dataclass(frozen=True)
class Pattern(Tokenizer):
    r"""A tokenizer whose tokens are the matches of a regular expression.

    A match lies within a line. A line of more than 4,096 characters is read in pieces of at most that many,
    each up to a blank where it has one, so that the time is proportional to the text; an expression that
    could take too long on such a piece is refused.

    Parameters
    ----------
    expression : str
        Such as ``r"\\w+|[^\\w\\s]"``.

    Examples
    --------
    >>> Pattern(r"\d+|[a-z]+").tokens("12ab, 7")
    ['12', 'ab', '7']
    >>> Pattern("(a+)+$")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: the regular expression '(a+)+$' could take far more steps than a text has characters; ...
    """

    expression: str
    kind: ClassVar[str] = "pattern"

    def __post_init__(self) -> None:
        if not isinstance(self.expression, str):
            raise TypeError(f"expression is {self.expression!r:.60}, expected the text of one")
        self._compiled.check_spans()

    @property
    def _compiled(self) -> Expression:
        return expression_of(self.expression)

    def _offsets(self, text: str) -> Pointers:
        found = self._compiled.spans
        ends = [
            at
            for begin, piece in _pieces(text)
            for span in found(piece)
            for at in (begin + span[0], begin + span[1])
        ]
        return np.array(ends, np.int64).reshape(-1, 2)


@dataclass(frozen=True)
class Given(Tokenizer):
    """A tokenizer that keeps the tokens of documents which have them, as Prodigy and CoNLL-U do.

    Examples
    --------
    >>> Given()("Ana ran")
    Traceback (most recent call last):
    ValueError: the tokenizer is Given(), but 'Ana ran' has no tokens: give a Doc with tokens
    """

    kind: ClassVar[str] = "given"

    def _offsets(self, text: str) -> Pointers:
        raise ValueError(f"the tokenizer is Given(), but {text!r:.60} has no tokens: give a Doc with tokens")


TOKENIZERS: Final[Mapping[str, type[Tokenizer]]] = {
    one.kind: one for one in (Words, Characters, Blanks, Pattern, Given)
}


def tokenizer_of(given: Tokenizer | str | Mapping[str, Any]) -> Tokenizer:
    """Return a tokenizer: itself, by its name, or from the plain data of `Tokenizer.to_dict`.

    Examples
    --------
    >>> tokenizer_of("blanks"), tokenizer_of({"kind": "blanks", "keep": ","})
    (Blanks(keep=''), Blanks(keep=','))
    >>> tokenizer_of("word")
    Traceback (most recent call last):
    ValueError: tokenizer is 'word', expected one of words, characters, blanks, pattern, given
    """
    if isinstance(given, Tokenizer):
        return given
    options = dict(given) if isinstance(given, Mapping) else {"kind": given}
    kind = options.pop("kind", None)
    if not isinstance(kind, str) or kind not in TOKENIZERS:
        raise ValueError(f"tokenizer is {kind!r:.60}, expected one of {', '.join(TOKENIZERS)}")
    made = TOKENIZERS[kind]
    own = [each.name for each in fields(made)]  # type: ignore[arg-type]
    if odd := sorted(set(options) - set(own)):
        raise ValueError(f"the tokenizer {kind} has no option {odd[0]!r:.40}, expected some of {own}")
    if kind == Pattern.kind and not options:
        raise ValueError('the tokenizer pattern needs an expression: Pattern(r"\\S+")')
    return made(**options)


def _check_split(name: str, given: object) -> None:
    if not isinstance(given, str) or len(given) > _MOST_SPLIT:
        raise ValueError(f"{name} is {given!r:.80}, expected at most {_MOST_SPLIT} characters in a string")


def _check_version(given: object, kind: str) -> None:
    if not isinstance(given, str):
        raise TypeError(f"unicode is {given!r:.40}, expected a version such as {_native.unicode_version!r}")
    if given != _native.unicode_version:
        warn_about(
            f"the tokenizer {kind} was made with Unicode {given:.20}, this crfkit has "
            f"{_native.unicode_version}: characters that are new in one of them may be cut otherwise",
            DataWarning,
        )


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """Return lines of a text, and pieces of long ones, each with where it begins."""
    begin = 0
    for line in text.split("\n"):
        at = 0
        while len(line) - at > LONG:
            end = max(line.rfind(" ", at, at + LONG), line.rfind("\t", at, at + LONG)) + 1
            end = end if end > at else at + LONG
            yield begin + at, line[at:end]
            at = end
        yield begin + at, line[at:] if at else line
        begin += len(line) + 1
