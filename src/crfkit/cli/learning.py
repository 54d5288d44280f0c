"""The options that train and cv share, and reading files into training data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar

import typer

from crfkit.cli.recipes import (
    dictionaries_of,
    extractor_for,
    labels_alone,
    recipe_of,
    transitions_of,
    with_internal,
)

if TYPE_CHECKING:
    from crfkit.cli.places import Places
    from crfkit.cli.structures import Asked
    from crfkit.data.dataset import Dataset
    from crfkit.data.formats.columns import Columns
    from crfkit.features import Extractor
    from crfkit.linear.features import FeatureSelection as Weights
    from crfkit.linear.objective import Objective
    from crfkit.structures.structure import Structure

Data = TypeVar("Data")

__all__ = [
    "L1",
    "L2",
    "Features",
    "Gamma",
    "Learning",
    "MaxIter",
    "MaxSeconds",
    "MinCount",
    "ObjectiveName",
    "Optimizer",
    "Seed",
    "Template",
    "Tolerance",
    "Transitions",
    "Unlabeled",
    "objective_of",
    "prepare",
    "unlabeled_set",
]

Template = Annotated[
    str | None,
    typer.Option(
        "--template", "-t", help="Template file: CRF++, Wapiti or a crfkit recipe; default: a good recipe."
    ),
]
ObjectiveName = Annotated[
    str | None,
    typer.Option(
        "--objective",
        help="likelihood, max-margin, softmax-margin, perceptron, local, pseudo-likelihood, piecewise, "
        "piecewise-pseudo-likelihood, marginal-likelihood, exponential, entropy or posterior; default: what "
        "the optimizer is for, likelihood for most.",
    ),
]
Optimizer = Annotated[
    str,
    typer.Option(
        "--optimizer",
        "--optimizer",
        "-a",
        help="auto, lbfgs, owlqn, plbfgs, cg, pcg, mixed-cg, gis, iis-s, iis-t, parallel, steepest, newton, "
        "rprop, rprop-minus, dual, exponentiated, sgd, sgd-l1, adagrad, bcd; "
        "for partial labels: em; "
        "for max-margin: bcfw, one-slack, n-slack, subgradient, "
        "smo, exponentiated-margin, exponentiated-margin-batch; "
        "for perceptron: perceptron, perceptron-plain, pa, arow, mira, mira-kbest, mira-crfpp.",
    ),
]
#: What --metric may be, as `crfkit.metrics.METRICS` has it, which takes time to import.
METRICS = (
    "auto (the F1 of entities where labels spell them, else token_accuracy), "
    "token_accuracy, sequence_accuracy, segment_precision, segment_recall, segment_f1, "
    "token_precision_macro, token_recall_macro, token_f1_macro, segment_precision_macro, "
    "segment_recall_macro, segment_f1_macro, or one of the last six with _weighted for _macro"
)
MaxIter = Annotated[int | None, typer.Option("--max-iter", help="Most iterations.", min=0)]
MaxSeconds = Annotated[
    float | None, typer.Option("--max-seconds", help="Most time for one training.", min=0.0)
]
Tolerance = Annotated[
    float | None,
    typer.Option("--tolerance", help="Stop when certified to be this near the optimum: 1e-4.", min=0.0),
]
L1 = Annotated[
    float | None, typer.Option("--l1", help="Strength of the L1 penalty, l1 * |w|: 0 by default.", min=0.0)
]
L2 = Annotated[
    float | None,
    typer.Option("--l2", help="Strength of the L2 penalty, l2/2 * |w|^2: 1 by default.", min=0.0),
]
Unlabeled = Annotated[
    str | None,
    typer.Option("--unlabeled", help="More data, whose labels are not read: for entropy and posterior."),
]
Gamma = Annotated[
    float | None,
    typer.Option("--gamma", help="How much --unlabeled data count: 0.1 for entropy by default.", min=0.0),
]
MinCount = Annotated[
    float, typer.Option("--min-count", help="Drop pairs of attribute and label seen less often.", min=0.0)
]
Features = Annotated[
    str, typer.Option("--features", help="Pairs of attribute and label with a weight: observed, all, likely.")
]
Transitions = Annotated[
    str | None,
    typer.Option(
        "--transitions",
        help="Pairs of labels with a weight: all, observed (fast with hundreds of labels) or none; default: "
        "all, of templates what their lines B ask for.",
    ),
]
Seed = Annotated[int, typer.Option("--seed", help="For everything that draws.", min=0)]


@dataclass
class Learning(Generic[Data]):
    """A data set or blocks, and what made them."""

    data: Data
    extractor: Extractor | None  #: None where the data have attributes already
    structure: Structure
    places: Places  #: where the sequences came from


def prepare(
    paths: Sequence[str],
    reading: dict[str, Any],
    asked: Asked,
    *,
    label: str | int | None,
    template: str | None,
    dictionaries: Sequence[str] | None = None,
    internal: bool = False,
    threads: int | None,
    say: Callable[[str], object] | None,
) -> Learning[Dataset]:
    """Read files (with what `options.reading` gives) and make attributes; several are joined."""
    from crfkit import data
    from crfkit.cli.places import Places
    from crfkit.data.dataset import Dataset
    from crfkit.features import Extractor
    from crfkit.models.reading import longest_of
    from crfkit.models.tags import as_segments
    from crfkit.training.segments import has_sources, settled_recipe

    tables = dictionaries_of(dictionaries)
    recipe = recipe_of(template, tables)  # errors in it come first
    check_paths(paths)
    given = [data.read(path, say=say, **reading) for path in paths]
    places = Places()
    for path, one in zip(paths, given, strict=True):
        places.add_data("standard input" if path == "-" else path, one)
    datasets = [one for one in given if isinstance(one, Dataset)]
    if datasets:
        check_attributes(paths, given, template, label, dictionaries, internal)
        joined = asked.gold(joined_datasets(datasets))
        return Learning(joined, None, asked.settled(joined), places)
    whole = joined_columns([one for one in given if isinstance(one, data.Columns)])
    extract = extractor_for(whole, recipe, reading["columns"], label, asked, tables)
    structure, found = asked.structure, extract.recipe
    if asked.segmental or internal:
        gold = as_segments(labels_alone(whole, extract.label), asked.scheme, asked.outside)
        structure, found = asked.settled(gold), settled_recipe(found, gold)
        if internal:
            found = with_internal(found, whole, gold, segments=asked.segmental)
        extract = Extractor(found, extract.label, None, longest_of(structure))
    made = extract(whole, threads, leave_out=has_sources(found))
    return Learning(asked.gold(made), extract, structure, places)


def unlabeled_set(path: str, learn: Learning[Any], reading: dict[str, Any], threads: int | None) -> Dataset:
    """Read a file of sequences without labels as the training data were read; labels in it are left."""
    from crfkit import data
    from crfkit.data.dataset import Dataset
    from crfkit.features import Extractor

    found = data.read(path, **reading)
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


def check_attributes(
    paths: Sequence[str],
    given: Sequence[Columns | Dataset],
    template: str | None,
    label: str | int | None,
    dictionaries: Sequence[str] | None = None,
    internal: bool = False,
) -> None:
    """Refuse a mixture of columns and attributes, and options for columns where there are none."""
    if len({type(one) for one in given}) > 1:
        raise ValueError(f"some of {', '.join(paths)} are columns, others have attributes; give one kind")
    options = {"--template": template, "--label": label, "--dictionary": dictionaries or None}
    for name, option in (options | {"--internal-dictionary": internal or None}).items():
        if option is not None:
            raise ValueError(f"{name} is for columns, but {paths[0]} has attributes and labels already")


def objective_of(
    name: str | None,
    optimizer: str,
    l1: float | None,
    l2: float | None,
    default: str = "likelihood",
    *,
    gamma: float | None = None,
) -> Objective:
    """Return the objective, by default what the optimizer learns from, with its penalties where it has them.

    Examples
    --------
    >>> objective_of(None, "pa", None, None), objective_of(None, "auto", None, 0.5).l2
    (Perceptron(), 0.5)
    """
    from crfkit.training import choose

    if optimizer != "auto":
        choose.by_name(optimizer)  # wrong names come before files
    made: Any = choose.objective_of(name, optimizer, default)
    options = (("l1", l1), ("l2", l2), ("gamma", gamma))
    given = {name: value for name, value in options if value is not None}
    lacking = given.keys() - {f.name for f in fields(made)}
    if lacking:
        option = min(lacking)
        if option == "gamma":
            raise ValueError(f"--gamma is for --objective entropy and posterior; {made.name} has none")
        raise ValueError(
            f"--{option} is for objectives with an {option.upper()} penalty; {made!r} has none: "
            f"leave --{option} out"
        )
    return replace(made, **given)  # type: ignore[no-any-return]


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


def features_of(which: str, min_count: float) -> Weights:
    """Return the weights of --features and --min-count."""
    from crfkit.linear.features import FeatureSelection as Weights

    if which not in ("observed", "all", "likely"):
        raise ValueError(f"--features is {which!r}, expected observed, all or likely")
    return replace(Weights.of(which), min_count=min_count)


def transitions_for(asked: str | None, extract: Extractor | None) -> Any:
    """Return which transitions have weights: those of --transitions, or what templates ask for."""
    return transitions_of(extract) if asked is None else asked


def check_transitions(asked: str | None) -> None:
    """Refuse what --transitions cannot be."""
    if asked not in (None, "all", "observed", "none"):
        raise ValueError(f"--transitions is {asked!r}, expected all, observed or none")
