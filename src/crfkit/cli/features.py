"""``crfkit features``: what a template makes of the data."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from crfkit.batch import Dataset
    from crfkit.features import Extractor
    from crfkit.formats.columns import Columns


def features(
    data: Annotated[str, typer.Argument(help="Data in columns; - for standard input.")],
    template: Annotated[
        str | None, typer.Option("--template", "-t", help="Template file: CRF++, Wapiti or crfkit's own.")
    ] = None,
    recipe: Annotated[
        str | None, typer.Option("--recipe", "-r", help="Templates as text, separated by semicolons.")
    ] = None,
    columns: Annotated[str | None, typer.Option(help="Names of the columns, separated by commas.")] = None,
    label: Annotated[
        str, typer.Option(help="Column of the label, by name or number; none: no labels.")
    ] = "-1",
    sequence: Annotated[int, typer.Option(help="Which sequence to show, counted from 1.", min=1)] = 1,
    count: Annotated[bool, typer.Option("--count", help="Print sizes instead.")] = False,
    threads: Annotated[int | None, typer.Option(help="Threads; default: all cores.", min=1)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print the attributes that a template makes of a sequence, or with --count how many there are.

    For example:

    crfkit features train.txt --template template

    crfkit features train.txt -r "word[-1..1]; suffix(word, 3)[0]" --columns word,pos,chunk --sequence 4

    gzip -dc train.txt.gz | crfkit features - --template template --count
    """
    from crfkit.data import stream
    from crfkit.features import Extractor, parse_recipe, read_recipe
    from crfkit.formats.columns import Columns

    if (template is None) == (recipe is None):
        raise ValueError("give either --template FILE or --recipe TEXT")
    parsed = read_recipe(template) if template else parse_recipe(str(recipe), source="--recipe")
    column = None if label == "none" else int(label) if label.lstrip("-").isdigit() else label
    extract = Extractor(parsed, column)
    names = columns.split(",") if columns else None
    parts = (part for part in stream(data, format="columns", columns=names) if isinstance(part, Columns))
    if count:
        _print_sizes(_sizes(extract, parts, threads), as_json)
        return
    seen = 0
    for part in parts:
        if seen + len(part) >= sequence:
            rows = part.sequence(sequence - 1 - seen)
            one = replace(Columns.from_rows([rows], part.names), source=data)
            _print_attributes(rows, extract(one, 1), as_json)
            return
        seen += len(part)
    raise ValueError(f"{data} has {seen} sequences; there is no sequence {sequence}")


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


def _sizes(extract: Extractor, parts: Iterable[Columns], threads: int | None) -> dict[str, int]:
    """Count what the recipe makes, chunk by chunk, and the weights for observed and for all pairs."""
    import numpy as np

    sizes = dict.fromkeys(("sequences", "positions", "occurrences", "edge occurrences"), 0)
    observed = []  # attribute * 2^24 + label, distinct in each chunk
    for part in parts:
        batch = extract(part, threads).batch
        sizes["sequences"] += batch.sequences
        sizes["positions"] += batch.positions
        sizes["occurrences"] += len(batch.attr)
        sizes["edge occurrences"] += 0 if batch.edge_attr is None else len(batch.edge_attr)
        if batch.label is not None:
            label = np.repeat(batch.label.astype(np.int64), np.diff(batch.attr_ptr))
            observed.append(np.unique(batch.attr.astype(np.int64) << 24 | label))
    L, A, edges = len(extract.labels), len(extract.attributes), len(extract.edge_attributes)
    sizes |= {"labels": L, "attributes": A, "edge attributes": edges}
    plain = len(extract.plain_transitions)
    if L:
        pairs = len(np.unique(np.concatenate(observed)))
        sizes["weights, observed pairs"] = pairs + (edges + plain) * L * L
        sizes["weights, all pairs"] = A * L + (edges + plain) * L * L
    return sizes


def _print_sizes(sizes: dict[str, int], as_json: bool) -> None:
    if as_json:
        print(json.dumps(sizes))
        return
    for name, size in sizes.items():
        print(f"{name:<24}{size:>16,}")
