"""Parts of a model that a file keeps as plain data, by name: feature maps, and decision rules of their own.

Most models read X by a recipe or as items, and decide by scores alone. A *feature map* makes something else
of X: leaves of trees, kernels with training positions, graphs. A model that decides by votes, codes or
averages is a class of its own, whose `rule` names it. Both say what they are as a description (what JSON can
hold) and arrays, and are made of these again; a file has them under its keys ``map`` and ``rule``, and the
arrays by ``map.NAME`` and ``rule.NAME``. A new part is a class and a line in `PARTS`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias, TypeVar

from crfkit._safe.fields import Fields
from crfkit._safe.printable import quoted

if TYPE_CHECKING:
    from typing_extensions import Self

    from crfkit.data.dataset import Dataset
    from crfkit.linear.layout import Layout
    from crfkit.models.base import Model
    from crfkit.models.store import Array

#: A description, and arrays by name.
Plain: TypeAlias = "tuple[dict[str, Any], dict[str, Array]]"

M = TypeVar("M", bound="Map")
#: The parts that files may hold: what each is, and the class that it is made by.
PARTS: Final[Mapping[tuple[str, str], str]] = {
    ("map", "trees"): "crfkit.models.trees.Trees",
    ("map", "sequences"): "crfkit.models.grounding.sequences.Sequences",
    ("map", "images"): "crfkit.models.grounding.images.Images",
    ("map", "rows"): "crfkit.models.grounding.rows.Rows",
    ("map", "kernel"): "crfkit.models.classic.kernel.KernelMap",
    ("rule", "votes"): "crfkit.models.classic.votes.VotedModel",
    ("rule", "code"): "crfkit.models.classic.codes.CodeModel",
    ("rule", "average"): "crfkit.models.classic.average.AveragedModel",
}


class Map(ABC):
    """What makes of X the data that a model answers about: a `FeatureMap`, or a `Grounding` of graphs."""

    kind: ClassVar[str]  #: its name in `PARTS`
    takes: ClassVar[str]  #: what X is, as messages say it

    @abstractmethod
    def plain(self) -> Plain:
        """Return a description and arrays, of which `of_plain` makes it again."""

    @classmethod
    @abstractmethod
    def of_plain(cls, fields: Fields) -> Self:
        """Return the map that a file describes; every field is checked."""

    @abstractmethod
    def check_fits(self, names: Any, layout: Layout) -> None:
        """Refuse a model that has weights of what the map does not make; `names` may be a graph."""


class FeatureMap(Map):
    """What makes of X the attributes or columns that a model of sequences has weights of."""

    @abstractmethod
    def __call__(self, X: Any, threads: int | None = None) -> Dataset:
        """Return the data of X, with names; labels that X brings stay."""


def plain_parts(model: Model) -> Plain:
    """Return what a file has of the feature map, the decision rule and the estimator of a model."""
    by, feature_map = model.estimator, model.feature_map
    described: dict[str, Any] = {"estimator": None}
    arrays: dict[str, Array] = {}
    parts: dict[str, Plain] = {}
    if by is not None:
        parts["estimator"] = by.plain()
    if feature_map is not None:
        about, own = feature_map.plain()
        parts["map"] = {"kind": feature_map.kind, **about}, own
    if model.rule:
        about, own = model.rule_parts()
        parts["rule"] = {"kind": model.rule, **about}, own
    for part, (about, own) in parts.items():
        described[part] = about
        arrays |= {f"{part}.{name}": array for name, array in own.items()}
    return described, arrays


def inside(part: str, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Return the arrays of a part, by their names in it.

    Examples
    --------
    >>> inside("map", {"map.w": 1, "w": 2})
    {'w': 1}
    """
    begin = f"{part}."
    return {name.removeprefix(begin): array for name, array in arrays.items() if name.startswith(begin)}


def part_of(
    part: str, described: Mapping[str, Any], arrays: Mapping[str, Array]
) -> tuple[Any, Fields] | None:
    """Return the class of a part that a file holds and its fields, unchecked; None where it holds none."""
    plain = described.get(part)
    if plain is None:
        return None
    kind = plain.get("kind") if isinstance(plain, dict) else None
    if not isinstance(kind, str) or (part, kind) not in PARTS:
        known = ", ".join(name for which, name in PARTS if which == part)
        raise ValueError(
            f"its {part} is of the kind {quoted(str(kind))}, this version knows {known}: use a newer crfkit"
        )
    own = inside(part, arrays)
    both = sorted({*own} & {*plain})
    if both:
        raise ValueError(f"its {part} has {both[0]} twice")
    module, _, name = PARTS[part, kind].rpartition(".")
    return getattr(import_module(module), name), Fields({**plain, **own}, f"its {part}", remedy="")


def map_of(
    base: type[M], described: Mapping[str, Any], arrays: Mapping[str, Array], names: Any, layout: Layout
) -> M | None:
    """Return the map of a file, which must be one of `base` and fit the names and the layout of its model."""
    found = part_of("map", described, arrays)
    if found is None:
        return None
    if not issubclass(found[0], base):
        raise ValueError(f"its map is of the kind {found[0].kind}, which is not for this kind of model")
    made: M = found[0].of_plain(found[1])
    made.check_fits(names, layout)
    return made
