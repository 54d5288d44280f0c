"""Features: recipes, the views that they use, and the extractor that runs them.

Names are loaded when they are first used, so that tagging does not wait for readers of templates it does not
need.
"""

from typing import TYPE_CHECKING

from crfkit._safe.lazy import lazily

if TYPE_CHECKING:
    from crfkit.features.conjunctions import Conjunctions
    from crfkit.features.crfpp import parse_crfpp
    from crfkit.features.dialects import parse_recipe, read_recipe
    from crfkit.features.dictionary import Dictionary
    from crfkit.features.extract import Extractor
    from crfkit.features.gazetteer import Gazetteer
    from crfkit.features.internal import InternalDictionary
    from crfkit.features.items import ItemExtractor
    from crfkit.features.recipe import Field, Recipe, Template
    from crfkit.features.segments import of_words, segment_features, segment_recipe
    from crfkit.features.wapiti import parse_wapiti

__all__ = [
    "Conjunctions",
    "Dictionary",
    "Extractor",
    "Field",
    "Gazetteer",
    "InternalDictionary",
    "ItemExtractor",
    "Recipe",
    "Template",
    "of_words",
    "parse_crfpp",
    "parse_recipe",
    "parse_wapiti",
    "read_recipe",
    "segment_features",
    "segment_recipe",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "Conjunctions": ".conjunctions",
        "Dictionary": ".dictionary",
        "Extractor": ".extract",
        "Field": ".recipe",
        "Gazetteer": ".gazetteer",
        "InternalDictionary": ".internal",
        "ItemExtractor": ".items",
        "Recipe": ".recipe",
        "Template": ".recipe",
        "of_words": ".segments",
        "parse_crfpp": ".crfpp",
        "parse_recipe": ".dialects",
        "parse_wapiti": ".wapiti",
        "read_recipe": ".dialects",
        "segment_features": ".segments",
        "segment_recipe": ".segments",
    },
)
