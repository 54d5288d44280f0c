"""Other encodings of segments for chains: labels that say more, or less, of where a position lies.

``IO`` has one label for each type (CRF/1 of Sarawagi & Cohen (2004) section 3.1), ``BCEU`` has four: begin,
continue, end, unique (CRF/4); ``BIO`` and ``BIOES`` are as elsewhere. Gold tags are read as segments and
spelled anew before training. Whatever a model then answers is spelled as its training data were: that scheme
is ``ExtractorSpec.scheme``. Labels of the chain are read leniently (`crfkit.tags.reading`), so a tag
depends on whether a label goes on from the one before, and that one after it from it; a tag has the sum of
the probabilities of all label sequences of the chain that spell it there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from crfkit._safe.cached import once
from crfkit.arrays import Bools, Floats, Ids
from crfkit.checks import check_choice
from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset, ExtractorSpec
from crfkit.models.tags import Spelling, as_segments
from crfkit.structures.gold import Path
from crfkit.tags.schemes import OUTSIDE, TABLE
from crfkit.tags.segments import type_of

if TYPE_CHECKING:
    from crfkit.arrays import Pointers
    from crfkit.structures.constraints import Resolved

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
    scheme = None if made.extractor is None else made.extractor.scheme
    if scheme is None and not (labels and {*data.labels.strings()} <= {OUTSIDE}):
        some = ", ".join(data.labels.strings()[:5])
        raise ValueError(
            f"the encoding {name} is for labels that spell segments, such as B-PER and I-PER; the data have "
            f"{some}"
        )
    spelling = Spelling(tuple(made.labels.strings()), name)
    tags = spelling.ids(_path(made))
    known, names = Alphabet(labels), spelling.alphabet.strings()
    label = known.ids([names[tag] for tag in tags.tolist()])  # of new labels only those that occur
    made_by = replace(data.extractor or ExtractorSpec(), scheme=scheme, encoding=name)
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

    @once
    def _type(self) -> Ids:
        """The label of the segments of each label of the chain, [L]."""
        return Alphabet(self._segmental.labels).freeze().ids(list(map(type_of, self.labels)))

    @once
    def goes_on(self) -> Bools:
        """Whether a label, after another one, is of the same segment: [L, L], the earlier one first."""
        L = len(self.labels)
        label = (
            np.stack(np.meshgrid(*[np.arange(L)] * 2, indexing="ij"), axis=-1).reshape(-1).astype(np.int32)
        )
        read = self._read(Path(np.arange(0, len(label) + 1, 2), label))
        assert read.begin is not None
        return ~read.begin[1::2].reshape(L, L)

    def parts(self, rules: Resolved) -> Ids | None:
        """Return which part of a segment each label always is, [L]: first, inside, last, single.

        None where that depends on the labels around it, of those that constraints allow.
        """
        on, step = self.goes_on, rules.transition
        begins, inside = (step & ~on).any(axis=0) | rules.start, (step & on).any(axis=0)
        ends, open_ = (step & ~on).any(axis=1) | rules.stop, (step & on).any(axis=1)
        doubtful = (begins & inside) | (ends & open_ if self._ends_count else np.zeros_like(ends))
        if TABLE[self.scheme or "BIO"].touching or doubtful.any():
            return None
        return np.where(inside, np.where(open_, 1, 2), np.where(open_, 0, 3)).astype(np.int32)

    @property
    def _ends_count(self) -> bool:
        """Whether a tag depends on where segments end."""
        letters = TABLE[self.scheme or "BIO"].letters
        return letters[0] != letters[3] or letters[1] != letters[2]

    def shares(self, node: Floats, edge: Floats, seq_ptr: Pointers) -> Floats:
        """Return the probabilities of tags, [P, tags], from those of labels and of pairs of them.

        Parameters
        ----------
        node : array [P, L]
            Those of the labels of a chain of order 1.
        edge : array [P, L, L]
            Those of each label with the one before it; at first positions they do not matter.
        seq_ptr : array [N + 1]
        """
        filled = np.diff(seq_ptr) > 0
        first, last = seq_ptr[:-1][filled], seq_ptr[1:][filled] - 1
        on, same = self.goes_on, self._type[:, None] == self._type
        going = np.einsum("pab,ab->pb", edge, on.astype(np.float64))  # [P, L]
        begins = np.einsum("pab,ab->pb", edge, (~on).astype(np.float64))
        again = np.einsum("pab,ab->pb", edge, (~on & same).astype(np.float64))  # after one of its type
        going[first], begins[first], again[first] = 0.0, node[first], 0.0
        touching, none = TABLE[self.scheme or "BIO"].touching, np.zeros_like(node)
        if touching == "first":
            return self._added(again, node - again, none, none)
        if not self._ends_count:
            return self._added(begins, going, none, none)
        after = np.concatenate([edge[1:], np.zeros((1, *edge.shape[1:]))])[: len(edge)]  # [P, L, L]
        open_ = np.einsum("pbc,bc->pb", after, on.astype(np.float64))
        ends = np.einsum("pbc,bc->pb", after, (~on).astype(np.float64))
        before = np.einsum("pbc,bc->pb", after, (~on & same).astype(np.float64))  # before one of its type
        open_[last], ends[last], before[last] = 0.0, node[last], 0.0
        if touching == "last":
            return self._added(none, node - before, before, none)
        # Given its label, what comes before a position and what comes after it are independent.
        scale = np.divide(1.0, node, out=np.zeros_like(node), where=node > 0.0)
        parts = (begins * open_, going * open_, going * ends, begins * ends)
        return self._added(*(part * scale for part in parts))

    def shares_of_parts(self, node: Floats, parts: Ids) -> Floats:
        """Return the probabilities of tags, [P, tags], where labels are always the same part (`parts`)."""
        return self._added(*(node * (parts == number) for number in range(4)))

    def _added(self, *parts: Floats) -> Floats:
        """Return sums by tag [P, tags] of what labels have in four parts: first, inside, last, single."""
        made = np.zeros((len(parts[0]), len(self.alphabet)))
        for number, part in enumerate(parts):
            tag = self._segmental._by_part[self._type.astype(np.int64) * 4 + number]  # [L]
            for label, to in enumerate(tag.tolist()):
                made[:, to] += part[:, label]
        return made

    def ids(self, path: Path) -> Ids:
        """Return the tag of each position as ids of the alphabet, [P]."""
        return self._segmental.ids(self._read(path))

    def _read(self, path: Path) -> Path:
        """Return labels of the chain as segments."""
        nothing: Pointers = np.zeros(len(path.label) + 1, dtype=np.int64)
        batch = Batch(path.seq_ptr, nothing, np.zeros(0, dtype=np.int32), label=path.label)
        tagged = Dataset(batch, Alphabet(self.labels), Alphabet(), Alphabet())
        return _path(as_segments(tagged, labels=self._segmental.labels))


def _path(data: Dataset) -> Path:
    assert data.batch.label is not None
    return Path(data.batch.seq_ptr, data.batch.label, data.batch.begin)
