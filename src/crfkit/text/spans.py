"""Spans: segments of a sequence of tokens, or of the characters of a text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from crfkit._safe.name_hints import missing

__all__ = ["Span", "TextSpan"]


class Span(NamedTuple):
    """A labeled segment: ``given[start:end]`` of a sequence of tokens or of a text, and how probable it is.

    The probability is that of exactly this segment, with both ends and the label; None where nobody computed
    it, as in data that people labeled.

    Examples
    --------
    >>> Span(0, 2, "CITY", 0.75)
    Span(start=0, end=2, label='CITY', probability=0.75)
    >>> Span(0, 2, "CITY").tokens
    (0, 2)
    """

    start: int
    end: int
    label: str
    probability: float | Any = None  # Any: what a model predicts always has a number here

    @property
    def tokens(self) -> tuple[int, int] | Any:
        """The first token and one past the last: (start, end) where the sequence is one of tokens."""
        return self.start, self.end

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return self._asdict()


class TextSpan(Span):
    """A span of a `crfkit.text.Doc`: ``doc.text[start:end]`` is its text where offsets are code points.

    Examples
    --------
    >>> TextSpan.of(4, 10, "CITY", 0.75, "Leo: Madrid", (5, 11), (1, 2))
    Span(4, 10, 'CITY', 0.75, text='Madrid')
    """

    _within: str = ""  # cut when it is asked for: of a hostile file all spans may be as long as the text
    _at: tuple[int, int] = (0, 0)
    _tokens: tuple[int, int] | None = None

    @classmethod
    def of(
        cls,
        start: int,
        end: int,
        label: str,
        probability: float | None,
        within: str,
        at: tuple[int, int],
        tokens: tuple[int, int] | None,
    ) -> TextSpan:
        """Return a span with its text, which stands at some code points of a longer one, and its tokens."""
        made = cls(start, end, label, probability)
        made._within, made._at, made._tokens = within, at, tokens
        return made

    @property
    def text(self) -> str:
        """The text from its start to its end."""
        return self._within[self._at[0] : self._at[1]]

    @property
    def tokens(self) -> tuple[int, int] | Any:
        """The first token that the span touches and one past the last; None where there are no tokens."""
        return self._tokens

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, with the text and the tokens."""
        return {**super().to_dict(), "text": self.text, "tokens": self._tokens}

    if not TYPE_CHECKING:  # which would take every name for an attribute

        def __getattr__(self, name: str) -> NoReturn:
            raise missing("Span", name)

    def __repr__(self) -> str:
        probability = "" if self.probability is None else f", {self.probability:.4g}"
        return f"Span({self.start}, {self.end}, {self.label!r}{probability}, text={self.text!r})"
