"""Gazetteers: lists of phrases, found in text by longest match from left to right.

Used by recipes (``gazetteer(word, "cities")``: each position gets B-NAME, I-NAME or nothing) and, as
dictionaries, by segments: `matches` says which spans are entries.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from crfkit.checks import in_order

__all__ = ["Gazetteer"]

_MOST_TOKENS = 128  # of a phrase: at each token of a text, all lengths are tried


class Gazetteer:
    """Phrases by their tokens.

    Parameters
    ----------
    phrases : iterable of str or of token lists
        A string is cut at white space.
    lower : bool
        Compare in lower case.

    Examples
    --------
    >>> cities = Gazetteer(["New York", "York", "San Francisco"])
    >>> list(cities.matches("He left New York for York .".split()))
    [(2, 4), (5, 6)]
    >>> cities.marks("in New York".split())
    [None, 'B', 'I']
    """

    def __init__(self, phrases: Iterable[str | Sequence[str]], lower: bool = False) -> None:
        self.lower = lower
        self.phrases = tuple(
            dict.fromkeys(tuple(p.split()) if isinstance(p, str) else tuple(p) for p in in_order(phrases))
        )
        if () in self.phrases:
            raise ValueError("a phrase of the gazetteer is empty")
        self._entries = {self._fold(phrase) for phrase in self.phrases}
        longest = max(map(len, self._entries), default=0)
        if longest > _MOST_TOKENS:
            what = f"a phrase of the gazetteer has {longest} tokens"
            raise ValueError(f"{what}, expected {_MOST_TOKENS} at most")
        lengths: dict[str, set[int]] = {}
        for entry in self._entries:
            lengths.setdefault(entry[0], set()).add(len(entry))
        self._lengths = {first: sorted(some, reverse=True) for first, some in lengths.items()}

    def _fold(self, tokens: Sequence[str]) -> tuple[str, ...]:
        return tuple(token.lower() for token in tokens) if self.lower else tuple(tokens)

    def __len__(self) -> int:
        return len(self.phrases)

    def __contains__(self, phrase: str | Sequence[str]) -> bool:
        return self._fold(phrase.split() if isinstance(phrase, str) else phrase) in self._entries

    def matches(self, tokens: Sequence[str]) -> Iterator[tuple[int, int]]:
        """Yield (start, end) of the entries, the longest at each place, without overlap."""
        folded = self._fold(tokens)
        at = 0
        while at < len(folded):
            for length in self._lengths.get(folded[at], ()):
                if folded[at : at + length] in self._entries:
                    yield at, at + length
                    at += length
                    break
            else:
                at += 1

    def marks(self, tokens: Sequence[str]) -> list[str | None]:
        """Return B for the first token of an entry, I for its others, None elsewhere."""
        marks: list[str | None] = [None] * len(tokens)
        for start, end in self.matches(tokens):
            marks[start:end] = ["B", *["I"] * (end - start - 1)]
        return marks
