"""From columns of text to graphs, by the text form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from crfkit.arrays import Ids
from crfkit.data.alphabet import Alphabet
from crfkit.data.formats.columns import Columns
from crfkit.features import Extractor
from crfkit.graphs.text_form import Equal, FormError, GraphForm
from crfkit.graphs.text_lines import graph_of, ground
from crfkit.graphs.text_pairs import capitalized, check_field, equal_pairs, field_values
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.structures.graphs.graph import Graph


def training_graphs(form: GraphForm, data: Columns, *, threads: int | None = None) -> GraphBatch:
    """Return the graphs of labeled columns; labels are named by first appearance.

    Examples
    --------
    >>> form = GraphForm.parse(
    ...     "kind tag = column 1; clique tag by features".replace("; ", chr(10)) + chr(10) + "features 0[0]"
    ... )
    >>> data = Columns.from_rows([[("the", "D"), ("dog", "N")]])
    >>> training_graphs(form, data).graph
    Graph({'tag': ('D', 'N')}, tag=['tag'])
    """
    named = _named(form, data)
    _check_inputs(form, named)
    alphabets = {kind: Alphabet() for kind, where in form.kinds.items() if where.column is not None}
    gold = {kind: _label_ids(form, named, kind, alphabet) for kind, alphabet in alphabets.items()}
    for kind, alphabet in alphabets.items():
        if not len(alphabet):
            raise FormError(
                f"{form.places[f'kind {kind}']}: kind {kind!r} has no labels: its column "
                f"{form.kinds[kind].column} has none in the data"
            )
    labels = {
        kind: alphabets[kind].strings() if kind in alphabets else [str(i) for i in range(where.hidden)]
        for kind, where in form.kinds.items()
    }
    batch = _grounded(form, named, graph_of(labels, form.lines), gold, threads)
    for name, scope in batch.scopes.items():
        if not len(scope):
            what = (
                f"no two tokens of a sequence fit `{form.equal[name]}`"
                if name in form.equal
                else "no sequence is long enough"
            )
            raise FormError(
                f"{form.places[f'clique {name}']}: clique {name!r} scores nothing in the data: {what}; "
                "leave it out"
            )
    return batch


def column_graphs(
    form: GraphForm, data: Columns, graph: Graph, *, gold: bool = False, threads: int | None = None
) -> GraphBatch:
    """Return the graphs of columns for a model of this graph.

    With `gold` labels are read too, where the model knows them; others are hidden.
    """
    named = _named(form, data)
    labels = None
    if gold:
        labels = {
            kind: _label_ids(form, named, kind, Alphabet(_names(graph, kind)).freeze())
            for kind, where in form.kinds.items()
            if where.column is not None
        }
    return _grounded(form, named, graph, labels, threads)


def gold_columns(form: GraphForm, data: Columns) -> dict[str, list[str | None]]:
    """Return the gold labels of each kind that has a column, of all positions; None where unknown."""
    named, found = _named(form, data), {}
    for kind, where in form.kinds.items():
        if where.column is not None:
            strings = named.strings()[_place(form, named, where.column, f"kind {kind}")].tolist()
            found[kind] = [None if label in ("", where.unknown) else label for label in strings]
    return found


def _names(graph: Graph, kind: str) -> tuple[str, ...]:
    names = graph.kinds[kind]
    assert isinstance(names, tuple)
    return names


def _named(form: GraphForm, data: Columns) -> Columns:
    """Return the data with the names of columns that the form has, unless they have names of their own."""
    default = tuple(str(c) for c in range(len(data.names)))
    if not form.columns or data.names != default:
        return data
    if len(data.names) > len(form.columns):
        raise FormError(
            f"{form.places['columns']}: {data.source or 'the file'} has {len(data.names)} columns, the graph "
            f"names {len(form.columns)}: {' '.join(form.columns)}"
        )
    return replace(data, names=form.columns[: len(data.names)])


def _place(form: GraphForm, data: Columns, column: str | int, who: str) -> int:
    """Return the number of a column that a line of the form names."""
    try:
        return data.found(column)
    except ValueError as error:
        raise FormError(f"{form.places[who]}: {who}: {error}") from None


def _check_inputs(form: GraphForm, data: Columns) -> None:
    """Refuse features that read a column of labels, which new data do not have."""
    labels = {
        _place(form, data, where.column, f"kind {kind}"): kind
        for kind, where in form.kinds.items()
        if where.column is not None
    }
    reads = [(f"features {name}", recipe) for name, recipe in form.sets.items()]
    for name, equal in form.equal.items():
        fields = [equal.field, *([equal.where] if equal.where not in (None, "capitalized") else [])]
        reads += [(f"clique {name}", check_field(str(one))) for one in fields]
    for who, recipe in reads:
        for column in recipe.columns:
            kind = labels.get(_place(form, data, column, who))
            if kind is not None:
                raise FormError(
                    f"{form.places[who]}: {who} reads the column {column!r}, whose labels are kind {kind!r}; "
                    "labels are not known in new data: leave one of both out"
                )


def _label_ids(form: GraphForm, data: Columns, kind: str, names: Alphabet) -> Ids:
    """Return the ids of a column of labels, [P], -1 where they are not known."""
    where = form.kinds[kind]
    assert where.column is not None
    place = _place(form, data, where.column, f"kind {kind}")
    alphabet = data.alphabets[place]
    used, first, back = np.unique(data.ids[place], return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")  # by first appearance
    ids = np.full(len(used), -1, dtype=np.int32)
    for i in order.tolist():
        label = alphabet[int(used[i])]
        if label not in ("", where.unknown):
            ids[i] = names.add(label)
    return ids[back.reshape(-1)]


def _grounded(
    form: GraphForm, data: Columns, graph: Graph, labels: Mapping[str, Ids] | None, threads: int | None
) -> GraphBatch:
    sets = {name: Extractor(recipe, label=None)(data, threads) for name, recipe in form.sets.items()}
    pairs = {}
    for name, equal in form.equal.items():
        try:
            pairs[name] = _pairs(equal, data)
        except ValueError as error:
            raise FormError(f"{form.places[f'clique {name}']}: clique {name!r}: {error}") from None
    return ground(graph, form.lines, data.seq_ptr, sets, labels, pairs)


def _pairs(equal: Equal, data: Columns) -> Ids:
    value, tokens, names = field_values(data, equal.field)
    where = None
    if equal.where == "capitalized":
        where = capitalized(names)[tokens]
    elif equal.where is not None:
        where = field_values(data, equal.where)[0] >= 0
    return equal_pairs(value, data.seq_ptr, where=where, nearest=equal.nearest, most=equal.most)
