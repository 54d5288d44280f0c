"""``crfkit features``: what a template makes of the data."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from crfkit._safe.printable import counted as number_of
from crfkit._safe.printable import shown
from crfkit.cli.options import AsJson, Threads
from crfkit.cli.reads import LabeledReading, with_reading
from crfkit.cli.recipes import DictionaryFiles, dictionaries_of, label_of, recipe_of

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
    dictionary: DictionaryFiles = None,
    max_length: Annotated[
        int,
        typer.Option(
            "--max-length", help="Positions of the longest segments, of begin:, segment:, ...", min=1
        ),
    ] = 4,
    *,
    reading: LabeledReading,
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
    from crfkit.features import Extractor, parse_recipe

    if (template is None) == (recipe is None):
        raise ValueError("give either --template FILE or --recipe TEXT")
    tables = dictionaries_of(dictionary)
    parsed = recipe_of(template, tables) or parse_recipe(str(recipe), resources=tables, source="--recipe")
    longest = max_length if parsed.segmental else None
    extract: Extractor | None = None
    counted = Sizes()
    seen = 0
    for part in reading.blocks(data, attributes=False):
        if not isinstance(part, Columns):
            raise ValueError(f"{data} has attributes already; templates need columns")
        if extract is None:
            bare = reading.label == "none"
            label = None if bare else label_of(part, reading.label_column)
            extract = Extractor(parsed, label, longest=longest)
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
        raise ValueError(f"{data} has {number_of(seen, 'sequence')}; there is no sequence {sequence}")
    _print_sizes(counted.of(extract), as_json)


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
