"""``crfkit features``: what a template makes of the data."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from crfkit.cli.learning import label_of
from crfkit.cli.options import AsJson, Threads
from crfkit.cli.reads import LabelledReading, with_reading

if TYPE_CHECKING:
    from crfkit.data.dataset import Dataset
    from crfkit.features import Extractor


@with_reading
def features(
    data: Annotated[str, typer.Argument(help="Data in columns; - for standard input.")],
    template: Annotated[
        str | None, typer.Option("--template", "-t", help="Template file: CRF++, Wapiti or crfkit's own.")
    ] = None,
    recipe: Annotated[
        str | None, typer.Option("--recipe", "-r", help="Templates as text, separated by semicolons.")
    ] = None,
    *,
    reading: LabelledReading,
    sequence: Annotated[
        int, typer.Option("--sequence", help="Which sequence to show, counted from 1.", min=1)
    ] = 1,
    count: Annotated[bool, typer.Option("--count", help="Print sizes instead.")] = False,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Print the attributes that a template makes of data.

    Those of one sequence, or with --count how many there are, and how many weights train would have. With
    --label none no column is taken for labels.

    For example:

      crfkit features train.txt --template template
      crfkit features train.txt -r "lower(0)[-1..1]; suffix(0, 3)[0]" --sequence 4
      gzip -dc train.txt.gz | crfkit features - --template template --count
      crfkit features words.txt --template template --label none
    """
    from crfkit.cli.sizes import Sizes
    from crfkit.data.formats.columns import Columns
    from crfkit.features import Extractor, parse_recipe, read_recipe

    if (template is None) == (recipe is None):
        raise ValueError("give either --template FILE or --recipe TEXT")
    parsed = read_recipe(template) if template else parse_recipe(str(recipe), source="--recipe")
    extract: Extractor | None = None
    counted = Sizes()
    seen = 0
    for part in reading.blocks(data, attributes=False):
        if not isinstance(part, Columns):
            raise ValueError(f"{data} has attributes already; templates need columns")
        if extract is None:
            bare = reading.label == "none"
            extract = Extractor(parsed, None if bare else label_of(part, reading.label_column))
        if count:
            counted.add(extract(part, threads).batch)
        elif seen + len(part) >= sequence:
            rows = part.sequence(sequence - 1 - seen)
            one = replace(Columns.from_rows([rows], part.names), source=part.source)
            _print_attributes(rows, extract(one, 1), as_json)
            return
        seen += len(part)
    if extract is None:
        raise ValueError(f"{data} holds no sequence; give data in columns")
    if not count:
        raise ValueError(f"{data} has {seen} sequences; there is no sequence {sequence}")
    _print_sizes(counted.of(extract), as_json)


def _print_attributes(rows: list[tuple[str, ...]], made: Dataset, as_json: bool) -> None:
    """Print each token with its attributes; those of the transition into it are marked with an arrow."""
    batch = made.batch
    for t, row in enumerate(rows):
        node = [made.attributes[i] for i in batch.attr[batch.attr_ptr[t] : batch.attr_ptr[t + 1]].tolist()]
        edge: list[str] = []
        if batch.edge_ptr is not None and batch.edge_attr is not None:
            here = batch.edge_attr[batch.edge_ptr[t] : batch.edge_ptr[t + 1]]
            edge = [made.edge_attributes[i] for i in here.tolist()]
        if as_json:
            print(
                json.dumps(
                    {"token": list(row), "attributes": node, "edge_attributes": edge}, ensure_ascii=False
                )
            )
        else:
            print("\t".join(row))
            for name in node:
                print(f"    {name}")
            for name in edge:
                print(f"  → {name}")


def _print_sizes(sizes: dict[str, int], as_json: bool) -> None:
    if as_json:
        print(json.dumps(sizes))
        return
    for name, size in sizes.items():
        print(f"{name:<24}{size:>16,}")
