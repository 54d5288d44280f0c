"""What is learned from: columns, files, documents as data sets, and segments with labels and lengths."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from crfkit.checks import check_choice
from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset, ExtractorSpec
from crfkit.data.formats.columns import Columns
from crfkit.data.reading import is_frame
from crfkit.data.reading import read as read_data
from crfkit.features import Recipe
from crfkit.models.reading import gold_column, read, recipe_for
from crfkit.models.tags import Outside, as_segments
from crfkit.structures.structure import Structure
from crfkit.tags.schemes import OUTSIDE

if TYPE_CHECKING:
    from crfkit.text.labeled import Tagged

Kind = TypeVar("Kind", bound=Structure)


def settled_by(structure: Kind, data: Dataset, outside: Outside = "unit") -> Kind:
    """Return the structure over the labels of data with gold segments, with a length for each label.

    Lengths that are not given are those of the longest gold segments. One length for all labels does not
    hold for O where each position outside is a segment of its own. Structures without segments stay.

    Examples
    --------
    >>> from crfkit import SemiMarkov
    >>> from crfkit.features import ItemExtractor
    >>> from crfkit.models.tags import segmented
    >>> data = segmented(ItemExtractor()([[["a"], ["b"], ["c"]]]), [["B-N", "I-N", "O"]])
    >>> settled_by(SemiMarkov(), data).max_length, settled_by(SemiMarkov(max_length=4), data).max_length
    ((2, 1), (4, 1))
    """
    check_choice("outside", outside, ("unit", "long"))
    if not structure.segmental:
        return structure
    names = data.labels.strings()
    if structure.labels and len(names) > len(structure.labels):
        number, label = len(structure.labels), data.batch.label
        name, place = names[number], ""
        if label is not None and (label == number).any():
            p = int(np.argmax(label == number))
            n = int(np.searchsorted(data.batch.seq_ptr, p, side="right")) - 1
            place = f"sequence {n}, position {p - int(data.batch.seq_ptr[n])}: "
        outer = " (positions in no segment are O)" if name == OUTSIDE else ""
        raise ValueError(
            f"{place}y has the label {name!r}{outer}, which is not one of the structure's: "
            f"{', '.join(structure.labels)}; leave them out, as in SemiMarkov(max_length=4), to take "
            "those of y"
        )
    made: Any = structure
    lengths = made.max_length
    if outside == "unit" and OUTSIDE in names and isinstance(lengths, int | np.integer):
        each: Any = {name: 1 if name == OUTSIDE else int(lengths) for name in names}
        made = replace(made, max_length=each)  # as given, until there are labels
    settled: Kind = made.with_labels(names).settled([data.batch])
    return settled


def mean_length(data: Dataset) -> float:
    """Return the mean length of the gold segments, without those outside; 1 where there are none.

    Examples
    --------
    >>> from crfkit.features import ItemExtractor
    >>> from crfkit.models.tags import segmented
    >>> mean_length(segmented(ItemExtractor()([[["a"]] * 4]), [["B-N", "I-N", "O", "B-N"]]))
    1.5
    """
    label, begin = data.batch.label, data.batch.begin
    if label is None or begin is None:
        return 1.0
    inside = (label >= 0) & (label != data.labels.find(OUTSIDE))
    segments = int((inside & begin).sum())
    return float(inside.sum()) / segments if segments else 1.0


def labels_alone(columns: Columns, recipe: Recipe | None) -> Dataset:
    """Return data of columns without attributes, with the labels where a recipe leaves a column for them."""
    empty = Batch(columns.seq_ptr, np.zeros(columns.positions + 1, np.int64), np.zeros(0, np.int32))
    data = Dataset(empty, Alphabet(), Alphabet(), Alphabet())
    name = None if recipe is None else gold_column(columns, recipe)
    if name is None:
        return data
    place, labels = columns.place(name), Alphabet()
    label = labels.merge(columns.alphabets[place])[columns.ids[place]]
    batch = replace(empty, label=label)
    return replace(data, batch=batch, labels=labels, extractor=ExtractorSpec(label_column=name))


def with_attributes(
    data: Dataset,
    columns: Columns,
    recipe: Recipe,
    longest: int,
    threads: int | None = None,
    *,
    learn: bool = False,
) -> Dataset:
    """Return gold segments with the attributes that a recipe makes of columns.

    With `learn` entries of internal dictionaries that come from the sequence at hand only do not count.
    """
    found = settled_recipe(recipe, data)
    made = read(columns, found, threads, longest, leave_out=learn and has_sources(found))
    gold = {name: getattr(data.batch, name) for name in ("label", "begin", "allowed")}
    given = data.extractor or ExtractorSpec()
    kept = {name: getattr(given, name) for name in ("scheme", "label_column", "numbers")}
    made_by = replace(made.extractor or ExtractorSpec(), **kept)
    return replace(made, batch=replace(made.batch, **gold), labels=data.labels, extractor=made_by)


def dataset_of(
    given: Any,
    structure: Structure,
    features: Any = "auto",
    threads: int | None = None,
    *,
    learn: bool = False,
) -> Any:
    """Return labeled columns, a file or a data frame as a Dataset, by features; anything else as it is.

    Examples
    --------
    >>> from crfkit import Chain
    >>> columns = Columns.from_rows([[("the", "D"), ("dog", "N")]], ["word", "label"])
    >>> dataset_of(columns, Chain()).labels.strings()
    ['D', 'N']
    """
    if isinstance(given, str | os.PathLike) or is_frame(given):
        given = read_data(given)
    if not isinstance(given, Columns):
        if learn and features != "auto":
            raise ValueError("features is for columns, and the data have attributes: leave it out")
        return given
    recipe = asked_recipe(features, given, structure, gold=True)
    if not structure.segmental:
        return read(given, recipe, threads, gold=True)
    data = as_segments(labels_alone(given, recipe))
    lengths = settled_by(structure, data).lengths() or {}
    return with_attributes(data, given, recipe, max(lengths.values(), default=1), threads, learn=learn)


def learned_from(
    data: Any, asked: Structure, features: Any, text: tuple[Any, Any, Any], threads: int | None
) -> tuple[Any, Tagged | None]:
    """Return data with attributes, and how documents were read; `text`: tokenizer, sentences, alignment."""
    made = _tagged(data, *text)
    if made is not None:
        from crfkit.training.documents import dataset_of_docs

        return dataset_of_docs(made, asked, features, threads, learn=True), made
    if text[0] is not None:
        raise ValueError("tokenizer is for documents of raw text, and the data are not; leave it out")
    return dataset_of(data, asked, features, threads, learn=True), None


def judged_by(
    dev: Any, made: Tagged | None, asked: Structure, features: Any, alignment: Any, threads: int | None
) -> Dataset:
    """Return a dev set with the attributes of the training data, whose text was read in one way."""
    judged = None if made is None else _tagged(dev, made.spec.tokenizer, made.spec.sentences, alignment)
    if judged is not None:
        from crfkit.training.documents import dataset_of_docs

        return dataset_of_docs(judged, asked, features, threads)
    from crfkit.training.data import checked_dataset

    return checked_dataset(dataset_of(dev, asked, features, threads), "dev")


def _tagged(data: Any, tokenizer: Any, sentences: Any, alignment: Any) -> Tagged | None:
    """Return the sentences of documents with tags; None of other data."""
    from crfkit.training.documents import docs_in, tagged_docs

    docs = docs_in(data)
    return None if docs is None else tagged_docs(docs, tokenizer, sentences, alignment)


def asked_recipe(features: Any, X: Any, structure: Structure, *, gold: bool = False) -> Recipe:
    """Return the recipe that makes attributes of columns or words; functions are for estimators."""
    recipe = recipe_for(features, X, gold=gold, segments=structure.segmental)
    if recipe is None:
        raise ValueError(
            f"features is {features!r:.80}, expected a recipe: text, a path or the name of a stock one; for "
            "a function, or attributes of your own, write ChainCRF(features=...).fit(X, y)"
        )
    return recipe


def settled_recipe(recipe: Recipe, data: Dataset) -> Recipe:
    """Return a recipe with what it leaves open and gold segments say: the mean length in square(length)."""
    return recipe.settled(mean_length(data)) if recipe.lacks_mean else recipe


def has_sources(recipe: Recipe) -> bool:
    """Return whether a recipe has internal dictionaries, which know the sequences of their entries."""
    return any(getattr(table, "sources", None) is not None for table in recipe.resources.values())
