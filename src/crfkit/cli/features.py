"""``crfkit features``: what templates make of the data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crfkit._safe.printable import counted as number_of
from crfkit._safe.printable import shown
from crfkit.cli.groups.compose import composed, option
from crfkit.cli.groups.data import LabeledData
from crfkit.cli.groups.features import Features
from crfkit.cli.groups.judging import OneSequence
from crfkit.cli.groups.output import Running
from crfkit.features.stock import columns_read, default_recipe, label_of

if TYPE_CHECKING:
    from crfkit.data.dataset import Dataset
    from crfkit.data.formats.columns import Columns
    from crfkit.features import Extractor, Recipe


@composed
def features(
    data: Annotated[str, typer.Argument(help="Data in columns; - for standard input.")],
    max_length: Annotated[
        int,
        option(
            "Model",
            "--max-length",
            help="Positions of the longest segments, of begin:, segment:, ...",
            min=1,
        ),
    ] = 4,
    sequence: OneSequence = None,
    count: Annotated[bool, option("Judging", "--count", help="Print sizes instead.")] = False,
    *,
    reading: LabeledData,
    features: Features,
    running: Running,
) -> None:
    """Print the attributes that templates make of data.

    Those of one sequence, by default the first, or with --count how many there are, and how many weights
    train would have. With --label-column none no column is taken for labels. Without
    templates, those of train are used.

    For example:

      crfkit features train.txt
      crfkit features train.txt -t "lower(0)[-1..1]; suffix(0, 3)[0]" --sequence 4
      gzip -dc train.txt.gz | crfkit features - -t template --count
      crfkit features words.txt -t template --label-column none
    """
    from crfkit.cli.sizes import Sizes
    from crfkit.data.formats.columns import Columns

    tables, wanted = features.tables, sequence or 1
    recipe = features.recipe(tables)
    extract: Extractor | None = None
    counted = Sizes()
    seen = 0
    for part in reading.blocks(data, attributes=False):
        if not isinstance(part, Columns):
            raise ValueError(f"{data} has attributes already; templates need columns")
        if extract is None:
            extract = _extractor(part, recipe or _default(part, reading, tables), reading, max_length)
        if count:
            counted.add(extract(part, running.jobs).batch)
        elif seen + len(part) >= wanted:
            rows = part.sequence(wanted - 1 - seen)
            one = replace(Columns.from_rows([rows], part.names), source=part.source)
            _print_attributes(rows, extract(one, 1), running.as_json)
            return
        seen += len(part)
    if extract is None:
        raise ValueError(f"{data} holds no sequence; give data in columns")
    if not count:
        raise ValueError(f"{data} has {number_of(seen, 'sequence')}; there is no sequence {wanted}")
    _print_sizes(counted.of(extract), running.as_json)


def _label(part: Columns, reading: LabeledData) -> str | int | None:
    """Return the column of the labels; None with --label-column none."""
    return None if reading.label_column == "none" else label_of(part, reading.label)


def _extractor(part: Columns, recipe: Recipe, reading: LabeledData, longest: int) -> Extractor:
    """Return what makes attributes of such columns."""
    from crfkit.features import Extractor

    return Extractor(recipe, _label(part, reading), longest=longest if recipe.segmental else None)


def _default(part: Columns, reading: LabeledData, tables: Mapping[str, Any]) -> Recipe:
    """Return the recipe that train has where none is given."""
    label = _label(part, reading)
    return default_recipe(columns_read(part, None if label is None else part.place(label)), tables=tables)


def _print_attributes(rows: list[tuple[str, ...]], made: Dataset, as_json: bool) -> None:
    """Print each token with its attributes; those of the transition into it are marked with an arrow.

    Those of segments come with the segment that begins at the token, by its length.
    """
    batch = made.batch
    for t, row in enumerate(rows):
        node = [made.attributes[i] for i in batch.attr[batch.attr_ptr[t] : batch.attr_ptr[t + 1]].tolist()]
        edge: list[str] = []
        if batch.edge_ptr is not None and batch.edge_attr is not None:
            here = batch.edge_attr[batch.edge_ptr[t] : batch.edge_ptr[t + 1]]
            edge = [made.edge_attributes[i] for i in here.tolist()]
        segments = _of_segments(made, t)
        if as_json:
            told = {"token": list(row), "attributes": node, "edge_attributes": edge}
            print(json.dumps({**told, **({"segments": segments} if segments else {})}, ensure_ascii=False))
        else:
            print("\t".join(map(shown, row)))
            for name in node:
                print(f"    {shown(name)}")
            for name in edge:
                print(f"  → {shown(name)}")
            for kind, names in segments.items():
                for name in names:
                    print(f"  {kind}: {shown(name)}")


def _of_segments(made: Dataset, t: int) -> dict[str, list[str]]:
    """Return the attributes of segments that begin or end at a position: by begin, end, or positions."""
    batch, found = made.batch, {}
    places = {"begin": ("begin", t), "end": ("end", t)}
    places |= {str(d + 1): ("segment", t * batch.longest + d) for d in range(batch.longest)}
    for title, (kind, place) in places.items():
        rows = batch.occurrences(kind)
        if rows is None:
            continue
        values = rows.value if rows.value is not None else [1.0] * len(rows.id)
        here = range(int(rows.ptr[place]), int(rows.ptr[place + 1]))
        names = [(made.segment_attributes[int(rows.id[i])], float(values[i])) for i in here]
        if names:
            found[title] = [name if value == 1.0 else f"{name} {value:g}" for name, value in names]
    return found


def _print_sizes(sizes: dict[str, int], as_json: bool) -> None:
    if as_json:
        print(json.dumps(sizes))
        return
    for name, size in sizes.items():
        print(f"{name:<24}{size:>16,}")
