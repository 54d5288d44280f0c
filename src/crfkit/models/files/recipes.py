"""Recipes as data: their text, and as arrays the tables, gazetteers and embeddings that they name.

A recipe whose text does not say everything (templates made by hand) is kept template by template.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence, ValuesView
from itertools import pairwise
from typing import Any, cast

import numpy as np

from crfkit.arrays import Floats, pointers
from crfkit.data.alphabet import Alphabet
from crfkit.features import Field, Gazetteer, Recipe, Template, parse_recipe
from crfkit.features.fields import ANCHORS, MOST_OFFSET
from crfkit.features.recipe import KINDS
from crfkit.features.views import RESOURCES, check_arguments
from crfkit.models.store import Array

__all__ = ["Embeddings", "plain_recipe", "recipe_of"]

_DIALECTS = ("crfkit", "crfpp", "wapiti")
_MOST_TEMPLATES = 20_000
_ALL = re.compile(r"\[\s*\.\.\s*\]")


class Embeddings(Mapping[str, Floats]):
    """Vectors of words, out of one matrix [V, K] that may be mapped.

    Examples
    --------
    >>> table = Embeddings(Alphabet(["a", "b"]).freeze(), np.eye(2))
    >>> table["b"].tolist(), table.get("c")
    ([0.0, 1.0], None)
    """

    def __init__(self, words: Alphabet, matrix: Floats) -> None:
        self.words, self.matrix = words, matrix

    def __getitem__(self, word: str) -> Floats:
        i = self.words.find(word)
        if i < 0:
            raise KeyError(word)
        row: Floats = self.matrix[i]
        return row

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __len__(self) -> int:
        return len(self.words)

    def values(self) -> ValuesView[Floats]:
        """Return all vectors, without looking up a word."""
        return _Vectors(self)


class _Vectors(ValuesView[Floats]):
    def __init__(self, table: Embeddings) -> None:
        super().__init__(table)
        self._matrix = table.matrix

    def __iter__(self) -> Iterator[Floats]:
        return iter(self._matrix)


def plain_recipe(recipe: Recipe) -> tuple[dict[str, Any], dict[str, Array]]:
    r"""Return a description and arrays of a recipe.

    Examples
    --------
    >>> plain_recipe(Recipe.parse("word[-1..0]"))[0]
    {'dialect': 'crfkit', 'text': 'word[-1]\nword[0]', 'resources': {}}
    """
    text = str(recipe)
    plain: dict[str, Any] = {"dialect": recipe.dialect, "text": text}
    if not _says_everything(recipe, text):
        plain["templates"] = [_plain_template(template) for template in recipe.templates]
    kinds: dict[str, str] = {}
    for f in (f for template in recipe.templates for f in template.fields if f.view in RESOURCES):
        name = str(f.arguments[0])
        kind = RESOURCES[f.view]
        if kinds.setdefault(name, kind) != kind:
            raise ValueError(f"the resource {name!r} is used as {kinds[name]} and as {kind}; name them apart")
    arrays: dict[str, Array] = {}
    for i, (name, kind) in enumerate(kinds.items()):
        made = _PACK[kind](name, recipe.resources[name])
        arrays.update({f"resource.{i}.{part}": array for part, array in made.items()})
    plain["resources"] = kinds
    recipe_of(plain, arrays)  # what cannot be read back is not written
    return plain, arrays


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

    ``[..]``, all positions of a segment, makes one.
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
    if not isinstance(text, str) or not isinstance(kinds, dict):
        raise ValueError("the recipe is damaged")
    if templates is None and _opens_windows(plain["dialect"], text):
        raise ValueError("the recipe is damaged: it has windows, which a model file keeps one by one")
    if text.count("\n") + text.count(";") > _MOST_TEMPLATES:
        raise ValueError(f"the recipe has more than {_MOST_TEMPLATES:,} templates")
    resources = {}
    for i, (name, kind) in enumerate(kinds.items()):
        if kind not in _UNPACK:
            raise ValueError(f"the recipe names the unknown kind {kind!r} of resource")
        prefix = f"resource.{i}."
        mine = {key.removeprefix(prefix): array for key, array in arrays.items() if key.startswith(prefix)}
        resources[name] = _UNPACK[kind](name, mine)
    try:
        if templates is None:
            recipe = parse_recipe(text, plain["dialect"], resources, source="the recipe")
        else:
            recipe = Recipe(tuple(map(_template, _list(templates))), plain["dialect"], text, resources)
            if plain["dialect"] == "crfkit":
                recipe = Recipe(recipe.templates, resources=resources)
    except (RecursionError, OverflowError, MemoryError) as error:
        raise ValueError(f"the recipe is wrong: {type(error).__name__}") from None
    for f in (f for template in recipe.templates for f in template.fields if f.view in RESOURCES):
        if kinds.get(str(f.arguments[0])) != RESOURCES[f.view]:
            raise ValueError(f"the recipe lacks the resource of {f.name()}")
    return recipe


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError("the recipe is damaged: a list is missing")
    return value


_PARTS = [str, int, str, list, bool, bool]


def _template(plain: object) -> Template:
    if not isinstance(plain, dict) or plain.get("kind") not in KINDS:
        raise ValueError("the recipe is damaged: a template is wrong")
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


# ---- strings and tables as arrays


def _pack_strings(strings: Sequence[str]) -> tuple[Array, Array]:
    encoded = [string.encode() for string in strings]
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), pointers(list(map(len, encoded)))


def _unpack_strings(name: str, text: Array, begin: Array) -> list[str]:
    _check_pointers(name, begin, len(text))
    data, ends = text.tobytes(), begin.tolist()
    return [data[a:b].decode() for a, b in pairwise(ends)]


def _check_pointers(name: str, ptr: Array, end: int) -> None:
    good = ptr.ndim == 1 and ptr.dtype == np.int64 and len(ptr) > 0
    if not good or ptr[0] != 0 or ptr[-1] != end or (ptr[1:] < ptr[:-1]).any():
        raise ValueError(f"the resource {name!r} is damaged: its pointers are wrong")


def _part(name: str, arrays: Mapping[str, Array], part: str, kinds: str = "u1") -> Array:
    array = arrays.get(part)
    if array is None or array.dtype not in [np.dtype(kind) for kind in kinds.split()]:
        raise ValueError(f"the resource {name!r} is damaged: {part} is missing or of a wrong type")
    return array


def _pack_lookup(name: str, table: Mapping[str, Any]) -> dict[str, Array]:
    keys = list(table)
    values = [table[key] for key in keys]
    lists = [[value] if isinstance(value, str) else list(value or ()) for value in values]
    flat = [text for texts in lists for text in texts]
    if not all(isinstance(text, str) for text in [*keys, *flat]):
        raise ValueError(f"the resource {name!r} is not a table of strings; a model file cannot keep it")
    made = dict(zip(("keys", "keys_begin"), _pack_strings(keys), strict=True))
    made.update(zip(("values", "values_begin"), _pack_strings(flat), strict=True))
    made["ptr"] = pointers(list(map(len, lists)))
    made["several"] = np.array([not isinstance(value, str) for value in values], dtype=np.uint8)
    return made


def _unpack_lookup(name: str, arrays: Mapping[str, Array]) -> dict[str, Any]:
    keys = _unpack_strings(name, _part(name, arrays, "keys"), _part(name, arrays, "keys_begin", "i8"))
    flat = _unpack_strings(name, _part(name, arrays, "values"), _part(name, arrays, "values_begin", "i8"))
    ptr, several = _part(name, arrays, "ptr", "i8"), _part(name, arrays, "several")
    _check_pointers(name, ptr, len(flat))
    if len(ptr) != len(keys) + 1 or several.shape != (len(keys),):
        raise ValueError(f"the resource {name!r} is damaged: keys and values differ in number")
    table: dict[str, Any] = {}
    for i, (key, many) in enumerate(zip(keys, several.tolist(), strict=True)):
        texts = flat[int(ptr[i]) : int(ptr[i + 1])]
        if not many and len(texts) != 1:
            raise ValueError(f"the resource {name!r} is damaged: {key!r} has no value")
        table[key] = texts if many else texts[0]
    return table


def _pack_gazetteer(name: str, gazetteer: object) -> dict[str, Array]:
    if not isinstance(gazetteer, Gazetteer):
        raise ValueError(f"the resource {name!r} is not a Gazetteer; a model file cannot keep it")
    tokens, begin = _pack_strings([token for phrase in gazetteer.phrases for token in phrase])
    ptr = pointers(list(map(len, gazetteer.phrases)))
    lower = np.array([gazetteer.lower], dtype=np.uint8)
    return {"tokens": tokens, "tokens_begin": begin, "ptr": ptr, "lower": lower}


def _unpack_gazetteer(name: str, arrays: Mapping[str, Array]) -> Gazetteer:
    tokens = _unpack_strings(name, _part(name, arrays, "tokens"), _part(name, arrays, "tokens_begin", "i8"))
    ptr, lower = _part(name, arrays, "ptr", "i8"), _part(name, arrays, "lower")
    _check_pointers(name, ptr, len(tokens))
    if lower.shape != (1,):
        raise ValueError(f"the resource {name!r} is damaged: lower is wrong")
    ends = ptr.tolist()
    phrases = [tuple(tokens[a:b]) for a, b in pairwise(ends)]
    return Gazetteer(phrases, lower=bool(lower[0]))


def _pack_embedding(name: str, table: Mapping[str, Any]) -> dict[str, Array]:
    words = list(table)
    matrix = np.array([np.asarray(table[word], dtype=np.float64) for word in words])
    if matrix.ndim != 2 or not np.isfinite(matrix).all():
        raise ValueError(f"the resource {name!r} is not a table of vectors of one size, all finite")
    text, begin = _pack_strings(words)
    return {"words": text, "words_begin": begin, "matrix": matrix}


def _unpack_embedding(name: str, arrays: Mapping[str, Array]) -> Embeddings:
    words = _unpack_strings(name, _part(name, arrays, "words"), _part(name, arrays, "words_begin", "i8"))
    matrix = _part(name, arrays, "matrix", "f8 f4")
    known = Alphabet(words).freeze()
    if matrix.ndim != 2 or len(known) != len(matrix) or not matrix.size or not np.isfinite(matrix).all():
        raise ValueError(f"the resource {name!r} is damaged: its vectors are wrong")
    return Embeddings(known, cast(Floats, matrix.astype(np.float64, copy=False)))


_PACK = {"lookup": _pack_lookup, "gazetteer": _pack_gazetteer, "embedding": _pack_embedding}
_UNPACK = {"lookup": _unpack_lookup, "gazetteer": _unpack_gazetteer, "embedding": _unpack_embedding}
