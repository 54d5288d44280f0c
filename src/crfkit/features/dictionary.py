"""Dictionaries: how similar a phrase is to the closest entry of a list.

Sarawagi & Cohen (2004) section 3.2: a feature of the segment x_s is the largest sim(x_s, u) of all entries u,
where sim is one of

===============  ===================================================================================
``jaccard``      shared tokens by all tokens, each counted once
``tfidf``        cosine of vectors with log(1 + tf) idf for each token: tf is how often the phrase has
                 it, idf = log(1 + N / (1 + n)) where n of N entries have it; n = 0 for an unseen one
``jarowinkler``  Jaro-Winkler of the tokens joined by blanks, strings a and b of A and B characters:
                 J = (m / A + m / B + (m - t) / m) / 3, where m characters match, with t
                 transpositions; then J + 0.1 p (1 - J) for a common prefix of p <= 4 characters
===============  ===================================================================================

All are between 0 and 1. The native search (cpp/text/dictionary.hpp, cpp/text/jaro.hpp) is exact.

Internal dictionaries are the segments of the training data themselves, by label. So that similarities of
training data are like those of new data, entries that come from the asking sequence only are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from crfkit import _native
from crfkit.arrays import Floats, pointers
from crfkit.checks import in_order
from crfkit.data.source import Place, open_input
from crfkit.features.views import SIMILARITIES
from crfkit.native import threads_or_all

__all__ = ["SIMILARITIES", "Dictionary", "InternalDictionary", "Phrase"]

#: A string is cut at white space.
Phrase: TypeAlias = "str | Sequence[str]"


class Dictionary:
    """A list of phrases that measures how similar a phrase is to its closest entry.

    Parameters
    ----------
    entries : iterable of str or of token lists
        A string is cut at white space. Entries that are the same count once.
    lower : bool
        Compare in lower case.
    name : str, optional
        What messages call it.
    sources : sequence of int, optional
        For each entry the number of the only sequence that it comes from, or -1: `best` can leave it out.
        The same entry from several sequences counts as -1.

    Examples
    --------
    >>> cities = Dictionary(["New York", "San Francisco", "Mexico City"])
    >>> cities.best([["new", "york"], ["New", "York", "City"], ["cat"]], "jaccard").round(2).tolist()
    [1.0, 0.67, 0.0]
    >>> cities.closest("San Fransisco", "jarowinkler")
    [('San Francisco', 0.9525641025641025)]
    """

    def __init__(
        self,
        entries: Iterable[Phrase],
        lower: bool = True,
        name: str | None = None,
        sources: Iterable[int] | None = None,
    ) -> None:
        self.lower, self.name = lower, name
        called = "the dictionary" if name is None else f"the dictionary {name!r}"
        if isinstance(entries, str | bytes):
            raise TypeError(f"the entries of {called} must be a list of strings, not one string")
        given = in_order(entries)
        origins = [-1] * len(given) if sources is None else [int(source) for source in sources]
        if len(origins) != len(given):
            raise ValueError(f"{called} has {len(given)} entries, but sources has {len(origins)}")
        kept: dict[tuple[str, ...], tuple[tuple[str, ...], int]] = {}
        for number, (entry, source) in enumerate(zip(given, origins, strict=True)):
            tokens = _tokens(entry, f"entry {number} of {called}")
            if not all(tokens):
                raise ValueError(f"entry {number} of {called} has an empty token: {entry!r}; leave it out")
            if not tokens:
                raise ValueError(f"entry {number} of {called} is empty; leave it out")
            folded = self._fold(tokens)
            first, known = kept.get(folded, (tokens, source))
            kept[folded] = first, source if known == source else -1
        if not kept:
            raise ValueError(f"{called} is empty; give at least one entry")
        #: Tokens of each entry, as they were given first.
        self.entries = tuple(tokens for tokens, _ in kept.values())
        #: The only sequence of each entry, or -1; None where no sequences were given.
        self.sources = None if sources is None else np.array([s for _, s in kept.values()], dtype=np.int32)
        self._native = _native.Dictionary(
            [token for folded in kept for token in folded],
            pointers(list(map(len, kept))),
            np.full(len(kept), -1, dtype=np.int32) if self.sources is None else self.sources,
        )

    @classmethod
    def read(cls, path: Place, lower: bool = True, name: str | None = None) -> Dictionary:
        r"""Read one entry a line, up to the first TAB; plain text or gzip.

        Examples
        --------
        >>> import io
        >>> len(Dictionary.read(io.BytesIO(b"New York\t8 million\nBoston\n")))
        2
        """
        entries: list[str] = []
        with open_input(path) as source:
            for first, block in source.blocks():
                for line, text in enumerate(block.split("\n")[:-1], start=first):
                    entry = text.split("\t", 1)[0]
                    if entry.strip():
                        entries.append(entry)
                    elif text.strip():
                        raise source.error(line, "has no entry before its first TAB; write the entry first")
            if not entries:
                raise source.error(None, "has no entries; a dictionary has one a line")
        return cls(entries, lower, name)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the native index, which is made again."""
        return type(self), (self.entries, self.lower, self.name, self.sources)

    def __len__(self) -> int:
        return len(self.entries)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} entries{f', name={self.name!r}' if self.name else ''})"

    def best(
        self,
        phrases: Iterable[Phrase],
        similarity: str,
        exclude: Iterable[int] | None = None,
        threads: int | None = None,
    ) -> Floats:
        """Return the similarity of each phrase to its closest entry: [n], 0 where nothing is similar.

        Parameters
        ----------
        phrases : iterable of str or of token lists
            The empty phrase is not similar to anything.
        similarity : {"jaccard", "tfidf", "jarowinkler"}
            See the top of this module.
        exclude : iterable of int, optional
            For each phrase the sequence that it stands in, or -1: entries that come from this sequence only
            are left out, so that a training segment is not compared with itself.
        threads : int, optional
            All cores by default. Results do not depend on it.
        """
        _check(similarity)
        asked = [self._fold(_tokens(phrase, f"phrase {n}")) for n, phrase in enumerate(phrases)]
        out = [-1] * len(asked) if exclude is None else [int(number) for number in exclude]
        if len(out) != len(asked):
            raise ValueError(f"there are {len(asked)} phrases, but exclude has {len(out)} numbers")
        places: dict[tuple[tuple[str, ...], int], int] = {}
        if self.sources is None:
            out = [-1] * len(asked)
        place = [places.setdefault(key, len(places)) for key in zip(asked, out, strict=True)]
        tokens = [token for folded, _ in places for token in folded]
        ptr = pointers([len(folded) for folded, _ in places])
        left_out = np.array([number for _, number in places], dtype=np.int32)
        found = self._native.best(tokens, ptr, left_out, similarity, threads_or_all(threads))
        answer: Floats = found[np.array(place, dtype=np.int64)]
        return answer

    def similarities(
        self, phrases: Iterable[Phrase], exclude: Iterable[int] | None = None, threads: int | None = None
    ) -> Floats:
        """Return what `best` gives for all similarities: [n, 3], in the order of `SIMILARITIES`.

        Examples
        --------
        >>> Dictionary(["New York", "York"]).similarities(["york", "New"]).round(2).tolist()
        [[1.0, 1.0, 1.0], [0.5, 0.81, 0.85]]
        """
        phrases, exclude = list(phrases), None if exclude is None else list(exclude)
        return np.stack([self.best(phrases, name, exclude, threads) for name in SIMILARITIES], axis=1)

    def closest(self, phrase: Phrase, similarity: str, k: int = 1) -> list[tuple[str, float]]:
        """Return the k entries that are most similar to a phrase, with their similarities.

        Entries without any similarity are left out; of equally similar ones the first comes first.
        """
        _check(similarity)
        if k < 1:
            raise ValueError(f"k is {k}, expected 1 or more")
        found = self._native.every(list(self._fold(_tokens(phrase, "the phrase"))), similarity)
        first = np.argsort(-found, kind="stable")[:k]
        return [(" ".join(self.entries[i]), float(found[i])) for i in first if found[i] > 0.0]

    def _fold(self, tokens: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(str.lower, tokens)) if self.lower else tokens


