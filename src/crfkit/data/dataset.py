"""Datasets: a batch, the alphabets that give names to its labels and attributes, and gold labels made from y.

======================  ===================================================================================
entry of y              meaning
======================  ===================================================================================
``"N"``                 the label; numbers are labels too, of all positions or of none
``None``                nothing is known: training sums over all labels; for a whole sequence too
``{"N", "V"}``          one of these: training sums over them; lists and tuples of strings too
``{"N": 0.9, "V": 0.1}``  a distribution, such as the votes of annotators: training takes the expectation
======================  ===================================================================================

Distributions go with plain labels only: their likelihood is an expectation, not a sum over labelings.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AnySet
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from crfkit._safe.pickling import Restored
from crfkit._safe.printable import counted
from crfkit.arrays import Bools, Floats, Ids, Pointers
from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch
from crfkit.errors import DataWarning, warn_about

if TYPE_CHECKING:
    from crfkit.features.conjunctions import Conjunctions
    from crfkit.features.recipe import Recipe
    from crfkit.text.spec import TextSpec


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
    numbers: bool = False  #: whether labels were given as numbers, and are answered so
    text: TextSpec | None = None  #: how raw text becomes sequences of tokens


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


def labeled(data: Dataset, y: Any, labels: Alphabet) -> Dataset:
    """Return the data with these gold labels, which are added to a growing alphabet.

    Examples
    --------
    >>> from crfkit.features import ItemExtractor
    >>> data = ItemExtractor()([[["a"], ["b"], ["c"]]])
    >>> labeled(data, [["X", None, "X"]], Alphabet()).batch.label.tolist()
    [0, -1, 0]
    >>> labeled(data, [None], Alphabet(["X"])).batch.label.tolist()
    [-1, -1, -1]
    >>> labeled(data, [["X", {"X", "Y"}, None]], Alphabet(["X", "Y", "Z"])).batch.allowed.tolist()
    [[True, False, False], [True, True, False], [True, True, True]]
    >>> labeled(data, [["X", {"X": 0.25, "Y": 0.75}, "Y"]], Alphabet()).batch.soft.tolist()
    [[1.0, 0.0], [0.25, 0.75], [0.0, 1.0]]
    """
    flat = _flat(y, np.diff(data.batch.seq_ptr).tolist())
    other = [p for p, given in enumerate(flat) if not isinstance(given, str) and given is not None]
    numbers = _spell_numbers(flat, other, data)
    other = [p for p in other if not isinstance(flat[p], str)]
    for p in other:
        _check_entry(flat[p], _place(data, p))
    if len(other) == len(flat) > 0:
        _doubt_tuples(flat)
    gold = _partial(data, flat, labels) if other else {"label": _ids(flat, labels)}
    batch = replace(data.batch, **{"allowed": None, "soft": None, **gold})
    made_by = replace(data.extractor or ExtractorSpec(), numbers=True) if numbers else data.extractor
    return replace(data, batch=batch, labels=labels, extractor=made_by)


def spelled_number(label: Any) -> Any:
    """Return a label that is a whole number as text; any other as it is.

    Examples
    --------
    >>> [spelled_number(label) for label in (3, np.int64(3), "3", None, True)]
    ['3', '3', '3', None, True]
    """
    whole = isinstance(label, int | np.integer) and not isinstance(label, bool)
    return str(int(label)) if whole else label


def _spell_numbers(flat: list[Any], other: list[int], data: Dataset) -> bool:
    """Spell labels that are numbers, in place; return whether there are such, and refuse a mix."""
    first = -1  # position of the first number
    for p in other:
        given = flat[p]
        names = given if isinstance(given, Mapping | AnySet | list | tuple) else [given]
        spelled = [spelled_number(name) for name in names]
        if not spelled or any(not isinstance(a, str) or a is b for a, b in zip(spelled, names, strict=True)):
            continue  # not all are numbers
        first = p if first < 0 else first
        if isinstance(given, Mapping):
            flat[p] = dict(zip(spelled, given.values(), strict=True))
        else:
            flat[p] = spelled[0] if names is not given else type(given)(spelled)  # type: ignore[call-arg]
    if first >= 0 and len(other) < len(flat):
        mine = {*other}
        text = next((x for p, x in enumerate(flat) if p not in mine and x is not None), None)
        if text is not None:
            raise TypeError(
                f"{_place(data, first)}: the label is {flat[first]}, of type int, and others are strings, as "
                f"{text!r}: give labels of one type"
            )
    return first >= 0


def _ids(flat: list[Any], labels: Alphabet) -> Ids:
    """Return plain labels as ids, -1 where they are None."""
    if None not in flat:
        return labels.ids(flat)
    made = np.full(len(flat), -1, dtype=np.int32)
    known = [p for p, label in enumerate(flat) if label is not None]
    made[known] = labels.ids(flat[p] for p in known)
    return made


def _flat(y: Any, lengths: list[int]) -> list[Any]:
    """Return the entries of all positions, or refuse a wrong number of them."""
    if isinstance(y, str | bytes):
        raise ValueError("y is a plain string, expected a list of label sequences")
    if not isinstance(y, Iterable):
        raise TypeError(f"y is {y!r:.60}, expected a list of label sequences: one list for each sequence")
    flat: list[Any] = []
    n = -1
    for n, tags in enumerate(y):
        if tags is None and n < len(lengths):
            flat.extend([None] * lengths[n])
            continue
        if n >= len(lengths):
            raise ValueError(
                f"X has {counted(len(lengths), 'sequence')}, y has more: sequence {n} has labels only"
            )
        if isinstance(tags, str | bytes | Mapping | AnySet) or not isinstance(tags, Iterable):
            raise ValueError(
                f"y: sequence {n} is {tags!r:.60}, expected a list of labels: one for each position of X[{n}]"
            )
        before = len(flat)
        flat.extend(tags)
        if len(flat) - before != lengths[n]:
            raise ValueError(
                f"sequence {n}: X has {counted(lengths[n], 'position')}, y has "
                f"{counted(len(flat) - before, 'label')}"
            )
    if n + 1 != len(lengths):
        raise ValueError(
            f"X has {counted(len(lengths), 'sequence')}, y has {n + 1}: sequence {n + 1} has no labels"
        )
    return flat


def _doubt_tuples(flat: list[Any]) -> None:
    """Warn where every position has a tuple of several labels: one for each of several tasks, it seems."""
    size = len(flat[0])
    if size > 1 and all(isinstance(one, tuple) and len(one) == size for one in flat):
        warn_about(
            f"y has a tuple of {size} labels at every position, {flat[0]!r:.60}, which is taken for a set of "
            "labels, one of which is right: for several labels at once use FactorialCRF, for choices sets",
            DataWarning,
        )


def _place(data: Dataset, p: int) -> str:
    begins = data.batch.seq_ptr
    n = int(np.searchsorted(begins, p, side="right")) - 1
    return f"y: sequence {n}, position {p - int(begins[n])}"


def _check_entry(given: Any, place: str) -> None:
    """Raise unless an entry is a set of labels or a distribution."""
    if not isinstance(given, Mapping | AnySet | list | tuple):
        raise TypeError(
            f"{place}: the label is {given!r}, of type {type(given).__name__}; labels are strings or whole "
            "numbers, None where unknown, sets of labels, or dicts of probabilities"
        )
    if not given:
        raise ValueError(f"{place}: {given!r} allows no label; None stands for a label that is not known")
    for name in given:
        if not isinstance(name, str):
            raise TypeError(f"{place}: {given!r} has the label {name!r}, of type {type(name).__name__}")
    if isinstance(given, Mapping):
        p = [float(share) for share in given.values()]
        if not (all(math.isfinite(x) and x >= 0.0 for x in p) and abs(math.fsum(p) - 1.0) <= 1e-6):
            raise ValueError(
                f"{place}: {given!r} is not a distribution; give probabilities of 0 or more whose sum is 1"
            )


def _names(given: Any) -> list[str]:
    """Return the labels of an entry; sets have no order, so theirs come in alphabetical order."""
    if given is None or isinstance(given, str):
        return [] if given is None else [given]
    return sorted(given) if isinstance(given, AnySet) else list(given)


def _partial(data: Dataset, flat: list[Any], labels: Alphabet) -> dict[str, Any]:
    """Return the arrays of gold where some entries are sets or distributions."""
    entries = [labels.ids(_names(given)) for given in flat]  # first: then all labels have their ids
    distributions = any(isinstance(given, Mapping) for given in flat)
    share: Floats = np.zeros((len(flat), len(labels)))  # [P, L]
    label: Ids = np.full(len(flat), -1, dtype=np.int32)
    for p, (given, ids) in enumerate(zip(flat, entries, strict=True)):
        if isinstance(given, str):
            label[p] = ids[0]
        elif distributions and not isinstance(given, Mapping):
            raise ValueError(
                f"{_place(data, p)} is {given!r}, but y has distributions, which go with plain labels only; "
                "give a distribution here too"
            )
        share[p, slice(None) if given is None else ids] = (
            list(given.values()) if isinstance(given, Mapping) else 1.0
        )
    if distributions:
        return {"label": label, "soft": share}
    return {"label": label, "allowed": share > 0.0}
