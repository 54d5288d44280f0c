"""Recipes as data: their text, and as arrays the resources that they name; conjunctions of attributes.

A recipe whose text does not say everything (templates made by hand) is kept template by template.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from crfkit._safe.printable import quoted
from crfkit.data.alphabet import Alphabet
from crfkit.features import Conjunctions, Recipe
from crfkit.features.dialects import parse_recipe
from crfkit.features.fields import ANCHORS, MOST_OFFSET
from crfkit.features.limits import Expressions, check_fields, check_templates, check_text
from crfkit.features.recipe import KINDS, Field, Template, expressions_in
from crfkit.features.views import RESOURCES, check_arguments
from crfkit.models.files.resources import PACK, UNPACK
from crfkit.models.store import Array

_DIALECTS = ("crfkit", "crfpp", "wapiti")
_ALL = re.compile(r"\[\s*\.\.\s*(?:\d+\s*)?\]")


def plain_recipe(recipe: Recipe) -> tuple[dict[str, Any], dict[str, Array]]:
    r"""Return a description and arrays of a recipe.

    Examples
    --------
    >>> plain_recipe(Recipe.parse("word[-1..0]"))[0]
    {'dialect': 'crfkit', 'text': 'word[-1]\nword[0]', 'resources': {}}
    """
    text = str(recipe)
    plain: dict[str, Any] = {"dialect": recipe.dialect, "text": text}
    if recipe.names:
        plain["names"] = dict(recipe.names)
    if not _says_everything(recipe, text):
        plain["templates"] = [_plain_template(template) for template in recipe.templates]
    kinds: dict[str, str] = {}
    for f in (f for template in recipe.templates for f in template.fields if f.view in RESOURCES):
        name = str(f.arguments[0])
        kind = RESOURCES[f.view]
        if kinds.setdefault(name, kind) != kind:
            raise ValueError(
                f"the resource {quoted(name)} is used as {kinds[name]} and as {kind}; name them apart"
            )
    arrays: dict[str, Array] = {}
    for i, (name, kind) in enumerate(kinds.items()):
        made = PACK[kind](name, recipe.resources[name])
        arrays.update({f"resource.{i}.{part}": array for part, array in made.items()})
    plain["resources"] = kinds
    recipe_of(plain, arrays)  # what cannot be read back is not written
    return plain, arrays


def _are_names(given: object) -> bool:
    return isinstance(given, dict) and all(isinstance(name, str) for name in given.values())


def _says_everything(recipe: Recipe, text: str) -> bool:
    if _opens_windows(recipe.dialect, text):
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # an escape in a string that Python does not know
            return parse_recipe(text, recipe.dialect, recipe.resources) == recipe
    except ValueError:
        return False


def _opens_windows(dialect: str, text: str) -> bool:
    """Return whether the text may hold a window ``a..b``: a few bytes that make thousands of templates.

    ``[..]`` and ``[..4]``, all positions of a segment, make one.
    """
    return dialect == "crfkit" and ".." in _ALL.sub(" ", text)


def _plain_template(template: Template) -> dict[str, Any]:
    fields = [_plain_field(f) for f in template.fields]
    return {"kind": template.kind, "fields": fields, "literals": list(template.literals)}


def _plain_field(f: Field) -> list[Any]:
    plain = [f.column, f.offset, f.view, list(f.arguments), f.lower, f.absolute]
    return plain if f.anchor == "token" else [*plain, f.anchor]


def recipe_of(plain: object, arrays: Mapping[str, Array]) -> Recipe | None:
    """Return the recipe that `plain_recipe` described; raise a ValueError on anything else."""
    if plain is None:
        return None
    if not isinstance(plain, dict) or plain.get("dialect") not in _DIALECTS:
        raise ValueError("the recipe is damaged")
    text, kinds, templates = plain.get("text"), plain.get("resources"), plain.get("templates")
    names = plain.get("names", {})
    if not isinstance(text, str) or not isinstance(kinds, dict) or not _are_names(names):
        raise ValueError("the recipe is damaged")
    if templates is None and _opens_windows(plain["dialect"], text):
        raise ValueError("the recipe is damaged: it has windows, which a model file keeps one by one")
    check_text(text, "the recipe")
    resources, parts = {}, _by_resource(arrays)
    for i, (name, kind) in enumerate(kinds.items()):
        if kind not in UNPACK:
            raise ValueError(f"the recipe names the unknown kind {quoted(str(kind))} of resource")
        resources[name] = UNPACK[kind](name, parts.get(str(i), {}))
    try:
        if templates is None:
            recipe = parse_recipe(text, plain["dialect"], resources, source="the recipe")
        else:
            check_templates(_list(templates), "the recipe")
            recipe = Recipe(_templates(_list(templates)), plain["dialect"], text, resources)
            if plain["dialect"] == "crfkit":
                recipe = Recipe(recipe.templates, resources=resources)
    except (RecursionError, OverflowError, MemoryError) as error:
        raise ValueError(f"the recipe is wrong: {type(error).__name__}") from None
    recipe = replace(recipe, names=names)
    for f in (f for template in recipe.templates for f in template.fields if f.view in RESOURCES):
        if kinds.get(str(f.arguments[0])) != RESOURCES[f.view]:
            raise ValueError(f"the recipe lacks the resource of {f.name()}")
    return recipe


def check_vectors(recipe: Recipe, columns: int) -> None:
    """Refuse vectors of words with more numbers, all together, than a model has columns of weights."""
    vectors = [f for template in recipe.templates for f in template.fields if f.view == "embedding"]
    made = sum(recipe.resources[str(f.arguments[0])].matrix.shape[1] for f in vectors)
    if made > columns:
        raise ValueError(
            f"the vectors of its recipe have {made:,} numbers at a position, weights are for {columns:,}"
        )


def _by_resource(arrays: Mapping[str, Array]) -> dict[str, dict[str, Array]]:
    """Return the arrays of each resource, by the number of the resource and the part of it."""
    parts: dict[str, dict[str, Array]] = {}
    for key, array in arrays.items():
        owner, _, rest = key.partition(".")
        if owner == "resource":
            number, _, part = rest.partition(".")
            parts.setdefault(number, {})[part] = array
    return parts


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError("the recipe is damaged: a list is missing")
    return value


def _templates(plain: list[Any]) -> tuple[Template, ...]:
    made, expressions = [], Expressions()
    for entry in plain:
        made.append(_template(entry))
        for expression in expressions_in(made[-1:]):
            expressions.add(expression)
    return tuple(made)


_PARTS = [str, int, str, list, bool, bool]


def _template(plain: object) -> Template:
    if not isinstance(plain, dict) or plain.get("kind") not in KINDS:
        raise ValueError("the recipe is damaged: a template is wrong")
    check_fields(_list(plain.get("fields")))
    fields = tuple(_field(entry) for entry in _list(plain.get("fields")))
    literals = _list(plain.get("literals"))
    if len(literals) != len(fields) + 1 or not all(isinstance(text, str) for text in literals):
        raise ValueError("the recipe is damaged: a template has the wrong literals")
    return Template(plain["kind"], fields, tuple(literals))


def _field(plain: object) -> Field:
    if not isinstance(plain, list) or list(map(type, plain)) not in (_PARTS, [*_PARTS, str]):
        raise ValueError("the recipe is damaged: a field is wrong")
    column, offset, view, arguments, lower, absolute, anchor = [*plain, "token"][:7]
    good = abs(offset) <= MOST_OFFSET and all(type(argument) in (int, float, str) for argument in arguments)
    if not good or anchor not in ANCHORS:
        raise ValueError("the recipe is damaged: a field is wrong")
    if view in ("test", "match"):
        if list(map(type, arguments)) != [str]:
            raise ValueError(f"the recipe is damaged: {view} needs an expression")
    elif view != "same":
        check_arguments(view, tuple(arguments))
    return Field(column, offset, view, tuple(arguments), lower, absolute, anchor)


def plain_conjunctions(conjunctions: Conjunctions, attributes: Alphabet) -> Array:
    """Return the ids of both parts of each conjunction that the attributes of a model have: [C, 2].

    Examples
    --------
    >>> names = Alphabet(["a", "b", "c", "a|b"]).freeze()
    >>> plain_conjunctions(Conjunctions([("a", "b"), ("b", "c")]), names).tolist()
    [[0, 1]]
    """
    known = [
        pair for pair, name in zip(conjunctions.pairs, conjunctions.names, strict=True) if name in attributes
    ]
    ids = attributes.ids(part for pair in known for part in pair).reshape(-1, 2)
    if (ids < 0).any():
        left, right = known[int(np.argmax((ids < 0).any(axis=1)))]
        raise ValueError(f"the model lacks a part of the conjunction of {quoted(left)} and {quoted(right)}")
    return ids


def conjunctions_of(ids: Array | None, attributes: Alphabet) -> Conjunctions | None:
    """Return the conjunctions that `plain_conjunctions` described; raise a ValueError on anything else."""
    if ids is None:
        return None
    if ids.dtype != np.int32 or ids.ndim != 2 or ids.shape[1] != 2:
        raise ValueError(f"conjunctions have the shape {ids.shape}, expected pairs of attributes")
    if ids.size and not 0 <= int(ids.min()) <= int(ids.max()) < len(attributes):
        raise ValueError("a conjunction has a part that is not an attribute")
    made = Conjunctions([(attributes[left], attributes[right]) for left, right in ids.tolist()])
    if (attributes.ids(made.names) < 0).any():
        raise ValueError("a conjunction is not an attribute of the model")
    return made
