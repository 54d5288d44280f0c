"""Turning X and y of users into data sets, with the names of a model or with new ones.

=====================================  =====================================================================
X, without a recipe                    lists of items (dicts, lists of strings), float arrays [T, K], sparse
                                       matrices [T, K], pairs of both: what `crfkit.features.ItemExtractor`
                                       takes
X, with a recipe (or template)         `Columns`; lists of token rows: tuples (columns 0, 1, ...), dicts
                                       (columns by name) or, for recipes of one column, strings
either                                 `Dataset` (its labels where y is None); `Batch` (ids without names)
=====================================  =====================================================================

What y may be: `crfkit.data.dataset`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from crfkit import features  # the other readers of features are loaded when they are needed
from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset, ExtractorSpec
from crfkit.data.formats.columns import Columns
from crfkit.features import Extractor, Recipe
from crfkit.features.stock import label_of
from crfkit.models.encoding import encoded
from crfkit.models.known import Watch
from crfkit.models.names import Names
from crfkit.models.tags import as_segments, segmented
from crfkit.models.width import check_width
from crfkit.structures.structure import Structure

if TYPE_CHECKING:
    from crfkit.models.model import Model

__all__ = ["Reader", "columns_of", "frozen_extractor", "gold_column", "longest_of"]
__all__ += ["place_of", "read", "recipe_of"]

# An extractor remembers tokens and pairs of them; after so many (distinct, in all) it is made anew, so that
# memory stays bounded: at 150 MB where it would grow by 120 MB for each million of tokens.
_DISTINCT, _TOKENS = 1 << 17, 1 << 19


class Reader:
    """X and y to data sets with the names of a model; attributes that it does not know are dropped.

    It remembers the tokens of columns from one call to the next: for many calls on one thread.
    `Model.dataset` makes a new one each time. It warns, once, where the model knows next to none of the
    attributes (`crfkit.models.known`).

    Parameters
    ----------
    model : Model
    watch : Watch, optional
        What counts the attributes that the model knows; default: a new one.
    """

    def __init__(self, model: Model, watch: Watch | None = None) -> None:
        self.model = model
        self.watch = Watch.of(model) if watch is None else watch
        self._extract: Extractor | None = None
        self._seen = 0  # tokens that it has read

    def __call__(self, X: Any, y: Any = None, *, gold: bool = True, threads: int | None = None) -> Dataset:
        """Return the data set; labels that the model does not know get ids above those that it knows.

        Parameters
        ----------
        X : Columns, rows, items, Dataset or Batch
            See `crfkit.models.reading`; a batch has the ids of the model.
        y : list of lists, optional
            The gold; see `crfkit.data.dataset`.
        gold : bool
            Take the gold from the model's column of labels where y is None and X has that column.
        threads : int, optional
        """
        model, names = self.model, self.model.names
        if isinstance(X, Batch):
            data = Dataset(X, names.labels, names.attributes, names.edge_attributes, names.segment_attributes)
        elif isinstance(X, Dataset):
            data = names.dataset(self._spelled(X), model.weighted)
            self.watch.renamed(X.batch, data.batch, X.attributes)
        else:
            data = self._read(X, gold and y is None, threads)
        if y is None:
            return data
        if model.segmental:
            return segmented(data, y, labels=names.labels.strings())
        from crfkit.data.dataset import labeled

        if model.encoding is not None and model.states is None:
            return self._spelled(labeled(data, y, Alphabet()))
        return labeled(data, y, Alphabet(model.answers))

    def _spelled(self, data: Dataset) -> Dataset:
        """Return data with its gold, where it has some, as the model has labels."""
        known, encoding = self.model.labels.strings(), self.model.encoding
        if self.model.segmental:
            return as_segments(data, labels=known)
        gold = data.batch.label is not None and len(data.labels)
        if encoding is None or self.model.states is not None or not gold:  # `States.sets` reads labels
            return data
        return encoded(data, encoding, known)

    def _read(self, X: Any, gold: bool, threads: int | None) -> Dataset:
        model, recipe = self.model, self.model.recipe
        if model.hashed is None and not len(model.attributes) and model.layout.attributes:
            raise ValueError(
                "the attributes of the model are ids without names: give X as a Batch or a Dataset"
            )
        _check_nesting(X, recipe)
        made = recipe is not None and recipe.segmental
        if not made and any(model.layout.has(kind) for kind in ("begin", "end", "segment")):
            raise ValueError(
                "the model has weights of segments, whose attributes are made by functions: give X as "
                "crfkit.features.segment_features(X, max_length, functions, like=model)"
            )
        if recipe is None:
            if isinstance(X, Columns):
                raise ValueError(
                    "X is columns of text, but the model has no recipe that makes attributes of them: give "
                    "items, as it was trained on"
                )
            items = features.ItemExtractor(model.hashed, None if model.hashed else model.attributes)
            made_of_items = items(X)
            self.watch.items(items.seen, made_of_items.batch)
            return made_of_items
        label = model.label_column if gold else None
        columns = X if isinstance(X, Columns) else _columns(X, recipe, label, model.extractor)
        if isinstance(X, Columns):
            check_width(X, model.extractor, "the model")
        extract = self._extractor(recipe, columns.positions)
        extract.label, extract.labels = None, Alphabet()
        known = model.answers
        if label is not None and (place := _gold_place(columns, label, recipe)) is not None:
            extract.label, extract.labels = place, Alphabet(() if model.scheme else known)
        made_of_columns = extract(columns, threads)
        self.watch.columns(columns, made_of_columns)
        return self._spelled(made_of_columns)

    def _extractor(self, recipe: Recipe, positions: int) -> Extractor:
        """Return the extractor of the model, frozen; a new one where the old one has grown too large."""
        used = self._extract
        self._seen += positions
        if used is None or self._seen > _TOKENS or sum(map(len, used.tokens.values())) > _DISTINCT:
            self._seen = positions
            used = self._extract = frozen_extractor(
                recipe, self.model.names, hashed=self.model.hashed, longest=longest_of(self.model.structure)
            )
        return used


def frozen_extractor(
    recipe: Recipe,
    names: Names | Dataset,
    label: str | int | None = None,
    hashed: int | None = None,
    longest: int | None = None,
) -> Extractor:
    """Return an extractor that gives ids of these alphabets and drops what they lack; labels are all new."""
    extract = Extractor(recipe, label, hashed, longest)
    if hashed is None:
        extract.attributes, extract.edge_attributes = (
            names.attributes.freeze(),
            names.edge_attributes.freeze(),
        )
        extract.segment_attributes = names.segment_attributes.freeze()
    extract.freeze()
    extract.labels = Alphabet()
    return extract


def longest_of(structure: Structure) -> int | None:
    """Return the positions of the longest segment of a structure; None where it has no segments."""
    lengths = structure.lengths()
    return None if lengths is None else max(lengths.values())


def place_of(columns: Columns, name: str | int) -> int | None:
    """Return the number of a column by its name or number, also in digits; None where there is none."""
    if isinstance(name, str) and name not in columns.names and name.isdigit():
        name = int(name)
    try:
        return columns.place(name)
    except ValueError:
        return None


def _gold_place(columns: Columns, label: str | int, recipe: Recipe) -> int | None:
    """Return where the gold is; None where there is no such column or the recipe reads it as input."""
    place = place_of(columns, label)
    return None if place in [place_of(columns, name) for name in recipe.columns] else place


def recipe_of(template: Any) -> Recipe | None:
    """Return a template as a recipe: a Recipe, text in any dialect, or the path of a file."""
    if template is None or isinstance(template, Recipe):
        return template
    if isinstance(template, str):
        from crfkit.features.dialects import parse_recipe

        return parse_recipe(template)
    if isinstance(template, os.PathLike):
        from crfkit.features.dialects import read_recipe

        return read_recipe(os.fspath(template))
    raise TypeError(
        f"template is {template!r}, expected text, a Recipe, or a pathlib.Path of a template file"
    )


def read(
    X: Any,
    recipe: Recipe | None,
    threads: int | None = None,
    longest: int | None = None,
    *,
    leave_out: bool = False,
    gold: bool = False,
) -> Dataset:
    """Return the data set of X with names of its own; labels only where X has them.

    Segments of at most `longest` positions have attributes, where the recipe makes some. With `leave_out`
    entries of internal dictionaries that come from the sequence at hand only do not count. With `gold` the
    labels of Columns are those of `gold_column`.
    """
    if isinstance(X, Dataset):
        return X
    if isinstance(X, Batch):
        return Dataset(X, Alphabet(map(str, range(_labels_in(X)))), Alphabet(), Alphabet())
    if recipe is None:
        _check_nesting(X, recipe)
        if isinstance(X, Columns):
            raise ValueError("X is columns of text, which become attributes by a template: give template")
        return features.ItemExtractor()(X)
    label = gold_column(X, recipe) if gold and isinstance(X, Columns) else None
    extract = Extractor(recipe, label=label, longest=longest)
    return extract(columns_of(X, recipe), threads, leave_out=leave_out)


def gold_column(columns: Columns, recipe: Recipe) -> str | None:
    """Return the column of labels: as was said, the one called label, or the last; None where it is input.

    Examples
    --------
    >>> rows = Columns.from_rows([[("the", "D"), ("dog", "N")]], names=["word", "tag"])
    >>> gold_column(rows, Recipe.parse("word[0]")), gold_column(rows, Recipe.parse("tag[0]"))
    ('tag', None)
    """
    if not columns.names:
        return None
    name = columns.names[columns.place(label_of(columns, None))]
    return None if _gold_place(columns, name, recipe) is None else name


def columns_of(X: Any, recipe: Recipe) -> Columns:
    """Return what a recipe reads of X, as columns."""
    _check_nesting(X, recipe)
    return X if isinstance(X, Columns) else _columns(X, recipe)


def _check_nesting(X: Any, recipe: Recipe | None) -> None:
    """Raise an error that says what X is, where its first entries are not sequences of items."""
    if X is None or isinstance(X, str | bytes | Mapping):
        raise ValueError(f"X is {X!r:.60}, expected a list of sequences, each a list of items")
    if not isinstance(X, Iterable):
        raise TypeError(f"X is {X!r:.60}, expected a list of sequences, each a list of items")
    first = X[0] if isinstance(X, list | tuple) and X else None
    if isinstance(first, str | bytes):
        raise ValueError(
            f"X[0]: sequence 0 is a plain string, {first!r:.60}, expected a list of "
            + ("items, one for each position" if recipe is None else "tokens")
        )
    if isinstance(first, Mapping):
        raise ValueError("X is one sequence, a list of dicts, expected a list of sequences: give [X]")
    item = first[0] if isinstance(first, list | tuple) and first else None
    if recipe is None and isinstance(item, str | bytes):
        raise ValueError(
            f"X[0][0] is the plain string {item!r:.60}, expected features of a position: a dict such as "
            f"{{'word': {item!r:.60}}} or a list of strings; or train with a template, which makes them; "
            "for one sequence write [sequence], as in predict([sequence])"
        )


def _check_sequence(sequence: Any, n: int) -> None:
    """Refuse a sequence of tokens that is a row of one: X is then most likely one sequence, not a list."""
    if isinstance(sequence, str | bytes):
        raise ValueError(f"sequence {n} is a plain string, expected a list of tokens")
    if isinstance(sequence, tuple) and sequence and all(isinstance(cell, str | bytes) for cell in sequence):
        raise ValueError(
            f"X[{n}] is the tuple {sequence!r:.60}, which is one token with its columns where a sequence is "
            "expected, a list of tokens: for one sentence write [sentence], as in predict([sentence]); make "
            "lists of sequences that are tuples"
        )


def _labels_in(batch: Batch) -> int:
    """Return the number of labels that a batch of ids needs."""
    wide = [0 if part is None else part.shape[1] for part in (batch.allowed, batch.soft)]
    return max(*wide, 0 if batch.label is None else int(batch.label.max(initial=-1)) + 1)


def _columns(
    X: Iterable[Any], recipe: Recipe, label: str | int | None = None, made_by: ExtractorSpec | None = None
) -> Columns:
    """Return token rows as columns; those of dicts are what the recipe reads, and the label where it is.

    Rows without names have the columns of training, where these are known (`made_by`).
    """
    sequences = list(X)
    for n, sequence in enumerate(sequences):
        _check_sequence(sequence, n)
    first = next((row for sequence in sequences for row in sequence), None)
    columns = list(recipe.columns)
    if isinstance(first, Mapping) and isinstance(label, str) and label in first and label not in columns:
        columns.append(label)
    named = first is None or isinstance(first, Mapping)
    names = columns if named else columns[:1] or ["0"] if isinstance(first, str) else None
    if names is None and first is not None and not all(name.isdigit() for name in columns):
        name = next(name for name in columns if not name.isdigit())
        raise ValueError(
            f"the template reads the column {name!r}, but the rows of X are not dicts, and their columns are "
            "0, 1, ...: make dicts of them, or give Columns with names"
        )
    if isinstance(first, str) and len(columns) > 1:
        raise ValueError(
            f"the template reads the columns {', '.join(columns)}, but the tokens of X are plain strings"
        )

    def row_of(row: Any, n: int, t: int) -> Any:
        if isinstance(row, Mapping) != isinstance(first, Mapping) or isinstance(row, str) != isinstance(
            first, str
        ):
            raise ValueError(
                f"sequence {n}, token {t} is a {type(row).__name__}, those before are {type(first).__name__}s"
            )
        if isinstance(row, str):
            return (row,)
        if not isinstance(row, Mapping):
            return row
        missing = [name for name in columns if name not in row]
        if missing:
            raise ValueError(f"sequence {n}, token {t} has no {missing[0]!r}, which the template reads")
        return tuple(row[name] for name in columns)

    def walk() -> Iterator[list[Any]]:
        for n, sequence in enumerate(sequences):
            yield [row_of(row, n, t) for t, row in enumerate(sequence)]

    made = Columns.from_rows(walk(), names)
    if names is None:
        check_width(made, made_by, "the model")
    return made
