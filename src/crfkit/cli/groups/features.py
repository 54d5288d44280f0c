"""Features: what makes attributes of columns."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from crfkit.cli.groups.compose import option

if TYPE_CHECKING:
    from crfkit.features import Recipe

_option = partial(option, "Features")
_TEXT = re.compile(r"[\[\];%\n]|^bias$")  # what templates have, and names of files hardly ever


@dataclass(frozen=True)
class Features:
    """What makes attributes of columns, as it was given on the command line.

    Examples
    --------
    >>> Features("lower(0)[0]; suffix(0, 3)[0]").recipe({}).columns
    ('0',)
    """

    features: Annotated[
        str | None,
        _option(
            "--features",
            "-t",
            metavar="FILE",
            help="Templates of CRF++, Wapiti or crfkit: a file, or text with semicolons between templates."
            " Default: words, shapes and affixes in a window.",
        ),
    ] = None
    dictionary: Annotated[
        list[str] | None,
        _option(
            "--dictionary",
            help="NAME=FILE, one entry per line. Templates such as jaccard(0, NAME)[..] compare words or "
            "segments with its entries; repeatable.",
        ),
    ] = None

    @property
    def internal(self) -> bool:
        """Whether the segments of the training data are a dictionary, too."""
        return False

    @property
    def tables(self) -> dict[str, Any]:
        """The dictionaries by name, read from their files."""
        from crfkit.features import Dictionary

        found: dict[str, Any] = {}
        for text in self.dictionary or ():
            name, equals, path = text.partition("=")
            if not name or not equals or not path:
                raise ValueError(f"--dictionary is {text!r}, expected NAME=FILE, such as cities=cities.txt")
            if name in found:
                raise ValueError(f"--dictionary has the name {name!r} twice; name them apart")
            found[name] = Dictionary.read(path, name=name)
        return found

    def recipe(self, tables: Mapping[str, Any]) -> Recipe | None:
        """Return the recipe, which must use the dictionaries that are given; None where there is none."""
        from crfkit.features.dialects import parse_recipe, read_recipe

        given = self.features
        if given is None:
            return None
        if not os.path.exists(given) and _TEXT.search(given):
            recipe = parse_recipe(given, resources=dict(tables), source="--features")
        else:
            recipe = read_recipe(given, resources=dict(tables))
        used = {str(f.arguments[0]) for t in recipe.templates for f in t.fields if f.arguments}
        for name in tables:
            if name not in used:
                raise ValueError(
                    f"{given} does not use the dictionary {name!r}; add a line such as "
                    f"segment: jaccard(0, {name})[..], or leave --dictionary out"
                )
        return recipe

    def refuse(self, path: str) -> None:
        """Refuse options for columns where data have attributes already."""
        options = {"--features": self.features, "--dictionary": self.dictionary or None}
        for name, given in (options | {"--internal-dictionary": self.internal or None}).items():
            if given is not None:
                raise ValueError(f"{name} is for columns, but {path} has attributes and labels already")


@dataclass(frozen=True)
class InternalFeatures(Features):
    """What makes attributes of columns, the segments of the training data among it.

    Examples
    --------
    >>> InternalFeatures(internal_dictionary=True).internal
    True
    """

    internal_dictionary: Annotated[
        bool,
        _option(
            "--internal-dictionary",
            help="Also compare words, or segments, with the segments of the training data, label by label.",
        ),
    ] = False

    @property
    def internal(self) -> bool:
        """Whether the segments of the training data are a dictionary, too."""
        return self.internal_dictionary
