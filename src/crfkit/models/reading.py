"""What X and y of users may be, and data sets of them with new names (`models.reader`: those of a model).

=====================================  =====================================================================
X, with a feature map                  what the map takes (`crfkit.models.parts`), arrays or items
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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from crfkit import features  # the other readers of features are loaded when they are needed
from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset, ExtractorSpec
from crfkit.data.formats.columns import Columns
from crfkit.data.reading import is_frame
from crfkit.data.reading import read as read_data
from crfkit.features import Extractor, Recipe
from crfkit.features.stock_recipes import STOCK, columns_read, default_recipe, label_of, stock
from crfkit.models.column_count import check_width

__all__ = ["are_docs", "check_nesting", "columns_of", "gold_column", "gold_place", "is_text", "itemized"]
__all__ += ["place_of", "read", "recipe_for", "recipe_of"]


T = TypeVar("T")


def place_of(columns: Columns, name: str | int) -> int | None:
    """Return the number of a column by its name or number, also in digits; None where there is none."""
    if isinstance(name, str) and name not in columns.names and name.isdigit():
        name = int(name)
    try:
        return columns.place(name)
    except ValueError:
        return None


def gold_place(columns: Columns, label: str | int, recipe: Recipe) -> int | None:
    """Return where the gold is; None where there is no such column or the recipe reads it as input."""
    place = place_of(columns, label)
    return None if place in [place_of(columns, name) for name in recipe.columns] else place


def _stock_recipe(columns: Columns, *, gold: bool, segments: bool = False, kind: str | None = None) -> Recipe:
    """Return the stock recipe of columns, that of a kind or the one for all; with `gold` one has the labels.

    Examples
    --------
    >>> _stock_recipe(Columns.from_rows([[("the", "D")]], ["word", "tag"]), gold=True).columns
    ('word',)
    """
    place = columns.place(label_of(columns, None)) if gold else None
    place = columns.place(columns.label) if place is None and columns.label is not None else place
    if gold and len(columns.names) < 2:
        raise ValueError(f"{columns.source or 'X'} has one column, expected tokens and labels: give y")
    read = columns_read(columns, place)
    return default_recipe(read, segments) if kind is None else stock(kind, read)


def recipe_of(template: Any) -> Recipe | None:
    """Return a template as a recipe: a Recipe, text in any dialect, a kind of `stock`, or a path."""
    if template is None or isinstance(template, Recipe):
        return template
    if isinstance(template, str) and template in STOCK:
        return stock(template)
    if isinstance(template, str):
        if template.isidentifier() and len(template) > 1 and template != "bias":
            raise ValueError(
                f"features is {template!r}, which is neither a template nor one of the stock recipes "
                f"{', '.join(STOCK)}: write a template, as {template}[0], or give a file as pathlib.Path"
            )
        from crfkit.features.dialects import parse_recipe

        return parse_recipe(template)
    if isinstance(template, os.PathLike):
        from crfkit.features.dialects import read_recipe

        return read_recipe(os.fspath(template))
    raise TypeError(
        f"features is {template!r}, expected text, a Recipe, or a pathlib.Path of a template file"
    )


def recipe_for(features: Any, X: Any, *, gold: bool, segments: bool = False) -> Recipe | None:
    """Return the recipe that makes attributes of X; None where X is attributes.

    Parameters
    ----------
    features : str, path, Recipe, function or None
        "auto": the stock recipe of tokens and Columns; other X is attributes. "ner", ...: one of
        `crfkit.features.stock`, of the columns of X.
    X : sequences
    gold : bool
        Whether labels are in a column of X, which the recipe then must not read.
    segments : bool
        With attributes of whole segments.

    Examples
    --------
    >>> recipe_for("auto", [["the", "dog"]], gold=False).columns
    ('word',)
    >>> recipe_for("auto", [[{"w": "the"}]], gold=False) is None
    True
    """
    if callable(features):
        return None
    kind = features if isinstance(features, str) and features in STOCK else None
    if kind is None and features != "auto":
        return recipe_of(features)
    if isinstance(X, Columns):
        return _stock_recipe(X, gold=gold, segments=segments, kind=kind)
    token = _first_token(X)
    names = ["word"]
    if isinstance(token, tuple) and token and all(isinstance(cell, str) for cell in token):
        names = [str(c) for c in range(len(token))]
    elif not isinstance(token, str):
        return None if kind is None else stock(kind)
    return default_recipe(names, segments) if kind is None else stock(kind, names)


def _first_token(X: Any) -> Any:
    """Return the first entry of the first sequence that has one."""
    if not isinstance(X, list | tuple):
        return None
    return next((one[0] for one in X if isinstance(one, list | tuple | np.ndarray) and len(one)), None)


def itemized(features: Any, X: Any) -> Any:
    """Return what a function of features makes of X, an item for each position; else X, frames as Columns.

    Examples
    --------
    >>> itemized(lambda tokens, i: {"w": tokens[i].lower()}, [["The", "dog"]])
    [[{'w': 'the'}, {'w': 'dog'}]]
    """
    if not callable(features) or isinstance(X, Dataset | Batch):
        if isinstance(X, list | Dataset | Batch):
            return X
        if isinstance(X, Iterator):
            return list(X)
        if hasattr(X, "to_list"):  # a Series of lists, whose index counts otherwise
            return X.to_list()
        if getattr(getattr(X, "dtype", None), "kind", "") == "O" and X.ndim == 1:  # the values of a Series
            return X.tolist()
        return read_data(X) if is_frame(X) else X
    return _items_by(features, X)


def _items_by(function: Callable[[Any, int], T], X: Iterable[Sequence[Any]]) -> list[list[T]]:
    made: list[list[T]] = []
    for n, tokens in enumerate(X):
        if isinstance(tokens, str | bytes):
            raise ValueError(f"X[{n}] is the plain string {tokens!r:.60}, expected a list of tokens")
        made.append([function(tokens, i) for i in range(len(tokens))])
    return made


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
        check_nesting(X, recipe)
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
    return None if gold_place(columns, name, recipe) is None else name


_ONE = "; for one sequence write [sequence], as in predict([sequence])"
_FILE = "; a file is for crfkit.read(path), whose answer is an X with labels"
_RAW = "; a raw text is for tag(text), and to learn from as Doc(text, spans=[(start, end, label)])"


def check_nesting(X: Any, recipe: Recipe | None) -> None:
    """Raise an error that says what X is, where its first entries are not sequences of items."""
    if X is None or isinstance(X, str | bytes | Mapping):
        raw = "" if not isinstance(X, str) else _FILE if os.path.isfile(X) else _RAW
        raise ValueError(f"X is {X!r:.60}, expected a list of sequences, each a list of items{raw}")
    if not isinstance(X, Iterable):
        raise TypeError(f"X is {X!r:.60}, expected a list of sequences, each a list of items")
    first = X[0] if isinstance(X, list | tuple) and X else None
    if isinstance(first, str | bytes):
        raise ValueError(
            f"X[0]: sequence 0 is a plain string, {first!r:.60}, expected a list of "
            + ("items, one for each position" if recipe is None else "tokens")
            + (_RAW if len(first.split()) > 1 else _ONE)
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


def columns_of(
    X: Any, recipe: Recipe, label: str | int | None = None, made_by: ExtractorSpec | None = None
) -> Columns:
    """Return token rows as columns; those of dicts are what the recipe reads, and the label where it is.

    Rows without names have the columns of training, where these are known (`made_by`).
    """
    if isinstance(X, Columns):
        return X
    check_nesting(X, recipe)
    sequences = list(X)
    for n, sequence in enumerate(sequences):
        _check_sequence(sequence, n)
    first = next((row for sequence in sequences for row in sequence), None)
    columns = list(recipe.columns)
    keys = dict(zip(columns, recipe.column_names, strict=True))  # of rows that are dicts
    if isinstance(first, Mapping) and all(name in first for name in columns):
        keys = {}  # by number, as other programs call them
    if isinstance(first, Mapping) and isinstance(label, str) and label in first and label not in columns:
        columns.append(label)
    wanted = [keys.get(name, name) for name in columns]
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
        missing = [key for key in wanted if key not in row]
        if missing:
            raise ValueError(f"sequence {n}, token {t} has no {missing[0]!r}, which the template reads")
        return tuple(row[key] for key in wanted)

    def walk() -> Iterator[list[Any]]:
        for n, sequence in enumerate(sequences):
            yield [row_of(row, n, t) for t, row in enumerate(sequence)]

    made = Columns.from_rows(walk(), names)
    if names is None:
        check_width(made, made_by, "the model")
    return made


def are_docs(given: object) -> bool:
    """Return whether data are documents: a reader of them, or a list whose first entry is one.

    Examples
    --------
    >>> from crfkit import Doc
    >>> are_docs([Doc("Ana ran")]), are_docs([["Ana", "ran"]]), are_docs([])
    (True, False, False)
    """
    from crfkit.text.doc import Doc

    if isinstance(given, list | tuple):
        return bool(given) and isinstance(given[0], Doc)
    if not isinstance(given, Iterable) or isinstance(given, str) or hasattr(given, "batch"):
        return False
    from crfkit.text.formats.reading import Docs

    return isinstance(given, Docs)


def is_text(given: object) -> bool:
    """Return whether something is a raw text, or a document of one."""
    from crfkit.text.doc import Doc

    return isinstance(given, str | Doc)
