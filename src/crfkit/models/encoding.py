"""Other encodings of segments for chains: labels that say more, or less, of where a position lies.

``IO`` has one label for each type (CRF/1 of Sarawagi & Cohen (2004) section 3.1), ``BCEU`` has four: begin,
continue, end, unique (CRF/4); ``BIO`` and ``BIOES`` are as elsewhere. Gold tags are read as segments and
spelled anew before training. What a model then predicts is spelled as its training data were: that scheme is
``ExtractorSpec.scheme``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from crfkit.arrays import Ids
from crfkit.checks import check_choice
from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset, ExtractorSpec
from crfkit.models.tags import Spelling, as_segments, type_of
from crfkit.once import once
from crfkit.structures.gold import Path

if TYPE_CHECKING:
    from crfkit.arrays import Pointers

__all__ = ["ENCODINGS", "Recoding", "encoded", "encoding_of"]

ENCODINGS = ("IO", "BIO", "BIOES", "BCEU")


def encoding_of(name: str, what: str = "encoding") -> str:
    """Return the name of an encoding, checked; `what` begins the message.

    Examples
    --------
    >>> encoding_of("bceu")
    'BCEU'
    """
    check_choice(what, name.upper(), ENCODINGS)
    return name.upper()


def encoded(data: Dataset, encoding: str, labels: Sequence[str] = ()) -> Dataset:
    """Return data whose gold tags are spelled by another encoding; `labels` come first, new ones behind.

    Data that are spelled so already stay as they are.

    Examples
    --------
    >>> from crfkit.features import ItemExtractor
    >>> data = ItemExtractor()([[["a"], ["b"], ["c"]]], [["B-N", "I-N", "O"]])
    >>> for encoding in ENCODINGS:
    ...     print(encoding, encoded(data, encoding).labels.strings())
    IO ['I-N', 'O']
    BIO ['B-N', 'I-N', 'O']
    BIOES ['B-N', 'E-N', 'O']
    BCEU ['B-N', 'E-N', 'O']
    """
    name, gold = encoding_of(encoding), data.batch.label
    if data.extractor is not None and data.extractor.encoding == name:
        return data
    if gold is None or data.batch.allowed is not None or data.batch.soft is not None or (gold < 0).any():
        raise ValueError(f"the encoding {name} is for one gold label at each position; the data lack some")
    made = as_segments(data)
    if made.extractor is None or made.extractor.scheme is None:
        some = ", ".join(data.labels.strings()[:5])
        raise ValueError(
            f"the encoding {name} is for labels that spell segments, such as B-PER and I-PER; the data have "
            f"{some}"
        )
    spelling = Spelling(tuple(made.labels.strings()), name)
    tags = spelling.ids(_path(made))
    known, names = Alphabet(labels), spelling.alphabet.strings()
    label = known.ids([names[tag] for tag in tags.tolist()])  # of new labels only those that occur
    made_by = replace(data.extractor or ExtractorSpec(), scheme=made.extractor.scheme, encoding=name)
    return replace(data, batch=replace(data.batch, label=label), labels=known, extractor=made_by)


@dataclass(frozen=True)
class Recoding(Spelling):
    """Tags of a chain with other labels than its training data had: `labels` are those of the chain.

    Examples
    --------
    >>> path = Path(np.array([0, 4]), np.array([1, 2, 0, 3]), None)
    >>> Recoding(("O", "B-N", "E-N", "U-N"), "BIO").tags(path)
    [['B-N', 'I-N', 'O', 'B-N']]
    """

    @once
    def _segmental(self) -> Spelling:
        return Spelling(tuple(dict.fromkeys(map(type_of, self.labels))), self.scheme)

    @once
    def alphabet(self) -> Alphabet:
        """The tags by id, frozen."""
        return self._segmental.alphabet

    def ids(self, path: Path) -> Ids:
        """Return the tag of each position as ids of the alphabet, [P]."""
        nothing: Pointers = np.zeros(len(path.label) + 1, dtype=np.int64)
        batch = Batch(path.seq_ptr, nothing, np.zeros(0, dtype=np.int32), label=path.label)
        tagged = Dataset(batch, Alphabet(self.labels), Alphabet(), Alphabet())
        return self._segmental.ids(_path(as_segments(tagged, labels=self._segmental.labels)))


def _path(data: Dataset) -> Path:
    assert data.batch.label is not None
    return Path(data.batch.seq_ptr, data.batch.label, data.batch.begin)
