"""The recipe of a training: a template or a good one, with the dictionaries that it compares words with."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from crfkit.cli.groups.model import Asked
    from crfkit.data.dataset import Dataset
    from crfkit.data.formats.columns import Columns
    from crfkit.features import Extractor, Recipe

__all__ = [
    "columns_read",
    "default_recipe",
    "extractor_for",
    "label_of",
    "labels_alone",
    "transitions_of",
    "with_internal",
]


def extractor_for(
    read: Columns,
    recipe: Recipe | None,
    columns: list[str] | None,
    label: str | int | None,
    asked: Asked,
    tables: Mapping[str, Any],
) -> Extractor:
    """Return what makes attributes of such columns; `columns` are names from the command line."""
    from crfkit.data.formats.registry import find
    from crfkit.features import Extractor

    label = label_of(read, label)
    place = read.place(label)
    if len(read.names) < 2:
        raise ValueError(f"{read.source} has one column, expected tokens and labels; add a column of labels")
    recipe = recipe or default_recipe(columns_read(read, place), asked.segmental, tables)
    if recipe.segmental and not asked.segmental:
        raise ValueError(
            "the template has lines of segments (begin:, end:, segment:); give --structure semi too, or "
            "leave them out"
        )
    if columns is not None and not read.headed and not find(read.format).names_columns:
        recipe, label = by_place(recipe, read.names), place  # files to tag do not name their columns
    return Extractor(recipe, label)


def label_of(read: Columns, label: str | int | None) -> str | int:
    """Return the column of the label: as given, named "label", that of CoNLL-U, or the last."""
    from crfkit.data.formats.columns import CONLLU

    if label is not None:
        return label
    if "label" in read.names:
        return "label"
    return CONLLU.index("upos") if read.format == "conllu" else -1


def columns_read(read: Columns, label: int | None) -> list[str]:
    """Return what a recipe reads where none is given: of CoNLL-U the forms, else all but the label."""
    from crfkit.data.formats.columns import CONLLU

    if read.format == "conllu":
        return [read.names[CONLLU.index("form")]]
    return [name for c, name in enumerate(read.names) if c != label]


def transitions_of(extract: Extractor | None) -> Literal["all", "none"]:
    """Return which transitions have weights: CRF++ and Wapiti have them only where a line B asks for them."""
    if extract is None or extract.recipe.dialect == "crfkit" or extract.plain_transitions:
        return "all"
    return "none"


def default_recipe(
    columns: Sequence[str], segments: bool = False, tables: Mapping[str, Any] | None = None
) -> Recipe:
    """Return a recipe for tokens in the first column and tags in the others, or for their segments.

    It compares tokens, or segments, with the entries of dictionaries.

    Examples
    --------
    >>> len(default_recipe(["0"]).templates), len(default_recipe(["0", "1"]).templates)
    (18, 25)
    """
    from crfkit.features import Recipe

    odd = [name for name in columns if not re.fullmatch(r"\w+", name)]
    if odd:
        raise ValueError(
            f"the column {odd[0]!r} has no name that a recipe can use; give --columns word,tag,..."
        )
    word, *tags = columns
    lines = ["bias", f"{word}[-2..2]", f"{word}[-1] & {word}[0]", f"{word}[0] & {word}[1]"]
    lines += [f"lower({word})[0]", f"shape({word})[-1..1]"]
    lines += [f"{view}({word}, {n})[0]" for view in ("prefix", "suffix") for n in (2, 3, 4)]
    for tag in tags:
        lines += [f"{tag}[-2..2]", f"{tag}[-1] & {tag}[0]", f"{tag}[0] & {tag}[1]"]
    if segments:
        # Words and shapes at both ends, beside the words before and after alone, raised F1 from 69.8 to 71.2
        # on the first 800 sentences of esp.testa (where they were chosen) and from 67.6 to 68.2 on the first
        # 1,200 of ned.testa (CoNLL-2002; trained on 2,000 and 2,500 sentences; chains: 70.0 and 67.6).
        lines += [f"begin: {word}[-2..1]", f"end: {word}[-1..2]"]
        lines += [f"{kind}: shape({word})[-1..1]" for kind in ("begin", "end")]
        lines += [f"segment: {view}[..8]" for view in (word, f"shape({word})", *tags)]
    for name in tables or {}:
        lines += _compared(word, name, segments)
    return Recipe.parse("\n".join(lines), dict(tables or {}))


def _compared(word: str, name: str, segments: bool) -> list[str]:
    """Return the lines that compare words, or segments, with a dictionary."""
    from crfkit.features.quoted import quote
    from crfkit.features.views import SIMILARITIES

    kind, place = ("segment: ", "[..]") if segments else ("", "[0]")
    return [f"{kind}{similarity}({word}, {quote(name)}){place}" for similarity in SIMILARITIES]


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
    lines = [line for name in tables for line in _compared(word, name, segments)]
    more = Recipe.parse("\n".join(lines), tables)
    return Recipe((*recipe.templates, *more.templates), resources={**recipe.resources, **tables})


def by_place(recipe: Recipe, names: Sequence[str]) -> Recipe:
    """Return a recipe that finds its columns by number; the names of attributes stay."""
    if recipe.dialect != "crfkit":
        return recipe
    number = {name: str(place) for place, name in enumerate(names)}
    templates = [
        replace(t, fields=tuple(replace(f, column=number.get(f.column, f.column)) for f in t.fields))
        for t in recipe.templates
    ]
    return replace(recipe, templates=tuple(templates))


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
