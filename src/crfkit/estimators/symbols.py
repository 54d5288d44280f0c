"""What a hidden Markov model emits: words, a pseudo-word for each spelling class, and one for all else.

A position has one attribute, its word, or two, the word and its class; a word that is too short for a suffix
has none. Words that are seen less often than `min_count` are emitted as the pseudo-word of their class, or as
the unknown word where they have no class; words that are new when tagging are treated in the same way (Bikel,
Schwartz & Weischedel 1999).

In a chain model an unknown attribute adds nothing. So the score of the unknown word is moved into the steps
to each label, that of a class is relative to the unknown word, and that of a word relative to its class; sums
over a labeling stay log p(x, y).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from crfkit.arrays import Floats, Ids
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset
from crfkit.linear.layout import Layout
from crfkit.models.model import Names, SequenceModel
from crfkit.structures.chains.chain import Chain
from crfkit.training.learners.generative import Tables


@dataclass(frozen=True, eq=False)
class Words:
    """The words of training data, with how often they were seen and, where labels are known, with which.

    These counts are all that labeled data tell a hidden Markov model: those of two data sets add up.
    """

    seen: Ids  #: [A] how often an attribute was a word
    class_of: Ids  #: [A] the class (an attribute) of each word, -1 where there is none
    counts: Tables | None = None  #: by label, with attributes in place of symbols

    @classmethod
    def of(cls, batch: Batch) -> tuple[Words, Ids]:
        """Return the words of a batch, and that of each position [P]; refuse positions that are not words."""
        word, kind = _words_and_classes(batch)  # [P]
        A = int(batch.attr.max()) + 1
        class_of = np.full(A, -1, np.int32)
        class_of[word] = kind
        _check_classes(batch, word, kind, class_of)
        return cls(np.bincount(word, minlength=A).astype(np.int32), class_of), word

    def joined(self, new: Words) -> Words:
        """Return the words of both, whose attributes and labels have the same numbers.

        Examples
        --------
        >>> one = Words.of(Batch(seq_ptr=[0, 2], attr_ptr=[0, 1, 2], attr=[0, 1]))[0]
        >>> two = Words.of(Batch(seq_ptr=[0, 1], attr_ptr=[0, 1], attr=[2]))[0]
        >>> one.joined(two).seen.tolist()
        [1, 1, 1]
        """
        A = max(len(self.seen), len(new.seen))
        seen = [_widened(each.seen, A) for each in (self, new)]
        class_of = [_widened(each.class_of, A, -1) for each in (self, new)]
        classes = [np.unique(each[each >= 0]) for each in class_of]
        wrong = (seen[0] > 0) & (seen[1] > 0) & (class_of[0] != class_of[1])
        if wrong.any() or seen[0][classes[1]].any() or seen[1][classes[0]].any():
            raise ValueError("X has words whose classes are not those of before; call fit with all data")
        counts = None
        if self.counts is not None and new.counts is not None:
            counts = _sum(self.counts, new.counts, A)
        return Words(seen[0] + seen[1], np.where(seen[1] > 0, class_of[1], class_of[0]), counts)


def _widened(array: Ids, A: int, value: int = 0) -> Ids:
    return np.concatenate([array, np.full(A - len(array), value, np.int32)])


def _sum(one: Tables, two: Tables, A: int) -> Tables:
    """Return the sum of counts, of which the second may have more labels and attributes."""
    M, L = len(one.start), len(two.start)
    start, step, emission = np.array(two.start), np.array(two.step), np.zeros((L, A))
    start[:M] += one.start
    step[:M, :M] += one.step[:, :-1]
    step[:M, -1] += one.step[:, -1]
    emission[:, : two.emission.shape[1]] = two.emission
    emission[:M, : one.emission.shape[1]] += one.emission
    return Tables(start, step, emission)


@dataclass(frozen=True, eq=False)
class Symbols:
    """The symbols of training data; the last one is the unknown word."""

    of_attribute: Ids  #: [A] symbol of each word and class, -1 of rare words
    of_word: Ids  #: [A] what each word is emitted as
    class_of: Ids  #: [A] the class (an attribute) of each word, -1 where there is none
    count: int  #: S

    @classmethod
    def of(cls, words: Words, min_count: int) -> Symbols:
        """Return the symbols of words.

        Examples
        --------
        >>> words, _ = Words.of(Batch(seq_ptr=[0, 3], attr_ptr=[0, 1, 2, 3], attr=[0, 1, 0]))
        >>> symbols = Symbols.of(words, min_count=2)
        >>> symbols.of_attribute.tolist(), symbols.of_word.tolist(), symbols.count
        ([0, -1], [0, 1], 2)
        """
        kept = words.seen >= max(min_count, 1)
        kept[words.class_of[words.class_of >= 0]] = True
        count = int(kept.sum())
        of_attribute = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
        behind = np.append(of_attribute, count)[words.class_of]  # a class of -1 takes the last: unknown
        of_word = np.where(of_attribute >= 0, of_attribute, behind).astype(np.int32)
        return cls(of_attribute, of_word, words.class_of, count + 1)

    def counted(self, counts: Tables) -> Tables:
        """Return counts by attribute as counts by symbol."""
        emission = [np.bincount(self.of_word[: len(row)], row, self.count) for row in counts.emission]
        return replace(counts, emission=np.array(emission))

    def names(self, data: Dataset) -> list[str]:
        """Return the name of each symbol."""
        ids = np.flatnonzero(self.of_attribute >= 0).tolist()
        spelled = data.attributes.strings()
        return [*(spelled[i] if spelled else str(i) for i in ids), "<unknown>"]

    def model(self, tables: Tables, chain: Chain, data: Dataset) -> SequenceModel:
        """Return a chain model whose scores are log p(x, y)."""
        L, step = len(chain.labels), np.log(tables.step)
        log: Floats = np.log(tables.emission.T)  # [S, L]
        unknown, attributes = log[-1], np.flatnonzero(self.of_attribute >= 0)
        behind = np.append(self.of_attribute, self.count - 1)[self.class_of[attributes]]
        node = log[self.of_attribute[attributes]] - log[behind]
        every = np.arange(L, dtype=np.int32)
        layout = Layout.of_chain(
            L,
            np.append(0, np.cumsum((self.of_attribute >= 0) * L)).astype(np.int64),
            np.tile(every, len(attributes)),
            np.zeros(1, np.int64),
            np.zeros(0, np.int32),
            np.arange(L * L, dtype=np.int32),
            start=True,
            stop=True,
        )
        steps = (step[:, :-1] + unknown).ravel()
        w = np.concatenate([node.ravel(), steps, np.log(tables.start) + unknown, step[:, -1]])
        return SequenceModel(chain, layout, Names(data.labels, data.attributes), w, data.extractor)


def _words_and_classes(batch: Batch) -> tuple[Ids, Ids]:
    """Return the word and the class of each position, [P] each; -1 where a position has no class."""
    if not batch.positions:
        raise ValueError("X has no positions (0 samples): there is nothing to learn from")
    for what, given in (("edge attributes", batch.edge_attr), ("real-valued columns", batch.dense)):
        if given is not None and given.size:
            raise ValueError(f"X has {what}, which a hidden Markov model cannot emit; leave them out")
    if batch.value is not None and (batch.value != 1.0).any():
        raise ValueError("X has attributes with values other than 1; a hidden Markov model emits words")
    many, begin = np.diff(batch.attr_ptr), batch.attr_ptr[:-1]
    wrong = np.flatnonzero((many < 1) | (many > 2))
    if wrong.size:
        p = int(wrong[0])
        raise ValueError(
            f"{_place(batch, p)} has {many[p]} attributes, expected one, the word, or two, the word and its "
            'spelling class, as the template "w[0]; shape(w)[0]" makes them'
        )
    kind = np.full(batch.positions, -1, np.int32)
    kind[many == 2] = batch.attr[begin[many == 2] + 1]
    return batch.attr[begin], kind


def _check_classes(batch: Batch, word: Ids, kind: Ids, class_of: Ids) -> None:
    both = np.zeros(len(class_of), dtype=np.bool_)
    both[kind[kind >= 0]] = True
    wrong = np.flatnonzero((class_of[word] != kind) | both[word])
    if wrong.size:
        p = int(wrong[0])
        raise ValueError(
            f"{_place(batch, p)}: the second attribute is not a class of the first: a word must have the "
            "same class everywhere, and must not be a class itself"
        )


def _place(batch: Batch, p: int) -> str:
    n = int(np.searchsorted(batch.seq_ptr, p, side="right")) - 1
    return f"X: sequence {n}, position {p - int(batch.seq_ptr[n])}"
