"""Internal dictionaries: the segments of the training data themselves, by label.

Sarawagi & Cohen (2004) section 3.2. So that similarities of training data are like those of new data, entries
that come from the asking sequence only are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from crfkit.arrays import Floats
from crfkit.features.dictionary import Dictionary, Phrase

__all__ = ["InternalDictionary"]

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
