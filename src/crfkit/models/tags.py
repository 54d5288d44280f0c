"""Tags that spell segments: gold tags to the segments of a data set, and segments to tags again.

Labels of the form ``B-PER``, ``I-PER`` spell segments by a scheme (`crfkit.tags.schemes`); a semi-Markov
model has labels of segments instead, ``PER``, and O outside of them. Tags are read leniently, as conlleval
reads them. Any other labels are taken as they are: a segment is a stretch of one label.

What is not known: a position without a tag, or with a set of tags, may lie in any segment that the tags
around it allow. ``Batch.begin`` is True where a segment certainly begins; it is False where one certainly
goes on (the label is known) or where that is not known (the label is -1).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from crfkit._safe.cached import once
from crfkit._safe.printable import counted
from crfkit.arrays import Bools, Ids
from crfkit.checks import check_choice
from crfkit.data.alphabet import Alphabet
from crfkit.data.dataset import Dataset, ExtractorSpec, labeled
from crfkit.structures.gold import Path
from crfkit.tags.detection import detect_ids, parsed
from crfkit.tags.schemes import OUTSIDE, PART_OF, TABLE, canonical
from crfkit.tags.segments import are_segments, parts, to_tags, type_of

#: What is outside of segments: each position a segment of its own, or each stretch one segment.
Outside = Literal["unit", "long"]


def scheme_of(data: Dataset) -> str | None:
    """Return the scheme of the gold tags; None where labels do not spell segments.

    Examples
    --------
    >>> from crfkit.features import ItemExtractor
    >>> for tags in (["B-A", "I-A"], ["I-A", "B-A"], ["S-A", "O"], ["A", "O"]):
    ...     print(scheme_of(ItemExtractor()([[["x"], ["y"]]], [tags])))
    BIO
    IOB1
    BIOES
    None
    """
    return detect_ids(data.labels.strings(), _tags(data), data.batch.seq_ptr)


def _tags(data: Dataset) -> Ids:
    """Return the gold tag of each position, [P]; -1: unknown."""
    if data.batch.label is not None:
        return data.batch.label
    return np.full(data.batch.positions, -1, np.int32)


def as_segments(
    data: Dataset,
    scheme: str | None = None,
    outside: Outside = "unit",
    *,
    labels: Sequence[str] = (),
    closed: bool = False,
) -> Dataset:
    """Return data whose gold labels are those of segments, with `Batch.begin`.

    Parameters
    ----------
    data : Dataset
        With gold tags, or with labels whose stretches are segments.
    scheme : str, optional
        The scheme of the tags; default: detected in them. ``Dataset.extractor`` remembers it.
    outside : {"unit", "long"}
        Whether each position outside of segments, labeled O, is a segment of its own, or each stretch.
    labels : sequence of str
        Labels of segments that come first; new ones go behind.
    closed : bool
        Whether a segment begins where positions without a label begin: no known segment goes on there.

    Examples
    --------
    >>> from crfkit.features import ItemExtractor
    >>> data = as_segments(ItemExtractor()([[["a"], ["b"], ["c"]]], [["B-N", "I-N", "O"]]))
    >>> data.labels.strings(), data.batch.label.tolist(), data.batch.begin.tolist(), data.extractor.scheme
    (['N', 'O'], [0, 0, 1], [True, False, True], 'BIO')
    """
    check_choice("outside", outside, ("unit", "long"))
    batch, names = data.batch, tuple(data.labels.strings())
    if batch.soft is not None:
        raise ValueError("a semi-Markov chain takes labels or sets of labels, not soft labels")
    if batch.begin is not None or (batch.label is None and batch.allowed is None):
        return data  # they are segments already, or have no gold
    found = scheme_of(data) if scheme is None else canonical(scheme)
    known = Alphabet(labels)
    typed = known.ids([name if found is None else type_of(name) for name in names])  # [tags]
    label = np.append(typed, np.int32(-1))[_tags(data)]  # [P]
    unit = known.find(OUTSIDE) if outside == "unit" else -1
    begin = _begins(data, names, label, found, unit)
    if closed:
        begin |= (label < 0) & (np.append(0, label[:-1]) >= 0)
    made = replace(batch, label=label.astype(np.int32), begin=begin, allowed=None)
    if batch.allowed is not None:
        mask = np.zeros((batch.positions, len(known)), dtype=np.bool_)  # [P, L]
        for y, t in enumerate(typed.tolist()):
            mask[:, t] |= batch.allowed[:, y]
        made = replace(made, allowed=mask)
    made_by = replace(data.extractor or ExtractorSpec(), scheme=found)
    return replace(data, batch=made, labels=known, extractor=made_by)


def check_tags(labels: Sequence[str], scheme: str) -> None:
    """Refuse labels that are not tags of a scheme.

    Examples
    --------
    >>> check_tags(["B-N", "E-N"], "BIO")
    Traceback (most recent call last):
    ValueError: y has the label 'E-N', which is not a tag of BIO: these are O, B-TYPE and I-TYPE
    """
    letters = [*dict.fromkeys(TABLE[scheme].letters)]
    wrong = [x for x in labels if x != OUTSIDE and not (x[:1] in letters and x[1:2] == "-")]
    if wrong:
        known = [OUTSIDE, *(f"{letter}-TYPE" for letter in letters)]
        raise ValueError(
            f"y has the label {wrong[0]!r}, which is not a tag of {scheme}: these are "
            f"{', '.join(known[:-1])} and {known[-1]}"
        )


def stretches_as_tags(labels: list[list[str]]) -> list[list[str]]:
    """Return labels, each stretch of which is a segment, as tags of BIO.

    Examples
    --------
    >>> stretches_as_tags([["street", "street", "O", "town"]])
    [['B-street', 'I-street', 'O', 'B-town']]
    """
    return [
        [
            name if name == OUTSIDE else f"{'I' if t and sequence[t - 1] == name else 'B'}-{name}"
            for t, name in enumerate(sequence)
        ]
        for sequence in labels
    ]


def segmented(
    data: Dataset, y: Any, scheme: str | None = None, outside: Outside = "unit", *, labels: Sequence[str] = ()
) -> Dataset:
    """Return data with these gold segments; the other arguments are those of `as_segments`.

    Parameters
    ----------
    data : Dataset
    y : list of lists
        For each sequence its tags, or labels whose stretches are segments (see `crfkit.data.dataset`), or
        segments (start, end, label): see `crfkit.tags.segments`.

    Examples
    --------
    >>> from crfkit.features import ItemExtractor
    >>> data = ItemExtractor()([[["a"], ["b"], ["c"]]])
    >>> for y in (["B-N", "I-N", "O"], ["N", "N", "O"], [(0, 2, "N")]):
    ...     made = segmented(data, [y])
    ...     print(made.batch.label.tolist(), made.batch.begin.tolist(), made.extractor.scheme)
    [0, 0, 1] [True, False, True] BIO
    [0, 0, 1] [True, False, True] None
    [0, 0, 1] [True, False, True] None
    """
    if isinstance(y, np.ndarray) or (isinstance(y, Iterable) and not isinstance(y, str | bytes | Sequence)):
        y = list(y)
    bare = replace(data, batch=replace(data.batch, begin=None))
    if not are_segments(y):
        return as_segments(labeled(bare, y, Alphabet()), scheme, outside, labels=labels)
    lengths = np.diff(data.batch.seq_ptr).tolist()
    if len(y) != len(lengths):
        raise ValueError(f"X has {counted(len(lengths), 'sequence')}, y has {len(y)}")
    spelled = [
        to_tags(one, T, place=f"y: sequence {n}") for n, (one, T) in enumerate(zip(y, lengths, strict=True))
    ]
    made = as_segments(labeled(bare, spelled, Alphabet()), "BIO", outside, labels=labels, closed=True)
    return replace(made, extractor=replace(made.extractor or ExtractorSpec(), scheme=None))


def _begins(data: Dataset, names: tuple[str, ...], label: Ids, scheme: str | None, unit: int) -> Bools:
    """Return where segments begin [P]; `unit` is the label each of whose positions is a segment."""
    firsts = data.batch.seq_ptr[:-1][np.diff(data.batch.seq_ptr) > 0]
    begin: Bools = np.diff(label, prepend=-2) != 0
    if unit >= 0:
        begin |= label == unit
    unknown = label < 0
    if scheme is not None:
        part, _, first, _ = parsed(names, _tags(data), data.batch.seq_ptr)
        begin |= first
        after = np.append(False, unknown)[: len(label)]  # [P] the position before is not known
        begin &= ~(after & np.isin(part, ["I", "E"]))  # goes on from there
    begin[unknown] = _surely(data, names, scheme) if scheme is not None else False
    begin[firsts] = True
    return begin


def _surely(data: Dataset, names: tuple[str, ...], scheme: str) -> Bools:
    """Return where sets of tags say that a segment begins: of each position without a tag of its own."""
    batch = data.batch
    unknown = np.ones(batch.positions, dtype=np.bool_) if batch.label is None else batch.label < 0
    if batch.allowed is None or TABLE[scheme].letters[0] != "B" or TABLE[scheme].touching:
        return np.zeros(int(unknown.sum()), dtype=np.bool_)  # I may begin a segment or go on with one
    sets = batch.allowed[unknown]  # [unknown, tags]
    first, inner = (np.array([PART_OF.get(name[0]) in [*part] for name in names]) for part in ("BS", "IE"))
    goes_on = np.flatnonzero(~sets[:, ~inner].any(axis=1) & ~sets.all(axis=1))
    if goes_on.size:
        p = int(np.flatnonzero(unknown)[goes_on[0]])
        n = int(np.searchsorted(batch.seq_ptr, p, side="right")) - 1
        tags = ", ".join(sorted(np.array(names)[sets[goes_on[0]]].tolist()))
        raise ValueError(
            f"y: sequence {n}, position {p - int(batch.seq_ptr[n])}: {tags} say that a segment goes on, "
            "which sets cannot say; add the tag that would begin one, or give None"
        )
    return np.asarray(~sets[:, ~first].any(axis=1) & ~sets.all(axis=1))


@dataclass(frozen=True)
class Spelling:
    """Tags of labeled segments.

    Examples
    --------
    >>> path = Path(np.array([0, 4]), np.array([1, 1, 0, 1]), np.array([True, False, True, True]))
    >>> Spelling(("O", "N"), "BIOES").tags(path)
    [['B-N', 'E-N', 'O', 'S-N']]
    >>> Spelling(("O", "N"), None).tags(path)
    [['N', 'N', 'O', 'N']]
    """

    labels: tuple[str, ...]  #: of segments, [L]
    scheme: str | None  #: None: the labels themselves

    @once
    def alphabet(self) -> Alphabet:
        """The tags by id, frozen."""
        return Alphabet(self.labels if self.scheme is None else dict.fromkeys(self._spelled)).freeze()

    @once
    def _spelled(self) -> list[str]:
        """The tags of the four parts of each label, [4 L]."""
        letters = TABLE[self.scheme or "BIO"].letters
        return [name if name == OUTSIDE else f"{part}-{name}" for name in self.labels for part in letters]

    @once
    def _by_part(self) -> Ids:
        return self.alphabet.ids(self._spelled)

    def ids(self, path: Path) -> Ids:
        """Return the tag of each position as ids of the alphabet, [P]."""
        label, begin, seq_ptr = path.label, path.begin, path.seq_ptr
        if self.scheme is None or begin is None:
            return label
        part = parts(label, begin, seq_ptr, self.scheme)
        made: Ids = self._by_part[label.astype(np.int64) * 4 + part]
        return made

    def tags(self, path: Path) -> list[list[str]]:
        """Return the tags of each sequence."""
        flat: list[str] = np.array(self.alphabet.strings(), dtype=object)[self.ids(path)].tolist()
        return [flat[a:b] for a, b in pairwise(path.seq_ptr.tolist())]
