"""Files turned into blocks on disk, for training on data larger than memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crfkit.cli import learning, recipes

if TYPE_CHECKING:
    from crfkit.cli.structures import Asked
    from crfkit.data.dataset import Dataset
    from crfkit.features import Extractor
    from crfkit.training import BlockedData

__all__ = ["BlockPositions", "prepare_blocks"]

BlockPositions = Annotated[
    int | None,
    typer.Option(
        "--block-positions",
        help="For data larger than memory: keep them in blocks of so many positions (100000) on disk, in a "
        "temporary folder beside the model; for lbfgs, owlqn, sgd, sgd-l1, adagrad, ...",
        min=1,
    ),
]


def prepare_blocks(
    paths: Sequence[str],
    folder: Path,
    positions: int,
    reading: dict[str, Any],
    asked: Asked,
    *,
    label: str | int | None,
    template: str | None,
    dictionaries: Sequence[str] | None = None,
    internal: bool = False,
    threads: int | None,
    say: Callable[[str], object] | None,
) -> learning.Learning[BlockedData]:
    """Read files in chunks and write their attributes to a folder; the rest is as in `learning.prepare`."""
    from crfkit import data
    from crfkit.cli.places import Places
    from crfkit.data.dataset import Dataset
    from crfkit.training import BlockedData

    if internal:
        raise ValueError("--internal-dictionary needs the data in memory; leave --block-positions out")
    tables = recipes.dictionaries_of(dictionaries)
    recipe = recipes.recipe_of(template, tables)  # errors in it come first
    learning.check_paths(paths)
    made: list[Extractor] = []
    places = Places()

    def parts() -> Iterator[Dataset]:
        first: data.Columns | Dataset | None = None
        for path in paths:
            for chunk in data.stream(path, chunk_positions=positions, say=say, **reading):
                first = chunk if first is None else first
                places.add_data("standard input" if path == "-" else path, chunk)
                if isinstance(first, Dataset):
                    learning.check_attributes(paths, [first, chunk], template, label, dictionaries)
                    assert isinstance(chunk, Dataset)
                    yield chunk.renamed(first)
                    continue
                learning.check_attributes(paths, [first, chunk], None, None)
                assert isinstance(chunk, data.Columns)
                learning.check_columns(chunk, first)
                if not made:
                    made.append(
                        recipes.extractor_for(chunk, recipe, reading["columns"], label, asked, tables)
                    )
                yield made[0](chunk, threads)

    blocks = BlockedData.write(folder, parts())
    if not made:
        return learning.Learning(blocks, None, asked.structure, places)
    return learning.Learning(blocks, made[0], asked.structure, places)
