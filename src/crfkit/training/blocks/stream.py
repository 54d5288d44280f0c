"""Data larger than memory: a folder of blocks, each a batch in one file, with sums.

Blocks are made from a stream in one pass, in the memory of one block and of the alphabets; training then
holds one block at a time, and a second one that is being read meanwhile (`crfkit.training.blocks.problem`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np

from crfkit._safe.fields import Fields
from crfkit.arrays import Pointers
from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch
from crfkit.data.dataset import ALPHABETS, Dataset, ExtractorSpec
from crfkit.data.formats.columns import MOST_COLUMNS
from crfkit.data.locks import locked_folder, make_folder
from crfkit.features import Conjunctions
from crfkit.structures.gold import GoldKind
from crfkit.training.blocks.stored import REMEDY, StoredBlock, Written, block_path, write_block
from crfkit.training.runs.checkpoint import digest
from crfkit.training.runs.tree import read_tree, write_tree

INDEX = "blocks.safetensors"
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
        make_folder(place)
        with locked_folder(place, "wait until it has written its blocks, or give another folder"):
            if (place / INDEX).exists():
                raise ValueError(f"{place} holds blocks already; open them, or give another folder")
            write_tree(place / INDEX, _write_blocks(place, parts))
        return cls.open(place)

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> BlockedData:
        """Open a folder that `write` has filled."""
        place = Path(folder)
        if not (place / INDEX).exists():
            raise ValueError(f"{place} holds no blocks, or writing them was not finished")
        tree = read_tree(place / INDEX, REMEDY)
        kind = tree.get("format")
        if type(kind) is not int or kind != _FORMAT:
            raise ValueError(f"{place} was written by another version of crfkit; write the blocks again")
        names = {name: _alphabet(tree, name) for name in ALPHABETS.values()}
        sizes = tree.integers("sizes", None, 4, below=1 << 48)
        if not len(sizes):
            tree.wrong("sizes", "those of one block or more")
        kinds = tree.items_of("kinds", len(sizes))
        return cls(
            folder=place,
            sizes=sizes,
            label_counts=tree.integers("label_counts", len(names["labels"]), below=1 << 48),
            kinds=tuple(kinds.text(str(i), get_args(GoldKind)) for i in range(len(sizes))),
            dense=tree.count("dense"),
            fingerprint=tree.text("fingerprint"),
            extractor=_spec_of(tree.part("extractor")) if tree.has("extractor") else None,
            **names,
        )

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

    def stored(self, i: int) -> StoredBlock:
        """Return where one block is, and what it must hold."""
        if not 0 <= i < self.blocks:
            raise IndexError(f"block {i} does not exist; there are {self.blocks}")
        names = {name: self._names(name) for name in ALPHABETS}
        sequences, positions, occurrences, _ = self.sizes[i].tolist()
        kind = self.kinds[i]
        path = block_path(self.folder, i)
        return StoredBlock(path, sequences, positions, occurrences, kind, self.dense, names)

    def block(self, i: int) -> Batch:
        """Return one block, read as a whole and checked against the index."""
        return self.stored(i).read()

    def _names(self, numbers: str) -> int:
        """Return how many labels, or attributes of a kind, there are."""
        known = len(getattr(self, ALPHABETS[numbers]))
        hashed = None if self.extractor is None else self.extractor.hashed
        return known or hashed or 1 << 31

    def __iter__(self) -> Iterator[Batch]:
        return (self.block(i) for i in range(self.blocks))


def _write_blocks(place: Path, parts: Iterable[Dataset]) -> dict[str, Any]:
    """Write the blocks, and return the index; where that fails no block is left behind."""
    first: Dataset | None = None
    written: list[Written] = []
    try:
        for n, part in enumerate(parts):
            first = first or part
            first.check_shared(part, n)
            if part.batch.positions:
                written.append(write_block(block_path(place, len(written)), part.batch))
                check_columns(written, n)
    except BaseException:
        for i in range(len(written)):
            block_path(place, i).unlink(missing_ok=True)
        raise
    if first is None or not written:
        raise ValueError("parts is empty, expected at least one sequence with a position")
    return index_of(written, {name: getattr(first, name) for name in ALPHABETS.values()}, first.extractor)


def check_columns(written: Sequence[Written], n: int) -> None:
    """Refuse a last block, of part n, whose real-valued columns are not as many as those of the first."""
    if written[-1].dense != written[0].dense:
        raise ValueError(
            f"part {n} has {written[-1].dense} real-valued columns, those before it {written[0].dense}"
        )


def index_of(
    written: Sequence[Written], names: Mapping[str, Alphabet], made_by: ExtractorSpec | None
) -> dict[str, Any]:
    """Return the index of blocks, as the file of it has it."""
    frozen = {name: alphabet.freeze() for name, alphabet in names.items()}
    counts = np.zeros(max(len(frozen["labels"]), *(len(one.label_counts) for one in written)), dtype=np.int64)
    for one in written:
        counts[: len(one.label_counts)] += one.label_counts
    return {
        "format": _FORMAT,
        "sizes": np.array([one.sizes for one in written], dtype=np.int64),
        "label_counts": counts,
        "kinds": tuple(one.kind for one in written),
        "dense": written[0].dense,
        "fingerprint": digest([*(one.digest for one in written), *frozen.values()]),
        "extractor": None if made_by is None else _plain_spec(made_by),
        **{name: tuple(np.asarray(a) for a in alphabet.arrays()) for name, alphabet in frozen.items()},
    }


def _plain_spec(made_by: ExtractorSpec) -> dict[str, Any]:
    from crfkit.models.files.recipes import plain_recipe

    recipe, tables = (None, {}) if made_by.recipe is None else plain_recipe(made_by.recipe)
    pairs = None if made_by.conjunctions is None else made_by.conjunctions.pairs
    column, hashed = made_by.label_column, made_by.hashed
    return {
        "recipe": recipe,
        "tables": tables,
        "label": column,
        "hashed": hashed,
        "conjunctions": pairs,
        "width": made_by.width,
    }


def _alphabet(tree: Fields, name: str) -> Alphabet:
    from crfkit.models.files.inspect import checked_alphabet

    parts = tree.items_of(name, 3)
    arrays = {f"{name}.{what}": parts.any_array(str(i)) for i, what in enumerate(("bytes", "begin", "slots"))}
    try:
        return checked_alphabet(arrays, name)
    except ValueError as error:
        tree.refuse(name, f"not one of names ({error})")


def _spec_of(kept: Fields) -> ExtractorSpec:
    from crfkit.models.files.recipes import recipe_of

    label, pairs = kept["label"], kept["conjunctions"]
    if label is not None and type(label) not in (str, int):
        kept.wrong("label", "the name or the number of a column")
    hashed = kept.count("hashed", 1 << 31) if kept.has("hashed") else None
    whole = isinstance(pairs, list | tuple) and all(
        isinstance(pair, tuple) and len(pair) == 2 and all(isinstance(name, str) for name in pair)
        for pair in pairs
    )
    if pairs is not None and not whole:
        kept.wrong("conjunctions", "pairs of names")
    tables = kept.part("tables")
    try:
        recipe = recipe_of(kept["recipe"], {name: tables.any_array(name) for name in tables})
        made = None if pairs is None else Conjunctions(pairs)
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        kept.refuse("recipe", f"wrong ({error})")
    width = kept.count("width", MOST_COLUMNS) if kept.has("width") else None
    return ExtractorSpec(recipe, label, hashed, conjunctions=made, width=width)
