"""The recipe of a training: a template or a good one, with the dictionaries that it compares words with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from crfkit.cli.groups.model import LearningTarget
    from crfkit.data.dataset import Dataset
    from crfkit.data.formats.columns import Columns
    from crfkit.features import Extractor, Recipe


def extractor_for(
    read: Columns,
    recipe: Recipe | None,
    columns: list[str] | None,
    label: str | int | None,
    target: LearningTarget,
    tables: Mapping[str, Any],
) -> Extractor:
    """Return what makes attributes of such columns; `columns` are names from the command line."""
    from crfkit.data.formats.registry import find
    from crfkit.features import Extractor
    from crfkit.features.stock_recipes import columns_read, default_recipe, label_of

    label = label_of(read, label)
    place = read.place(label)
    if len(read.names) < 2:
        raise ValueError(
            f"{read.source} has one column, expected tokens and labels; add one of labels, or say what lies "
            "between columns (--separator)"
        )
    recipe = recipe or default_recipe(columns_read(read, place), target.segmental, tables)
    if recipe.segmental and not target.segmental:
        raise ValueError(
            "the template has lines of segments (begin:, end:, segment:); give --structure semi too, or "
            "leave them out"
        )
    if columns is not None and not read.headed and not find(read.format).names_columns:
        recipe, label = by_place(recipe, read.names), place  # files to tag do not name their columns
    return Extractor(recipe, label)


def transitions_of(extract: Extractor | None) -> Literal["all", "none"]:
    """Return which transitions have weights: CRF++ and Wapiti have them only where a line B asks for them."""
    if extract is None or extract.recipe.dialect == "crfkit" or extract.plain_transitions:
        return "all"
    return "none"


def with_internal(recipe: Recipe, columns: Columns, gold: Dataset, *, segments: bool) -> Recipe:
    """Return a recipe that also compares segments, or words, with those of the training data, by label.

    Parameters
    ----------
    recipe : Recipe
        Its first column has the words.
    columns : Columns
    gold : Dataset
        The gold segments of the columns.
    segments : bool
        Compare segments with segments, or words with words.
    """
    from itertools import pairwise

    import numpy as np

    from crfkit.features import InternalDictionary, Recipe
    from crfkit.features.stock_recipes import compared
    from crfkit.tags.segments import segments_of

    if recipe.dialect != "crfkit":
        raise ValueError(
            "--internal-dictionary adds lines to crfkit's own recipes; write the template in them"
        )
    word = recipe.columns[0]
    words = columns.strings()[columns.found(word)].tolist()
    names = np.array(gold.labels.strings(), dtype=object)[np.asarray(gold.batch.label)].tolist()
    begin = np.asarray(gold.batch.begin).tolist()
    cuts = list(pairwise(columns.seq_ptr.tolist()))
    made = InternalDictionary.of(
        [words[a:b] for a, b in cuts],
        [segments_of(names[a:b], begin[a:b]) for a, b in cuts],
        words=not segments,
    )
    tables = {f"internal {label}": table for label, table in made.items()}
    lines = [line for name in tables for line in compared(word, name, segments)]
    more = Recipe.parse("\n".join(lines), tables)
    return Recipe((*recipe.templates, *more.templates), resources={**recipe.resources, **tables})


def by_place(recipe: Recipe, names: Sequence[str]) -> Recipe:
    """Return a recipe that finds its columns by number; names of attributes and of columns stay."""
    if recipe.dialect != "crfkit":
        return recipe
    number = {name: str(place) for place, name in enumerate(names)}
    templates = [
        replace(t, fields=tuple(replace(f, column=number.get(f.column, f.column)) for f in t.fields))
        for t in recipe.templates
    ]
    known = {number[name]: name for name in recipe.columns if name in number}
    return replace(recipe, templates=tuple(templates), names=known)


def labels_alone(columns: Columns, label: str | int | None) -> Dataset:
    """Return the column of labels without attributes: how long segments are decides which there are."""
    import numpy as np

    from crfkit.data.alphabet import Alphabet
    from crfkit.data.batch import Batch
    from crfkit.data.dataset import Dataset

    labels = Alphabet()
    gold = columns.gold(-1 if label is None else label, labels)
    none = np.zeros(columns.positions + 1, dtype=np.int64)
    return Dataset(
        Batch(columns.seq_ptr, none, np.zeros(0, np.int32), label=gold), labels, Alphabet(), Alphabet()
    )
