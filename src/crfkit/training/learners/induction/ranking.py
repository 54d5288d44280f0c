"""Which features would help most: those with the highest gain on tokens that the model gets wrong.

The gain of a feature is the rise of the likelihood, approximated by a product over tokens with all other
weights fixed, less the penalty of its weight: Gupta (2005) eq. 61 and section 4.2, after McCallum (2003).
Only tokens count that are wrong, or right by no more than a margin. Candidates are the attributes at these
tokens, and pairs of two of them that occur together; the native search tries every label with each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crfkit import _native
from crfkit._safe.cached import once
from crfkit.arrays import Bools, Floats, Ids, Pointers, Ragged, pointers, ranges
from crfkit.data.batch import Batch
from crfkit.native import threads_or_all


@dataclass(frozen=True, eq=False)
class Tokens:
    """Tokens that a model gets wrong, or nearly so, with their attributes.

    Examples
    --------
    >>> batch = Batch(seq_ptr=[0, 3], attr_ptr=[0, 1, 2, 3], attr=[0, 1, 0], label=[0, 1, 1])
    >>> p = np.array([[0.9, 0.1], [0.8, 0.2], [0.4, 0.6]])
    >>> tokens_of(batch, p, np.ones(1)).position.tolist()
    [1]
    >>> tokens_of(batch, p, np.ones(1), margin=0.5).position.tolist()
    [1, 2]
    """

    position: Pointers  #: [W] in the batch
    gold: Ids  #: [W]
    predicted: Ids  #: [W] the most probable label
    p: Floats  #: [W, L] probabilities of the labels
    weight: Floats  #: [W]
    rows: Ragged  #: attributes of each token

    def __len__(self) -> int:
        return len(self.position)

    @property
    def wrong(self) -> int:
        """How many of them have another label that is more probable than the gold."""
        return int(np.count_nonzero(self.gold != self.predicted))

    @once
    def attributes(self) -> int:
        """Attributes that occur have ids below this."""
        return int(self.rows.id.max(initial=-1)) + 1

    @once
    def counts(self) -> Pointers:
        """Occurrences of each attribute at these tokens, [attributes]."""
        return np.bincount(self.rows.id, minlength=self.attributes)

    def search(self, l2: float) -> _native.GainSearch:
        """Return the search for gains at these tokens."""
        L = self.p.shape[1]
        weight = None if (self.weight == 1.0).all() else self.weight
        return _native.GainSearch(self.p.ravel(), self.gold, weight, L, l2, *self.rows)


def tokens_of(batch: Batch, p: Floats, weight: Floats, margin: float = 0.0) -> Tokens:
    """Return the tokens whose gold label is not ahead of all others by more than a margin.

    Parameters
    ----------
    batch : Batch
        With a gold label at each position.
    p : array [P, L]
        Probabilities of the labels.
    weight : array [N]
        Weights of the sequences.
    margin : float
        0: tokens that the model gets wrong; 1: all.
    """
    assert batch.label is not None
    every = np.arange(batch.positions)
    others = p.copy()
    others[every, batch.label] = -1.0
    chosen = np.flatnonzero(p[every, batch.label] - others.max(axis=1) <= margin)
    length = np.diff(batch.attr_ptr)[chosen]
    at = ranges(batch.attr_ptr[chosen], length)
    value = None if batch.value is None else batch.value[at]
    near = p[chosen]
    return Tokens(
        chosen,
        batch.label[chosen],
        near.argmax(axis=1).astype(np.int32),
        near,
        np.repeat(weight, np.diff(batch.seq_ptr))[chosen],
        Ragged(pointers(length), batch.attr[at], value),
    )


@dataclass(frozen=True, eq=False)
class Found:
    """Features with their gains, the best first."""

    left: Ids  #: [n] an attribute, or the left part of a conjunction
    right: Ids  #: [n] the right part; -1 for an attribute by itself
    label: Ids  #: [n]
    tokens: Pointers  #: [n] at which the test is true
    mark: NDArray[np.uint64]  #: [n] of the set of these tokens
    mu: Floats  #: [n] the weight that gains most
    gain: Floats  #: [n]

    def __len__(self) -> int:
        return len(self.left)

    def __getitem__(self, which: Pointers | Bools | slice) -> Found:
        return Found(*(getattr(self, name)[which] for name in self.__dataclass_fields__))

    def joined(self, other: Found) -> Found:
        """Return these and others behind them."""
        names = self.__dataclass_fields__
        return Found(*(np.concatenate([getattr(self, name), getattr(other, name)]) for name in names))

    def distinct(self) -> Found:
        """Return the first feature of each label and set of tokens: others would say the same again."""
        key = self.mark * np.uint64(0x9E3779B97F4A7C15) + self.label.astype(np.uint64)
        _, first = np.unique(key, return_index=True)
        return self[np.sort(first)]

    def gains_of(self, attribute: Ids, label: Ids, L: int) -> Floats:
        """Return the gains of attributes with labels, 0 where these have none; self are all single ones."""
        known, asked = self.left * np.int64(L) + self.label, attribute * np.int64(L) + label
        at = np.searchsorted(known, asked)  # known ones rise
        found = np.append(known, -1)[at] == asked
        return np.where(found, np.append(self.gain, 0.0)[at], 0.0)

    def ranked(self) -> Found:
        """Return them by gain, the highest first; among equals the order stays."""
        return self[np.argsort(-self.gain, kind="stable")]


def best_features(
    tokens: Tokens,
    l2: float,
    chosen: Pointers,
    parts: Pointers,
    *,
    most: int,
    beam: int,
    longest: int,
    least: float = 0.0,
    overlap: float = 0.5,
    threads: int | None = None,
) -> Found:
    """Return the features with the highest gains that are not chosen yet.

    Where features are true at the same tokens, with the same label, the simplest stands for all.
    Conjunctions have two parts: those of the features that there are, and the atoms (attributes that are
    not conjunctions) with the highest gains. One part at least is an atom, and a conjunction must gain more
    than each of its parts would with the label: what is simple is tried first.

    Parameters
    ----------
    tokens : Tokens
    l2 : float
        Strength of the penalty: 1 / sigma^2.
    chosen : array [n]
        The features that there are, as attribute * L + label.
    parts : array [A]
        Atoms of each attribute: 1, or more for a conjunction.
    most : int
        The largest number of features.
    beam : int
        Atoms that need not be features yet to become parts.
    longest : int
        Atoms of a conjunction at most.
    least : float
        A feature must gain more.
    overlap : float
        A feature is left out where more than this part of what its tokens could gain is explained by better
        ones already; it may come back when these have their weights.
    threads : int, optional
    """

    def diverse(found: Found) -> Found:
        best = found.ranked()
        return best[search.diverse(best.left, best.right, best.label, best.mu, most, 1.0 - overlap)]

    search, workers, L = tokens.search(l2), threads_or_all(threads), tokens.p.shape[1]
    each = Found(*search.single(least, workers))
    single = each.distinct()
    new = ~np.isin(single.left * np.int64(L) + single.label, chosen)
    if longest < 2:
        return diverse(single[new])
    n = tokens.attributes
    known = np.zeros(n, dtype=np.bool_)
    of_chosen = chosen // L
    known[of_chosen[of_chosen < n]] = True
    known &= tokens.counts > 0
    atom = parts[:n] == 1
    gain = np.zeros(n)
    np.maximum.at(gain, single.left, single.gain)
    rank = np.lexsort((-tokens.counts, -gain))
    beamed = np.zeros(n, dtype=np.bool_)
    beamed[rank[(atom & (tokens.counts > 0))[rank]][:beam]] = True
    ranked = diverse(single[new])
    floor = float(ranked.gain[-1]) if len(ranked) == most else least
    left = (known | beamed) & (parts[:n] < longest)
    pairs = Found(*search.pairs(left, (known | beamed) & atom, floor, workers))
    simpler = np.maximum(
        each.gains_of(pairs.left, pairs.label, L), each.gains_of(pairs.right, pairs.label, L)
    )
    both = single.joined(pairs[pairs.gain > simpler]).distinct()
    new = (both.right >= 0) | ~np.isin(both.left * np.int64(L) + both.label, chosen)
    return diverse(both[new])