def _tokens(phrase: object, what: str) -> tuple[str, ...]:
    if isinstance(phrase, str):
        return tuple(phrase.split())
    tokens = tuple(phrase) if isinstance(phrase, Iterable) and not isinstance(phrase, bytes) else (phrase,)
    if not all(isinstance(token, str) for token in tokens):
        raise TypeError(f"{what} must be a string or a list of strings, not {phrase!r}")
    return tokens


def _check(similarity: str) -> None:
    if similarity not in SIMILARITIES:
        raise ValueError(f"{similarity!r} is not a similarity; choose from {', '.join(SIMILARITIES)}")


Segment: TypeAlias = "tuple[int, int, str]"  # start, end, label


class InternalDictionary(Mapping[str, Dictionary]):
    """A `Dictionary` for each label, whose entries know the sequences that they come from.

    It is made by `of`. The dictionary of a label is a resource of recipes, such as
    ``Recipe.parse("segment: jaccard(word, CITY)[..]", {**made})``. Models keep the entries, not their
    sequences, which only matter for the training data.

    Examples
    --------
    >>> words = [["in", "New", "York"], ["New", "York", "or", "Boston"]]
    >>> made = InternalDictionary.of(words, [[(1, 3, "CITY")], [(0, 2, "CITY"), (3, 4, "CITY")]])
    >>> made
    InternalDictionary(CITY: 2 entries)
    >>> made["CITY"].best(["New York", "Boston", "Boston"], "jaccard", exclude=[1, 1, 0]).tolist()
    [1.0, 0.0, 1.0]
    """

    def __init__(self, dictionaries: Mapping[str, Dictionary]) -> None:
        self._of_label = dict(dictionaries)

    @classmethod
    def of(
        cls,
        sequences: Iterable[Sequence[str]],
        segments: Iterable[Iterable[Segment]],
        outside: str | None = "O",
        *,
        words: bool = False,
        lower: bool = True,
    ) -> InternalDictionary:
        """Make the dictionaries of labeled data.

        Parameters
        ----------
        sequences : iterable of lists of str
            The words of each sequence, numbered from 0 as `exclude` of `best` has them.
        segments : iterable of lists of (start, end, label)
            The segments of each sequence; `end` is the first position that is not in the segment.
        outside : str, optional
            Segments with this label are not entries.
        words : bool
            Entries are the words of the segments, one by one: for models of tokens.
        lower : bool
            Compare in lower case.
        """
        entries: dict[str, list[tuple[str, ...]]] = {}
        sources: dict[str, list[int]] = {}
        for n, (sequence, found) in enumerate(zip(sequences, segments, strict=True)):
            for start, end, label in found:
                if not 0 <= start < end <= len(sequence):
                    raise ValueError(
                        f"segment ({start}, {end}, {label!r}) of sequence {n} does not lie within its "
                        f"{len(sequence)} words; a segment has 0 <= start < end <= {len(sequence)}"
                    )
                if label == outside:
                    continue
                phrase = tuple(sequence[start:end])
                parts = [(word,) for word in phrase] if words else [phrase]
                entries.setdefault(label, []).extend(parts)
                sources.setdefault(label, []).extend([n] * len(parts))
        if not entries:
            raise ValueError(
                f"no segment has a label other than {outside!r}, so the internal dictionary would be empty; "
                "give data with labeled segments"
            )
        return cls(
            {label: Dictionary(entries[label], lower, label, sources[label]) for label in sorted(entries)}
        )

    def __getitem__(self, label: str) -> Dictionary:
        return self._of_label[label]

    def __iter__(self) -> Iterator[str]:
        return iter(self._of_label)

    def __len__(self) -> int:
        return len(self._of_label)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{label}: {len(made)} entries" for label, made in self.items())
        return f"InternalDictionary({sizes})"

    def best(
        self,
        phrases: Iterable[Phrase],
        similarity: str,
        exclude: Iterable[int] | None = None,
        threads: int | None = None,
    ) -> Floats:
        """Return what `Dictionary.best` gives for every label: [n, labels], in the order of the labels."""
        asked, out = list(phrases), None if exclude is None else list(exclude)
        return np.stack([made.best(asked, similarity, out, threads) for made in self.values()], axis=1)
