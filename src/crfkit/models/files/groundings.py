"""How samples become graphs, in a file of a model of graphs: plain data, checked against the graph.

What a grounding is: `crfkit.models.grounding`. Functions are no data: they are refused by name when a model
is saved. The recipe of tokens is kept as models of sequences keep theirs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from crfkit._safe.printable import cut
from crfkit.graphs.text_lines import Line, graph_of
from crfkit.linear.layout import Layout
from crfkit.models.files.recipes import plain_recipe, recipe_of
from crfkit.models.grounding import Grounding
from crfkit.models.grounding.images import PIXEL, Images
from crfkit.models.grounding.rows import Rows
from crfkit.models.grounding.sequences import JOINED, Joined, Sequences
from crfkit.models.store import Array
from crfkit.structures.graphs.graph import Graph

__all__ = ["grounding_of", "plain_grounding"]

_FURTHEST = 1  #: offsets of the lines that estimators make: a position, and the one before


def plain_grounding(grounding: Grounding) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return plain data and arrays; raise a ValueError that names functions."""
    if isinstance(grounding, Images):
        channels = grounding.channels
        return {
            "kind": "images",
            "features": grounding.features,
            "labels": grounding.labels.tolist(),
            "dtype": str(grounding.labels.dtype),
            "void": int(grounding.void),
            "connect": grounding.connect,
            "contrast": grounding.contrast,
            "channels": None if channels is None else [int(c) for c in channels],
        }, {}
    if isinstance(grounding, Rows):
        return {
            "kind": "rows",
            "features": grounding.features,
            "labels": grounding.labels,
            "values": grounding.values.tolist(),
            "dtype": str(grounding.values.dtype),
        }, {}
    assert isinstance(grounding, Sequences)
    recipe, tables = (None, {}) if grounding.recipe is None else plain_recipe(grounding.recipe)
    return {
        "kind": "sequences",
        "columns": [*grounding.columns],
        "form": grounding.form,
        "lines": [
            [line.name, [*line.kinds], [*line.offsets], line.by is not None, line.at]
            for line in grounding.lines
        ],
        "recipe": recipe,
        "joined": None if grounding.joined is None else _plain_joined(grounding.joined),
    }, tables


def _plain_joined(joined: Joined) -> dict[str, Any]:
    made = {"equal": joined.equal, "where": joined.where, "pairs": joined.pairs}
    functions = [name for name, value in made.items() if callable(value)]
    if functions:
        raise ValueError(
            f"{' and '.join(functions)}: functions, which a file cannot keep, and predictions need them; "
            "pickle the estimator, or write equal as a key or field, where as 'capitalized' or None"
        )
    return {name: made[name] for name in ("equal", "where")}


def grounding_of(
    plain: object, arrays: Mapping[str, Array], graph: Graph, layout: Layout
) -> Grounding | None:
    """Return the grounding that `plain_grounding` described; raise ValueError or KeyError on all else."""
    if plain is None:
        return None
    made = {"sequences": _sequences, "images": _images, "rows": _rows}
    if not isinstance(plain, dict) or plain.get("kind") not in made:
        raise ValueError(f"how samples become its graphs is {cut(str(plain), 80)}")
    return made[plain["kind"]](plain, arrays, graph, layout)


def _wrong(name: str, value: object) -> ValueError:
    return ValueError(f"how samples become its graphs: {name} is {cut(str(value), 80)}")


def _count(plain: Mapping[str, Any], name: str, least: int = 0) -> int:
    value = plain[name]
    if type(value) is not int or not least <= value < 1 << 31:
        raise _wrong(name, value)
    return value


def _integers(plain: Mapping[str, Any], name: str) -> Array:
    """Return different integers in order, of the type that y had."""
    values, dtype = plain[name], plain["dtype"]
    if not isinstance(values, list) or not all(type(v) is int for v in values):
        raise _wrong(name, values)
    if dtype not in (f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)):
        raise _wrong("dtype", dtype)
    made = np.array(values, dtype=dtype)  # raises where one is too large
    if values != sorted(set(values)):
        raise _wrong(name, values)
    return made


