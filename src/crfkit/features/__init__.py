"""Features: recipes, the views that they use, and the extractor that runs them.

Names are loaded when they are first used, so that tagging does not wait for readers of templates it does not
need.
"""

from typing import TYPE_CHECKING

from crfkit._safe.lazy import lazily

if TYPE_CHECKING:
    from crfkit.features.conjunctions import Conjunctions
    from crfkit.features.dictionary import Dictionary, InternalDictionary
    from crfkit.features.extract import Extractor
    from crfkit.features.gazetteer import Gazetteer
    from crfkit.features.items import ItemExtractor
    from crfkit.features.recipe import Recipe
    from crfkit.features.segments import segment_features
    from crfkit.features.stock_recipes import stock
    from crfkit.features.windows import window

__all__ = [
    "Conjunctions",
    "Dictionary",
    "Extractor",
    "Gazetteer",
    "InternalDictionary",
    "ItemExtractor",
    "Recipe",
    "segment_features",
    "stock",
    "window",
]

lazily(
    __name__,
    {
        "Conjunctions": ".conjunctions",
        "Dictionary": ".dictionary",
        "Extractor": ".extract",
        "Gazetteer": ".gazetteer",
        "InternalDictionary": ".dictionary",
        "ItemExtractor": ".items",
        "Recipe": ".recipe",
        "segment_features": ".segments",
        "stock": ".stock_recipes",
        "window": ".windows",
    },
)
