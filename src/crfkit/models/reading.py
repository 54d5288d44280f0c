"""From what people have (X and y) to data sets, with the names of a fitted model or with new ones.

=====================================  =====================================================================
X, without a template                  lists of items (dicts, lists of strings), float arrays [T, K], sparse
                                       matrices [T, K], pairs of both: what `crfkit.features.ItemExtractor`
                                       takes
X, with a template                     lists of token rows: tuples (columns 0, 1, ...), dicts (columns by
                                       name) or, for templates of one column, strings; `Columns`
either                                 `Dataset` (its labels where y is None); `Batch` (ids without names)
=====================================  =====================================================================

What y may be: `crfkit.data.labelling`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset
from crfkit.data.formats.columns import Columns
from crfkit.data.labelling import labelled
from crfkit.features import Extractor, ItemExtractor, Recipe, parse_recipe, read_recipe

__all__ = ["Reader", "read", "recipe_of"]


@dataclass(frozen=True, eq=False)
class Reader:
    """X and y to data sets with the attributes of a fitted model; those that it does not know are dropped.

    Nothing changes when it is used: threads may share it. It can be pickled.
    """

    recipe: Recipe | None
    labels: Alphabet
    attributes: Alphabet
    edge_attributes: Alphabet
    named: bool = True  #: whether attributes have names; False where X was ids

    def __call__(self, X: Any, y: Any = None, *, threads: int | None = None) -> Dataset:
        """Return the data set; labels that the model does not know get ids above those that it knows."""
        if isinstance(X, Batch):  # has the ids of the model
            data = Dataset(X, self.labels, self.attributes, self.edge_attributes)
        else:
            if not self.named and not isinstance(X, Dataset):
                raise ValueError(
                    "the attributes of the model are ids without names: give X as a Batch or a Dataset"
                )
            data = read(X, self.recipe, self, threads)
        return data if y is None else labelled(data, y, Alphabet(self.labels.strings()))


def recipe_of(template: Any) -> Recipe | None:
    """Return a template as a recipe: a Recipe, text in any dialect, or the path of a file."""
    if template is None or isinstance(template, Recipe):
        return template
    if isinstance(template, str):
        return parse_recipe(template)
    if isinstance(template, os.PathLike):
        return read_recipe(os.fspath(template))
    raise TypeError(
        f"template is {template!r}, expected text, a Recipe, or a pathlib.Path of a template file"
    )


def read(X: Any, recipe: Recipe | None, names: Reader | None = None, threads: int | None = None) -> Dataset:
    """Return the data set of X with the given names, or with new ones; labels only where X has them."""
    if isinstance(X, Dataset):
        return X
    if isinstance(X, Batch):
        return Dataset(X, Alphabet(map(str, range(_labels_in(X)))), Alphabet(), Alphabet())
    _check_nesting(X, recipe)
    if recipe is None:
        if isinstance(X, Columns):
            raise ValueError("X is columns of text, which become attributes by a template: give template")
        return ItemExtractor(attributes=None if names is None else names.attributes)(X)
    columns = X if isinstance(X, Columns) else Columns.from_rows(*_rows(X, recipe.columns))
    extractor = Extractor(recipe, label=None)
    if names is not None:
        extractor.attributes, extractor.edge_attributes = names.attributes, names.edge_attributes
        extractor.freeze()
    return extractor(columns, threads)


def _check_nesting(X: Any, recipe: Recipe | None) -> None:
    """Say what X is where it is not a list of sequences of items, as far as its first entries tell."""
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
        raise ValueError(
            "X is one sequence, a list of dicts, expected a list of sequences: give [X], or use "
            "predict_single"
        )
    item = first[0] if isinstance(first, list | tuple) and first else None
    if recipe is None and isinstance(item, str | bytes):
        raise ValueError(
            f"X[0][0] is the plain string {item!r:.60}, expected features of a position: a dict such as "
            f"{{'word': {item!r:.60}}} or a list of strings; or give ChainCRF a template, which makes them"
        )


def _labels_in(batch: Batch) -> int:
    """Return the number of labels that a batch of ids needs."""
    wide = [0 if part is None else part.shape[1] for part in (batch.allowed, batch.soft)]
    return max(*wide, 0 if batch.label is None else int(batch.label.max(initial=-1)) + 1)


def _rows(X: Iterable[Any], columns: Sequence[str]) -> tuple[Iterator[list[Any]], Sequence[str] | None]:
    """Return token rows as tuples, and the names of their columns, None for 0, 1, ..."""
    sequences = list(X)
    first = next((row for sequence in sequences for row in sequence), None)
    names = (
        columns if isinstance(first, Mapping) else columns[:1] or ["0"] if isinstance(first, str) else None
    )
    if names is None and first is not None and not all(name.isdigit() for name in columns):
        name = next(name for name in columns if not name.isdigit())
        raise ValueError(
            f"the template reads the column {name!r}, but the rows of X are no dicts, and their columns are "
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
            if isinstance(sequence, str | bytes):
                raise ValueError(f"sequence {n} is a plain string, expected a list of tokens")
            yield [row_of(row, n, t) for t, row in enumerate(sequence)]

    return walk(), names
