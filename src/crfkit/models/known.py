"""Whether data are what a model was trained on.

A model that knows next to none of the attributes of data answers from transitions alone, and nobody would see
it. Counted are occurrences of attributes, of the first data that have 200 of them; fewer than 2 % known is a
warning, and so is a file whose first data have none at all. Not counted is what models know of any data:
attributes of positions at the ends of sequences (marks of beginnings and ends, padding of windows), where
there are others, and attributes of every position (bias).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING, Final

import numpy as np

from crfkit._safe.printable import quoted
from crfkit.arrays import Bools, Ids, Pointers
from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset
from crfkit.data.formats.columns import Columns
from crfkit.errors import DataWarning, warn_about
from crfkit.models.names import Names

if TYPE_CHECKING:
    from crfkit.features import Recipe
    from crfkit.models.model import SequenceModel

_OCCURRENCES: Final = 200  # that decide
_ENOUGH: Final = 1 << 17  # after so many that are of every position nothing is counted any more
_SHARE: Final = 0.02  # of them must be known
_EVERYWHERE: Final = 10  # positions that an attribute of every position is seen at, at least
_GLANCE: Final = 256  # known attributes that a glance takes in
_DIFFERENT: Final = 32  # of them that the first position lacks, where it suffices
_SAMPLE: Final = 4096  # positions of columns that are looked at once more, where few attributes are known


class UnknownAttributesWarning(DataWarning):
    """A model knows next to none of the attributes that it is given, and answers from transitions alone."""


@dataclass
class Watch:
    """Counts of the attributes of data, block by block, until there are enough to decide; for any thread."""

    names: Names
    recipe: Recipe | None = None  #: what made the attributes of the training data, where that is known
    seen: int = 0
    known: int = 0
    bare: int = 0  #: positions of data that have no attributes at all
    done: bool = False  #: nothing is counted any more
    _all: int = 0  # attributes so far
    _positions: int = 0  # that they are of
    _ids: list[Ids] = field(default_factory=list)  # of known ones
    _counting: Lock = field(
        default_factory=Lock, repr=False
    )  # taken only where it is free: forks may keep it

    @classmethod
    def of(cls, model: SequenceModel) -> Watch:
        """Return one for the data of a model.

        Nothing is counted where attributes have no names or are not all that it has, and where they are a
        selection, as by induction or a large L1 penalty: it then knows few of any data.
        """
        layout = model.layout
        unnamed = model.hashed is not None or not len(model.attributes)
        others = not layout.rows_of("node") or layout.dense > 0
        return cls(model.names, model.recipe, done=unnamed or others or model.selected)

    def renamed(self, before: Batch, after: Batch, names: Alphabet) -> None:
        """Count the attributes of a batch before and after it lost those that the model does not know."""
        if (
            self.done
            or self._varied(len(before.attr), after)
            or self._bare(before.positions, len(before.attr))
        ):
            return
        within = inside(before.seq_ptr, 1)
        seen = int(np.diff(before.attr_ptr)[within].sum())
        self._add(seen, after, within, () if len(after.attr) else names)

    def items(self, seen: tuple[int, int], after: Batch) -> None:
        """Count the attributes of a batch of items: how many there were in all, and not at the ends."""
        if (
            self.done
            or self._varied(seen[0], after)
            or self._bare(after.positions, max(seen[0], len(after.attr)))
        ):
            return
        within = inside(after.seq_ptr, 1)
        ends = np.diff(after.seq_ptr)
        self._add(seen[1] if (ends > 2).any() else seen[0], after, within)

    def add(self, seen: int, known: int) -> None:
        """Count attributes that are known, of all that there are."""
        if self.done:
            return
        self.seen, self.known = self.seen + seen, self.known + known
        self._decide()

    def columns(self, columns: Columns, made: Dataset) -> None:
        """Count the attributes that the recipe made of columns; where few are known, once more in full."""
        if self.done or not columns.positions or self.recipe is None:
            return
        margin, made_by_each = reach(self.recipe)  # hardly any recipe makes more
        if self._varied(columns.positions * made_by_each, made.batch):
            return
        within = inside(columns.seq_ptr, margin)
        seen = int(within.sum()) * made_by_each
        ids = _known(made.batch, within)
        if _split(ids, int(within.sum()))[1] >= _SHARE * seen:
            self._add(max(seen, len(ids)), made.batch, within)
            return
        from crfkit.features import Extractor

        last = int(np.searchsorted(columns.seq_ptr, _SAMPLE, side="right")) - 1
        first = _first(columns, max(last, 1))
        whole = Extractor(self.recipe, None, longest=1)(first)
        within = inside(first.seq_ptr, margin)
        seen = int(np.diff(whole.batch.attr_ptr)[within].sum())
        after = self.names.renamed(whole, (True, False, False))
        self._add(seen, after, within, () if len(after.attr) else whole.attributes)

    def _varied(self, seen: int, after: Batch) -> bool:
        """Return whether a glance shows that data are known, and end the count: most data are.

        Half of the attributes are known, and the first 256 of these have 32 that the first position lacks:
        attributes of every position are not among them, and those of ends are few.
        """
        if self._all or not len(after.attr) or seen > 2 * len(after.attr):
            return False
        first = after.attr[:_GLANCE].tolist()
        self.done = len({*first}.difference(first[: int(after.attr_ptr[1])])) >= _DIFFERENT
        return self.done

    def begin(self, data: Dataset) -> None:
        """Warn where a file begins with data that have no attributes at all, as raw text has none."""
        if not (self.done or self._all or self.bare or len(data.batch.attr)):
            self._warn_of_bare(data.batch.positions)

    def _warn_of_bare(self, positions: int) -> None:
        self.done = True
        have = (
            "the first position of the data has"
            if positions == 1
            else f"the first {positions:,} positions of the data have"
        )
        self._warn(f"{have} no attributes")

    def _bare(self, positions: int, attributes: int) -> bool:
        """Return whether data have no attributes at all; warn, where that is so from the first ones on."""
        self.bare += 0 if attributes else positions
        if self.bare >= _OCCURRENCES and not self._all and not attributes:
            self._warn_of_bare(self.bare)
        return not attributes

    def _add(self, seen: int, after: Batch, within: Bools, some: Alphabet | tuple[()] = ()) -> None:
        """Count attributes of these positions; those of every position so far are taken out again."""
        if not self._counting.acquire(blocking=False):
            return  # another thread counts what it has: that decides as well
        try:
            if self.done:
                return
            self._ids.append(_known(after, within))
            self._positions += int(within.sum())
            self._all += seen
            if self._all >= _OCCURRENCES:
                everywhere, known = _split(np.concatenate(self._ids), self._positions)
                self.seen, self.known = self._all - everywhere, known
                self._decide(some)
        finally:
            self._counting.release()

    def _decide(self, some: Alphabet | tuple[()] = ()) -> None:
        if self.seen < _OCCURRENCES:
            self.done = self._all > _ENOUGH
            return
        self.done, self._ids = True, []
        if self.known < _SHARE * self.seen:
            have = f", such as {_such(some)}," if len(some) else ""
            self._warn(
                f"of {self.seen:,} attributes of the data{have} the model knows {self.known or 'none'}"
            )

    def _warn(self, what: str) -> None:
        warn_about(
            f"{what}: its labels follow from transitions alone; it was trained on {self._trained_on()}; give "
            "data as in training",
            UnknownAttributesWarning,
        )

    def _trained_on(self) -> str:
        """Return what kind of data the names are from."""
        such = f"attributes such as {_such(self.names.attributes)}"
        if self.recipe is None:
            return such
        return f"the columns {', '.join(map(quoted, self.recipe.columns))}, which make {such}"


def reach(recipe: Recipe) -> tuple[int, int]:
    """Return how far the templates of positions look, and how many they are, without those of no field.

    Examples
    --------
    >>> from crfkit.features import Recipe
    >>> reach(Recipe.parse("bias; word[-2..0]"))
    (2, 3)
    """
    templates = [one for one in recipe.templates if one.kind in ("node", "both") and one.fields]
    offsets = [abs(f.offset) for one in templates for f in one.fields if not f.absolute]
    return max(offsets, default=0), len(templates)


def inside(seq_ptr: Pointers, margin: int) -> Bools:
    """Return which positions are so far from both ends of their sequence, [P]; all, where none is.

    Examples
    --------
    >>> inside(np.array([0, 4, 5]), 1).tolist(), inside(np.array([0, 2]), 1).tolist()
    ([False, True, True, False, False], [True, True])
    """
    P = int(seq_ptr[-1])
    sequence = np.repeat(np.arange(len(seq_ptr) - 1), np.diff(seq_ptr))
    at = np.arange(P)
    found: Bools = (at - seq_ptr[sequence] >= margin) & (seq_ptr[sequence + 1] - at > margin)
    return found if found.any() else np.ones(P, dtype=np.bool_)


def _known(batch: Batch, within: Bools) -> Ids:
    """Return the attributes of these positions, one after the other."""
    return batch.attr[np.repeat(within, np.diff(batch.attr_ptr))]


def _split(ids: Ids, positions: int) -> tuple[int, int]:
    """Return how many attributes of `positions` positions are those of every position, and how many others.

    Examples
    --------
    >>> _split(np.array([7] * 10 + [3, 4], np.int32), 10)
    (10, 2)
    """
    if positions < _EVERYWHERE or not len(ids):
        return 0, len(ids)
    counts = np.bincount(ids)
    everywhere = int(counts[counts >= positions].sum())
    return everywhere, len(ids) - everywhere


def _first(columns: Columns, sequences: int) -> Columns:
    """Return the first sequences of columns."""
    ptr = columns.seq_ptr[: sequences + 1]
    return replace(columns, ids=tuple(ids[: int(ptr[-1])] for ids in columns.ids), seq_ptr=ptr)


def _such(names: Alphabet | tuple[()]) -> str:
    """Return a few names of many."""
    return ", ".join(quoted(names[i], 40) for i in range(min(3, len(names))))
