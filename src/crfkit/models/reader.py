"""Turning X and y of users into data sets with the names of a model: `SequenceModel.dataset`, `Reader`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset, labeled
from crfkit.data.formats.columns import Columns
from crfkit.data.reading import is_frame
from crfkit.data.reading import read as read_data
from crfkit.features import Extractor, Recipe
from crfkit.models.column_count import check_width
from crfkit.models.encoding import encoded
from crfkit.models.known import Watch
from crfkit.models.names import Names
from crfkit.models.reading import are_docs, check_nesting, columns_of, gold_place
from crfkit.models.tags import as_segments, segmented
from crfkit.structures.structure import Structure

if TYPE_CHECKING:
    from crfkit.models.model import SequenceModel

# An extractor remembers tokens and pairs of them; after so many (distinct, in all) it is made anew, so that
# memory stays bounded: at 150 MB where it would grow by 120 MB for each million of tokens.
_DISTINCT, _TOKENS = 1 << 17, 1 << 19


class Reader:
    """X and y to data sets with the names of a model; attributes that it does not know are dropped.

    It remembers the tokens of columns from one call to the next: for many calls on one thread.
    `SequenceModel.dataset` makes a new one each time. It warns, once, where the model knows next to none of
    the attributes (`crfkit.models.known`).

    Parameters
    ----------
    model : Model
    watch : Watch, optional
        What counts the attributes that the model knows; default: a new one.
    """

    def __init__(self, model: SequenceModel, watch: Watch | None = None) -> None:
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
        if are_docs(X):
            from crfkit.models.documents import tagged

            X, y = tagged(model, X, y, gold=gold)
        X = X if isinstance(X, list | Dataset | Batch) or not is_frame(X) else read_data(X)
        X = X if isinstance(X, Batch) else model.mapped(X, threads)
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
        if model.encoding is not None and model.states is None:
            return self._spelled(labeled(data, y, Alphabet()))
        return labeled(data, y, Alphabet(model.answers))

    def _spelled(self, data: Dataset) -> Dataset:
        """Return data with its gold, where it has some, as the model has labels."""
        known, encoding = self.model.names.labels.strings(), self.model.encoding
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
        check_nesting(X, recipe)
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
            from crfkit.features import ItemExtractor  # `crfkit tag` of columns does without

            items = ItemExtractor(model.hashed, None if model.hashed else model.attributes)
            made_of_items = items(X)
            self.watch.items(items.seen, made_of_items.batch)
            return made_of_items
        label = model.label_column if gold else None
        columns = columns_of(X, recipe, label, model.extractor)
        if isinstance(X, Columns):
            check_width(X, model.extractor, "the model")
        extract = self._extractor(recipe, columns.positions)
        extract.label, extract.labels = None, Alphabet()
        known = model.answers
        if label is not None and (place := gold_place(columns, label, recipe)) is not None:
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
