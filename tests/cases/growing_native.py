"""crfkit's own files of n, for what they hold: names, recipes, constraints; and pickles of data."""

from __future__ import annotations

import pickle

import numpy as np

from crfkit.data.dataset import Dataset
from crfkit.features import ItemExtractor, Recipe
from crfkit.features.recipe import Template
from crfkit.models.files import read_model_bytes
from crfkit.models.files.assembly import Triples, assemble
from crfkit.structures.constraints import Constraint, Forbid
from tests.cases.growth import GrowthCase

ONE = Recipe.parse("word[0]").templates


def native_cases() -> list[GrowthCase]:
    """Return the cases of model files, recipes and pickles."""
    return [
        GrowthCase("crfkit: attributes", lambda n: _model(attributes=n), read_model_bytes, 50_000),
        GrowthCase("crfkit: bytes of a name", lambda n: _model(name="x" * n), read_model_bytes, 2_000_000),
        GrowthCase("crfkit: constraints", _constrained, read_model_bytes, 100),
        GrowthCase("crfkit: templates", _templates, read_model_bytes, 500),
        GrowthCase("recipe: templates", lambda n: b"word[0]\n" * n, _recipe, 1000),
        GrowthCase("recipe: fields", lambda n: b" & ".join([b"word[0]"] * 50) * n, _recipe_lines, 10),
        GrowthCase("recipe: windows", lambda n: b"word[-9..9]\n" * n, _recipe, 100),
        GrowthCase("pickles: data", lambda n: pickle.dumps(_data(n)), pickle.loads, 20_000),
    ]


def _model(attributes: int = 1, name: str = "x", rules: list[Constraint] | None = None) -> bytes:
    names = [f"{name}{i}" for i in range(attributes)]
    rows = np.arange(attributes)
    node = Triples(rows, rows % 2, np.ones(attributes))
    labels = [f"L{i}" for i in range(200 if rules else 2)]
    return assemble(labels, names, node, constraints=rules or ()).to_bytes()


def _constrained(n: int) -> bytes:
    return _model(rules=[Forbid(f"L{i % 200}", f"L{i // 200}") for i in range(n)])


def _templates(n: int) -> bytes:
    recipe = Recipe(tuple(Template("node", f.fields, (f"{i}", "")) for i, f in enumerate(ONE * n)))
    node = Triples(np.array([0]), np.array([0]), np.ones(1))
    return assemble(["A", "B"], ["x"], node, recipe=recipe).to_bytes()


def _recipe(data: bytes) -> object:
    return Recipe.parse(data.decode())


def _recipe_lines(data: bytes) -> object:
    return Recipe.parse(data.decode().replace("]word", "]\nword"))


def _data(n: int) -> Dataset:
    return ItemExtractor()([[[f"x{i}"] for i in range(n)]], [["A", "B"] * (n // 2)])