def _images(plain: Mapping[str, Any], arrays: Mapping[str, Array], graph: Graph, layout: Layout) -> Grounding:
    labels, features = _integers(plain, "labels"), _count(plain, "features", 1)
    void, connect, contrast, channels = (plain[name] for name in ("void", "connect", "contrast", "channels"))
    if graph.kinds != {PIXEL: tuple(map(str, labels.tolist()))} or features != layout.rows_of("look"):
        raise _wrong("labels", labels.tolist())
    if type(void) is not int or connect not in (4, 8):
        raise _wrong("void or connect", (void, connect))
    if contrast is not None and not (type(contrast) is float and 0.0 < contrast < np.inf):
        raise _wrong("contrast", contrast)
    each = [] if channels is None else channels
    if not isinstance(each, list) or not all(type(c) is int and 0 <= c < features for c in each):
        raise _wrong("channels", channels)
    return Images(features, labels, void, connect, contrast, channels)


def _rows(plain: Mapping[str, Any], arrays: Mapping[str, Array], graph: Graph, layout: Layout) -> Grounding:
    values, features, labels = (
        _integers(plain, "values"),
        _count(plain, "features"),
        _count(plain, "labels", 1),
    )
    kinds = {str(a): 2 for a in range(labels)} if labels == len(graph.kinds) else None
    if len(values) != 2 or graph.kinds != kinds or {layout.rows_of(kind) for kind in kinds} != {features + 1}:
        raise _wrong("values, features or labels", (values.tolist(), features, labels))
    return Rows(features, labels, values)


def _sequences(
    plain: Mapping[str, Any], arrays: Mapping[str, Array], graph: Graph, layout: Layout
) -> Grounding:
    columns, form, joined = plain["columns"], plain["form"], plain["joined"]
    named = {kind: names for kind, names in graph.kinds.items() if isinstance(names, tuple)}
    if columns != [*named] or len(named) != len(graph.kinds):
        raise _wrong("columns", columns)
    if form not in ("labels", "tuples", "columns") or (form == "labels" and len(columns) != 1):
        raise _wrong("form", form)
    lines = tuple(map(_line, plain["lines"]))
    if graph_of(named, lines) != graph or any((line.by is None) != _plainly(layout, line) for line in lines):
        raise _wrong("lines", plain["lines"])
    if [line.name for line in lines if line.paired] != ([] if joined is None else [JOINED]):
        raise _wrong("joined", joined)
    return Sequences(
        tuple(columns),
        lines,
        form,
        recipe_of(plain["recipe"], arrays),
        None if joined is None else _joined(joined),
    )


def _plainly(layout: Layout, line: Line) -> bool:
    return layout.block[line.name].by is None


def _line(plain: object) -> Line:
    if not isinstance(plain, list) or len(plain) != 5:
        raise _wrong("a line", plain)
    name, kinds, offsets, by, at = plain
    texts = isinstance(kinds, list) and 1 <= len(kinds) <= 2 and all(type(k) is str for k in [name, *kinds])
    numbers = isinstance(offsets, list) and len(offsets) in (0, len(kinds))
    if not texts or not numbers or not all(type(o) is int and -_FURTHEST <= o <= 0 for o in offsets):
        raise _wrong("a line", plain)
    if type(by) is not bool or at not in ("first", "last", "both"):
        raise _wrong("a line", plain)
    return Line(name, tuple(kinds), tuple(offsets), "X" if by else None, at)


def _joined(plain: object) -> Joined:
    if not isinstance(plain, dict) or {*plain} != {"equal", "where"}:
        raise _wrong("joined", plain)
    equal, where = plain["equal"], plain["where"]
    if not (equal is None or type(equal) is str) or where not in (None, "capitalized"):
        raise _wrong("joined", plain)
    return Joined(equal, where)
