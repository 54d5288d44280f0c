"""Features: recipes, the views that they use, and the extractor that runs them."""

from crfkit.features.crfpp import parse_crfpp
from crfkit.features.dialects import parse_recipe, read_recipe
from crfkit.features.extract import Extractor
from crfkit.features.gazetteer import Gazetteer
from crfkit.features.items import ItemExtractor
from crfkit.features.recipe import Field, Recipe, Template
from crfkit.features.wapiti import parse_wapiti

__all__ = [
    "Extractor",
    "Field",
    "Gazetteer",
    "ItemExtractor",
    "Recipe",
    "Template",
    "parse_crfpp",
    "parse_recipe",
    "parse_wapiti",
    "read_recipe",
]
