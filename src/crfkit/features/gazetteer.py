"""Gazetteers: lists of phrases, found in text by longest match from left to right.

Used by recipes (``gazetteer(word, "cities")``: each position gets B-NAME, I-NAME or nothing) and, as
dictionaries, by segments: `matches` says which spans are entries.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from crfkit.checks import in_order

_MOST_TOKENS = 128  # of a phrase: so many tokens are looked at for each token of a text, at the most


class Gazetteer:
    """A list of phrases to be found in sequences of tokens.

    Parameters
    ----------
    phrases : iterable of str or of token lists
        A string is cut at white space. A phrase has up to 128 tokens.
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
        longest = max(map(len, self.phrases), default=0)
        if longest > _MOST_TOKENS:
            what = f"a phrase of the gazetteer has {longest} tokens"
            raise ValueError(f"{what}, expected {_MOST_TOKENS} at most")
        # A trie: what phrases begin with has a number, the last token leads to it from the number before.
        self._first: dict[str, int] = {}
        self._further: dict[tuple[int, str], int] = {}
        self._ends: set[int] = set()
        self._inner: set[int] = set()  # after which phrases go on
        for first, *others in map(self._fold, self.phrases):
            node = self._first.setdefault(first, len(self._first) + len(self._further))
            for token in others:
                self._inner.add(node)
                node = self._further.setdefault((node, token), len(self._first) + len(self._further))
            self._ends.add(node)

    def _fold(self, tokens: Sequence[str]) -> tuple[str, ...]:
        return tuple(token.lower() for token in tokens) if self.lower else tuple(tokens)

    def __len__(self) -> int:
        return len(self.phrases)

    def __contains__(self, phrase: str | Sequence[str]) -> bool:
        tokens = phrase.split() if isinstance(phrase, str) else phrase
        return next(self.matches(tokens), None) == (0, len(tokens))

    def matches(self, tokens: Sequence[str]) -> Iterator[tuple[int, int]]:
        """Yield (start, end) of the entries, the longest at each place, without overlap."""
        folded = self._fold(tokens)
        at, size = 0, len(folded)
        while at < size:
            node, next_at, end = self._first.get(folded[at]), at + 1, at
            while node is not None:
                if node in self._ends:
                    end = next_at
                if next_at == size or node not in self._inner:
                    break
                node = self._further.get((node, folded[next_at]))
                next_at += 1
            if end > at:
                yield at, end
                at = end
            else:
                at += 1

    def marks(self, tokens: Sequence[str]) -> list[str | None]:
        """Return B for the first token of an entry, I for its others, None elsewhere."""
        marks: list[str | None] = [None] * len(tokens)
        for start, end in self.matches(tokens):
            marks[start:end] = ["B", *["I"] * (end - start - 1)]
        return marks
