"""The structure of labeled segments, settled by gold: its labels, and how long segments are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from crfkit.checks import check_choice
from crfkit.data.dataset import Dataset
from crfkit.features import Recipe
from crfkit.models.tags import Outside
from crfkit.structures.structure import Structure
from crfkit.tags.schemes import OUTSIDE

__all__ = ["has_sources", "mean_length", "settled_by", "settled_recipe"]

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


def settled_recipe(recipe: Recipe, data: Dataset) -> Recipe:
    """Return a recipe with what it leaves open and gold segments say: the mean length in square(length)."""
    return recipe.settled(mean_length(data)) if recipe.lacks_mean else recipe


def has_sources(recipe: Recipe) -> bool:
    """Return whether a recipe has internal dictionaries, which know the sequences of their entries."""
    return any(getattr(table, "sources", None) is not None for table in recipe.resources.values())
