"""Reading files into training data, dev sets and data without labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from crfkit.cli.recipes import extractor_for, labels_alone, with_internal
from crfkit.cli.texts import TrainingTexts

if TYPE_CHECKING:
    from crfkit.cli.groups.data import LabeledData
    from crfkit.cli.groups.features import Features
    from crfkit.cli.groups.model import LearningTarget
    from crfkit.cli.origins import Origins
    from crfkit.data.dataset import Dataset
    from crfkit.data.formats.columns import Columns
    from crfkit.features import Extractor
    from crfkit.structures.structure import Structure

Data = TypeVar("Data")


@dataclass
class Learning(Generic[Data]):
    """A data set or blocks, and what made them."""

    data: Data
    extractor: Extractor | None  #: None where the data have attributes already
    structure: Structure
    origins: Origins  #: where the sequences came from
    texts: TrainingTexts  #: how raw text became tokens


def prepare(
    paths: Sequence[str],
    reading: LabeledData,
    features: Features,
    target: LearningTarget,
    *,
    threads: int | None,
    say: Callable[[str], object] | None,
) -> Learning[Dataset]:
    """Read files and make attributes; several are joined."""
    from crfkit.cli.origins import Origins
    from crfkit.data.dataset import Dataset
    from crfkit.data.formats.columns import Columns
    from crfkit.features import Extractor
    from crfkit.models.reader import longest_of
    from crfkit.models.tags import as_segments
    from crfkit.training.segments import has_sources, settled_recipe

    tables = features.tables
    recipe, keywords = features.recipe(tables), reading.keywords  # errors in them come first
    check_paths(paths)
    texts = TrainingTexts(reading)
    given = [texts.read(path, say) for path in paths]
    origins = Origins()
    for path, one in zip(paths, given, strict=True):
        origins.add_data("standard input" if path == "-" else path, one)
    datasets = [one for one in given if isinstance(one, Dataset)]
    if datasets:
        check_attributes(paths, given, reading, features)
        joined = target.gold(joined_datasets(datasets))
        return Learning(joined, None, target.settled(joined), origins, texts)
    whole = joined_columns([one for one in given if isinstance(one, Columns)])
    extract = extractor_for(whole, recipe, keywords["columns"], reading.label, target, tables)
    structure, found = target.structure, extract.recipe
    if target.segmental or features.internal:
        gold = as_segments(labels_alone(whole, extract.label), target.scheme, target.outside)
        structure, found = target.settled(gold), settled_recipe(found, gold)
        if features.internal:
            found = with_internal(found, whole, gold, segments=target.segmental)
        extract = Extractor(found, extract.label, None, longest_of(structure))
    made = extract(whole, threads, leave_out=has_sources(found))
    return Learning(target.gold(made), extract, structure, origins, texts)


def dev_set(path: str, learn: Learning[Any], target: LearningTarget, threads: int | None) -> Any:
    """Return the dev set with the attributes of the training data, and labels that may be new."""
    from crfkit.cli.tagging import check_gold
    from crfkit.data.dataset import Dataset
    from crfkit.models.column_count import check_width
    from crfkit.models.reader import frozen_extractor

    read = learn.texts.read(path)
    if isinstance(read, Dataset) != (learn.extractor is None):
        kinds = ("columns", "attributes") if learn.extractor is None else ("attributes", "columns")
        raise ValueError(f"--dev {path} has {kinds[0]}, but the training data have {kinds[1]}")
    made: Any
    if isinstance(read, Dataset) or learn.extractor is None:
        made = read
    else:
        recipe, label = learn.extractor.recipe, learn.extractor.label
        check_gold(read, label, recipe, "the recipe")
        check_width(read, learn.data.extractor, "the training data", "have")
        longest = learn.extractor.longest
        made = frozen_extractor(recipe, learn.data, label=label, longest=longest)(read, threads)
    return target.gold(made)


def unlabeled_set(path: str, learn: Learning[Any], threads: int | None) -> Dataset:
    """Read a file of sequences without labels as the training data were read; labels in it are left."""
    from crfkit.data.dataset import Dataset
    from crfkit.features import Extractor

    found = learn.texts.read(path)
    if isinstance(found, Dataset) != (learn.extractor is None):
        kinds = ("columns", "attributes") if learn.extractor is None else ("attributes", "columns")
        raise ValueError(f"--unlabeled {path} has {kinds[0]}, but the training data have {kinds[1]}")
    if isinstance(found, Dataset):
        return found
    assert learn.extractor is not None
    return Extractor(learn.extractor.recipe, None, None, learn.extractor.longest)(found, threads)


def check_paths(paths: Sequence[str]) -> None:
    """Refuse to read standard input twice."""
    if len([path for path in paths if path == "-"]) > 1:
        raise ValueError("- is given twice, but there is only one standard input")


def check_kinds(paths: Sequence[str], given: Sequence[Columns | Dataset]) -> None:
    """Refuse a mixture of columns and attributes."""
    if len({type(one) for one in given}) > 1:
        raise ValueError(f"some of {', '.join(paths)} are columns, others have attributes; give one kind")


def check_attributes(
    paths: Sequence[str], given: Sequence[Columns | Dataset], reading: LabeledData, features: Features
) -> None:
    """Refuse a mixture of columns and attributes, and options for columns where there are none."""
    check_kinds(paths, given)
    features.refuse(paths[0])
    if reading.label is not None:
        raise ValueError(f"--label-column is for columns, but {paths[0]} has attributes and labels already")


def joined_columns(parts: Sequence[Columns]) -> Columns:
    """Join the columns of several files."""
    import numpy as np

    from crfkit.arrays import pointers

    first = parts[0]
    if len(parts) == 1:
        return first
    for part in parts[1:]:
        check_columns(part, first)
    ids = tuple(
        np.concatenate([alphabet.merge(part.alphabets[c])[part.ids[c]] for part in parts])
        for c, alphabet in enumerate(first.alphabets)
    )
    lengths = np.concatenate([np.diff(part.seq_ptr) for part in parts])
    return replace(first, ids=ids, seq_ptr=pointers(lengths), lines=None)


def check_columns(part: Columns, first: Columns) -> None:
    """Refuse columns with other names than those before them."""
    if part.names != first.names:
        raise ValueError(
            f"{part.source} has the columns {', '.join(part.names)}, "
            f"expected {', '.join(first.names)} as in {first.source}"
        )


def joined_datasets(parts: Sequence[Dataset]) -> Dataset:
    """Join the data sets of several files."""
    from crfkit.data.assemble import concatenate
    from crfkit.data.dataset import Dataset

    made = concatenate([part.renamed(parts[0]) for part in parts])
    assert isinstance(made, Dataset)
    return made
