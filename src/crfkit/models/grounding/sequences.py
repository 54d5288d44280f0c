"""Sequences as graphs: a variable for each column of labels at each position, and edges by lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from crfkit.arrays import Bools, Ids, Pointers
from crfkit.checks import check_choice
from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset, labeled
from crfkit.data.formats.columns import Columns
from crfkit.features import Recipe
from crfkit.graphs.text_lines import Line, ground
from crfkit.graphs.text_pairs import capitalized, equal_pairs, field_values
from crfkit.metrics.comparison import Columns as LabelColumns
from crfkit.metrics.comparison import name_of
from crfkit.metrics.rule import check_known, judge_for, metric_for, scheme_of_rows
from crfkit.models.explanation import At
from crfkit.models.grounding.base import Grounding, Samples
from crfkit.models.reading import columns_of, read
from crfkit.models.results import PerSequence
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.structures.graphs.graph import Graph

__all__ = ["JOINED", "Joined", "Sequences", "columns_in", "form_of", "label_ids"]

#: The clique of pairs of positions that are found in the data.
JOINED = "skip"
#: One label at each position, a tuple of them, or a dict of columns.
Form = Literal["labels", "tuples", "columns"]


@dataclass(frozen=True, eq=False)
class Joined:
    """Which two positions of a sequence belong together: those with equal values, or those that are named."""

    equal: str | Callable[[Any], Any] | None = None
    where: Literal["capitalized"] | Callable[[Any], bool] | None = "capitalized"
    pairs: Callable[[Any], Iterable[tuple[int, int]]] | None = None

    def found(self, X: Any, data: Dataset, recipe: Recipe | None) -> Ids:
        """Return the pairs of positions, [M, 2], of X that was read as `data`."""
        ptr = data.batch.seq_ptr
        if self.pairs is not None:
            return _named_pairs(self.pairs, X, ptr)
        if recipe is None or not (self.equal is None or isinstance(self.equal, str)):
            value = [self._value(item) for sequence in X for item in sequence]
            names = dict.fromkeys(value)
            number = {name: i for i, name in enumerate(names)}
            ids = tokens = np.array([number[name] for name in value], dtype=np.int32)
            spelled: list[Any] = [*names]
        else:
            field = recipe.columns[0] if self.equal is None else self.equal
            ids, tokens, spelled = field_values(columns_of(X, recipe), field)
        return equal_pairs(ids, ptr, where=self._allowed(spelled, tokens))

    def _value(self, item: Any) -> Any:
        if callable(self.equal):
            return self.equal(item)
        if self.equal is None:
            raise ValueError("equal is not given; say what makes tokens equal: a key of items, or a function")
        if not isinstance(item, Mapping) or self.equal not in item:
            raise ValueError(f"equal is {self.equal!r}, but the item {item!r:.60} has no such key")
        return item[self.equal]

    def _allowed(self, spelled: list[Any], tokens: Ids) -> Bools | None:
        if self.where is None:
            return None
        if callable(self.where):
            yes: NDArray[np.bool_] = np.array([bool(self.where(token)) for token in spelled], dtype=np.bool_)
        else:
            check_choice("where", self.where, ("capitalized",))
            yes = capitalized([str(token) for token in spelled])
        return yes[tokens]


@dataclass(frozen=True, eq=False)
class Sequences(Grounding):
    """Sequences of positions, each with a label of every column."""

    columns: tuple[str, ...]  #: the kinds
    lines: tuple[Line, ...]  #: the cliques
    form: Form
    recipe: Recipe | None = None  #: X is then rows of tokens, else features
    joined: Joined | None = None  #: of the line `JOINED`

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

    def compared(
        self,
        graph: Graph,
        samples: Samples,
        y: Any,
        found: Mapping[str, Ids],
        metric: Any,
        kind: str | None = None,
    ) -> dict[str, LabelColumns]:
        """Return each column, which all must be there; "auto" is the metric that fits its labels."""
        gold = columns_in(y, self.form, self.columns)
        if len(gold) < len(self.columns):
            raise ValueError(f"y has the columns {', '.join(gold)}; the model has {', '.join(self.columns)}")
        parts = {}
        for name in self.columns if kind is None else [kind]:
            known = self.names(graph, name)
            alphabet = Alphabet(known)
            ids = label_ids(samples, gold[name], alphabet, self.told(name))
            names = alphabet.strings()
            source = "y" if self.form == "labels" else f"y: column {name!r}"
            check_known([[names[y] for y in ids[ids >= 0].tolist()]], known, source=source)
            judge = judge_for(metric, metric_for(known))
            scheme = scheme_of_rows(name_of(judge), known)
            parts[name] = LabelColumns.of_ids(
                names, ids, found[name], samples.ptr, judge, scheme=scheme, source=source
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
        A form of one label at each position; others are told by y itself.
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


def _named_pairs(pairs: Callable[[Any], Iterable[tuple[int, int]]], X: Any, ptr: Pointers) -> Ids:
    """Return the pairs that a function names, checked: positions of all sequences, [M, 2]."""
    made = [np.zeros((0, 2), dtype=np.int64)]
    for n, sequence in enumerate(X):
        found = list(pairs(sequence))
        if not found:
            continue
        array, T = np.asarray(found), int(ptr[n + 1] - ptr[n])
        if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
            raise ValueError(f"pairs of sequence {n} are {found!r:.60}, expected pairs of positions (i, j)")
        if array.min() < 0 or array.max() >= T or (array[:, 0] == array[:, 1]).any():
            raise ValueError(
                f"pairs of sequence {n} must be two different positions from 0 to {T - 1}: {found!r:.60}"
            )
        made.append(array + int(ptr[n]))
    return np.concatenate(made).astype(np.int32)
