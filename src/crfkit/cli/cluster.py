"""What the workers of a cluster do for commands: files become blocks (train), or get spans (tag)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crfkit.cli import learning, recipes

if TYPE_CHECKING:
    from crfkit.cli.groups.data import LabeledData
    from crfkit.cli.groups.features import Features
    from crfkit.cli.groups.model import LearningTarget
    from crfkit.cli.groups.output import Showing
    from crfkit.data.dataset import Dataset
    from crfkit.features import Recipe
    from crfkit.training import BlockedData


@dataclass(frozen=True)
class CommandParts:
    """Reads a file in chunks as the options say, and makes attributes of columns."""

    positions: int
    reading: LabeledData
    recipe: Recipe | None
    tables: Mapping[str, Any]
    features: Features
    target: LearningTarget

    def __call__(self, path: str) -> Iterator[Dataset]:
        """Yield the data sets of a file."""
        from crfkit import data
        from crfkit.data.dataset import Dataset
        from crfkit.distributed.extraction import opened

        if "://" not in path and self.reading.documents(path) is not None:
            raise ValueError(
                f"{path} holds documents of text, and --dask reads columns and attributes; convert it first: "
                "crfkit convert-data"
            )
        given = self.reading.keywords
        extract = None
        for chunk in data.stream(opened(path), chunk_positions=self.positions, **given):
            if isinstance(chunk, Dataset):
                learning.check_attributes([path], [chunk], self.reading, self.features)
                yield chunk
                continue
            if extract is None:
                extract = recipes.extractor_for(
                    chunk, self.recipe, given["columns"], self.reading.label, self.target, self.tables
                )
            yield extract(chunk, 1)


def prepare_on(
    client: Any,
    paths: Sequence[str],
    folder: Path,
    positions: int,
    reading: LabeledData,
    features: Features,
    target: LearningTarget,
) -> learning.Learning[BlockedData]:
    """Have files written as blocks by workers; the rest is as in `crfkit.cli.train.prepare_blocks`."""
    from crfkit.cli.origins import Origins
    from crfkit.cli.texts import TrainingTexts
    from crfkit.distributed.extraction import expanded, write_parts
    from crfkit.features import Extractor

    if features.internal:
        raise ValueError("--internal-dictionary needs the data in memory; leave --dask out")
    if "-" in paths:
        raise ValueError("standard input cannot be read by the workers of a cluster; give files")
    tables = features.tables
    recipe = features.recipe(tables)
    parts = CommandParts(positions, reading, recipe, tables, features, target)
    blocks = write_parts(client, expanded(paths), folder, parts)
    made_by = blocks.extractor
    extract = None
    if made_by is not None and made_by.recipe is not None:
        extract = Extractor(made_by.recipe, made_by.label_column)
    return learning.Learning(blocks, extract, target.structure, Origins(), TrainingTexts(reading))


def tag_on(cluster: str, model: str, data: str, output: str, reading: LabeledData, running: Showing) -> None:
    """Have Parquet files labeled by workers."""
    from crfkit.cli.messages import say
    from crfkit.distributed import TagPartition, tag_files

    if output == "-":
        raise ValueError("--dask writes a file for each that it reads; give a folder: --output FOLDER")
    names = reading.keywords["columns"] or ["text"]
    if len(names) > 1:
        raise ValueError("--columns names several columns; with --dask it names the one that has texts")
    tag = TagPartition(model, names[0], tokenizer=reading.cutter)
    made = tag_files(tag, data, output, cluster=cluster)
    say(f"{output}: {len(made)} file{'s' * (len(made) != 1)} with spans", running.quiet)
