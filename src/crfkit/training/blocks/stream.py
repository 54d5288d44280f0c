"""Data larger than memory: a folder of blocks, each a batch in one file that is mapped when it is read.

Blocks are made from a stream in one pass, in the memory of one block and of the alphabets; training then
holds one block at a time, and a second one that is being read meanwhile (`crfkit.training.blocks.problem`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from crfkit.arrays import Pointers
from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch
from crfkit.data.dataset import ALPHABETS, Dataset, ExtractorSpec
from crfkit.features import Conjunctions
from crfkit.models.files.recipes import plain_recipe, recipe_of
from crfkit.structures.gold import kind_of_gold
from crfkit.training.fingerprint import digest
from crfkit.training.tree import read_tree, write_tree

__all__ = ["BlockedData"]

_INDEX = "blocks.safetensors"
_FORMAT = 3


@dataclass(frozen=True, eq=False)
class BlockedData:
    """Sequences in blocks on disk, and the names of their labels and attributes.

    Examples
    --------
    >>> import tempfile
    >>> from crfkit.features import ItemExtractor
    >>> extract = ItemExtractor()  # data.stream and an Extractor do as well: one extractor for all
    >>> stream = (extract([[["the"], ["dog"]]], [["D", "N"]]) for _ in range(3))
    >>> folder = tempfile.TemporaryDirectory()
    >>> data = BlockedData.write(folder.name, stream)
    >>> len(data), data.blocks, data.positions
    (3, 3, 6)
    >>> data.block(1).label.tolist()
    [0, 1]
    >>> folder.cleanup()
    """

    folder: Path
    labels: Alphabet
    attributes: Alphabet
    edge_attributes: Alphabet
    #: [blocks, 4] sequences, positions, occurrences, bytes
    sizes: Pointers
    label_counts: Pointers  #: [L] positions of each label
    kinds: tuple[str, ...]  #: of gold: "path", "set" or "soft", by block
    dense: int  #: real-valued columns
    fingerprint: str
    segment_attributes: Alphabet
    extractor: ExtractorSpec | None = None  #: what made the attributes, where that is known

    @classmethod
    def write(cls, folder: str | os.PathLike[str], parts: Iterable[Dataset]) -> BlockedData:
        """Write data sets that share their alphabets as blocks, and open them.

        Parameters
        ----------
        folder : path
            Made where it does not exist; it must not hold blocks yet.
        parts : iterable of Dataset
            From one extractor (``extract(part) for part in data.stream(path)``), whose alphabets grow on the
            way; each becomes a block. Empty ones are left out.
        """
        place = Path(folder)
        if (place / _INDEX).exists():
            raise ValueError(f"{place} holds blocks already; open them, or give another folder")
        place.mkdir(parents=True, exist_ok=True)
        first: Dataset | None = None
        sizes: list[list[int]] = []
        hashes, kinds, counts = [], [], np.zeros(0, dtype=np.int64)
        columns = 0
        for n, part in enumerate(parts):
            first = first or part
            first.check_shared(part, n)
            batch = part.batch
            if not batch.positions:
                continue
            K = 0 if batch.dense is None else batch.dense.shape[1]
            if sizes and columns != K:
                raise ValueError(f"part {n} has {K} real-valued columns, those before it {columns}")
            columns = K
            arrays = {f.name: a for f in fields(Batch) if (a := getattr(batch, f.name)) is not None}
            write_tree(_block(place, len(sizes)), arrays)
            held = sum(a.nbytes for a in arrays.values())
            sizes.append([batch.sequences, batch.positions, len(batch.attr), held])
            hashes.append(digest([batch]))
            kinds.append(kind_of_gold(batch))
            if batch.label is not None:
                shown = np.bincount(batch.label[batch.label >= 0], minlength=len(counts))
                shown[: len(counts)] += counts
                counts = shown
        if first is None or not sizes:
            raise ValueError("parts is empty, expected at least one sequence with a position")
        names = {name: getattr(first, name).freeze() for name in ALPHABETS.values()}
        tree = {
            "format": _FORMAT,
            "sizes": np.array(sizes, dtype=np.int64),
            "label_counts": np.pad(counts, (0, max(len(names["labels"]) - len(counts), 0))).astype(np.int64),
            "kinds": tuple(kinds),
            "dense": columns,
            "fingerprint": digest([*hashes, *names.values()]),
            "extractor": None if first.extractor is None else _plain_spec(first.extractor),
            **{name: tuple(np.asarray(a) for a in alphabet.arrays()) for name, alphabet in names.items()},
        }
        write_tree(place / _INDEX, tree)
        return cls.open(place)

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> BlockedData:
        """Open a folder that `write` has filled."""
        place = Path(folder)
        if not (place / _INDEX).exists():
            raise ValueError(f"{place} holds no blocks, or writing them was not finished")
        tree = read_tree(place / _INDEX)
        if tree.pop("format", None) != _FORMAT:
            raise ValueError(f"{place} was written by another version of crfkit; write the blocks again")
        for name in ALPHABETS.values():
            tree[name] = Alphabet.from_arrays(tree[name])
        if tree["extractor"] is not None:
            tree["extractor"] = _spec_of(**tree["extractor"])
        return cls(folder=place, **tree)

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return len(self.sizes)

    @property
    def positions(self) -> int:
        """Number of positions, P."""
        return int(self.sizes[:, 1].sum())

    @property
    def largest(self) -> int:
        """Bytes of the largest block."""
        return int(self.sizes[:, 3].max())

    def __len__(self) -> int:
        return int(self.sizes[:, 0].sum())

    def block(self, i: int) -> Batch:
        """Return one block, checked."""
        return Batch(**self.arrays(i))

    def arrays(self, i: int) -> dict[str, Any]:
        """Return the arrays of one block, which stay in the file until they are used."""
        if not 0 <= i < self.blocks:
            raise IndexError(f"block {i} does not exist; there are {self.blocks}")
        return read_tree(_block(self.folder, i), mapped=True)

    def __iter__(self) -> Iterator[Batch]:
        return (self.block(i) for i in range(self.blocks))


def _block(folder: Path, i: int) -> Path:
    return folder / f"block-{i:06}.safetensors"


def _plain_spec(made_by: ExtractorSpec) -> dict[str, Any]:
    recipe, tables = (None, {}) if made_by.recipe is None else plain_recipe(made_by.recipe)
    pairs = None if made_by.conjunctions is None else made_by.conjunctions.pairs
    column, hashed = made_by.label_column, made_by.hashed
    return {"recipe": recipe, "tables": tables, "label": column, "hashed": hashed, "conjunctions": pairs}


def _spec_of(
    recipe: Any,
    tables: dict[str, Any],
    label: str | int | None,
    hashed: int | None,
    conjunctions: tuple[tuple[str, str], ...] | None,
) -> ExtractorSpec:
    made = None if conjunctions is None else Conjunctions(conjunctions)
    return ExtractorSpec(recipe_of(recipe, tables), label, hashed, conjunctions=made)
