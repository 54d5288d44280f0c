"""Training data of documents: their sentences with tags, and the attributes that a recipe makes of words."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from crfkit.data.alphabet import Alphabet
from crfkit.data.dataset import Dataset, ExtractorSpec, labeled
from crfkit.models.model import SequenceModel
from crfkit.models.reading import are_docs, columns_of, read
from crfkit.models.tags import segmented
from crfkit.structures.structure import Structure
from crfkit.text.alignment import Alignment
from crfkit.text.formats.sniffing import documents_at
from crfkit.text.labeled import Tagged, sentences_in
from crfkit.text.spec import TextSpec
from crfkit.training.segments import asked_recipe, labels_alone, settled_by, with_attributes


def docs_in(given: Any) -> Any:
    """Return the documents that are given, or those of a file that holds some; None where there are none.

    Examples
    --------
    >>> from crfkit import Doc
    >>> len(docs_in([Doc("Ana ran")])), docs_in([["Ana", "ran"]])
    (1, None)
    """
    if isinstance(given, str | os.PathLike):
        return documents_at(given)
    return given if are_docs(given) else None


def tagged_docs(docs: Any, tokenizer: Any, sentences: Any, alignment: Any) -> Tagged:
    """Return the sentences of documents with tags of BIO."""
    return sentences_in(docs, tokenizer, sentences=sentences, alignment=alignment)


def dataset_of_docs(
    made: Tagged,
    structure: Structure,
    features: Any = "auto",
    threads: int | None = None,
    *,
    learn: bool = False,
) -> Dataset:
    """Return tagged sentences as data with the attributes of a recipe, by default the stock one of words.

    Examples
    --------
    >>> from crfkit import Chain, Doc
    >>> made = tagged_docs([Doc("Ana ran", spans=[(0, 3, "PER")])], "words", "none", "expand")
    >>> data = dataset_of_docs(made, Chain())
    >>> data.labels.strings(), data.extractor.text.tokenizer.kind
    (['B-PER', 'O'], 'words')
    """
    recipe = asked_recipe(features, made.words or [["word"]], structure)
    if len(recipe.columns) > 1:
        raise ValueError(
            f"the features read the columns {', '.join(recipe.columns)}, and a raw text has words only; give "
            "features of one column"
        )
    if structure.segmental:
        columns = columns_of(made.words, recipe)
        gold = segmented(labels_alone(columns, None), made.tags)
        lengths = settled_by(structure, gold).lengths() or {}
        longest = max(lengths.values(), default=1)
        data = with_attributes(gold, columns, recipe, longest, threads, learn=learn)
    else:
        data = labeled(read(made.words, recipe, threads), made.tags, Alphabet())
    return _read_by(data, made.spec)


def _read_by(data: Dataset, spec: TextSpec) -> Dataset:
    return replace(data, extractor=replace(data.extractor or ExtractorSpec(), text=spec))


def with_alignment(model: SequenceModel, alignment: Alignment) -> SequenceModel:
    """Return a model whose record of training says how spans became those of tokens."""
    training = model.training
    return model if training is None else replace(model, training=replace(training, alignment=alignment))
