"""What tag, eval and explain have in common: a model of any kind, and batches for it from blocks of data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from crfkit.arrays import Ids
from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset
from crfkit.data.formats.columns import Columns
from crfkit.features import Extractor, Recipe
from crfkit.inference.results import counted_from
from crfkit.models.files import read_model
from crfkit.models.model import flat_labels
from crfkit.structures import ChainPotentials

__all__ = ["Tagger", "check_gold", "check_shared", "frozen_extractor", "sequences", "some"]

# An extractor remembers tokens and pairs of them; after so many (distinct, in all) it is made anew, so that
# memory stays bounded: at 150 MB where it would grow by 120 MB for each million of tokens.
_DISTINCT, _TOKENS = 1 << 17, 1 << 19


def frozen_extractor(
    recipe: Recipe,
    attributes: Alphabet,
    edge_attributes: Alphabet,
    label: str | int | None = None,
    hashed: int | None = None,
) -> Extractor:
    """Return an extractor that gives ids of these alphabets and drops what they lack; labels are all new."""
    extract = Extractor(recipe, label, hashed)
    if hashed is None:
        extract.attributes, extract.edge_attributes = attributes, edge_attributes
    extract.freeze()
    extract.labels = Alphabet()
    return extract


_REMEDY = "give data with a column of labels, or say which it is with --label"


def check_gold(block: Columns, label: str | int | None, recipe: Recipe | None, who: str) -> int:
    """Return the place of the gold labels; refuse a column that is not there or that the recipe reads."""
    try:
        place = block.place(-1 if label is None else label)
    except ValueError as error:
        raise ValueError(f"{error}; {_REMEDY}") from None
    if recipe is not None and place in [_place(block, name) for name in recipe.columns]:
        raise ValueError(
            f"{block.source}: the column {block.names[place]!r} would be taken for the labels, but {who} "
            f"reads it as input; {_REMEDY}"
        )
    return place


def check_shared(source: str, found: Iterable[str], known: Iterable[str], who: str) -> None:
    """Refuse gold labels none of which is known: they are something else, such as words."""
    ours, theirs = set(found), set(known)
    if ours and not ours & theirs:
        raise ValueError(
            f"{source}: none of its labels ({some(ours)}) is a label of {who} ({some(theirs)}); {_REMEDY}"
        )


def some(names: set[str]) -> str:
    """Return a few names of many.

    Examples
    --------
    >>> some({"D", "N"}), some(set("NABCDE"))
    ('D, N', 'A, B, C, D, E, ...')
    """
    return ", ".join(sorted(names)[:5]) + (", ..." if len(names) > 5 else "")


def _place(block: Columns, name: str) -> int | None:
    """Return the number of a column that a recipe names; None where there is no such column."""
    if name in block.names:
        return block.names.index(name)
    return int(name) if name.isdigit() and int(name) < len(block.names) else None


class Tagger:
    """A model from a file, and how data become its batches.

    Parameters
    ----------
    path : str
        A model of any kind.
    label : str or int, optional
        The column of gold labels; by default the one that the model was trained on, else the last.
    threads : int, optional
    """

    def __init__(self, path: str, label: str | int | None = None, threads: int | None = None) -> None:
        self.path = path
        self.model = read_model(path)
        self.threads = threads
        self.label = label if label is not None else self.model.label_column
        self._extract: Extractor | None = None
        self._seen = 0  # tokens that it has read

    @property
    def attributes(self) -> bool:
        """Whether the model needs data with attributes, not columns."""
        return self.model.recipe is None

    def batch(self, block: Columns | Dataset) -> Batch:
        """Return a block with the ids of the model, without gold labels."""
        recipe = self.model.recipe
        if isinstance(block, Dataset):
            if recipe is not None:
                reads = ", ".join(recipe.columns)
                raise ValueError(
                    f"{self.path} makes attributes of the columns {reads} by itself, but the data have "
                    "attributes already (CRFsuite's or MALLET's text, items in JSON lines); give columns"
                )
            return self.model.batch_of(block)
        if recipe is None:
            raise ValueError(
                f"{self.path} has no recipe that makes attributes of columns; give data with attributes "
                "(CRFsuite's text, items in JSON lines), as it was trained on"
            )
        self._check_columns(block, recipe.columns)
        used = self._extract
        self._seen += block.positions
        if used is None or self._seen > _TOKENS or sum(map(len, used.tokens.values())) > _DISTINCT:
            self._seen = block.positions
            known = (self.model.attributes, self.model.edge_attributes)
            used = self._extract = frozen_extractor(recipe, *known, hashed=self.model.hashed)
        return used(block, self.threads).batch

    def _check_columns(self, block: Columns, needed: Sequence[str]) -> None:
        for name in needed:
            if _place(block, name) is not None:
                continue
            remedy = "give data with as many columns as in training"
            if not name.isdigit():
                remedy = "name the columns with --columns"
            raise ValueError(
                f"{block.source}: there is no column {name!r}, which {self.path} reads; the columns are "
                f"{', '.join(block.names)}; {remedy}"
            )

    def gold(self, block: Columns | Dataset) -> list[str | None]:
        """Return the gold labels of all positions of a block; None where there is none."""
        if isinstance(block, Dataset):
            label = block.batch.label
            if label is None:
                return [None] * block.batch.positions
            names: list[str | None] = [*block.labels.strings(), None]  # -1 finds the last
            return [names[y] for y in label.tolist()]
        which = "label" if self.label is None and "label" in block.names else self.label
        place = check_gold(block, which, self.model.recipe, self.path)
        strings: list[str | None] = block.strings()[place].tolist()
        return strings

    def forced(self, gold: Sequence[str | None]) -> Ids:
        """Return known labels as ids [P]; -1 where the text is no label of the model: it is free."""
        return self.model.labels.ids([label or "" for label in gold])

    def parts(self, batch: Batch, forced: Ids | None = None) -> Iterator[tuple[int, Batch, ChainPotentials]]:
        """Yield the number of the first sequence, and sequences with their scores, a part at a time."""
        L = self.model.layout.labels
        for chosen in batch.cut(self.model.positions_at_a_time(batch)):
            begin, end = chosen.start, chosen.stop
            part = batch if end - begin == batch.sequences else batch.select(chosen)
            potentials = self.model.potentials(part, threads=self.threads)
            if forced is not None:
                here = forced[batch.seq_ptr[begin] : batch.seq_ptr[end]]
                free = here < 0
                mask = np.repeat(free[:, None], L, axis=1)
                mask[np.flatnonzero(~free), here[~free]] = True
                potentials = potentials.clamped(mask)
            yield begin, part, potentials

    def best(self, batch: Batch, forced: Ids | None = None) -> Ids:
        """Return the ids of the best labels of all positions, [P]."""
        parts = [np.zeros(0, dtype=np.int32)]
        for begin, _, potentials in self.parts(batch, forced):
            with counted_from(begin):
                parts.append(flat_labels(potentials, "viterbi", self.threads))
        return np.concatenate(parts)

    def predict(self, batch: Batch, forced: Ids | None = None) -> list[list[str]]:
        """Return the best labels of each sequence."""
        names = np.array(self.model.chain.labels, dtype=object)  # [L]
        flat = names[self.best(batch, forced)].tolist()
        return [flat[a:b] for a, b in pairwise(batch.seq_ptr.tolist())]


def sequences(flat: Sequence[str], block: Columns | Dataset) -> list[list[str]]:
    """Cut what there is of every position into one list for each sequence."""
    ptr = block.seq_ptr if isinstance(block, Columns) else block.batch.seq_ptr
    return [list(flat[a:b]) for a, b in pairwise(ptr.tolist())]
