"""Files turned into blocks on disk, for training on data larger than memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from crfkit.cli import learning, recipes

if TYPE_CHECKING:
    from crfkit.cli.groups.data import LabeledData
    from crfkit.cli.groups.features import Features
    from crfkit.cli.groups.model import Asked
    from crfkit.data.dataset import Dataset
    from crfkit.features import Extractor
    from crfkit.training import BlockedData

__all__ = ["prepare_blocks"]


def prepare_blocks(
    paths: Sequence[str],
    folder: Path,
    positions: int,
    reading: LabeledData,
    features: Features,
    asked: Asked,
    *,
    threads: int | None,
    say: Callable[[str], object] | None,
) -> learning.Learning[BlockedData]:
    """Read files in chunks and write their attributes to a folder; the rest is as in `learning.prepare`."""
    from crfkit import data
    from crfkit.cli.places import Places
    from crfkit.data.dataset import Dataset
    from crfkit.training import BlockedData

    if features.internal:
        raise ValueError("--internal-dictionary needs the data in memory; leave --block-positions out")
    tables = features.tables
    recipe, given = features.recipe(tables), reading.keywords  # errors in them come first
    learning.check_paths(paths)
    made: list[Extractor] = []
    places = Places()

    def parts() -> Iterator[Dataset]:
        first: data.Columns | Dataset | None = None
        for path in paths:
            for chunk in data.stream(path, chunk_positions=positions, say=say, **given):
                first = chunk if first is None else first
                places.add_data("standard input" if path == "-" else path, chunk)
                if isinstance(first, Dataset):
                    learning.check_attributes(paths, [first, chunk], reading, features)
                    assert isinstance(chunk, Dataset)
                    yield chunk.renamed(first)
                    continue
                learning.check_kinds(paths, [first, chunk])
                assert isinstance(chunk, data.Columns)
                learning.check_columns(chunk, first)
                if not made:
                    made.append(
                        recipes.extractor_for(chunk, recipe, given["columns"], reading.label, asked, tables)
                    )
                yield made[0](chunk, threads)

    blocks = BlockedData.write(folder, parts())
    if not made:
        return learning.Learning(blocks, None, asked.structure, places)
    return learning.Learning(blocks, made[0], asked.structure, places)
