"""Refusing models that the format of another program cannot hold, before a file is made."""

from __future__ import annotations

from collections.abc import Callable, Collection

from crfkit.features.recipe import Recipe
from crfkit.models.model import SequenceModel

_REMEDY = "save it with Model.save, or train one without"
_NAMES = {"crfkit": "crfkit's own dialect", "crfpp": "CRF++", "wapiti": "Wapiti"}


def refuse_lost(model: SequenceModel, program: str, holds: Collection[str] = ()) -> None:
    """Raise an error if a program's format cannot hold a model; `holds` names exceptions.

    Examples
    --------
    >>> from crfkit import Chain, train
    >>> from crfkit.features import ItemExtractor
    >>> model = train(ItemExtractor()([[["the"], ["dog"]]], [["D", "N"]]), structure=Chain(order=2))
    >>> refuse_lost(model, "CRF++")
    Traceback (most recent call last):
        ...
    ValueError: the model has order 2, which CRF++'s format cannot hold; save it with Model.save, or train one without
    """  # noqa: E501
    layout, parts = model.layout, model.layout.parts
    if not (model.structure.is_chain or model.structure.local):
        raise ValueError(
            f"the model is {model.structure.describe()}, which {program}'s format cannot hold; {_REMEDY}"
        )
    lost = {
        f"order {layout.order}": layout.order > 1,
        "edge attributes": bool(model.w[parts["edge"]].any()),
        "start weights": bool(model.w[parts["start"]].any()),
        "stop weights": bool(model.w[parts["stop"]].any()),
        "dense columns": layout.dense > 0,
        "constraints": bool(model.structure.constraints),
        "conjunctions of attributes": model.conjunctions is not None,
        "constraints on whole labelings": bool(model.constraints),
        "probabilities calibrated by isotonic regression": model.calibration is not None,
        "steps that are normalized by themselves": model.structure.local,
        f"labels decided by {model.rule}": bool(model.rule),
        "a feature map": model.feature_map is not None,
    }
    what = [name for name, present in lost.items() if present and name not in holds]
    if what:
        raise ValueError(
            f"the model has {' and '.join(what)}, which {program}'s format cannot hold; {_REMEDY}"
        )
    unnamed = len(model.attributes) < layout.attributes or len(model.edge_attributes) < layout.edge_attributes
    if unnamed:
        raise ValueError(
            f"the attributes of the model have no names (hashed ids?), and {program} needs them; {_REMEDY}"
        )


def check_recipe(recipe: Recipe, program: str, parse: Callable[[str], Recipe]) -> None:
    """Raise unless the text of a recipe says, in the dialect of a program, what its templates do.

    Examples
    --------
    >>> from crfkit.features.crfpp import parse_crfpp
    >>> check_recipe(Recipe.parse("word[0]"), "CRF++", parse_crfpp)
    Traceback (most recent call last):
        ...
    ValueError: the model has templates of crfkit's own dialect, and CRF++ knows only its own; train with a CRF++ template file (crfkit train -t), or save it with Model.save
    """  # noqa: E501
    remedy = f"train with a {program} template file (crfkit train -t), or save it with Model.save"
    if _NAMES[recipe.dialect] != program:
        raise ValueError(
            f"the model has templates of {_NAMES[recipe.dialect]}, and {program} knows only its own; {remedy}"
        )
    try:
        same = parse(recipe.source).templates == recipe.templates
    except ValueError:
        same = False
    if not same:
        raise ValueError(f"the templates of the model were made by hand, without their text; {remedy}")
