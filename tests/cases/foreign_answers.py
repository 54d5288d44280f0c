"""Where the files and answers of the original programs lie, and how models of them are asked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from crfkit.data.formats.columns import Columns
from crfkit.features import Extractor
from crfkit.models import SequenceModel

ROWS = Columns.from_rows([[("x", "P"), ("y", "Q"), ("Z", "P")], [("y", "R")]])


def scores(model: SequenceModel, columns: Columns) -> Any:
    assert model.recipe is not None
    label = model.label_column if len(columns.names) > 2 else None
    return model.potentials(model.batch_of(Extractor(model.recipe, label=label)(columns)))


def blocks(path: Path) -> Iterator[list[str]]:
    for block in path.read_text().split("\n\n"):
        if block.strip():
            yield block.strip("\n").split("\n")
