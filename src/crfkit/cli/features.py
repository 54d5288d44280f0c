"""``crfkit features``: what templates make of the data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from crfkit._safe.printable import counted as number_of
from crfkit._safe.printable import shown
from crfkit.arrays import Ids, Pointers
from crfkit.cli.groups.compose import composed, option
from crfkit.cli.groups.data import LabeledData
from crfkit.cli.groups.features import Features
from crfkit.cli.groups.judging import OneSequence
from crfkit.cli.groups.output import Running
from crfkit.cli.recipes import transitions_of
from crfkit.data.batch import Batch
from crfkit.features.stock_recipes import columns_read, default_recipe, label_of
from crfkit.structures.chains.gold import ngram_cells

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
            help="Longest segments in positions, for templates begin:, segment:, ...",
            min=1,
        ),
    ] = 4,
    sequence: OneSequence = None,
    count: Annotated[
        bool, option("Judging", "--count", help="Print how many attributes there are instead.")
    ] = False,
    *,
    reading: LabeledData,
    features: Features,
    running: Running,
) -> None:
    """Print the attributes that templates make of data.

    It shows one sequence, by default the first; with --count it prints how many attributes there are, and
    how many weights train would have. Without templates it uses those of train. With --label-column none,
    no column is taken as the label.

    For example:

      crfkit features train.txt
      crfkit features train.txt -t "lower(0)[-1..1]; suffix(0, 3)[0]" --sequence 4
      gzip -dc train.txt.gz | crfkit features - -t template --count
      crfkit features words.txt -t template --label-column none
    """
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


_LABEL_BITS = 12  # a layout has fewer labels than 2**12


class Sizes:
    """Counts what a recipe makes, block by block, and the weights that training would have."""

    def __init__(self) -> None:
        self.counts = dict.fromkeys(("sequences", "positions", "occurrences", "edge occurrences"), 0)
        self.dense = 0
        self._node: list[Pointers] = []  # distinct pairs of each block
        self._edge: list[Pointers] = []

    def add(self, batch: Batch) -> None:
        """Count a block."""
        edge = batch.edge_attr
        self.counts["sequences"] += batch.sequences
        self.counts["positions"] += batch.positions
        self.counts["occurrences"] += len(batch.attr)
        self.counts["edge occurrences"] += 0 if edge is None else len(edge)
        self.dense = 0 if batch.dense is None else batch.dense.shape[1]
        if batch.label is not None:
            self._node.append(_pairs(batch.attr_ptr, batch.attr, batch.label))
            if batch.edge_ptr is not None and edge is not None:
                steps = ngram_cells(batch.seq_ptr, batch.label, 1 << _LABEL_BITS, 1)[0]
                self._edge.append(_pairs(batch.edge_ptr, edge, steps))

    def of(self, extract: Extractor) -> dict[str, int]:
        """Return the sizes, with weights as train makes them of observed and of all pairs."""
        L, A, edges = len(extract.labels), len(extract.attributes), len(extract.edge_attributes)
        sizes = self.counts | {"labels": L, "attributes": A, "edge attributes": edges}
        if L:
            both = (0 if transitions_of(extract) == "none" else L * L) + L * self.dense
            sizes["weights, observed pairs"] = _distinct(self._node) + _distinct(self._edge) + both
            sizes["weights, all pairs"] = A * L + edges * L * L + both
        return sizes


def _pairs(ptr: Pointers, attr: Ids, cells: Ids | Pointers) -> Pointers:
    """Return the distinct pairs of an attribute and a label, or a step between two; -1 is none."""
    here = np.repeat(cells.astype(np.int64), np.diff(ptr))
    pairs: Pointers = np.unique(attr[here >= 0].astype(np.int64) << 2 * _LABEL_BITS | here[here >= 0])
    return pairs


def _distinct(pairs: list[Pointers]) -> int:
    return len(np.unique(np.concatenate(pairs))) if pairs else 0
