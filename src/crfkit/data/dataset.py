"""Datasets: a batch and the alphabets that give names to its labels and attributes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from crfkit._safe.pickling import Restored
from crfkit.arrays import Bools, Pointers
from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch

if TYPE_CHECKING:
    from crfkit.features.conjunctions import Conjunctions
    from crfkit.features.recipe import Recipe

__all__ = ["ALPHABETS", "ALPHABET_OF", "Dataset", "ExtractorSpec"]

#: The alphabets of a dataset, by the word of `Batch.renamed` for what they name.
ALPHABETS = {
    "labels": "labels",
    "attributes": "attributes",
    "edges": "edge_attributes",
    "segments": "segment_attributes",
}
#: The alphabet of each kind of attributes in `crfkit.data.batch.KINDS`.
ALPHABET_OF = {
    "node": "attributes",
    "edge": "edge_attributes",
    "begin": "segment_attributes",
    "end": "segment_attributes",
    "segment": "segment_attributes",
}


@dataclass(frozen=True)
class ExtractorSpec:
    """How the attributes of a dataset were made, so that a model can do the same with new data."""

    recipe: Recipe | None = None  #: how columns become attributes, where columns did
    label_column: str | int | None = None  #: of the recipe's data
    hashed: int | None = None  #: number of ids that attribute names are hashed to
    longest: int | None = None  #: positions of the longest segments that have attributes
    scheme: str | None = None  #: of the tags that spelled gold segments, where tags did
    encoding: str | None = None  #: of the labels of a chain, where they are spelled anew
    conjunctions: Conjunctions | None = None  #: of attributes, made after all others
    width: int | None = None  #: how many columns there were, with that of the label where it is known


@dataclass(frozen=True, eq=False)
class Dataset(Restored):
    """A batch with the names of its labels and attributes.

    Examples
    --------
    >>> from crfkit.features import ItemExtractor
    >>> data = ItemExtractor()([[["the"], ["dog"]], [["dogs"]], [["cats"]]], [["D", "N"], ["N"], ["N"]])
    >>> len(data), len(data[1:]), len(data[[2, 0]]), data[-1].batch.attr.tolist()
    (3, 2, 2, [3])
    >>> [sequence.batch.positions for sequence in data]
    [2, 1, 1]
    """

    batch: Batch
    labels: Alphabet
    attributes: Alphabet
    edge_attributes: Alphabet
    segment_attributes: Alphabet = field(default_factory=Alphabet)
    extractor: ExtractorSpec | None = None  #: what made the attributes, where that is known

    def __len__(self) -> int:
        return self.batch.sequences

    def __getitem__(self, which: int | Sequence[int] | slice | Pointers | Bools) -> Dataset:
        """Return one sequence, or those of a slice, a list of numbers or a mask [N], with the same names."""
        return self.select([int(which)] if isinstance(which, int | np.integer) else which)

    def __iter__(self) -> Iterator[Dataset]:
        return (self[n] for n in range(len(self)))

    def select(self, sequences: Sequence[int] | slice | Pointers | Bools) -> Dataset:
        """Return some of the sequences, in the given order, with the same names."""
        return replace(self, batch=self.batch.select(sequences))

    @classmethod
    def concat(cls, parts: Sequence[Dataset]) -> Dataset:
        """Join datasets into one; they must share their alphabets, see `renamed` and `Batch.concat`.

        Examples
        --------
        >>> from crfkit.features import ItemExtractor
        >>> extract = ItemExtractor()
        >>> both = Dataset.concat([extract([[["the"]]]), extract([[["dog"], ["the"]]])])
        >>> both.batch.seq_ptr.tolist(), both.batch.attr.tolist()
        ([0, 1, 3], [0, 1, 0])
        """
        if not parts:
            raise ValueError("datasets is empty, expected at least one dataset to concatenate")
        for n, part in enumerate(parts):
            parts[0].check_shared(part, n)
        return replace(parts[0], batch=Batch.concat([part.batch for part in parts]))

    def check_shared(self, part: Dataset, n: int) -> None:
        """Refuse part n of the data where its alphabets differ; empty alphabets are all alike."""
        for name in ALPHABETS.values():
            ours, theirs = getattr(self, name), getattr(part, name)
            if ours is not theirs and (len(ours) or len(theirs)):
                raise ValueError(
                    f"part {n} has {name} of its own; make all parts with one extractor, or use "
                    "Dataset.renamed, so that ids agree"
                )

    def renamed(self, like: Dataset) -> Dataset:
        """Return the data with the alphabets of other data.

        Growing alphabets take names that they do not know yet. With frozen ones, attributes that they do not
        know are dropped and such labels become unknown. Ids without names (hashed ones) stay.

        Examples
        --------
        >>> from crfkit.features import ItemExtractor
        >>> one = ItemExtractor()([[["the"], ["dog"]]], [["D", "N"]])
        >>> two = ItemExtractor()([[["dog"], ["barks"]]], [["N", "V"]]).renamed(one)
        >>> two.batch.attr.tolist(), two.batch.label.tolist(), one.attributes.strings()
        ([1, 2], [1, 2], ['the', 'dog', 'barks'])
        """
        maps = {}
        for new, name in ALPHABETS.items():
            ours, theirs = getattr(self, name), getattr(like, name)
            if ours is not theirs and len(ours):
                maps[new] = theirs.merge(ours)
        return replace(like, batch=self.batch.renamed(**maps, label_count=len(like.labels)))

    def with_unlabeled(self, more: Dataset) -> Dataset:
        """Return the data and further sequences whose labels are not known; labels that these have are left.

        Examples
        --------
        >>> from crfkit.features import ItemExtractor
        >>> one = ItemExtractor()([[["the"], ["dog"]]], [["D", "N"]])
        >>> one.with_unlabeled(ItemExtractor()([[["cat"]]])).batch.label.tolist()
        [0, 1, -1]
        """
        batch = replace(more.batch, label=None, allowed=None, soft=None, begin=None)
        return Dataset.concat([self, replace(more, batch=batch, labels=self.labels).renamed(self)])

    def freeze(self) -> Dataset:
        """Return the data with alphabets that no longer grow."""
        return replace(self, **{name: getattr(self, name).freeze() for name in ALPHABETS.values()})
