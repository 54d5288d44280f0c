"""Sequences as graphs: a variable for each column of labels at each position, and edges by lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Literal

import numpy as np

from crfkit._safe.fields import Fields
from crfkit.arrays import Ids
from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset, labeled
from crfkit.data.formats.columns import Columns
from crfkit.features import Recipe
from crfkit.graphs.text_lines import Line, graph_of, ground
from crfkit.linear.layout import Layout
from crfkit.metrics.comparison import Columns as LabelColumns
from crfkit.metrics.comparison import name_of
from crfkit.metrics.default_metric import check_known, judge_for, metric_for, scheme_of_rows
from crfkit.models.explanation import At
from crfkit.models.grounding.base import Comparison, Grounding, Samples
from crfkit.models.grounding.joined import JOINED, Joined
from crfkit.models.parts import Plain
from crfkit.models.reading import read
from crfkit.models.results import PerSequence
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.structures.graphs.graph import Graph

#: One label at each position, a tuple of them, or a dict of columns.
Form = Literal["labels", "tuples", "columns"]
_FURTHEST: Final = 1  #: offsets of the lines that estimators make: a position, and the one before


@dataclass(frozen=True, eq=False)
class Sequences(Grounding):
    """Sequences of positions, each with a label of every column."""

    kind: ClassVar[str] = "sequences"
    takes: ClassVar[str] = "sequences"

    columns: tuple[str, ...]  #: the kinds
    lines: tuple[Line, ...]  #: the cliques
    form: Form
    recipe: Recipe | None = None  #: X is then rows of tokens, else features
    joined: Joined | None = None  #: of the line `JOINED`

    def plain(self) -> Plain:
        """Return a description and the arrays of the recipe; refuse functions."""
        from crfkit.models.files.recipes import plain_recipe

        recipe, tables = (None, {}) if self.recipe is None else plain_recipe(self.recipe)
        return {
            "columns": [*self.columns],
            "form": self.form,
            "lines": [
                [one.name, [*one.kinds], [*one.offsets], one.by is not None, one.at] for one in self.lines
            ],
            "recipe": recipe,
            "joined": None if self.joined is None else self.joined.plain(),
        }, tables

    @classmethod
    def of_plain(cls, fields: Fields) -> Sequences:
        """Return what a file describes."""
        from crfkit.models.files.recipes import recipe_of

        columns, lines = fields["columns"], fields["lines"]
        if not isinstance(columns, list) or not all(type(name) is str for name in columns):
            fields.wrong("columns", "a list of names")
        if not isinstance(lines, list) or not all(map(_is_line, lines)):
            fields.wrong("lines", "names, kinds, offsets, whether features are there, and at which end")
        made = tuple(
            Line(name, (*kinds,), (*at,), "X" if by else None, end) for name, kinds, at, by, end in lines
        )
        form: Any = fields.text("form", ("labels", "tuples", "columns"))
        return cls((*columns,), made, form, recipe_of(fields["recipe"], fields), Joined.of_plain(fields))

    def check_fits(self, names: Graph, layout: Layout) -> None:
        """Refuse another graph."""
        named = [kind for kind, labels in names.kinds.items() if isinstance(labels, tuple)]
        pairs = [line.name for line in self.lines if line.paired]
        if [*self.columns] != named or len(named) != len(names.kinds):
            raise ValueError("its map has other columns than its graph has kinds")
        if self.form == "labels" and len(named) != 1:
            raise ValueError("its map gives one label at each position, and its graph has several kinds")
        kinds = {kind: self.names(names, kind) for kind in named}
        if graph_of(kinds, self.lines) != names or pairs != [JOINED] * (self.joined is not None):
            raise ValueError("its map has other lines than its graph has cliques")
        if any((line.by is None) != (layout.block[line.name].by is None) for line in self.lines):
            raise ValueError("its map has features where its weights have none")

    def samples(self, X: Any, threads: int | None = None) -> Samples:
        """Read sequences, and find the pairs that are joined."""
        if self.joined is None:
            data = read(X, self.recipe, threads)
            return Samples((data, None), _shapes(data))
        if isinstance(X, Dataset | Batch):
            raise ValueError(
                "X has attributes only, and no tokens to compare; give sequences of items or of token rows"
            )
        given: Any = X if isinstance(X, Columns) else list(X)
        data = read(given, self.recipe, threads)
        return Samples((data, {JOINED: self.joined.found(given, data, self.recipe)}), _shapes(data))

    def as_read(self, samples: Samples) -> Sequences:
        """Return the same with the recipe as it read these samples, with the mean of what it looks up."""
        made_by = samples.data[0].extractor
        return replace(self, recipe=self.recipe if made_by is None else made_by.recipe or self.recipe)

    def graphs(self, graph: Graph, samples: Samples, labels: Mapping[str, Ids] | None = None) -> GraphBatch:
        """Return a graph for each sequence."""
        data, pairs = samples.data
        return ground(graph, self.lines, data.batch.seq_ptr, {"X": data}, labels, pairs)

    def gold(
        self, graph: Graph, samples: Samples, y: Any, what: str = "y", *, foreign: bool = True
    ) -> dict[str, Ids]:
        """Return the label ids of the columns of y, which are all of them unless it is a dict."""
        found = {}
        for name, sequences in columns_in(y, self.form, self.columns, what).items():
            known = self.names(graph, name)
            alphabet = Alphabet(known)
            ids = label_ids(samples, sequences, alphabet, self.told(name))
            if len(alphabet) > len(known) and not foreign:
                where = "" if self.form == "labels" else f"column {name!r} has "
                raise ValueError(
                    f"{what}: {where}the label {alphabet[len(known)]!r}, which the model does not know"
                )
            found[name] = np.minimum(ids, len(known)).astype(np.int32)
        return found

    def compared(self, asked: Comparison) -> dict[str, LabelColumns]:
        """Return each column, which all must be there; "auto" is the metric that fits its labels."""
        graph, samples = asked.graph, asked.samples
        gold = columns_in(asked.y, self.form, self.columns)
        if len(gold) < len(self.columns):
            raise ValueError(f"y has the columns {', '.join(gold)}; the model has {', '.join(self.columns)}")
        parts = {}
        for name in self.columns if asked.kind is None else [asked.kind]:
            known = self.names(graph, name)
            alphabet = Alphabet(known)
            ids = label_ids(samples, gold[name], alphabet, self.told(name))
            names = alphabet.strings()
            source = "y" if self.form == "labels" else f"y: column {name!r}"
            check_known([[names[y] for y in ids[ids >= 0].tolist()]], known, source=source)
            judge = judge_for(asked.metric, metric_for(known))
            scheme = scheme_of_rows(name_of(judge), known)
            parts[name] = LabelColumns.of_ids(
                names, ids, asked.found[name], samples.ptr, judge, scheme=scheme, source=source
            )
        return parts

    @staticmethod
    def names(graph: Graph, column: str) -> list[str]:
        """Return the labels of a column."""
        names = graph.kinds[column]
        assert isinstance(names, tuple)
        return [*names]

    def told(self, column: str) -> str:
        """Return what messages call a column; "" where there is only one."""
        return "" if self.form == "labels" else column

    def answer(self, graph: Graph, labels: Mapping[str, Ids]) -> Any:
        """Return a list of labels or of tuples, or a dict of columns."""
        spelled = {
            name: np.array(self.names(graph, name), dtype=object)[labels[name]].tolist()
            for name in self.columns
        }
        if self.form == "columns":
            return spelled
        every = [*spelled.values()]
        return every[0] if self.form == "labels" else list(zip(*every, strict=True))

    def gathered(self, answers: list[Any]) -> Any:
        """Return a list of sequences, or a dict: column -> sequences."""
        if self.form != "columns":
            return PerSequence(answers)
        return {name: PerSequence([one[name] for one in answers]) for name in self.columns}

    def proba(self, node: Mapping[str, list[Any]]) -> Any:
        """Return arrays [T, L] for each sequence, by column where there are several."""
        by_column = {name: PerSequence(node[name]) for name in self.columns}
        return by_column[self.columns[0]] if self.form == "labels" else by_column

    def variable(self, at: Any, shape: tuple[int, ...]) -> tuple[str, int]:
        """Return the variable at a position, or at (position, column)."""
        if self.form == "labels":
            position, column = at, self.columns[0]
        else:
            if not isinstance(at, tuple) or len(at) != 2:
                raise TypeError(f"at is {at!r}, expected (position, column), as in (0, {self.columns[0]!r})")
            position, column = at[0], str(at[1])
        if not isinstance(position, int | np.integer):
            raise TypeError(f"at is {at!r}, expected the number of a position, from 0")
        if column not in self.columns:
            raise ValueError(f"at: {column!r} is not a column; the columns are {', '.join(self.columns)}")
        if not 0 <= position < shape[0]:
            raise ValueError(f"at: the sequence has {shape[0]} positions; {position} is not one of them")
        return column, int(position)

    def place(self, kind: str, number: int, shape: tuple[int, ...]) -> At:
        """Return the position, with the column where there are several."""
        return number if self.form == "labels" else (number, kind)


def _shapes(data: Dataset) -> list[tuple[int, ...]]:
    return [(T,) for T in np.diff(data.batch.seq_ptr).tolist()]


def label_ids(samples: Samples, y: Any, labels: Alphabet, column: str = "") -> Ids:
    """Return the label ids of sequences, [P], -1 where a label is not known; new labels are added."""
    data: Dataset = samples.data[0]
    where = f"column {column!r}: " if column else ""
    try:
        batch = labeled(data, y, labels).batch
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}{error}") from None
    if batch.allowed is not None or batch.soft is not None or batch.label is None:
        raise ValueError(f"{where}labels of graphs are strings, or None where unknown")
    return batch.label


def form_of(y: Any) -> Form:
    """Return which form labels of several columns have."""
    return "columns" if isinstance(y, Mapping) else "tuples"


def columns_in(y: Any, form: Form, columns: Iterable[str] | None = None, what: str = "y") -> dict[str, Any]:
    """Return the sequences of labels by column, of those that y has.

    Parameters
    ----------
    y : labels
    form : {"labels", "tuples", "columns"}
        A form of one label at each position; others are seen in y itself.
    columns : names, optional
        Those of the model, for which all tuples must have a label; a dict may have some.
    what : str
        What messages call it.
    """
    if form == "labels":
        (name,) = columns or ("",)
        return {name: y}
    found = _columns(y, what)
    if columns is not None:
        for name in found:
            if name not in columns:
                raise ValueError(f"{what}: {name!r} is not a column; the columns are {', '.join(columns)}")
    return found


def _columns(y: Any, what: str) -> dict[str, Any]:
    if isinstance(y, Mapping):
        if not y:
            raise ValueError(f"{what} is an empty dict, expected sequences of labels for each column")
        return {str(name): sequences for name, sequences in y.items()}
    if y is None or isinstance(y, str | bytes) or not isinstance(y, Iterable):
        raise ValueError(f"{what} is {y!r:.60}, expected a list of sequences of tuples, or a dict of columns")
    sequences = [list(sequence) for sequence in y]
    first = next((labels for sequence in sequences for labels in sequence), None)
    if not isinstance(first, tuple | list) or not first:
        raise ValueError(
            f"{what}: the first label is {first!r}, expected a tuple with a label of each column, "
            "('D', 'B-NP')"
        )
    for n, sequence in enumerate(sequences):
        for t, labels in enumerate(sequence):
            if not isinstance(labels, tuple | list) or len(labels) != len(first):
                raise ValueError(
                    f"{what}: sequence {n}, position {t} is {labels!r:.60}, expected {len(first)} labels, as "
                    "the first position has"
                )
    return {str(c): [[labels[c] for labels in sequence] for sequence in sequences] for c in range(len(first))}


def _is_line(plain: object) -> bool:
    """Return whether a file describes a line."""
    if not isinstance(plain, list) or len(plain) != 5:
        return False
    name, kinds, offsets, by, at = plain
    texts = isinstance(kinds, list) and 1 <= len(kinds) <= 2 and all(type(k) is str for k in [name, *kinds])
    if not texts or not isinstance(offsets, list) or len(offsets) not in (0, len(kinds)):
        return False
    near = all(type(o) is int and -_FURTHEST <= o <= 0 for o in offsets)
    return near and type(by) is bool and at in ("first", "last", "both")
