"""Templates of transitions without fields (CRF++'s ``B``, Wapiti's ``b`` and ``*``): plain transitions.

Foreign files keep their weights under a name, as those of any other string. Here they are the table of all
steps, and the name is an edge attribute only where a template with fields could make the same string.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from crfkit.features.recipe import Recipe, Template
from crfkit.structures.labels import Bools

__all__ = ["edge_strings", "plain_transitions"]


def plain_transitions(recipe: Recipe | None) -> dict[str, int]:
    r"""Return the strings of templates that make plain transitions, and how often each stands there.

    Examples
    --------
    >>> from crfkit.features import parse_crfpp
    >>> plain_transitions(parse_crfpp("U00:%x[0,0]\nB\nB\nB01:%x[0,0]"))
    {'B': 2}
    """
    found: dict[str, int] = {}
    for template in recipe.templates if recipe is not None else ():
        if template.kind != "node" and not template.fields:
            found[template.literals[0]] = found.get(template.literals[0], 0) + 1
    return found


def edge_strings(recipe: Recipe | None, names: Sequence[str]) -> Bools:
    r"""Tell which strings of transitions are edge attributes: [names]. Without a recipe all are.

    Examples
    --------
    >>> from crfkit.features import parse_crfpp
    >>> edge_strings(parse_crfpp("B\nB01:%x[0,0]"), ["B", "B01:dog"]).tolist()
    [False, True]
    """
    if recipe is None:
        return np.ones(len(names), dtype=np.bool_)
    made = [template for template in recipe.templates if template.kind != "node" and template.fields]
    if not made:
        return np.zeros(len(names), dtype=np.bool_)
    could = re.compile("|".join(map(_pattern, made)), re.DOTALL)
    idle = {name for name in plain_transitions(recipe) if not could.fullmatch(name)}
    return np.array([name not in idle for name in names], dtype=np.bool_)


def _pattern(template: Template) -> str:
    """Return an expression that matches every string of a template; only a match of Wapiti's may be empty."""
    first, *rest = map(re.escape, template.literals)
    fields = (".*" if field.view == "match" else ".+" for field in template.fields)
    return first + "".join(field + text for field, text in zip(fields, rest, strict=True))
