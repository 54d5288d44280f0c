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

from dataclasses import dataclass

import numpy as np

from crfkit.arrays import Floats, Ids
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset
from crfkit.linear.layout import Layout
from crfkit.models.model import Names, SequenceModel
from crfkit.structures.chains.chain import Chain
from crfkit.training.learners.generative import Tables

__all__ = ["Symbols"]


@dataclass(frozen=True, eq=False)
class Symbols:
    """The symbols of training data; the last one is the unknown word."""

    of_attribute: Ids  #: [A] symbol of each word and class, -1 of rare words
    class_of: Ids  #: [A] the class (an attribute) of each word, -1 where there is none
    of_position: Ids  #: [P]
    count: int  #: S

    @classmethod
    def of(cls, batch: Batch, min_count: int) -> Symbols:
        """Find the symbols of a batch, or refuse one whose positions are not words.

        Examples
        --------
        >>> batch = Batch(seq_ptr=[0, 3], attr_ptr=[0, 1, 2, 3], attr=[0, 1, 0])
        >>> symbols = Symbols.of(batch, min_count=2)
        >>> symbols.of_attribute.tolist(), symbols.of_position.tolist(), symbols.count
        ([0, -1], [0, 1, 0], 2)
        """
        word, kind = _words_and_classes(batch)  # [P]
        A = int(batch.attr.max()) + 1
        class_of = np.full(A, -1, np.int32)
        class_of[word] = kind
        _check_classes(batch, word, kind, class_of)
        kept = np.bincount(word, minlength=A) >= max(min_count, 1)
        kept[kind[kind >= 0]] = True
        count = int(kept.sum())
        of_attribute = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
        behind = np.append(of_attribute, count)[kind]  # a class of -1 takes the last: unknown
        of_word = of_attribute[word]
        found = np.where(of_word >= 0, of_word, behind).astype(np.int32)
        return cls(of_attribute, class_of, found, count + 1)

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
