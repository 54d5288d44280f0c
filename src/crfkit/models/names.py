"""The names of a model, and data renamed to them: ids of other alphabets become the model's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields

import numpy as np

from crfkit._safe.pickling import Restored
from crfkit.arrays import Ids
from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch
from crfkit.data.dataset import ALPHABET_OF, Dataset
from crfkit.linear.layout import Layout

Weighted = tuple[bool, bool, bool]


@dataclass(frozen=True, eq=False)
class Names(Restored):
    """The frozen alphabets of a model; empty ones where ids have no names.

    Examples
    --------
    >>> names = Names(Alphabet(["D", "N"]), Alphabet(["the", "dog"]))
    >>> names.labels.frozen, len(names.edge_attributes)
    (True, 0)
    """

    labels: Alphabet
    attributes: Alphabet  #: empty where attributes are hashed or ids without names
    edge_attributes: Alphabet = field(default_factory=Alphabet)
    segment_attributes: Alphabet = field(default_factory=Alphabet)

    def __post_init__(self) -> None:
        for f in fields(self):
            object.__setattr__(self, f.name, getattr(self, f.name).freeze())

    def check_fits(self, layout: Layout) -> None:
        """Refuse a layout with rows of attributes that have no name, unless none of their kind has one.

        Examples
        --------
        >>> layout = Layout.of_chain(1, *[np.arange(3), np.zeros(2, np.int32)] * 2, np.zeros(0, np.int32))
        >>> Names(Alphabet(["x"]), Alphabet(["the"])).check_fits(layout)
        Traceback (most recent call last):
            ...
        ValueError: the layout has 2 rows of node attributes, of which 1 have names; name all or none
        """
        for block in layout.blocks:
            if block.by in ALPHABET_OF:
                rows, names = len(block.ptr) - 1, len(getattr(self, ALPHABET_OF[block.by]))
                if rows > names > 0:
                    raise ValueError(
                        f"the layout has {rows:,} rows of {block.by} attributes, of which {names:,} have "
                        "names; name all or none"
                    )

    def renamed(self, data: Dataset, weighted: Weighted = (True, True, True)) -> Batch:
        """Return the batch of a data set with the ids of these names.

        Attributes that have no name here are dropped, gold labels become -1.

        Parameters
        ----------
        data : Dataset
        weighted : three of bool
            Whether there are weights for attributes, edge and segment attributes; without, all are dropped.

        Examples
        --------
        >>> from crfkit.features import ItemExtractor
        >>> names = Names(Alphabet(["D", "N"]), Alphabet(["the", "dog"]))
        >>> batch = names.renamed(ItemExtractor()([[["new"], ["dog"]]], [["?", "N"]]))
        >>> batch.attr.tolist(), batch.label.tolist()
        ([1], [-1, 1])
        """
        return self._with_labels(data, self.labels, weighted)

    def dataset(self, data: Dataset, weighted: Weighted = (True, True, True)) -> Dataset:
        """Return a data set with these names, but for labels, of which new ones go behind."""
        labels = self.labels if data.labels is self.labels else Alphabet(self.labels.strings())
        batch = self._with_labels(data, labels, weighted)
        return Dataset(batch, labels, self.attributes, self.edge_attributes, self.segment_attributes)

    def _with_labels(self, data: Dataset, labels: Alphabet, weighted: Weighted) -> Batch:
        batch, new = data.batch, None if data.labels is labels else labels.merge(data.labels)
        what = ("attributes", "edge attributes", "segment attributes")
        segments = [batch.begin_attr, batch.end_attr, batch.segment_attr]
        words = [name if has else "" for name, has in zip(what, weighted, strict=True)]
        return batch.renamed(
            labels=new,
            attributes=_new_ids([batch.attr], data.attributes, self.attributes, words[0]),
            edges=_new_ids([batch.edge_attr], data.edge_attributes, self.edge_attributes, words[1]),
            segments=_new_ids(segments, data.segment_attributes, self.segment_attributes, words[2]),
            label_count=len(labels),
        )


def _new_ids(ids: Sequence[Ids | None], theirs: Alphabet, ours: Alphabet, what: str) -> Ids | None:
    """Return our id of each of their attributes, -1 to drop it (all without `what`); None: all stay."""
    used = [each for each in ids if each is not None and each.size]
    if not used:
        return None
    if not what:
        most = max(int(each.max()) for each in used)
        return np.broadcast_to(np.int32(-1), most + 1)  # one number in memory
    if theirs is ours or (not len(theirs) and not len(ours)):
        return None
    if not len(theirs):
        raise ValueError(f"the {what} of the data have no names (hashed ids?), those of the model do")
    if not len(ours):
        raise ValueError(f"the {what} of the data have names, those of the model are hashed ids")
    return ours.merge(theirs)
