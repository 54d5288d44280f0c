"""Conjunctions of attributes: ``A|B`` holds where both A and B do.

They are made from ids, after recipes, items or CRFsuite's text have become a batch, so that they work for all
of these alike. A model keeps them in its extractor (`ExtractorSpec.conjunctions`) and makes them of new data
(`SequenceModel.batch_of`). `crfkit.training.induce` finds those that are worth having.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from crfkit import _native
from crfkit._safe.cached import once
from crfkit._safe.printable import quoted
from crfkit.arrays import Bools, pointers
from crfkit.checks import in_order
from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset, ExtractorSpec
from crfkit.native import threads_or_all

#: What stands between the names of two parts.
AND = "|"
_MOST_PARTS = 64  # as in the native code


@dataclass(frozen=True)
class Conjunctions:
    """Pairs of attributes by name; the left one of a pair may be an earlier conjunction.

    Values multiply. A conjunction is an attribute like others: that of ``a`` and ``b`` is called ``a|b``, and
    data must not have an attribute of this name already.

    Parameters
    ----------
    pairs : iterable of (str, str)

    Examples
    --------
    >>> from crfkit.features import Conjunctions, ItemExtractor
    >>> data = ItemExtractor()([[["a", "b", "c"], ["b", "c"]]], [["X", "Y"]])
    >>> made = Conjunctions([("a", "b"), ("a|b", "c")])(data)
    >>> made.attributes.strings(), made.batch.attr.tolist()
    (['a', 'b', 'c', 'a|b', 'a|b|c'], [0, 1, 2, 3, 4, 1, 2])
    """

    pairs: tuple[tuple[str, str], ...]

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        object.__setattr__(self, "pairs", tuple((str(left), str(right)) for left, right in in_order(pairs)))
        parts: dict[str, int] = {}
        names = set(self.names)
        for (left, right), name in zip(self.pairs, self.names, strict=True):
            if name in parts:
                raise ValueError(f"the conjunction {quoted(name)} is given twice; give it once")
            if right in names or (left in names and left not in parts) or left == right:
                raise ValueError(
                    f"the conjunction of {quoted(left)} and {quoted(right)} cannot be made: the right "
                    "part must be an attribute of the data, the left one another attribute or an earlier "
                    "conjunction"
                )
            parts[name] = parts.get(left, 1) + 1
            if parts[name] > _MOST_PARTS:
                raise ValueError(f"the conjunction {quoted(name)} has more than {_MOST_PARTS} parts")

    @once
    def names(self) -> tuple[str, ...]:
        """The names of the conjunctions."""
        return tuple(f"{left}{AND}{right}" for left, right in self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    def __call__(self, data: Dataset, threads: int | None = None) -> Dataset:
        """Return data with these conjunctions as further attributes."""
        before = None if data.extractor is None else data.extractor.conjunctions
        if len(data.attributes) == 0 and data.batch.attr.size:
            raise ValueError(
                "conjunctions are made of attributes by name, but those of the data are hashed ids or ids "
                "without names: extract the data without hashing"
            )
        taken = next((name for name in self.names if name in data.attributes), None)
        if taken is not None:
            raise ValueError(
                f"the data have an attribute {quoted(taken)} already, which would be the name of a "
                "conjunction; rename it in the data, or leave the conjunction out"
            )
        whole = self if before is None else Conjunctions((*before.pairs, *self.pairs))
        attributes = Alphabet(data.attributes.strings())
        attributes.ids(self.names)
        made_by = replace(data.extractor or ExtractorSpec(), conjunctions=whole)
        batch = conjoined(data.batch, whole.table(attributes), threads)
        return replace(data, batch=batch, attributes=attributes, extractor=made_by)

    def table(self, attributes: Alphabet) -> _native.Conjunctions:
        """Return the conjunctions by the ids of an alphabet; those that it does not know are left out."""
        frozen = attributes.freeze()
        ids = np.stack([frozen.ids(part) for part in (*map(list, zip(*self.pairs, strict=True)), self.names)])
        left, right, made = ids[:, (ids >= 0).all(axis=0)] if self.pairs else np.zeros((3, 0), dtype=np.int32)
        order = np.lexsort((right, left))
        ptr = pointers(np.bincount(left, minlength=len(attributes)))
        return _native.Conjunctions(ptr, right[order], made[order])

    def needed(self, attributes: Alphabet, used: Bools) -> Bools:
        """Return which attributes [A] a model needs that has weights for some: these and their parts."""
        found, frozen = used.copy(), attributes.freeze()
        for (left, right), made in zip(self.pairs[::-1], frozen.ids(self.names[::-1]).tolist(), strict=True):
            if made >= 0 and found[made]:
                found[frozen.ids([left, right])] = True
        return found


def conjoined(batch: Batch, table: _native.Conjunctions, threads: int | None = None) -> Batch:
    """Return a batch with the conjunctions of a table; what it has of them already is made anew."""
    ptr, attr, value = table.conjoin(batch.attr_ptr, batch.attr, batch.value, threads_or_all(threads))
    return replace(batch, attr_ptr=ptr, attr=attr, value=None if batch.value is None else value)
